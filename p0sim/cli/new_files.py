"""Output files: written whole or not at all, never over what is there."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from p0sim.errors import CannotWriteError

FIGURE_SUFFIXES = (".pdf", ".png")


def require_new_file(path: Path | None) -> None:
    """Refuse an output that is there already, or has no folder to stand in; None is no output.

    Raises
    ------
    CannotWriteError
    """
    if path is None:
        return
    if os.path.lexists(path):
        raise CannotWriteError(f"output must be a new file; got {path}, which exists")
    require_folder(path)


def require_new_csv(path: Path | None) -> None:
    """The same for a table, whose name must not promise another format.

    Raises
    ------
    CannotWriteError
    """
    require_new_file(path)
    if path is not None and path.suffix.lower() not in ("", ".csv"):
        raise CannotWriteError(f"output is CSV and must end in .csv or in no suffix; got {path}")


def require_new_figures(stems: Iterable[str]) -> None:
    """Refuse figures that are there already, or have no folder to stand in.

    Raises
    ------
    CannotWriteError
    """
    for stem in stems:
        require_folder(stem)
        for suffix in FIGURE_SUFFIXES:
            require_new_file(Path(f"{stem}{suffix}"))


def figure_stem(path: Path) -> Path:
    """A figure's path without the suffix that each of its files has; any other dot stays.

    Examples
    --------
    >>> figure_stem(Path("f/pu.png")).name, figure_stem(Path("f/n0.5")).name
    ('pu', 'n0.5')
    """
    return path.with_suffix("") if path.suffix.lower() in FIGURE_SUFFIXES else path


@contextmanager
def writing_output(path: Path) -> Iterator[None]:
    """Say in one line which output the disk refuses.

    Raises
    ------
    CannotWriteError
        In place of any OSError.
    """
    try:
        yield
    except OSError as error:
        raise CannotWriteError(
            f"output {path} cannot be written: {error.strerror or error}"
        ) from error


def require_folder(output: str | Path | None) -> None:
    """Refuse an output that has no name or no folder to stand in; None is no output.

    Raises
    ------
    CannotWriteError
    """
    if output is None:
        return
    if not Path(output).name:
        raise CannotWriteError(f"output must have a name; got {str(output)!r}")
    if not Path(output).parent.is_dir():
        raise CannotWriteError(f"output must stand in a folder that exists; got {output}")


def write_new_file(path: Path, text: str) -> None:
    """Write text under a name that nothing has.

    Raises
    ------
    CannotWriteError
        If the name was taken, or the disk refuses; nothing stands under the name then.
    """
    from p0sim.durable import write_synced

    require_new_file(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        write_synced(partial, text)
        _put_in_place(partial, path)
    except OSError as error:
        raise CannotWriteError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


def _put_in_place(partial: Path, path: Path) -> None:
    """Take the name first, so that two commands at once cannot both think it free."""
    path.touch(exist_ok=False)
    with ExitStack() as undo:
        undo.callback(path.unlink)
        partial.replace(path)
        undo.pop_all()


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""A table as CSV, its text cells quoted where they need it.

    Examples
    --------
    >>> csv_text(["node", "weight"], [["ann, dr", 2]])
    'node,weight\n"ann, dr",2\n'
    """
    listed = [header, *rows]
    # before Python 3.13 a lone carriage return in a cell was not quoted of itself
    odd = any("\r" in cell for row in listed for cell in row if isinstance(cell, str))
    text = io.StringIO()
    csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
    ).writerows(listed)
    return text.getvalue()
