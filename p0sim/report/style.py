"""How figures look, and how they are written: no display, no global state, the same bytes."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import seaborn
from matplotlib import pyplot, style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

from p0sim.report.notation import number_text

Width: TypeAlias = Literal["single", "double"]

# One and two columns of a journal, in inches.
WIDTHS: dict[Width, float] = {"single": 85 / 25.4, "double": 180 / 25.4}
TITLE_HEIGHT = 0.3
LEAST_PANEL = 1.0
# Of the numbers under a row of panels, in inches.
TICKS = 0.15
# Height that the panels of a figure share, in inches: a page without its margins.
PAGE = 8.0
FREE = "free"
GLYPH_WARNING = "Glyph .* missing"
LEGEND_LINE = 0.16
GREY, LIGHT, INK = "0.45", "0.85", "0.1"
# Intervals that hold the truth and those that miss it: light and thin, dark and thick.
HIT: dict[str, Any] = {"color": "#56b4e9", "linewidth": 0.6}
MISS: dict[str, Any] = {"color": INK, "linewidth": 1.1}
# Fonts that come with matplotlib, so that a figure is the same on every machine.
RC = seaborn.axes_style("ticks") | {
    "font.family": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "axes.titlepad": 3,
    "axes.labelpad": 2,
    "axes.linewidth": 0.6,
    "axes.formatter.useoffset": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "figure.titlesize": 7.5,
    "figure.dpi": 100,
    "lines.linewidth": 0.9,
    "lines.markersize": 4,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "savefig.dpi": 200,
    "path.simplify": True,
}


class Mark(NamedTuple):
    """How a series is drawn; each part alone tells it from the others."""

    color: tuple[float, float, float]
    marker: str
    linestyle: Any
    filled: bool

    def line(self) -> dict[str, Any]:
        """Keywords of `Axes.plot` and `Axes.errorbar`."""
        return {
            "color": self.color,
            "marker": self.marker,
            "linestyle": self.linestyle,
            "markerfacecolor": self.color if self.filled else "white",
            "markeredgecolor": self.color,
        }

    def lone(self) -> dict[str, Any]:
        """The same for a point that rests on almost nothing: small, open, without a line."""
        apart = {"linestyle": "none", "markersize": 2.5, "markerfacecolor": "white"}
        return self.line() | apart


MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
LINES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
# Dark to light and back, so that neighbours differ in grey too.
SHADES = (0, 1, 2, 4, 3, 9, 5, 7)


def mark_of(series: int) -> Mark:
    """The mark of the series with this number, from 0."""
    palette = seaborn.color_palette("colorblind")
    return Mark(
        tuple(palette[SHADES[series % len(SHADES)]]),
        MARKERS[series % len(MARKERS)],
        LINES[series % len(LINES)],
        (series + series // len(MARKERS)) % 2 == 0,
    )


@contextmanager
def house_style() -> Iterator[None]:
    """Settings of every figure, whatever a matplotlibrc says; the caller's are back afterwards."""
    with style.context(["default", RC]):
        yield


@contextmanager
def one_warning_for_glyphs() -> Iterator[None]:
    """Say once, not at every glyph and every drawing, that the font lacks some."""
    with glyphs_unsaid() as lacking:
        yield
    if lacking:
        several = f"; {len(lacking)} such messages" if len(lacking) > 1 else ""
        warnings.warn(f"{lacking[0].rstrip('.')}{several}", stacklevel=4)


@contextmanager
def glyphs_unsaid() -> Iterator[list[str]]:
    """Keep what warnings and the log of mathtext say of lacking glyphs, each once, to oneself."""
    log = logging.getLogger("matplotlib.mathtext")
    said: dict[str, None] = {}

    def keep(record: logging.LogRecord) -> bool:
        lacks = "glyph" in record.getMessage()
        said.update({record.getMessage(): None} if lacks else {})
        return not lacks

    found: list[str] = []
    log.addFilter(keep)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield found
    finally:
        log.removeFilter(keep)
    for one in caught:
        if re.match(GLYPH_WARNING, str(one.message)):
            said[str(one.message)] = None
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    found.extend(said)


