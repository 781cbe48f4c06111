"""A bi-degree sequence with noise: all an analyst has, and what is public about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from p0sim.arrays import IntVector, fill, require_labels, require_q
from p0sim.errors import InvalidNetworkError, InvalidPrivacyError
from p0sim.model.bidegree import degree_arrays
from p0sim.privacy.discrete_laplace import discrete_laplace_variance
from p0sim.privacy.sensitivity import bidegree_sensitivity

SMALLEST_EPSILON = 1e-6


@dataclass(frozen=True, eq=False, init=False)
class NoisyBiDegree:
    """Out-degrees and in-degrees plus independent discrete Laplace noise.

    Parameters
    ----------
    out_degree, in_degree : array_like of int, shape (n,)
        Noisy sums; they may be negative or above (n-1)(q-1), and their totals differ.
    q : int
        Weights of the network lie in 0..q-1.
    epsilon : float
        Privacy loss for one edge's weight; positive and finite.
    nodes : sequence of str, optional
        Labels, in order.
    simulated : bool
        Whether seeded noise is known to be all that hides the network.

    Raises
    ------
    InvalidNetworkError, InvalidPrivacyError
        If an argument breaks these rules.
    """

    out_degree: IntVector
    in_degree: IntVector
    q: int
    epsilon: float
    nodes: tuple[str, ...]
    simulated: bool

    mechanism = "discrete_laplace"
    is_release = False

    def __init__(
        self,
        out_degree: ArrayLike,
        in_degree: ArrayLike,
        q: int,
        epsilon: float,
        nodes: Sequence[str] | None = None,
        simulated: bool = False,
    ) -> None:
        out_sums, in_sums = degree_arrays(out_degree, in_degree)
        fill(
            self,
            out_degree=out_sums,
            in_degree=in_sums,
            q=require_q(q, InvalidNetworkError),
            epsilon=require_epsilon(epsilon),
            nodes=require_labels(nodes, len(out_sums), InvalidNetworkError),
            simulated=simulated,
        )

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.out_degree)

    @property
    def scale(self) -> float:
        """sensitivity / epsilon, in weight units."""
        return bidegree_sensitivity(self.q) / self.epsilon

    @property
    def noise_variance(self) -> float:
        """tau, the variance of the noise of one degree, in squared weight units."""
        return discrete_laplace_variance(self.scale)

    def __repr__(self) -> str:
        size = f"n={self.n}, q={self.q}, epsilon={self.epsilon:g}"
        made = "a simulation, not a private release" if self.simulated else "no record of a release"
        return f"NoisyBiDegree({size}; {made})"


def require_epsilon(epsilon: object) -> float:
    """A privacy loss: a finite number, at least 1e-6.

    Raises
    ------
    InvalidPrivacyError
        If epsilon is not positive and finite, or so small that noise drowns every digit.
    TypeError
        If it is no number.

    Examples
    --------
    >>> require_epsilon(-1.0)
    Traceback (most recent call last):
    p0sim.errors.InvalidPrivacyError: epsilon must be positive and finite; got -1.0
    """
    if isinstance(epsilon, bool | np.bool_) or not isinstance(epsilon, Real):
        raise TypeError(f"epsilon must be a number; got {epsilon!r}")
    value = float(epsilon)
    if not (value > 0 and math.isfinite(value)):
        raise InvalidPrivacyError(f"epsilon must be positive and finite; got {value}")
    if value < SMALLEST_EPSILON:
        raise InvalidPrivacyError(f"epsilon must be at least {SMALLEST_EPSILON:g}; got {value:g}")
    return value
