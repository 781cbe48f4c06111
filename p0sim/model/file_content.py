"""What a file holds, unpacked and decoded; every way in which that fails told in one line."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from p0sim.errors import InvalidNetworkError


def file_bytes(path: Path) -> bytes:
    """Content of a file, unpacked where its name ends in .gz.

    Raises
    ------
    InvalidNetworkError
        If it cannot be read or unpacked.
    """
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix.lower() == ".gz" else content
    except OSError as error:
        reason = error.strerror or str(error)
    except (EOFError, zlib.error) as error:
        reason = str(error)
    raise InvalidNetworkError(f"file must be readable; got {path}: {reason}")


def file_text(path: Path) -> str:
    """Content of a text file in UTF-8, with or without a byte-order mark.

    Raises
    ------
    InvalidNetworkError
        If it cannot be read or is no such text.
    """
    try:
        text = file_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidNetworkError(
            f"file must be text in UTF-8; got {path}: byte {error.start + 1} is not"
        ) from None
    if "\0" in text:
        raise InvalidNetworkError(f"file must be text in UTF-8; got {path}, which holds NUL bytes")
    return text
