"""The note under a table and its daggers: what the cells are, and how sure they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from p0sim.columns import MEASURES
from p0sim.report.grid import Grid
from p0sim.report.precision import (
    DASH,
    FEW,
    MCSE_SUFFIX,
    is_difference,
    is_proportion,
    measure_of,
    printed_mcse,
)
from p0sim.report.selection import TARGET, factors_of, labelled, levels_of, only_at

# Measures that need no estimate.
UNCONDITIONAL = {"fail_rate", "coverage_uncond", "coverage_uncond_upper", "predicted_coverage"}
DAGGER = "†"
# As wide as a digit: it stands where other cells of the column have a dagger.
FIGURE_SPACE = "\u2007"


def note_of(
    cell: str,
    targets: pd.DataFrame,
    measured: Mapping[str, pd.DataFrame],
    keys: Sequence[str],
    labels: Mapping[str, str] | None,
    remarks: Sequence[str] = (),
) -> str:
    """What a reader must know to read the table: cells, setting, replicates, Monte Carlo error."""
    named = {name: meaning_of(name, with_unit="%" not in cell) for name in measured}
    others = [name for name in [*factors_of(targets), "method"] if name not in keys]
    fixed = [
        f"{labelled(name, labels)} = {labelled(levels_of(targets, name)[0], labels)}"
        + only_at(name, targets, labels)
        for name in others
    ]
    sentences = [
        f"Cells: {cell.format(**named)}.",
        f"{', '.join(fixed)}." if fixed else "",
        *remarks,
        replicates_sentence(targets["n_attempted"]),
        error_sentence(measured),
        existence_sentence(measured, targets["n_failed"]),
        few_sentence(measured),
        dash_sentence(measured),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def meaning_of(measure: str, with_unit: bool) -> str:
    """What a number in a cell is; shares and percentages with their unit."""
    if measure.endswith(MCSE_SUFFIX):
        return "its Monte Carlo standard error"
    meaning = MEASURES[measure].meaning if measure in MEASURES else measure
    if not (with_unit and is_in_percent(measure)):
        return meaning
    points = is_difference(measure)
    return f"{meaning} in percentage points" if points else f"{meaning} in %"


def is_in_percent(measure: str) -> bool:
    """Whether the printed numbers of a measure are percentages, or differences of such."""
    known = measure in MEASURES and MEASURES[measure].kind == "percent"
    return known or is_proportion(measure)


def is_comparison(measure: str) -> bool:
    """Whether a measure compares a method with the method of reference."""
    return is_difference(measure) or measure == "rel_prec"


def comparison_sentence(
    performance: pd.DataFrame, measures: Sequence[str], labels: Mapping[str, str] | None
) -> str:
    """Which method others are compared with: the one that has no such measure."""
    compared = [name for name in measures if is_comparison(name)]
    if not compared:
        return ""
    rows = performance[performance["measure"].isin(compared)]
    others = set(rows["method"])
    left = [name for name in dict.fromkeys(performance["method"]) if name not in others]
    named = labelled(left[0], labels) if len(left) == 1 else "the method of reference"
    return f"Comparisons are with {named}, on the replicates where both have an estimate."


def truth_sentence(performance: pd.DataFrame, measures: Sequence[str]) -> str:
    """That some estimates have nothing to be compared with, where a measure asks for it."""
    wanted = [name for name in measures if measure_of(name) != "mean"]
    asked = performance[performance["measure"].isin(wanted) & performance["value"].isna()]
    means = performance[(performance["measure"] == "mean") & performance["value"].notna()]
    lacking = asked[[*TARGET, "measure"]].merge(means[TARGET], on=TARGET)
    lacking = lacking[~lacking["measure"].map(is_comparison)]
    if lacking.empty:
        return ""
    named = " and ".join(dict.fromkeys(lacking["measure"]))
    return f"{DASH} for {named} also where an estimate has no true value or no interval."


def dash_sentence(measured: Mapping[str, pd.DataFrame]) -> str:
    """What a dash means."""
    compared = any(is_comparison(name) for name in measured)
    partner = ", nothing to compare" if compared else ""
    return f"{DASH}: no estimate in any replicate{partner}, or not in the design."


def unfinished_sentence(done: int, asked: int, without: int = 0) -> str:
    """That a study goes on, and how many cells show nothing yet; empty where all is done.

    Examples
    --------
    >>> unfinished_sentence(7, 800, without=1)
    'Unfinished: 7 of 800 replicates are there; 1 cell has none and is not shown.'
    >>> unfinished_sentence(800, 800)
    ''
    """
    if done >= asked:
        return ""
    has = "1 cell has" if without == 1 else f"{without} cells have"
    hidden = f"; {has} none and {'is' if without == 1 else 'are'} not shown" if without else ""
    return f"Unfinished: {done} of {asked} replicates are there{hidden}."


def replicates_sentence(attempted: pd.Series) -> str:
    """How many replicates stand behind the cells."""
    least, most = int(attempted.min()), int(attempted.max())
    counted = str(most) if least == most else f"{least} to {most}"
    return f"{counted} replicates a cell and method."


def existence_sentence(measured: Mapping[str, pd.DataFrame], failed: pd.Series) -> str:
    """That a measure of estimates speaks of those that exist."""
    if "mean" in measured and not failed.any():
        return "Every replicate has an estimate."
    if not set(measured) - UNCONDITIONAL:
        return ""
    named = ", coverage included," if "coverage" in measured else ""
    return f"Measures of the estimates{named} are conditional on the existence of an estimate."


def error_sentence(measured: Mapping[str, pd.DataFrame]) -> str:
    """Largest and median Monte Carlo standard error of coverage, or of the first that has one."""
    having = [name for name, rows in measured.items() if rows["mcse"].notna().any()]
    if not having or any(name.endswith(MCSE_SUFFIX) for name in measured):
        return ""
    name = "coverage" if "coverage" in having else having[0]
    rows = firm_rows(measured[name])
    mcse = printed_mcse(name, rows)
    worst = int(np.nanargmax(mcse))
    unit = " points" if is_in_percent(name) else ""
    said = f"{mcse[worst]:.2g}{unit} ({rows['n_used'].iloc[worst]} estimates)"
    middle = float(np.nanmedian(mcse))
    return (
        f"Largest Monte Carlo standard error of {name}{among(measured[name], rows)}: {said}, "
        f"median {middle:.2g}{unit}{of_sure_shares(name, rows)}."
    )


def among(rows: pd.DataFrame, firm: pd.DataFrame) -> str:
    """Which cells are spoken of, where some with a value are not."""
    left = rows["value"].notna().sum() - firm["value"].notna().sum()
    return f" among cells with at least {FEW} estimates" if left else ""


def of_sure_shares(measure: str, rows: pd.DataFrame) -> str:
    """How shares of 0 and 100 % are counted, whose binomial standard error is 0."""
    sure = is_proportion(measure) and not is_difference(measure) and rows["value"].isin([0, 1])
    return " (of 0 and 100 % by the share (x + 2)/(n + 4))" if np.any(sure) else ""


def firm_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with a Monte Carlo error from enough estimates; all where none has one."""
    firm = rows[rows["mcse"].notna() & (rows["n_used"] >= FEW)]
    return rows if firm.empty else firm


