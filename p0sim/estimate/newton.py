r"""Newton's method with conjugate gradients on the moment equations, compiled as a whole.

Both sides stand in one array: theta = alpha, then beta; margins = rows, then columns. In this full
form V is singular along w = (1, .., 1, -1, .., -1) only, and so are the equations. The sides may
differ in length (:mod:`p0sim.model.pair_sums`); nothing below needs them to agree.

Preconditioner. If V had the rank-one cross block ``v_i. v_.j/T``, T the sum of all edge variances,
then P g = g/v - sum(g)/(4T) would invert it up to a multiple of w, which is projected away.
Positive definite: (sum g)^2 <= sum(g^2/v) sum(v) = 2T sum(g^2/v) by Cauchy and Schwarz.

Ridge. With a penalty lambda/2 on the squares of centred alpha and centred beta, the score is
z - E - lambda M theta and H = V + lambda M takes the place of V; M centres each side. M vanishes on
constants, so H 1 = V 1 = 2v: the level is handled exactly, Q = 1 - 1 (2v)'/(4T), and the rest by
the diagonal: P g = Q (Q'g/(v + lambda)) + sum(g)/(4T), symmetric, positive definite, and for
lambda = 0 the same as above.

How far a step may go. The third cumulant of a weight in 0..q-1 is at most (q - 1) times its
variance, so along a direction d that moves no log-odds by more than s, the curvature of the
log-likelihood f changes by a factor of at most e^{D t}, D = (q - 1) s, up to length t. Hence:

- D t <= 1: the step climbs by at least 0.28 t f'(0), unseen. (The direction of conjugate
  gradients has d'Vd = f'(0), so the gain is at least f'(0) (t - (e^{Dt} - 1 - Dt)/D^2).)
- otherwise, with rho = f'(t)/f'(0), the gain is at least
  t f'(0) (1 - (1 - rho) m), m = 1/(1 - e^{-Dt}) - 1/(Dt): the lower the slope at the end the
  earlier it may have fallen, and it falls earliest if the curvature decays as e^{-Dt}.
  rho >= 0 is a climb in any case, by concavity.
- with a ridge a part kappa = lambda d'Md/f'(0) of the fall is that of the penalty, spread evenly:
  the gain is at least t f'(0) (1 - kappa t/2 - (1 - kappa t - rho) m).

The step is halved until one of the two says that it climbs. Likelihoods are never subtracted,
so there is no rounding to allow for. All of this is derived here.
"""

from __future__ import annotations

from math import expm1, sqrt
from typing import NamedTuple

import numpy as np

from p0sim.arrays import FloatVector
from p0sim.model.edge_kernels import edge_moments, inverse_mean, kernel
from p0sim.model.pair_sums import Pairs, PairSums, no_expansion, pair_sums, variance_product

EPS = 2.0**-52
SMALLEST_SHARE = 2.0**-50
# room that expansions leave around the present parameters, in log-odds times q
ROOM = 0.5
# largest change of a log-odds in one step: far out, a direction may be anything, but where a ridge
# bounds the curvature from below and margins beyond their range send parameters far away
LONGEST_STEP = 16.0
# a step whose gain is known to be this share of length times slope is taken
SURE_GAIN = 0.1
PRODUCTS_A_STEP = 200
# a margin and its expectation each carry rounding of some units in the last place
ROUNDING = 8 * EPS
# but where rounding moves a parameter by more than this, the equations do not determine it
DETERMINED = 1e-3
# of a starting value under a ridge: it need not be exact
CENTRINGS, BALANCINGS = 5, 60
# largest move of one coordinate in one sweep of the fixed point, log-odds
COORDINATE_STEP = 1.0


class Stop(NamedTuple):
    """Where a solver stopped; `size` is the largest residual / sqrt(h_ii), `variances` are v_ii."""

    theta: FloatVector
    variances: FloatVector
    converged: bool
    n_iter: int
    size: float


@kernel
def starting_values(margins: FloatVector, q: int, n: int, shared: int) -> FloatVector:
    """Parameters of independent rows and columns: mu^-1 of each mean weight, halves shared."""
    theta = np.empty(len(margins))
    overall = 0.5 * level(margins, q, n, shared)
    for k in range(len(margins)):
        partners = float(len(margins) - n if k < n else n)
        if (k if k < n else k - n) < shared:
            partners -= 1
        theta[k] = _from_share(margins[k] / partners, q) - overall
    return theta


@kernel
def penalised_start(margins: FloatVector, q: int, n: int, shared: int, ridge: float) -> FloatVector:
    """The same where every node alone balances its margin and its penalty.

    x_k solves (partners) mu(x_k) + lambda (x_k - c) = margin, c the mean of the side. A margin
    beyond its range sends its node as far as the penalty lets it.
    """
    theta, middle = np.empty(len(margins)), level(margins, q, n, shared)
    for start, end in ((0, n), (n, len(margins))):
        centre = middle
        for _ in range(CENTRINGS):
            total = 0.0
            for k in range(start, end):
                partners = float(len(margins) - n if k < n else n)
                if k - start < shared:
                    partners -= 1
                theta[k] = _balance(margins[k], partners, q, ridge, centre)
                total += theta[k]
            centre = total / (end - start)
    for k in range(len(margins)):
        theta[k] -= 0.5 * middle
    return theta


