"""What the cells of a table say: templates over names of measures."""

from __future__ import annotations

import string

import pandas as pd

from p0sim.errors import InvalidStudyError
from p0sim.report.precision import measure_of
from p0sim.report.selection import has_means_alone, has_value
from p0sim.validation import one_of

CELL = "{coverage} ({ci_width}) [{fail_rate}]"
# of numbers without intervals, and of those without even a truth
CELL_OF_ERRORS = "{bias} ({rmse}) [{fail_rate}]"
CELL_OF_MEANS = "{mean} ({mean_mcse})"
# of studies that estimate no contrasts
CELL_OF_FITS = "{sup_error_median} [{fail_rate}]"


def default_cell(performance: pd.DataFrame) -> str:
    """The paper's cell, or what else can be said where nothing has an interval, or a truth."""
    there = set(performance["measure"])
    if has_means_alone(performance):
        return CELL_OF_MEANS + " [{fail_rate}]" * bool((performance["n_failed"] > 0).any())
    if not has_value(performance, "coverage") and has_value(performance, "bias"):
        return CELL_OF_ERRORS
    if "coverage" in there:
        return CELL
    return CELL_OF_FITS if {"sup_error_median", "fail_rate"} <= there else "{fail_rate}"


def measures_in(cell: str, performance: pd.DataFrame) -> list[str]:
    """Names in a template, each of them a measure of the frame."""
    fields = fields_in(cell)
    known = list(dict.fromkeys(performance["measure"]))
    for name in fields:
        if measure_of(name) not in known:
            raise InvalidStudyError(f"a measure in cell must be {one_of(name, known)}")
    if not fields:
        raise InvalidStudyError(f"cell must name a measure, as in {CELL!r}; got {cell!r}")
    return list(dict.fromkeys(fields))


def fields_in(cell: str) -> list[str]:
    """Names between the braces of a template, which must stand there alone."""
    try:
        parts = list(string.Formatter().parse(cell))
    except ValueError as problem:
        raise InvalidStudyError(f"cell must be a template; got {cell!r}: {problem}") from None
    if any(spec or conversion for _, _, spec, conversion in parts):
        raise InvalidStudyError(
            "cell must name measures without a format, as decimals follow the Monte Carlo error; "
            f"got {cell!r}"
        )
    return [name for _, name, _, _ in parts if name is not None]
