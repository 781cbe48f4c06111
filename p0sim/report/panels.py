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

# Factors in the order in which they deserve panels of their own.
NEXT = ("epsilon", "L", "q", "n", "method", "estimand")
Labels: TypeAlias = Mapping[str, str] | None


@dataclass(frozen=True, eq=False)
class Panels:
    """Rows of a frame laid out in panels.

    Attributes
    ----------
    frame : DataFrame
        The rows shown, with text columns `row` and `col`.
    rows, cols : list of str
        Levels of the panel rows and columns, in order; [""] where there is one.
    titles : dict of str to str
        What to print for a level.
    fixed : str
        What holds in every panel, for the title of the figure.
    """

    frame: pd.DataFrame
    rows: list[str]
    cols: list[str]
    titles: dict[tuple[str, str], str]
    fixed: str

    def each(self, axes: NDArray[Any]) -> Iterator[tuple[Axes, pd.DataFrame]]:
        """Every panel's axes and rows."""
        for i, row in enumerate(self.rows):
            for j, col in enumerate(self.cols):
                yield (
                    axes[i, j],
                    self.frame[(self.frame["row"] == row) & (self.frame["col"] == col)],
                )

    def draw_frame(self, figure: Figure, axes: NDArray[Any]) -> None:
        """Titles over the columns, row levels at the right, what is fixed on top."""
        for axis, col in zip(axes[0], self.cols, strict=True):
            axis.set_title(self.titles["col", col])
        for axis, row in zip(axes[:, -1], self.rows, strict=True):
            axis.annotate(
                self.titles["row", row],
                (1.02, 0.5),
                xycoords="axes fraction",
                rotation=270,
                va="center",
                ha="left",
            )
        if self.fixed:
            figure.suptitle(self.fixed)


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
    for name in names:
        if name not in {rows, cols, *inside} and len(levels_of(shown, name)) > 1:
            shown = select(shown, {name: levels_of(shown, name)[0]})
    keyed = shown.assign(
        row=level_texts(shown, rows) if rows else "", col=level_texts(shown, cols) if cols else ""
    )
    titles = {
        (side, level): heading(name, level, labels) if name else ""
        for side, name in (("row", rows), ("col", cols))
        for level in dict.fromkeys(keyed[side])
    }
    constant = [n for n in names if n not in {rows, cols, *inside}]
    said = {name: levels_of(shown, name)[0] for name in constant if len(shown)}
    fixed = ", ".join(heading(*pair, labels) for pair in said.items() if WHOLE_FIT not in pair)
    order = [levels_of(shown, name) if name else [""] for name in (rows, cols)]
    return Panels(keyed, order[0], order[1], titles, fixed)


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
