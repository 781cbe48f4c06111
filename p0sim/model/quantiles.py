r"""Draws of single weights by the closed-form quantile, where q is too large for thresholds.

For s = |x| and U uniform the smaller side of the law is P(a >= k) = (e^{-ks} - e^{-qs})/(1 -
e^{-qs}), so U < P(a >= k) is k < y with y = -log(e^{-qs} + U (1 - e^{-qs}))/s, and the weight is
the whole part of y; for x > 0 that is the mirrored weight q - 1 - a. Where q s < 1 the same y is
-log(1 - (1 - U)(1 - e^{-qs}))/s, which tends to (1 - U) q as s falls to 0 (derived here). U has 53
significant bits however small it is, down to 2^-106. y comes out with a relative error of a few
2^-53, so that P(a >= k) is drawn within about 10 (1 + k s) 2^-53 of itself where q s >= 1, and
within about 10 units of 2^-53 absolutely elsewhere.
"""

from __future__ import annotations

import numpy as np

from p0sim.arrays import FloatVector, IntVector
from p0sim.model.compiled import compiled
from p0sim.model.raw_words import WordVector

UNIT = 2.0**-53
# products of subnormal numbers have no digits left; the law is uniform there to 1e-150
NEARLY_ZERO = 1e-150


@compiled
def quantiles(words: WordVector, alpha: FloatVector, beta: FloatVector, q: int) -> IntVector:
    """Weights of the pairs of some rows with all columns, row by row.

    Parameters
    ----------
    words : ndarray of uint64, shape (2 * rows * n,)
    alpha : ndarray of float64, shape (rows,)
    beta : ndarray of float64, shape (n,)
    q : int
        Weights lie in 0..q-1.

    Returns
    -------
    ndarray of int64, shape (rows * n,)

    Examples
    --------
    >>> words = np.array([2**63, 0, 0, 0], np.uint64)
    >>> quantiles(words, np.array([0.0]), np.array([-1.0, -1.0]), 100)
    array([ 0, 99])
    """
    weights = np.empty(len(words) // 2, np.int64)
    for pair in range(len(weights)):
        i, j = divmod(pair, len(beta))
        x = alpha[i] + beta[j]
        weights[pair] = quantile(words[2 * pair], words[2 * pair + 1], x, q)
    return weights


@compiled
def quantile(first: np.uint64, second: np.uint64, x: float, q: int) -> int:
    """The weight at the uniform number with these two 64-bit words, 53 bits of each."""
    u = ((first >> np.uint64(11)) + (second >> np.uint64(11)) * UNIT) * UNIT
    # the lowest numbers may be infinitely many steps out
    weight = int(min(_steps(u, abs(x), q), q - 1.0))
    return q - 1 - weight if x > 0 else weight


@compiled
def _steps(u: float, s: float, q: int) -> float:
    """The y of the module's head, from 0 to q."""
    if s < NEARLY_ZERO:
        return (1 - u) * q
    if q * s < 1:
        return float(-np.log1p((1 - u) * np.expm1(-q * s)) / s)
    return float(max(-np.log(np.exp(-q * s) - u * np.expm1(-q * s)) / s, 0.0))
