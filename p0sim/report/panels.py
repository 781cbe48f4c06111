"""What the panels of a figure show: factors over rows and columns, the others held fixed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeAlias

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from p0sim.columns import WHOLE_FIT
from p0sim.errors import InvalidStudyError
from p0sim.report.notation import mathtext
from p0sim.report.selection import (
    factors_of,
    labelled,
    level_texts,
    levels_of,
    only_at,
    select,
    varying,
)
from p0sim.report.wording import POINTS_PER_INCH, joined, wrapped

# Factors in the order in which they deserve panels of their own.
NEXT = ("epsilon", "L", "q", "n", "method", "estimand")
Labels: TypeAlias = Mapping[str, str] | None
# Beyond these a figure is longer than a page, or its panels are too small to read.
MOST_ROWS = MOST_COLS = 12
MOST_PANELS = 60
# Columns that a page has room for; panels of a single row or column, where they are more.
MOST_ABREAST = IN_A_COLUMN = 4
ABREAST = 3


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
        What holds in every panel, and how much is left out, for the title of the figure.
    above : dict of (str, str) to str
        Titles of single panels by row and column, where rows stand side by side.
    """

    frame: pd.DataFrame
    row_of: pd.Series
    col_of: pd.Series
    rows: list[str]
    cols: list[str]
    titles: dict[tuple[str, str], str]
    fixed: tuple[str, ...]
    above: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def each(self, axes: NDArray[Any]) -> Iterator[tuple[Axes, pd.DataFrame]]:
        """Every panel's axes and rows."""
        for i, row in enumerate(self.rows):
            for j, col in enumerate(self.cols):
                if self.above and (row, col) not in self.above:
                    axes[i, j].set_axis_off()
                    continue
                yield axes[i, j], self.frame[(self.row_of == row) & (self.col_of == col)]

    def abreast(self) -> Panels:
        """At most four columns: others become rows, or go on in rows of panels further down.

        Three or four rows turn into as many columns. A single row, or a single column of many
        panels, goes on three abreast, several rows four abreast; each panel has a title then.
        """
        if len(self.cols) <= MOST_ABREAST and (len(self.cols) > 1 or len(self.rows) <= IN_A_COLUMN):
            return self
        return (
            self.turned() if 2 < len(self.rows) <= MOST_ABREAST < len(self.cols) else self.flowing()
        )

    def turned(self) -> Panels:
        """Rows as columns and columns as rows."""
        other = {"row": "col", "col": "row"}
        return replace(
            self,
            row_of=self.col_of,
            col_of=self.row_of,
            rows=self.cols,
            cols=self.rows,
            titles={(other[side], level): said for (side, level), said in self.titles.items()},
        )

    def flowing(self) -> Panels:
        """Every row on as many lines as it needs; a single column as a row."""
        pairs = [[(row, col) for col in self.cols] for row in self.rows]
        lines = [list(chain(*pairs))] if len(self.cols) == 1 else pairs
        across = ABREAST if len(lines) == 1 else MOST_ABREAST
        place = {
            pair: (f"{i}.{k // across}", str(k % across))
            for i, line in enumerate(lines)
            for k, pair in enumerate(line)
        }
        there = [place[pair] for pair in zip(self.row_of, self.col_of, strict=True)]
        return replace(
            self,
            row_of=pd.Series([row for row, _ in there], self.frame.index),
            col_of=pd.Series([col for _, col in there], self.frame.index),
            rows=list(dict.fromkeys(row for row, _ in place.values())),
            cols=list(dict.fromkeys(col for _, col in place.values())),
            above={place[row, col]: self.title_of(row, col) for row, col in place},
        )

    def title_of(self, row: str, col: str) -> str:
        """What one panel shows."""
        said = self.titles["col", col], self.titles["row", row]
        return ", ".join(title for title in said if title)

    def draw_frame(self, figure: Figure, axes: NDArray[Any]) -> None:
        """Titles over the columns, row levels at the right, what is fixed on top."""
        across = [POINTS_PER_INCH * inches for inches in figure.get_size_inches()]
        if self.above:
            self.name_panels(axes, across[0])
        else:
            self.name_sides(axes, across)
        if self.fixed:
            figure.suptitle(joined(self.fixed, 0.95 * across[0], ", "))

    def name_panels(self, axes: NDArray[Any], across: float) -> None:
        """A title over every panel."""
        for (row, col), title in self.above.items():
            axis = axes[self.rows.index(row), self.cols.index(col)]
            axis.set_title(wrapped(title, 0.85 * across / len(self.cols)))

    def name_sides(self, axes: NDArray[Any], across: Sequence[float]) -> None:
        """Titles over the columns, row levels at the right."""
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

    Raises
    ------
    InvalidStudyError
        If a factor or a level is not in the frame, or rows and cols are the same.

    Notes
    -----
    At most 12 rows, 12 columns and 60 panels are laid out, the first ones; the
    title counts the levels left out.
    """
    require_apart(rows, cols)
    shown = select(frame, where)
    names = [*factors_of(shown), *(name for name in ("method", "estimand") if name in shown)]
    constant = [name for name in names if name not in {rows, cols, *inside}]
    for name in constant:
        if len(levels_of(shown, name)) > 1:
            shown = select(shown, {name: levels_of(shown, name)[0]})
    said = {name: levels_of(shown, name)[0] for name in constant if len(shown)}
    fixed = tuple(
        heading(*pair, labels) + mathtext(only_at(pair[0], shown, labels))
        for pair in said.items()
        if WHOLE_FIT not in pair
    )
    row_of, col_of = side_of(shown, rows), side_of(shown, cols)
    order = [list(dict.fromkeys(side)) or [""] for side in (row_of, col_of)]
    first = first_levels(*order)
    kept = row_of.isin(first[0]) & col_of.isin(first[1])
    fixed += tuple(
        left_out(name, len(all_of), len(some), labels)
        for name, all_of, some in zip((rows, cols), order, first, strict=True)
        if name and len(some) < len(all_of)
    )
    titles = {
        (side, level): heading(name, level, labels) if name else ""
        for side, name, levels in zip(("row", "col"), (rows, cols), first, strict=True)
        for level in levels
    }
    return Panels(shown[kept], row_of[kept], col_of[kept], *first, titles, fixed)


def require_apart(rows: str | None, cols: str | None, x: str | None = None) -> None:
    """Refuse one factor in two places: all panels but those where it agrees would be empty."""
    given = [name for name in (rows, cols, x) if name]
    if len(set(given)) < len(given):
        places = "rows, cols and x" if x else "rows and cols"
        twice = max(given, key=given.count)
        raise InvalidStudyError(f"{places} must differ; got {twice!r} twice")


def first_levels(rows: list[str], cols: list[str]) -> tuple[list[str], list[str]]:
    """As many levels as one figure has panels for."""
    across = cols[:MOST_COLS]
    return rows[: min(MOST_ROWS, MOST_PANELS // len(across))], across


def left_out(name: str, n_all: int, n_shown: int, labels: Labels) -> str:
    """How many levels of a factor a figure has no panels for.

    Examples
    --------
    >>> left_out("method", 20, 12, None)
    '8 of 20 levels of method left out'
    """
    return f"{n_all - n_shown} of {n_all} levels of {mathtext(labelled(name, labels))} left out"


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
