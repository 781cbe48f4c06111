r"""Newton's method with conjugate gradients on the moment equations, compiled as a whole.

Both sides stand in one array of length 2n: theta = alpha, then beta; margins = rows, then columns.
In this full form V is singular along w = (1, .., 1, -1, .., -1) only, and so are the equations.

Preconditioner. If V had the rank-one cross block v_i. v_.j / T, T the sum of all edge variances,
then P g = g/v - sum(g)/(4T) would invert it up to a multiple of w, which is projected away.
Positive definite: (sum g)^2 <= sum(g^2/v) sum(v) = 2T sum(g^2/v) by Cauchy and Schwarz.

How far a step may go. The third cumulant of a weight in 0..q-1 is at most (q - 1) times its
variance, so along a direction d that moves no log-odds by more than s, the curvature of the
log-likelihood f changes by a factor of at most e^{D t}, D = (q - 1) s, up to length t. Hence:

- D t <= 1: the step climbs by at least 0.28 t f'(0), unseen. (The direction of conjugate
  gradients has d'Vd = f'(0), so the gain is at least f'(0) (t - (e^{Dt} - 1 - Dt)/D^2).)
- otherwise, with rho = f'(t)/f'(0), the gain is at least
  t f'(0) (1 - (1 - rho) m), m = 1/(1 - e^{-Dt}) - 1/(Dt): the lower the slope at the end the
  earlier it may have fallen, and it falls earliest if the curvature decays as e^{-Dt}.
  rho >= 0 is a climb in any case, by concavity.

The step is halved until one of the two says that it climbs. Likelihoods are never subtracted,
so there is no rounding to allow for. All of this is derived here.
"""

from __future__ import annotations

from math import expm1, sqrt
from typing import NamedTuple

import numpy as np

from p0sim.arrays import FloatVector
from p0sim.model.edge_kernels import inverse_mean, kernel
from p0sim.model.pair_sums import PairSums, no_expansion, pair_sums, variance_product

EPS = 2.0**-52
SMALLEST_SHARE = 2.0**-50
# room that expansions leave around the present parameters, in log-odds times q
ROOM = 0.5
# largest change of a log-odds in one step: far out, a direction may be anything
LONGEST_STEP = 16.0
# a step whose gain is known to be this share of length times slope is taken
SURE_GAIN = 0.1
PRODUCTS_A_STEP = 200
# a margin and its expectation each carry rounding of some units in the last place
ROUNDING = 8 * EPS
# but where rounding moves a parameter by more than this, the equations do not determine it
DETERMINED = 1e-3
# largest move of one coordinate in one sweep of the fixed point, log-odds
COORDINATE_STEP = 1.0


class Stop(NamedTuple):
    """Where a solver stopped; `size` is the largest residual / sqrt(v_ii), `variances` are v_ii."""

    theta: FloatVector
    variances: FloatVector
    converged: bool
    n_iter: int
    size: float


@kernel
def starting_values(margins: FloatVector, q: int) -> FloatVector:
    """Parameters of independent rows and columns: mu^-1 of each mean weight, halves shared."""
    n = len(margins) // 2
    theta, total = np.empty(2 * n), 0.0
    for i in range(n):
        total += margins[i]
    overall = _from_share(total / (n * (n - 1.0)), q)
    for k in range(2 * n):
        theta[k] = _from_share(margins[k] / (n - 1.0), q) - 0.5 * overall
    return theta


@kernel
def _from_share(mean: float, q: int) -> float:
    top = q - 1.0
    return inverse_mean(min(max(mean, SMALLEST_SHARE * top), (1 - SMALLEST_SHARE) * top), q)


@kernel
def newton(margins: FloatVector, q: int, theta: FloatVector, steps: int, tolerance: float) -> Stop:
    """Solve from a start; stops converged by :func:`judge`, or not, where no step is left."""
    sums = pair_sums(theta, q, ROOM / q, no_expansion())
    for step in range(steps + 1):
        residual = _moved(margins, -1.0, sums.means)
        size, converged = judge(margins, residual, sums, tolerance)
        if converged or step == steps or not size < np.inf:
            break
        direction = newton_direction(residual, q, sums, tolerance / size)
        slope, longest = _dot(residual, direction), _longest_change(direction)
        if not slope > 0 or not longest < np.inf:
            break
        length = min(1.0, LONGEST_STEP / longest)
        while True:
            trial = _moved(theta, length, direction)
            sums = pair_sums(trial, q, ROOM / q, sums.expansion)
            reach = (q - 1) * longest * length
            end = _dot(_moved(margins, -1.0, sums.means), direction)
            if reach <= 1 or _surely_climbs(end / slope, reach):
                break
            length *= 0.5
        theta = trial
    return Stop(theta, sums.variances, converged, step, size)


