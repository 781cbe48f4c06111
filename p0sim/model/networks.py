"""Weighted directed networks, and making them from what people have.

Weights are checked once, here: whole numbers in 0..q-1, no self-loop, no pair twice. Labels are
kept as written. q is always said by the caller, never read off the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
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
from p0sim.model.arc_sources import arcs_of_frame, arcs_of_graph
from p0sim.model.arcs import (
    Arcs,
    Wishes,
    distinct_ends,
    objects,
    positions_in,
    refuse_loops,
    refuse_unknown,
    settled,
    sort_labels,
)
from p0sim.model.bidegree import BiDegree, largest_degree
from p0sim.model.edge_columns import edge_columns
from p0sim.model.matrices import Entries, matrix_entries

if TYPE_CHECKING:
    import pandas as pd


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
    source : Path, optional
        The file that it came from.
    nodes_given : bool
        Whether somebody said which nodes there are; False where they were read off the arcs.
    clipped : bool
        Whether weights outside 0..q-1 were to be moved to its ends, if there were any.

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
    source: Path | None
    nodes_given: bool
    clipped: bool

    def __init__(
        self,
        weights: Any,
        q: int,
        nodes: Sequence[str] | None = None,
        *,
        source: Path | None = None,
        nodes_given: bool = True,
        clipped: bool = False,
    ) -> None:
        q = require_q(q, InvalidNetworkError)
        entries = matrix_entries(weights)
        largest_degree(entries.n, q)
        labels = require_labels(nodes, entries.n, InvalidNetworkError)
        fill(self, weights=_settled_matrix(entries, q, labels), q=q, nodes=labels)
        fill(self, source=source, nodes_given=nodes_given, clipped=clipped)

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
            source=self.source,
            nodes_given=self.nodes_given,
            clipped=self.clipped,
        )

    def toarray(self) -> IntMatrix:
        """The adjacency matrix, shape (n, n)."""
        dense: IntMatrix = self.weights.toarray()
        return dense

    def __repr__(self) -> str:
        return f"Network(n={self.n}, q={self.q}, arcs={self.weights.nnz})"


def as_network(
    network: Any,
    q: int | None = None,
    nodes: Sequence[str] | None = None,
    *,
    clip: bool = False,
    sum_duplicates: bool = False,
) -> Network:
    """A Network from an array, sparse matrix, data frame or networkx.DiGraph.

    Parameters
    ----------
    network : Network, array_like, sparse matrix, DataFrame or networkx.DiGraph
        A frame is either an edge list with columns source, target and weight (without weight, and
        without other columns, every weight is 1), or a square adjacency whose index and columns
        hold the same labels. A graph gives its edge attribute "weight", 1 where no edge has one.
    q : int
        Weights lie in 0..q-1; may be left out for a Network, which knows it.
    nodes : sequence of str, optional
        All node labels, in order. Without it an edge list's nodes are those that occur, whole
        numbers by size and other labels by letter; nodes without arcs are then unknown.
    clip : bool
        Move whole-number weights outside 0..q-1 to the nearer end instead of refusing them. That
        it was asked for is recorded on the network; how often it happened is not.
    sum_duplicates : bool
        Add up the weights of a pair that stands more than once instead of refusing it. A sum above
        q-1 is refused; with `clip` weights are added up first, then their sum is clipped.

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
        return _same_network(network, q, nodes, clip=clip)
    if q is None:
        raise TypeError("q must be given: weights lie in 0..q-1; it is never read off the data")
    q = require_q(q, InvalidNetworkError)
    wishes: Wishes = {"clip": clip, "sum_duplicates": sum_duplicates}
    kind = type(network).__module__.split(".")[0]
    if kind == "networkx":
        return from_arcs(arcs_of_graph(network, parallel=sum_duplicates), q, nodes, **wishes)
    if kind == "pandas":
        return _from_frame(network, q, nodes, **wishes)
    if sparse.issparse(network) or isinstance(network, np.ndarray | list | tuple):
        return _from_matrix(network, q, nodes, **wishes)
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
    arcs: Arcs,
    q: int,
    nodes: Sequence[str] | None = None,
    source: Path | None = None,
    **wishes: Unpack[Wishes],
) -> Network:
    """A Network from arcs as they were written.

    Raises
    ------
    InvalidNetworkError
        If an arc has an unknown node, starts and ends at one node, stands twice, or its weight is
        no whole number in 0..q-1; where the arc stands is said.
    """
    q = require_q(q, InvalidNetworkError)
    sources, targets, found = distinct_ends(arcs)
    labels = _labels(arcs, found, nodes)
    n = len(labels)
    position = positions_in(labels, found)
    i, j = position[sources], position[targets]
    refuse_unknown(i, arcs.source, arcs.place)
    refuse_unknown(j, arcs.target, arcs.place)
    refuse_loops(i, j, labels, arcs.place)
    i, j, weight = settled(i, j, arcs.weight, q, n, arcs.place, **wishes)
    matrix = sparse.coo_array((weight, (i, j)), shape=(n, n))
    given, clipped = nodes is not None, wishes.get("clip", False)
    return Network(matrix, q, labels, source=source, nodes_given=given, clipped=clipped)


