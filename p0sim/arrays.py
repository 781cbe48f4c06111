"""Array aliases and the checks that stand at the package's doors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from p0sim.errors import InvalidParametersError, P0SimError

FloatVector: TypeAlias = NDArray[np.float64]
FloatMatrix: TypeAlias = NDArray[np.float64]
IntVector: TypeAlias = NDArray[np.int64]
IntMatrix: TypeAlias = NDArray[np.int64]

MIN_NODES = 3
LARGEST_Q = 2**41


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only copy of an array; the caller's array stays writable."""
    copy = np.array(array)
    copy.setflags(write=False)
    return copy


def fill(record: object, **fields: object) -> None:
    """Set the fields of a frozen record from its own __init__, after they were checked."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def require_q(q: object, error: type[P0SimError] = InvalidParametersError) -> int:
    """The number of weight levels as an int of at least 2.

    Examples
    --------
    >>> require_q(3)
    3
    >>> require_q(1)
    Traceback (most recent call last):
    p0sim.errors.InvalidParametersError: q must be at least 2; got 1
    """
    levels = _require_whole(q, "q")
    if levels < 2:
        raise error(f"q must be at least 2; got {levels}")
    if levels > LARGEST_Q:
        raise error(f"q must be at most 2**41, so that degrees stay exact; got {levels}")
    return levels


def require_n(n: object, error: type[P0SimError] = InvalidParametersError) -> int:
    """The number of nodes as an int of at least 3: with two nodes V is singular."""
    nodes = _require_whole(n, "n")
    if nodes < MIN_NODES:
        raise error(f"n must be at least {MIN_NODES}; got {nodes}")
    return nodes


def _require_whole(value: object, name: str) -> int:
    # asking for an abstract type takes ten times as long, and studies ask a million times
    if type(value) is int:
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number; got {value!r}")
    return int(value)


def require_real(value: object, name: str) -> float:
    """A finite real number as a float; bool is not a number here."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {value!r}")
    if not math.isfinite(value):
        raise InvalidParametersError(f"{name} must be finite; got {value}")
    return float(value)


def require_vector(values: object, name: str) -> FloatVector:
    """A finite one-dimensional array of floats."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers; got {values!r}") from None
    if vector.ndim != 1:
        raise InvalidParametersError(f"{name} must have one dimension; got shape {vector.shape}")
    if not np.isfinite(vector).all():
        bad = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise InvalidParametersError(f"{name} must be finite; got {vector[bad]} at {bad + 1}")
    return vector


def require_level(level: object) -> float:
    """A confidence level strictly between 0 and 1."""
    value = require_real(level, "level")
    if not 0 < value < 1:
        raise InvalidParametersError(f"level must lie strictly between 0 and 1; got {value:g}")
    return value


def require_choice(value: str, name: str, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in choices:
        raise InvalidParametersError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
    return value


def require_generator(rng: object) -> np.random.Generator:
    """A numpy Generator: nothing seeded may fall back to a global state."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator; got {type(rng).__name__}")
    return rng


class Labels(tuple[str, ...]):
    """Node labels that passed their checks: records hand them on without checking again."""

    __slots__ = ()


@lru_cache(maxsize=8)
def default_labels(n: int) -> Labels:
    """Node labels where none are given: "1".."n".

    Examples
    --------
    >>> default_labels(3)
    ('1', '2', '3')
    """
    return Labels(str(i) for i in range(1, n + 1))


def label_tuple(nodes: object) -> tuple[str, ...]:
    """Node labels as text, in the order given; a set has no order and is refused."""
    if isinstance(nodes, str | bytes | Set) or not isinstance(nodes, Iterable):
        raise TypeError(f"nodes must be a list of labels; got {type(nodes).__name__}")
    return tuple(str(node) for node in nodes)


def require_labels(
    nodes: object, n: int, error: type[P0SimError] = InvalidParametersError
) -> Labels:
    """Labels of n nodes, as given but as text; each one different and not empty."""
    if nodes is None:
        return default_labels(n)
    if isinstance(nodes, Labels) and len(nodes) == n:
        return nodes
    labels = label_tuple(nodes)
    if len(labels) != n:
        raise error(f"nodes must name each of the {n} nodes once; got {len(labels)} labels")
    if len(set(labels)) != n:
        twice = next(label for label in labels if labels.count(label) > 1)
        raise error(f"nodes must be different; got {twice!r} twice")
    if "" in labels:
        raise error("nodes must not be empty text; got ''")
    return Labels(labels)
