"""One directory a study: what it is, its cells, and its finished blocks."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from p0sim.arrays import IntVector
from p0sim.columns import DTYPES, FRAMES, RULE_SUFFIX, Column, cell_columns
from p0sim.engine.blocks import (
    ARROW_TYPES,
    MARK,
    SIDES,
    SUFFIX,
    TEMPORARY,
    Block,
    encode,
    find_damage,
    read_table,
    remove_block,
    schema,
    write_block,
    write_whole,
)
from p0sim.engine.streams import canonical_text
from p0sim.errors import InvalidStudyError, StudyMismatchError, name_some
from p0sim.replicate import Cell
from p0sim.validation import shown

STUDY_FILE = "study.json"
CELLS_FILE = f"cells{SUFFIX}"
LOCK_FILE = ".lock"
OUR_NAMES = {STUDY_FILE, CELLS_FILE, LOCK_FILE, *FRAMES}


@dataclass(frozen=True)
class StudyRecord:
    """What study.json holds.

    Attributes
    ----------
    seed : int
        Seed of every stream.
    identity : dict
        What must not change: experiment, factor names, and the experiment's own content.
    methods, factors : list of str
        In file order; frames follow it.
    study : dict
        The study file as last run.
    machines : list of dict
        Versions and thread settings, one entry each time they changed.
    """

    seed: int
    identity: dict[str, Any]
    methods: list[str]
    factors: list[str]
    study: dict[str, Any] = field(default_factory=dict)
    machines: list[dict[str, Any]] = field(default_factory=list)


class Store:
    """The directory of one study.

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
        self._checked: dict[Block, str] | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other run out of the directory.

        Raises
        ------
        StudyMismatchError
            If another run has it, or it holds files that are no study.
        """
        self._require_ours()
        self.directory.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(self.directory / LOCK_FILE)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            raise StudyMismatchError(
                f"{self.directory} is in use by another run; wait for it to end "
                "or choose another directory"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def begin(self, record: StudyRecord, cells: Sequence[Cell]) -> list[str]:
        """Start or resume a study; call it under `locked`.

        Parameters
        ----------
        record : StudyRecord
            The study about to run, with one entry in machines.
        cells : sequence of Cell
            Its cells; those already stored are kept beside them.

        Returns
        -------
        list of str
            What the user should know: changed versions, damaged blocks.

        Raises
        ------
        StudyMismatchError
            If the directory belongs to another study; names what differs.
        """
        old = self.read_identity() if self.has_study() else None
        notes: list[str] = []
        if old:
            _require_same(self.directory, old, record)
            notes += _changed_versions(old.machines[-1], record.machines[-1])
            record = _continued(old, record)
        for frame in FRAMES:
            (self.directory / frame).mkdir(exist_ok=True)
        self._write_cells(cells, record.factors)
        payload = json.dumps(asdict(record), indent=2, default=str, ensure_ascii=False)
        write_whole({self.directory / STUDY_FILE: payload.encode()})
        return notes + self._clean()

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
        path = self.directory / STUDY_FILE
        try:
            return StudyRecord(**json.loads(path.read_text(encoding="utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            raise InvalidStudyError(
                f"{self.directory} holds no study: {STUDY_FILE} is missing"
            ) from None
        except (ValueError, TypeError) as error:
            raise InvalidStudyError(f"{path} cannot be read: {error}") from None

    def blocks(self) -> list[Block]:
        """Finished blocks whose files are all there and whole."""
        return sorted(block for block, damage in self._damage().items() if not damage)

    def write(self, block: Block, tables: Mapping[str, pa.Table]) -> None:
        """Store a finished block."""
        write_block(self.directory, block, tables)
        if self._checked is not None:
            self._checked[block] = ""

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
        cells = self._read_cells(record.factors)
        if frame == "cells":
            return cells
        self._warn_of_damage()
        tables = [read_table(self.directory, frame, block) for block in self.blocks()]
        tables = [table.replace_schema_metadata(None) for table in tables]
        whole = pa.concat_tables([schema(frame).empty_table(), *tables])
        unsorted = _to_pandas(whole, FRAMES[frame])
        order = np.lexsort(
            (
                unsorted["rep"].to_numpy(),
                _ranks(unsorted["method"], record.methods),
                _ranks(unsorted["cell"], cells["cell"]),
            )
        )
        return unsorted.iloc[order].reset_index(drop=True)

    def _require_ours(self) -> None:
        if not self.directory.exists() or self.has_study():
            return
        if not self.directory.is_dir():
            raise StudyMismatchError(f"{self.directory} is a file; results need a directory")
        foreign = sorted({path.name for path in self.directory.iterdir()} - OUR_NAMES)
        if foreign:
            raise StudyMismatchError(
                f"{self.directory} holds {foreign[0]} but no {STUDY_FILE}; "
                "choose an empty directory for a new study"
            )

    def _damage(self) -> dict[Block, str]:
        """Why each block with a mark cannot be trusted, empty when it can; looked at once."""
        if self._checked is None:
            named = (Block.from_name(path.stem) for path in self._files(MARK))
            self._checked = {
                block: find_damage(self.directory, block) for block in named if block is not None
            }
        return self._checked

    def _warn_of_damage(self) -> None:
        damaged = [block.name for block, damage in self._damage().items() if damage]
        if damaged:
            warnings.warn(
                f"{self.directory}: damaged and left out until the next run: {name_some(damaged)}",
                stacklevel=3,
            )

    def _files(self, frame: str) -> list[Path]:
        return sorted((self.directory / frame).glob(f"*{SUFFIX}"))

    def _clean(self) -> list[str]:
        """Remove what a killed run or a bad disk left: halves are computed again, not trusted."""
        notes = []
        for block, damage in self._damage().items():
            if damage:
                notes.append(f"block {block.name} is computed again: {damage}")
                remove_block(self.directory, block)
        self._checked = {block: "" for block in self.blocks()}
        marks = {path.name for path in self._files(MARK)}
        for side in SIDES:
            for path in self._files(side):
                if path.name not in marks:
                    path.unlink()
        for path in self.directory.rglob(f".*{TEMPORARY}"):
            path.unlink()
        return notes

    def _read_cells(self, factors: Iterable[str]) -> pd.DataFrame:
        path = self.directory / CELLS_FILE
        try:
            return _to_pandas(pq.read_table(path), cell_columns(factors))
        except (OSError, pa.ArrowException) as error:
            raise InvalidStudyError(f"{path} cannot be read: {shown(str(error))}") from None

    def _write_cells(self, cells: Sequence[Cell], factors: Sequence[str]) -> None:
        rows = {cell.id: _cell_row(cell) for cell in cells}
        if (self.directory / CELLS_FILE).exists():
            for old in self._read_cells(factors).to_dict("records"):
                row = rows.setdefault(old["cell"], {str(name): old[name] for name in old})
                row["target_reps"] = max(row["target_reps"], old["target_reps"])
        columns = cell_columns(factors)
        typed = pa.schema([(column.name, ARROW_TYPES[column.kind]) for column in columns])
        table = pa.Table.from_pylist(list(rows.values()), schema=typed)
        write_whole({self.directory / CELLS_FILE: encode(table)})


def _to_pandas(table: pa.Table, columns: Iterable[Column]) -> pd.DataFrame:
    frame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    typed: pd.DataFrame = frame.astype({column.name: DTYPES[column.kind] for column in columns})
    return typed


def _ranks(values: pd.Series, order: Iterable[str]) -> IntVector:
    """Place of each value in an order; -1 for a problem that belongs to no method."""
    ranks = {value: rank for rank, value in enumerate(order)}
    return np.array([ranks.get(value, -1) for value in values], dtype=np.int64)


def _cell_row(cell: Cell) -> dict[str, Any]:
    rules = {name + RULE_SUFFIX: rule for name, rule in cell.rules.items()}
    return {"cell": cell.id, **cell.factors, **rules, "target_reps": cell.target_reps}


def _continued(old: StudyRecord, new: StudyRecord) -> StudyRecord:
    """Return the new record with the history of the old one."""
    changed = [] if new.machines[-1] == old.machines[-1] else [new.machines[-1]]
    return StudyRecord(
        seed=old.seed,
        identity=old.identity,
        methods=old.methods,
        factors=old.factors,
        study=new.study,
        machines=[*old.machines, *changed],
    )


def _require_same(directory: Path, old: StudyRecord, new: StudyRecord) -> None:
    there = _flat({"seed": old.seed, **old.identity})
    here = _flat({"seed": new.seed, **new.identity})
    differing = [
        f"{name} is {there.get(name, 'absent')} there and {here.get(name, 'absent')} here"
        for name in {**there, **here}
        if there.get(name) != here.get(name)
    ]
    if differing:
        raise StudyMismatchError(
            f"{directory} holds another study: {'; '.join(differing)}; choose another directory"
        )


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Leaves of nested tables by their dotted names, as text."""
    leaves: dict[str, str] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            leaves |= _flat(value, f"{prefix}{key}.")
        else:
            leaves[f"{prefix}{key}"] = canonical_text(value)
    return leaves


def _changed_versions(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    changes = [
        f"{name} {old['versions'].get(name, 'unknown')} -> {version}"
        for name, version in new["versions"].items()
        if old["versions"].get(name) != version
    ]
    if not changes:
        return []
    return [f"versions changed since the rows already there: {', '.join(changes)}"]