@kernel
def _balance(margin: float, partners: float, q: int, ridge: float, centre: float) -> float:
    """The root of partners mu(x) + lambda (x - centre) = margin, nearly, inside its bracket."""
    low, high = centre + (margin - partners * (q - 1)) / ridge, centre + margin / ridge
    x = min(max(centre, low), high)
    for _ in range(BALANCINGS):
        mean, slope = edge_moments(x, q)
        gap = margin - partners * mean - ridge * (x - centre)
        if gap > 0:
            low = x
        else:
            high = x
        step = gap / (partners * slope + ridge)
        if abs(step) < ROOM / q:
            return x + step
        x = x + step if low < x + step < high else 0.5 * (low + high)
    return x


@kernel
def level(margins: FloatVector, q: int, n: int, shared: int) -> float:
    """The log-odds x at which mu(x) is near the mean weight of all pairs."""
    total = 0.0
    for i in range(n):
        total += margins[i]
    return _from_share(total / (float(n) * (len(margins) - n) - shared), q)


@kernel
def _from_share(mean: float, q: int) -> float:
    top = q - 1.0
    return inverse_mean(min(max(mean, SMALLEST_SHARE * top), (1 - SMALLEST_SHARE) * top), q)


@kernel
def newton(
    margins: FloatVector,
    q: int,
    n: int,
    shared: int,
    ridge: float,
    theta: FloatVector,
    steps: int,
    tolerance: float,
) -> Stop:
    """Solve from a start; stops converged by :func:`judge`, or not, where no step is left.

    n rows, of which the first `shared` are the nodes of the first columns.
    """
    sums = pair_sums(theta, q, Pairs(n, shared), ROOM / q, no_expansion())
    for step in range(steps + 1):
        residual = _score(margins, ridge, sums)
        size, converged = judge(margins, residual, ridge, sums, tolerance)
        if converged or step == steps or not size < np.inf:
            break
        direction = newton_direction(residual, q, ridge, sums, tolerance / size)
        slope, longest = _dot(residual, direction), _longest_change(direction, n)
        if not slope > 0 or not longest < np.inf:
            break
        length = min(1.0, LONGEST_STEP / longest) if ridge == 0 else 1.0
        while True:
            trial = _moved(theta, length, direction)
            sums = pair_sums(trial, q, sums.pairs, ROOM / q, sums.expansion)
            reach = (q - 1) * longest * length
            end = _dot(_score(margins, ridge, sums), direction)
            share = length * _roughness(direction, n, ridge) / slope
            if reach <= 1 or _surely_climbs(end / slope, reach, share):
                break
            length *= 0.5
        theta = trial
    return Stop(theta, sums.variances, converged, step, size)


@kernel
def fixed_point(
    margins: FloatVector,
    q: int,
    n: int,
    shared: int,
    theta: FloatVector,
    sweeps: int,
    tolerance: float,
) -> Stop:
    """All alphas, then all betas, take one bounded Newton step each, until converged."""
    theta = theta.copy()
    sums = pair_sums(theta, q, Pairs(n, shared), ROOM / q, no_expansion())
    for sweep in range(sweeps + 1):
        residual = _score(margins, 0.0, sums)
        size, converged = judge(margins, residual, 0.0, sums, tolerance)
        if converged or sweep == sweeps or not size < np.inf:
            break
        for start, end in ((0, n), (n, len(theta))):
            for k in range(start, end):
                step = (margins[k] - sums.means[k]) / sums.variances[k]
                theta[k] += min(max(step, -COORDINATE_STEP), COORDINATE_STEP)
            sums = pair_sums(theta, q, sums.pairs, ROOM / q, sums.expansion)
    return Stop(theta, sums.variances, converged, sweep, size)


@kernel
def judge(
    margins: FloatVector, residual: FloatVector, ridge: float, sums: PairSums, tolerance: float
) -> tuple[float, bool]:
    """Largest residual / sqrt(h_ii), h_ii = v_ii + lambda, and whether every equation is met.

    An equation is met where its residual is within tolerance * min(sqrt(h_ii), h_ii), which bounds
    the error in standard deviations and in log-odds; or within the rounding of its terms: margin,
    expectation and penalty. In either case that rounding must leave the parameter determined. The
    size is infinite where a variance has underflowed and no penalty stands in for it.
    """
    size, converged = 0.0, True
    for k in range(len(margins)):
        gap, curvature = abs(residual[k]), sums.variances[k] + ridge
        if not curvature > 0:
            return np.inf, False
        penalty = abs(margins[k] - sums.means[k] - residual[k])
        rounding = ROUNDING * (abs(margins[k]) + sums.means[k] + penalty)
        deviation = sqrt(curvature)
        met = gap <= max(tolerance * min(deviation, curvature), rounding)
        converged &= met and rounding <= DETERMINED * curvature
        size = max(size, gap / deviation) if gap == gap else np.inf
    return size, converged


