"""What a private list really costs, and whether it tells more than a uniform draw: in numbers.

Averages are over the cells that differ in their data alone: graph, score, n. Their Monte Carlo
standard error is at most the mean of those of the cells, however correlated these are (derived
here: the standard deviation of a sum is at most the sum of the standard deviations).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from p0sim.report.grid import Grid, Heading, Line
from p0sim.report.material import Material
from p0sim.report.precision import DASH, HUGE, MOST_PLACES, digits_of, in_powers
from p0sim.report.quantities import REALISED, Quantity, quantities_of
from p0sim.report.selection import TARGET, factors_of, labelled, level_texts, varying
from p0sim.report.tables import PaperTable

# Factors over which a line averages.
OF_DATA = ("dataset", "protocol", "n")
REFERENCES = ("uniform", "none")
WORST = REALISED[0].name
# The epsilon at which the published comparison was made.
PUBLISHED = 0.1
HEADINGS = ("epsilon claimed", "epsilon realised")
# Twice its Monte Carlo standard error tells a difference from 0.
SURE = 2.0


@dataclass(frozen=True, eq=False)
class CalibrationNote:
    """A paragraph and a table.

    Attributes
    ----------
    sentences : tuple of str
    table : PaperTable
    """

    sentences: tuple[str, ...]
    table: PaperTable


def calibration_note(material: Material) -> CalibrationNote | None:
    """What the epsilons of a study with lists are; None for other studies.

    Parameters
    ----------
    material : Material
    """
    ours = quantities_of(material.identity)
    if not ours or "epsilon" not in material.cells or not has_uniform(material):
        return None
    lines = private_lines(material, ours[0])
    if lines.empty:
        return None
    return CalibrationNote(sentences_of(lines, material, ours[0]), table_of(lines, ours[0]))


def has_uniform(material: Material) -> bool:
    """Whether methods are compared with lists that do not look at the scores."""
    spec = material.identity["methods"].get(material.reference or "", {})
    return bool(spec.get("mechanism") == "uniform")


def private_lines(material: Material, result: Quantity) -> pd.DataFrame:
    """One row a private method and setting: claimed and realised epsilon, result, difference.

    Returns
    -------
    DataFrame
        name, method, epsilon, least, most (realised), value, mcse, gap, gap_mcse, told (cells whose
        difference is more than twice its MCSE), cells.
    """
    cells = per_cell(material, result)
    if cells.empty:
        return cells
    names = [name for name in factors_of(material.cells) if name not in (*OF_DATA, "epsilon")]
    cells = cells.assign(
        name=named(cells, ["method", *varying(cells, names)], material),
        told=(cells["gap"].abs() > SURE * cells["gap_mcse"]) & (cells["gap"] != 0),
    )
    groups = cells.groupby(["method", "name", "epsilon"], sort=False, observed=True)
    lines = groups.agg(
        least=("realised", "min"),
        most=("realised", "max"),
        value=("value", "mean"),
        mcse=("mcse", "mean"),
        gap=("gap", "mean"),
        gap_mcse=("gap_mcse", "mean"),
        told=("told", "sum"),
        cells=("value", "size"),
    )
    place = {name: i for i, name in enumerate(dict.fromkeys(cells["name"]))}
    lines = lines.reset_index()
    return lines.sort_values("name", key=lambda names: names.map(place), kind="stable")


def per_cell(material: Material, result: Quantity) -> pd.DataFrame:
    """Private methods cell by cell: result, its difference from the uniform draw, realised loss."""
    rows = material.performance
    private = [
        name
        for name, spec in material.identity["methods"].items()
        if spec.get("mechanism") not in REFERENCES
    ]
    rows = rows[rows["method"].isin(private)]

    def of(estimand: str, measure: str, names: Mapping[str, str]) -> pd.DataFrame:
        found = rows[(rows["estimand"] == estimand) & (rows["measure"] == measure)]
        return found[[*TARGET[:2], *names]].rename(columns=names)

    results = rows[(rows["estimand"] == result.name) & (rows["measure"] == "mean")]
    gaps = of(result.name, "mean_diff", {"value": "gap", "mcse": "gap_mcse"})
    losses = of(WORST, "mean", {"value": "realised"})
    joined_rows = results.merge(gaps, on=TARGET[:2], how="left")
    return joined_rows.merge(losses, on=TARGET[:2], how="left").dropna(subset=["value"])


def named(cells: pd.DataFrame, keys: list[str], material: Material) -> pd.Series:
    """A method as readers know it, with the levels of the factors that make it another."""
    parts = [level_texts(cells, name).map(lambda t: labelled(t, material.labels)) for name in keys]
    text = parts[0]
    for more in parts[1:]:
        text = text + ", " + more
    return text


def by_hand(material: Material) -> list[str]:
    """Methods with a sensitivity that nothing supports."""
    model = material.identity["model"].get("sensitivity")
    methods = material.identity["methods"].items()
    return [name for name, spec in methods if spec.get("sensitivity") or model]


def table_of(lines: pd.DataFrame, result: Quantity) -> PaperTable:
    """The lines as a table."""
    heads = (*HEADINGS, f"{result.label} (MCSE)", "minus uniform draw (MCSE)", "cells told apart")
    columns = tuple((Heading("", head),) for head in heads)
    grid = Grid(
        row_names=("method",),
        columns=columns,
        lines=tuple(Line((), (row.name,), cells_of(row)) for row in records(lines)),
        note=NOTE,
        left_aligned=True,
    )
    return PaperTable(lines, grid)


NOTE = (
    "Epsilon realised: over all cells, the smallest privacy loss that is proved for the query node "
    "for which it is largest. Values and differences are means over the cells that differ in their "
    "data alone, with an upper bound on the Monte Carlo standard error of that mean; differences "
    "are those of pairs. Cells told apart: those whose own difference from the uniform draw is "
    "more than twice its Monte Carlo standard error, which one cell in twenty is by chance where "
    "replicates are many, and more where they are few."
)


@dataclass(frozen=True)
class Row:
    """One line of the table, its numbers ready to be read."""

    method: str
    name: str
    epsilon: float
    least: float
    most: float
    value: float
    mcse: float
    gap: float
    gap_mcse: float
    told: int
    cells: int


def records(lines: pd.DataFrame) -> list[Row]:
    """The rows of a frame."""
    return [Row(**{str(k): v for k, v in row.items()}) for row in lines.to_dict("records")]


def cells_of(row: Row) -> tuple[str, ...]:
    """What a line of the table says."""
    return (
        f"{row.epsilon:g}",
        span(row.least, row.most),
        with_error(row.value, row.mcse),
        with_error(row.gap, row.gap_mcse, sign="+"),
        DASH if math.isnan(row.gap_mcse) else f"{row.told} of {row.cells}",
    )


def span(least: float, most: float) -> str:
    """Two numbers, or one.

    Examples
    --------
    >>> span(0.01, 0.0100001), span(0.02, 3.5), span(math.nan, math.nan)
    ('0.01', '0.02 to 3.5', '–')
    """
    if math.isnan(least):
        return DASH
    # rounded first, since 2000 is easier to read than 2e+03
    return " to ".join(dict.fromkeys(f"{float(f'{end:.3g}'):g}" for end in (least, most)))


def with_error(value: float, mcse: float, sign: str = "") -> str:
    """A number with its error, decimals by the error.

    Examples
    --------
    >>> with_error(0.12345, 0.0021), with_error(0.02, 0.003, "+"), with_error(1.5, math.nan)
    ('0.123 (0.002)', '+0.020 (0.003)', '1.5 (–)')
    """
    if math.isnan(value):
        return DASH
    if not mcse > 0:
        return f"{value:{sign}.3g} ({DASH if math.isnan(mcse) else '0'})"
    places = max(digits_of(mcse), 0)
    if places > MOST_PLACES or abs(value) >= HUGE:
        return f"{in_powers(value, places, sign)} ({mcse:.1g})"
    # adding zero turns a rounded -0.0 into 0.0
    return f"{round(value, places) + 0.0:{sign}.{places}f} ({mcse:.{places}f})"


def sentences_of(lines: pd.DataFrame, material: Material, result: Quantity) -> tuple[str, ...]:
    """What the table says, in words."""
    published = min(lines["epsilon"], key=lambda e: abs(math.log(e / PUBLISHED)))
    unproved = by_hand(material)
    honest = [row for row in records(lines) if row.method not in unproved]
    there = [row for row in honest if row.epsilon == published]
    return (
        "A calibration is the bound that turns epsilon into the parameter of a draw. Methods of "
        "one claimed epsilon realise different ones, and their comparison depends on that.",
        *realised_sentences(honest),
        uniform_sentence(there, material, result, published),
        by_hand_sentence(
            [row for row in records(lines) if row.method in unproved and row.epsilon == published]
        ),
    )


def realised_sentences(rows: list[Row]) -> list[str]:
    """How much of its claim each method uses."""
    said = []
    for name in dict.fromkeys(row.name for row in rows):
        shares = [
            100 * end / r.epsilon for r in rows if r.name == name for end in (r.least, r.most)
        ]
        if shares and not any(map(math.isnan, shares)):
            said.append(f"{name}, {span(min(shares), max(shares))} %")
    return [f"Realised of the claimed epsilon: {'; '.join(said)}."] if said else []


def uniform_sentence(rows: list[Row], material: Material, result: Quantity, epsilon: float) -> str:
    """Which methods cannot be told from a uniform draw, and which can."""
    drawn = uniform_value(material, result, epsilon)
    said = f"At epsilon = {epsilon:g} a uniform draw has a mean {result.label} of {drawn}"
    rows = [row for row in rows if not math.isnan(row.gap)]
    if all(math.isnan(row.gap_mcse) for row in rows):
        return f"{said}. Without a Monte Carlo standard error no method can be told from it."
    alike = [row for row in rows if abs(row.gap) <= SURE * row.gap_mcse]
    apart = [row for row in rows if abs(row.gap) > SURE * row.gap_mcse]
    parts = [
        f"{words}: "
        + "; ".join(f"{r.name}, {with_error(r.gap, r.gap_mcse, sign='+')}" for r in found)
        for words, found in (
            ("Not told from a uniform draw by that mean", alike),
            ("Told from it", apart),
        )
        if found
    ]
    told = ". ".join(parts)
    return f"{said} over the cells. {told} (difference and its Monte Carlo standard error)."


def uniform_value(material: Material, result: Quantity, epsilon: float) -> str:
    """The result of the uniform draw over the cells of one epsilon, with its error."""
    rows = material.performance
    mine = rows[
        (rows["method"] == material.reference)
        & (rows["estimand"] == result.name)
        & (rows["measure"] == "mean")
        & (rows["epsilon"] == epsilon)
    ]
    return with_error(float(mine["value"].mean()), float(mine["mcse"].mean()))


def by_hand_sentence(rows: list[Row]) -> str:
    """What the sensitivities set by hand really cost."""
    said = [f"{row.name}, {span(row.least, row.most)}" for row in rows if not math.isnan(row.most)]
    if not said:
        return ""
    return (
        f"With a sensitivity set by hand, realised at a claimed epsilon of {rows[0].epsilon:g}: "
        f"{'; '.join(said)}. Such lists are not private at the epsilon stated, and their curves do "
        "not show what it buys."
    )
