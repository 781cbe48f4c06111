"""Medians with what can be said of them whatever the distribution."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import stats

from p0sim.arrays import FloatVector, frozen


def median_of(ordered: FloatVector, level: float) -> tuple[float, float, float, float]:
    """Median of sorted values with MCSE and interval, both free of the distribution.

    Parameters
    ----------
    ordered : ndarray, shape (n,)
        Ascending.
    level : float
        Least level of the interval.

    Returns
    -------
    tuple of float
        Median, MCSE, lower, upper. The interval is missing when n is too small
        for two order statistics to reach the level (n < 6 at 0.95).

    References
    ----------
    .. [1] Maritz, Jarrett (1978), A note on estimating the variance of the
       sample median, JASA 73:194-196: weights of the order statistics.
    .. [2] David, Nagaraja (2003), Order Statistics, section 7.1: the interval.
    """
    n = len(ordered)
    if n == 0:
        return (np.nan,) * 4
    below = rank_below(n, level)
    inside = below >= 0 and n > 1
    ends = (ordered[below], ordered[n - 1 - below]) if inside else (np.nan, np.nan)
    return float(np.median(ordered)), median_mcse(ordered), float(ends[0]), float(ends[1])


def median_mcse(ordered: FloatVector) -> float:
    """Standard deviation of a bootstrap median in closed form (Maritz and Jarrett)."""
    n = len(ordered)
    if n < 2:
        return float("nan")
    weights = median_weights(n)
    mean = weights @ ordered
    return float(np.sqrt(weights @ (ordered - mean) ** 2))


# Many groups have the same few sizes, and distributions cost more than sums.
@lru_cache(maxsize=64)
def rank_below(n: int, level: float) -> int:
    """Position of the interval's lower end among n sorted values; -1 where there is none."""
    return int(stats.binom.ppf((1 - level) / 2, n, 0.5)) - 1


@lru_cache(maxsize=64)
def median_weights(n: int) -> FloatVector:
    """Chance of each of n sorted values to be the bootstrap median, n even or odd."""
    middle = (n + 1) / 2
    return frozen(np.diff(stats.beta.cdf(np.arange(n + 1) / n, middle, middle)))
