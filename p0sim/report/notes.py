"""The note under a table: what its cells are, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from p0sim.columns import MEASURES
from p0sim.report.precision import DASH, is_proportion, printed_mcse
from p0sim.report.selection import factors_of, labelled, levels_of

UNCONDITIONAL = {"fail_rate", "coverage_uncond", "coverage_uncond_upper"}


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
    mcse = printed_mcse(name, measured[name])
    if not np.isfinite(mcse).any():
        return ""
    worst = int(np.nanargmax(mcse))
    unit = " points" if is_proportion(name) else ""
    said = f"{mcse[worst]:.2g}{unit} ({measured[name]['n_used'].iloc[worst]} estimates)"
    middle = float(np.nanmedian(mcse))
    return f"Largest Monte Carlo standard error of {name}: {said}, median {middle:.2g}{unit}."
