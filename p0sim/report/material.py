"""What a report is drawn from: small frames and a record, kept as files in the report's folder."""

from __future__ import annotations

import csv
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from p0sim.columns import (
    CELL,
    DTYPES,
    METHOD,
    PERFORMANCE,
    REP,
    SUMMARIES,
    TARGET_REPS,
    Column,
    Kind,
    cell_columns,
)
from p0sim.errors import InvalidStudyError
from p0sim.report.freshness import forget
from p0sim.report.notes import unfinished_sentence
from p0sim.report.selection import factors_of

RECORD = "material.json"
# Six digits are more than any Monte Carlo error leaves; the same are drawn now and later.
DIGITS = "%.6g"

COUNT = Column("count", "how many there are", "", "integer")
CELLS = Column("cells", "in how many cells it happened", "cells", "integer")
FAILURES = (
    METHOD,
    Column("status", "how the fits ended", "", "text"),
    Column("reason", "why, # for numbers that differ", "", "text"),
    COUNT,
    Column("share", "of all fits of the method", "", "number"),
    CELLS,
    CELL,
    REP,
)
PROBLEMS = (
    Column("kind", "error or warning", "", "text"),
    Column("message", "what was said, # for numbers that differ", "", "text"),
    Column("where", "file and line it came from", "", "text"),
    COUNT,
    CELLS,
    CELL,
    REP,
)
# Columns of each frame; cells and performance have those of the factors, too.
COLUMNS: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {
        "cells": (CELL, TARGET_REPS),
        "performance": (CELL, *PERFORMANCE),
        **SUMMARIES,
        "failures": FAILURES,
        "problems": PROBLEMS,
    }
)
WITH_FACTORS = ("cells", "performance")
FRAME_NAMES = tuple(COLUMNS)
# Hundreds of rows a cell, which gzip makes eight times smaller.
PACKED = ("performance", *SUMMARIES)
# without the time: the same bytes tomorrow
PACKING = {"method": "gzip", "mtime": 0, "compresslevel": 6}
FILE_OF = {name: f"{name}.csv{'.gz' * (name in PACKED)}" for name in FRAME_NAMES}
FILES = tuple(FILE_OF.values())


@dataclass(frozen=True, eq=False)
class Material:
    """Everything a report is drawn from.

    Attributes
    ----------
    cells : DataFrame
        As described in `p0sim.columns`.
    performance : DataFrame
        Every measure; columns as `p0sim.columns.PERFORMANCE`.
    qq, zipper, points : DataFrame
        Summaries that figures show; columns as `p0sim.columns.SUMMARIES`.
    failures : DataFrame
        Fits without an estimate, alike ones counted together, copies once: method, status, reason,
        count, share (0..1 of the fits of the method), cells, cell, rep.
    problems : DataFrame
        Errors and warnings, alike ones counted together: kind, message, where, count, cells, cell,
        rep.
    study : mapping
        The study file, parsed.
    identity : mapping
        What the experiment resolved it to.
    copies : mapping of str to sequence of str
        For each method the factors across which its fits are copies of one another.
    seed : int
    versions : mapping of str to str
        Of Python and the libraries.
    level : float
        Of the intervals under study.
    labels : mapping of str to str
        What to print for a method.
    reference : str or None
        Method that others are compared with; None stands for the first.
    done, asked : int
        Replicates that are there, and that the study asks for, over all cells.
    commands : sequence of str
        Command lines that make the report again, in order.
    made_from : str
        Digest of the results.
    """

    cells: pd.DataFrame
    performance: pd.DataFrame
    qq: pd.DataFrame
    zipper: pd.DataFrame
    points: pd.DataFrame
    failures: pd.DataFrame
    problems: pd.DataFrame
    study: Mapping[str, Any]
    identity: Mapping[str, Any]
    copies: Mapping[str, Sequence[str]]
    seed: int
    versions: Mapping[str, str]
    level: float
    labels: Mapping[str, str]
    reference: str | None
    done: int
    asked: int
    commands: Sequence[str]
    made_from: str


def unfinished(material: Material) -> str:
    """A sentence on how far the study is; empty where it is finished."""
    without = len(set(material.cells["cell"]) - set(material.performance["cell"]))
    return unfinished_sentence(material.done, material.asked, without)


RECORDED = tuple(field.name for field in fields(Material) if field.name not in FRAME_NAMES)


