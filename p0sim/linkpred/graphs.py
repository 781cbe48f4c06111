"""Undirected graphs without weights: what link prediction starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from p0sim.arrays import IntVector, fill, frozen
from p0sim.errors import InvalidNetworkError
from p0sim.linkpred.graph_edges import (
    Edges,
    adjacency_of,
    edges_of_file,
    edges_of_frame,
    edges_of_graph,
    edges_of_matrix,
)
from p0sim.model.edge_files import read_labels
from p0sim.model.networks import Network
from p0sim.validation import suggestion


@dataclass(frozen=True, eq=False, init=False)
class Graph:
    """An undirected graph without self-loops.

    Parameters
    ----------
    adjacency : array_like or sparse matrix, shape (n, n)
        Symmetric, not 0 where two nodes are joined; the diagonal is 0.
    nodes : sequence of str, optional
        Labels, in order; "1".."n" where none are given.
    source : Path, optional
        The file that it came from.

    Attributes
    ----------
    adjacency : scipy.sparse.csr_array of int8, shape (n, n)
        1 where two nodes are joined, indices sorted. Products of int8 wrap round at 128: turn it
        into floats before multiplying.

    Raises
    ------
    InvalidNetworkError
        If the matrix is not square, not symmetric, has a self-loop or a negative weight.

    Examples
    --------
    >>> graph = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> graph, graph.degree, graph.neighbours(1)
    (Graph(n=3, edges=2), array([1, 2, 1]), array([0, 2]))
    """

    adjacency: sparse.csr_array
    nodes: tuple[str, ...]
    source: Path | None

    def __init__(
        self, adjacency: Any, nodes: Sequence[str] | None = None, *, source: Path | None = None
    ) -> None:
        edges = edges_of_matrix(adjacency, nodes)
        matrix = adjacency_of(edges, symmetrise=False)
        fill(self, adjacency=matrix, nodes=edges.nodes, source=source)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.adjacency.nnz) // 2

    @cached_property
    def degree(self) -> IntVector:
        """Number of neighbours of each node, shape (n,)."""
        return frozen(np.diff(self.adjacency.indptr).astype(np.int64))

    def neighbours(self, u: int) -> IntVector:
        """Positions of the nodes joined to u, in order."""
        start, end = self.adjacency.indptr[u : u + 2]
        return self.adjacency.indices[start:end].astype(np.int64)

    def candidates(self, u: int) -> IntVector:
        """Positions of the nodes that may be recommended to u: neither u nor joined to it."""
        free = np.ones(self.n, dtype=bool)
        free[u] = False
        free[self.neighbours(u)] = False
        return np.flatnonzero(free)

    def position(self, label: str) -> int:
        """Position of a node, counted from 0.

        Raises
        ------
        InvalidNetworkError
            If no node has this label.
        """
        found = self._positions.get(str(label))
        if found is None:
            raise InvalidNetworkError(
                f"node must be in the graph; got {label!r}{suggestion(str(label), self.nodes)}"
            )
        return found

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {label: k for k, label in enumerate(self.nodes)}

    def __repr__(self) -> str:
        return f"Graph(n={self.n}, edges={self.n_edges})"


def read_graph(
    path: str | Path,
    nodes: str | Path | Sequence[str] | None = None,
    *,
    symmetrise: bool = False,
) -> Graph:
    r"""Read an undirected graph.

    Parameters
    ----------
    path : str or Path
        As for :func:`p0sim.read_network`; GraphML may have edgedefault="undirected".

        A row of a table is an edge, whichever end comes first. A table where every edge stands in
        both directions with one weight is the same graph written twice. Anything between is
        directed, and refused: a pair in both directions beside one in one direction only, a pair
        with two weights, GraphML with edgedefault="directed" that is not symmetric. A table in
        which no pair stands in both directions cannot be told from an undirected one.

        An edge is there where the weight, a whole number, is positive; the weight itself is not
        used.
    nodes : path or sequence of str, optional
        All node labels in order, or a text file with one a line. Without it the nodes are those of
        the graph, or those that occur in the table.
    symmetrise : bool
        Join two nodes where an arc leads either way instead of refusing a directed graph.

    Returns
    -------
    Graph
        Its ``source`` is the file.

    Raises
    ------
    InvalidNetworkError
        If the file cannot be read, is directed, or an edge breaks a rule; the row is named.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "friends.csv"
    >>> _ = path.write_text("source,target\nann,bob\ncy,bob\n")
    >>> read_graph(path).nodes
    ('ann', 'bob', 'cy')
    """
    path = Path(path)
    labels = read_labels(nodes) if isinstance(nodes, str | Path) else nodes
    edges = edges_of_file(path, labels)
    return Graph(adjacency_of(edges, symmetrise), edges.nodes, source=path.resolve())


def as_graph(graph: Any, nodes: Sequence[str] | None = None, *, symmetrise: bool = False) -> Graph:
    """A Graph from an array, sparse matrix, data frame, networkx graph or Network.

    Parameters
    ----------
    graph : Graph, Network, array_like, sparse matrix, DataFrame or networkx.Graph
        A frame is an edge list, read as :func:`read_graph` reads a table, or a square adjacency
        whose index and columns hold the same labels. Of a networkx graph the edges are taken,
        their attributes are not. Positive weights are edges; the weights are not used.
    nodes : sequence of str, optional
        All node labels, in order.
    symmetrise : bool
        Join two nodes where an arc leads either way instead of refusing a directed graph.

    Returns
    -------
    Graph

    Raises
    ------
    InvalidNetworkError
        If the graph is directed, or an edge breaks a rule; the place is named.
    TypeError
        If the kind of input is not one of those above.

    Examples
    --------
    >>> import networkx as nx
    >>> as_graph(nx.path_graph(4))
    Graph(n=4, edges=3)
    >>> as_graph([[0, 1], [0, 0]])
    Traceback (most recent call last):
    p0sim.errors.InvalidNetworkError: graph must be undirected; got an edge from 1 to 2 \
without the same back (--symmetrise, or symmetrise=True, joins nodes where an arc leads either way)
    """
    if isinstance(graph, Graph):
        return graph if nodes is None else Graph(graph.adjacency, nodes, source=graph.source)
    edges = _edges(graph, nodes)
    return Graph(adjacency_of(edges, symmetrise), edges.nodes)


def _edges(graph: Any, nodes: Sequence[str] | None) -> Edges:
    kind = type(graph).__module__.split(".")[0]
    if isinstance(graph, Network):
        return edges_of_matrix(graph.weights, graph.nodes if nodes is None else nodes)
    if kind == "networkx":
        return edges_of_graph(graph, nodes)
    if kind == "pandas":
        return edges_of_frame(graph, nodes)
    if sparse.issparse(graph) or isinstance(graph, np.ndarray | list | tuple):
        return edges_of_matrix(graph, nodes)
    hint = "; read a file with read_graph" if isinstance(graph, str | Path) else ""
    raise TypeError(
        "graph must be an array, sparse matrix, data frame or networkx.Graph; "
        f"got {type(graph).__name__}{hint}"
    )
