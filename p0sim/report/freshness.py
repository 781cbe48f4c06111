"""Whether a report folder still shows what it was made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

RECORD = "report.json"
ROOMS = ("report", "performance")


def is_current(folder: Path, made_from: str) -> bool:
    """Whether all files of the report are there, made from this by the present code.

    Parameters
    ----------
    folder : Path
        Of a report.
    made_from : str
        Digest of the results.

    Examples
    --------
    >>> is_current(Path("no/such/report"), "0f3a")
    False
    """
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
        files = [folder / name for name in record["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    same = record.get("made_from") == made_from and record.get("made_by") == made_by()
    return same and all(file.is_file() for file in files)


def forget(folder: Path) -> None:
    """A report about to be made again is nothing to rely on until it is done."""
    (folder / RECORD).unlink(missing_ok=True)


def remember(folder: Path, made_from: str, files: Iterable[str]) -> None:
    """Keep what a report was made from; written last, when its files are there."""
    record = {"made_from": made_from, "made_by": made_by(), "files": sorted(files)}
    text = json.dumps(record, indent=2) + "\n"
    (folder / RECORD).write_text(text, encoding="utf-8", newline="\n")


@cache
def made_by() -> str:
    """Digest of the code that makes reports: a changed table is made anew."""
    package = Path(__file__).parents[1]
    sources = sorted(
        path
        for room in ROOMS
        for path in (package / room).rglob("*")
        if path.suffix in (".py", ".j2", ".css")
    )
    texts = [path.read_text("utf-8") for path in sources]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
