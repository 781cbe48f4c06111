"""Weighted directed networks, and reading them from what people have.

Weights are checked once, here: whole numbers in 0..q-1, no self-loop, no pair twice. Labels are
kept as written. q is always said by the caller, never read off the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from p0sim.arrays import (
    IntMatrix,
    fill,
    label_tuple,
    require_labels,
    require_n,
    require_q,
)
from p0sim.errors import InvalidNetworkError
from p0sim.model.arcs import (
    labels_of,
    positions_of,
    refuse_loops,
    refuse_twice,
    sort_labels,
    whole_weights,
)
from p0sim.model.bidegree import BiDegree

if TYPE_CHECKING:
    import pandas as pd

EDGE_COLUMNS = ("source", "target", "weight")


@dataclass(frozen=True, eq=False, init=False)
class Network:
    """A weighted directed network without self-loops.

    Parameters
    ----------
    weights : array_like or sparse matrix, shape (n, n)
        Entry (i, j) is the weight of the arc from i to j, in 0..q-1; the diagonal is 0.
    q : int
        Weights lie in 0..q-1.
    nodes : sequence of str, optional
        Labels, in order; "1".."n" where none are given.

    Raises
    ------
    InvalidNetworkError
        If the matrix is not square, n < 3, a weight is out of range or on the diagonal.

    Examples
    --------
    >>> net = Network([[0, 1, 2], [1, 0, 0], [0, 2, 0]], q=3)
    >>> net.bidegree().out_degree
    array([3, 1, 2])
    """

    weights: sparse.csr_array
    q: int
    nodes: tuple[str, ...]

    def __init__(self, weights: Any, q: int, nodes: Sequence[str] | None = None) -> None:
        q = require_q(q, InvalidNetworkError)
        arcs: Any = weights if sparse.issparse(weights) else _dense(weights)
        arcs = sparse.coo_array(arcs)
        if arcs.ndim != 2 or arcs.shape[0] != arcs.shape[1]:
            raise InvalidNetworkError(f"network must be a square matrix; got shape {arcs.shape}")
        n = require_n(arcs.shape[0], InvalidNetworkError)
        labels = require_labels(nodes, n, InvalidNetworkError)
        fill(self, weights=_checked(arcs, q, labels), q=q, nodes=labels)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    def bidegree(self) -> BiDegree:
        """Row and column sums, exact in 64-bit integers."""
        return BiDegree(
            np.asarray(self.weights.sum(axis=1, dtype=np.int64)).ravel(),
            np.asarray(self.weights.sum(axis=0, dtype=np.int64)).ravel(),
            self.q,
            self.nodes,
        )

    def toarray(self) -> IntMatrix:
        """The adjacency matrix, shape (n, n)."""
        dense: IntMatrix = self.weights.toarray()
        return dense

    def __repr__(self) -> str:
        return f"Network(n={self.n}, q={self.q}, arcs={self.weights.nnz})"


def as_network(network: Any, q: int | None = None, nodes: Sequence[str] | None = None) -> Network:
    """A Network from an array, sparse matrix, data frame or networkx.DiGraph.

    Parameters
    ----------
    network : Network, array_like, sparse matrix, DataFrame or networkx.DiGraph
        A frame is either an edge list with columns source, target and (optionally) weight, or a
        square adjacency whose index and columns hold the same labels. A graph gives its edge
        attribute "weight", 1 where it has none.
    q : int
        Weights lie in 0..q-1; may be left out for a Network, which knows it.
    nodes : sequence of str, optional
        All node labels, in order. Without it an edge list's nodes are those that occur, whole
        numbers by size and other labels by letter; nodes without arcs are then unknown.

    Returns
    -------
    Network

    Raises
    ------
    InvalidNetworkError
        If a weight, a pair or a label breaks a rule; the place is named.
    TypeError
        If the kind of input is not one of those above, or q is missing.

    Examples
    --------
    >>> import networkx as nx
    >>> as_network(nx.DiGraph([("a", "b"), ("b", "c")]), q=2)
    Network(n=3, q=2, arcs=2)
    """
    if isinstance(network, Network):
        return _same_network(network, q, nodes)
    if q is None:
        raise TypeError("q must be given: weights lie in 0..q-1; it is never read off the data")
    kind = type(network).__module__.split(".")[0]
    if kind == "networkx":
        return _from_graph(network, q, nodes)
    if kind == "pandas":
        return _from_frame(network, q, nodes)
    if sparse.issparse(network) or isinstance(network, np.ndarray | list | tuple):
        return Network(network, q, nodes)
    hint = "; read a file with read_network" if isinstance(network, str | Path) else ""
    raise TypeError(
        "network must be an array, sparse matrix, data frame or networkx.DiGraph; "
        f"got {type(network).__name__}{hint}"
    )


def bidegree(network: Any, q: int | None = None, nodes: Sequence[str] | None = None) -> BiDegree:
    """The bi-degree sequence of a network.

    Parameters
    ----------
    network, q, nodes
        As for :func:`as_network`.

    Returns
    -------
    BiDegree
        Out-degrees are row sums, in-degrees column sums, as exact 64-bit integers.

    Raises
    ------
    InvalidNetworkError, TypeError
        As for :func:`as_network`.

    Examples
    --------
    >>> bidegree([[0, 1, 0], [2, 0, 1], [0, 0, 0]], q=3).in_degree
    array([2, 1, 1])
    """
    return as_network(network, q, nodes).bidegree()


def from_arcs(
    source: Sequence[str] | NDArray[Any],
    target: Sequence[str] | NDArray[Any],
    weight: NDArray[Any],
    q: int,
    nodes: Sequence[str] | None = None,
    place: Callable[[int], str] = lambda k: f"in row {k + 1}",
) -> Network:
    """A Network from three columns; `place` says in words where arc k stands.

    Raises
    ------
    InvalidNetworkError
        If an arc has an unknown node, starts and ends at one node, stands twice, or its weight is
        no whole number in 0..q-1.
    """
    q = require_q(q, InvalidNetworkError)
    ends = labels_of(source, place), labels_of(target, place)
    found = set(ends[0]) | set(ends[1])
    labels = label_tuple(sort_labels(found) if nodes is None else nodes)
    n = require_n(len(labels), InvalidNetworkError)
    require_labels(labels, n, InvalidNetworkError)
    position = {label: k for k, label in enumerate(labels)}
    i, j = (positions_of(end, position, place) for end in ends)
    weights = whole_weights(weight, q, place)
    refuse_loops(i, j, labels, place)
    refuse_twice(i, j, n, place)
    arcs: Any = (weights, (i, j))
    return Network(sparse.coo_array(arcs, shape=(n, n)), q, labels)


def _checked(arcs: Any, q: int, labels: Sequence[str]) -> Any:
    """Entries of a square sparse matrix as CSR of int64, once they keep the rules of arcs."""
    i, j = (end.astype(np.int64) for end in arcs.coords)

    def place(k: int) -> str:
        return f"from {labels[i[k]]} to {labels[j[k]]}"

    weight = whole_weights(arcs.data, q, place)
    refuse_twice(i, j, len(labels), place)
    kept = weight > 0
    refuse_loops(i[kept], j[kept], labels)
    return sparse.csr_array((weight[kept], (i[kept], j[kept])), shape=arcs.shape)


def _dense(weights: Any) -> NDArray[Any]:
    if np.ma.is_masked(weights):
        raise InvalidNetworkError("network must have no masked entry; fill them in or leave them 0")
    try:
        array = np.asarray(weights)
    except ValueError:
        raise InvalidNetworkError("network must be a square matrix; got ragged rows") from None
    if array.ndim != 2:
        raise InvalidNetworkError(f"network must be a square matrix; got shape {array.shape}")
    if array.dtype.kind not in "biufO":
        raise InvalidNetworkError(f"network must hold numbers; got dtype {array.dtype}")
    if array.dtype.kind == "O":
        whole = whole_weights(array.ravel(), 2**62, lambda k: f"at entry {k + 1}")
        return whole.reshape(array.shape)
    return array


def _same_network(network: Network, q: int | None, nodes: Sequence[str] | None) -> Network:
    if q is not None and q != network.q:
        raise InvalidNetworkError(f"q must be the network's own {network.q}; got {q}")
    if nodes is not None and tuple(nodes) != network.nodes:
        raise InvalidNetworkError("nodes must be the network's own labels in their order")
    return network


def _from_graph(graph: Any, q: int, nodes: Sequence[str] | None) -> Network:
    if not graph.is_directed() or graph.is_multigraph():
        raise InvalidNetworkError(
            f"network must be a networkx.DiGraph; got {type(graph).__name__} "
            "(graph.to_directed() makes an undirected graph's arcs explicit)"
        )
    arcs = list(graph.edges(data="weight", default=1))
    labels = [str(node) for node in graph.nodes] if nodes is None else nodes
    source, target, weight = zip(*arcs, strict=True) if arcs else ((), (), ())
    values = np.empty(len(arcs), dtype=object)
    values[:] = weight

    def place(k: int) -> str:
        return f"from {source[k]} to {target[k]}"

    return from_arcs(source, target, values, q, labels, place)


def _from_frame(frame: pd.DataFrame, q: int, nodes: Sequence[str] | None) -> Network:
    names = [str(name).lower() for name in frame.columns]
    if not {"source", "target"} <= set(names):
        return _from_square_frame(frame, q, nodes)
    require_single_columns(names)
    source, target = (frame.iloc[:, names.index(end)].to_numpy() for end in ("source", "target"))
    if "weight" in names:
        weight = frame.iloc[:, names.index("weight")].to_numpy()
    else:
        weight = np.ones(len(frame), dtype=np.int64)
    return from_arcs(source, target, weight, q, nodes)


def require_single_columns(names: Sequence[str]) -> None:
    """Refuse a table that has a column of an edge list twice."""
    for name in EDGE_COLUMNS:
        if names.count(name) > 1:
            raise InvalidNetworkError(f"column {name} must stand once; got {names.count(name)}")


def _from_square_frame(frame: pd.DataFrame, q: int, nodes: Sequence[str] | None) -> Network:
    rows, columns = [str(v) for v in frame.index], [str(v) for v in frame.columns]
    if rows != columns:
        raise InvalidNetworkError(
            "a frame must have columns source, target, weight, or the same labels as index and "
            f"columns; got columns {', '.join(columns[:6])}"
        )
    network = Network(frame.to_numpy(), q, rows)
    if nodes is None:
        return network
    arcs = network.weights.tocoo()
    labels = np.array(rows, dtype=object)
    return from_arcs(labels[arcs.coords[0]], labels[arcs.coords[1]], arcs.data, q, nodes)