def resting_on_few(measured: Mapping[str, pd.DataFrame]) -> tuple[NDArray[np.bool_], bool]:
    """Cells where a measure of the estimates has few of them, and whether none has enough."""
    used = [rows["n_used"] for name, rows in measured.items() if name not in UNCONDITIONAL]
    counts = np.array(used, dtype=np.int64).reshape(len(used), len(next(iter(measured.values()))))
    few, some = (
        np.asarray(these.any(axis=0)) for these in ((counts > 0) & (counts < FEW), counts > 0)
    )
    return few, bool(few.any() and few[some].all())


def daggers(measured: Mapping[str, pd.DataFrame]) -> NDArray[np.bool_]:
    """Cells to mark: those that rest on few estimates, none where all do."""
    few, everywhere = resting_on_few(measured)
    return few & (not everywhere)


def few_sentence(measured: Mapping[str, pd.DataFrame]) -> str:
    """What the dagger means, or what it would say of every cell."""
    few, everywhere = resting_on_few(measured)
    if everywhere:
        return f"Every cell rests on fewer than {FEW} estimates."
    return f"{DAGGER}: fewer than {FEW} estimates." if few.any() else ""


def with_daggers(texts: Sequence[str], marked: Sequence[bool]) -> list[str]:
    """Texts, a dagger after the marked ones."""
    return [text + DAGGER * few for text, few in zip(texts, marked, strict=True)]


def with_digits_aligned(grid: Grid) -> Grid:
    """A grid where right-aligned numbers end at one place, with or without a dagger."""
    marked = any(cell.endswith(DAGGER) for line in grid.lines for cell in line.cells)
    if grid.left_aligned or not marked:
        return grid

    def filled(cell: str) -> str:
        return cell if cell.endswith(DAGGER) else cell + FIGURE_SPACE

    lines = (replace(line, cells=tuple(map(filled, line.cells))) for line in grid.lines)
    return replace(grid, lines=tuple(lines))


def with_latex_daggers(source: str) -> str:
    """Daggers as mathematics; those that end a cell take no room, so that digits stay aligned."""
    source = source.replace(FIGURE_SPACE, "")
    source = re.sub(rf"{DAGGER}(?= (?:&|\\\\))", r"\\rlap{$^\\dagger$}", source)
    return source.replace(DAGGER, r"$^\dagger$")
