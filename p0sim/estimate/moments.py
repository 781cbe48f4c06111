"""From degrees to a fitted model: treat the margins, test existence, solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from p0sim.arrays import FloatVector, require_choice
from p0sim.errors import InvalidNetworkError, NotConvergedError
from p0sim.estimate.existence import check_margins, require_pair
from p0sim.estimate.margins import Margins, treat_margins
from p0sim.estimate.solvers import SOLVERS, solve
from p0sim.model.bidegree import BiDegree, shared_index
from p0sim.model.p0 import P0Model
from p0sim.privacy.noisy_bidegree import NoisyBiDegree

Degrees: TypeAlias = NoisyBiDegree | BiDegree


@dataclass(frozen=True, eq=False)
class MomentFit:
    """What the solver found.

    Attributes
    ----------
    model : P0Model
        At the estimate, with the labels of the degrees.
    degree_variances : two ndarrays, shape (n,)
        Of the out-degrees and of the in-degrees under that model.
    degrees : NoisyBiDegree or BiDegree
        What was fitted.
    margins : Margins
        The treated sums that the estimate reproduces.
    solver : str
    n_iter : int
    residual : float
        Largest residual, in standard deviations of its margin.
    """

    model: P0Model
    degree_variances: tuple[FloatVector, FloatVector]
    degrees: Degrees
    margins: Margins
    solver: str
    n_iter: int
    residual: float

    @property
    def epsilon(self) -> float | None:
        """Privacy loss of the degrees; None where they carry no noise."""
        return self.degrees.epsilon if isinstance(self.degrees, NoisyBiDegree) else None

    @property
    def noise_variance(self) -> float:
        """tau, 0 where the degrees carry no noise."""
        return self.degrees.noise_variance if isinstance(self.degrees, NoisyBiDegree) else 0.0


def fit_moments(degrees: Degrees, margins: str = "balanced", solver: str = "newton") -> MomentFit:
    """Solve the moment equations for a bi-degree.

    Parameters
    ----------
    degrees : NoisyBiDegree or BiDegree
    margins : {"balanced", "drop_last"}
    solver : {"newton", "fixed_point"}

    Returns
    -------
    MomentFit

    Raises
    ------
    NoEstimateError
        If the equations have no solution; known before any solving.
    NotConvergedError
        If the solver stops before it meets its tolerance.

    References
    ----------
    .. [1] Wang et al. 2022, section 3, with the margins of :mod:`p0sim.estimate.margins`.

    Examples
    --------
    >>> fit = fit_moments(BiDegree([3, 1, 2], [2, 2, 2], q=3))
    >>> fit.model.expected_bidegree().out_degree.round(9)
    array([3., 1., 2.])
    """
    require_choice(solver, "solver", tuple(SOLVERS))
    treated = treat_margins(degrees.out_degree, degrees.in_degree, margins)
    check_margins(treated, degrees.q, degrees.nodes).require()
    report = solve(treated.rows, treated.columns, degrees.q, solver)
    if not report.converged:
        theta = np.concatenate([report.alpha, report.beta[:-1]])
        raise NotConvergedError(theta, report.residual)
    model = P0Model(report.alpha, report.beta, degrees.q, degrees.nodes)
    return MomentFit(
        model, report.variances, degrees, treated, solver, report.n_iter, report.residual
    )


def as_degrees(
    z: Degrees | tuple[ArrayLike, ArrayLike], q: int | None = None, epsilon: float | None = None
) -> Degrees:
    """Degrees as one of the two types that know their q and their noise.

    Parameters
    ----------
    z : NoisyBiDegree, BiDegree or (out_degree, in_degree)
    q, epsilon : optional
        Go with a pair of vectors only; epsilon None says that they carry no noise.

    Raises
    ------
    TypeError
        If q is missing for a pair, or given beside degrees that know it.
    InvalidNetworkError
        If degrees break a rule; if noise-free totals differ: noise must not be ignored in silence.
    """
    if isinstance(z, BiDegree | NoisyBiDegree):
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
    totals = degrees.out_degree.sum(), degrees.in_degree.sum()
    # whole numbers must agree exactly; expectations up to rounding
    if not np.isclose(*totals, rtol=0 if degrees.out_degree.dtype.kind == "i" else 1e-9, atol=0):
        raise InvalidNetworkError(
            f"totals of out_degree and in_degree must agree without noise; got {totals[0]}, "
            f"{totals[1]}; degrees with noise need epsilon"
        )
