"""The mechanisms of a release: how degrees are drawn, and the public numbers of each law.

Everything that can be refused is refused while a draw is prepared; a draw itself costs epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from p0sim.arrays import IntVector
from p0sim.errors import InvalidPrivacyError
from p0sim.model.bidegree import BiDegree
from p0sim.model.networks import Network
from p0sim.privacy.exact_laplace import exact_laplace, require_room
from p0sim.privacy.sensitivity import bidegree_sensitivity
from p0sim.validation import shown

Law: TypeAlias = Mapping[str, Any]
LAPLACE, EDGE_FLIP = "discrete_laplace", "edge_flip"
WORDS = 2**64


@dataclass(frozen=True, eq=False)
class Draw:
    """A release that is ready to be drawn.

    Attributes
    ----------
    mechanism : str
        As the record names it.
    law : mapping
        Its public numbers.
    make : callable
        Draws out-degrees and in-degrees; each call costs epsilon.
    """

    mechanism: str
    law: Law
    make: Callable[[], tuple[IntVector, IntVector]]


def prepare_laplace(network: Network | BiDegree, epsilon: Fraction) -> Draw:
    """Exact discrete Laplace noise on all 2n degrees as one vector, at one epsilon."""
    degrees = network.bidegree() if isinstance(network, Network) else network
    n, q = degrees.n, degrees.q
    if degrees.out_degree.dtype.kind != "i" or degrees.in_degree.dtype.kind != "i":
        raise TypeError(f"degrees must be whole numbers to be released; got {degrees!r}")
    noise = exact_laplace(2 * n, bidegree_sensitivity(q), epsilon)
    largest = (n - 1) * (q - 1)
    require_room(largest, noise.scale, 2 * n)

    def make() -> tuple[IntVector, IntVector]:
        both = np.concatenate([degrees.out_degree, degrees.in_degree])
        noisy = noise.add_to(both, largest)
        return noisy[:n], noisy[n:]

    return Draw(LAPLACE, laplace_law(q, noise.scale), make)


def prepare_edge_flip(network: Network | BiDegree, epsilon: Fraction) -> Draw:
    """Randomised response on the weight of every ordered pair."""
    from p0sim.privacy.secure_flip import flip_securely

    if not isinstance(network, Network):
        raise TypeError(f"edge_flip needs a Network, whose edges it flips; got {network!r}")
    law = edge_flip_law(network.q, epsilon)
    return Draw(EDGE_FLIP, law, lambda: flip_securely(network, epsilon))


PREPARE = {"laplace": prepare_laplace, "edge_flip": prepare_edge_flip}


def laplace_law(q: int, scale: float) -> Law:
    """Public numbers of the noise: P(k) = (1 - lambda)/(1 + lambda) lambda^|k|.

    Examples
    --------
    >>> laplace_law(3, 8.0)["effective_epsilon"]
    '1/2'
    """
    sensitivity = bidegree_sensitivity(q)
    return {
        "sensitivity": sensitivity,
        "scale": scale,
        "lambda": math.exp(-1 / scale),
        "effective_epsilon": str(Fraction(sensitivity) / Fraction(scale)),
    }


def edge_flip_law(q: int, epsilon: Fraction) -> Law:
    """Public numbers of the flips: the chance to keep a weight, and the logarithm of what is lost.

    Examples
    --------
    >>> Fraction(edge_flip_law(2, Fraction(1))["keep_probability"]) < 0.462118
    True
    """
    from p0sim.privacy.secure_flip import effective_loss, keep_words

    return {
        "keep_probability": f"{keep_words(epsilon, q)}/{WORDS}",
        "effective_epsilon": f"log({effective_loss(epsilon, q)})",
    }


def check_law(mechanism: str, law: Law, q: int, epsilon: Fraction) -> None:
    """Refuse a record whose numbers do not go together.

    Raises
    ------
    InvalidPrivacyError
        If the mechanism is unknown, or q and epsilon give another law.
    """
    expected: Law = {}
    if mechanism == EDGE_FLIP:
        expected = edge_flip_law(q, epsilon)
    elif mechanism == LAPLACE:
        expected = laplace_law(q, _scale(law, bidegree_sensitivity(q) / epsilon))
    else:
        raise InvalidPrivacyError(
            f"mechanism in release.json must be {LAPLACE} or {EDGE_FLIP}; got {shown(mechanism)}"
        )
    for name in sorted(expected):
        got, wanted = law.get(name), expected.get(name)
        if got != wanted and not _nearly(got, wanted):
            raise InvalidPrivacyError(
                f"{name} in release.json must be {wanted}, which q and epsilon give; "
                f"got {shown(got)}"
            )
    for name in sorted(set(law).difference(expected)):
        raise InvalidPrivacyError(
            f"release.json must not hold {shown(name)}, which {mechanism} does not have; "
            f"got {shown(law[name])}"
        )


def _scale(law: Law, least: Fraction) -> float:
    """The recorded scale, if it is the exact one or a few floats above."""
    scale = law.get("scale")
    if isinstance(scale, float) and math.isfinite(scale) and 0 <= scale - least <= least / 2**48:
        return scale
    raise InvalidPrivacyError(
        f"scale in release.json must be {float(least):g}, which q and epsilon give; "
        f"got {shown(scale)}"
    )


def _nearly(got: object, wanted: object) -> bool:
    """Whether two floats agree but for the last digits, which machines compute differently."""
    floats = isinstance(got, float) and isinstance(wanted, float)
    return floats and math.isclose(got, wanted, rel_tol=1e-14)  # type: ignore[arg-type]
