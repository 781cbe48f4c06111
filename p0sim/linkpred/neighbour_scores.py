"""Scores of the neighbours that two nodes share: common neighbours, Jaccard, Adamic-Adar.

One edge (v, w) with neither end at the query u: N(u) and deg u stay as they are. In a row the
entries of u itself and of its neighbours follow the same formula; nobody recommends them.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from p0sim.arrays import FloatMatrix, FloatVector, IntVector
from p0sim.linkpred.graphs import Graph


def common_neighbours(graph: Graph, queries: IntVector) -> FloatMatrix:
    """Number of neighbours that the query and each node share, abs(N(u) & N(v)).

    Sensitivity 1, derived here: with w in N(u) the edge (v, w) adds w to what u and v share, and
    nothing else; between two nodes outside N(u) it changes nothing. All changes are rises.

    Parameters
    ----------
    graph : Graph
    queries : ndarray of int, shape (m,)

    Returns
    -------
    ndarray, shape (m, n)

    Examples
    --------
    >>> common_neighbours(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), np.array([0]))
    array([[1., 0., 1.]])
    """
    return _shared(graph, queries, np.ones(graph.n))


def jaccard(graph: Graph, queries: IntVector) -> FloatMatrix:
    """Share of neighbours in common, abs(N(u) & N(v)) / abs(N(u) or N(v)).

    0 where both nodes have no neighbour: nothing speaks for joining two isolated nodes.

    Sensitivity 1/deg u for a query, so 1 over all queries, reached by deg u = 1. Derived here: with
    w in N(u) the edge (v, w) adds one to the intersection and leaves the union, of at least deg u
    nodes, as it is. With w outside N(u) it adds one to the union: c/U falls to c/(U + 1), by
    c/(U (U + 1)) <= 1/(deg u + 1), for one candidate or, between two, for both. So all scores of
    a query move the same way.

    Parameters
    ----------
    graph : Graph
    queries : ndarray of int, shape (m,)

    Returns
    -------
    ndarray, shape (m, n)
        In 0..1.

    Examples
    --------
    >>> jaccard(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), np.array([0]))
    array([[1., 0., 1.]])
    """
    common = common_neighbours(graph, queries)
    union = graph.degree[queries, np.newaxis] + graph.degree - common
    return np.divide(common, union, out=common, where=union > 0)


def adamic_adar(graph: Graph, queries: IntVector) -> FloatMatrix:
    """Shared neighbours weighed by rarity, sum over common w of 1/log abs(N(w)).

    A neighbour that two different nodes share has degree 2 at least, so that no logarithm is 0.
    For the query itself, neighbours of degree 1 count nothing.

    Sensitivity 1/log 2, derived here: with w in N(u) the edge (v, w) adds 1/log(deg w + 1) to the
    score of v, at most 1/log 2 and reached by deg w = 1; it lowers each other score that w
    contributes to by 1/log(deg w) - 1/log(deg w + 1), at most 1/log 2 - 1/log 3.

    Parameters
    ----------
    graph : Graph
    queries : ndarray of int, shape (m,)

    Returns
    -------
    ndarray, shape (m, n)

    References
    ----------
    .. [1] Adamic, L. A. and Adar, E., Friends and neighbors on the Web, Social Networks 25, 2003,
       211-230.

    Examples
    --------
    >>> adamic_adar(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), np.array([0])).round(4)
    array([[1.4427, 0.    , 1.4427]])
    """
    shared = graph.degree >= 2
    rarity = np.zeros(graph.n)
    rarity[shared] = 1 / np.log(graph.degree[shared])
    return _shared(graph, queries, rarity)


def _shared(graph: Graph, queries: IntVector, weight: FloatVector) -> FloatMatrix:
    """Sum of a weight over the neighbours in common."""
    adjacency = graph.adjacency.astype(np.float64)
    rows: FloatMatrix = (adjacency[queries] @ sparse.diags_array(weight) @ adjacency).toarray()
    return rows
