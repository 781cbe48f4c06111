r"""Ordered lists drawn from scores, seeded: for studies. A list to be used is drawn elsewhere.

A weighted draw without replacement is a ranking of log weights plus independent Gumbel noise: the
largest sum is at i with probability w_i / (sum of w), and given that, the others rank as if i had
never been there (derived from the exponential clocks E / w, whose logarithms these are). So one
sort gives Algorithm 1 for any k, and neither large nor small weights leave the floats.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from p0sim.arrays import FloatMatrix, FloatVector, IntMatrix, require_generator, require_vector
from p0sim.errors import InvalidParametersError, InvalidPrivacyError
from p0sim.linkpred.calibration import MECHANISMS
from p0sim.linkpred.query import require_length

Noise: TypeAlias = Callable[[np.random.Generator, tuple[int, int]], FloatMatrix]


def _gumbel(rng: np.random.Generator, shape: tuple[int, int]) -> FloatMatrix:
    """Minus the logarithm of exponential waiting times, three times as fast as numpy's own."""
    return np.asarray(-np.log(rng.standard_exponential(shape)))


def _laplace(rng: np.random.Generator, shape: tuple[int, int]) -> FloatMatrix:
    """The difference of two exponential waiting times."""
    return np.asarray(rng.standard_exponential(shape) - rng.standard_exponential(shape))


NOISE: dict[str, Noise] = {
    "dplp": _gumbel,
    "exponential": _gumbel,
    "laplace": _laplace,
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "none": lambda rng, shape: rng.random(shape),
}
# beyond this no noise of a float reaches the smallest difference of two scores, and inf times 0 is
# not a number
LARGEST = 1e100


def rank(
    scores: ArrayLike,
    k: int,
    mechanism: str,
    parameter: float,
    *,
    rng: np.random.Generator,
    sensitivity: float | None = None,
    draws: int = 1,
) -> IntMatrix:
    """Draw ordered lists of k candidates; a simulation, not a private list.

    Parameters
    ----------
    scores : array_like, shape (m,)
        Of the candidates; for dplp not negative.
    k : int
        Length of a list, at most m.
    mechanism : {"dplp", "laplace", "gaussian", "exponential", "none"}
        Algorithm 1, noise on all scores, draws with weights exp(eta s), or the true top k.
    parameter : float
        sigma (dplp), eta (exponential) or the scale of the noise; not negative. sigma = 0 is a
        uniform draw; a huge or infinite sigma the true top k. Not used by none.
    rng : numpy.random.Generator
    sensitivity : float
        D in the weights (s + D + 1)^sigma; for dplp only, and needed there.
    draws : int
        Number of lists, independent of each other.

    Returns
    -------
    ndarray of int, shape (draws, k)
        Positions in `scores`, the first of a list its best. Equal scores come in a uniform order.

    Raises
    ------
    InvalidParametersError
        If k is not in 1..m, or the scores are not finite or negative.
    InvalidPrivacyError
        If the mechanism is unknown or its parameter out of range.

    Notes
    -----
    Neighbours are two graphs that differ in one edge which is not at the query. A seeded list
    protects nobody: who has the seed can redo it.

    Examples
    --------
    >>> rank([0, 3, 1, 2], 2, "none", 0, rng=np.random.default_rng(1))
    array([[1, 3]])
    """
    signal, spread = signal_and_spread(scores, k, mechanism, parameter, sensitivity)
    noise = NOISE[mechanism](require_generator(rng), (draws, len(signal)))
    return top(signal, spread * noise, noise, k)


def top(signal: FloatVector, added: FloatMatrix, noise: FloatMatrix, k: int) -> IntMatrix:
    """Places of the k largest sums of each row, in order; sums that round to one by their noise."""
    sums = signal + added
    least = np.partition(sums, -k, axis=1)[:, -k, np.newaxis]
    rows, places = np.nonzero(sums >= least)
    if len(rows) > k * len(sums):
        return _top_of_equals(sums, noise, k)
    largest, first = sums[rows, places].reshape(-1, k), places.reshape(-1, k)
    order = np.argsort(-largest, axis=1)
    ordered = np.take_along_axis(largest, order, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        return _top_of_equals(sums, noise, k)
    return np.take_along_axis(first, order, axis=1)


def _top_of_equals(sums: FloatMatrix, noise: FloatMatrix, k: int) -> IntMatrix:
    # numpy orders complex numbers by the real part, then by the imaginary one
    keys = -sums - 1j * noise
    first = np.argpartition(keys, k - 1, axis=1)[:, :k]
    order = np.argsort(np.take_along_axis(keys, first, axis=1), axis=1)
    return np.take_along_axis(first, order, axis=1)


def signal_and_spread(
    scores: ArrayLike, k: int, mechanism: str, parameter: float, sensitivity: float | None
) -> tuple[FloatVector, float]:
    """What noise is added to, and how many times the noise; arguments as for :func:`rank`."""
    values = require_vector(scores, "scores")
    require_length(k, len(values))
    if mechanism not in MECHANISMS:
        raise InvalidPrivacyError(
            f"mechanism must be one of {', '.join(MECHANISMS)}; got {mechanism!r}"
        )
    if isnan(parameter) or parameter < 0:
        raise InvalidPrivacyError(f"parameter must not be negative; got {parameter}")
    steepness = min(float(parameter), LARGEST)
    if mechanism == "dplp":
        return steepness * _log_base(values, sensitivity), 1.0
    if mechanism == "exponential":
        return steepness * values, 1.0
    if mechanism == "none":
        # a number below 1 orders equal scores and no others
        return np.unique(values, return_inverse=True)[1].astype(np.float64), 1.0
    return values, steepness


def _log_base(values: FloatVector, sensitivity: float | None) -> NDArray[np.float64]:
    if sensitivity is None or not sensitivity > 0:
        raise InvalidPrivacyError(f"sensitivity must be positive for dplp; got {sensitivity}")
    if (values < 0).any():
        raise InvalidParametersError(f"scores must not be negative; got {values.min():g}")
    return np.log(values + sensitivity + 1)
