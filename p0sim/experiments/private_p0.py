"""The main experiment: draw a network, release its degrees, fit, compare with the truth.

Every method of a study is applied to the same network and, where it is private, to the same noise
or the same flips.
A fit that does not exist or does not converge is a row with its reason, never redrawn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from p0sim.arrays import FloatVector
from p0sim.errors import InvalidStudyError, NoEstimateError, NotConvergedError
from p0sim.estimate.moments import Degrees, MomentFit, fit_moments
from p0sim.experiments.answers import read_pairs
from p0sim.experiments.estimates import Estimate, failed, outcome_of
from p0sim.experiments.sections import (
    EDGE_FLIP,
    LAPLACE,
    PLAIN,
    SHOWN,
    CallSection,
    EstimandsSection,
    MeasuresSection,
    Method,
    MethodSection,
    ModelSection,
    StopSection,
    check_pools,
    read_estimands,
    read_measures,
    read_methods,
)
from p0sim.experiments.sources import Source
from p0sim.experiments.targets import Targets, fill_contrasts
from p0sim.experiments.truth import Truth, find_truth, refuse_fixed
from p0sim.inference.covariance import (
    Covariance,
    covariance,
    flipped_covariance,
    model_covariance,
    require_dense,
)
from p0sim.model.bidegree import BiDegree
from p0sim.model.p0 import P0Model
from p0sim.model.sampling import EdgeSampler
from p0sim.privacy.discrete_laplace import discrete_laplace_variance
from p0sim.privacy.edge_flip import flip_blocks
from p0sim.privacy.noisy_bidegree import require_epsilon
from p0sim.privacy.sensitivity import bidegree_sensitivity
from p0sim.privacy.simulate import simulate_release
from p0sim.replicate import Cell, Fit, Outcome, Simulate, Streams
from p0sim.validation import check_table, refuse_unknown

NAME = "private_p0"
EPSILON = "epsilon"
# rough seconds of a network a pair of nodes, and of a fit a node; for the first forecast only
SECONDS_A_PAIR, SECONDS_A_NODE = 3e-9, 2e-6


@dataclass(frozen=True, eq=False)
class PrivateP0:
    """What the engine runs: the sections of a study file, resolved.

    Attributes
    ----------
    truth : LinearTruth or FixedTruth
    shared_factors : frozenset of str
        Factors across which the networks are the same.
    estimands : EstimandsSection
    specs : dict of str to MethodSection or CallSection
    measures : MeasuresSection
    calls : dict of str to Source
        The functions of the methods that are the user's own, by method.
    """

    truth: Truth
    shared_factors: frozenset[str]
    estimands: EstimandsSection
    specs: Mapping[str, Method]
    measures: MeasuresSection
    calls: Mapping[str, Source] = field(default_factory=dict)

    @classmethod
    def from_sections(
        cls,
        sections: Mapping[str, Any],
        factors: Collection[str],
        folder: Path,
        reference: str = NAME,
        sources: Mapping[str, str] | None = None,
    ) -> PrivateP0:
        """Check the experiment's own sections of a study file.

        Parameters
        ----------
        sections : mapping
            The tables model, estimands, methods and measures as read.
        factors : collection of str
            Names of the study's factors.
        folder : Path
            Where the study file stands; paths in it are relative to that.
        reference : str
            What the study file calls the experiment; there is one way only.
        sources : mapping of str to str, optional
            Stored texts of Python files, used in place of what is on disk now.

        Raises
        ------
        InvalidStudyError
            Naming the section, the key, the rule and the value.
        """
        model = check_table(ModelSection, sections.get("model", {}), "[model]")
        estimands = read_estimands(sections.get("estimands", {}))
        specs = read_methods(sections.get("methods", {}))
        truth = find_truth(model.theta, model.q, folder)
        _check_factors(truth, specs, factors)
        sharing = [name for name in factors if name not in truth.needs]
        refuse_unknown(model.share_network_across, sharing, "[model] share_network_across")
        return cls(
            truth,
            frozenset(model.share_network_across),
            estimands,
            specs,
            read_measures(sections.get("measures", {})),
            _read_calls(specs, estimands, folder, sources),
        )

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in file order."""
        return tuple(self.specs)

    @property
    def constants(self) -> dict[str, int]:
        """n and q where the truth fixes them."""
        return self.truth.constants

    @property
    def level(self) -> float:
        """Level of the intervals."""
        return self.measures.level

    @property
    def stop(self) -> StopSection | None:
        """When enough is known; it decides how many replicates there are, not what they are."""
        return self.measures.stop

    @property
    def sources(self) -> dict[str, str]:
        """Texts of the Python files the study uses, by the names it writes."""
        return {source.file: source.text for source in self.calls.values()}

    def content(self, cell: Cell) -> dict[str, Any]:
        """What generates the data of a cell, beyond its factors."""
        return {
            "experiment": NAME,
            "model": self.truth.content(),
            "share_network_across": sorted(self.shared_factors),
        }

    def identity(self) -> dict[str, Any]:
        """Everything whose change makes old rows another study; not what is only for show."""
        digests = {source.file: source.digest for source in self.calls.values()}
        return {
            "model": self.truth.content(),
            "share_network_across": sorted(self.shared_factors),
            "estimands": self.estimands.identity(),
            "methods": {name: spec.model_dump(exclude=SHOWN) for name, spec in self.specs.items()},
            "level": self.level,
            **({"sources": digests} if digests else {}),
        }

    def cost(self, cell: Cell) -> float:
        """Seconds a replicate, a first guess."""
        n = self.truth.model(cell).n
        return SECONDS_A_PAIR * n**2 + SECONDS_A_NODE * n * len(self.specs)

    def estimand_names(self, cell: Cell) -> tuple[str, ...]:
        """The contrasts with their positions filled in."""
        return tuple(self.nulls(cell))

    def nulls(self, cell: Cell) -> dict[str, float]:
        """What each contrast is tested against, 0 where the study file does not say."""
        return fill_contrasts(self.estimands.contrasts, {**self.constants, **_numbers(cell)})

    def require(self, cell: Cell) -> None:
        """Refuse a cell that cannot run.

        Raises
        ------
        P0SimError
            If a factor is out of its range, an estimand names nothing, or a pool is called as one.
        """
        check_pools(self.measures.pool, self.in_cell(cell).targets.terms)

    def predicted(self, cell: Cell) -> list[tuple[str, str, float]]:
        """Method, estimand and the coverage theory predicts; nan for methods of the user's own."""
        here = self.in_cell(cell)
        return [
            (name, term, float(coverage))
            for name, spec in self.specs.items()
            for term, coverage in zip(
                here.targets.terms, here.predicted_coverage(spec), strict=True
            )
        ]

    def prepare(self, cell: Cell) -> Simulate:
        """What simulates data sets of one cell, its constants worked out once."""
        return self.in_cell(cell).replicate

    def in_cell(self, cell: Cell) -> CellExperiment:
        """The experiment at the parameters of one cell."""
        model = self.truth.model(cell)
        if any(isinstance(s, MethodSection) and s.variance == "exact" for s in self.specs.values()):
            require_dense(model.n)
        targets = Targets.of(self.estimand_names(cell), model.nodes)
        private = any(spec.release for spec in self.specs.values())
        epsilon = require_epsilon(cell.factors[EPSILON]) if private else None
        return CellExperiment(self, model, epsilon, targets)


