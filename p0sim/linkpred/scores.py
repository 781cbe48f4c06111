"""Base scores of link prediction by name, and rows of them for many queries at once.

A score uses the graph it is given and nothing else: the caller decides which edges that graph
holds. Neighbouring graphs differ in one edge that is not at the query; a sensitivity is the most
that one such edge changes one score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from p0sim.arrays import FloatMatrix, IntVector
from p0sim.errors import InvalidNetworkError, InvalidParametersError
from p0sim.linkpred.graphs import Graph
from p0sim.linkpred.neighbour_scores import adamic_adar, common_neighbours, jaccard
from p0sim.linkpred.query import PROVED, require_positive
from p0sim.linkpred.walk_scores import katz, superposed_random_walk
from p0sim.validation import one_of

ScoreFunction: TypeAlias = Callable[..., FloatMatrix]

ENTRIES_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class Protocol:
    """A base score.

    Attributes
    ----------
    name : str
    function : callable
        ``function(graph, queries, **parameters)``: float rows, shape (len(queries), n), finite and
        not negative. Row k holds the scores of all nodes for query k; those of the query itself
        and of its neighbours are not used.
    sensitivity : float or None
        The most by which one edge that is not at the query changes one score; None where no bound
        is known.
    one_direction : bool
        Whether one edge moves all scores of a query the same way, so that a draw pays for a rise
        or for falls but not for both. True for AA too, though an edge raises one score there and
        lowers others, for the reason told in :mod:`p0sim.linkpred.privacy_loss`.
    parameters : mapping
        Names of further arguments of the function and what they are unless given.
    """

    name: str
    function: ScoreFunction
    sensitivity: float | None = None
    one_direction: bool = False
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __repr__(self) -> str:
        return f"Protocol({self.name!r}, sensitivity={self.sensitivity})"


BUILT_IN = {
    protocol.name: protocol
    for protocol in (
        Protocol("CN", common_neighbours, PROVED["CN"], True),
        Protocol("JC", jaccard, PROVED["JC"], True),
        Protocol("AA", adamic_adar, PROVED["AA"], True),
        Protocol("CRW", superposed_random_walk, parameters={"length": 3}),
        Protocol("katz", katz, parameters={"beta": 0.01}),
    )
}
_registered: dict[str, Protocol] = {}


def score(
    protocol: str | Protocol, graph: Graph, queries: ArrayLike, **parameters: Any
) -> FloatMatrix:
    """Scores of all nodes for some queries.

    Parameters
    ----------
    protocol : str or Protocol
        "CN", "JC", "AA", "CRW", "katz", a name that was registered, or the protocol itself.
    graph : Graph
    queries : array_like of int
        Positions of the query nodes, counted from 0.
    **parameters
        Of the protocol: ``length`` of CRW, ``beta`` of katz.

    Returns
    -------
    ndarray, shape (len(queries), n)
        8 bytes for each query and node; :func:`score_blocks` gives some rows at a time.

    Raises
    ------
    InvalidParametersError
        If no protocol has this name, it has no such parameter, or its scores are negative, not
        finite or of another shape.
    InvalidNetworkError
        If a query is no position of a node.

    Examples
    --------
    >>> from p0sim.linkpred.graphs import Graph
    >>> path = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> score("AA", path, [0]).round(4)
    array([[1.4427, 0.    , 1.4427]])
    """
    positions = require_positions(graph, queries)
    rows = np.empty((len(positions), graph.n))
    start = 0
    for block, scores in score_blocks(protocol, graph, positions, **parameters):
        rows[start : start + len(block)] = scores
        start += len(block)
    return rows


def score_blocks(
    protocol: str | Protocol, graph: Graph, queries: ArrayLike, **parameters: Any
) -> Iterator[tuple[IntVector, FloatMatrix]]:
    """Scores as :func:`score` has them, for some queries at a time.

    Yields
    ------
    queries : ndarray of int
        The next queries, so many that their scores take about 32 MiB.
    scores : ndarray, shape (len(queries), n)
    """
    found, positions = find_protocol(protocol), require_positions(graph, queries)
    settings = {**found.parameters, **_known(found, parameters)}
    size = max(1, ENTRIES_AT_ONCE // max(1, graph.n))
    for start in range(0, len(positions), size):
        block = positions[start : start + size]
        yield block, _checked(found, found.function(graph, block, **settings), len(block), graph.n)


def find_protocol(protocol: str | Protocol) -> Protocol:
    """The protocol of a name; a protocol is its own.

    Raises
    ------
    InvalidParametersError
        If no protocol has this name; the nearest is told.
    """
    if isinstance(protocol, Protocol):
        return protocol
    known = BUILT_IN | _registered
    if protocol not in known:
        raise InvalidParametersError(f"protocol must be {one_of(str(protocol), known)}")
    return known[protocol]


def register_protocol(
    name: str,
    function: ScoreFunction,
    sensitivity: float | None = None,
    *,
    one_direction: bool = False,
) -> Protocol:
    """Add a score under a name of one's own.

    Parameters
    ----------
    name : str
        Not one of the built-in names; a name of one's own may be given again.
    function : callable
        ``function(graph, queries)``: scores, shape (len(queries), n), finite and not negative.
    sensitivity : float, optional
        The most by which one edge that is not at the query changes one score, over all graphs.
        Nobody checks it: every epsilon reported for this score is true only if it is. Without it
        the score has no private ranking.
    one_direction : bool
        Whether one edge always moves all scores of a query the same way. False is always safe.

    Returns
    -------
    Protocol

    Raises
    ------
    InvalidParametersError
        If the name is empty or built in.
    InvalidPrivacyError
        If the sensitivity is not positive and finite.

    Examples
    --------
    >>> def degrees(graph, queries):
    ...     return np.tile(graph.degree.astype(float), (len(queries), 1))
    >>> register_protocol("degree", degrees, sensitivity=1)
    Protocol('degree', sensitivity=1.0)
    """
    if not name or name in BUILT_IN:
        raise InvalidParametersError(
            f"name must be none of {', '.join(BUILT_IN)} and not empty; got {name!r}"
        )
    if not callable(function):
        raise TypeError(f"function must be callable; got {type(function).__name__}")
    bound = None if sensitivity is None else require_positive(sensitivity, "sensitivity")
    _registered[name] = Protocol(name, function, bound, one_direction)
    return _registered[name]


def require_positions(graph: Graph, queries: ArrayLike) -> IntVector:
    """Queries as positions of nodes.

    Raises
    ------
    TypeError
        If they are no list of whole numbers.
    InvalidNetworkError
        If one is no position of a node.
    """
    array = np.asarray(queries)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"queries must be a list of positions; got {queries!r:.80}")
    outside = (array < 0) | (array >= graph.n)
    if outside.any():
        raise InvalidNetworkError(
            f"query must be a position in 0..n-1 = {graph.n - 1}; got {array[outside][0]}"
        )
    return array.astype(np.int64)


def _known(protocol: Protocol, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in parameters:
        if name not in protocol.parameters:
            takes = ", ".join(protocol.parameters) or "no parameters"
            raise InvalidParametersError(f"{protocol.name} takes {takes}; got {name!r}")
    return parameters


def _checked(protocol: Protocol, rows: Any, n_queries: int, n: int) -> FloatMatrix:
    scores = np.asarray(rows, dtype=np.float64)
    if scores.shape != (n_queries, n):
        raise InvalidParametersError(
            f"scores of {protocol.name} must have shape {(n_queries, n)}; got {scores.shape}"
        )
    if scores.size and not 0 <= scores.min() <= scores.max() < math.inf:
        wrong = scores[~((scores >= 0) & (scores < math.inf))][0]
        raise InvalidParametersError(
            f"scores of {protocol.name} must be finite and not negative; got {wrong}"
        )
    return scores
