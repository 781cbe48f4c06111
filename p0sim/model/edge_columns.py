"""Which columns of a table are source, target and weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from p0sim.errors import InvalidNetworkError
from p0sim.validation import shown

EDGE_COLUMNS = ("source", "target", "weight")


class EdgeColumns(NamedTuple):
    """Positions of the three columns; weight is None where every weight is 1."""

    source: int
    target: int
    weight: int | None


def edge_columns(names: Sequence[object]) -> EdgeColumns | None:
    """Find the columns of an edge list by name, capitals or not; None if it is no edge list.

    Other columns are left aside. Without a weight column they are refused: one of them may be
    the weight under another name, and every arc would silently weigh 1.

    Raises
    ------
    InvalidNetworkError
        If a column of an edge list stands twice, or others stand where weight should.

    Examples
    --------
    >>> edge_columns(["Target", "year", "Source", "Weight"])
    EdgeColumns(source=2, target=0, weight=3)
    >>> edge_columns(["source", "target", "count"])
    Traceback (most recent call last):
    p0sim.errors.InvalidNetworkError: columns must be source, target and weight, \
or source and target alone for weights of 1; got 'count' and no weight
    """
    plain = [str(name).strip().lower() for name in names]
    if not {"source", "target"} <= set(plain):
        return None
    for name in EDGE_COLUMNS:
        if plain.count(name) > 1:
            raise InvalidNetworkError(f"column {name} must stand once; got {plain.count(name)}")
    # tables saved with their row numbers have a column without a name, or __index_level_0__
    others = [name for name in plain if name not in EDGE_COLUMNS and name.strip("_")]
    named = [name for name in others if not name.startswith("__")]
    if "weight" not in plain and named:
        raise InvalidNetworkError(
            "columns must be source, target and weight, or source and target alone for weights "
            f"of 1; got {shown(named[0])} and no weight"
        )
    weight = plain.index("weight") if "weight" in plain else None
    return EdgeColumns(plain.index("source"), plain.index("target"), weight)
