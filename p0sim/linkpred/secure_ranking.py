r"""Ordered lists that are fit to be used: the operating system's randomness, and no seed.

The weighted draws are exact. Each weight exp(e), e the logarithm that the mechanism asks for, is
divided by the largest one and rounded down to a multiple of 2^-1100; a candidate is then found by a
uniform whole number below the sum of those that are left. e is at least -700 after the division
(what is less is lifted to it), so a rounded weight is at least 2^89 units and its relative error
below 1e-26, whatever the scores. Where all that are left have become small, they are divided again.
The logarithms themselves are floats with relative errors of some 1e-16; sigma is lowered by one
part in 10^10 to pay for all of this. (Derived here: a log ratio of two lists moves by at most 2k
times the relative error of a weight, some 2k sigma log(s + D + 1) 4e-16, against an epsilon of
k sigma log R. A lifted weight moves no further than the largest one and itself do, and all lifted
ones together are less than m e^-350 of what is left.)

Laplace and Gaussian noise, there for comparison, is drawn in floating point from 53 random bits a
score: a list with a probability below about 1e-12 may come out with another one, and their epsilon
is not warranted beyond that.
"""

from __future__ import annotations

import os
import secrets
from bisect import bisect_right
from collections.abc import Sequence
from decimal import Context, Decimal
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from p0sim.arrays import FloatVector, IntVector
from p0sim.errors import InvalidPrivacyError
from p0sim.linkpred.calibration import DRAWING
from p0sim.linkpred.mechanisms import signal_and_spread, top

IN_FLOATS = ("laplace", "gaussian")
MECHANISMS = (*DRAWING, *IN_FLOATS)
SLACK = 1e-10
DEEPEST = -700.0
UNITS = Decimal(2**1100)
# e^-346 of the largest weight there was
SMALL = 2**600
ARITHMETIC = Context(prec=50)


def rank_securely(
    scores: ArrayLike, k: int, mechanism: str, parameter: float, sensitivity: float | None = None
) -> IntVector:
    """Draw one ordered list of k candidates with the operating system's randomness.

    Parameters
    ----------
    scores, k, mechanism, parameter, sensitivity
        As for :func:`~p0sim.linkpred.mechanisms.rank`; "none" is refused.

    Returns
    -------
    ndarray of int, shape (k,)
        Positions in `scores`.

    Raises
    ------
    InvalidParametersError, InvalidPrivacyError
        As for :func:`~p0sim.linkpred.mechanisms.rank`.

    Notes
    -----
    Neighbours are two graphs that differ in one edge which is not at the query. Protected is that
    edge; not protected are the query's own edges, and how long the draw takes.

    Examples
    --------
    >>> rank_securely([0, 3, 1], 2, "dplp", 1e6, sensitivity=1.0)
    array([1, 2])
    """
    if mechanism not in MECHANISMS:
        raise InvalidPrivacyError(
            f"mechanism must be one of {', '.join(MECHANISMS)}; got {mechanism!r}"
        )
    signal, spread = signal_and_spread(scores, k, mechanism, parameter, sensitivity)
    if mechanism in DRAWING:
        return np.array(_draw_in_turn(signal * (1 - SLACK), k), dtype=np.int64)
    noise = _noise(mechanism, len(signal))[None, :]
    best: IntVector = top(signal, spread * noise, noise, k)[0]
    return best


def whole_weights(log_weights: FloatVector) -> list[int]:
    """Weights as whole numbers, the largest about 2^1100.

    Examples
    --------
    >>> first, second = whole_weights(np.log([1.0, 2.0]))
    >>> round(2**40 * first / second) / 2**40
    0.5
    """
    depths = np.maximum(log_weights - log_weights.max(), DEEPEST)
    known = {depth: _whole_weight(depth) for depth in set(depths.tolist())}
    return [known[depth] for depth in depths.tolist()]


def draw_place(weights: Sequence[int]) -> int:
    """A place, with the chance that its weight has in the sum; exact."""
    ends = list(accumulate(weights))
    return bisect_right(ends, secrets.randbelow(ends[-1]))


def _draw_in_turn(log_weights: FloatVector, k: int) -> list[int]:
    left, weights = list(range(len(log_weights))), whole_weights(log_weights)
    drawn = []
    for _ in range(k):
        if max(weights) < SMALL:
            weights = whole_weights(log_weights[left])
        place = draw_place(weights)
        weights.pop(place)
        drawn.append(left.pop(place))
    return drawn


def _whole_weight(depth: float) -> int:
    exact = ARITHMETIC.exp(Decimal(depth))
    return int(ARITHMETIC.multiply(exact, UNITS))


def _noise(mechanism: str, m: int) -> FloatVector:
    """Standard noise by inversion, from 53 bits a value and one more half unit."""
    words = np.frombuffer(os.urandom(8 * m), dtype=np.uint64) >> np.uint64(11)
    uniform = (words + 0.5) * 2.0**-53
    if mechanism == "gaussian":
        return np.asarray(ndtri(uniform))
    centred = uniform - 0.5
    return np.asarray(-np.sign(centred) * np.log1p(-2 * np.abs(centred)))
