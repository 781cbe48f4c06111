"""Studies on disk without a run: rows that depend on cell, method and replicate alone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from p0sim.columns import FRAMES
from p0sim.engine import blocks as blocks_module
from p0sim.engine.blocks import MARK, METADATA_KEY, Block, block_path, encode, read_table, table_of
from p0sim.engine.record import StudyRecord
from p0sim.engine.schedule import missing_ranges
from p0sim.engine.store import Store
from p0sim.replicate import Cell

METHODS = ["mean", "median"]
SECONDS_A_REP = 0.5
NAN = math.nan


def cell(number: int, n: int, rule: str, reps: int = 9) -> Cell:
    value = math.log(n) if rule == "log(n)" else float(rule)
    factors = {"n": n, "epsilon": value}
    return Cell(f"{number:x}f3a", factors, {"n": str(n), "epsilon": rule}, reps)


CELLS = (cell(10, 20, "1"), cell(2, 20, "log(n)"), cell(11, 30, "log(n)"))
RECORD = StudyRecord(
    seed=7,
    identity={"factors": ["epsilon", "n"], "model": {"law": "normal"}, "methods": {"mean": {}}},
    methods=METHODS,
    factors=["n", "epsilon"],
    study={"study": {"name": "tiny", "reps": 9}},
    machines=[{"versions": {"numpy": "2.4", "p0sim": "0.1"}}],
)


@dataclass(frozen=True)
class Rows:
    """Rows of replicates; some end badly, and `ends` and `shift` say where they are odd.

    Parameters
    ----------
    ends : mapping of (cell id, method, rep) to status
        In place of what would come.
    shift : mapping of (cell id, method, rep) to number
        Added to the estimate.
    """

    ends: Mapping[tuple[str, str, int], str] = field(default_factory=dict)
    shift: Mapping[tuple[str, str, int], float] = field(default_factory=dict)

    def tables(self, block: Block) -> dict[str, pa.Table]:
        rows: dict[str, list[tuple[Any, ...]]] = {frame: [] for frame in FRAMES}
        for rep in range(block.first, block.last + 1):
            for method in METHODS:
                self._add(rows, (block.cell, method, rep))
            if rep % 4 == 1:
                rows["problems"].append((block.cell, "", rep, "warning", "odd", "fake.py:1"))
        return {frame: table_of(frame, rows[frame]) for frame in FRAMES}

    def status(self, cell: str, method: str, rep: int) -> str:
        usual = {3: "no_estimate", 5: "error"}.get(rep, "ok") if method == "median" else "ok"
        return self.ends.get((cell, method, rep), usual)

    def _add(self, rows: dict[str, list[tuple[Any, ...]]], key: tuple[str, str, int]) -> None:
        status = self.status(*key)
        n_iter = 3 if status == "ok" else None
        rows["replicates"].append((*key, status, "", n_iter, 1e-9 / key[2], NAN))
        rows["timings"].append((*key, SECONDS_A_REP / 2))
        if status == "ok":
            wave = math.sin(key[2] + len(key[1]) + int(key[0], 16)) + self.shift.get(key, 0.0)
            for estimand in ("mu", "again"):
                rows["estimates"].append((*key, estimand, wave, 0.1, NAN, 1.0, 0.0, wave / 0.1))


USUAL = Rows()


def fill(
    directory: Path,
    rows: Rows = USUAL,
    *,
    record: StudyRecord = RECORD,
    cells: tuple[Cell, ...] = CELLS,
    size: int = 2,
    mine: Callable[[Block], bool] = lambda block: True,
) -> tuple[int, tuple[str, ...]]:
    """Write what is missing of a study in blocks of a size; how many replicates, and the notes."""
    store = Store(directory)
    with store.locked():
        notes = store.begin(record, cells)
        missing = [block for block in cut(store, cells, size) if mine(block)]
        for block in missing:
            store.write(block, rows.tables(block), SECONDS_A_REP * block.n_reps)
        store.save_index()
    return sum(block.n_reps for block in missing), tuple(notes)


def cut(store: Store, cells: tuple[Cell, ...], size: int) -> list[Block]:
    done = store.blocks()
    return [
        Block(cell.id, start, min(start + size - 1, last))
        for cell in cells
        for first, last in missing_ranges(
            cell.target_reps, [block for block in done if block.cell == cell.id]
        )
        for start in range(first, last + 1, size)
    ]


def frames(directory: Path) -> dict[str, pd.DataFrame]:
    store = Store(directory)
    return {name: store.read(name) for name in (*FRAMES, "cells")}


def assert_same(left: Mapping[str, pd.DataFrame], right: Mapping[str, pd.DataFrame]) -> None:
    assert left.keys() == right.keys()
    for name in left:
        pd.testing.assert_frame_equal(left[name], right[name], check_exact=True)


def files(directory: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of every file but the lock."""
    return {
        str(path.relative_to(directory)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_byte(path: Path) -> None:
    payload = bytearray(path.read_bytes())
    payload[len(payload) // 3] ^= 0xFF
    path.write_bytes(bytes(payload))


def change_metadata(directory: Path, block: Block, **changes: Any) -> None:
    """Write a mark again with other metadata; None takes an entry away."""
    mark = read_table(directory, MARK, block)
    metadata = {**json.loads(mark.schema.metadata[METADATA_KEY]), **changes}
    kept = {name: value for name, value in metadata.items() if value is not None}
    block_path(directory, MARK, block).write_bytes(encode(mark, kept))


def count_reads(monkeypatch: Any) -> list[Path]:
    """Every block file that is opened from now on, Parquet or bytes."""
    opened: list[Path] = []
    parquet, read_bytes = blocks_module.pq.ParquetFile, Path.read_bytes

    def counted_parquet(path: Path, *args: Any, **kwargs: Any) -> Any:
        opened.append(Path(path))
        return parquet(path, *args, **kwargs)

    def counted_bytes(path: Path) -> bytes:
        if path.parent.name in FRAMES:
            opened.append(path)
        return read_bytes(path)

    monkeypatch.setattr(blocks_module.pq, "ParquetFile", counted_parquet)
    monkeypatch.setattr(Path, "read_bytes", counted_bytes)
    return opened


def with_versions(record: StudyRecord, **versions: str) -> StudyRecord:
    return replace(record, machines=[{"versions": {**record.machines[-1]["versions"], **versions}}])
