r"""The ridge estimate: centred parameters are drawn to 0, so that every node has finite ones.

It maximises l(theta) - lambda/2 (sum_i (alpha_i - mean)^2 + sum_j (beta_j - mean)^2), l the
log-likelihood at the treated margins. Where l rises without end, the direction moves some centred
parameter, and the penalty stops it, unless it is the common level: that is left to l, which has its
maximum there if and only if 0 < total < n(n-1)(q-1). The maximum is then unique up to the usual
shift, as l + penalty is strictly concave otherwise. (Derived here.)

Choice of lambda, ``ridge="auto"``. The penalty is a normal law of mean 0 and variance sigma^2 on
centred parameters, and sigma is read off the spread of the margins. Let v be the variance that a
margin would have if all nodes were alike, tau that of its noise. The margins' own variance exceeds
v + tau by s^2, the variance of expected degrees. To first order that is v^2 sigma^2; in a sparse
network v is near the mean degree, expected degrees go as e^alpha, and a log-normal law has squared
coefficient of variation e^{sigma^2} - 1. Both say

    sigma^2 = log(1 + s^2/v^2),    lambda = (1 + tau/v)/sigma^2,

the second being what minimises the mean squared error of a parameter whose margin has information
v and error variance v + tau (all derived here). Where nodes differ much in a dense network sigma is
too small, so estimates are shrunk a little too much. Solving for sigma at the estimate instead is
better without noise, and fails with much of it: margins beyond their range then send parameters far
away, which looks like a large sigma. It uses what was released and nothing else: no privacy is
spent.

Range of lambda. With V = (q^2 - 1)/12, the variance of a uniform weight, lambda lies in
1e-7 V..1e9 V: below, floats do not tell a node at its end from one that is nearly there, and above,
the penalty drowns the equations in its own rounding. A margin that lies b beyond its range sends
its parameter b/lambda away, since its expectation cannot follow; lambda is at least (q-1) b/1000,
so that no log-odds goes further than about 1000/(q-1). (Solvers were seen to fail from 20 times
that on.) "auto" stays in the same range.
"""

from __future__ import annotations

from math import ceil, isfinite, log, log1p
from numbers import Real

import numpy as np

from p0sim.arrays import FloatVector
from p0sim.errors import InvalidParametersError
from p0sim.estimate.existence import Existence
from p0sim.estimate.margins import Margins
from p0sim.estimate.solvers import SolverReport, Start, solve_newton

AUTO = "auto"
# least prior standard deviation, in units of 1/sqrt(mu'(0))
SMALLEST_SPREAD = 0.1
# lambda in units of V, and the furthest that margins beyond their range may send log-odds
SMALLEST_RIDGE, LARGEST_RIDGE = 1e-7, 1e9
FURTHEST = 1000.0
# lambda falls by this factor from one solution to the next where one alone is too far
FALL = 4.0


def require_ridge(ridge: object) -> float | str:
    """A weight of the penalty: 0 for none, a positive number, or "auto".

    Examples
    --------
    >>> require_ridge(-1.0)
    Traceback (most recent call last):
    p0sim.errors.InvalidParametersError: ridge must be 0 or a positive number, or "auto"; got -1.0
    """
    if isinstance(ridge, str):
        if ridge == AUTO:
            return ridge
    elif isinstance(ridge, bool | np.bool_) or not isinstance(ridge, Real):
        raise TypeError(f'ridge must be a number or "auto"; got {ridge!r}')
    elif isfinite(ridge) and float(ridge) >= 0:
        return float(ridge)
    raise InvalidParametersError(f'ridge must be 0 or a positive number, or "auto"; got {ridge!r}')


def ridge_range(margins: Margins, q: int) -> tuple[float, float]:
    """Least and largest lambda for these margins, as the top of this module has them.

    Examples
    --------
    >>> from p0sim.estimate.margins import treat_margins
    >>> ridge_range(treat_margins(np.array([-2, 1, 2]), np.array([0, 0, 1])), q=2)
    (0.002, 250000000.0)
    """
    variance = (float(q) ** 2 - 1) / 12
    least = max(SMALLEST_RIDGE * variance, (q - 1) * _beyond(margins, q) / FURTHEST)
    return least, LARGEST_RIDGE * variance


def check_range(margins: Margins, q: int, ridge: float) -> None:
    """Refuse a lambda outside its range.

    Raises
    ------
    InvalidParametersError
    """
    least, largest = ridge_range(margins, q)
    if not least <= ridge <= largest:
        raise InvalidParametersError(
            f"ridge must lie in {least:.3g}..{largest:.3g} for these degrees, as floats cannot "
            f"follow it further; got {ridge:g}"
        )


