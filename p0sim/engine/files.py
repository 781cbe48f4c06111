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
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


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
    """Say in one line what a full or read-only disk means for a study.

    Raises
    ------
    CannotWriteError
        In place of any OSError.
    """
    try:
        yield
    except OSError as error:
        remedy = "free some space" if error.errno in DISK_FULL else "make it writable"
        raise CannotWriteError(
            f"{directory} cannot be written: {error.strerror or error}; "
            f"finished blocks are kept: {remedy} and run the same command again"
        ) from error


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
