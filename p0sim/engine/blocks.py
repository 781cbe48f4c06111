"""Blocks of replicates on disk: whole and checked, or not there at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from p0sim.columns import FRAMES

MARK = "replicates"
SIDES = tuple(frame for frame in FRAMES if frame != MARK)
SUFFIX = ".parquet"
TEMPORARY = ".tmp"
METADATA_KEY = b"p0sim"
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


def write_block(directory: Path, block: Block, tables: Mapping[str, pa.Table]) -> None:
    """Store the tables of a block, all of them or none.

    Parameters
    ----------
    directory : Path
        The study's directory, its folders made.
    block : Block
        Which replicates.
    tables : mapping of str to Table
        One table a frame.

    Raises
    ------
    OSError
        If the disk refuses; no file of the block is left then.
    """
    payloads = {frame: encode(tables[frame]) for frame in SIDES}
    digests = {frame: _digest(payload) for frame, payload in payloads.items()}
    # The mark comes last: a block counts only once everything else of it is on disk.
    payloads[MARK] = encode(tables[MARK], {"block": block.name, "digests": digests})
    write_whole({_path(directory, frame, block): payloads[frame] for frame in payloads})


def find_damage(directory: Path, block: Block) -> str:
    """Why a block cannot be trusted; empty when it can.

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
        name, digests = metadata["block"], metadata["digests"]
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return f"{MARK} cannot be read"
    if name != block.name or not mark.schema.equals(schema(MARK)):
        return f"{MARK} is that of another block"
    return next((found for side in SIDES if (found := _side(directory, side, block, digests))), "")


def read_table(directory: Path, frame: str, block: Block) -> pa.Table:
    """Read one table of a block, page checksums verified."""
    with pq.ParquetFile(_path(directory, frame, block), page_checksum_verification=True) as file:
        return file.read(use_threads=False)


def remove_block(directory: Path, block: Block) -> None:
    """Delete a block, its mark first, so that no half of it ever counts."""
    for frame in (MARK, *SIDES):
        _path(directory, frame, block).unlink(missing_ok=True)


def encode(table: pa.Table, metadata: Mapping[str, Any] | None = None) -> bytes:
    """Bytes of a Parquet file, with page checksums and our metadata."""
    extra = {METADATA_KEY: json.dumps(metadata)} if metadata else None
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(extra), sink, write_page_checksum=True)
    payload: bytes = sink.getvalue().to_pybytes()
    return payload


def write_whole(payloads: Mapping[Path, bytes]) -> None:
    """Write files so that each is seen whole or not at all, the last one last."""
    temporaries = {path: path.with_name(f".{path.name}{TEMPORARY}") for path in payloads}
    try:
        for path, payload in payloads.items():
            _write_synced(temporaries[path], payload)
        for path, temporary in temporaries.items():
            temporary.replace(path)
            _sync_folder(path.parent)
    finally:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)


def _side(directory: Path, frame: str, block: Block, digests: Mapping[str, str]) -> str:
    try:
        payload = _path(directory, frame, block).read_bytes()
    except OSError:
        return f"{frame} cannot be read"
    return "" if _digest(payload) == digests.get(frame) else f"{frame} is damaged"


def _write_synced(path: Path, payload: bytes) -> None:
    with path.open("wb") as file:
        file.write(payload)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut; Windows cannot, and does not need to."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def _path(directory: Path, frame: str, block: Block) -> Path:
    return directory / frame / f"{block.name}{SUFFIX}"
