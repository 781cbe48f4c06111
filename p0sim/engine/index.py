"""What is known of the blocks on disk without reading them: a pure cache, never the truth.

Like git's index: a block whose four files still have the size and the time of change they had when
it was verified is trusted; any other is verified in full.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from p0sim.engine.blocks import (
    MARK,
    SIDES,
    SUFFIX,
    Block,
    Verdict,
    block_path,
    verify_block,
)
from p0sim.engine.files import write_whole
from p0sim.engine.tally import Tally

INDEX_FILE = ".index.json"
FORMAT = 1

# Size and st_mtime_ns of one file, None where it is missing; the mark's comes first.
FileStamp: TypeAlias = tuple[int, int] | None
Stamp: TypeAlias = tuple[FileStamp, ...]


@dataclass(frozen=True)
class Entry:
    """What is known of a block.

    Attributes
    ----------
    stamp : tuple
        Size and time of change of its files before they were verified.
    verdict : Verdict
        Whether it can be trusted, and its tally.
    """

    stamp: Stamp
    verdict: Verdict


def look(directory: Path, known: Mapping[Block, Entry]) -> dict[Block, Entry]:
    """Find every block with a mark, and verify those that are not as they are known.

    Parameters
    ----------
    directory : Path
        The study's directory; another process may be adding and removing blocks.
    known : mapping of Block to Entry
        From `read_index`; empty to verify all.
    """
    found = {}
    for block, stamp in _scan(directory).items():
        entry = known.get(block)
        if entry is None or entry.stamp != stamp:
            entry = _verified(directory, block, stamp)
        if entry is not None:
            found[block] = entry
    return found


def stamp_of(directory: Path, block: Block) -> Stamp:
    """Size and time of change of the files of a block."""
    return tuple(_file_stamp(block_path(directory, frame, block)) for frame in (MARK, *SIDES))


def read_index(directory: Path) -> dict[Block, Entry]:
    """Entries of the index; none if it is missing, damaged or of another version."""
    try:
        content = json.loads((directory / INDEX_FILE).read_bytes())
        if content["format"] != FORMAT:
            return {}
        named = ((Block.from_name(name), kept) for name, kept in content["blocks"].items())
        return {block: _entry(kept) for block, kept in named if block is not None}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_index(directory: Path, entries: Mapping[Block, Entry]) -> None:
    """Write the index, whole or not at all.

    Raises
    ------
    OSError
        If the disk refuses.
    """
    blocks = {
        block.name: {"files": entry.stamp, "tally": asdict(entry.verdict.tally)}
        for block, entry in entries.items()
        if not entry.verdict.damage
    }
    payload = json.dumps({"format": FORMAT, "blocks": blocks}, separators=(",", ":"))
    write_whole({directory / INDEX_FILE: payload.encode()})


def _entry(kept: Mapping[str, Any]) -> Entry:
    stamp = tuple((int(size), int(time)) for size, time in kept["files"])
    return Entry(stamp, Verdict(tally=Tally.from_json(kept["tally"])))


def _scan(directory: Path) -> dict[Block, Stamp]:
    # The marks come first: what belongs to a mark that is seen was on disk before it.
    marks, *sides = (_folder_stamps(directory / frame) for frame in (MARK, *SIDES))
    blocks = {name: Block.from_name(name.removesuffix(SUFFIX)) for name in marks}
    return {
        block: (marks[name], *(side.get(name) for side in sides))
        for name, block in blocks.items()
        if block is not None
    }


def _folder_stamps(folder: Path) -> dict[str, FileStamp]:
    """Stamps by file name, with one listing of the folder: an lstat by path takes far longer."""
    stamps: dict[str, FileStamp] = {}
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as files:
        for file in files:
            if file.name.endswith(SUFFIX):
                with suppress(FileNotFoundError):
                    status = file.stat()
                    stamps[file.name] = (status.st_size, status.st_mtime_ns)
    return stamps


def _file_stamp(path: Path) -> FileStamp:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns


def _verified(directory: Path, block: Block, stamp: Stamp) -> Entry | None:
    """Verify a block; None if another process took it away meanwhile."""
    verdict = verify_block(directory, block)
    now = stamp_of(directory, block)
    if not verdict.damage or now == stamp:
        return Entry(stamp, verdict)
    return None if now[0] is None else _verified(directory, block, now)
