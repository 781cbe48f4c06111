"""What the panels of a figure show: factors over rows and columns, the others held fixed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from p0sim.columns import WHOLE_FIT
from p0sim.report.notation import mathtext
from p0sim.report.selection import (
    factors_of,
    labelled,
    level_texts,
    levels_of,
    select,
    varying,
)
from p0sim.report.wording import POINTS_PER_INCH, joined, wrapped

# Factors in the order in which they deserve panels of their own.
NEXT = ("epsilon", "L", "q", "n", "method", "estimand")
Labels: TypeAlias = Mapping[str, str] | None


@dataclass(frozen=True, eq=False)
class Panels:
    """Rows of a frame laid out in panels.

    Attributes
    ----------
    frame : DataFrame
        The rows shown.
    row_of, col_of : Series of str
        The panel row and column of each of them.
    rows, cols : list of str
        Levels of the panel rows and columns, in order; [""] where there is one.
    titles : dict of (str, str) to str
        What to print for a level, by "row" or "col" and level.
    fixed : tuple of str
        What holds in every panel, for the title of the figure.
    """

    frame: pd.DataFrame
    row_of: pd.Series
    col_of: pd.Series
    rows: list[str]
    cols: list[str]
    titles: dict[tuple[str, str], str]
    fixed: tuple[str, ...]

    def each(self, axes: NDArray[Any]) -> Iterator[tuple[Axes, pd.DataFrame]]:
        """Every panel's axes and rows."""
        for i, row in enumerate(self.rows):
            for j, col in enumerate(self.cols):
                yield axes[i, j], self.frame[(self.row_of == row) & (self.col_of == col)]

    def draw_frame(self, figure: Figure, axes: NDArray[Any]) -> None:
        """Titles over the columns, row levels at the right, what is fixed on top."""
        across = [POINTS_PER_INCH * inches for inches in figure.get_size_inches()]
        for axis, col in zip(axes[0], self.cols, strict=True):
            axis.set_title(wrapped(self.titles["col", col], 0.85 * across[0] / len(self.cols)))
        for axis, row in zip(axes[:, -1], self.rows, strict=True):
            axis.annotate(
                wrapped(self.titles["row", row], 0.7 * across[1] / len(self.rows)),
                (1.02, 0.5),
                xycoords="axes fraction",
                rotation=270,
                va="center",
                ha="left",
                multialignment="center",
            )
        if self.fixed:
            figure.suptitle(joined(self.fixed, 0.95 * across[0], ", "))


def lay_out(
    frame: pd.DataFrame,
    rows: str | None,
    cols: str | None,
    where: Mapping[str, object] | None,
    labels: Labels,
    *,
    inside: Sequence[str],
) -> Panels:
    """Choose what panels show: a factor that no panel tells apart stays at its first level.

    Parameters
    ----------
    frame : DataFrame
        Columns of the cells, and method and estimand.
    rows, cols : str or None
        Factors of the panel rows and columns.
    where : mapping of str to level, optional
        Levels to show.
    labels : mapping of str to str, optional
        What to print instead of names and levels.
    inside : sequence of str
        Factors told apart inside a panel.
    """
    shown = select(frame, where)
    names = [*factors_of(shown), *(name for name in ("method", "estimand") if name in shown)]
    constant = [name for name in names if name not in {rows, cols, *inside}]
    for name in constant:
        if len(levels_of(shown, name)) > 1:
            shown = select(shown, {name: levels_of(shown, name)[0]})
    said = {name: levels_of(shown, name)[0] for name in constant if len(shown)}
    fixed = tuple(heading(*pair, labels) for pair in said.items() if WHOLE_FIT not in pair)
    row_of, col_of = side_of(shown, rows), side_of(shown, cols)
    order = [list(dict.fromkeys(side)) or [""] for side in (row_of, col_of)]
    titles = {
        (side, level): heading(name, level, labels) if name else ""
        for side, name, levels in zip(("row", "col"), (rows, cols), order, strict=True)
        for level in levels
    }
    return Panels(shown, row_of, col_of, order[0], order[1], titles, fixed)


def side_of(frame: pd.DataFrame, name: str | None) -> pd.Series:
    """The panel row or column of every row of a frame."""
    return level_texts(frame, name) if name else pd.Series("", index=frame.index)


def heading(name: str, level: str, labels: Labels) -> str:
    """A level for a title: "n = 100", but "paper" for a method."""
    text = mathtext(labelled(level, labels))
    if name in {"method", "estimand"}:
        return text
    return f"{mathtext(labelled(name, labels))} = {text}"


def free_factor(frame: pd.DataFrame, taken: Sequence[str | None]) -> str | None:
    """The next factor worth panels of its own."""
    known = [name for name in (*NEXT, *factors_of(frame)) if name in frame and name not in taken]
    moving = varying(frame, known)
    return moving[0] if moving else None
