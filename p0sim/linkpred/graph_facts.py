"""Figures that describe a graph: average degree, clustering, diameter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from p0sim.linkpred.graphs import Graph


def average_degree(graph: Graph) -> float:
    """Edges that end at a node, on average: 2E/n."""
    return 2 * graph.n_edges / graph.n


def clustering(graph: Graph) -> float:
    """Global transitivity: closed paths of two edges as a share of all.

    Examples
    --------
    >>> clustering(Graph([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]))
    0.6
    """
    adjacency = graph.adjacency.astype(np.int64)
    closed = int(adjacency.multiply(adjacency @ adjacency).sum())
    paths = int((graph.degree * (graph.degree - 1)).sum())
    return closed / paths if paths else 0.0


def diameter(graph: Graph) -> float:
    """Longest of all shortest paths; inf where some nodes are not connected.

    Every node's set of nodes within t steps grows by one step at a time, as bits.

    Examples
    --------
    >>> diameter(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    2.0
    """
    if graph.n > 1 and not graph.degree.all():
        return math.inf
    within = _packed(np.eye(graph.n, dtype=bool))
    everybody = _packed(np.ones((1, graph.n), dtype=bool))
    steps = 0
    while not (within == everybody).all():
        wider = within | _of_neighbours(graph, within)
        if (wider == within).all():
            return math.inf
        within, steps = wider, steps + 1
    return float(steps)


def _packed(sets: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Sets of nodes, one a row, as words of 64 bits."""
    return np.packbits(np.pad(sets, ((0, 0), (0, -sets.shape[1] % 64))), axis=1).view(np.uint64)


def _of_neighbours(graph: Graph, sets: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Union of the neighbours' sets, for nodes that all have one."""
    adjacency = graph.adjacency
    return np.bitwise_or.reduceat(sets[adjacency.indices], adjacency.indptr[:-1], axis=0)