def _labels(arcs: Arcs, found: Sequence[str], nodes: Sequence[str] | None) -> tuple[str, ...]:
    """All nodes in order: those given, else those of a graph, else those found, sorted."""
    named = sort_labels(found) if arcs.nodes is None else arcs.nodes
    labels = label_tuple(named if nodes is None else nodes)
    n = require_n(len(labels), InvalidNetworkError)
    left_out = set(arcs.nodes or ()).difference(labels)
    if left_out:
        raise InvalidNetworkError(
            "node list must hold every node of the graph, those without an edge too; "
            f"got one without {min(left_out)!r}"
        )
    return require_labels(labels, n, InvalidNetworkError)


def _settled_matrix(
    entries: Entries, q: int, labels: Sequence[str], **wishes: Unpack[Wishes]
) -> sparse.csr_array:
    """Entries of a matrix as CSR of int64, once they keep the rules of arcs."""
    i, j, value, n = entries

    def place(k: int) -> str:
        return f"from {labels[i[k]]} to {labels[j[k]]}"

    i, j, weight = settled(i, j, value, q, n, place, **wishes)
    kept = weight > 0
    refuse_loops(i[kept], j[kept], labels)
    return sparse.csr_array((weight[kept], (i[kept], j[kept])), shape=(n, n))


def _from_matrix(
    weights: Any, q: int, nodes: Sequence[str] | None, **wishes: Unpack[Wishes]
) -> Network:
    entries = matrix_entries(weights)
    labels = require_labels(nodes, entries.n, InvalidNetworkError)
    matrix = _settled_matrix(entries, q, labels, **wishes)
    return Network(matrix, q, labels, clipped=wishes.get("clip", False))


def _same_network(
    network: Network, q: int | None, nodes: Sequence[str] | None, *, clip: bool
) -> Network:
    if q is not None and q != network.q:
        raise InvalidNetworkError(f"q must be the network's own {network.q}; got {q}")
    if nodes is not None and label_tuple(nodes) != network.nodes:
        raise InvalidNetworkError("nodes must be the network's own labels in their order")
    given = network.nodes_given or nodes is not None
    if (given, clip or network.clipped) == (network.nodes_given, network.clipped):
        return network
    return replace(network, nodes_given=given, clipped=clip or network.clipped)


def _from_frame(
    frame: pd.DataFrame, q: int, nodes: Sequence[str] | None, **wishes: Unpack[Wishes]
) -> Network:
    columns = edge_columns(list(frame.columns))
    if columns is None:
        return _from_square_frame(frame, q, nodes, **wishes)
    return from_arcs(arcs_of_frame(frame, columns), q, nodes, **wishes)


def _from_square_frame(
    frame: pd.DataFrame, q: int, nodes: Sequence[str] | None, **wishes: Unpack[Wishes]
) -> Network:
    rows, columns = [str(v) for v in frame.index], [str(v) for v in frame.columns]
    if rows != columns:
        raise InvalidNetworkError(
            "a frame must have columns source, target, weight, or the same labels as index and "
            f"columns; got columns {', '.join(columns[:6])}"
        )
    network = _from_matrix(frame.to_numpy(), q, rows, **wishes)
    if nodes is None:
        return network
    matrix, labels = network.weights.tocoo(), objects(rows)
    source, target = (labels[end] for end in matrix.coords)
    arcs = Arcs(source, target, matrix.data, lambda k: f"from {source[k]} to {target[k]}", rows)
    return from_arcs(arcs, q, nodes, clip=network.clipped)
