"""The bi-degree sequence: each node's total weight sent and received."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from p0sim.arrays import fill, require_labels, require_n, require_q
from p0sim.errors import InvalidNetworkError

LARGEST_INTEGER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False, init=False)
class BiDegree:
    """Row and column sums of a weighted adjacency matrix.

    Parameters
    ----------
    out_degree, in_degree : array_like, shape (n,)
        Total weight sent and received; integers of a network, or real expectations of a model.
    q : int
        Weights lie in 0..q-1.
    nodes : sequence of str, optional
        Labels, in order; "1".."n" where none are given.
    source : Path, optional
        The file that the network came from.
    nodes_given : bool
        Whether somebody said which nodes there are; False where they were read off the arcs, as
        the number of degrees then tells of the arcs.
    clipped : bool
        Whether weights outside 0..q-1 were to be moved to its ends, if there were any.

    Raises
    ------
    InvalidNetworkError
        If shapes differ, n < 3, a degree is not finite or lies outside 0..(n-1)(q-1), or
        (n-1)(q-1) is not below 2^62.

    Examples
    --------
    >>> BiDegree([3, 1, 2], [2, 2, 2], q=3, nodes=["ann", "bob", "cy"])
    BiDegree(n=3, q=3, total=6)
    """

    out_degree: NDArray[np.int64] | NDArray[np.float64]
    in_degree: NDArray[np.int64] | NDArray[np.float64]
    q: int
    nodes: tuple[str, ...]
    source: Path | None
    nodes_given: bool
    clipped: bool

    def __init__(
        self,
        out_degree: ArrayLike,
        in_degree: ArrayLike,
        q: int,
        nodes: Sequence[str] | None = None,
        *,
        source: Path | None = None,
        nodes_given: bool = True,
        clipped: bool = False,
    ) -> None:
        out_sums, in_sums = degree_arrays(out_degree, in_degree)
        q = require_q(q, InvalidNetworkError)
        top = largest_degree(len(out_sums), q)
        _require_range("out_degree", out_sums, top)
        _require_range("in_degree", in_sums, top)
        labels = require_labels(nodes, len(out_sums), InvalidNetworkError)
        fill(self, out_degree=out_sums, in_degree=in_sums, q=q, nodes=labels)
        fill(self, source=source, nodes_given=nodes_given, clipped=clipped)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.out_degree)

    def __repr__(self) -> str:
        return f"BiDegree(n={self.n}, q={self.q}, total={self.out_degree.sum():.10g})"


def largest_degree(n: int, q: int) -> int:
    """(n-1)(q-1), the degree of a node whose arcs are all at the top.

    Raises
    ------
    InvalidNetworkError
        If it is not below 2^62: sums, and noise on them, must stay exact in 64-bit integers.
    """
    top = (n - 1) * (q - 1)
    if top >= 2**62:
        raise InvalidNetworkError(f"(n-1)(q-1) must be below 2^62; got n = {n} and q = {q}")
    return top


def degree_arrays(out_degree: ArrayLike, in_degree: ArrayLike) -> tuple[NDArray, NDArray]:  # type: ignore[type-arg]
    """Two read-only degree vectors of one length, as int64 where they are whole numbers.

    Raises
    ------
    InvalidNetworkError
        If they are not finite numbers, have not one dimension, or differ in length; n < 3.
    """
    out_sums = _degree_vector("out_degree", out_degree)
    in_sums = _degree_vector("in_degree", in_degree)
    if out_sums.shape != in_sums.shape:
        raise InvalidNetworkError(
            f"out_degree and in_degree must have one length; got {len(out_sums)}, {len(in_sums)}"
        )
    require_n(len(out_sums), InvalidNetworkError)
    return out_sums, in_sums


def shared_index(pair: tuple[ArrayLike, ArrayLike]) -> tuple[str, ...] | None:
    """Labels of two pandas Series; None where the pair carries none.

    Raises
    ------
    InvalidNetworkError
        If the two do not have the same labels in the same order.
    """
    import pandas as pd

    indexes = [part.index for part in pair if isinstance(part, pd.Series)]
    if not indexes or all(isinstance(index, pd.RangeIndex) for index in indexes):
        return None
    if len(indexes) == 2 and not indexes[0].equals(indexes[1]):
        raise InvalidNetworkError("out_degree and in_degree must have the same labels in one order")
    return tuple(str(label) for label in indexes[0])


def _degree_vector(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidNetworkError(f"{name} must be an array of numbers; got nested lists") from None
    kind = array.dtype.kind
    if kind not in "iuf":
        raise InvalidNetworkError(f"{name} must hold numbers; got dtype {array.dtype}")
    if array.ndim != 1:
        raise InvalidNetworkError(f"{name} must have one dimension; got shape {array.shape}")
    if kind == "u" and array.size and array.max() > LARGEST_INTEGER:
        raise InvalidNetworkError(f"{name} must be below 2^63; got {array.max()}")
    if kind == "f" and not np.isfinite(array).all():
        raise InvalidNetworkError(f"{name} must be finite; got {array[~np.isfinite(array)][0]}")
    sums = array.astype(np.float64 if kind == "f" else np.int64)
    sums.setflags(write=False)
    return sums


def _require_range(name: str, sums: NDArray[np.int64], top: int) -> None:
    wrong = (sums < 0) | (sums > top)
    if np.count_nonzero(wrong):
        first = int(np.argmax(wrong))
        raise InvalidNetworkError(
            f"{name} must lie in 0..(n-1)(q-1) = {top}; got {sums[first]} at {first + 1}"
        )
