"""Text that fits where it stands: its printed width, line breaks, legends."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from numpy.typing import NDArray

from p0sim.report.notation import number_text
from p0sim.report.style import LEGEND_LINE, RC, WIDTHS, Width, glyphs_unsaid

POINTS_PER_INCH = 72
# Words, mathematics in one piece: a break may stand between any two.
WORD = re.compile(r"(?:\\\$|\$[^$]*\$|[^\s$])+")
# Of a legend, in font sizes: the line, the gap to its text, the gap between columns.
LEGEND_ENTRY = 3.2 + 0.8 + 2.0
# Around it, in points.
LEGEND_PAD = 14
# Share of an axis that its values span; points between the names of two ticks.
WITHIN, BETWEEN_NAMES = 0.9, 3


@lru_cache(maxsize=4096)
def points_of(text: str, size: float = RC["font.size"]) -> float:
    """Printed width of a line of text, mathematics included, in points.

    Examples
    --------
    >>> points_of("mm") > points_of("m") > points_of("")
    True
    """
    if not text.strip():
        return 0.0
    with glyphs_unsaid():
        path = TextPath((0, 0), text, size=size, prop=FontProperties(family=RC["font.family"]))
    return float(path.get_extents().width)


def joined(pieces: Sequence[str], room: float, between: str, size: float = RC["font.size"]) -> str:
    """Pieces with `between` between them, on as many lines as they need in `room` points."""
    lines: list[str] = []
    for piece in pieces:
        longer = f"{lines[-1]}{between}{piece}" if lines else piece
        if lines and points_of(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(piece)
    return f"{between.rstrip()}\n".join(lines)


def wrapped(text: str, room: float, size: float = RC["font.size"]) -> str:
    r"""Text broken between words so that every line has at most `room` points, where it can.

    Examples
    --------
    >>> wrapped("Balanced, noise-aware", 40)
    'Balanced,\nnoise-aware'
    """
    fits = points_of(text, size) <= room
    return text if fits else joined(WORD.findall(text), room, " ", size)


def legend_columns(handles: Sequence[Artist], width: Width) -> int:
    """Entries side by side in a legend as wide as the figure."""
    widths = [entry_points(str(handle.get_label())) for handle in handles]
    for columns in range(len(handles), 1, -1):
        taken = sum(part.max() for part in np.array_split(widths, columns))
        if taken <= WIDTHS[width] * POINTS_PER_INCH - LEGEND_PAD:
            return columns
    return 1


def legend_inches(handles: Sequence[Artist], width: Width) -> float:
    """Height to keep for such a legend."""
    return LEGEND_LINE * -(-len(handles) // legend_columns(handles, width))


def legend_outside(figure: Figure, handles: Sequence[Artist], width: Width) -> None:
    """One legend for all panels, below them."""
    columns = legend_columns(handles, width)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)


def entry_points(text: str) -> float:
    """Width of an entry of a legend, in points."""
    size = float(RC["legend.fontsize"])
    return points_of(text, size) + LEGEND_ENTRY * size


def longest(names: Sequence[str]) -> float:
    """Width of the widest name of a tick, in points."""
    return max((points_of(name, RC["xtick.labelsize"]) for name in names), default=0.0)


def crowded(names: Sequence[str], room: float) -> bool:
    """Whether names under an axis of `room` points would run into each other."""
    return longest(names) > 0.9 * room / max(len(names), 1)


def slant_inches(names: Sequence[str], room: float) -> float:
    """Height to keep for names that are turned."""
    return longest(names) / POINTS_PER_INCH / math.sqrt(2) if crowded(names, room) else 0.0


def slant_if_crowded(axes: Sequence[Axes], names: Sequence[str], room: float) -> None:
    """Turn the names under the panels of a figure where they would run into each other."""
    if crowded(names, room):
        for axis in axes:
            axis.tick_params(axis="x", labelrotation=45)
            for text in axis.get_xticklabels():
                text.set(ha="right", rotation_mode="anchor")


def panel_points(n_columns: int, width: Width) -> float:
    """Width of a panel without what stands beside it, in points, roughly."""
    return 0.8 * WIDTHS[width] * POINTS_PER_INCH / n_columns


def ticks_apart(values: Sequence[float], room: float) -> tuple[list[float], list[str]]:
    """Ticks of a log axis of `room` points at all values, named where there is room for a name.

    Of values at even distances every second is named, or every third, where not all can be.

    Examples
    --------
    >>> ticks_apart([1.0, 1.05, 2.0, 4.0], 60)
    ([1.0, 1.05, 2.0, 4.0], ['1', '', '2', '4'])
    >>> ticks_apart([1.0, 10.0, 100.0, 1000.0, 10000.0], 60)[1]
    ['1', '', '100', '', '10000']
    """
    ordered = sorted(set(values))
    steps = np.diff(np.log(ordered))
    skips = range(1, len(ordered) + 1) if np.allclose(steps, steps[:1], rtol=0.05) else (1,)
    thinned = (ordered[::skip] for skip in skips)
    per_unit = WITHIN * room / (float(steps.sum()) or 1.0)
    chosen = next((some for some in thinned if clear(some, per_unit) == some), ordered)
    named = clear(chosen, per_unit)
    return ordered, [number_text(value) if value in named else "" for value in ordered]


def clear(ordered: Sequence[float], per_unit: float) -> list[float]:
    """The values whose names stand clear of those before, at so many points a unit of their log."""
    kept, end = [], -math.inf
    for value in ordered:
        half = points_of(number_text(value), RC["xtick.labelsize"]) / 2
        middle = per_unit * math.log(value)
        if middle - half >= end + BETWEEN_NAMES:
            kept.append(value)
            end = middle + half
    return kept


def name_y_axes(figure: Figure, name: str) -> None:
    """One name at the left of all panels."""
    room = 0.6 * POINTS_PER_INCH * figure.get_figheight()
    figure.supylabel(wrapped(name, room), fontsize=RC["font.size"], ma="center")


def name_x_axes(axes: NDArray[Any], name: str, width: Width) -> None:
    """The same name under every column of panels, on as many lines as it needs, and its ticks'."""
    for axis in lowest(axes):
        axis.set_xlabel(wrapped(name, panel_points(axes.shape[1], width)))
        axis.tick_params(axis="x", labelbottom=True)


def lowest(axes: NDArray[Any]) -> list[Axes]:
    """The last panel of every column, above the places where none is."""
    return [[axis for axis in column if axis.axison][-1] for column in axes.T]
