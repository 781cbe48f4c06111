"""Solving the moment equations: arrays in, a report out. Existence is settled elsewhere.

The equations r_i = sum_j mu(alpha_i + beta_j), c_j = sum_i mu(alpha_i + beta_j) set the gradient of
a concave likelihood to 0, so a Newton step that is cut until the likelihood rises converges from
any start when a solution exists. Both solvers stop on the same scale: the largest residual in
standard deviations of its margin, |residual| / sqrt(v_ii).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from p0sim.arrays import FloatVector
from p0sim.model.edge_law import edge_mean, edge_variance
from p0sim.model.edge_sums import edge_variances, log_normalizer_sum, mean_sums, variance_sums
from p0sim.model.fisher import fisher_solve

TOLERANCE = 1e-9
NEWTON_STEPS = 100
FIXED_POINT_SWEEPS = 10_000
SMALLEST_STEP = 2.0**-40
ARMIJO = 1e-4
SMALLEST_SHARE = 2.0**-50
# largest move of one coordinate in one fixed-point sweep, log-odds
COORDINATE_STEP = 1.0


@dataclass(frozen=True, eq=False)
class SolverReport:
    """Where a solver stopped.

    Attributes
    ----------
    alpha, beta : ndarray, shape (n,)
        With beta[-1] = 0.
    converged : bool
    n_iter : int
        Newton steps or fixed-point sweeps taken.
    residual : float
        Largest residual, in standard deviations of its margin.
    """

    alpha: FloatVector
    beta: FloatVector
    converged: bool
    n_iter: int
    residual: float


@dataclass(frozen=True, eq=False)
class _Point:
    """Parameters with what is left of each margin there."""

    alpha: FloatVector
    beta: FloatVector
    row_residual: FloatVector
    column_residual: FloatVector


def solve_newton(rows: FloatVector, columns: FloatVector, q: int) -> SolverReport:
    """Damped Newton on the moment equations.

    Parameters
    ----------
    rows, columns : ndarray, shape (n,)
        Treated margins for which an estimate exists; equal totals.
    q : int
        Weights lie in 0..q-1.

    Returns
    -------
    SolverReport
        `converged` is False where rounding or the step limit stopped it first.

    References
    ----------
    .. [1] Wang et al. 2022, section 3, for the equations.

    Examples
    --------
    >>> solve_newton(np.array([2.0, 1.0, 1.5]), np.array([1.5, 1.5, 1.5]), q=3).converged
    True
    """
    point = _at(rows, columns, q, *starting_values(rows, columns, q))
    for step in range(NEWTON_STEPS + 1):
        variances = edge_variances(point.alpha, point.beta, q)
        size = _size(point, variances.sum(axis=1), variances.sum(axis=0))
        if size <= TOLERANCE or step == NEWTON_STEPS:
            break
        try:
            direction = fisher_solve(
                variances, np.concatenate([point.row_residual, point.column_residual[:-1]])
            )
        except np.linalg.LinAlgError:
            break
        following = _climb(point, direction, rows, columns, q)
        if following is None:
            break
        point = following
    return _report(point, size, step)


def solve_fixed_point(rows: FloatVector, columns: FloatVector, q: int) -> SolverReport:
    """The paper's coordinate iteration in a form that is stable for every q.

    Parameters
    ----------
    rows, columns, q
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
    alpha, beta = starting_values(rows, columns, q)
    for sweep in range(FIXED_POINT_SWEEPS + 1):
        point = _at(rows, columns, q, alpha, beta)
        variances = variance_sums(alpha, beta, q)
        size = _size(point, *variances)
        if size <= TOLERANCE or sweep == FIXED_POINT_SWEEPS:
            break
        alpha = alpha + _coordinate_step(point.row_residual, variances[0])
        residual = columns - mean_sums(alpha, beta, q)[1]
        beta = beta + _coordinate_step(residual, variance_sums(alpha, beta, q)[1])
    return _report(point, size, sweep)


SOLVERS: dict[str, Callable[[FloatVector, FloatVector, int], SolverReport]] = {
    "newton": solve_newton,
    "fixed_point": solve_fixed_point,
}


