"""What is public about a list of recommendations before it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log
from numbers import Integral, Real

from p0sim.errors import InvalidParametersError, InvalidPrivacyError

# derived in p0sim.linkpred.privacy_loss
PROVED = {"CN": 1.0, "JC": 1.0, "AA": 1 / log(2)}


@dataclass(frozen=True)
class Query:
    """What is public about a list, and what one edge does to the scores behind it.

    Attributes
    ----------
    k, m : int
        Length of the list and number of candidates, 1 <= k <= m.
    protocol : str
        Name of the score. For CN, JC and AA the sensitivity is proved.
    degree : int or None
        Of the query node, which is the same in all neighbouring graphs; None where not known.
    declared : float or None
        Sensitivity of any other score, taken on trust; None where no bound is known.
    one_direction : bool
        Whether one edge moves all values of that other score the same way; on trust too.

    Raises
    ------
    TypeError
        If k is no whole number.
    InvalidParametersError
        If k, m or the degree is out of range.
    InvalidPrivacyError
        If the declared sensitivity is not positive and finite.
    """

    k: int
    m: int
    protocol: str = "AA"
    degree: int | None = None
    declared: float | None = None
    one_direction: bool = False

    def __post_init__(self) -> None:
        require_length(self.k, self.m)
        if self.degree is not None and self.degree < 0:
            raise InvalidParametersError(f"degree must not be negative; got {self.degree}")
        if self.declared is not None:
            require_positive(self.declared, "sensitivity")

    @property
    def draws(self) -> int:
        """Draws that can tell something: the last candidate left tells nothing."""
        return min(self.k, self.m - 1)

    @property
    def sensitivity(self) -> float | None:
        """The most that one edge moves one score, over all queries; None where unknown."""
        return PROVED.get(self.protocol, self.declared)

    @property
    def ways(self) -> int:
        """How often a draw can feel the largest change of a weight, see privacy_loss."""
        return 1 if self.one_direction or self.protocol in PROVED else 2

    @property
    def settled(self) -> bool:
        """Whether no list can depend on an edge that is not at the query."""
        return self.m == 1 or (self.degree == 0 and self.protocol in PROVED)


def require_length(k: int, m: int) -> None:
    """A list of 1 to m of the m candidates."""
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise TypeError(f"k must be a whole number; got {k!r}")
    if k < 1:
        raise InvalidParametersError(f"k must be at least 1; got {k}")
    if m < 1:
        raise InvalidParametersError("a list needs a candidate; got none")
    if k > m:
        raise InvalidParametersError(f"k must be at most {m}, the number of candidates; got {k}")


def require_positive(value: float, name: str) -> float:
    """A positive finite number, or a refusal that names it."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {value!r}")
    if not (value > 0 and isfinite(value)):
        raise InvalidPrivacyError(f"{name} must be positive and finite; got {value}")
    return float(value)
