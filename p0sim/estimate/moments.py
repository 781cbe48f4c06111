"""From degrees to a fitted model: treat the margins, test existence, solve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from p0sim.arrays import FloatVector, default_labels, require_choice
from p0sim.errors import InvalidNetworkError, InvalidParametersError, NotConvergedError
from p0sim.estimate.boundary import Boundary, find_boundary
from p0sim.estimate.existence import check_margins, require_pair
from p0sim.estimate.margins import Margins, margins_of
from p0sim.estimate.ridge import (
    check_range,
    check_total,
    choose_ridge,
    penalty,
    require_ridge,
    solve_ridge,
)
from p0sim.estimate.solvers import SOLVERS, SolverReport, solve
from p0sim.model.bidegree import BiDegree, shared_index
from p0sim.model.edge_kernels import inverse_mean
from p0sim.model.extended import ExtendedP0Model
from p0sim.model.p0 import P0Model
from p0sim.privacy.edge_flip import FlippedBiDegree
from p0sim.privacy.edge_flip_law import unbiased_variances
from p0sim.privacy.noisy_bidegree import NoisyBiDegree

Degrees: TypeAlias = NoisyBiDegree | FlippedBiDegree | BiDegree

BOUNDARIES = ("refuse", "extend")
# two ways on where no estimate exists, as the message of a refusal names them: one or the other
EXTEND = 'boundary="extend" (for little or no noise)'
RIDGE = 'ridge="auto" (for sparse degrees with noise)'


@dataclass(frozen=True, eq=False)
class MomentFit:
    """What the solver found.

    Attributes
    ----------
    model : P0Model
        At the estimate, with the labels of the degrees; an ExtendedP0Model where parameters are
        infinite.
    degree_variances : two ndarrays, shape (n,)
        Of the out-degrees and of the in-degrees under that model.
    degrees : NoisyBiDegree, FlippedBiDegree or BiDegree
        What was fitted.
    margins : Margins
        The treated sums that the estimate reproduces, fixed arcs of infinite parameters included;
        with a ridge, those it was fitted to.
    solver : str
    n_iter : int
    residual : float
        Largest residual, in standard deviations of its margin.
    boundary : str
        "refuse" or "extend", as asked.
    ridge : float
        lambda of the penalty, 0 without.
    """

    model: P0Model
    degree_variances: tuple[FloatVector, FloatVector]
    degrees: Degrees
    margins: Margins
    solver: str
    n_iter: int
    residual: float
    boundary: str = "refuse"
    ridge: float = 0.0

    @property
    def n_forced(self) -> int:
        """How many parameters are infinite."""
        return int(np.isinf(self.model.alpha).sum() + np.isinf(self.model.beta).sum())

    def objective(self) -> float:
        """What was maximised: the log-likelihood at the margins, less the penalty of a ridge."""
        model = self.model
        likelihood = model.log_likelihood(self.margins.rows, self.margins.columns)
        return likelihood - (penalty(model.alpha, model.beta, self.ridge) if self.ridge else 0.0)

    @property
    def excess_shared(self) -> bool:
        """Whether what totals differ by was shared by all margins that were fitted.

        With drop_last the last in-degree took it, unless that node's beta is infinite.
        """
        return self.margins.treatment != "drop_last" or self.model.reference < self.model.n - 1

    @property
    def epsilon(self) -> float | None:
        """Privacy loss of the degrees; None where they carry no noise."""
        return None if isinstance(self.degrees, BiDegree) else self.degrees.epsilon

    @property
    def noise_variance(self) -> float:
        """tau, 0 where the degrees carry no noise; where edges were flipped, a typical one."""
        if isinstance(self.degrees, FlippedBiDegree):
            added = self.margin_variances - np.concatenate(self.degree_variances)
            return float(np.median(added))
        return self.degrees.noise_variance if isinstance(self.degrees, NoisyBiDegree) else 0.0

    @property
    def margin_variances(self) -> FloatVector:
        """Variances of the 2n margins before their totals are made to agree, at the estimate."""
        if isinstance(self.degrees, FlippedBiDegree):
            return unbiased_variances(self.model, self.degree_variances, self.degrees.epsilon)
        return np.concatenate(self.degree_variances) + self.noise_variance


def fit_moments(
    degrees: Degrees,
    margins: str = "balanced",
    solver: str = "newton",
    boundary: str = "refuse",
    ridge: float | str = 0.0,
) -> MomentFit:
    """Solve the moment equations for a bi-degree.

    Parameters
    ----------
    degrees : NoisyBiDegree, FlippedBiDegree or BiDegree
    margins : {"balanced", "drop_last"}
    solver : {"newton", "fixed_point"}
    boundary : {"refuse", "extend"}
        What to do with nodes at the end of their range: :mod:`p0sim.estimate.boundary`. "extend"
        loses the noise of those below 0: prefer a ridge for sparse degrees with much noise.
    ridge : float or "auto"
        Weight of a penalty, 0 for none; not together with "extend". Its range is that of
        :mod:`p0sim.estimate.ridge`.

    Returns
    -------
    MomentFit

    Raises
    ------
    NoEstimateError
        If the equations have no solution, not even an extended or a penalised one where that was
        asked for; known before any solving.
    NotConvergedError
        If the solver stops before it meets its tolerance.
    InvalidParametersError
        If an argument breaks its rule, or a ridge is asked for together with boundary "extend" or
        with the solver "fixed_point".

    References
    ----------
    .. [1] Wang et al. 2022, section 3, with the margins of :mod:`p0sim.estimate.margins`.

    Examples
    --------
    >>> fit = fit_moments(BiDegree([3, 1, 2], [2, 2, 2], q=3))
    >>> fit.model.expected_bidegree().out_degree.round(9)
    array([3., 1., 2.])
    >>> fit_moments(BiDegree([0, 2, 2, 2], [2, 1, 1, 2], q=2), boundary="extend").model.alpha
    array([       -inf, -0.43417501, -0.43417501,  0.43417501])
    """
    _require_choices(solver, boundary, require_ridge(ridge))
    treated = margins_of(degrees, margins)
    if ridge != 0:
        return _fit_ridge(degrees, treated, require_ridge(ridge))
    if boundary == "extend":
        found = find_boundary(treated, degrees.q)
        if found.forced:
            found.check(degrees.nodes).require(*ways_on(treated, degrees.q, boundary))
            return _fit_rest(degrees, found, solver)
    answer = check_margins(treated, degrees.q, degrees.nodes)
    if not answer.exists:
        answer.require(*ways_on(treated, degrees.q, boundary))
    report = _converged(solve(treated.rows, treated.columns, degrees.q, solver))
    model = P0Model(report.alpha, report.beta, degrees.q, degrees.nodes)
    return _moment_fit(model, report.variances, degrees, treated, solver, report, boundary)


def ways_on(treated: Margins, q: int, boundary: str = "refuse") -> tuple[str, ...]:
    """Arguments of fit that give an estimate where the ordinary one does not exist.

    Parameters
    ----------
    treated : Margins
    q : int
    boundary : {"refuse", "extend"}
        What was tried.

    Returns
    -------
    tuple of str
        Each with what it is for; none where both ways are closed too.

    Examples
    --------
    >>> from p0sim.estimate.margins import treat_margins
    >>> ways_on(treat_margins(np.array([0, 1, 1]), np.array([0, 1, 1])), q=2)
    ('ridge="auto" (for sparse degrees with noise)',)
    """
    ways = []
    if boundary == "refuse" and _extends(treated, q):
        ways.append(EXTEND)
    if check_total(treated, q).exists:
        ways.append(RIDGE)
    return tuple(ways)


def _extends(treated: Margins, q: int) -> bool:
    found = find_boundary(treated, q)
    return found.forced > 0 and found.check(default_labels(len(treated.rows))).exists


def _fit_ridge(degrees: Degrees, treated: Margins, ridge: float | str) -> MomentFit:
    q = degrees.q
    check_total(treated, q).require()
    if isinstance(ridge, str):
        ridge = choose_ridge(treated, q, _typical_noise(degrees, treated))
    check_range(treated, q, ridge)
    report = _converged(solve_ridge(treated, q, ridge))
    model = P0Model(report.alpha, report.beta, q, degrees.nodes)
    fitted = _moment_fit(model, report.variances, degrees, treated, "newton", report, "refuse")
    return replace(fitted, ridge=ridge)


def _fit_rest(degrees: Degrees, found: Boundary, solver: str) -> MomentFit:
    """The extended estimate where some parameters are infinite."""
    margins, (rows, columns, shared) = found.rest, found.block
    start = None
    report = _converged(
        solve(margins.rows[rows], margins.columns[columns], degrees.q, solver, start, shared)
    )
    alpha, beta, *variances = np.zeros((4, len(degrees.nodes)))
    alpha[rows], beta[columns] = report.alpha, report.beta
    variances[0][rows], variances[1][columns] = report.variances
    shift = beta[columns.max()]
    model = ExtendedP0Model(
        alpha + shift,
        beta - shift,
        degrees.q,
        found.alpha_rates,
        found.beta_rates,
        degrees.nodes,
    )
    both = variances[0], variances[1]
    return _moment_fit(model, both, degrees, found.margins, solver, report, "extend")


def _moment_fit(
    model: P0Model,
    variances: tuple[FloatVector, FloatVector],
    degrees: Degrees,
    treated: Margins,
    solver: str,
    report: SolverReport,
    boundary: str,
) -> MomentFit:
    return MomentFit(
        model, variances, degrees, treated, solver, report.n_iter, report.residual, boundary
    )


def _converged(report: SolverReport) -> SolverReport:
    if not report.converged:
        theta = np.concatenate([report.alpha, report.beta[:-1]])
        raise NotConvergedError(theta, report.residual)
    return report


def _require_choices(solver: str, boundary: str, ridge: float | str) -> None:
    require_choice(solver, "solver", tuple(SOLVERS))
    require_choice(boundary, "boundary", BOUNDARIES)
    if ridge != 0 and boundary == "extend":
        raise InvalidParametersError(
            f'boundary must be "refuse" with a ridge, which keeps all finite; got ridge={ridge}'
        )
    if ridge != 0 and solver != "newton":
        raise InvalidParametersError(f"solver must be newton with a ridge; got {solver!r}")


def _typical_noise(degrees: Degrees, treated: Margins) -> float:
    """tau, or what flips add to the variance of a margin if all nodes were alike."""
    if isinstance(degrees, FlippedBiDegree):
        level = inverse_mean(float(treated.rows.mean()) / (degrees.n - 1), degrees.q)
        alike = P0Model(np.full(degrees.n, level), np.zeros(degrees.n), degrees.q)
        own = alike.degree_variances()
        return float(unbiased_variances(alike, own, degrees.epsilon)[0] - own[0][0])
    return degrees.noise_variance if isinstance(degrees, NoisyBiDegree) else 0.0


def as_degrees(
    z: Degrees | tuple[ArrayLike, ArrayLike], q: int | None = None, epsilon: float | None = None
) -> Degrees:
    """Degrees as one of the types that know their q and their noise.

    Parameters
    ----------
    z : NoisyBiDegree, FlippedBiDegree, BiDegree or (out_degree, in_degree)
    q, epsilon : optional
        Go with a pair of vectors only; epsilon None says that they carry no noise.

    Raises
    ------
    TypeError
        If q is missing for a pair, or given beside degrees that know it.
    InvalidNetworkError
        If degrees break a rule; if noise-free totals differ: noise must not be ignored in silence.
    """
    if isinstance(z, BiDegree | NoisyBiDegree | FlippedBiDegree):
        if q is not None or epsilon is not None:
            raise TypeError(f"q and epsilon go with a pair of vectors only; got both with {z!r}")
        degrees: Degrees = z
    else:
        pair = require_pair(z)
        if q is None:
            raise TypeError("q must be given with a pair of degree vectors")
        if epsilon is not None:
            return NoisyBiDegree(*pair, q, epsilon, shared_index(pair))
        degrees = BiDegree(*pair, q, shared_index(pair))
    if isinstance(degrees, BiDegree):
        _require_equal_totals(degrees)
    return degrees


def _require_equal_totals(degrees: BiDegree) -> None:
    totals = sum(degrees.out_degree.tolist()), sum(degrees.in_degree.tolist())
    whole = all(isinstance(total, int) for total in totals)
    # whole numbers must agree exactly, and Python integers do not wrap round; expectations of a
    # model agree up to rounding
    if totals[0] != totals[1] if whole else not np.isclose(*totals, rtol=1e-9, atol=0):
        raise InvalidNetworkError(
            f"totals of out_degree and in_degree must agree without noise; got {totals[0]}, "
            f"{totals[1]}; degrees with noise need epsilon"
        )
