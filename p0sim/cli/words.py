"""Frames and sizes as text that fits a terminal and can be pasted."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import pandas as pd

MISSING = "-"
FIRST_TIME = "half a minute or more the first time on a machine"
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def print_frame(
    frame: pd.DataFrame, decimals: Mapping[str, int] | None = None, file: TextIO | None = None
) -> None:
    """Print a frame without its index, all columns and rows, text to the left.

    Parameters
    ----------
    frame : DataFrame
    decimals : mapping of str to int, optional
        Decimals of some columns; six significant digits otherwise.
    file : text stream, optional
        Where to print; standard output unless given.
    """
    shown: dict[str, Callable[[object], str]] = {
        name: f"{{:.{digits}f}}".format for name, digits in (decimals or {}).items()
    }
    shown |= {str(name): _count for name in frame.columns if frame[name].dtype == "Int64"}
    text = frame.to_string(
        index=False, formatters=shown, float_format="{:.6g}".format, na_rep=MISSING
    )
    print_text("\n".join(line.rstrip() for line in text.split("\n")), file)


def print_text(text: str, file: TextIO | None = None) -> None:
    """Print lines that hold names, which must not steer a terminal."""
    print("\n".join(map(printable, text.split("\n"))), file=file)


@contextmanager
def patience(doing: str) -> Iterator[None]:
    """Show on a terminal that something goes on; it vanishes, and a log gets nothing.

    Print no result meanwhile: it would go to the standard error.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{doing}: {FIRST_TIME}"):
        yield


def printable(text: str) -> str:
    r"""A name as one line that any terminal takes: what cannot be printed is escaped.

    Examples
    --------
    >>> print(printable("Zoë\n\udcff"))
    Zoë\n\udcff
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def argument(path: Path) -> str:
    """A path as it is typed on a command line, where a dash begins an option.

    Examples
    --------
    >>> argument(Path("-my release"))
    "'./-my release'"
    """
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def readable_bytes(n_bytes: float) -> str:
    """Write a size as people say it.

    Examples
    --------
    >>> readable_bytes(300), readable_bytes(5 * 2**20)
    ('300 B', '5.0 MiB')
    """
    for unit in UNITS[:-1]:
        if n_bytes < 1024:
            return f"{n_bytes:.1f} {unit}" if unit != "B" else f"{n_bytes:.0f} B"
        n_bytes /= 1024
    return f"{n_bytes:.1f} {UNITS[-1]}"


def _count(value: object) -> str:
    return str(value).replace("<NA>", MISSING)
