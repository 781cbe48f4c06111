"""The table of cells of a study: factors, rules and the replicates asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from p0sim.arrays import IntVector
from p0sim.columns import RULE_SUFFIX, cell_columns
from p0sim.engine.blocks import ARROW_TYPES, SUFFIX, encode, typed_frame
from p0sim.errors import InvalidStudyError
from p0sim.replicate import Cell

CELLS_FILE = f"cells{SUFFIX}"
REMEDY = "p0sim run with the study file writes it anew"

Row: TypeAlias = dict[str, Any]


def read_cells(directory: Path, factors: Sequence[str]) -> pd.DataFrame:
    """Read the frame `cells`.

    Raises
    ------
    InvalidStudyError
        If it is missing or damaged.
    """
    path = directory / CELLS_FILE
    try:
        table = pq.read_table(path)
        words = [name for name in factors if pa.types.is_string(table.schema.field(name).type)]
        return typed_frame(table, cell_columns(factors, words))
    except FileNotFoundError:
        raise InvalidStudyError(f"{path} is missing; {REMEDY}") from None
    except (OSError, KeyError, pa.ArrowException):
        raise InvalidStudyError(f"{path} is damaged; {REMEDY}") from None


def rows_of(cells: Iterable[Cell]) -> list[Row]:
    """One row a cell.

    Examples
    --------
    >>> rows_of([Cell("0f3a", {"L": 1.5}, {"L": "3/2"}, target_reps=10)])
    [{'cell': '0f3a', 'L': 1.5, 'L_rule': '3/2', 'target_reps': 10}]
    """
    return [
        {
            "cell": cell.id,
            **cell.factors,
            **{name + RULE_SUFFIX: rule for name, rule in cell.rules.items()},
            "target_reps": cell.target_reps,
        }
        for cell in cells
    ]


def rows_in(frame: pd.DataFrame) -> list[Row]:
    """Rows of the frame `cells`."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def united(rows: Iterable[Row]) -> list[Row]:
    """One row a cell: as first seen, with the most replicates anyone asked for.

    Examples
    --------
    >>> united([{"cell": "0f3a", "target_reps": 5}, {"cell": "0f3a", "target_reps": 9}])
    [{'cell': '0f3a', 'target_reps': 9}]
    """
    cells: dict[str, Row] = {}
    for row in rows:
        first = cells.setdefault(row["cell"], dict(row))
        first["target_reps"] = max(first["target_reps"], row["target_reps"])
    return list(cells.values())


def in_order(frame: pd.DataFrame, cells: pd.DataFrame, methods: Iterable[str]) -> pd.DataFrame:
    """Rows sorted by cell, method and replicate, the first two in the order of the design."""
    order = np.lexsort(
        (
            frame["rep"].to_numpy(),
            _ranks(frame["method"], methods),
            _ranks(frame["cell"], cells["cell"]),
        )
    )
    return frame.iloc[order].reset_index(drop=True)


def encode_cells(rows: Sequence[Row], factors: Sequence[str]) -> bytes:
    """Bytes of cells.parquet."""
    words = [name for name in factors if any(isinstance(row[name], str) for row in rows)]
    columns = cell_columns(factors, words)
    typed = pa.schema([(column.name, ARROW_TYPES[column.kind]) for column in columns])
    return encode(pa.Table.from_pylist(list(rows), schema=typed))


def _ranks(values: pd.Series, order: Iterable[str]) -> IntVector:
    """Place of each value in an order; -1 for a problem that belongs to no method."""
    wanted = pd.Index(list(order), dtype=object)
    return np.asarray(wanted.get_indexer(pd.Index(values, dtype=object)), dtype=np.int64)
