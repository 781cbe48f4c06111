"""What anybody's frame of replicates must be; everything else is refused in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from p0sim.arrays import FloatVector
from p0sim.errors import InvalidStudyError
from p0sim.performance.comparisons import Mask
from p0sim.performance.frames import RESULT_COLUMNS
from p0sim.validation import shown

# R writes NA, also into columns that are read as text.
MISSING_TEXTS = ("NA", "")


def require_frame(frame: object) -> None:
    """Refuse anything but a DataFrame."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame must be a pandas DataFrame; got {type(frame).__name__}")


def require_columns(frame: pd.DataFrame, names: Sequence[object]) -> None:
    """Refuse the name of a column that is not there, or there twice."""
    known = frame.columns.tolist()
    wanted = [name for name in names if isinstance(name, str)]
    if absent := [name for name in wanted if name not in known]:
        raise InvalidStudyError(
            f"columns must be among {', '.join(map(str, known))}; got {', '.join(absent)}"
        )
    if twice := [name for name in wanted if known.count(name) > 1]:
        raise InvalidStudyError(f"columns must have names of their own; got {twice[0]} twice")


def require_free_names(keys: Sequence[str], rep: str | None) -> None:
    """Refuse keys that are one column, or would be overwritten by the columns of the result."""
    if taken := [name for name in keys if name in RESULT_COLUMNS]:
        raise InvalidStudyError(
            f"by and method must not name a column of the result; got {', '.join(taken)}"
        )
    names = [*keys, *filter(None, [rep])]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidStudyError(
            f"by, method and rep must name different columns; got {twice[0]} twice"
        )


def require_one_row(frame: pd.DataFrame, keys: list[str], rep: str | None) -> None:
    """Refuse a replicate without a number, or one that a method has twice."""
    if rep is None:
        return
    unnumbered = frame.loc[is_missing(frame[rep]), rep].astype(object)
    if len(unnumbered):
        got = f"{shown(unnumbered.iloc[0])} at index {unnumbered.index[0]}"
        raise InvalidStudyError(f"rep must not be missing; got {got}")
    twice = frame.duplicated([*keys, rep])
    if twice.any():
        named = frame.loc[twice, [*keys, rep]].iloc[0].to_dict()
        raise InvalidStudyError(f"a replicate must have one row a method; got {named} twice")


def require_intervals(columns: Mapping[str, FloatVector], index: pd.Index) -> None:
    """Refuse a negative standard error, and an interval that ends before it begins."""
    std_error, lower, upper = (columns[name] for name in ("std_error", "lower", "upper"))
    refuse_rows(std_error < 0, "std_error must not be negative", index, std_error)
    refuse_rows(lower > upper, "lower must be at most upper", index, lower, upper)


def refuse_rows(broken: Mask, rule: str, index: pd.Index, *values: FloatVector) -> None:
    """Refuse the first row that breaks a rule."""
    if broken.any():
        at = int(broken.argmax())
        got = " and ".join(str(float(column[at])) for column in values)
        raise InvalidStudyError(f"{rule}; got {got} at index {index[at]}")


def require_rep(
    by: Sequence[str],
    method: str | None,
    rep: str | None,
    reference: str | None,
    pool: Sequence[str],
) -> None:
    """Refuse pairs and pools of replicates that nobody can tell apart."""
    if reference is not None and (method is None or rep is None):
        raise InvalidStudyError(f"reference must come with method and rep; got {reference!r} alone")
    if pool and rep is None:
        raise InvalidStudyError(f"pool must come with rep; got {', '.join(pool)} alone")
    if strange := [name for name in pool if name not in by]:
        raise InvalidStudyError(f"pool must name columns of by; got {', '.join(strange)}")


def is_missing(column: pd.Series) -> pd.Series:
    """Entries that are missing, also in R's way."""
    return column.isna() | column.isin(MISSING_TEXTS)
