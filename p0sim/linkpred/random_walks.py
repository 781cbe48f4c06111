"""Random walks of Node2Vec: how far a walk strays is set by two weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import IntMatrix, IntVector, require_generator
from p0sim.errors import InvalidParametersError
from p0sim.linkpred.graphs import Graph

STOPPED = -1


def biased_walks(
    graph: Graph,
    walks: int,
    length: int,
    p: float = 1.0,
    q: float = 1.0,
    *,
    rng: np.random.Generator,
) -> IntMatrix:
    """Second-order random walks, several from every node.

    The chance of the next node x, of the neighbours of the node at hand, is proportional to 1/p
    where x is the node before, to 1 where x is joined to the node before, to 1/q elsewhere [1]_,
    section 3.2. All walks go on together: each proposes a neighbour uniformly and keeps it with
    the chance that its weight has of the largest, until all have moved, which gives that law.

    Parameters
    ----------
    graph : Graph
    walks : int
        Walks from each node.
    length : int
        Nodes of a walk, the first one included.
    p, q : float
        Return and in-out parameters, positive.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (walks * n, length)
        Positions of nodes; -1 after the first where it has no neighbour.

    Raises
    ------
    InvalidParametersError
        If a number is not positive.

    References
    ----------
    .. [1] Grover, A. and Leskovec, J., node2vec: Scalable feature learning for networks, KDD 2016.

    Examples
    --------
    >>> pair = Graph([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> biased_walks(pair, 1, 3, rng=np.random.default_rng(1))
    array([[ 0,  1,  0],
           [ 1,  0,  1],
           [ 2, -1, -1]])
    """
    require_generator(rng)
    for name, value in (("walks", walks), ("length", length), ("p", p), ("q", q)):
        if not value > 0:
            raise InvalidParametersError(f"{name} must be positive; got {value}")
    steps = np.full((walks * graph.n, length), STOPPED, dtype=np.int64)
    steps[:, 0] = np.tile(np.arange(graph.n), walks)
    moving = np.flatnonzero(graph.degree[steps[:, 0]])
    for t in range(1, length):
        before = None if t == 1 else steps[moving, t - 2]
        steps[moving, t] = _next(graph, steps[moving, t - 1], before, p, q, rng)
    return steps


def _next(
    graph: Graph,
    here: IntVector,
    before: IntVector | None,
    p: float,
    q: float,
    rng: np.random.Generator,
) -> IntVector:
    """One step of every walk."""
    chosen = _uniform_neighbours(graph, here, rng)
    if before is None or p == q == 1:
        return chosen
    largest = max(1 / p, 1.0, 1 / q)
    open_ = np.arange(len(here))
    while len(open_):
        chosen[open_] = _uniform_neighbours(graph, here[open_], rng)
        weight = _weights(graph, before[open_], chosen[open_], p, q)
        open_ = open_[rng.random(len(open_)) * largest >= weight]
    return chosen


def _uniform_neighbours(graph: Graph, here: IntVector, rng: np.random.Generator) -> IntVector:
    start = graph.adjacency.indptr[here]
    chosen = graph.adjacency.indices[start + rng.integers(graph.degree[here])]
    return np.asarray(chosen, dtype=np.int64)


def _weights(
    graph: Graph, before: IntVector, chosen: IntVector, p: float, q: float
) -> NDArray[np.float64]:
    joined = np.asarray(graph.adjacency[before, chosen]).ravel() > 0
    return np.where(chosen == before, 1 / p, np.where(joined, 1.0, 1 / q))