@kernel
def fixed_point(
    margins: FloatVector, q: int, theta: FloatVector, sweeps: int, tolerance: float
) -> Stop:
    """All alphas, then all betas, take one bounded Newton step each, until converged."""
    n, theta = len(margins) // 2, theta.copy()
    sums = pair_sums(theta, q, ROOM / q, no_expansion())
    for sweep in range(sweeps + 1):
        residual = _moved(margins, -1.0, sums.means)
        size, converged = judge(margins, residual, sums, tolerance)
        if converged or sweep == sweeps or not size < np.inf:
            break
        for start in (0, n):
            for k in range(start, start + n):
                step = (margins[k] - sums.means[k]) / sums.variances[k]
                theta[k] += min(max(step, -COORDINATE_STEP), COORDINATE_STEP)
            sums = pair_sums(theta, q, ROOM / q, sums.expansion)
    return Stop(theta, sums.variances, converged, sweep, size)


@kernel
def judge(
    margins: FloatVector, residual: FloatVector, sums: PairSums, tolerance: float
) -> tuple[float, bool]:
    """Largest residual / sqrt(v_ii), and whether every margin is met.

    A margin is met where its residual is within tolerance * min(sqrt(v_ii), v_ii), which bounds
    the error in standard deviations and in log-odds; or within the rounding of the margin and of
    its expectation. In either case that rounding must leave the parameter determined. The size is
    infinite where a variance has underflowed.
    """
    size, converged = 0.0, True
    for k in range(len(margins)):
        gap, variance = abs(residual[k]), sums.variances[k]
        if not variance > 0:
            return np.inf, False
        deviation, rounding = sqrt(variance), ROUNDING * (abs(margins[k]) + sums.means[k])
        met = gap <= max(tolerance * min(deviation, variance), rounding)
        converged &= met and rounding <= DETERMINED * variance
        size = max(size, gap / deviation) if gap == gap else np.inf
    return size, converged


@kernel
def newton_direction(residual: FloatVector, q: int, sums: PairSums, smallest: float) -> FloatVector:
    """V^-1 residual by preconditioned conjugate gradients, as exactly as the step deserves.

    The residual left, in the norm of P, is a share of the one given: no more than the relative
    change of V over the step, which decides what Newton's method itself will leave, and no less
    than a tenth of what is needed to end.
    """
    rest, direction = residual.copy(), np.zeros(len(residual))
    scaled = _precondition(rest, sums.variances)
    power = first = _dot(rest, scaled)
    share = min(max(0.1 * (q - 1) * _longest_change(scaled), 0.1 * smallest), 0.1)
    search = scaled.copy()
    for _ in range(PRODUCTS_A_STEP):
        image = variance_product(search, q, sums)
        curvature = _dot(search, image)
        if not curvature > 0:
            break
        length = power / curvature
        for k in range(len(rest)):
            direction[k] += length * search[k]
            rest[k] -= length * image[k]
        scaled = _precondition(rest, sums.variances)
        before, power = power, _dot(rest, scaled)
        if not power > share**2 * first:
            break
        for k in range(len(rest)):
            search[k] = scaled[k] + power / before * search[k]
    return direction


@kernel
def _precondition(rest: FloatVector, variances: FloatVector) -> FloatVector:
    n = len(rest) // 2
    scaled = np.empty(2 * n)
    total, variance, along = 0.0, 0.0, 0.0
    for i in range(n):
        scaled[i], scaled[n + i] = rest[i] / variances[i], rest[n + i] / variances[n + i]
        total += rest[i] + rest[n + i]
        variance += variances[i]
        along += scaled[i] - scaled[n + i]
    common, along = total / (4 * variance), along / (2 * n)
    for i in range(n):
        scaled[i] -= common + along
        scaled[n + i] -= common - along
    return scaled


@kernel
def _surely_climbs(ratio: float, reach: float) -> bool:
    """By the second bound at the top of this module, ratio = f'(t)/f'(0) and reach = D t."""
    earliest = -1 / expm1(-reach) - 1 / reach
    return ratio >= 0 or (1 - ratio) * earliest <= 1 - SURE_GAIN


@kernel
def _longest_change(direction: FloatVector) -> float:
    """Largest |d_i + d_{n+j}|; nan or inf where the direction is not finite."""
    n = len(direction) // 2
    high_row, high_column = direction[0], direction[n]
    low_row, low_column = high_row, high_column
    total = 0.0
    for i in range(n):
        row, column = direction[i], direction[n + i]
        high_row, low_row = max(high_row, row), min(low_row, row)
        high_column, low_column = max(high_column, column), min(low_column, column)
        total += row + column
    # 0 * total is nan where an entry is
    return float(max(high_row + high_column, -low_row - low_column) + 0 * total)


@kernel
def _moved(point: FloatVector, length: float, direction: FloatVector) -> FloatVector:
    moved = np.empty(len(point))
    for k in range(len(point)):
        moved[k] = point[k] + length * direction[k]
    return moved


@kernel
def _dot(one: FloatVector, other: FloatVector) -> float:
    total = 0.0
    for k in range(len(one)):
        total += one[k] * other[k]
    return total
