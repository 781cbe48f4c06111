"""Rules that arcs keep, whatever they were read from: weights, labels, loops, pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import IntVector
from p0sim.errors import InvalidNetworkError

WHOLE_NUMBER = re.compile(r"\+?([0-9]+)(\.0*)?")


def sort_labels(labels: Iterable[str]) -> list[str]:
    """Labels in reading order: whole numbers by size, anything else by letter.

    Examples
    --------
    >>> sort_labels(["10", "9", "1"]), sort_labels(["b", "10", "a"])
    (['1', '9', '10'], ['10', 'a', 'b'])
    """
    plain = list(labels)
    numeric = all(label.isascii() and label.isdigit() for label in plain)
    return sorted(plain, key=_by_size if numeric else None)


def _by_size(label: str) -> tuple[int, str, str]:
    """Sort key of a whole number of any length."""
    digits = label.lstrip("0")
    return len(digits), digits, label


def labels_of(values: Sequence[Any] | NDArray[Any], place: Callable[[int], str]) -> NDArray[Any]:
    """Node ids as text; a missing or empty one is refused."""
    import pandas as pd

    given = np.empty(len(values), dtype=object)
    given[:] = values
    labels = np.array([str(value) for value in given], dtype=object)
    missing = np.flatnonzero(pd.isna(given) | (labels == ""))
    if len(missing):
        k = int(missing[0])
        raise InvalidNetworkError(f"node must have a label; got {given[k]!r} {place(k)}")
    return labels


def positions_of(
    ends: NDArray[Any], position: dict[str, int], place: Callable[[int], str]
) -> IntVector:
    """Positions of node ids in the node list; one that is not there is refused."""
    found = np.array([position.get(end, -1) for end in ends], dtype=np.int64)
    unknown = np.flatnonzero(found < 0)
    if len(unknown):
        k = unknown[0]
        raise InvalidNetworkError(f"node must be in the node list; got {ends[k]!r} {place(k)}")
    return found


def refuse_loops(
    i: IntVector,
    j: IntVector,
    labels: Sequence[str],
    place: Callable[[int], str] = lambda k: "on the diagonal",
) -> None:
    """Refuse an arc from a node to itself."""
    loops = np.flatnonzero(i == j)
    if len(loops):
        k = int(loops[0])
        raise InvalidNetworkError(
            f"network must have no self-loop; got one from {labels[i[k]]} to itself {place(k)}"
        )


def refuse_twice(i: IntVector, j: IntVector, n: int, place: Callable[[int], str]) -> None:
    """Refuse an ordered pair that stands more than once."""
    pair = i * n + j
    order = np.argsort(pair, kind="stable")
    twice = np.flatnonzero(np.diff(pair[order]) == 0)
    if len(twice):
        first, second = order[twice[0]], order[twice[0] + 1]
        raise InvalidNetworkError(
            f"each pair must stand once; got one {place(first)} and again {place(second)}"
        )


def whole_weights(values: NDArray[Any], q: int, place: Callable[[int], str]) -> IntVector:
    """Weights as int64, each a whole number in 0..q-1; text such as "1" or "1.0" will do.

    Raises
    ------
    InvalidNetworkError
        Naming the first value that is not, and its place.
    """
    whole, is_whole = _to_integers(values)
    wrong = np.flatnonzero(~is_whole | (whole < 0) | (whole > q - 1))
    if len(wrong):
        value = str(values[wrong[0]])
        raise InvalidNetworkError(
            f"weight must be a whole number in 0..q-1 = {q - 1}; got {value!r} {place(wrong[0])}"
        )
    return whole


def _to_integers(values: NDArray[Any]) -> tuple[IntVector, NDArray[np.bool_]]:
    """Values as int64 beside a mask of those that really were whole numbers."""
    if values.dtype.kind in "bi":
        return values.astype(np.int64), np.ones(values.shape, dtype=bool)
    if values.dtype.kind == "u":
        return values.astype(np.int64), np.asarray(values <= np.iinfo(np.int64).max)
    if values.dtype.kind == "f":
        # beyond 2**53 neighbouring whole numbers share one float: not exact, so not accepted
        whole = (np.abs(values) <= 2.0**53) & (values == np.round(values))
        return np.where(whole, values, 0).astype(np.int64), np.asarray(whole)
    matches = [WHOLE_NUMBER.fullmatch(str(value)) for value in values]
    numbers = [int(m[1]) if m and len(m[1]) < 19 else -1 for m in matches]
    return np.array(numbers, dtype=np.int64), np.array([m is not None for m in matches], dtype=bool)
