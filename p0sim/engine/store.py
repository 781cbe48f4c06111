"""One directory a study: what it is, its cells, and its finished blocks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa

from p0sim.columns import FRAMES
from p0sim.engine.blocks import (
    UNREADABLE,
    Block,
    Verdict,
    read_table,
    remove_block,
    remove_leftovers,
    schema,
    typed_frame,
    write_block,
)
from p0sim.engine.cells import (
    CELLS_FILE,
    Row,
    encode_cells,
    in_order,
    read_cells,
    rows_in,
    rows_of,
    united,
)
from p0sim.engine.files import write_whole, writing
from p0sim.engine.index import INDEX_FILE, Entry, look, read_index, stamp_of, write_index
from p0sim.engine.lock import locked
from p0sim.engine.record import (
    STUDY_FILE,
    StudyRecord,
    changed_versions,
    continued,
    difference_line,
    encode_record,
    read_record,
)
from p0sim.engine.tally import Tally, progress_frame, tally_of
from p0sim.errors import InvalidStudyError, StudyMismatchError, name_some
from p0sim.replicate import Cell

__all__ = ["Store", "StudyRecord"]


class Store:
    """The directory of one study.

    What only reads never writes, and bears another process that is running the study.

    Parameters
    ----------
    directory : str or Path
        Need not exist before `begin`.

    Examples
    --------
    >>> Store("no/such/directory").read("estimates")
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: no/such/directory holds no study: study.json is missing
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._seen: dict[Block, Entry] | None = None
        self._warned = False

    def locked(self) -> AbstractContextManager[None]:
        """Keep every other run out of the directory, which is made if need be.

        Raises
        ------
        StudyMismatchError
            If another run has it, or it holds files that are no study.
        CannotWriteError
            If it cannot be made or written.
        """
        return locked(self.directory)

    def begin(
        self, record: StudyRecord, cells: Sequence[Cell], *, strict_version: bool = False
    ) -> list[str]:
        """Start or resume a study; call it under `locked`.

        Parameters
        ----------
        record : StudyRecord
            The study about to run, with one entry in machines.
        cells : sequence of Cell
            Its cells; those already stored are kept beside them.
        strict_version : bool
            Whether other versions than those of the rows already there are refused.

        Returns
        -------
        list of str
            What the user should know: changed versions, damaged blocks.

        Raises
        ------
        StudyMismatchError
            If the directory belongs to another study; names what differs.
        CannotWriteError
            If the disk refuses.
        """
        if not self.has_study():
            return self.lay_out(record, rows_of(cells))
        old = self.read_identity()
        _require_same(self.directory, old, record)
        changed = changed_versions(old, record)
        if changed and strict_version:
            raise StudyMismatchError(
                f"{self.directory} holds rows of other versions: {changed}; "
                "install those again or leave out --strict-version"
            )
        told = [f"versions changed since the rows already there: {changed}"] if changed else []
        return told + self.lay_out(continued(old, record), rows_of(cells))

    def lay_out(self, record: StudyRecord, cells: Iterable[Row]) -> list[str]:
        """Write what the study is, and sweep what a killed run left; call it under `locked`.

        Parameters
        ----------
        record : StudyRecord
            Replaces the one that is there.
        cells : iterable of dict
            Rows of cells; those already stored are kept after them.

        Returns
        -------
        list of str
            Damaged blocks, which are gone now.
        """
        there, lost = self._cells_there()
        with writing(self.directory):
            for frame in FRAMES:
                (self.directory / frame).mkdir(exist_ok=True)
            rows = united([*cells, *there])
            write_whole(
                {
                    self.directory / CELLS_FILE: encode_cells(rows, record.factors),
                    self.directory / STUDY_FILE: encode_record(record),
                }
            )
        return lost + self._clean()

    def _cells_there(self) -> tuple[list[Row], list[str]]:
        """Rows of the cells that are stored, or why there are none any more."""
        if not self.has_study():
            return [], []
        try:
            return rows_in(self.read("cells")), []
        except InvalidStudyError as error:
            return [], [f"{error}: done"]

    def has_study(self) -> bool:
        """Whether the directory holds a study."""
        return (self.directory / STUDY_FILE).is_file()

    def read_identity(self) -> StudyRecord:
        """Read study.json.

        Raises
        ------
        InvalidStudyError
            If it is missing or damaged.
        """
        return read_record(self.directory)

    def blocks(self) -> list[Block]:
        """Finished blocks whose files are all there and whole."""
        return list(self.tallies())

    def tallies(self) -> dict[Block, Tally]:
        """What is counted of each finished block, in the order of `blocks`."""
        seen = sorted(self._entries().items(), key=lambda item: item[0])
        return {block: entry.verdict.tally for block, entry in seen if not entry.verdict.damage}

    def verify(self) -> dict[Block, str]:
        """Read every block in full, whatever the index says; why each damaged one is."""
        self._seen = look(self.directory, {})
        return self._damaged()

    def write(self, block: Block, tables: Mapping[str, pa.Table], seconds: float) -> None:
        """Store a finished block, which took so many seconds; call it under `locked`.

        Raises
        ------
        CannotWriteError
            If the disk refuses; no file of the block is left then.
        """
        tally = tally_of(tables, seconds)
        with writing(self.directory):
            write_block(self.directory, block, tables, tally)
        if self._seen is not None:
            stamp = stamp_of(self.directory, block)
            self._seen[block] = Entry(stamp, Verdict(tally=tally))

    def remove_with(self, statuses: Iterable[str]) -> int:
        """Remove each block that has a row of one of these statuses; call it under `locked`.

        Returns
        -------
        int
            Number of replicates removed.
        """
        wanted = set(statuses)
        chosen = [block for block, tally in self.tallies().items() if tally.has(wanted)]
        self._remove(chosen)
        return sum(block.n_reps for block in chosen)

    def save_index(self) -> None:
        """Write what is known of the blocks, for the next to look; call it under `locked`."""
        # A cache that a full disk refuses is no reason to stop: the next write will say so.
        with suppress(OSError):
            write_index(self.directory, self._entries())

    def targets(self) -> dict[str, int]:
        """Replicates asked for, by cell."""
        cells = self.read("cells")
        return {
            str(cell): int(reps)
            for cell, reps in zip(cells["cell"], cells["target_reps"], strict=True)
        }

    def set_targets(self, targets: Mapping[str, int]) -> None:
        """Raise, never lower, the replicates asked for in these cells; call it under `locked`.

        Raises
        ------
        InvalidStudyError
            If the study has no such cell.
        CannotWriteError
            If the disk refuses.
        """
        record = self.read_identity()
        rows = rows_in(read_cells(self.directory, record.factors))
        unknown = sorted(targets.keys() - {row["cell"] for row in rows})
        if unknown:
            raise InvalidStudyError(
                f"targets must be of cells in {self.directory}; got {unknown[0]!r}"
            )
        raised = [{**row, "target_reps": targets.get(row["cell"], 0)} for row in rows]
        payload = encode_cells(united([*rows, *raised]), record.factors)
        with writing(self.directory):
            write_whole({self.directory / CELLS_FILE: payload})

    def progress(self) -> pd.DataFrame:
        """How far each cell is, and how its fits ended.

        Returns
        -------
        DataFrame
            One row a cell, in their order: the columns of cells, n_done (replicates), n_fits
            (rows), one column a status (rows), n_problems, and seconds (sum over blocks).
            Damaged blocks are left out with a warning.
        """
        cells = self.read("cells")
        tallies = self.tallies().items()
        self._warn_of_damage()
        return progress_frame(
            cells, [(block.cell, block.n_reps, tally) for block, tally in tallies]
        )

    def read(self, frame: str) -> pd.DataFrame:
        """Read a frame, sorted by cell, method and replicate in the order of the design.

        Parameters
        ----------
        frame : {"replicates", "estimates", "timings", "problems", "cells"}
            Which one.

        Returns
        -------
        DataFrame
            Columns and kinds as in `p0sim.columns`. Damaged blocks are left out with a warning:
            the next run computes them again.

        Raises
        ------
        InvalidStudyError
            If the directory holds no study.
        """
        record = self.read_identity()
        cells = read_cells(self.directory, record.factors)
        if frame == "cells":
            return cells
        unsorted = self._rows(frame, lambda block: True)
        self._warn_of_damage()
        return in_order(unsorted, cells, record.methods)

    def read_cell(self, frame: str, cell: str, last: int) -> pd.DataFrame:
        """Read replicates 1..last of one cell, those that are there, sorted as by `read`."""
        record = self.read_identity()
        cells = read_cells(self.directory, record.factors)
        rows = self._rows(frame, lambda block: block.cell == cell and block.first <= last)
        return in_order(rows[rows["rep"] <= last], cells, record.methods)

    def _entries(self) -> dict[Block, Entry]:
        """What is known of each block with a mark; looked at once."""
        if self._seen is None:
            self._seen = look(self.directory, read_index(self.directory))
        return self._seen

    def _rows(self, frame: str, wanted: Callable[[Block], bool]) -> pd.DataFrame:
        with suppress(*UNREADABLE):
            return self._rows_of_blocks(frame, wanted)
        self._distrust()
        try:
            return self._rows_of_blocks(frame, wanted)
        except UNREADABLE:
            raise InvalidStudyError(
                f"{self.directory} cannot be read while a run changes it; try again"
            ) from None

    def _rows_of_blocks(self, frame: str, wanted: Callable[[Block], bool]) -> pd.DataFrame:
        blocks = filter(wanted, self.blocks())
        tables = [read_table(self.directory, frame, block) for block in blocks]
        tables = [table.replace_schema_metadata(None) for table in tables]
        whole = pa.concat_tables([schema(frame).empty_table(), *tables])
        return typed_frame(whole, FRAMES[frame])

    def _distrust(self) -> None:
        """Forget the index: a block that it vouched for cannot be read."""
        with suppress(OSError):
            (self.directory / INDEX_FILE).unlink()
        self.verify()

    def _damaged(self) -> dict[Block, str]:
        seen = self._entries().items()
        return {block: entry.verdict.damage for block, entry in seen if entry.verdict.damage}

    def _warn_of_damage(self) -> None:
        damaged = [block.name for block in self._damaged()]
        if damaged and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.directory}: damaged and left out until the next run: {name_some(damaged)}",
                stacklevel=3,
            )

    def _clean(self) -> list[str]:
        """Remove what a killed run or a bad disk left: halves are computed again, not trusted."""
        self._seen = None
        damaged = self._damaged()
        self._remove(damaged)
        with writing(self.directory):
            remove_leftovers(self.directory)
        return [f"block {block.name} is computed again: {why}" for block, why in damaged.items()]

    def _remove(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            with writing(self.directory):
                remove_block(self.directory, block)
            self._entries().pop(block, None)


def _require_same(directory: Path, old: StudyRecord, new: StudyRecord) -> None:
    if differing := difference_line(old, new):
        raise StudyMismatchError(
            f"{directory} holds another study: {differing}; choose another directory"
        )
