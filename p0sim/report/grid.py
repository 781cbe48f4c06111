"""A table as text: headings, lines, and how to cut it so that it fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby


@dataclass(frozen=True)
class Heading:
    """A level under the name of its factor; a name that goes without saying is empty."""

    name: str
    level: str

    def __str__(self) -> str:
        return self.text()

    def text(self, style: Callable[[str], str] = str) -> str:
        """As "epsilon = 2", name and level each in a style."""
        return f"{style(self.name)} = {style(self.level)}" if self.name else style(self.level)


@dataclass(frozen=True)
class Line:
    """One line of a table: its group of rows, its labels, its cells."""

    group: tuple[Heading, ...]
    labels: tuple[str, ...]
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A table as text.

    Attributes
    ----------
    row_names : tuple of str
        Names over the row labels.
    columns : tuple of tuple of Heading
        Headings over each column, the outermost first.
    lines : tuple of Line
        Lines, those of a group together.
    note : str
        What stands under the table; may be empty.
    left_aligned : bool
        Whether cells align at their first number: they hold several.
    """

    row_names: tuple[str, ...]
    columns: tuple[tuple[Heading, ...], ...]
    lines: tuple[Line, ...]
    note: str
    left_aligned: bool

    def aligned(self, text: str, width: int) -> str:
        """A cell or its heading in a column of the given width."""
        return text.ljust(width) if self.left_aligned else text.rjust(width)

    def panel(self, first: int, last: int) -> Grid:
        """The grid with columns first..last-1 only."""
        lines = tuple(replace(line, cells=line.cells[first:last]) for line in self.lines)
        return replace(self, columns=self.columns[first:last], lines=lines)

    def groups(self) -> list[tuple[tuple[Heading, ...], list[Line]]]:
        """Lines by group, repeated outer labels blanked."""
        return [
            (group, blank_repeats(list(lines)))
            for group, lines in groupby(self.lines, key=lambda line: line.group)
        ]

    def spanners(self, depth: int) -> list[tuple[Heading, int]]:
        """Headings of one header row and how many columns each spans."""
        last = depth == len(self.columns[0]) - 1
        keys = [(column[: depth + 1], i if last else 0) for i, column in enumerate(self.columns)]
        return [(key[0][depth], len(list(run))) for key, run in groupby(keys)]


def blank_repeats(lines: Sequence[Line]) -> list[Line]:
    """Leave out each label that equals the one above it, as long as those to its left do."""
    blanked, above = [], None
    for line in lines:
        same = 0
        while above and same < len(line.labels) - 1 and line.labels[same] == above[same]:
            same += 1
        blanked.append(replace(line, labels=("",) * same + line.labels[same:]))
        above = line.labels
    return blanked


@dataclass(frozen=True)
class Ruler:
    """How wide things are.

    Attributes
    ----------
    gap : int
        Characters between columns.
    length : callable
        Characters of a text in print.
    """

    gap: int
    length: Callable[[str], int] = len

    def heading(self, heading: Heading) -> int:
        """Characters of a heading; " = " stands between its name and its level."""
        name = self.length(heading.name)
        return self.length(heading.level) + (name + 3 if name else 0)

    def labels(self, grid: Grid) -> list[int]:
        """Characters of each column of row labels."""
        return [
            max(self.length(name), *(self.length(line.labels[i]) for line in grid.lines))
            for i, name in enumerate(grid.row_names)
        ]

    def columns(self, grid: Grid) -> list[int]:
        """Characters of each column, the last of those under a wide heading widened."""
        widths = [
            max(self.heading(column[-1]), *(self.length(line.cells[i]) for line in grid.lines))
            for i, column in enumerate(grid.columns)
        ]
        for depth in range(len(grid.columns[0]) - 1):
            start = 0
            for heading, span in grid.spanners(depth):
                # a blank stands on either side of a heading over several columns
                lacks = self.heading(heading) + 2 - self.over(widths[start : start + span])
                start += span
                widths[start - 1] += max(lacks, 0)
        return widths

    def over(self, widths: Sequence[int]) -> int:
        """Characters over several columns and the gaps between them."""
        return sum(widths) + self.gap * (len(widths) - 1)


def panels(grid: Grid, ruler: Ruler, width: int) -> list[Grid]:
    """Split a grid so that its lines fit, between outer headings where that is possible."""
    labels = ruler.labels(grid)
    room = width - ruler.over(labels) - ruler.gap

    def fits(run: tuple[int, int]) -> bool:
        return ruler.over(ruler.columns(grid.panel(*run))) <= room

    pieces = fitting(grid, fits, (0, len(grid.columns)), 0)
    joined = [pieces[0]]
    for first, last in pieces[1:]:
        if fits((joined[-1][0], last)):
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return [grid.panel(first, last) for first, last in joined]


def fitting(
    grid: Grid, fits: Callable[[tuple[int, int]], bool], run: tuple[int, int], depth: int
) -> list[tuple[int, int]]:
    """A run of columns, cut at the headings of the first header row that makes it fit."""
    if depth == len(grid.columns[0]) or fits(run):
        return [run]
    pieces, start = [], 0
    for _, span in grid.spanners(depth):
        if run[0] <= start < run[1]:
            pieces += fitting(grid, fits, (start, start + span), depth + 1)
        start += span
    return pieces