def write_material(material: Material, folder: Path) -> None:
    """Write the frames as CSV and the rest as `material.json`.

    Parameters
    ----------
    material : Material
    folder : Path
        Made if it is not there; files of the same names are replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    forget(folder)
    for name in FRAME_NAMES:
        write_frame(getattr(material, name), folder / FILE_OF[name])
    record = {name: getattr(material, name) for name in RECORDED}
    record |= {"words": words_in(material.cells), "rows": rows_in(material)}
    text = json.dumps(record, indent=2, default=str) + "\n"
    (folder / RECORD).write_text(text, encoding="utf-8", newline="\n")


def read_material(folder: Path) -> Material:
    """What was written, numbers as the CSVs print them.

    Parameters
    ----------
    folder : Path
        Of a report.

    Raises
    ------
    InvalidStudyError
        If the folder holds no report, or a file of it is missing or damaged.

    Examples
    --------
    >>> read_material(Path("no/such/report"))
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: no/such/report holds no report: material.json is missing
    """
    record = _read_record(folder)
    words, n_rows = record.pop("words"), record.pop("rows", {})
    frames = {name: _read(folder, name, words, n_rows.get(name)) for name in FRAME_NAMES}
    return Material(**record, **frames)  # type: ignore[arg-type]


def holds_report(folder: Path) -> bool:
    """Whether a report can be drawn from this folder alone.

    Examples
    --------
    >>> holds_report(Path("no/such/report"))
    False
    """
    return (folder / RECORD).is_file()


def words_in(cells: pd.DataFrame) -> list[str]:
    """Factors whose levels are words."""
    return [name for name in factors_of(cells) if not pd.api.types.is_numeric_dtype(cells[name])]


def rows_in(material: Material) -> dict[str, int]:
    """Rows of every frame: a file cut at the end of a line looks whole."""
    return {name: len(getattr(material, name)) for name in FRAME_NAMES}


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    r"""A frame as CSV, texts of others quoted: a lone \r in one would end its line."""
    foreign = "reason" in frame or "message" in frame
    frame.to_csv(
        path,
        index=False,
        lineterminator="\n",
        float_format=DIGITS,
        quoting=csv.QUOTE_NONNUMERIC if foreign else csv.QUOTE_MINIMAL,
        compression=PACKING if path.suffix == ".gz" else None,
    )


def read_frame(path: Path, kinds: Mapping[str, Kind]) -> pd.DataFrame:
    """A CSV with every number as printed there; "" is a missing number and an empty text.

    Parameters
    ----------
    path : Path
    kinds : mapping of str to str
        A key of `p0sim.columns.DTYPES` for each column.
    """
    texts = pd.read_csv(path, dtype=str, keep_default_na=False)
    if not isinstance(texts.index, pd.RangeIndex):
        raise ValueError("its rows must have as many fields as its header")
    numbers = [name for name in texts.columns if kinds[name] != "text"]
    texts[numbers] = texts[numbers].replace("", "nan").astype("float64")
    return texts.astype({name: DTYPES[kinds[name]] for name in texts.columns})


def _read(folder: Path, name: str, words: Sequence[str], n_rows: int | None) -> pd.DataFrame:
    path = folder / FILE_OF[name]
    try:
        header = pd.read_csv(path, nrows=0)
        return _whole(read_frame(path, _kinds(name, header, words)), n_rows)
    except FileNotFoundError:
        raise InvalidStudyError(f"{path} is missing; p0sim report writes it from results") from None
    except (OSError, EOFError, zlib.error, ValueError, KeyError) as error:
        raise InvalidStudyError(f"{path} is damaged: {error}") from None


def _whole(frame: pd.DataFrame, n_rows: int | None) -> pd.DataFrame:
    # records of earlier versions do not count
    if n_rows is not None and len(frame) != n_rows:
        raise ValueError(f"it must have {n_rows} rows; got {len(frame)}")
    return frame


def _kinds(name: str, header: pd.DataFrame, words: Sequence[str]) -> dict[str, Kind]:
    """Kinds of the columns of a frame; what its header has beyond the fixed ones is a factor."""
    fixed = COLUMNS[name]
    if missing := {column.name for column in fixed} - set(header.columns):
        raise ValueError(f"it must have the columns {', '.join(sorted(missing))}")
    factors = factors_of(header) if name in WITH_FACTORS else []
    return {column.name: column.kind for column in (*cell_columns(factors, words), *fixed)}


def _read_record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    try:
        record = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InvalidStudyError(f"{folder} holds no report: {RECORD} is missing") from None
    except (OSError, ValueError) as error:
        raise InvalidStudyError(f"{path} is damaged: {error}") from None
    if not isinstance(record, dict) or set(record) - {"rows"} != {*RECORDED, "words"}:
        raise InvalidStudyError(f"{path} is damaged: it must hold {', '.join(RECORDED)}")
    if not isinstance(record.get("rows", {}), dict):
        raise InvalidStudyError(f"{path} is damaged: rows must count those of every frame")
    return record
