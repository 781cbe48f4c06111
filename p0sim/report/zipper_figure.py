"""Zipper plots: which intervals hold the truth, and on which side the others miss it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from p0sim.arrays import require_level
from p0sim.report.panels import Labels
from p0sim.report.selection import TARGET
from p0sim.report.style import (
    HIT,
    INK,
    LIGHT,
    MISS,
    Width,
    house_style,
    panel_grid,
    panel_inches,
)
from p0sim.report.target_panels import (
    LINE,
    counted,
    each_row,
    few_ticks,
    rows_of_panels,
    target_panels,
    words_in_panel,
    write_in_panel,
)
from p0sim.report.wording import (
    POINTS_PER_INCH,
    legend_inches,
    legend_outside,
    name_x_axes,
    name_y_axes,
    panel_points,
)

# Of the ends of the intervals of a panel: a few huge ones must not make the others dots.
SHOWN = 0.97
# An axis is at most so many times as wide as the intervals of any of its panels need.
WIDEST = 6


def plot_zipper(
    zipper: pd.DataFrame,
    cells: pd.DataFrame,
    *,
    nominal: float = 0.95,
    rows: str | None = "method",
    cols: str | None = None,
    where: Mapping[str, object] | None = None,
    width: Width = "double",
    labels: Labels = None,
) -> Figure:
    r"""Zipper plots: intervals sorted by how far the truth lies from their middle.

    Parameters
    ----------
    zipper : DataFrame
        As `p0sim.performance.quantiles.zipper_summary` gives it.
    cells : DataFrame
        The cells of the study.
    nominal : float
        Level of the intervals under study.
    rows, cols, where, width, labels
        As in `p0sim.report.qq_figure.plot_qq`.

    Returns
    -------
    Figure
        Intervals minus the truth, one a centile of abs(z). Those that miss
        the truth are dark and thick, above the line of the coverage; its Monte
        Carlo interval is shaded. Panels of a row share their horizontal axis;
        ends beyond it are cut.

    Raises
    ------
    InvalidStudyError
        If a factor or a level is not in the study, or `cells` lacks a cell.

    References
    ----------
    .. [1] Morris, White, Crowther (2019), Using simulation studies to evaluate
       statistical methods, Statistics in Medicine 38:2074-2102, Figure 3.

    Examples
    --------
    >>> zipper = pd.DataFrame({"cell": "c1", "method": "paper", "estimand": "alpha[1]",
    ...     "centile": [50.0, 100.0], "lower": [-1.0, 0.1], "upper": [1.1, 0.9],
    ...     "covers": [1.0, 0.0], "true_value": 0.0, "n_used": 2, "n_attempted": 2, "n_failed": 0,
    ...     "coverage": 0.5, "coverage_lower": 0.01, "coverage_upper": 0.99})
    >>> figure = plot_zipper(zipper, pd.DataFrame({"cell": ["c1"], "n": [100]}))
    >>> figure.axes[0].texts[0].get_text()
    '50 % [1, 99]\n2 of 2 fitted'
    """
    nominal = require_level(nominal)
    panels = target_panels(zipper, cells, rows, cols, where, labels)
    shown = rows_of_panels(panels, zipper)
    with house_style():
        handles = zipper_handles(nominal)
        below = legend_inches(handles, width)
        size = len(panels.rows), len(panels.cols)
        figure, axes = panel_grid(*size, width, 1.0, below, x_by_row=True)
        for row in each_row(panels, axes, shown, "interval"):
            zipper_row(row, nominal, panel_points(size[1], width))
        panels.draw_frame(figure, axes)
        # centiles end at 100; the words of a panel stand above
        height = 0.8 * POINTS_PER_INCH * panel_inches(size[1], width, 1.0, size[0])
        axes[0, 0].set_ylim(0, 100 / (1 - 2.7 * LINE / height))
        axes[0, 0].set_yticks([0, 50, 100 * nominal])
        name_x_axes(axes, "Interval minus true value", width)
        name_y_axes(figure, "Centile of |z|")
        legend_outside(figure, handles, width)
    return figure


def zipper_row(row: Sequence[tuple[Axes, pd.DataFrame]], nominal: float, room: float) -> None:
    """Panels side by side, with one horizontal axis."""
    for axis, target in row:
        zipper_panel(axis, target, nominal, room)
    reach = reach_of(pd.concat([target for _, target in row]))
    row[0][0].set_xlim(-reach, reach)
    row[0][0].xaxis.set_major_locator(few_ticks(room))


def zipper_panel(axis: Axes, target: pd.DataFrame, nominal: float, room: float) -> None:
    """Intervals, truth, nominal line, coverage with its Monte Carlo interval."""
    first = target.iloc[0]
    share, low, high = (
        100 * first[name] for name in ("coverage", "coverage_lower", "coverage_upper")
    )
    axis.axhspan(low, high, color=LIGHT, linewidth=0, zorder=0)
    middle = target["centile"].to_numpy(np.float64) - 50 / len(target)
    ends = [
        (target[side] - target["true_value"]).to_numpy(np.float64) for side in ("lower", "upper")
    ]
    hit = (target["covers"] == 1).to_numpy(np.bool_)
    for some, look in ((hit, HIT), (~hit, MISS)):
        axis.hlines(middle[some], ends[0][some], ends[1][some], **look)
    axis.axhline(100 * nominal, color=INK, linewidth=0.6, linestyle="--")
    axis.vlines(0, 0, 100, color=INK, linewidth=0.6)
    lines = (f"{share:.3g} % [{low:.3g}, {high:.3g}]", f"{share:.3g} %"), counted(first)
    write_in_panel(axis, words_in_panel(lines, 0.95 * room), x=0.5, ha="center")


def reach_of(shown: pd.DataFrame) -> float:
    """Half-width of an axis: all but the farthest ends of its panels, none of them a sliver."""
    ends = [(shown[side] - shown["true_value"]).abs() for side in ("lower", "upper")]
    farthest = pd.concat(ends, axis=1).max(axis=1)
    finite = farthest[np.isfinite(farthest)]
    reach = finite.groupby([shown[name] for name in TARGET]).quantile(SHOWN)
    whole = min(reach.max(), WIDEST * reach.min())
    return 1.05 * float(whole) if whole > 0 else 1.0


def zipper_handles(nominal: float) -> list[Artist]:
    """Entries of the legend."""
    return [
        Line2D([], [], label="holds the true value", **HIT),
        Line2D([], [], label="misses it", **MISS),
        Line2D(
            [], [], color=INK, linestyle="--", linewidth=0.6, label=f"nominal {100 * nominal:g} %"
        ),
        Patch(color=LIGHT, linewidth=0, label="coverage, Monte Carlo interval"),
    ]