def panel_grid(
    n_rows: int,
    n_cols: int,
    width: Width,
    height: float,
    below: float = 0.0,
    *,
    x_by_row: bool = False,
) -> tuple[Figure, NDArray[Any]]:
    """A figure that pyplot knows nothing of, with its grid of axes.

    Parameters
    ----------
    n_rows, n_cols : int
        Panels.
    width : str
        "single" (85 mm) or "double" (180 mm).
    height : float
        Height of a panel over its width.
    below : float
        Inches kept for a legend under the panels.
    x_by_row : bool
        As in `stacked_grid`.
    """
    parts = [("panel", panel_inches(n_cols, width, height, n_rows))] * n_rows
    return stacked_grid(parts, n_cols, width, below, x_by_row=x_by_row)


def panel_inches(
    n_cols: int, width: Width, height: float, n_rows: int = 1, beside: float = 0.0
) -> float:
    """Height of a panel, given its height over its width: not tiny, and all of them on a page.

    Parameters
    ----------
    n_cols, width, height, n_rows
        As in `panel_grid`.
    beside : float
        Inches of every row of panels that something else takes.
    """
    wanted = height * min(WIDTHS[width] / n_cols, 2.7)
    return max(min(wanted, PAGE / n_rows - beside), LEAST_PANEL)


def stacked_grid(
    parts: Sequence[tuple[str, float]],
    n_cols: int,
    width: Width,
    below: float = 0.0,
    *,
    x_by_row: bool = False,
) -> tuple[Figure, NDArray[Any]]:
    """Rows of axes of several kinds and heights, all with one x axis or each with its own.

    Parameters
    ----------
    parts : sequence of (str, float)
        Kind and height in inches of every row of axes. Those of one kind share
        their y axis; those of the kind `FREE` have one of their own.
    n_cols, width, below
        As in `panel_grid`.
    x_by_row : bool
        Whether the x axis is shared by the panels of a row alone.
    """
    heights = [height + (TICKS if x_by_row else 0) for _, height in parts]
    size = (WIDTHS[width], sum(heights) + TITLE_HEIGHT + below)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(parts), n_cols, height_ratios=heights)
    axes = np.empty((len(parts), n_cols), dtype=object)
    first: dict[str, Axes] = {}
    for row, column in np.ndindex(axes.shape):
        kind = parts[row][0]
        x_of = axes[row if x_by_row else 0, 0]
        axis = figure.add_subplot(grid[row, column], sharex=x_of, sharey=first.get(kind))
        if kind != FREE:
            first.setdefault(kind, axis)
            axis.tick_params(labelleft=column == 0)
        # Ticks are made when drawn, maybe outside the style: their sizes are set now.
        axis.tick_params(labelsize=RC["xtick.labelsize"], width=0.6, length=2.5)
        axis.tick_params(axis="x", labelbottom=x_by_row or row == len(parts) - 1)
        axes[row, column] = axis
    return figure, axes


def say(axis: Axes, text: str) -> None:
    """Words in the middle of a panel that has nothing to show."""
    axis.text(
        0.5,
        0.5,
        text,
        transform=axis.transAxes,
        ha="center",
        va="center",
        color=GREY,
        style="italic",
    )


def log_ticks(side: Axis, ticks: Sequence[float], names: Sequence[str] | None = None) -> None:
    """A log scale with these numbers on it, written out or under names of their own."""
    side.axes.set(**{"xscale" if side is side.axes.xaxis else "yscale": "log"})
    side.set_ticks(ticks, names or [number_text(tick) for tick in ticks])
    side.set_minor_formatter(NullFormatter())
    side.set_ticks([], minor=True)


def save_figure(figure: Figure, stem: str | Path) -> tuple[Path, Path]:
    """Write a figure as STEM.pdf and STEM.png and close it.

    Parameters
    ----------
    figure : Figure
        Any matplotlib figure.
    stem : str or Path
        Path without a suffix; a dot in it stays.

    Returns
    -------
    tuple of Path
        The PDF and the PNG (200 dots per inch). Saving the same figure again
        gives the same bytes: no dates, no versions.
    """
    pdf, png = Path(f"{stem}.pdf"), Path(f"{stem}.png")
    undated = {"CreationDate": None, "Creator": None, "Producer": None}
    with house_style(), one_warning_for_glyphs():
        figure.savefig(pdf, format="pdf", backend="pdf", metadata=undated)
        # What was laid out once stays: half of the time of a figure.
        figure.set_layout_engine("none")
        figure.savefig(png, format="png", backend="agg", metadata={"Software": None})
    pyplot.close(figure)
    return pdf, png
