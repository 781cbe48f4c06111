r"""Draws of one weight a pair from 16 random bits and a table of thresholds.

The weight is the number of k in 1..q-1 with U < P(a >= k), where U is uniform on [0, 1). With
T_k = P(a >= k), U and 2^16 T_k are compared by their whole parts first: the table holds those of
2^16 T_k, a draw is 16 bits. Where the two are equal, which happens to a pair and a threshold once
in 2^16 draws, 106 further bits of U are drawn and compared with the rest of 2^16 T_k.

How exact the law is (derived here). With t = e^{-|x|} and S_m = 1 + t + .. + t^{m-1} the smaller
side is P(a >= k) = t^k S_{q-k}/S_q at log-odds -|x|: a sum of positive terms, in float64 with a
relative error of at most (6 k + 3 q) 2^-53. For x > 0 it is the mirrored weight q - 1 - a that has
log-odds -|x|, so that c = P(a < k) is the accurate number, and T_k = 1 - c is never formed: U < T_k
is c < 1 - U, all bits of U turned. The comparison takes 122 bits of U and cuts off the bits of T_k
or c beyond them. So the law drawn has, for every k, P(a >= k) (x <= 0) or P(a < k) (x > 0) within
that relative error plus 2^-122, and within (9 q) 2^-53 absolutely, whatever side.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import FloatMatrix, FloatVector, IntVector
from p0sim.model.compiled import compiled, compiler
from p0sim.model.raw_words import WordVector

Levels: TypeAlias = NDArray[np.uint16]

# pairs tabulated and compared at a time, so that they stay in a near cache
PIECE = 2048
ONE = 65536.0
DIGIT = 2.0**53
SAFE_EXPONENT = 700.0


@compiled
def tabulate(alpha: FloatVector, beta: FloatVector, q: int) -> Levels:
    """Whole parts of 2^16 P(a_ij >= k) for the pairs of some rows with all columns.

    Parameters
    ----------
    alpha : ndarray of float64, shape (rows,)
    beta : ndarray of float64, shape (n,)
    q : int
        Weights lie in 0..q-1.

    Returns
    -------
    ndarray of uint16, shape (pieces, q - 1, PIECE)
        Pairs in order, row by row, cut into pieces of PIECE; level k - 1 of a piece holds the
        thresholds of k. What follows the last pair has no meaning.

    Examples
    --------
    >>> tabulate(np.zeros(1), np.zeros(1), 4)[0, :, 0]
    array([49152, 32768, 16384], dtype=uint16)
    """
    pairs = len(alpha) * len(beta)
    table = np.empty((-(-pairs // PIECE), q - 1, PIECE), np.uint16)
    odds, small, total = np.ones(PIECE), np.ones(PIECE), np.empty(PIECE)
    tails = np.empty((q - 1, PIECE))
    up, down, reach = np.exp(beta), np.exp(-beta), np.abs(beta).max()
    for piece in range(len(table)):
        first, last = piece * PIECE, min((piece + 1) * PIECE, pairs)
        while first < last:
            i, j = divmod(first, len(beta))
            width = min(last - first, len(beta) - j)
            at = slice(first - piece * PIECE, first - piece * PIECE + width)
            if abs(alpha[i]) + reach < SAFE_EXPONENT:
                _odds_by_products(
                    alpha[i], up[j : j + width], down[j : j + width], odds[at], small[at]
                )
            else:
                _odds_by_sums(alpha[i], beta[j : j + width], odds[at], small[at])
            first += width
        _lower_tails(small, q, total, tails)
        _whole_parts(odds, tails, table[piece])
    return table


@compiled
def _odds_by_products(
    a: float, up: FloatVector, down: FloatVector, odds: FloatVector, small: FloatVector
) -> None:
    """e^{a + b} and e^{-|a + b|} from e^b and e^-b: n exponentials, not n^2."""
    row_up, row_down = np.exp(a), np.exp(-a)
    for j in range(len(up)):
        odds[j] = row_up * up[j]
        turned = row_down * down[j]
        small[j] = odds[j] if odds[j] < 1 else turned


@compiled
def _odds_by_sums(a: float, beta: FloatVector, odds: FloatVector, small: FloatVector) -> None:
    """The same where a factor might overflow."""
    for j in range(len(beta)):
        odds[j] = np.exp(a + beta[j])
        small[j] = np.exp(-abs(a + beta[j]))


@compiler("numpy")
def _lower_tails(small: FloatVector, q: int, total: FloatVector, tails: FloatMatrix) -> None:
    """tails[k - 1] = t^k S_{q-k}/S_q."""
    width = len(small)
    for j in range(width):
        total[j] = 1.0
    for _ in range(q - 1):
        for j in range(width):
            total[j] = 1 + small[j] * total[j]
    for j in range(width):
        tails[0, j] = small[j] / total[j]
    for k in range(1, q - 1):
        for j in range(width):
            tails[k, j] = tails[k - 1, j] * small[j]
    for k in range(q - 3, -1, -1):
        for j in range(width):
            tails[k, j] += tails[k + 1, j]


@compiled
def _whole_parts(odds: FloatVector, tails: FloatMatrix, levels: Levels) -> None:
    top = len(tails) - 1
    for k in range(top + 1):
        low, high, level = tails[k], tails[top - k], levels[k]
        for j in range(len(odds)):
            mirrored = odds[j] > 1
            whole = np.int32(ONE * (high[j] if mirrored else low[j]))
            level[j] = np.uint16(np.int32(65535) - whole if mirrored else whole)


@compiled
def count_thresholds(bits: Levels, table: Levels, weights: Levels) -> IntVector:
    """Set each weight to the number of its thresholds above its 16 bits.

    Parameters
    ----------
    bits : ndarray of uint16, shape (pairs,) or longer
    table : ndarray of uint16, shape (pieces, q - 1, PIECE)
    weights : ndarray of uint16, shape (pairs,)
        Written.

    Returns
    -------
    ndarray of int64
        Pairs, in order, whose 16 bits equal one threshold or more: their weights want settling.

    Examples
    --------
    >>> table, weights = np.zeros((1, 2, PIECE), np.uint16), np.empty(3, np.uint16)
    >>> table[0, :, :3] = [[500], [200]]
    >>> count_thresholds(np.array([0, 200, 900], np.uint16), table, weights)
    array([1])
    >>> weights
    array([2, 1, 0], dtype=uint16)
    """
    tied = np.zeros(len(table), np.bool_)
    for piece in range(len(table)):
        at = slice(piece * PIECE, min((piece + 1) * PIECE, len(weights)))
        weights[at] = 0
        for k in range(table.shape[1]):
            tied[piece] |= _add_level(bits[at], table[piece, k], weights[at])
    return _tied_pairs(bits[: len(weights)], table, tied)


@compiled
def _add_level(bits: Levels, level: Levels, weights: Levels) -> bool:
    tied = False
    for p in range(len(weights)):
        weights[p] += np.uint16(bits[p] < level[p])
        tied |= bits[p] == level[p]
    return tied


@compiled
def _tied_pairs(bits: Levels, table: Levels, tied: NDArray[np.bool_]) -> IntVector:
    found = np.empty(tied.sum() * PIECE, np.int64)
    equal = np.empty(PIECE, np.bool_)
    count = 0
    for piece in np.flatnonzero(tied):
        equal[:] = False
        for k in range(table.shape[1]):
            _mark_equal(bits[piece * PIECE : (piece + 1) * PIECE], table[piece, k], equal)
        for p in np.flatnonzero(equal):
            found[count] = piece * PIECE + p
            count += 1
    return found[:count]


@compiled
def _mark_equal(bits: Levels, level: Levels, equal: NDArray[np.bool_]) -> None:
    for p in range(len(bits)):
        equal[p] |= bits[p] == level[p]


@compiled
def settle_ties(
    pairs: IntVector,
    words: WordVector,
    bits: Levels,
    levels: Levels,
    x: FloatVector,
    weights: Levels,
) -> None:
    """Compare further bits with the rest of each threshold that the first 16 bits equal.

    Parameters
    ----------
    pairs : ndarray of int64, shape (ties,)
        Positions in `weights`.
    words : ndarray of uint64, shape (2 * ties,)
        53 bits of each are used.
    bits : ndarray of uint16, shape (ties,)
    levels : ndarray of uint16, shape (ties, q - 1)
    x : ndarray of float64, shape (ties,)
        Log-odds.
    weights : ndarray of uint16
        One is added for each threshold that is above after all.

    Examples
    --------
    >>> weights, tie = np.array([1], np.uint16), np.array([0])
    >>> levels, x = np.array([[43690, 21845]], np.uint16), np.zeros(1)
    >>> settle_ties(tie, np.array([2**62, 0], np.uint64), levels[:, 1], levels, x, weights)
    >>> weights
    array([2], dtype=uint16)
    """
    top = levels.shape[1]
    tails, total = np.empty((top, 1)), np.empty(1)
    for tie in range(len(pairs)):
        _lower_tails(np.exp(-np.abs(x[tie : tie + 1])), top + 1, total, tails)
        first = np.int64(words[2 * tie] >> np.uint64(11))
        second = np.int64(words[2 * tie + 1] >> np.uint64(11))
        for k in range(top):
            level = levels[tie, k]
            if level == bits[tie] and _is_above(level, tails[:, 0], k, x[tie] > 0, first, second):
                weights[pairs[tie]] += np.uint16(1)


@compiled
def _is_above(
    level: int, tails: FloatVector, k: int, mirrored: bool, first: np.int64, second: np.int64
) -> bool:
    """Whether the threshold of level k is above a draw that goes on with two digits of 53 bits."""
    if not mirrored:
        return _precedes(first, second, ONE * tails[k] - level)
    last = np.int64(DIGIT) - 1
    rest = ONE * tails[len(tails) - 1 - k] - (65535 - level)
    return not _precedes(last - first, last - second, rest)


@compiled
def _precedes(first: np.int64, second: np.int64, rest: float) -> bool:
    """Whether the number with these two digits to base 2^53 is below `rest`, cut to two digits."""
    # rounding of the row's products may leave the rest an ulp outside [0, 1)
    scaled = min(max(rest, 0.0), 1 - 1 / DIGIT) * DIGIT
    high = np.floor(scaled)
    low = np.floor((scaled - high) * DIGIT)
    return bool(first < high or (first == high and second < low))
