r"""The discrete Laplace law on the integers.

P(k) = (1 - lam)/(1 + lam) lam^|k| with lam = e^{-1/scale}. The sampler here draws from a seeded
numpy Generator: it is for simulation and protects nobody. A release of real data needs an exact
integer sampler and the randomness of the operating system.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from p0sim.arrays import IntVector, require_generator, require_real
from p0sim.errors import InvalidPrivacyError

# beyond this scale a float has too few digits left to tell neighbouring integers apart
LARGEST_SCALE = 2.0**47


def discrete_laplace_pmf(k: ArrayLike, scale: float) -> NDArray[np.float64]:
    r"""P(e = k) of discrete Laplace noise.

    Parameters
    ----------
    k : array_like of int
        Noise values, in weight units.
    scale : float
        sensitivity / epsilon, positive.

    Returns
    -------
    ndarray, shape of k

    Raises
    ------
    InvalidPrivacyError
        If scale is not positive and finite or above 2**47.

    References
    ----------
    .. [1] Wang et al. 2022, section 2; Inusah and Kozubowski, A discrete analogue of the Laplace
       distribution, J. Statist. Plann. Inference 136, 2006.

    Examples
    --------
    >>> discrete_laplace_pmf(0, scale=2.0)
    array(0.24491866)
    """
    scale = require_scale(scale)
    # (1 - lam)/(1 + lam) = tanh(1/(2 scale)) keeps its digits when the scale is large
    return np.asarray(np.tanh(0.5 / scale) * np.exp(-np.abs(np.asarray(k)) / scale))


def discrete_laplace_variance(scale: float) -> float:
    r"""Variance 2 lam/(1 - lam)^2 of discrete Laplace noise.

    Parameters
    ----------
    scale : float
        sensitivity / epsilon, positive.

    Returns
    -------
    float
        tau, in squared weight units.

    Raises
    ------
    InvalidPrivacyError
        If scale is not positive and finite or above 2**47.

    Examples
    --------
    >>> round(discrete_laplace_variance(2.0), 3)
    7.835
    """
    rate = 1 / require_scale(scale)
    return float(2 * np.exp(-rate) / np.expm1(-rate) ** 2)


def sample_discrete_laplace(size: int, scale: float, *, rng: np.random.Generator) -> IntVector:
    r"""Seeded draws for simulation studies: not a private release.

    Parameters
    ----------
    size : int
        Number of draws.
    scale : float
        sensitivity / epsilon, positive.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int64, shape (size,)

    Raises
    ------
    InvalidPrivacyError
        If scale is not positive and finite or above 2**47.

    Notes
    -----
    With E standard exponential, P(floor(scale E) >= k) = e^{-k/scale} = lam^k: geometric, whatever
    the scale. The difference of two such draws is discrete Laplace. (A geometric sampler that takes
    the success probability 1 - lam loses it when lam is near 1.)

    Examples
    --------
    >>> sample_discrete_laplace(5, 2.0, rng=np.random.default_rng(7))
    array([-5,  2, -4,  0,  0])
    """
    waits = require_generator(rng).standard_exponential(2 * size)
    waits *= require_scale(scale)
    # waits are not negative: the cast to int is the floor
    steps = waits.astype(np.int64)
    difference: IntVector = steps[:size] - steps[size:]
    return difference


def require_scale(scale: float) -> float:
    """A noise scale that is positive and small enough for exact integers."""
    value = require_real(scale, "scale")
    if not 0 < value <= LARGEST_SCALE:
        raise InvalidPrivacyError(
            f"scale (sensitivity / epsilon) must be positive and at most 2**47; got {value:g}"
        )
    return value
