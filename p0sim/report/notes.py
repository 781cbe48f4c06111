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
from p0sim.report.precision import DASH, FEW, is_proportion, printed_mcse
from p0sim.report.selection import factors_of, labelled, levels_of

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
) -> str:
    """What a reader must know to read the table: cells, setting, replicates, Monte Carlo error."""
    named = {name: meaning_of(name, unit="" if "%" in cell else " in %") for name in measured}
    others = [name for name in [*factors_of(targets), "method"] if name not in keys]
    fixed = [
        f"{labelled(name, labels)} = {labelled(levels_of(targets, name)[0], labels)}"
        for name in others
    ]
    sentences = [
        f"Cells: {cell.format(**named)}.",
        f"{', '.join(fixed)}." if fixed else "",
        replicates_sentence(targets["n_attempted"]),
        error_sentence(measured),
        existence_sentence(measured),
        few_sentence(measured),
        f"{DASH}: no estimate in any replicate, or not in the design.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def meaning_of(measure: str, unit: str) -> str:
    """What a number in a cell is; proportions with their unit."""
    meaning = MEASURES[measure].meaning if measure in MEASURES else measure
    return meaning + unit if is_proportion(measure) else meaning


def replicates_sentence(attempted: pd.Series) -> str:
    """How many replicates stand behind the cells."""
    least, most = int(attempted.min()), int(attempted.max())
    counted = str(most) if least == most else f"{least} to {most}"
    return f"{counted} replicates a cell and method."


def existence_sentence(measured: Mapping[str, pd.DataFrame]) -> str:
    """That a measure of estimates speaks of those that exist."""
    if not set(measured) - UNCONDITIONAL:
        return ""
    named = ", coverage included," if "coverage" in measured else ""
    return f"Measures of the estimates{named} are conditional on the existence of an estimate."


def error_sentence(measured: Mapping[str, pd.DataFrame]) -> str:
    """Largest and median Monte Carlo standard error of coverage, or of the first measure."""
    name = "coverage" if "coverage" in measured else next(iter(measured))
    rows = firm_rows(measured[name])
    mcse = printed_mcse(name, rows)
    if not np.isfinite(mcse).any():
        return ""
    worst = int(np.nanargmax(mcse))
    unit = " points" if is_proportion(name) else ""
    said = f"{mcse[worst]:.2g}{unit} ({rows['n_used'].iloc[worst]} estimates)"
    middle = float(np.nanmedian(mcse))
    return f"Largest Monte Carlo standard error of {name}: {said}, median {middle:.2g}{unit}."


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
