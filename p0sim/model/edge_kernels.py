"""Compiled scalars of the edge law, for loops that call them millions of times.

The formulas and their derivations stand in :mod:`p0sim.model.edge_law`, whose functions are the
elementwise ones to use from numpy. Here x is a float64, q an int64.
"""

from __future__ import annotations

from math import exp, expm1, log, log1p

from p0sim.model.compiled import compiler
from p0sim.model.edge_law import _MEAN_SERIES, _VARIANCE_SERIES

# x/0 is inf, as in numpy
kernel = compiler("numpy")

# highest power first, for Horner's rule
MEAN_SERIES = tuple(_MEAN_SERIES[::-1].tolist())
VARIANCE_SERIES = tuple(_VARIANCE_SERIES[::-1].tolist())
# above this 1 - exp(-s) is as exact as expm1 and needs no second call
FAR = 0.5


@kernel
def edge_moments(x: float, q: int) -> tuple[float, float]:
    """Mean mu(x) and variance mu'(x) of one edge weight; both share exp(-|x|)."""
    size = abs(x)
    lower, variance = _near(size, q) if q * size < 1 else _beyond(size, q)
    return (q - 1 - lower if x > 0 else lower), variance


@kernel
def edge_centred_square(x: float, q: int) -> float:
    """Square of mu(x) - (q - 1)/2, how far the mean is from that of a uniform weight."""
    lower, _ = edge_moments(-abs(x), q)
    return (0.5 * (q - 1) - lower) ** 2


@kernel
def edge_log_normalizer(x: float, q: int) -> float:
    """Log of sum_{k<q} exp(k x)."""
    size = abs(x)
    ratio = expm1(-(q - 1) * size) / expm1(-size) if size > 0 else q - 1.0
    return (q - 1) * max(x, 0.0) + log1p(exp(-size) * ratio)


@kernel
def inverse_mean(mean: float, q: int) -> float:
    """A log-odds x with mu(x) near a mean strictly inside (0, q - 1): good enough to start from.

    The geometric laws of both ends, log(m/(1+m)) - log(m'/(1+m')) with m' = q - 1 - m, then two
    Newton steps of at most 1 (derived here).
    """
    x = log(mean / (1 + mean)) - log((q - 1 - mean) / (q - mean))
    for _ in range(2):
        at, slope = edge_moments(x, q)
        x += min(max((mean - at) / slope, -1.0), 1.0)
    return x


@kernel
def _beyond(size: float, q: int) -> tuple[float, float]:
    """mu(-s) and mu'(s) for q s >= 1: two geometric laws, one taken from the other."""
    if size < FAR:
        gap = -expm1(-size)
        t = 1 - gap
    else:
        t = exp(-size)
        gap = 1 - t
    power = exp(-q * size)
    rest = 1 - power
    one, other = t / gap, q * power / rest
    return one - other, one / gap - q * other / rest


@kernel
def _near(size: float, q: int) -> tuple[float, float]:
    """The same by Bernoulli series for q s < 1."""
    scaled = q * size
    mean, variance = _series(scaled * scaled)
    mean_one, variance_one = _series(size * size)
    rise = q * scaled * mean - size * mean_one
    return 0.5 * (q - 1) - rise, float(q) * q * variance - variance_one


@kernel
def _series(square: float) -> tuple[float, float]:
    mean, variance = 0.0, 0.0
    for k in range(len(MEAN_SERIES)):
        mean = mean * square + MEAN_SERIES[k]
        variance = variance * square + VARIANCE_SERIES[k]
    return mean, variance
