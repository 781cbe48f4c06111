"""One stored replicate, run again and compared to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd

from p0sim.columns import RULE_SUFFIX
from p0sim.engine.streams import canonical_number
from p0sim.engine.trial import run_again, single
from p0sim.engine.worker import Task
from p0sim.errors import InvalidStudyError, name_some
from p0sim.studies.results import StudyResults, open_study
from p0sim.studies.study import Study

Frames: TypeAlias = dict[str, pd.DataFrame]

COMPARED = ("replicates", "estimates", "problems")
# How long a replicate may take, and what may kill it, are no part of the promise.
NOT_COMPARED = ("timeout", "killed")


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Rows of one replicate, as stored and as they come out now.

    Attributes
    ----------
    cell : str
    rep : int
    stored, again : dict of str to DataFrame
        The frames replicates, estimates and problems.
    differences : tuple of str
        One line a difference; empty where all bits agree.
    """

    cell: str
    rep: int
    stored: Frames
    again: Frames
    differences: tuple[str, ...]

    @property
    def comparable(self) -> bool:
        """Whether the stored rows are of those that must come out the same."""
        return not self.stored["replicates"]["status"].isin(NOT_COMPARED).any()


def reproduce(
    directory: str | Path, cell: str, rep: int, timeout: float | None = None
) -> Reproduction:
    """Run one stored replicate again, in a worker process.

    Parameters
    ----------
    directory : str or Path
        Results of a study.
    cell : str
        The beginning of a cell's id, or its factors: "n=100,q=3".
    rep : int
        Number of the replicate.
    timeout : float, optional
        Seconds it may take; needed where the stored one took too long.

    Raises
    ------
    InvalidStudyError
        If there is no such study, cell or stored replicate, or the time is needed.
    """
    results = open_study(directory)
    task = replace(task_of(results, cell, rep), timeout=timeout)
    cell = task.cell.id
    stored = {name: _rows(getattr(results, name), cell, rep) for name in COMPARED}
    if stored["replicates"].empty:
        there = results.replicates["rep"][results.replicates["cell"] == cell]
        raise InvalidStudyError(
            f"rep must be a stored replicate of cell {cell}, in 1..{there.max()}; got {rep}"
        )
    if timeout is None and (stored["replicates"]["status"] == "timeout").any():
        raise InvalidStudyError(f"timeout must be given: replicate {rep} took too long before")
    frames = run_again(task)
    again = {name: frames[name] for name in COMPARED}
    differences = [line for name in COMPARED for line in _differing(name, stored, again)]
    return Reproduction(cell, rep, stored, again, tuple(differences))


def task_of(results: StudyResults, cell: str, rep: int) -> Task:
    """The work of one replicate of a study, ready to run; as for `reproduce`.

    Raises
    ------
    InvalidStudyError
        If there is no such study or cell.
    """
    study, cell = Study.from_record(results.record), find_cell(results, cell)
    for each in study.cells:
        if each.id == cell:
            return single(study.experiment, each, results.record.seed, rep)
    raise InvalidStudyError(f"cell {cell} is of an earlier grid; the study file has it no more")


def find_cell(results: StudyResults, text: str) -> str:
    """Content id of the one cell that a text means.

    Parameters
    ----------
    results : StudyResults
    text : str
        The beginning of an id, or factors such as "n=100,q=3".

    Raises
    ------
    InvalidStudyError
        If no cell or several fit.
    """
    cells = results.cells
    found = list(cells["cell"][_fits(cells, text, results.record.factors)])
    if len(found) != 1:
        raise InvalidStudyError(
            f"cell must mean one cell of the study; {text!r} means "
            f"{len(found) or 'none'} of {name_some(found or list(cells['cell']))}"
        )
    return str(found[0])


def _rows(frame: pd.DataFrame, cell: str, rep: int) -> pd.DataFrame:
    return frame[(frame["cell"] == cell) & (frame["rep"] == rep)].reset_index(drop=True)


def _differing(name: str, frames: Frames, others: Frames) -> list[str]:
    stored, again = frames[name], others[name]
    if len(stored) != len(again):
        return [f"{name}: {len(stored)} rows stored, {len(again)} now"]
    same = stored.eq(again) | (stored.isna() & again.isna())
    rows, columns = np.nonzero(~same.fillna(False).to_numpy(dtype=bool))
    return [
        f"{name}, {_key(stored, row)}: {stored.columns[column]} is {stored.iat[row, column]!r} "
        f"stored, {again.iat[row, column]!r} now"
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def _key(frame: pd.DataFrame, row: int) -> str:
    named = ["method", "estimand"] if "estimand" in frame else ["method"]
    return ", ".join(str(frame[name].iat[row]) for name in named)


def _fits(cells: pd.DataFrame, text: str, factors: Sequence[str]) -> pd.Series:
    """Which cells a text means."""
    if "=" not in text:
        return cells["cell"].str.startswith(text)
    fits = pd.Series(True, index=cells.index)
    for part in text.split(","):
        name, _, level = (each.strip() for each in part.partition("="))
        if name not in factors:
            raise InvalidStudyError(f"cell must name factors {', '.join(factors)}; got {name!r}")
        fits &= _equals(cells, name, level)
    return fits


def _equals(cells: pd.DataFrame, name: str, level: str) -> pd.Series:
    """Whether a factor has a level, given as its number or as the study file writes it."""
    as_written = cells[f"{name}{RULE_SUFFIX}"] == level
    try:
        return as_written | (cells[name] == canonical_number(float(level)))
    except ValueError:
        return as_written
