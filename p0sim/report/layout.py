"""What a table shows and where: its rows of the frame, its keys, the order of its levels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from p0sim.columns import WHOLE_FIT
from p0sim.errors import InvalidStudyError
from p0sim.report.estimands import SINGLE_PARAMETER, leading, names_in
from p0sim.report.precision import MCSE_SUFFIX, measure_of
from p0sim.report.selection import TARGET, factors_of, labelled, level_texts, select, varying

STATISTICS = ["value", "mcse", "n_used"]
# More parameters a cell than anybody reads line by line.
MANY = 30
# Of any kind, beyond these nobody reads at all.
MOST_LINES = 50
# Estimands that a note names.
MOST_NAMED = 6
ROUNDING = 1e-12


def chosen_rows(performance: pd.DataFrame, where: Mapping[str, object] | None) -> pd.DataFrame:
    """Rows at the levels asked for; measures of the whole fit stay beside any estimand."""
    elsewhere = {name: level for name, level in (where or {}).items() if name != "estimand"}
    rows = select(performance.reset_index(drop=True), elsewhere)
    if "estimand" not in (where or {}):
        return rows
    wanted = select(rows, {"estimand": (where or {})["estimand"]}).index
    return rows[rows.index.isin(wanted) | (rows["estimand"] == WHOLE_FIT)]


def without_many(rows: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Rows without single parameters where a cell has many of them and something else besides."""
    single = rows["estimand"].str.fullmatch(SINGLE_PARAMETER).astype(bool)
    counts = rows[single].groupby("cell", observed=True)["estimand"].nunique()
    others = rows[~single]
    left = others[others["measure"].isin(measures)]["estimand"]
    many = bool((counts > MANY).any()) and bool((left != WHOLE_FIT).any())
    return leading_of_many(others if many else rows)


def leading_of_many(rows: pd.DataFrame) -> pd.DataFrame:
    """The first estimands of every cell where one has more than anybody reads, in their order."""
    counts = rows.groupby("cell", observed=True)["estimand"].nunique()
    if counts.max() <= MOST_LINES:
        return rows
    kept = leading(rows, MOST_LINES)[["cell", "estimand"]].drop_duplicates()
    pairs = pd.MultiIndex.from_frame(rows[["cell", "estimand"]].astype(str))
    return rows[pairs.isin(pd.MultiIndex.from_frame(kept.astype(str)))]


def left_out_sentence(chosen: pd.DataFrame, shown: pd.DataFrame) -> str:
    """Which estimands a table has no lines for, and how to see them."""
    asked, there = names_in(chosen), set(names_in(shown))
    gone = [name for name in asked if name not in there]
    if not gone:
        return ""
    of_singles = {name for name in asked if re.fullmatch(SINGLE_PARAMETER, name)}
    if set(gone) == of_singles:
        return "Single parameters are left out."
    more = ", ..." if len(gone) > MOST_NAMED else ""
    return (
        f"{len(gone)} of {len(asked)} estimands are left out; --where estimand=NAME shows one of "
        f"them: {', '.join(gone[:MOST_NAMED])}{more}."
    )


def estimand_sentence(targets: pd.DataFrame, labels: Mapping[str, str] | None) -> str:
    """What is estimated, where a table says so nowhere else."""
    names = names_in(targets)
    return f"Estimand: {labelled(names[0], labels)}." if len(names) == 1 else ""


