"""Arcs of data frames and networkx graphs."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from p0sim.errors import InvalidNetworkError
from p0sim.model.arcs import Arcs, Place, objects
from p0sim.model.edge_columns import EdgeColumns
from p0sim.validation import shown

if TYPE_CHECKING:
    import pandas as pd


def arcs_of_frame(
    frame: pd.DataFrame,
    columns: EdgeColumns,
    place: Place = lambda k: f"in row {k + 1}",
) -> Arcs:
    """Arcs of an edge list with these columns; rows count from 1."""
    source, target = (frame.iloc[:, k].to_numpy() for k in columns[:2])
    if columns.weight is None:
        weight: NDArray[Any] = np.ones(len(frame), dtype=np.int64)
    else:
        weight = frame.iloc[:, columns.weight].to_numpy()
    return Arcs(source, target, weight, place)


def arcs_of_graph(graph: Any, *, parallel: bool = False) -> Arcs:
    """Arcs of a networkx.DiGraph, also of a MultiDiGraph where parallel arcs are asked for.

    Raises
    ------
    InvalidNetworkError
        If the graph is undirected, may have parallel arcs that nobody asked for, or has numbers
        on its arcs but no weight.
    """
    if not graph.is_directed() or (graph.is_multigraph() and not parallel):
        raise InvalidNetworkError(
            f"network must be a networkx.DiGraph; got {type(graph).__name__} "
            + _way_on(directed=graph.is_directed())
        )
    edges = list(graph.edges(data=True))
    source, target = (objects(edge[k] for edge in edges) for k in (0, 1))
    weight = _weights_or_ones([edge[2] for edge in edges])

    def place(k: int) -> str:
        return f"from {source[k]} to {target[k]}"

    return Arcs(source, target, weight, place, [str(node) for node in graph.nodes])


def _way_on(*, directed: bool) -> str:
    if directed:
        return "(sum_duplicates adds parallel arcs up)"
    return "(graph.to_directed() makes an undirected graph's arcs explicit)"


def _weights_or_ones(attributes: list[dict[str, Any]]) -> NDArray[Any]:
    """The attribute "weight" of each arc; 1 where no arc has one."""
    if any("weight" in data for data in attributes):
        return objects(data.get("weight") for data in attributes)
    numbers = {str(key) for data in attributes for key in data if isinstance(data[key], Real)}
    if numbers - {"id"}:
        raise InvalidNetworkError(
            "arcs must have their weight in the attribute 'weight'; "
            f"got numbers in {shown(min(numbers - {'id'}))} and no weight"
        )
    return np.ones(len(attributes), dtype=np.int64)