@dataclass(frozen=True, eq=False)
class CellExperiment:
    """One cell's model, noise and contrasts.

    Attributes
    ----------
    study : PrivateP0
    model : P0Model
        The truth.
    epsilon : float or None
        None where no method is private.
    targets : Targets
        The contrasts.
    """

    study: PrivateP0
    model: P0Model
    epsilon: float | None
    targets: Targets

    def replicate(self, streams: Streams) -> dict[str, Fit]:
        """Draw one network and what hides it; the fits of every method wait to be called."""
        data = self.data_sets(streams)
        fits: dict[str, Fit] = {}
        for name, spec in self.study.specs.items():
            if isinstance(spec, CallSection):
                fits[name] = partial(self._call, name, data[spec.data], streams)
            else:
                fits[name] = partial(self._fit, spec, data[spec.data])
        return fits

    def data_sets(self, streams: Streams) -> dict[str, Degrees]:
        """What the methods are given, by the name of it: all of one and the same network.

        The network's words are drawn in one order whether its rows are looked at or its degrees
        alone, and flips have a stream of their own: a method changes no other method's data.
        """
        model, wanted = self.model, {spec.data for spec in self.study.specs.values()}
        data: dict[str, Degrees] = {}
        if EDGE_FLIP in wanted and self.epsilon is not None:
            blocks, flips = self.sampler.rows(streams.network), streams.flips
            degrees, data[EDGE_FLIP] = flip_blocks(
                blocks, model.q, self.epsilon, model.nodes, rng=flips
            )
        else:
            degrees = BiDegree(*self.sampler.degrees(streams.network), model.q, model.nodes)
        if LAPLACE in wanted and self.epsilon is not None:
            data[LAPLACE] = simulate_release(degrees, self.epsilon, rng=streams.noise)
        return {PLAIN: degrees, **data}

    @cached_property
    def sampler(self) -> EdgeSampler:
        """What draws networks of the truth, prepared once."""
        return EdgeSampler(self.model.alpha, self.model.beta, self.model.q)

    @cached_property
    def true_theta(self) -> FloatVector:
        """The parameters, shape (2n - 1,)."""
        return self.model.theta

    @cached_property
    def true_values(self) -> FloatVector:
        """The contrasts at the truth, shape (terms,)."""
        return self.targets.values(self.true_theta)

    def predicted_coverage(self, spec: MethodSection | CallSection) -> FloatVector:
        """Coverage of each contrast that large-sample theory predicts for a method.

        Returns
        -------
        ndarray, shape (terms,)
            2 Phi(z sqrt(used/true)) - 1, with the variance the method uses and the one its estimate
            has, both at the truth. For contrasts of alphas with variance S that is
            2 Phi(1.96/sqrt(1 + rho)) - 1, rho = tau/v_ii, where the two v_ii agree (derived here).
            nan for a method of the user's own.
        """
        if isinstance(spec, CallSection):
            return np.full(len(self.targets.terms), np.nan)
        quantile = norm.ppf((1 + self.study.level) / 2)
        # parameters so large that variances underflow have no prediction
        with np.errstate(all="ignore"):
            used, true = (
                self.targets.variances(self._covariance(spec, variance))
                for variance in (spec.variance, "noise")
            )
            coverage: FloatVector = 2 * norm.cdf(quantile * np.sqrt(used / true)) - 1
        return coverage

    def _covariance(self, spec: MethodSection, variance: str) -> Covariance:
        """Of the estimates a method gives, at the truth."""
        if self.epsilon is None or spec.data == PLAIN:
            return model_covariance(self.model, 0.0, spec.margins, variance)
        if spec.data == EDGE_FLIP:
            return flipped_covariance(self.model, self.epsilon, variance)
        tau = discrete_laplace_variance(bidegree_sensitivity(self.model.q) / self.epsilon)
        return model_covariance(self.model, tau, spec.margins, variance)

    def _fit(self, spec: MethodSection, degrees: Degrees) -> Outcome:
        try:
            moments = fit_moments(degrees, spec.margins, spec.solver)
        except (NoEstimateError, NotConvergedError) as error:
            return failed(error)
        wanted = self.study.estimands.sup_error
        sup_error = np.abs(moments.model.theta - self.true_theta).max() if wanted else np.nan
        return outcome_of(
            self._estimates(moments, spec.variance),
            self.study.level,
            n_iter=moments.n_iter,
            residual=moments.residual,
            sup_error=float(sup_error),
        )

    def _estimates(self, moments: MomentFit, variance: str) -> list[Estimate]:
        values = self.targets.values(moments.model.theta)
        std_errors = np.sqrt(self.targets.variances(covariance(moments, variance)))
        columns = values.tolist(), std_errors.tolist(), self.true_values.tolist()
        return [Estimate(*row) for row in zip(self.targets.terms, *columns, strict=True)]

    def _call(self, name: str, degrees: Degrees, streams: Streams) -> Outcome:
        try:
            answer = self.study.calls[name].function()(degrees, streams.other(name))
        except (NoEstimateError, NotConvergedError) as error:
            return failed(error)
        true_values = dict(zip(self.targets.terms, self.true_values.tolist(), strict=True))
        estimates = read_pairs(answer, true_values, f"[methods.{name}]")
        return outcome_of(estimates, self.study.level)


def _read_calls(
    specs: Mapping[str, Method],
    estimands: EstimandsSection,
    folder: Path,
    sources: Mapping[str, str] | None,
) -> dict[str, Source]:
    calls = {}
    for name, spec in specs.items():
        if isinstance(spec, CallSection):
            if not estimands.contrasts:
                raise InvalidStudyError(
                    f"[methods.{name}] call must have [estimands] contrasts to estimate; got none"
                )
            calls[name] = Source.read(spec.call, folder, f"[methods.{name}] call", sources)
    return calls


def _numbers(cell: Cell) -> dict[str, float]:
    return {name: value for name, value in cell.factors.items() if not isinstance(value, str)}


def _check_factors(truth: Truth, specs: Mapping[str, Method], factors: Collection[str]) -> None:
    refuse_fixed(truth, factors)
    refuse_unknown(factors, [*truth.needs, EPSILON], "[factors]")
    needed = [*truth.needs]
    if any(spec.release for spec in specs.values()):
        needed.append(EPSILON)
    for name in needed:
        if name not in factors:
            raise InvalidStudyError(
                f"[factors] must have {name}; got {', '.join(factors) or 'none'}"
            )
