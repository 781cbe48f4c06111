"""Edges as people write them, and the symmetric adjacency that they make.

Whether a graph is directed is said by its kind (networkx, GraphML) or told from its arcs: an arc
without the same back. An edge list alone may name each edge once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from p0sim.arrays import IntVector, label_tuple, require_labels
from p0sim.errors import InvalidNetworkError
from p0sim.model.arc_sources import arcs_of_frame
from p0sim.model.arc_weights import whole_weights, written
from p0sim.model.arcs import (
    Arcs,
    Place,
    distinct_ends,
    objects,
    positions_in,
    refuse_loops,
    refuse_unknown,
    sort_labels,
)
from p0sim.model.edge_columns import edge_columns
from p0sim.model.edge_files import arcs_of_file
from p0sim.model.graph_files import edges_of_graphml

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Edges:
    """Rows and columns of what joins two nodes, and its weight: all positive, none a loop.

    `listed_once` says whether one direction may stand for both.
    """

    i: IntVector
    j: IntVector
    weight: NDArray[np.float64]
    nodes: tuple[str, ...]
    place: Place
    listed_once: bool


def edges_of_file(path: Path, nodes: Sequence[str] | None) -> Edges:
    """Edges of a table, or of a GraphML graph that says itself whether it is directed."""
    if path.name.lower().endswith((".graphml", ".graphml.gz")):
        arcs, directed = edges_of_graphml(path)
        return edges_of_arcs(arcs, nodes, listed_once=not directed)
    arcs = arcs_of_file(path)
    if nodes is None and not len(arcs.source):
        raise InvalidNetworkError(f"file must hold an edge, or nodes be given; got {path}")
    return edges_of_arcs(arcs, nodes, listed_once=True)


def edges_of_frame(frame: pd.DataFrame, nodes: Sequence[str] | None) -> Edges:
    """Edges of an edge list, or of a square adjacency with one list of labels."""
    columns = edge_columns(list(frame.columns))
    if columns is not None:
        return edges_of_arcs(arcs_of_frame(frame, columns), nodes, listed_once=True)
    rows, names = [str(v) for v in frame.index], [str(v) for v in frame.columns]
    if rows != names:
        raise InvalidNetworkError(
            "a frame must have columns source, target, or the same labels as index and columns; "
            f"got columns {', '.join(names[:6])}"
        )
    return edges_of_matrix(frame.to_numpy(), rows if nodes is None else nodes)


def edges_of_graph(graph: Any, nodes: Sequence[str] | None) -> Edges:
    """Edges of a networkx graph, directed ones as arcs."""
    if graph.is_multigraph():
        raise InvalidNetworkError(
            f"graph must be a networkx.Graph; got {type(graph).__name__} "
            "(networkx.Graph(graph) joins parallel edges)"
        )
    pairs = list(graph.edges())
    source, target = (objects(pair[k] for pair in pairs) for k in (0, 1))
    ones = np.ones(len(pairs), dtype=np.int64)
    place = _between(source, target)
    arcs = Arcs(source, target, ones, place, [str(node) for node in graph.nodes])
    return edges_of_arcs(arcs, nodes, listed_once=not graph.is_directed())


def edges_of_matrix(matrix: Any, nodes: Sequence[str] | None) -> Edges:
    """Entries of a square matrix that are not 0."""
    square = _square(matrix)
    labels = require_labels(nodes, square.shape[0], InvalidNetworkError)
    i, j = (end.astype(np.int64) for end in square.coords)
    names = objects(labels)
    place = _between(names[i], names[j])
    refuse_loops(i[square.data != 0], j[square.data != 0], labels)
    return _positive(i, j, square.data, labels, place, listed_once=False)


def edges_of_arcs(arcs: Arcs, nodes: Sequence[str] | None, *, listed_once: bool) -> Edges:
    """Edges from arcs as they were written.

    Raises
    ------
    InvalidNetworkError
        If an edge has an unknown node, starts and ends at one node, stands twice in one direction,
        or its weight is no whole number of at least 0; where it stands is said.
    """
    sources, targets, found = distinct_ends(arcs)
    labels = _labels(arcs, found, nodes)
    position = positions_in(labels, found)
    i, j = position[sources], position[targets]
    refuse_unknown(i, arcs.source, arcs.place)
    refuse_unknown(j, arcs.target, arcs.place)
    refuse_loops(i, j, labels, arcs.place)
    _refuse_twice(i, j, len(labels), arcs.place)
    return _positive(i, j, arcs.weight, labels, arcs.place, listed_once=listed_once)


def adjacency_of(edges: Edges, symmetrise: bool) -> sparse.csr_array:
    """The symmetric adjacency, 1 where two nodes are joined.

    Raises
    ------
    InvalidNetworkError
        If the edges are arcs and nobody asked for them to be made symmetric.
    """
    n = len(edges.nodes)
    arcs = sparse.csr_array((edges.weight, (edges.i, edges.j)), shape=(n, n))
    if not symmetrise and not _is_one_way(arcs, edges):
        _refuse_arcs(arcs, edges)
    joined = sparse.csr_array((arcs + arcs.T) > 0).astype(np.int8)
    joined.sort_indices()
    return joined


def _is_one_way(arcs: sparse.csr_array, edges: Edges) -> bool:
    """Whether each edge is named once, which an edge list may do."""
    return edges.listed_once and arcs.multiply(arcs.T).nnz == 0


def _refuse_arcs(arcs: sparse.csr_array, edges: Edges) -> None:
    back = arcs.T.tocsr()[edges.i, edges.j]
    alone = np.flatnonzero(np.asarray(back).ravel() != edges.weight)
    if len(alone):
        k = int(alone[0])
        ends = f"from {edges.nodes[edges.i[k]]} to {edges.nodes[edges.j[k]]}"
        where = edges.place(k)
        raise InvalidNetworkError(
            f"graph must be undirected; got an edge {ends}{'' if where == ends else f' {where}'} "
            "without the same back (--symmetrise, or symmetrise=True, joins nodes where an arc "
            "leads either way)"
        )


def _labels(arcs: Arcs, found: Sequence[str], nodes: Sequence[str] | None) -> tuple[str, ...]:
    """All nodes in order: those given, else those of a graph, else those found, sorted."""
    named = sort_labels(found) if arcs.nodes is None else arcs.nodes
    labels = label_tuple(named if nodes is None else nodes)
    left_out = set(arcs.nodes or ()).difference(labels)
    if left_out:
        raise InvalidNetworkError(f"node must be in the node list; got {min(left_out)!r}")
    return require_labels(labels, len(labels), InvalidNetworkError)


def _positive(
    i: IntVector,
    j: IntVector,
    values: NDArray[Any],
    nodes: tuple[str, ...],
    place: Place,
    *,
    listed_once: bool,
) -> Edges:
    """The edges whose weight is above 0, once every weight is a whole number and none below."""
    whole_weights(values, 2, place, clip=True)
    weight = values.astype(np.float64)
    below = np.flatnonzero(weight < 0)
    if len(below):
        k = int(below[0])
        raise InvalidNetworkError(
            f"weight of an edge must be at least 0; got {written(values[k])} {place(k)}"
        )
    kept = np.flatnonzero(weight)

    def kept_place(k: int) -> str:
        return place(int(kept[k]))

    return Edges(i[kept], j[kept], weight[kept], nodes, kept_place, listed_once)


def _square(matrix: Any) -> sparse.coo_array:
    array: Any = matrix if sparse.issparse(matrix) else _numbers(matrix)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InvalidNetworkError(f"graph must be a square matrix; got shape {array.shape}")
    return sparse.coo_array(array)


def _numbers(matrix: Any) -> NDArray[Any]:
    try:
        array = np.asarray(matrix)
    except ValueError:
        raise InvalidNetworkError("graph must be a square matrix; got ragged rows") from None
    if array.dtype.kind not in "biuf" or np.ma.is_masked(matrix):
        raise InvalidNetworkError(f"graph must hold numbers, none masked; got dtype {array.dtype}")
    return array


def _between(source: NDArray[Any], target: NDArray[Any]) -> Place:
    return lambda k: f"from {source[k]} to {target[k]}"


def _refuse_twice(i: IntVector, j: IntVector, n: int, place: Place) -> None:
    order = np.argsort(i * n + j, kind="stable")
    twice = np.flatnonzero(np.diff((i * n + j)[order]) == 0)
    if len(twice):
        first, second = (int(k) for k in order[twice[0] : twice[0] + 2])
        raise InvalidNetworkError(
            f"each edge must stand once; got one {place(first)} and again {place(second)}"
        )
