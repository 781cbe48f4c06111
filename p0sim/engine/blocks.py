"""Blocks of replicates on disk: whole and checked, or not there at all."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from p0sim.columns import DTYPES, FRAMES, Column
from p0sim.engine.files import TEMPORARY, write_whole
from p0sim.engine.tally import EMPTY, Tally, count_statuses, fit_seconds, tally_of

MARK = "replicates"
SIDES = tuple(frame for frame in FRAMES if frame != MARK)
SUFFIX = ".parquet"
METADATA_KEY = b"p0sim"
# What reading a damaged file may raise.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException)
ARROW_TYPES = {
    "text": pa.string(),
    "integer": pa.int64(),
    "integer or missing": pa.int64(),
    "number": pa.float64(),
}

_NAME = re.compile(r"([0-9a-f]+)-(\d+)-(\d+)")


@dataclass(frozen=True, order=True)
class Block:
    """Replicates first..last of a cell: what is computed, stored and lost as one.

    Examples
    --------
    >>> Block("0f3a", 1, 250).name
    '0f3a-1-250'
    >>> Block.from_name("0f3a-1-250").n_reps
    250
    """

    cell: str
    first: int
    last: int

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"{self.cell}-{self.first}-{self.last}"

    @property
    def n_reps(self) -> int:
        """Number of replicates."""
        return self.last - self.first + 1

    @classmethod
    def from_name(cls, name: str) -> Block | None:
        """Read a block from the name of its files; None for another name."""
        match = _NAME.fullmatch(name)
        return cls(match[1], int(match[2]), int(match[3])) if match else None


def schema(frame: str) -> pa.Schema:
    """Arrow schema of a stored frame.

    Examples
    --------
    >>> schema("timings").names
    ['cell', 'method', 'rep', 'seconds']
    """
    return pa.schema([(column.name, ARROW_TYPES[column.kind]) for column in FRAMES[frame]])


def table_of(frame: str, rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Typed table of rows in column order.

    Examples
    --------
    >>> table_of("timings", [("0f3a", "paper", 1, 0.5)]).num_rows
    1
    """
    typed = schema(frame)
    columns: Iterable[Sequence[Any]] = zip(*rows, strict=True) if rows else [()] * len(typed)
    arrays = [pa.array(values, column.type) for values, column in zip(columns, typed, strict=True)]
    return pa.Table.from_arrays(arrays, schema=typed)


def typed_frame(table: pa.Table, columns: Iterable[Column]) -> pd.DataFrame:
    """Frame of a table, its kinds as the columns say."""
    frame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    typed: pd.DataFrame = frame.astype({column.name: DTYPES[column.kind] for column in columns})
    return typed


@dataclass(frozen=True)
class Verdict:
    """What reading a block in full has shown.

    Attributes
    ----------
    damage : str
        Why it cannot be trusted; empty when it can.
    tally : Tally
        Counts of its rows; empty when it is damaged.
    """

    damage: str = ""
    tally: Tally = EMPTY


def write_block(
    directory: Path, block: Block, tables: Mapping[str, pa.Table], tally: Tally
) -> None:
    """Store the tables of a block, all of them or none.

    Parameters
    ----------
    directory : Path
        The study's directory, its folders made.
    block : Block
        Which replicates; not stored yet.
    tables : mapping of str to Table
        One table a frame.
    tally : Tally
        Counts of their rows.

    Raises
    ------
    OSError
        If the disk refuses; no file of the block is left then.
    """
    payloads = {frame: encode(tables[frame]) for frame in SIDES}
    digests = {frame: _digest(payload) for frame, payload in payloads.items()}
    metadata = {"block": block.name, "digests": digests, "tally": asdict(tally)}
    # The mark comes last: a block counts only once everything else of it is on disk.
    payloads[MARK] = encode(tables[MARK], metadata)
    write_whole({block_path(directory, frame, block): payloads[frame] for frame in payloads})


def verify_block(directory: Path, block: Block) -> Verdict:
    """Read every byte of a block and say whether it can be trusted.

    Parameters
    ----------
    directory : Path
        The study's directory.
    block : Block
        A block whose mark is there.
    """
    try:
        mark = read_table(directory, MARK, block)
        metadata = json.loads(mark.schema.metadata[METADATA_KEY])
        name, digests = metadata["block"], dict(metadata["digests"])
    except UNREADABLE:
        return Verdict(f"{MARK} cannot be read")
    if name != block.name:
        return Verdict(f"{MARK} is that of another block")
    damaged = filter(None, (_side(directory, side, block, digests) for side in SIDES))
    damage = next(damaged, "")
    return Verdict(damage) if damage else _tallied(directory, block, mark, metadata)


def read_table(directory: Path, frame: str, block: Block) -> pa.Table:
    """Read one table of a block, page checksums verified.

    Raises
    ------
    OSError, ValueError or ArrowException
        If it is missing, damaged or not of this frame; UNREADABLE holds them all.
    """
    path = block_path(directory, frame, block)
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read(use_threads=False)
    if not table.schema.equals(schema(frame)):
        raise ValueError(f"{path} does not hold the columns of {frame}")
    return table


def remove_block(directory: Path, block: Block) -> None:
    """Delete a block, its mark first, so that no half of it ever counts."""
    for frame in (MARK, *SIDES):
        block_path(directory, frame, block).unlink(missing_ok=True)


def remove_leftovers(directory: Path) -> None:
    """Delete what a killed run left: files without their mark, and temporary ones."""
    marks = {path.name for path in (directory / MARK).glob(f"*{SUFFIX}")}
    for side in SIDES:
        for path in (directory / side).glob(f"*{SUFFIX}"):
            if path.name not in marks:
                path.unlink()
    for folder in (directory, *(directory / frame for frame in FRAMES)):
        for path in folder.glob(f".*{TEMPORARY}"):
            path.unlink()


def block_path(directory: Path, frame: str, block: Block) -> Path:
    """File of one table of a block."""
    return directory / frame / f"{block.name}{SUFFIX}"


def encode(table: pa.Table, metadata: Mapping[str, Any] | None = None) -> bytes:
    """Bytes of a Parquet file, with page checksums and our metadata."""
    extra = {METADATA_KEY: json.dumps(metadata)} if metadata else None
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(extra), sink, write_page_checksum=True)
    payload: bytes = sink.getvalue().to_pybytes()
    return payload


def _tallied(directory: Path, block: Block, mark: pa.Table, metadata: Mapping[str, Any]) -> Verdict:
    """Verdict on a block whose tables are whole: its tally is checked, or made if it has none."""
    try:
        if "tally" not in metadata:
            sides = {side: read_table(directory, side, block) for side in SIDES}
            return Verdict(tally=tally_of({MARK: mark, **sides}, fit_seconds(sides["timings"])))
        tally = Tally.from_json(metadata["tally"])
    except UNREADABLE:
        return Verdict(f"{MARK} cannot be read")
    # Page checksums do not reach the metadata.
    right = tally.counts == count_statuses(mark)
    return Verdict(tally=tally) if right else Verdict(f"{MARK} has a wrong tally")


def _side(directory: Path, frame: str, block: Block, digests: Mapping[str, str]) -> str:
    try:
        payload = block_path(directory, frame, block).read_bytes()
    except OSError:
        return f"{frame} cannot be read"
    return "" if _digest(payload) == digests.get(frame) else f"{frame} is damaged"


def _digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()
