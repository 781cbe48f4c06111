"""Which rows of a frame a table or a figure shows: factors, their levels, filters, slices."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from p0sim.columns import PERFORMANCE, RULE_SUFFIX
from p0sim.errors import InvalidStudyError
from p0sim.validation import one_of

NOT_FACTORS = {"cell", "target_reps", *(column.name for column in PERFORMANCE)}
NO_LEVEL = "none"
TARGET = ["cell", "method", "estimand"]
# Factors that mean something at some levels of another one alone.
ONLY_AT = {"calibration": ("mechanism", ("dplp", "exponential"))}


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
        raise InvalidStudyError(f"a factor must be {one_of(name, known)}")
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
    """Rows at the levels asked for, given as rule or as number, one or a list of them.

    A level that is some row's rule means that rule; any other is looked for among the numbers.

    Raises
    ------
    InvalidStudyError
        If a factor or a level is not in the frame.
    """
    for name, asked in (where or {}).items():
        rule = level_texts(frame, name)
        number = frame[name].map(level_text)
        rules, numbers = set(rule), set(number)
        for wanted in texts_of(asked):
            if wanted not in rules | numbers:
                known = list(dict.fromkeys(rule))
                raise InvalidStudyError(f"{name} must be {one_of(wanted, known)}")
        others = [wanted for wanted in texts_of(asked) if wanted not in rules]
        frame = frame[rule.isin(texts_of(asked)) | number.isin(others)]
    return frame


def texts_of(asked: object) -> list[str]:
    """A level or a list of levels as texts."""
    several = isinstance(asked, Sequence) and not isinstance(asked, str)
    return [level_text(level) for level in (asked if several else [asked])]  # type: ignore[attr-defined]


def has_value(performance: pd.DataFrame, measure: str) -> bool:
    """Whether a measure has a value anywhere."""
    return bool(performance.loc[performance["measure"] == measure, "value"].notna().any())


def has_means_alone(performance: pd.DataFrame) -> bool:
    """Whether a study has estimates and no true value to compare any of them with.

    Examples
    --------
    >>> has_means_alone(pd.DataFrame({"measure": ["mean", "bias"], "value": [0.3, None]}))
    True
    """
    return has_value(performance, "mean") and not has_value(performance, "bias")


def slices(frame: pd.DataFrame, inside: Collection[str]) -> list[dict[str, str]]:
    """The settings that figures must hold fixed, one after another, to show a whole frame.

    Parameters
    ----------
    frame : DataFrame
        Columns of the cells, and method and estimand: rows of a performance
        frame, or what `with_factors` makes of a summary.
    inside : collection of str
        What one figure shows side by side: its panels, its axis, its series.

    Returns
    -------
    list of dict
        Each is a `where`: every other factor that varies, at a combination of
        levels that is in the frame, in its order. A single empty one where
        nothing is held fixed.

    Raises
    ------
    InvalidStudyError
        If a name in `inside` is not in the frame.

    Examples
    --------
    >>> frame = pd.DataFrame({"n": [50, 50, 100], "epsilon": [1, 2, 1], "method": "paper"})
    >>> slices(frame, inside=("epsilon", "method"))
    [{'n': '50'}, {'n': '100'}]
    """
    for name in inside:
        key_column(frame, name)
    names = [*factors_of(frame), *(name for name in ("method", "estimand") if name in frame)]
    held = varying(frame, [name for name in names if name not in inside])
    if not held:
        return [{}]
    levels = pd.DataFrame({name: level_texts(frame, name) for name in held}).drop_duplicates()
    return [dict(zip(held, row, strict=True)) for row in levels.itertuples(index=False)]


def with_factors(summary: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Every target of a summary frame once, with the factors of its cell.

    Raises
    ------
    InvalidStudyError
        If `cells` lacks a cell of the summary.
    """
    targets = summary[TARGET].astype(str).drop_duplicates(ignore_index=True)
    if missing := sorted(set(targets["cell"]) - set(cells["cell"].astype(str))):
        raise InvalidStudyError(
            f"cells must list every cell of the summary; got none for {missing}"
        )
    factors = cells.astype({"cell": str}).drop(columns="target_reps", errors="ignore")
    return targets.merge(factors, on="cell", how="left", validate="m:1")


def only_at(name: str, frame: pd.DataFrame, labels: Mapping[str, str] | None) -> str:
    """Of a factor that some levels of another refuse, those in the frame that take it, in brackets.

    Examples
    --------
    >>> shown = pd.DataFrame({"mechanism": ["dplp", "laplace"], "calibration": "sharp"})
    >>> only_at("calibration", shown, None), only_at("calibration", shown[:1], None)
    (' (dplp)', '')
    """
    other, taking = ONLY_AT.get(name, ("", ()))
    levels = levels_of(frame, other) if other in frame else []
    kept = [labelled(level, labels) for level in levels if level in taking]
    return f" ({', '.join(kept) or 'not used'})" if len(kept) < len(levels) else ""


def labelled(text: str, labels: Mapping[str, str] | None) -> str:
    """The name a reader sees."""
    return (labels or {}).get(text, text)
