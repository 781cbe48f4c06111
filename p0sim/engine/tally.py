"""What is counted of a block: how its fits ended, and how long they took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from p0sim.columns import DTYPES, PROGRESS, STATUSES


@dataclass(frozen=True)
class Tally:
    """How the fits of a block ended.

    Attributes
    ----------
    seconds : float
        Time the block took.
    counts : mapping of method to mapping of status to int
        Rows of replicates; a status that never came is left out.
    n_problems : int
        Rows of problems.

    Examples
    --------
    >>> tally = Tally(1.5, {"mean": {"ok": 3}, "median": {"ok": 1, "timeout": 2}}, 0)
    >>> tally.n_fits, tally.n_of("ok"), tally.has(["killed", "timeout"])
    (6, 4, True)
    """

    seconds: float
    counts: Mapping[str, Mapping[str, int]]
    n_problems: int

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Tally:
        """Read what `dataclasses.asdict` wrote as JSON."""
        counts = {
            method: {status: int(n) for status, n in statuses.items()}
            for method, statuses in content["counts"].items()
        }
        return cls(float(content["seconds"]), counts, int(content["n_problems"]))

    @property
    def n_fits(self) -> int:
        """Rows of replicates."""
        return sum(sum(statuses.values()) for statuses in self.counts.values())

    def n_of(self, status: str) -> int:
        """Rows of replicates with this status."""
        return sum(statuses.get(status, 0) for statuses in self.counts.values())

    def has(self, statuses: Iterable[str]) -> bool:
        """Whether any row has one of these statuses."""
        return any(self.n_of(status) for status in statuses)


EMPTY = Tally(0.0, {}, 0)


def tally_of(tables: Mapping[str, pa.Table], seconds: float) -> Tally:
    """Count the rows of a block.

    Parameters
    ----------
    tables : mapping of frame name to Table
        With replicates and problems.
    seconds : float
        Time the block took.
    """
    counts = count_statuses(tables["replicates"])
    return Tally(float(seconds), counts, tables["problems"].num_rows)


def count_statuses(replicates: pa.Table) -> dict[str, dict[str, int]]:
    """Rows by method and status."""
    counts: dict[str, dict[str, int]] = {}
    groups = replicates.group_by(["method", "status"], use_threads=False)
    for group in groups.aggregate([([], "count_all")]).to_pylist():
        counts.setdefault(group["method"], {})[group["status"]] = group["count_all"]
    return counts


def fit_seconds(timings: pa.Table) -> float:
    """Sum of the known times of the fits."""
    return float(np.nansum(timings["seconds"].to_numpy()))


def progress_frame(cells: pd.DataFrame, tallies: Iterable[tuple[str, int, Tally]]) -> pd.DataFrame:
    """Sum tallies by cell.

    Parameters
    ----------
    cells : DataFrame
        The frame `cells`.
    tallies : iterable of (cell id, number of replicates, Tally)
        One a block.

    Returns
    -------
    DataFrame
        One row a cell: the columns of cells, then n_done (replicates), n_fits (rows), rows by
        status, n_problems and seconds.

    Examples
    --------
    >>> cells = pd.DataFrame({"cell": ["0f3a", "77aa"], "target_reps": [5, 5]})
    >>> tally = Tally(1.5, {"mean": {"ok": 1, "killed": 1}}, 0)
    >>> progress_frame(cells, [("0f3a", 2, tally)])[["cell", "n_done", "ok", "killed", "seconds"]]
       cell  n_done  ok  killed  seconds
    0  0f3a       2   1       1      1.5
    1  77aa       0   0       0      0.0
    """
    rows = [
        (cell, n_reps, tally.n_fits, *map(tally.n_of, STATUSES), tally.n_problems, tally.seconds)
        for cell, n_reps, tally in tallies
    ]
    kinds = {column.name: DTYPES[column.kind] for column in PROGRESS}
    sums = pd.DataFrame(rows, columns=["cell", *kinds]).groupby("cell").sum()
    typed = sums.reindex(cells["cell"], fill_value=0).astype(kinds).reset_index(drop=True)
    return pd.concat([cells, typed], axis="columns")