@kernel
def newton_direction(
    residual: FloatVector, q: int, ridge: float, sums: PairSums, smallest: float
) -> FloatVector:
    """H^-1 residual by preconditioned conjugate gradients, as exactly as the step deserves.

    The residual left, in the norm of P, is a share of the one given: no more than the relative
    change of H over the step, which decides what Newton's method itself will leave, and no less
    than a tenth of what is needed to end.
    """
    n, rest, direction = sums.pairs.rows, residual.copy(), np.zeros(len(residual))
    scaled = _precondition(rest, n, ridge, sums.variances)
    power = first = _dot(rest, scaled)
    share = min(max(0.1 * (q - 1) * _longest_change(scaled, n), 0.1 * smallest), 0.1)
    search = scaled.copy()
    for _ in range(PRODUCTS_A_STEP):
        image = variance_product(search, q, sums)
        if ridge > 0:
            _add_centred(search, n, ridge, image)
        curvature = _dot(search, image)
        if not curvature > 0:
            break
        length = power / curvature
        for k in range(len(rest)):
            direction[k] += length * search[k]
            rest[k] -= length * image[k]
        scaled = _precondition(rest, n, ridge, sums.variances)
        before, power = power, _dot(rest, scaled)
        if not power > share**2 * first:
            break
        for k in range(len(rest)):
            search[k] = scaled[k] + power / before * search[k]
    return direction


@kernel
def _precondition(rest: FloatVector, n: int, ridge: float, variances: FloatVector) -> FloatVector:
    scaled, columns = np.empty(len(rest)), len(rest) - n
    total, variance = _total(rest, n), _total(variances, n)
    if ridge > 0:
        for k in range(len(rest)):
            scaled[k] = (rest[k] - variances[k] * total / variance) / (variances[k] + ridge)
        common = _dot(variances, scaled) / variance - total / (2 * variance)
    else:
        for k in range(len(rest)):
            scaled[k] = rest[k] / variances[k]
        common = total / (2 * variance)
    along = (_along(scaled, n) - (n - columns) * common) / len(rest)
    for k in range(len(rest)):
        scaled[k] -= common + along if k < n else common - along
    return scaled


@kernel
def _total(both: FloatVector, n: int) -> float:
    """Sum of both sides, row and column of one place together."""
    columns, total = len(both) - n, 0.0
    for k in range(max(n, columns)):
        total += (both[k] if k < n else 0.0) + (both[n + k] if k < columns else 0.0)
    return total


@kernel
def _along(both: FloatVector, n: int) -> float:
    """w' times a vector."""
    columns, total = len(both) - n, 0.0
    for k in range(max(n, columns)):
        total += (both[k] if k < n else 0.0) - (both[n + k] if k < columns else 0.0)
    return total


@kernel
def _score(margins: FloatVector, ridge: float, sums: PairSums) -> FloatVector:
    """Gradient of the log-likelihood less the penalty."""
    score = _moved(margins, -1.0, sums.means)
    if ridge > 0:
        _add_centred(sums.theta, sums.pairs.rows, -ridge, score)
    return score


@kernel
def _add_centred(values: FloatVector, n: int, factor: float, total: FloatVector) -> None:
    """Add factor M values, where M takes its mean from either side."""
    for start, end in ((0, n), (n, len(values))):
        mean = 0.0
        for k in range(start, end):
            mean += values[k] / (end - start)
        for k in range(start, end):
            total[k] += factor * (values[k] - mean)


@kernel
def _surely_climbs(ratio: float, reach: float, share: float) -> bool:
    """By the bounds at the top of this module; ratio is rho, reach D t and share kappa t."""
    earliest = -1 / expm1(-reach) - 1 / reach
    return ratio >= 0 or (1 - share - ratio) * earliest + share / 2 <= 1 - SURE_GAIN


@kernel
def _roughness(direction: FloatVector, n: int, ridge: float) -> float:
    """lambda d'Md, the curvature of the penalty along a direction."""
    if ridge == 0:
        return 0.0
    pull = np.zeros(len(direction))
    _add_centred(direction, n, ridge, pull)
    return _dot(pull, direction)


@kernel
def _longest_change(direction: FloatVector, n: int) -> float:
    """Largest |d_i + d_{n+j}|; nan or inf where the direction is not finite."""
    high_row, high_column = direction[0], direction[n]
    low_row, low_column, total = high_row, high_column, 0.0
    for k in range(n):
        high_row, low_row = max(high_row, direction[k]), min(low_row, direction[k])
        total += direction[k]
    for k in range(n, len(direction)):
        high_column, low_column = max(high_column, direction[k]), min(low_column, direction[k])
        total += direction[k]
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
