"""Degree files, and the release directory: degrees.csv and release.json, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np

from p0sim.arrays import IntVector
from p0sim.durable import sync_folder, write_synced
from p0sim.errors import CannotWriteError, InvalidNetworkError, InvalidPrivacyError
from p0sim.model.bidegree import BiDegree, largest_degree
from p0sim.model.file_content import file_text
from p0sim.privacy.exact_epsilon import exact_epsilon
from p0sim.privacy.noisy_bidegree import NoisyBiDegree
from p0sim.privacy.release_record import ReleaseRecord, record_from_json

DEGREES_FILE, RECORD_FILE = "degrees.csv", "release.json"
HEADER = ["node", "out_degree", "in_degree"]
WHOLE = re.compile(r"-?[0-9]{1,19}")

Columns: TypeAlias = tuple[tuple[str, ...], IntVector, IntVector]


def read_degrees(path: str | Path, q: int, epsilon: object = None) -> NoisyBiDegree | BiDegree:
    r"""Read a degree file: CSV with the columns node, out_degree, in_degree.

    Parameters
    ----------
    path : str or Path
        Labels are kept as written; degrees are whole numbers. May be packed: .csv.gz.
    q : int
        Weights of the network lie in 0..q-1.
    epsilon : str, int, Fraction or float, optional
        Privacy loss of the noise on the degrees; without it they carry none.

    Returns
    -------
    NoisyBiDegree, or BiDegree without epsilon

    Raises
    ------
    InvalidNetworkError
        If the file cannot be read or a row breaks a rule; the row is named.
    InvalidPrivacyError, TypeError
        If epsilon is not one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "degrees.csv"
    >>> _ = path.write_text("node,out_degree,in_degree\nann,5,-1\nbob,2,2\ncy,0,3\n")
    >>> read_degrees(path, q=3, epsilon="1/2")
    NoisyBiDegree(n=3, q=3, epsilon=0.5; no record of a release)
    """
    nodes, out_degree, in_degree = read_columns(Path(path))
    if epsilon is None:
        return _without_noise(out_degree, in_degree, q, nodes, source=Path(path))
    loss = float(exact_epsilon(epsilon).value) if isinstance(epsilon, str) else epsilon
    return NoisyBiDegree(out_degree, in_degree, q, loss, nodes)  # type: ignore[arg-type]


def read_columns(path: Path) -> Columns:
    """Labels, out-degrees and in-degrees of a degree file.

    Raises
    ------
    InvalidNetworkError
        As for :func:`read_degrees`.
    """
    reader = csv.reader(io.StringIO(file_text(path), newline=""), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InvalidNetworkError(f"degree file must be a table; got {path}: {error}") from None
    if not rows or rows[0][1] != HEADER:
        got = ",".join(rows[0][1]) if rows else ""
        raise InvalidNetworkError(f"{path} must start with {','.join(HEADER)}; got {got!r}")
    for line, row in rows[1:]:
        _require_row(row, f"in row {line} of {path}")
    _require_different([(line, row[0]) for line, row in rows[1:]], path)
    nodes = tuple(row[0] for _, row in rows[1:])
    out_degree, in_degree = (np.array([int(r[k]) for _, r in rows[1:]], np.int64) for k in (1, 2))
    return nodes, out_degree, in_degree


def read_folder(directory: str | Path) -> tuple[ReleaseRecord, Columns]:
    """What a release directory holds.

    Raises
    ------
    InvalidNetworkError, InvalidPrivacyError
        If a file is missing or says what cannot be.
    """
    directory = Path(directory)
    for name in (DEGREES_FILE, RECORD_FILE):
        if not (directory / name).is_file():
            raise InvalidPrivacyError(f"a release must hold {name}; {directory} does not")
    try:
        text = (directory / RECORD_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidPrivacyError(f"{RECORD_FILE} must be readable; got {error}") from None
    record = record_from_json(text)
    columns = read_columns(directory / DEGREES_FILE)
    if len(columns[0]) != record.n:
        raise InvalidPrivacyError(
            f"{DEGREES_FILE} must have n = {record.n} rows, as {RECORD_FILE} says; "
            f"got {len(columns[0])}"
        )
    return record, columns


def write_files(
    folder: Path,
    record: ReleaseRecord,
    nodes: Sequence[str],
    out_degree: IntVector,
    in_degree: IntVector,
) -> None:
    """Write both files of a release into a folder of :func:`new_folder`."""
    text = io.StringIO()
    # before Python 3.13 a lone carriage return in a label was not quoted of itself
    odd = "\r" in "".join(nodes)
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
    )
    writer.writerow(HEADER)
    writer.writerows(zip(nodes, out_degree.tolist(), in_degree.tolist(), strict=True))
    write_synced(folder / DEGREES_FILE, text.getvalue())
    write_synced(folder / RECORD_FILE, record.to_json())


@contextmanager
def new_folder(directory: str | Path) -> Iterator[Path]:
    """A folder beside its final place, which it takes when all is written.

    Until then it is .NAME.PID.partial. A process that is killed leaves it behind, without the
    release or with it: one whose process is gone may be deleted.

    Raises
    ------
    CannotWriteError
        If there is something of this name already, or the disk refuses; before anything is drawn
        if that is known then.
    """
    directory = Path(directory)
    require_new(directory)
    folder = directory.with_name(f".{directory.name}.{os.getpid()}.partial")
    with _refusals(directory):
        folder.mkdir()
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        with _refusals(directory):
            yield folder
            sync_folder(folder)
        undo.pop_all()
    _put_in_place(folder, directory)


def require_new(directory: Path) -> None:
    """Refuse a name that is taken, or that has no folder to stand in that can be written.

    Raises
    ------
    CannotWriteError
    """
    if os.path.lexists(directory):
        raise CannotWriteError(f"output must be a new folder; got {directory}, which exists")
    if not directory.parent.is_dir():
        raise CannotWriteError(f"output must stand in a folder that exists; got {directory}")
    if not os.access(directory.parent, os.W_OK | os.X_OK):
        raise CannotWriteError(f"{directory} cannot be written: {directory.parent} is read-only")


def _put_in_place(folder: Path, directory: Path) -> None:
    try:
        folder.rename(directory)
        sync_folder(directory.parent)
    except OSError as error:
        raise CannotWriteError(
            f"{directory} cannot take its name: {error.strerror or error}; "
            f"the release is whole in {folder}: rename it, nothing need be drawn again"
        ) from error


@contextmanager
def _refusals(directory: Path) -> Iterator[None]:
    try:
        yield
    except CannotWriteError:
        raise
    except OSError as error:
        raise CannotWriteError(
            f"{directory} cannot be written: {error.strerror or error}"
        ) from error


def _without_noise(
    out_degree: IntVector, in_degree: IntVector, q: int, nodes: Sequence[str], source: Path
) -> BiDegree:
    # what noise cannot explain is refused first, as it is
    NoisyBiDegree(out_degree, in_degree, q, 1.0, nodes)
    largest_degree(len(nodes), q)
    try:
        return BiDegree(out_degree, in_degree, q, nodes, source=source)
    except InvalidNetworkError as error:
        raise InvalidNetworkError(f"{error}; degrees with noise need epsilon") from None


def _require_different(labels: Iterable[tuple[int, str]], path: Path) -> None:
    first: dict[str, int] = {}
    for line, label in labels:
        if first.setdefault(label, line) != line:
            raise InvalidNetworkError(
                f"nodes must be different; got {label!r} in rows {first[label]} and {line} "
                f"of {path}"
            )


def _require_row(row: Sequence[str], place: str) -> None:
    if len(row) != len(HEADER):
        raise InvalidNetworkError(f"a row must have {len(HEADER)} cells; got {len(row)} {place}")
    for name, cell in zip(HEADER[1:], row[1:], strict=True):
        if not WHOLE.fullmatch(cell) or abs(int(cell)) >= 2**63:
            raise InvalidNetworkError(
                f"{name} must be a whole number below 2^63; got {cell[:40]!r} {place}"
            )