def check_total(margins: Margins, q: int) -> Existence:
    """Whether a ridge estimate exists: the total must not be at an end of its range.

    Parameters
    ----------
    margins : Margins
    q : int

    Returns
    -------
    Existence

    Examples
    --------
    >>> from p0sim.estimate.margins import treat_margins
    >>> empty = treat_margins(np.zeros(3, dtype=int), np.zeros(3, dtype=int))
    >>> print(check_total(empty, q=2).reason)
    the total weight is 0; a ridge estimate needs one strictly between 0 and n(n-1)(q-1) = 6
    """
    n, total = len(margins.scaled_rows), sum(margins.scaled_rows.tolist())
    full = n * (n - 1) * (q - 1)
    if 0 < total < full * margins.denominator:
        return Existence(True)
    return Existence(
        False,
        f"the total weight is {total / margins.denominator:.6g}; a ridge estimate needs one "
        f"strictly between 0 and n(n-1)(q-1) = {full}",
    )


def solve_ridge(margins: Margins, q: int, ridge: float, start: Start | None = None) -> SolverReport:
    """The ridge estimate for a given lambda.

    Parameters
    ----------
    margins : Margins
        With a total inside its range.
    q : int
    ridge : float
        Positive.
    start : (alpha, beta), optional

    Returns
    -------
    SolverReport

    Examples
    --------
    >>> from p0sim.estimate.margins import treat_margins
    >>> margins = treat_margins(np.array([0, 1, 2]), np.array([1, 1, 1]))
    >>> solve_ridge(margins, q=2, ridge=1.0).alpha.round(3)
    array([-0.58 ,  0.113,  0.805])
    """
    report = solve_newton(margins.rows, margins.columns, q, start, ridge=ridge)
    return report if report.converged else _follow(margins, q, ridge)


def choose_ridge(margins: Margins, q: int, noise_variance: float) -> float:
    """lambda by the formula at the top of this module.

    Parameters
    ----------
    margins : Margins
        With a total inside its range.
    q : int
    noise_variance : float
        tau, 0 without noise.

    Returns
    -------
    float
        To two digits, inside the range of lambda. sigma is taken as at least 0.1 sqrt(12/(q^2-1)),
        which moves a mean weight by at most a tenth of its standard deviation, also where margins
        vary less than chance and noise would make them.

    Examples
    --------
    >>> from p0sim.estimate.margins import treat_margins
    >>> choose_ridge(treat_margins(np.array([9, 1, 1, 5, 2]), np.array([2, 4, 4, 0, 8])), 4, 0.0)
    3.1
    """
    everyone = np.full(len(margins.rows), margins.rows.mean())
    alike = float(solve_newton(everyone, everyone, q).variances[0][0])
    spread = (np.var(margins.rows, ddof=1) + np.var(margins.columns, ddof=1)) / 2
    excess = max(float(spread) - alike - noise_variance, 0.0)
    smallest = SMALLEST_SPREAD**2 * 12 / (float(q) ** 2 - 1)
    variance = max(log1p(excess / alike**2), smallest)
    chosen = float(f"{(1 + noise_variance / alike) / variance:.2g}")
    least, largest = ridge_range(margins, q)
    return min(max(chosen, least), largest)


def penalty(alpha: FloatVector, beta: FloatVector, ridge: float) -> float:
    """What the ridge takes from the log-likelihood.

    Examples
    --------
    >>> penalty(np.array([1.0, 3.0]), np.array([0.0, 0.0]), ridge=0.5)
    0.5
    """
    return ridge / 2 * _centred_squares(alpha, beta)


def _follow(margins: Margins, q: int, ridge: float) -> SolverReport:
    """Solutions for falling lambda, each from the one before, down to the one asked for.

    A small lambda and margins beyond their range send nodes so far out that a step from elsewhere
    crosses many bends of the score. From lambda to lambda/4 the order of the nodes hardly changes.
    """
    stages = max(ceil(log(max(_beyond(margins, q), 1.0) * (q - 1) / ridge, FALL)), 0)
    start = None
    for stage in range(stages, -1, -1):
        report = solve_newton(margins.rows, margins.columns, q, start, ridge=ridge * FALL**stage)
        start = report.alpha, report.beta
    return report


def _beyond(margins: Margins, q: int) -> float:
    """How far the furthest margin lies beyond its range; 0 where none does."""
    both = np.concatenate([margins.rows, margins.columns])
    top = (len(margins.rows) - 1) * (q - 1)
    return max(float(both.max()) - top, -float(both.min()), 0.0)


def _centred_squares(alpha: FloatVector, beta: FloatVector) -> float:
    return float(sum(((side - side.mean()) ** 2).sum() for side in (alpha, beta)))
