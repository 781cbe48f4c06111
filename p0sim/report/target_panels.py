"""Panels of the summary frames: one target each, or words where it has nothing to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from p0sim.errors import InvalidStudyError
from p0sim.report.drawing import NOT_IN_DESIGN
from p0sim.report.panels import Labels, Panels, free_factor, lay_out
from p0sim.report.selection import TARGET, select, with_factors
from p0sim.report.style import say
from p0sim.report.wording import points_of

# Size and height of a line of the words in a panel, in points.
SMALL, LINE = 6.0, 7.5
# Points for a number under an axis and the gap beside it.
TICK = 34


def target_panels(
    summary: pd.DataFrame,
    cells: pd.DataFrame,
    rows: str | None,
    cols: str | None,
    where: Mapping[str, object] | None,
    labels: Labels,
) -> Panels:
    """The targets of a summary in panels; columns, left out, are the first factor that varies."""
    if summary.empty:
        raise InvalidStudyError("a study must have contrasts to show their estimates; got none")
    targets = with_factors(summary, cells)
    cols = cols or free_factor(select(targets, where), [rows, "method"])
    return lay_out(targets, rows, cols, where, labels, inside=()).abreast()


def rows_of_panels(panels: Panels, summary: pd.DataFrame) -> pd.DataFrame:
    """The rows of the summary that the panels show."""
    keys = panels.frame[TARGET]
    return summary.astype(dict.fromkeys(TARGET, str)).merge(keys, on=TARGET)


def each_target(
    panels: Panels, axes: NDArray[Any], summary: pd.DataFrame, needed: str
) -> Iterator[tuple[Axes, pd.DataFrame]]:
    """Axes and rows of every panel that has something to show; the others say why not."""
    rows_of = dict(list(summary.groupby(TARGET, sort=False)))
    for axis, part in panels.each(axes):
        if part.empty:
            say(axis, NOT_IN_DESIGN)
            continue
        rows = rows_of[tuple(part.iloc[0][TARGET])]
        if rows["n_used"].iloc[0]:
            yield axis, rows
        else:
            say(axis, nothing_to_show(rows.iloc[0], needed))


def each_row(
    panels: Panels, axes: NDArray[Any], summary: pd.DataFrame, needed: str
) -> Iterator[list[tuple[Axes, pd.DataFrame]]]:
    """The same, row by row of the figure; a row with nothing to show has no ticks."""
    shown = list(each_target(panels, axes, summary, needed))
    for row in axes:
        mine = [(axis, target) for axis, target in shown if axis in set(row)]
        if mine:
            yield mine
        else:
            row[0].set_xticks([])


def nothing_to_show(target: pd.Series, needed: str) -> str:
    """Why: no fit at all, or fits without what the figure shows."""
    lacks = "estimate" if target["n_failed"] == target["n_attempted"] else needed
    return f"no {lacks} in\n{target['n_attempted']} replicates"


def counted(target: pd.Series) -> tuple[str, str]:
    """How many fits stand behind a panel, in words and in short."""
    used, tried = target["n_used"], target["n_attempted"]
    word = "fitted" if used + target["n_failed"] == tried else "usable"
    return f"{used} of {tried} {word}", f"{used}/{tried}"


def words_in_panel(lines: Sequence[tuple[str, str]], room: float) -> str:
    """The lines of a panel, in short where one does not fit into `room` points."""
    fit = all(points_of(whole, SMALL) <= room for whole, _ in lines)
    return "\n".join(whole if fit else short for whole, short in lines)


def few_ticks(room: float) -> MaxNLocator:
    """Round numbers on an axis of so many points, 0 among them, clear of one another."""
    return MaxNLocator(max(2, int(room / TICK)), steps=[1, 2, 5, 10])


def write_in_panel(axis: Axes, said: str, x: float = 0.04, **where: Any) -> None:
    """Words at the top of a panel; the layout makes no room for them."""
    text = axis.text(x, 0.98, said, transform=axis.transAxes, va="top", fontsize=SMALL, **where)
    text.set_in_layout(False)