def solve(rows: FloatVector, columns: FloatVector, q: int, solver: str = "newton") -> SolverReport:
    """Run a solver by name, and disbelieve it where floats cannot hold the equations.

    Parameters
    ----------
    rows, columns, q
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
    report = SOLVERS[solver](rows, columns, q)
    both = np.concatenate([rows, columns])
    if (both <= 0).any() or (both >= (len(rows) - 1) * (q - 1)).any():
        return replace(report, converged=False, residual=float("inf"))
    return report


def starting_values(
    rows: FloatVector, columns: FloatVector, q: int
) -> tuple[FloatVector, FloatVector]:
    """Parameters of independent rows and columns: mu^-1 of each mean weight, halves shared.

    Parameters
    ----------
    rows, columns, q
        As for :func:`solve_newton`.

    Returns
    -------
    alpha, beta : ndarray, shape (n,)
    """
    n = len(rows)
    overall = inverse_mean(rows.sum(keepdims=True) / (n * (n - 1)), q)
    return (
        inverse_mean(rows / (n - 1), q) - overall / 2,
        inverse_mean(columns / (n - 1), q) - overall / 2,
    )


def inverse_mean(mean: FloatVector, q: int) -> FloatVector:
    """x with mu(x) near a given mean weight: good enough to start from.

    Parameters
    ----------
    mean : ndarray
        Strictly inside 0..q-1.
    q : int

    Returns
    -------
    ndarray, shape of mean

    Notes
    -----
    The geometric laws of both ends, log(m/(1+m)) - log(m'/(1+m')) with m' = q - 1 - m, then two
    Newton steps of at most 1 (derived here).
    """
    mean = np.clip(mean, SMALLEST_SHARE * (q - 1), (1 - SMALLEST_SHARE) * (q - 1))
    rest = q - 1 - mean
    x: FloatVector = np.log(mean / (1 + mean)) - np.log(rest / (1 + rest))
    for _ in range(2):
        x = x + np.clip((mean - edge_mean(x, q)) / edge_variance(x, q), -1, 1)
    return x


def _at(
    rows: FloatVector, columns: FloatVector, q: int, alpha: FloatVector, beta: FloatVector
) -> _Point:
    row_means, column_means = mean_sums(alpha, beta, q)
    return _Point(alpha, beta, rows - row_means, columns - column_means)


def _size(point: _Point, row_variances: FloatVector, column_variances: FloatVector) -> float:
    """Largest residual in standard deviations of its margin."""
    with np.errstate(divide="ignore", invalid="ignore"):
        by_row = np.abs(point.row_residual) / np.sqrt(row_variances)
        by_column = np.abs(point.column_residual) / np.sqrt(column_variances)
    return float(np.max([by_row.max(), by_column.max()]))


def _climb(
    point: _Point, direction: FloatVector, rows: FloatVector, columns: FloatVector, q: int
) -> _Point | None:
    """The next point along a direction, the step halved until the likelihood rises enough."""
    n = len(rows)
    slope = _slope(point, direction)
    start = _log_likelihood(point, rows, columns, q)
    # below this a difference of two likelihoods is rounding
    slack = 1e-13 * abs(start)
    step = 1.0
    while step >= SMALLEST_STEP:
        trial = _at(
            rows,
            columns,
            q,
            point.alpha + step * direction[:n],
            point.beta + step * np.append(direction[n:], 0.0),
        )
        # still climbing at the far end: by concavity the whole step climbed
        if _slope(trial, direction) >= 0:
            return trial
        gain = _log_likelihood(trial, rows, columns, q) - start
        if gain >= ARMIJO * step * slope - slack:
            return trial
        step /= 2
    return None


def _slope(point: _Point, direction: FloatVector) -> float:
    """Derivative of the log-likelihood along a direction."""
    n = len(point.alpha)
    return float(point.row_residual @ direction[:n] + point.column_residual[:-1] @ direction[n:])


def _log_likelihood(point: _Point, rows: FloatVector, columns: FloatVector, q: int) -> float:
    linear = rows @ point.alpha + columns @ point.beta
    return float(linear - log_normalizer_sum(point.alpha, point.beta, q))


def _coordinate_step(residual: FloatVector, variance: FloatVector) -> FloatVector:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(np.nan_to_num(residual / variance), -COORDINATE_STEP, COORDINATE_STEP)


def _report(point: _Point, size: float, n_iter: int) -> SolverReport:
    shift = point.beta[-1]
    return SolverReport(
        point.alpha + shift, point.beta - shift, bool(size <= TOLERANCE), n_iter, size
    )