def table_entries(
    performance: pd.DataFrame, measures: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Targets of the table, one a row, and what each measure says of them, row by row."""
    of = {name: rows_of(performance, name) for name in measures}
    whole_fit = {name for name, rows in of.items() if (rows["estimand"] == WHOLE_FIT).all()}
    shown = [rows for name, rows in of.items() if name not in whole_fit] or list(of.values())
    targets = pd.concat(shown).drop_duplicates(TARGET).sort_index().reset_index(drop=True)
    targets = targets.drop(columns=["measure", *STATISTICS])
    measured = {}
    for name, rows in of.items():
        on = TARGET[:2] if name in whole_fit else TARGET
        joined = targets[on].merge(rows[[*on, *STATISTICS]], on=on, how="left", validate="m:1")
        measured[name] = joined.assign(n_used=joined["n_used"].fillna(0).astype(np.int64))
    return targets, measured


def rows_of(performance: pd.DataFrame, field: str) -> pd.DataFrame:
    """What a name in a template says of every target: a measure, or its Monte Carlo error."""
    rows = performance[performance["measure"] == measure_of(field)]
    if not field.endswith(MCSE_SUFFIX):
        return rows
    # numbers that are all the same have an error of some rounding, which says nothing
    by_rounding = rows["mcse"] <= ROUNDING * rows["value"].abs()
    return rows.assign(value=rows["mcse"].mask(by_rounding, 0.0))


def layout_of_means(targets: pd.DataFrame) -> tuple[list[str], list[str], list[str]]:
    """Rows, columns and groups for numbers without a truth, each estimand in a group of its own.

    Rows are the first factor of words, such as the data set, and all factors of numbers; over the
    columns stand the other factors of words, methods below them. Without words, rows are the first
    factor; where none varies, the estimands.
    """
    moving = varying(targets, factors_of(targets))
    words = [name for name in moving if not pd.api.types.is_numeric_dtype(targets[name])]
    numbers = [name for name in moving if name not in words]
    rows, cols = ([words[0], *numbers], words[1:]) if words else (numbers[:1], numbers[1:])
    cols += varying(targets, ["method"])
    groups = varying(targets, ["estimand"])
    return rows or groups or ["estimand"], cols, groups if rows else []


def layout(
    targets: pd.DataFrame,
    rows: Sequence[str] | None,
    cols: Sequence[str] | None,
    groups: Sequence[str] | None,
) -> tuple[list[str], list[str], list[str]]:
    """Rows, columns and groups of rows; the paper's where none are given."""
    moving = varying(targets, [*factors_of(targets), "method", "estimand"])
    given = {*(rows or ()), *(cols or ()), *(groups or ())}
    left = [name for name in moving if name not in given]
    if rows is None:
        rows = [name for name in ("n", "estimand") if name in left] or ["estimand"]
    if cols is None:
        cols = [name for name in ("epsilon", "L") if name in left]
        cols = cols or [name for name in ("method",) if name in left]
    left = [name for name in left if name not in {*rows, *cols}]
    return list(rows), list(cols), left if groups is None else list(groups)


def require_told_apart(targets: pd.DataFrame, keys: list[str]) -> None:
    """Refuse a layout that would put two targets into one cell of the table."""
    if len(set(keys)) < len(keys):
        raise InvalidStudyError(f"rows, cols and group_rows must differ; got {', '.join(keys)}")
    if len(ordered_keys(levels_by_key(targets, keys), keys)) < len(targets):
        others = [*factors_of(targets), "method", "estimand"]
        mixed = [name for name in varying(targets, others) if name not in keys]
        raise InvalidStudyError(
            f"rows, cols, group_rows and where must tell all cells apart; "
            f"got several levels of {', '.join(mixed)}"
        )


def levels_by_key(targets: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The level of every key as text, one row a target, also where there is no key."""
    columns = {name: level_texts(targets, name) for name in keys}
    return pd.DataFrame(columns, index=targets.index)


def ordered_keys(levels: pd.DataFrame, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Combinations of levels that occur, each level in its order of appearance under those before.

    alpha[1] may come first under one n and last under another: the study file's order is kept.
    """
    if not names:
        return [()]
    keys = list(dict.fromkeys(zip(*(levels[name] for name in names), strict=True)))
    first: dict[tuple[str, ...], int] = {}
    for place, key in enumerate(keys):
        for depth in range(1, len(key) + 1):
            first.setdefault(key[:depth], place)
    return sorted(keys, key=lambda key: [first[key[: d + 1]] for d in range(len(key))])
