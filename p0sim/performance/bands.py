"""Simultaneous bands of order statistics with equal local levels.

Uniform order statistics are U_(i) ~ Beta(i, n+1-i). The band takes from each of them the central
1 - eta of its law, with one eta for all, chosen so that the whole sample stays inside with the
level asked for. That probability is computed, not simulated: the count of uniforms below t is a
Poisson process given its end, which walks between two bounds.

References: Moscovich, Nadler (2017), Statistics and Probability Letters 123:177-182, for the
walk; Weine, McPeek, Abney (2023), Journal of Statistical Software 106(10), for the band.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import optimize, special, stats

from p0sim.arrays import FloatVector

EXACT_UP_TO = 50
GRID_RATIO = 1.25


def order_statistic_band(n: int, level: float = 0.95) -> tuple[FloatVector, FloatVector]:
    """Bounds that hold all n uniform order statistics at once.

    Parameters
    ----------
    n : int
        Size of the sample, at least 1.
    level : float
        Probability that the whole sample stays inside.

    Returns
    -------
    lower, upper : ndarray, shape (n,)
        Probabilities; a normal band is their normal quantiles.

    Examples
    --------
    >>> lower, upper = order_statistic_band(1)
    >>> float(lower[0].round(6)), float(upper[0].round(6))
    (0.025, 0.975)
    """
    return local_band(n, local_level(n, level))


def local_band(n: int, eta: float) -> tuple[FloatVector, FloatVector]:
    """The central 1 - eta of the law of each of n uniform order statistics."""
    rank = np.arange(1, n + 1)
    # The law is symmetric: U_(i) and 1 - U_(n+1-i) are alike.
    lower = special.betaincinv(rank, n + 1 - rank, eta / 2).astype(np.float64)
    return lower, 1 - lower[::-1]


def local_level(n: int, level: float) -> float:
    """The eta of a sample of size n: exact on a grid of sizes, log-linear in log n between."""
    if n <= EXACT_UP_TO:
        return exact_local_level(n, level)
    step = int(math.log(n / EXACT_UP_TO) / math.log(GRID_RATIO))
    below, above = (round(EXACT_UP_TO * GRID_RATIO**k) for k in (step, step + 1))
    logs = [math.log(exact_local_level(size, level)) for size in (below, above)]
    return math.exp(np.interp(math.log(n), np.log([below, above]), logs))


@lru_cache(maxsize=256)
def exact_local_level(n: int, level: float) -> float:
    """The eta whose band holds the whole sample with probability `level`."""

    def excess(log_eta: float) -> float:
        return stay_probability(*local_band(n, math.exp(log_eta))) - level

    # eta = (1 - level)/n is Bonferroni's, too small; eta = 1 - level is right for n = 1 only.
    least, most = math.log((1 - level) / n) - 1e-3, math.log(1 - level) + 1e-3
    return math.exp(optimize.brentq(excess, least, most, xtol=1e-4))


def stay_probability(lower: FloatVector, upper: FloatVector) -> float:
    """P(lower_i <= U_(i) <= upper_i for all i) for n uniform order statistics.

    Parameters
    ----------
    lower, upper : ndarray, shape (n,)
        Ascending bounds in (0, 1).

    Notes
    -----
    A Poisson process N of rate n, given N(1) = n, has the order statistics of n
    uniforms as its jumps. U_(i) >= lower_i says N(lower_i) <= i - 1 and
    U_(i) <= upper_i says N(upper_i) >= i, so only the 2n bounds need a look.
    Cost: 2n steps over the counts between the bounds, about 7 sqrt(n)/2 of them.
    """
    n = len(lower)
    times = np.append(np.sort(np.concatenate([lower, upper])), 1.0)
    least = np.searchsorted(upper, times, side="right").tolist()
    most = np.searchsorted(lower, times, side="left").tolist()
    mass, start = np.ones(1), 0
    for steps, low, high in zip(
        jump_laws(n * np.diff(times, prepend=0.0)), least, most, strict=True
    ):
        mass = np.convolve(mass, steps)[low - start : high - start + 1]
        if not mass.size:
            return 0.0
        start = low
    return float(mass[0] / stats.poisson.pmf(n, n))


def jump_laws(means: FloatVector) -> list[FloatVector]:
    """Poisson probabilities of 0, 1, 2, ... for each mean, as far as doubles can tell them."""
    sizes = np.ceil(means + 9 * np.sqrt(means) + 20).astype(np.int64)
    counts = np.arange(sizes.max())
    logs = special.xlogy(counts, means[:, None]) - means[:, None] - special.gammaln(counts + 1)
    return [row[:size] for row, size in zip(np.exp(logs), sizes.tolist(), strict=True)]
