"""What a study of recommendations hides: held-out pairs, and one training graph without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from p0sim.arrays import FloatVector, IntVector, frozen, require_generator, require_real
from p0sim.errors import InvalidNetworkError, InvalidParametersError
from p0sim.linkpred.graphs import Graph
from p0sim.linkpred.scores import Protocol, require_positions, score_blocks

SHARE = 0.15
ENTRIES_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class Split:
    """Held-out pairs of every query, and the graph that is left to learn from.

    Attributes
    ----------
    training : Graph
        The full graph without any held-out edge, whichever query it was held out for.
    queries : ndarray of int, shape (m,)
        Positions of the query nodes.
    starts : ndarray of int, shape (m + 1,)
        Query k has the pairs ``starts[k]:starts[k + 1]``.
    candidates : ndarray of int, shape (pairs,)
        The other node of each held-out pair.
    relevant : ndarray of bool, shape (pairs,)
        Whether the pair is an edge of the full graph.
    """

    training: Graph
    queries: IntVector
    starts: IntVector
    candidates: IntVector
    relevant: NDArray[np.bool_]

    @property
    def n_relevant(self) -> IntVector:
        """Held-out edges of each query, shape (m,)."""
        before = np.concatenate([[0], np.cumsum(self.relevant)])
        return np.diff(before[self.starts]).astype(np.int64)

    def pairs(self, k: int) -> slice:
        """Where the pairs of query k stand."""
        return slice(int(self.starts[k]), int(self.starts[k + 1]))


def query_nodes(graph: Graph) -> IntVector:
    """Nodes in at least one triangle, in order.

    Examples
    --------
    >>> query_nodes(Graph([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]))
    array([0, 1, 2])
    """
    adjacency = graph.adjacency.astype(np.int64)
    closed = adjacency.multiply(adjacency @ adjacency).sum(axis=1)
    return np.flatnonzero(np.asarray(closed).ravel()).astype(np.int64)


def split(
    graph: Graph, queries: ArrayLike, share: float = SHARE, *, rng: np.random.Generator
) -> Split:
    """Hold out a share of each query's neighbours, and the same share of its non-neighbours.

    Parameters
    ----------
    graph : Graph
    queries : array_like of int, shape (m,)
        Positions of different nodes, such as :func:`query_nodes` gives.
    share : float
        Strictly between 0 and 1. Numbers are rounded down: at 0.15 a query with 6 neighbours or
        fewer has no relevant candidate.
    rng : numpy.random.Generator

    Returns
    -------
    Split
        An edge between two queries is held out where either of them holds it out; it is a candidate
        of that one alone.

    Raises
    ------
    InvalidParametersError
        If the share is out of range.
    InvalidNetworkError
        If a query is no position of a node, or stands twice.

    Notes
    -----
    The query itself is no candidate. Of the n - 1 - deg u non-neighbours and deg u neighbours each
    set of the asked size is equally likely, apart for each query.

    Examples
    --------
    >>> import networkx as nx
    >>> from p0sim.linkpred.graphs import as_graph
    >>> found = split(as_graph(nx.complete_graph(8)), [0], rng=np.random.default_rng(1))
    >>> found.n_relevant, found.training.n_edges
    (array([1]), 27)
    """
    positions, generator = _require_queries(graph, queries), require_generator(rng)
    if not 0 < require_real(share, "share") < 1:
        raise InvalidParametersError(f"share must lie strictly between 0 and 1; got {share}")
    blocks = list(_held_out(graph, positions, share, generator))
    lengths = np.concatenate([[0], *(block.lengths for block in blocks)])
    candidates = np.concatenate([np.empty(0, np.int64), *(block.candidates for block in blocks)])
    relevant = np.concatenate([np.empty(0, bool), *(block.relevant for block in blocks)])
    asked = np.repeat(positions, lengths[1:])
    training = _without(graph, asked[relevant], candidates[relevant])
    starts = np.cumsum(lengths)
    return Split(training, positions, frozen(starts), frozen(candidates), frozen(relevant))


def candidate_scores(protocol: str | Protocol, found: Split) -> FloatVector:
    """Scores of all held-out pairs, from the training graph alone.

    Parameters
    ----------
    protocol : str or Protocol
        As for :func:`~p0sim.linkpred.scores.score`.
    found : Split

    Returns
    -------
    ndarray, shape (pairs,)

    Examples
    --------
    >>> import networkx as nx
    >>> from p0sim.linkpred.graphs import as_graph
    >>> found = split(as_graph(nx.complete_graph(8)), [0], rng=np.random.default_rng(1))
    >>> candidate_scores("CN", found)
    array([6.])
    """
    scores, here = np.empty(len(found.candidates)), 0
    for block, rows in score_blocks(protocol, found.training, found.queries):
        lengths = np.diff(found.starts[here : here + len(block) + 1])
        pairs = slice(int(found.starts[here]), int(found.starts[here + len(block)]))
        scores[pairs] = rows[np.repeat(np.arange(len(block)), lengths), found.candidates[pairs]]
        here += len(block)
    return frozen(scores)


@dataclass(frozen=True, eq=False)
class _Block:
    lengths: IntVector
    candidates: IntVector
    relevant: NDArray[np.bool_]


def _held_out(
    graph: Graph, queries: IntVector, share: float, rng: np.random.Generator
) -> Iterator[_Block]:
    size = max(1, ENTRIES_AT_ONCE // max(1, graph.n))
    for start in range(0, len(queries), size):
        yield _held_out_of(graph, queries[start : start + size], share, rng)


def _held_out_of(
    graph: Graph, queries: IntVector, share: float, rng: np.random.Generator
) -> _Block:
    """Each row in a random order, neighbours first, the query last; then the first of each kind."""
    joined = graph.adjacency[queries].toarray().astype(bool)
    keys = rng.random(joined.shape) + ~joined
    keys[np.arange(len(queries)), queries] = np.inf
    order = np.argsort(keys, axis=1)
    degree = graph.degree[queries][:, np.newaxis]
    place = np.arange(graph.n)[np.newaxis, :]
    relevant = place < _floor(share, degree)
    others = (place >= degree) & (place < degree + _floor(share, graph.n - 1 - degree))
    taken = relevant | others
    return _Block(taken.sum(axis=1), order[taken], relevant[taken])


def _floor(share: float, count: IntVector) -> IntVector:
    # 0.15 * 20 is 3 to whoever wrote it, whatever the floats say
    return np.floor(np.round(share * count, 9)).astype(np.int64)


def _without(graph: Graph, i: IntVector, j: IntVector) -> Graph:
    ends = np.concatenate([i, j]), np.concatenate([j, i])
    hidden = sparse.coo_array((np.ones(2 * len(i), np.int64), ends), shape=(graph.n, graph.n))
    adjacency = graph.adjacency.astype(np.int64)
    # an edge that both of its ends hold out is counted twice
    left = adjacency - adjacency.multiply(hidden.tocsr() > 0)
    left.eliminate_zeros()
    return Graph(left, graph.nodes)


def _require_queries(graph: Graph, queries: ArrayLike) -> IntVector:
    positions = require_positions(graph, queries)
    if len(np.unique(positions)) < len(positions):
        raise InvalidNetworkError("queries must differ; got one twice")
    return positions
