"""Arcs as they were written, and the rules they keep: labels, loops, pairs that stand once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import IntVector
from p0sim.errors import InvalidNetworkError
from p0sim.model.arc_weights import whole_numbers, whole_weights, written

Place = Callable[[int], str]


class Wishes(TypedDict, total=False):
    """What a caller asks for instead of a refusal; nothing where left out."""

    clip: bool
    sum_duplicates: bool


@dataclass(frozen=True, eq=False)
class Arcs:
    """Arcs as a file, frame or graph has them: nothing checked yet.

    `place` says in words where arc k stands; `nodes` are all nodes, where the source names them.
    """

    source: NDArray[Any]
    target: NDArray[Any]
    weight: NDArray[Any]
    place: Place
    nodes: Sequence[str] | None = None


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


def objects(values: Iterable[Any]) -> NDArray[Any]:
    """A one-dimensional object array, whatever the values are.

    Examples
    --------
    >>> objects([(1, 2), (3, 4)]).shape
    (2,)
    """
    listed = list(values)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def distinct_ends(arcs: Arcs) -> tuple[IntVector, IntVector, list[str]]:
    """Sources and targets as positions in the list of different labels found, and that list.

    Raises
    ------
    InvalidNetworkError
        If a label is missing or empty, or a column of labels is neither text nor whole numbers.
    """
    (source, sources), (target, targets) = (
        _distinct_labels(end, arcs.place) for end in (arcs.source, arcs.target)
    )
    found = list(dict.fromkeys([*sources, *targets]))
    return positions_in(found, sources)[source], positions_in(found, targets)[target], found


def _distinct_labels(values: NDArray[Any], place: Place) -> tuple[IntVector, list[str]]:
    """Different ids of a column as text, exactly as written, and which of them each row has."""
    import pandas as pd

    mixed = values.dtype.kind == "O" and pd.api.types.infer_dtype(values, skipna=False) != "string"
    # 1 and 1.0 are equal, but not the same text
    codes, found = pd.factorize(objects(map(_text, values)) if mixed else values)
    labels = [_text(value) for value in found.tolist()]
    empty = [code for code, label in enumerate(labels) if label == ""]
    missing = np.flatnonzero(np.isin(codes, [-1, *empty]))
    if len(missing):
        k = int(missing[0])
        raise InvalidNetworkError(f"node must have a label; got {written(values[k])} {place(k)}")
    if values.dtype.kind not in "iuOUST" and len(values):
        raise InvalidNetworkError(
            f"node ids must be text or whole numbers; got {written(values[0])} {place(0)}"
        )
    return codes.astype(np.int64), labels


def _text(value: Any) -> str:
    import pandas as pd

    return "" if pd.api.types.is_scalar(value) and pd.isna(value) else str(value)


def positions_in(labels: Sequence[str], found: Sequence[str]) -> IntVector:
    """Position in `labels` of each label found, -1 where it is not there."""
    position = {label: k for k, label in enumerate(labels)}
    return np.array([position.get(label, -1) for label in found], dtype=np.int64)


def refuse_unknown(ends: IntVector, values: NDArray[Any], place: Place) -> None:
    """Refuse an arc whose end is not in the node list: its position there is -1."""
    unknown = np.flatnonzero(ends < 0)
    if len(unknown):
        k = int(unknown[0])
        raise InvalidNetworkError(
            f"node must be in the node list; got {written(str(values[k]))} {place(k)}"
        )


def refuse_loops(
    i: IntVector,
    j: IntVector,
    labels: Sequence[str],
    place: Place = lambda k: "on the diagonal",
) -> None:
    """Refuse an arc from a node to itself."""
    loops = np.flatnonzero(i == j)
    if len(loops):
        k = int(loops[0])
        raise InvalidNetworkError(
            f"network must have no self-loop; got one from {labels[i[k]]} to itself {place(k)}"
        )


def refuse_twice(i: IntVector, j: IntVector, n: int, place: Place) -> None:
    """Refuse an ordered pair that stands more than once."""
    pair = i * n + j
    if (np.diff(np.sort(pair)) == 0).any():
        order = np.argsort(pair, kind="stable")
        twice = np.flatnonzero(np.diff(pair[order]) == 0)
        first, second = (int(k) for k in order[twice[0] : twice[0] + 2])
        raise InvalidNetworkError(
            f"each pair must stand once; got one {place(first)} and again {place(second)} "
            "(sum_duplicates adds them up)"
        )


def summed(
    i: IntVector, j: IntVector, weight: IntVector, q: int, n: int, place: Place, *, clip: bool
) -> tuple[IntVector, IntVector, IntVector]:
    """Each pair once, with the sum of its weights.

    With `clip` the weights may be any whole numbers, and it is their sum that moves to the nearer
    end of 0..q-1: 5 and -4 are 1.

    Raises
    ------
    InvalidNetworkError
        If a sum is above q-1 and is not to be clipped; two rows of the pair are named.
    """
    pairs, code = np.unique(i * n + j, return_inverse=True)
    total = _totals(code, weight, len(pairs))
    above = np.flatnonzero(np.asarray(total > q - 1, dtype=bool))
    if len(above) and not clip:
        rows = np.flatnonzero(code == above[0])
        raise InvalidNetworkError(
            f"weights of one pair must sum to at most q-1 = {q - 1}; got {total[above[0]]}, "
            f"first {place(int(rows[0]))}, last {place(int(rows[-1]))}"
        )
    return pairs // n, pairs % n, np.clip(total, 0, q - 1).astype(np.int64)


def _totals(code: IntVector, weight: IntVector, count: int) -> NDArray[Any]:
    """Sums by code, exact: in Python integers where int64 might wrap round."""
    largest = int(abs(weight).max(initial=0)) * len(weight)
    total = np.zeros(count, dtype=np.int64 if largest < 2**63 else object)
    np.add.at(total, code, weight.astype(total.dtype))
    return total


def settled(
    i: IntVector,
    j: IntVector,
    values: NDArray[Any],
    q: int,
    n: int,
    place: Place,
    **wishes: Unpack[Wishes],
) -> tuple[IntVector, IntVector, IntVector]:
    """Arcs between known nodes with their rules kept: each pair once, weights in 0..q-1.

    Raises
    ------
    InvalidNetworkError
        Naming the first weight or pair that breaks a rule, and its place.
    """
    clip = wishes.get("clip", False)
    if wishes.get("sum_duplicates"):
        weight = whole_numbers(values, place) if clip else whole_weights(values, q, place)
        return summed(i, j, weight, q, n, place, clip=clip)
    weight = whole_weights(values, q, place, clip=clip)
    refuse_twice(i, j, n, place)
    return i, j, weight
