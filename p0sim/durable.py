"""Files that outlive a crash."""

from __future__ import annotations

import os
from pathlib import Path


def write_synced(path: Path, text: str) -> None:
    """Write a new text file and wait until the disk has it."""
    with path.open("x", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make a new name survive a power cut; Windows cannot, and does not need to."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
