"""Solving the moment equations: arrays in, a report out. Existence is settled elsewhere.

The equations r_i = sum_j mu(alpha_i + beta_j), c_j = sum_i mu(alpha_i + beta_j) set the gradient of
a concave likelihood to 0, so a Newton step that is cut until the likelihood rises converges from
any start when a solution exists. Both solvers stop on the same scale: the largest residual in
standard deviations of its margin, ``|residual| / sqrt(v_ii)``.

The rows need not be the nodes of the columns: with `shared` given, the first so many rows and
columns are the same nodes, which have no pair with themselves, and all others are different.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from p0sim.arrays import FloatVector, IntVector
from p0sim.estimate import newton

TOLERANCE = 1e-9
NEWTON_STEPS = 100
FIXED_POINT_SWEEPS = 10_000

Start = tuple[FloatVector, FloatVector]


@dataclass(frozen=True, eq=False)
class SolverReport:
    """Where a solver stopped.

    Attributes
    ----------
    alpha, beta : ndarray, shapes of rows and columns
        With beta[-1] = 0.
    variances : two ndarrays, shapes of rows and columns
        Of the out-degrees and of the in-degrees, at these parameters.
    converged : bool
    n_iter : int
        Newton steps or fixed-point sweeps taken.
    residual : float
        Largest residual, in standard deviations of its margin; with a ridge, over the root of the
        equation's own slope, margin variance plus ridge.
    """

    alpha: FloatVector
    beta: FloatVector
    variances: tuple[FloatVector, FloatVector]
    converged: bool
    n_iter: int
    residual: float


def solve_newton(
    rows: FloatVector,
    columns: FloatVector,
    q: int,
    start: Start | None = None,
    shared: int | None = None,
    ridge: float = 0.0,
) -> SolverReport:
    """Newton's method with conjugate gradients: O(n) a step.

    Parameters
    ----------
    rows, columns : ndarray, shapes (a,) and (b,)
        Treated margins for which an estimate exists; equal totals.
    q : int
        Weights lie in 0..q-1.
    start : (alpha, beta), optional
        Finite parameters to start from, in any gauge; by default those of independent rows and
        columns, each balanced with its penalty if there is a ridge.
    shared : int, optional
        How many nodes, the first of both sides, are rows and columns; by default all.
    ridge : float
        lambda of the penalty lambda/2 (sum_i (alpha_i - mean)^2 + sum_j (beta_j - mean)^2).

    Returns
    -------
    SolverReport
        `converged` says that every residual is at most 1e-9 standard deviations of its margin, and
        at most 1e-9 v_ii (v_ii plus ridge, if any), or else within rounding: 8 units in the last
        place of margin plus expectation. It is False where the step limit came first, and where
        such rounding could move a parameter by more than 0.001 log-odds: the margins, as floats, do
        not determine it.

    Notes
    -----
    The method, its preconditioner and its rule for cutting steps are derived at the top of
    :mod:`p0sim.estimate.newton`.

    References
    ----------
    .. [1] Wang et al. 2022, section 3, for the equations.

    Examples
    --------
    >>> solve_newton(np.array([2.0, 1.0, 1.5]), np.array([1.5, 1.5, 1.5]), q=3).converged
    True
    """
    margins, n, pairs = _joined(rows, columns, shared)
    if start is not None:
        theta = np.concatenate(start, dtype=np.float64)
    elif ridge > 0:
        theta = newton.penalised_start(margins, q, n, pairs, float(ridge))
    else:
        theta = newton.starting_values(margins, q, n, pairs)
    stop = newton.newton(margins, q, n, pairs, float(ridge), theta, NEWTON_STEPS, TOLERANCE)
    return _report(stop, n)


def solve_fixed_point(
    rows: FloatVector,
    columns: FloatVector,
    q: int,
    start: Start | None = None,
    shared: int | None = None,
) -> SolverReport:
    """The paper's coordinate iteration in a form that is stable for every q.

    Parameters
    ----------
    rows, columns, q, start, shared
        As for :func:`solve_newton`.

    Returns
    -------
    SolverReport

    Notes
    -----
    All alphas, then all betas, take one Newton step each, alpha_i += (r_i - E_i)/v_i, at most
    1 log-odds; beta_n moves freely and is shifted back to 0 at the end. The literal iteration, on
    ratios and with beta_n pinned, contracts at 1 - O(1/n) and diverges for larger q.

    References
    ----------
    .. [1] Wang et al. 2022, section 3, for the iteration; the stable form is derived here.

    Examples
    --------
    >>> solve_fixed_point(np.array([2.0, 1.0, 1.5]), np.array([1.5, 1.5, 1.5]), q=3).converged
    True
    """
    margins, n, pairs = _joined(rows, columns, shared)
    if start is not None:
        theta = np.concatenate(start, dtype=np.float64)
    else:
        theta = newton.starting_values(margins, q, n, pairs)
    stop = newton.fixed_point(margins, q, n, pairs, theta, FIXED_POINT_SWEEPS, TOLERANCE)
    return _report(stop, n)


SOLVERS: dict[str, Callable[..., SolverReport]] = {
    "newton": solve_newton,
    "fixed_point": solve_fixed_point,
}


def solve(
    rows: FloatVector,
    columns: FloatVector,
    q: int,
    solver: str = "newton",
    start: Start | None = None,
    shared: int | None = None,
) -> SolverReport:
    """Run a solver by name, and disbelieve it where floats cannot hold the equations.

    Parameters
    ----------
    rows, columns, q, start, shared
        As for :func:`solve_newton`.
    solver : {"newton", "fixed_point"}

    Returns
    -------
    SolverReport
        Not converged, with infinite residual, where a margin strictly inside its range rounds to
        its end: no finite parameter solves the equations that are left.

    Examples
    --------
    >>> solve(np.array([2.0, 1.0, 1.5]), np.array([1.5, 1.5, 1.5]), q=3).n_iter
    4
    """
    report = SOLVERS[solver](rows, columns, q, start, shared)
    both = np.concatenate([rows, columns])
    if both.min() <= 0 or (both >= (q - 1) * partners(len(rows), len(columns), shared)).any():
        return replace(report, converged=False, residual=float("inf"))
    return report


def partners(rows: int, columns: int, shared: int | None) -> IntVector | int:
    """Pairs of each row, then of each column; one number where all have the same.

    Examples
    --------
    >>> partners(2, 3, shared=1)
    array([2, 3, 1, 2, 2])
    >>> partners(4, 4, shared=None)
    3
    """
    if shared is None:
        return rows - 1
    counts = np.repeat([columns, rows], [rows, columns])
    counts[:shared] -= 1
    counts[rows : rows + shared] -= 1
    return counts


def _joined(
    rows: FloatVector, columns: FloatVector, shared: int | None
) -> tuple[FloatVector, int, int]:
    n = len(rows)
    return np.concatenate([rows, columns], dtype=np.float64), n, n if shared is None else shared


def _report(stop: newton.Stop, n: int) -> SolverReport:
    # the equations do not change when a constant moves from beta to alpha
    shift = stop.theta[-1]
    alpha, beta = stop.theta[:n] + shift, stop.theta[n:] - shift
    variances = stop.variances[:n], stop.variances[n:]
    return SolverReport(alpha, beta, variances, bool(stop.converged), stop.n_iter, stop.size)
