"""Discrete Laplace noise for real releases: OpenDP's exact sampler, the system's randomness.

OpenDP takes the float `scale` as the fraction that it is and samples P(k) proportional to
``exp(-|k|/scale)`` with integers alone (Canonne, Kamath and Steinke 2020). Its random bits are
OpenSSL's, whose generator the operating system seeds, and again in a forked process; there is no
seed to give. Its objects cannot be pickled, so they are built where they are used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from p0sim.arrays import IntVector
from p0sim.errors import InvalidPrivacyError
from p0sim.privacy.discrete_laplace import LARGEST_SCALE

SMALLEST_SCALE = 2.0**-60
# no noise of a release leaves this many scales but with a probability below 2^-64
BITS_OF_SAFETY = 64


@dataclass(frozen=True, eq=False)
class ExactLaplace:
    """Noise for one vector of whole numbers.

    Attributes
    ----------
    size : int
        Length of the vector.
    sensitivity : int
        Largest L1 change of the vector between neighbours.
    scale : float
        The least float, taken as an exact fraction, whose noise costs no more than was asked.
    measurement : object
        OpenDP's.
    """

    size: int
    sensitivity: int
    scale: float
    measurement: Any

    @property
    def effective_epsilon(self) -> Fraction:
        """sensitivity / scale, what the noise costs: never more than was asked."""
        return Fraction(self.sensitivity) / Fraction(self.scale)

    def add_to(self, values: IntVector, largest: int) -> IntVector:
        """The vector with one draw added to each entry.

        Parameters
        ----------
        values : ndarray of int64, shape (size,)
            In 0..largest.
        largest : int
            Public bound of the entries.

        Raises
        ------
        InvalidPrivacyError
            If the length is another one, or entries and noise could leave 64-bit integers.
        """
        # OpenDP itself would take a longer vector, and let its sums stop at the ends of int64
        if values.shape != (self.size,):
            raise InvalidPrivacyError(f"values must be {self.size}; got {len(values)}")
        require_room(largest, self.scale, self.size)
        return np.array(self.measurement(values.tolist()), dtype=np.int64)


def exact_laplace(size: int, sensitivity: int, epsilon: Fraction) -> ExactLaplace:
    """Discrete Laplace noise that costs at most epsilon, as exact fractions.

    Parameters
    ----------
    size : int
        Number of values, each with its own draw.
    sensitivity : int
        Largest L1 change of the values between neighbours.
    epsilon : Fraction
        Privacy loss asked for.

    Returns
    -------
    ExactLaplace

    Raises
    ------
    InvalidPrivacyError
        If OpenDP is not installed, or sensitivity/epsilon lies outside 2**-60..2**47.

    Notes
    -----
    sensitivity/epsilon is rarely a float, and the nearest one may be too small. The scale goes up
    by one float at a time until both its exact cost and OpenDP's own bound, which rounds up, are at
    most epsilon.

    Examples
    --------
    >>> noise = exact_laplace(6, sensitivity=6, epsilon=Fraction(1, 10))
    >>> noise.scale, noise.effective_epsilon <= Fraction(1, 10)
    (60.00000000000001, True)
    """
    scale = _require_scale(Fraction(sensitivity) / epsilon)
    while True:
        measurement = _measurement(size, scale)
        bound = Fraction(measurement.map(sensitivity))
        if max(bound, Fraction(sensitivity) / Fraction(scale)) <= epsilon:
            return ExactLaplace(size, sensitivity, scale, measurement)
        scale = math.nextafter(scale, math.inf)


def require_room(largest: int, scale: float, size: int) -> None:
    """Refuse values that with their noise could come near the ends of 64-bit integers.

    Raises
    ------
    InvalidPrivacyError
        If largest plus the reach of the noise is not below 2**62.
    """
    reach = math.ceil(scale * (BITS_OF_SAFETY * math.log(2) + math.log(2 * size)))
    if largest + reach >= 2**62:
        raise InvalidPrivacyError(
            f"(n-1)(q-1) + the reach of the noise must be below 2^62; got {largest} + {reach}"
        )


def _require_scale(scale: Fraction) -> float:
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise InvalidPrivacyError(
            "scale (sensitivity / epsilon) must be at least 2**-60 and at most 2**47; "
            f"got {float(scale):g}"
        )
    return float(scale)


def _measurement(size: int, scale: float) -> Any:
    try:
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance
        from opendp.mod import enable_features
    except ImportError:
        raise InvalidPrivacyError(
            "a release needs OpenDP, which is not installed: install the extra release, "
            "pip install -e '.[release]'"
        ) from None
    enable_features("contrib")
    domain = vector_domain(atom_domain(T="i64"), size=size)
    return make_laplace(domain, l1_distance(T="i64"), scale=scale)
