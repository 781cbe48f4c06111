"""One page of every column of every frame and of every measure, for readers and for R users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from p0sim.columns import (
    CELL,
    ESTIMAND,
    FACTORS,
    FRAMES,
    MEASURES,
    METHOD,
    PERFORMANCE,
    PROGRESS,
    SUMMARIES,
    Column,
    cell_columns,
)
from p0sim.report.quantities import QUANTITIES

HEADER = ("column", "meaning", "unit", "kind")
INTRODUCTION = """\
# Columns and measures

Printed by `p0sim columns`. Nodes, replicates and positions count from 1. A missing number is an
empty field of a CSV file and a null in Parquet, never 0. Kinds: text; integer; integer or missing;
number (a double)."""
IN_R = """\
## In R

```r
estimates <- read.csv("estimates.csv", na.strings = "", colClasses = c(cell = "character"))
estimates <- dplyr::collect(arrow::open_dataset("DIR/estimates"))  # the same from the blocks
cells <- arrow::read_parquet("DIR/cells.parquet")  # then merge(estimates, cells, by = "cell")
```

The first line reads what `p0sim export DIR` writes; `DIR` is a results folder, in which
`replicates`, `timings` and `problems` are folders of blocks like `estimates`. Blocks are in no
order, CSV files in that of the study file. A cell is text although it may look like a number: 12e4.
A column of a CSV file without any entry is logical in R."""
ABOUT = {
    "cells": "One row a cell. A value and a rule for each factor of the study, its own ones too.",
    "replicates": "One row a cell, method and replicate, whether or not the fit has an estimate.",
    "estimates": "One row a cell, method, replicate and estimand, of fits with an estimate.",
    "timings": "One row a cell, method and replicate.",
    "problems": "One row an error or warning.",
    "predictions": "One row a cell, method and estimand: what is known before any data.",
    "performance": "One row a cell, method, estimand and measure. The columns of `cells` come "
    "first.",
    "progress": "One row a cell: how far the study is. The columns of `cells` come first.",
    "qq": "Quantiles of the standardised errors, in the folder of a report.",
    "zipper": "Intervals by centile, in the folder of a report.",
    "points": "Estimates and standard errors of the first replicates, in the folder of a report.",
}
PREDICTIONS = (
    CELL,
    METHOD,
    ESTIMAND,
    Column("predicted_coverage", "coverage by large-sample theory", "", "number"),
    Column("null_value", "what the estimand is tested against", "as estimate", "number"),
)


def columns_page() -> str:
    """Every frame and every measure as Markdown that reads well as text.

    Examples
    --------
    >>> print(columns_page()[:22])
    # Columns and measures
    """
    frames = {
        "cells": cell_columns(FACTORS),
        **FRAMES,
        "predictions": PREDICTIONS,
        "performance": PERFORMANCE,
        **SUMMARIES,
        "progress": PROGRESS,
    }
    sections = [f"## {name}\n\n{ABOUT[name]}\n\n{_columns(frames[name])}" for name in frames]
    return "\n\n".join([INTRODUCTION, IN_R, *sections, _quantities(), _measures()]) + "\n"


def _columns(columns: Iterable[Column]) -> str:
    rows = [(f"`{each.name}`", each.meaning, each.unit, each.kind) for each in columns]
    return padded([HEADER, *rows])


def _quantities() -> str:
    parts = [
        f"`{experiment}`\n\n"
        + padded([("estimand", "meaning"), *((f"`{each.name}`", each.meaning) for each in found)])
        for experiment, found in QUANTITIES.items()
    ]
    said = "Estimands of the experiments with lists. They have no true value: look at `mean`."
    return "\n\n".join(["## Estimands without a true value", said, *parts])


def _measures() -> str:
    rows = [(f"`{each.name}`", each.meaning, each.kind) for each in MEASURES.values()]
    said = (
        "Values of `measure` in `performance`. A proportion is stored as 0..1 and printed x 100; "
        "a percent\nis stored as it is printed."
    )
    return f"## Measures\n\n{said}\n\n{padded([('measure', 'meaning', 'kind'), *rows])}"


def padded(rows: Sequence[Sequence[str]]) -> str:
    r"""A pipe table whose columns line up; the first row is its header.

    Examples
    --------
    >>> print(padded([("a", "b"), ("one", "|x|")]))
    | a   | b     |
    | --- | ----- |
    | one | \|x\| |
    """
    cells = [[text.replace("|", r"\|") for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(text.ljust(size) for text, size in zip(row, widths, strict=True)) + " |"
        for row in cells
    )
