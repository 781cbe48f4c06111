r"""What two mechanisms cost exactly: draws weighted by common neighbours, and Gaussian noise."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit, log_ndtr, ndtr

from p0sim.arrays import FloatVector

FloatArray = NDArray[np.float64]
# a root found to 4e-15 is moved by this much to the private side
SAFETY = 1e-12


def common_neighbours_loss(log_weights: FloatVector, k: int, m: int) -> float:
    r"""Exact privacy loss of k draws whose weights grow with the number of common neighbours.

    Parameters
    ----------
    log_weights : ndarray, shape (d + 1,)
        log w(s) of a candidate with s = 0..d common neighbours, where d is the query's degree;
        not decreasing.
    k : int
        Draws without replacement, at most m.
    m : int
        Candidates.

    Returns
    -------
    float
        The largest absolute log ratio between the probabilities of an ordered list on two graphs
        that differ in one edge, not at the query node; 0 where no list depends on such an edge.

    Notes
    -----
    Derived here. An edge between a neighbour of the query and a candidate b moves the score of b
    from s to s + 1 and no other; all other edges move none. Let X_j be the weight of the other
    candidates that are left at draw j, and f(X) = log[(w(s+1) + X)/(w(s) + X)], which falls with X.
    Where b is drawn at place i, the log ratio of the list is

        log[w(s+1)/w(s)] - f(X_1) - ... - f(X_i);

    without its first term where b is not drawn, i then being k. It is largest for i = 1 and X_1 as
    large as it can be, (m-1) w(d). Its negative is largest where b is not drawn and the others
    weigh as little as they can, X_j = (m-j) w(0); with k = m, where b is drawn last and alone,
    X_m = 0 and the first term cancels f(X_m): as if k were m-1. All scores in 0..d occur together,
    so both are reached by some graph.

    Examples
    --------
    >>> round(common_neighbours_loss(np.log([2.0, 3.0]), k=1, m=2), 6)
    0.223144
    """
    if m == 1 or len(log_weights) == 1:
        return 0.0
    step, before = np.diff(log_weights), log_weights[:-1]
    fewest = np.log(m - np.arange(1.0, min(k, m - 1) + 1)) + log_weights[0]
    never = _growth(step[:, None], fewest - before[:, None]).sum(axis=1)
    at_once = step - _growth(step, log(m - 1) + log_weights[-1] - before)
    return float(max(never.max(), at_once.max()))


def gaussian_delta(scale: float, epsilon: float) -> float:
    r"""The delta of Gaussian noise on a vector that one edge moves by 1 in the Euclidean norm.

    Parameters
    ----------
    scale : float
        Standard deviation of the noise, positive.
    epsilon : float
        Not negative.

    Returns
    -------
    float
        The least delta for which the noisy vector is (epsilon, delta)-private.

    References
    ----------
    .. [1] Balle and Wang, Improving the Gaussian mechanism for differential privacy, 2018:
       Theorem 8, equation (6).

    Examples
    --------
    >>> round(gaussian_delta(1.0, 0.0), 6)
    0.382925
    """
    half, shift = 1 / (2 * scale), epsilon * scale
    return float(ndtr(half - shift) - exp(epsilon + log_ndtr(-half - shift)))


def gaussian_scale(epsilon: float, delta: float) -> float:
    """The least standard deviation that is (epsilon, delta)-private for a change of 1.

    Notes
    -----
    delta falls with the scale. At scale 1/delta it is below delta: for epsilon = 0, where it is
    largest, it is 2 Phi(delta/2) - 1 < 0.4 delta. At 1/(2 sqrt(epsilon) + 100) it is 1 in floating
    point: the first term is Phi(50 or more), the second below exp(-1250).

    At extremes, such as epsilon = 1e-6 and delta = 1e-300, the two terms of delta agree in all but
    a few digits. The scale is raised until both functions here say that it is private.

    Examples
    --------
    >>> round(gaussian_scale(1.0, 1e-5), 4)
    3.7306
    """
    low, high = -log(2 * sqrt(epsilon) + 100), -log(delta)
    root = brentq(lambda x: gaussian_delta(exp(x), epsilon) - delta, low, high, xtol=1e-14)
    slack = SAFETY
    while not _holds(scale := exp(root) * (1 + slack), epsilon, delta):
        slack *= 2
    return scale


def gaussian_epsilon(scale: float, delta: float) -> float:
    """The least epsilon for which noise of this scale is (epsilon, delta)-private, change 1.

    Examples
    --------
    >>> round(gaussian_epsilon(gaussian_scale(1.0, 1e-5), 1e-5), 9)
    1.0
    """
    if gaussian_delta(scale, 0.0) <= delta:
        return 0.0
    # at this epsilon the first term alone is Phi(-sqrt(-2 log delta)) < delta
    high = (sqrt(-2 * log(delta)) + 1 / (2 * scale)) / scale
    return float(brentq(lambda x: gaussian_delta(scale, x) - delta, 0.0, high, xtol=1e-22))


def _holds(scale: float, epsilon: float, delta: float) -> bool:
    """Whether noise is private by either function, with room for one more rounding."""
    enough = gaussian_epsilon(scale, delta) <= epsilon * (1 - SAFETY / 2)
    return enough and gaussian_delta(scale, epsilon) <= delta


def _growth(step: FloatArray, others: FloatArray) -> FloatArray:
    """log[(w e^step + X)/(w + X)], with `others` = log(X/w)."""
    # log1p keeps the digits of small steps, logaddexp does not overflow at large ones
    small = np.log1p(np.expm1(np.minimum(step, 1.0)) * expit(-others))
    large = np.logaddexp(log_expit(others), step + log_expit(-others))
    return np.where(step < 1.0, small, large)
