"""Whose directory it is: one live run, and nothing in it that is no study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from p0sim.columns import FRAMES
from p0sim.engine.cells import CELLS_FILE
from p0sim.engine.files import TEMPORARY, writing
from p0sim.engine.index import INDEX_FILE
from p0sim.engine.record import STUDY_FILE
from p0sim.errors import StudyMismatchError

LOCK_FILE = ".lock"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep every other run out of a directory, which is made if need be.

    Raises
    ------
    StudyMismatchError
        If another run has it, or it holds files that are no study.
    CannotWriteError
        If it cannot be made or written.
    """
    _require_ours(directory)
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        lock = _acquired(directory)
    try:
        yield
    finally:
        lock.release()


def _require_ours(directory: Path) -> None:
    if not directory.exists() or (directory / STUDY_FILE).is_file():
        return
    if not directory.is_dir():
        raise StudyMismatchError(f"{directory} is a file; results need a directory")
    foreign = sorted(path.name for path in directory.iterdir() if not _is_start(path))
    if foreign:
        raise StudyMismatchError(
            f"{directory} holds {foreign[0]} but no {STUDY_FILE}; "
            "choose an empty directory for a new study"
        )


def _is_start(path: Path) -> bool:
    """Whether a run killed before it wrote study.json may have left this: never a row."""
    if path.name in FRAMES and path.is_dir():
        return not any(path.iterdir())
    return path.name in {CELLS_FILE, LOCK_FILE, INDEX_FILE} or path.name.endswith(TEMPORARY)


def _acquired(directory: Path) -> filelock.BaseFileLock:
    lock = filelock.FileLock(directory / LOCK_FILE)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise StudyMismatchError(
            f"{directory} is in use by another run; wait for it to end or choose another directory"
        ) from None
    return lock
