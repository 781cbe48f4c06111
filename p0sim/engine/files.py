"""Files that are on disk whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from p0sim.durable import sync_folder
from p0sim.errors import CannotWriteError

TEMPORARY = ".tmp"
# stands in the folder of a study once it has begun
BEGUN = "study.json"
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_whole(payloads: Mapping[Path, bytes]) -> None:
    """Write files so that each is seen whole or not at all, the last one last.

    Raises
    ------
    OSError
        If the disk refuses; files that were not there before are not there then.
    """
    temporaries = {path: path.with_name(f".{path.name}{TEMPORARY}") for path in payloads}
    new = [path for path in payloads if not path.exists()]
    try:
        for path, payload in payloads.items():
            _write_synced(temporaries[path], payload)
        for path, temporary in temporaries.items():
            temporary.replace(path)
            sync_folder(path.parent)
    except OSError:
        _remove(reversed(new))
        raise
    finally:
        _remove(temporaries.values())


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Say in one line what a full or read-only disk means for a study, begun or not.

    Raises
    ------
    CannotWriteError
        In place of any OSError.
    """
    try:
        yield
    except OSError as error:
        kept = "finished blocks are kept: " if os.path.isfile(directory / BEGUN) else ""
        raise CannotWriteError(
            f"{directory} cannot be written: {error.strerror or error}; {kept}{_remedy(error)}"
        ) from error


def require_writable(directory: Path, what: str) -> None:
    """Refuse a folder that could not be made or written, before any work is done for it.

    Parameters
    ----------
    directory : Path
        Need not exist.
    what : str
        What it is for, as the message begins.

    Raises
    ------
    CannotWriteError
    """
    there = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not there.is_dir():
        raise CannotWriteError(f"{what} needs the folder {directory}; got {there}, a file")
    if not os.access(there, os.W_OK | os.X_OK):
        raise CannotWriteError(f"{what} needs the folder {directory}; {there} is not writable")


def _remedy(error: OSError) -> str:
    if error.errno in DISK_FULL:
        return "free some space and run the same command again"
    if error.errno in FORBIDDEN:
        return "make it writable and run the same command again"
    return "choose another folder"


def _remove(paths: Iterable[Path]) -> None:
    """Delete files as far as the disk allows: what it refused before is what matters."""
    for path in paths:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _write_synced(path: Path, payload: bytes) -> None:
    with path.open("wb") as file:
        file.write(payload)
        file.flush()
        os.fsync(file.fileno())
