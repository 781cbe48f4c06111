"""Which rows of a frame a table or a figure shows: factors, their levels, filters."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

import pandas as pd

from p0sim.columns import PERFORMANCE, RULE_SUFFIX
from p0sim.errors import InvalidStudyError

NOT_FACTORS = {"cell", "target_reps", *(column.name for column in PERFORMANCE)}
NO_LEVEL = "none"


def factors_of(frame: pd.DataFrame) -> list[str]:
    """Factors of a study, in order: the columns of its cells without their rules."""
    return [
        name
        for name in frame.columns
        if name not in NOT_FACTORS
        and not (name.endswith(RULE_SUFFIX) and name.removesuffix(RULE_SUFFIX) in frame)
    ]


def key_column(frame: pd.DataFrame, name: str) -> str:
    """Column that tells the levels of a factor apart: its rule where the frame has one.

    The number of epsilon = log(n)/n^(1/4) changes with n, its rule does not.
    """
    if name not in frame:
        known = [*factors_of(frame), "method", "estimand"]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise InvalidStudyError(f"a factor must be one of {', '.join(known)}; got {name!r}{hint}")
    return name + RULE_SUFFIX if name + RULE_SUFFIX in frame else name


def level_texts(frame: pd.DataFrame, name: str) -> pd.Series:
    """The level of a factor in every row, as text; a missing one is a level too."""
    return frame[key_column(frame, name)].map(level_text)


def level_text(value: object) -> str:
    """One level as text.

    Examples
    --------
    >>> level_text(2.0), level_text("sqrt(log(n))"), level_text(None)
    ('2', 'sqrt(log(n))', 'none')
    """
    if pd.isna(value):  # type: ignore[call-overload]
        return NO_LEVEL
    return f"{value:g}" if isinstance(value, float) else str(value)


def levels_of(frame: pd.DataFrame, name: str) -> list[str]:
    """Levels of a factor in order of appearance: that of the study file."""
    return list(dict.fromkeys(level_texts(frame, name)))


def varying(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Those of the names that have more than one level."""
    return [name for name in names if len(levels_of(frame, name)) > 1]


def select(frame: pd.DataFrame, where: Mapping[str, object] | None) -> pd.DataFrame:
    """Rows at the levels asked for, given as number or as rule, one or a list of them.

    Raises
    ------
    InvalidStudyError
        If a factor or a level is not in the frame.
    """
    for name, asked in (where or {}).items():
        rule = level_texts(frame, name)
        number = frame[name].map(level_text)
        for wanted in texts_of(asked):
            if wanted not in {*rule, *number}:
                known = ", ".join(dict.fromkeys(rule))
                raise InvalidStudyError(f"{name} must be one of {known}; got {wanted}")
        frame = frame[rule.isin(texts_of(asked)) | number.isin(texts_of(asked))]
    return frame


def texts_of(asked: object) -> list[str]:
    """A level or a list of levels as texts."""
    several = isinstance(asked, Sequence) and not isinstance(asked, str)
    return [level_text(level) for level in (asked if several else [asked])]  # type: ignore[attr-defined]


def labelled(text: str, labels: Mapping[str, str] | None) -> str:
    """The name a reader sees."""
    return (labels or {}).get(text, text)
