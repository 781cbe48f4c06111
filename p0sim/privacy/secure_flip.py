r"""Randomised response for a release: whole numbers and the operating system's randomness only.

The chance to keep a weight is m/2^64 with a whole m that puts it at or below the exact
rho = (e^epsilon - 1)/(e^epsilon + q - 1), so that the mechanism costs epsilon or a little less,
never more. rho grows with e^epsilon, so any rational L <= e^epsilon gives (L - 1)/(L + q - 1) <=
rho: L is a sum of finitely many terms epsilon^k/k!, all positive, each rounded down to a multiple
of 2^-256. With m the whole part of 2^64 (L - 1)/(L + q - 1), the largest ratio between the
probabilities of one flipped weight under two true ones is 1 + q m/(2^64 - m) <= L <= e^epsilon.
(Derived here.)

A kept or replaced weight is decided by one 64-bit word below m or not; a replacement is a word
modulo q, words from the incomplete last cycle of q being drawn again. Both are exact. There is no
seed, and no floating point.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import IntMatrix, IntVector
from p0sim.errors import InvalidPrivacyError
from p0sim.model.dense import row_bands
from p0sim.model.networks import Network
from p0sim.model.raw_words import LARGEST_WORD, WordVector

UNIT = 2**64
FRACTION_BITS = 256
# fewer words than this, and rounding m down would change rho by more than one part in 2^30
FEWEST_KEPT = 2**30
# e^64 is 6e27: with q up to 2^41 the chance to replace a weight is below 2^-50, and stays there
LARGEST_EXPONENT = 64


def flip_securely(network: Network, epsilon: Fraction) -> tuple[IntVector, IntVector]:
    """Degrees of a network after randomised response on every ordered pair, fit to be published.

    Parameters
    ----------
    network : Network
        Its n, node list and q must be public.
    epsilon : Fraction
        Privacy loss for one edge's weight, positive.

    Returns
    -------
    out_degree, in_degree : ndarray of int64, shape (n,)
        Of the flipped network: in 0..(n-1)(q-1), with one total.

    Raises
    ------
    InvalidPrivacyError
        As for :func:`keep_words`.

    Notes
    -----
    Neighbours are two networks on the same nodes that differ in the weight of one ordered pair,
    from any to any of 0..q-1. The whole flipped network is :func:`effective_loss`-private for
    them, which is at most epsilon, and its degrees are computed from it. Protected is the weight of
    one edge, not a node with all its edges; how long it takes is not protected. Memory is some MB,
    or a few rows of the network.

    Examples
    --------
    >>> net = Network([[0, 1, 2], [1, 0, 0], [0, 2, 0]], q=3)
    >>> out_degree, in_degree = flip_securely(net, Fraction(1, 2))
    >>> bool(out_degree.sum() == in_degree.sum())
    True
    """
    n, kept = network.n, keep_words(epsilon, network.q)
    out_degree, in_degree = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for rows in row_bands(n):
        weights = network.weights[rows].toarray()
        _flip_in_place(weights, kept, network.q)
        weights.ravel()[rows.start :: n + 1] = 0
        out_degree[rows] = weights.sum(axis=1)
        in_degree += weights.sum(axis=0)
    return out_degree, in_degree


def keep_words(epsilon: Fraction, q: int) -> int:
    """Words of 2^64 on which a pair keeps its weight: the chance, times 2^64, rounded down.

    Parameters
    ----------
    epsilon : Fraction
        Positive.
    q : int
        Weights lie in 0..q-1.

    Returns
    -------
    int
        m, below 2^64.

    Raises
    ------
    InvalidPrivacyError
        If less than one weight in 2^34 would stay: epsilon is too small for so large a q.

    Examples
    --------
    >>> round(keep_words(Fraction(1), q=2) / 2**64, 6)
    0.462117
    """
    least = exponential_below(min(epsilon, Fraction(LARGEST_EXPONENT)))
    kept = int(UNIT * (least - 1) / (least + q - 1))
    if kept < FEWEST_KEPT:
        raise InvalidPrivacyError(
            f"epsilon must be so large that edge_flip keeps one weight in 2^34 at q = {q}; "
            f"got {epsilon}"
        )
    return kept


def effective_loss(epsilon: Fraction, q: int) -> Fraction:
    """e to the epsilon that is really spent, exactly: the largest ratio of two probabilities.

    Parameters
    ----------
    epsilon : Fraction
        Asked for, positive.
    q : int

    Returns
    -------
    Fraction
        1 + q m/(2^64 - m), at most e^epsilon.

    Examples
    --------
    >>> float(effective_loss(Fraction(1), q=2))
    2.718281828459045
    """
    kept = keep_words(epsilon, q)
    return 1 + Fraction(q * kept, UNIT - kept)


def exponential_below(exponent: Fraction) -> Fraction:
    """A rational at most e^x and within 2^-180 of it, relatively; x in 0..64.

    Examples
    --------
    >>> float(exponential_below(Fraction(1)))
    2.718281828459045
    """
    term = total = 2**FRACTION_BITS
    k = 1
    while term:
        term = term * exponent.numerator // (exponent.denominator * k)
        total += term
        k += 1
    return Fraction(total, 2**FRACTION_BITS)


def _flip_in_place(weights: IntMatrix, kept: int, q: int) -> None:
    replaced = _words(weights.size).reshape(weights.shape) >= np.uint64(kept)
    weights[replaced] = _uniform_weights(int(replaced.sum()), q)


def _uniform_weights(count: int, q: int) -> IntVector:
    """Independent uniform draws from 0..q-1."""
    last = np.uint64(LARGEST_WORD - UNIT % q)
    words = _words(count)
    while (beyond := np.flatnonzero(words > last)).size:
        words[beyond] = _words(len(beyond))
    return (words % np.uint64(q)).astype(np.int64)


def _words(count: int) -> WordVector:
    """64-bit words of the operating system."""
    words: NDArray[np.uint64] = np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)
    return words
