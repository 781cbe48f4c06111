"""Standard errors against errors, fit by fit: whether a method knows how wrong it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from p0sim.report.panels import Labels
from p0sim.report.selection import TARGET
from p0sim.report.style import (
    FREE,
    HIT,
    INK,
    MISS,
    Width,
    house_style,
    panel_inches,
    stacked_grid,
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

# Of the points of a panel: a few huge ones must not press the others together.
SHOWN = 0.98
# Of the reach of the axis: no mark is cut in two.
MARK = 1.05
# Points that the labels of ticks take.
TICK_LABELS = 25
# Standard errors that differ by less, relatively, are one number.
ALIKE = 1e-4
HELD = {"color": HIT["color"], "marker": "o", "markersize": 2.2, "markerfacecolor": "none"}
MISSED = {"color": MISS["color"], "marker": "^", "markersize": 2.6}


def plot_est_se(
    points: pd.DataFrame,
    cells: pd.DataFrame,
    *,
    rows: str | None = "method",
    cols: str | None = None,
    where: Mapping[str, object] | None = None,
    width: Width = "double",
    labels: Labels = None,
) -> Figure:
    """Standard error against estimate minus truth, a point a fit, one panel a target.

    Parameters
    ----------
    points : DataFrame
        As `p0sim.performance.quantiles.points_summary` gives it.
    cells : DataFrame
        The cells of the study.
    rows, cols, where, width, labels
        As in `p0sim.report.qq_figure.plot_qq`.

    Returns
    -------
    Figure
        Fits whose interval misses the truth are dark triangles, the others
        light circles; where it is not known, points. A panel counts those
        that stand beyond its axes. Panels of a row share their horizontal axis.

    Raises
    ------
    InvalidStudyError
        If a factor or a level is not in the study, or `cells` lacks a cell.

    Examples
    --------
    >>> points = pd.DataFrame({"cell": "c1", "method": "paper", "estimand": "alpha[1]",
    ...     "rep": [1, 2], "estimate": [0.1, -0.4], "std_error": [0.1, 0.12], "covers": [1.0, 0.0],
    ...     "true_value": 0.0, "n_used": 2, "n_attempted": 2, "n_failed": 0})
    >>> figure = plot_est_se(points, pd.DataFrame({"cell": ["c1"], "n": [100]}))
    >>> figure.axes[0].texts[0].get_text()
    '2 of 2 fitted'
    """
    panels = target_panels(points, cells, rows, cols, where, labels)
    shown = with_errors(rows_of_panels(panels, points))
    with house_style():
        handles = est_se_handles()
        below = legend_inches(handles, width)
        height = panel_inches(len(panels.cols), width, 0.8, len(panels.rows))
        parts = [(FREE, height)] * len(panels.rows)
        figure, axes = stacked_grid(parts, len(panels.cols), width, below, x_by_row=True)
        room = panel_points(axes.shape[1], width) - TICK_LABELS
        for row in each_row(panels, axes, shown, "standard error"):
            est_se_row(row, (room, 0.8 * POINTS_PER_INCH * height))
        for axis in axes.flat:
            if not axis.lines:
                axis.set_yticks([])
        panels.draw_frame(figure, axes)
        known = points["true_value"].notna().any()
        name_x_axes(axes, f"Estimate minus {'true value' if known else 'mean'}", width)
        name_y_axes(figure, "Standard error")
        legend_outside(figure, handles, width)
    return figure


def with_errors(shown: pd.DataFrame) -> pd.DataFrame:
    """Points with their error; where no truth is known, with the distance from their mean."""
    centre = shown["true_value"]
    if centre.isna().all():
        centre = shown.groupby(TARGET, sort=False)["estimate"].transform("mean")
    return shown.assign(error=shown["estimate"] - centre)


def reach_of(shown: pd.DataFrame) -> float:
    """Half-width of the axis: all but the largest errors of every panel."""
    errors = shown["error"].abs().groupby([shown[name] for name in TARGET])
    reach = errors.quantile(SHOWN).max()
    return 1.1 * float(reach) if reach > 0 else 1.0


def span_of(std_error: pd.Series) -> tuple[float, float]:
    """Bottom of an axis and the largest standard error on it."""
    low, most = std_error.min(), std_error.quantile(SHOWN)
    # some room where all standard errors are alike
    spread = max(most - low, 0.005 * most) or 1.0
    return low - 0.1 * spread, min(std_error.max() + 0.05 * spread, most + 0.5 * spread)


def est_se_row(row: Sequence[tuple[Axes, pd.DataFrame]], room: tuple[float, float]) -> None:
    """Panels side by side, with one horizontal axis."""
    reach = reach_of(pd.concat([target for _, target in row]))
    for axis, target in row:
        est_se_panel(axis, target, reach, room)
    row[0][0].set_xlim(-MARK * reach, MARK * reach)
    row[0][0].xaxis.set_major_locator(few_ticks(room[0]))


def est_se_panel(axis: Axes, target: pd.DataFrame, reach: float, room: tuple[float, float]) -> None:
    """Points, the truth, how many fits stand behind them and how many beyond the axes."""
    low, high = span_of(target["std_error"])
    beyond = (target["error"].abs() > reach) | (target["std_error"] > high)
    lines = [counted(target.iloc[0])]
    if len(target) < target["n_used"].iloc[0]:
        lines.append((f"first {len(target)} shown", f"{len(target)} shown"))
    if beyond.any():
        lines.append((f"{beyond.sum()} beyond the axes", f"{beyond.sum()} beyond"))
    write_in_panel(axis, words_in_panel(lines, room[0]))
    data = 1 - (len(lines) + 0.5) * LINE / room[1]
    axis.set_ylim(low, low + (high - low) / data)
    set_ticks(axis, target["std_error"])
    axis.axvline(0, ymax=data, color=INK, linewidth=0.6, zorder=0)
    missed = (target["covers"] == 0).to_numpy(np.bool_)
    for some, look in ((~missed, HELD), (missed, MISSED)):
        near = target[some & ~beyond]
        axis.plot(near["error"], near["std_error"], linestyle="none", **look)


def set_ticks(axis: Axes, std_error: pd.Series) -> None:
    """Three round numbers; the number itself where all are alike but for rounding."""
    low, high = std_error.min(), std_error.max()
    if high - low > ALIKE * high:
        axis.yaxis.set_major_locator(MaxNLocator(3))
    else:
        axis.set_yticks([high], [f"{high:.3g}"])


def est_se_handles() -> list[Line2D]:
    """Entries of the legend."""
    return [
        Line2D([], [], linestyle="none", label="interval holds the true value", **HELD),
        Line2D([], [], linestyle="none", label="interval misses it", **MISSED),
        Line2D([], [], color=INK, linewidth=0.6, label="estimate = true value"),
    ]
