"""The main experiment: draw a network, release its degrees, fit, compare with the truth.

Every method of a study is applied to the same network and, where it is private, to the same noise.
A fit that does not exist or does not converge is a row with its reason, never redrawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.stats import norm

from p0sim.arrays import FloatMatrix, FloatVector
from p0sim.errors import InvalidStudyError, NoEstimateError, NotConvergedError
from p0sim.estimate.moments import Degrees, MomentFit, fit_moments
from p0sim.experiments.truth import LINEAR, Truth, find_truth
from p0sim.formulas import fill_positions
from p0sim.inference.contrasts import contrast_weights
from p0sim.inference.covariance import covariance, model_covariance
from p0sim.model.p0 import P0Model
from p0sim.privacy.discrete_laplace import discrete_laplace_variance
from p0sim.privacy.noisy_bidegree import require_epsilon
from p0sim.privacy.sensitivity import bidegree_sensitivity
from p0sim.privacy.simulate import simulate_release
from p0sim.replicate import Cell, Outcome, Streams
from p0sim.validation import check_table, refuse_unknown

EPSILON = "epsilon"
# rough seconds of one fit a pair of nodes, for the first forecast only
SECONDS_A_PAIR = 2.5e-7


class ModelSection(BaseModel):
    """[model]: where the truth comes from, and which cells share their networks."""

    model_config = ConfigDict(frozen=True)

    theta: str = LINEAR
    q: Annotated[int, Field(ge=2)] | None = None
    share_network_across: list[str] = []


class EstimandsSection(BaseModel):
    """[estimands]: what is estimated in every replicate."""

    model_config = ConfigDict(frozen=True)

    contrasts: list[str] = []
    sup_error: bool = True


class MethodSection(BaseModel):
    """[methods.NAME]: one way from degrees to intervals."""

    model_config = ConfigDict(frozen=True)

    release: bool = True
    margins: Literal["balanced", "drop_last"] = "balanced"
    variance: Literal["noise", "S", "exact"] = "noise"
    solver: Literal["newton", "fixed_point"] = "newton"
    label: str = ""


class MeasuresSection(BaseModel):
    """[measures]: the level of the intervals."""

    model_config = ConfigDict(frozen=True)

    level: Annotated[float, Field(gt=0, lt=1)] = 0.95


@dataclass(frozen=True, eq=False)
class PrivateP0:
    """What the engine runs: the sections of a study file, resolved.

    Attributes
    ----------
    truth : LinearTruth or FixedTruth
    shared_factors : frozenset of str
        Factors across which the networks are the same.
    estimands : EstimandsSection
    specs : dict of str to MethodSection
    level : float
    """

    truth: Truth
    shared_factors: frozenset[str]
    estimands: EstimandsSection
    specs: Mapping[str, MethodSection]
    level: float

    @classmethod
    def from_sections(
        cls, sections: Mapping[str, Any], factors: Collection[str], folder: Path
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

        Raises
        ------
        InvalidStudyError
            Naming the section, the key, the rule and the value.
        """
        model = check_table(ModelSection, sections.get("model", {}), "[model]")
        specs = {
            name: check_table(MethodSection, table, f"[methods.{name}]")
            for name, table in sections.get("methods", {}).items()
        }
        truth = find_truth(model.theta, model.q, folder)
        _check_factors(truth, specs, factors)
        _check_labels(specs)
        sharing = [name for name in factors if name not in truth.needs]
        refuse_unknown(model.share_network_across, sharing, "[model] share_network_across")
        return cls(
            truth,
            frozenset(model.share_network_across),
            check_table(EstimandsSection, sections.get("estimands", {}), "[estimands]"),
            specs,
            check_table(MeasuresSection, sections.get("measures", {}), "[measures]").level,
        )

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in file order."""
        return tuple(self.specs)

    @property
    def constants(self) -> dict[str, int]:
        """n and q where the truth fixes them."""
        return self.truth.constants

    def content(self, cell: Cell) -> dict[str, Any]:
        """What generates the data of a cell, beyond its factors."""
        return {
            "experiment": "private_p0",
            "model": self.truth.content(),
            "share_network_across": sorted(self.shared_factors),
        }

    def identity(self) -> dict[str, Any]:
        """Everything whose change makes old rows another study; labels are for show only."""
        return {
            "model": self.truth.content(),
            "share_network_across": sorted(self.shared_factors),
            "estimands": self.estimands.model_dump(),
            "methods": {
                name: spec.model_dump(exclude={"label"}) for name, spec in self.specs.items()
            },
            "level": self.level,
        }

    def cost(self, cell: Cell) -> float:
        """Seconds a replicate, a first guess."""
        return SECONDS_A_PAIR * self.truth.model(cell).n ** 2 * len(self.specs)

    def estimand_names(self, cell: Cell) -> tuple[str, ...]:
        """The contrasts with their positions filled in."""
        names = {**self.constants, **_numbers(cell)}
        texts = ["".join(text.split()) for text in self.estimands.contrasts]
        terms = tuple(fill_positions(text, names) for text in texts)
        for term in terms:
            if terms.count(term) > 1:
                raise InvalidStudyError(f"[estimands] contrasts must differ; got {term} twice")
        return terms

    def prepare(self, cell: Cell) -> Callable[[Streams], list[Outcome]]:
        """The replicate function of one cell, its constants worked out once."""
        return self.in_cell(cell).replicate

    def in_cell(self, cell: Cell) -> CellExperiment:
        """The experiment at the parameters of one cell."""
        model = self.truth.model(cell)
        terms = self.estimand_names(cell)
        weights = contrast_weights(terms, model.nodes) if terms else np.empty((0, 2 * model.n - 1))
        private = any(spec.release for spec in self.specs.values())
        epsilon = require_epsilon(cell.factors[EPSILON]) if private else None
        return CellExperiment(self, model, epsilon, terms, weights)


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
    terms : tuple of str
    weights : ndarray, shape (terms, 2n - 1)
    """

    study: PrivateP0
    model: P0Model
    epsilon: float | None
    terms: tuple[str, ...]
    weights: FloatMatrix

    def replicate(self, streams: Streams) -> list[Outcome]:
        """Draw one network and one noise, apply every method."""
        degrees = self.model.sample_bidegree(rng=streams.network)
        noisy: Degrees = degrees
        if self.epsilon is not None:
            noisy = simulate_release(degrees, self.epsilon, rng=streams.noise)
        return [
            self._apply(name, spec, noisy if spec.release else degrees)
            for name, spec in self.study.specs.items()
        ]

    def predicted_coverage(self, spec: MethodSection) -> FloatVector:
        """Coverage of each contrast that large-sample theory predicts for a method.

        Returns
        -------
        ndarray, shape (terms,)
            2 Phi(z sqrt(used/true)) - 1, with the variance the method uses and the one its estimate
            has, both at the truth. For contrasts of alphas with variance S that is
            2 Phi(1.96/sqrt(1 + rho)) - 1, rho = tau/v_ii, where the two v_ii agree (derived here).
        """
        tau = self._noise_variance(spec)
        quantile = norm.ppf((1 + self.study.level) / 2)
        # parameters so large that variances underflow have no prediction
        with np.errstate(all="ignore"):
            used, true = (
                model_covariance(self.model, tau, spec.margins, variance).contrast_variances(
                    self.weights
                )
                for variance in (spec.variance, "noise")
            )
            coverage: FloatVector = 2 * norm.cdf(quantile * np.sqrt(used / true)) - 1
        return coverage

    def _noise_variance(self, spec: MethodSection) -> float:
        if self.epsilon is None or not spec.release:
            return 0.0
        return discrete_laplace_variance(bidegree_sensitivity(self.model.q) / self.epsilon)

    def _apply(self, name: str, spec: MethodSection, degrees: Degrees) -> Outcome:
        start = time.perf_counter()
        outcome = self._outcome(name, spec, degrees)
        return replace(outcome, seconds=time.perf_counter() - start)

    def _outcome(self, name: str, spec: MethodSection, degrees: Degrees) -> Outcome:
        try:
            moments = fit_moments(degrees, spec.margins, spec.solver)
        except NoEstimateError as error:
            return Outcome(name, "no_estimate", error.reason)
        except NotConvergedError as error:
            return Outcome(name, "not_converged", str(error), residual=error.residual)
        wanted = self.study.estimands.sup_error
        sup_error = np.abs(moments.model.theta - self.model.theta).max() if wanted else np.nan
        return Outcome(
            name,
            "ok",
            n_iter=moments.n_iter,
            residual=moments.residual,
            sup_error=float(sup_error),
            estimates=self._rows(moments, spec.variance),
        )

    def _rows(self, moments: MomentFit, variance: str) -> tuple[dict[str, Any], ...]:
        estimate = self.weights @ moments.model.theta
        std_error = np.sqrt(covariance(moments, variance).contrast_variances(self.weights))
        half = norm.ppf((1 + self.study.level) / 2) * std_error
        true_value = self.weights @ self.model.theta
        columns = (
            estimate,
            std_error,
            estimate - half,
            estimate + half,
            true_value,
            (estimate - true_value) / std_error,
        )
        names = ("estimate", "std_error", "lower", "upper", "true_value", "z")
        return tuple(
            {"estimand": term, **dict(zip(names, values, strict=True))}
            for term, values in zip(self.terms, np.column_stack(columns).tolist(), strict=True)
        )


def _check_labels(specs: Mapping[str, MethodSection]) -> None:
    """Refuse two methods that tables and figures could not tell apart."""
    shown = [spec.label or name for name, spec in specs.items()]
    for label in shown:
        if not label.strip() or shown.count(label) > 1:
            raise InvalidStudyError(f"[methods] labels must differ and not be empty; got {label!r}")


def _numbers(cell: Cell) -> dict[str, float]:
    return {name: value for name, value in cell.factors.items() if not isinstance(value, str)}


def _check_factors(
    truth: Truth, specs: Mapping[str, MethodSection], factors: Collection[str]
) -> None:
    if not specs:
        raise InvalidStudyError("[methods] must hold at least one method; got none")
    refuse_unknown(factors, [*truth.needs, EPSILON], "[factors]")
    needed = [*truth.needs]
    if any(spec.release for spec in specs.values()):
        needed.append(EPSILON)
    for name in needed:
        if name not in factors:
            raise InvalidStudyError(
                f"[factors] must have {name}; got {', '.join(factors) or 'none'}"
            )
