"""Means of numbers without a truth, against a number or by a factor of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from p0sim.report.drawing import (
    NO_ESTIMATE,
    NOT_IN_DESIGN,
    axis_label,
    draw_points,
    handle,
    measure_rows,
    round_ticks,
    scale_of,
)
from p0sim.report.notation import mathtext
from p0sim.report.panels import (
    MOST_ABREAST,
    Labels,
    Panels,
    free_factor,
    lay_out,
    require_apart,
)
from p0sim.report.selection import factors_of, labelled, level_texts, levels_of, select, varying
from p0sim.report.style import (
    Width,
    house_style,
    log_ticks,
    mark_of,
    panel_inches,
    say,
    stacked_grid,
)
from p0sim.report.utility_figure import spread_wide
from p0sim.report.wording import (
    legend_inches,
    legend_outside,
    lowest,
    name_x_axes,
    name_y_axes,
    panel_points,
    slant_if_crowded,
    slant_inches,
    ticks_apart,
)

# A number whose levels differ by more than this factor stands on a log axis.
WIDE = 10.0
# Height of a panel over its width: of many rows, of few, of words on an axis across the page.
LOW, HIGH, FLAT = 0.5, 0.75, 0.75
MANY_ROWS = 4


def plot_mean(
    performance: pd.DataFrame,
    *,
    measure: str = "mean",
    x: str | None = None,
    rows: str | None = None,
    cols: str | None = None,
    where: Mapping[str, object] | None = None,
    width: Width = "double",
    labels: Labels = None,
) -> Figure:
    """The mean of an estimate, or another measure, by method against a factor.

    Parameters
    ----------
    performance : DataFrame
        As `p0sim.performance.summarise.performance` gives it.
    measure : str
        "mean" or any other measure of an estimand.
    x : str, optional
        Factor along the axis; left out, n or epsilon where one of them varies, else any
        factor of numbers, else the first of words. Numbers that differ by more than a factor of
        ten stand on a log axis and are joined; words are dots side by side.
    rows, cols : str, optional
        Factors of the panel rows and columns; left out, the next of words, then any.
    where, width, labels
        As in `p0sim.report.qq_figure.plot_qq`.

    Returns
    -------
    Figure
        Bars are the 95 % Monte Carlo intervals of the frame. Panels of a row share their scale; it
        is logarithmic where values differ by more than a factor of ten, but not against epsilon.

    Raises
    ------
    InvalidStudyError
        If the frame lacks the measure, a factor or a level, or rows, cols and x are not different.

    Examples
    --------
    >>> rows = pd.DataFrame({"cell": ["c1", "c2"], "epsilon": [0.1, 10.0], "method": "dplp",
    ...     "estimand": "map", "measure": "mean", "value": [0.1, 0.3], "mcse": 0.01,
    ...     "lower": [0.08, 0.28], "upper": [0.12, 0.32], "n_used": 10, "n_attempted": 10,
    ...     "n_failed": 0})
    >>> plot_mean(rows).axes[0].get_xscale()
    'log'
    """
    require_apart(rows, cols, x)
    chosen = select(measure_rows(performance, measure), where)
    x = x or axis_factor(chosen, [rows, cols])
    rows, cols = panel_factors(chosen, x, rows, cols)
    panels = lay_out(chosen, rows, cols, None, labels, inside=(x, "method"))
    panels = panels.abreast() if len(panels.cols) > MOST_ABREAST else panels
    methods = levels_of(performance, "method")
    with house_style():
        return drawn(panels, x, methods, measure, width, labels)


def drawn(
    panels: Panels, x: str, methods: Sequence[str], measure: str, width: Width, labels: Labels
) -> Figure:
    """The figure of chosen panels."""
    there = set(panels.frame["method"].astype(str))
    handles = [handle(i, labelled(name, labels)) for i, name in enumerate(methods) if name in there]
    room = panel_points(len(panels.cols), width)
    names = [] if is_number(panels.frame, x) else words_on(panels.frame, x, labels)
    below = legend_inches(handles, width) + slant_inches(names, room)
    height = panel_inches(len(panels.cols), width, shape_of(panels, names))
    parts = [(f"row {i}", height) for i in range(len(panels.rows))]
    figure, axes = stacked_grid(parts, len(panels.cols), width, below)
    for axis, part in panels.each(axes):
        mean_panel(axis, part, x, levels_of(panels.frame, x), methods, scale_of(measure))
    panels.draw_frame(figure, axes)
    set_scales(axes, panels, x, names, width)
    slant_if_crowded(lowest(axes), names, room)
    legend_outside(figure, handles, width)
    name_x_axes(axes, mathtext(labelled(x, labels)), width)
    name_y_axes(figure, value_label(panels.frame, measure, labels))
    return figure


def axis_factor(frame: pd.DataFrame, taken: Sequence[str | None]) -> str:
    """What deserves the axis: n, epsilon, other numbers, words, at last the methods."""
    moving = [name for name in varying(frame, factors_of(frame)) if name not in taken]
    numbers = [name for name in moving if is_number(frame, name)]
    first = [name for name in ("n", "epsilon") if name in numbers]
    return next(iter([*first, *numbers, *moving]), "method")


def panel_factor(frame: pd.DataFrame, taken: Sequence[str | None]) -> str | None:
    """The next factor of words, else any that varies."""
    moving = varying(frame, [name for name in factors_of(frame) if name not in taken])
    words = [name for name in moving if not is_number(frame, name)]
    return words[0] if words else free_factor(frame, [*taken, "method", "estimand"])


def panel_factors(
    frame: pd.DataFrame, x: str, rows: str | None, cols: str | None
) -> tuple[str | None, str | None]:
    """Rows and columns of panels; a single factor over an axis of numbers makes columns."""
    found_rows = rows or panel_factor(frame, [x, cols])
    found_cols = cols or panel_factor(frame, [x, found_rows])
    alone = not rows and not cols and not found_cols and found_rows
    if alone and is_number(frame, x) and len(levels_of(frame, alone)) <= MANY_ROWS:
        return None, found_rows
    return found_rows, found_cols


def is_number(frame: pd.DataFrame, name: str) -> bool:
    """Whether the levels of a factor are numbers."""
    return bool(pd.api.types.is_numeric_dtype(frame[name]))


def words_on(frame: pd.DataFrame, x: str, labels: Labels) -> list[str]:
    """What stands under an axis of words."""
    return [mathtext(labelled(level, labels)) for level in levels_of(frame, x)]


def value_label(frame: pd.DataFrame, measure: str, labels: Labels) -> str:
    """The name of the estimand for a mean, of the measure for others."""
    names = list(dict.fromkeys(frame["estimand"]))
    if measure != "mean" or len(names) != 1:
        return axis_label(measure, labels, frame["n_failed"])
    said = mathtext(labelled(names[0], labels))
    return said[:1].upper() + said[1:]


def shape_of(panels: Panels, names: Sequence[str]) -> float:
    """Height of a panel over its width."""
    if names:
        return FLAT
    return LOW if len(panels.rows) > MANY_ROWS else HIGH


def mean_panel(
    axis: Axes,
    frame: pd.DataFrame,
    x: str,
    ticks: Sequence[str],
    methods: Sequence[str],
    scale: float,
) -> None:
    """One panel: a line a method against a number, dots side by side over words."""
    if frame["value"].isna().all():
        say(axis, NO_ESTIMATE if len(frame) else NOT_IN_DESIGN)
        return
    there = [name for name in methods if (frame["method"] == name).any()]
    for series, method in enumerate(methods):
        mine = frame[frame["method"] == method]
        style = mark_of(series).line() | {"clip_on": False}
        if is_number(frame, x):
            mine = mine.sort_values(x)
            draw_points(axis, mine[x].to_numpy(np.float64), mine, scale, style)
        elif method in there:
            shift = 0.0 if x == "method" else dodged(there.index(method), len(there))
            at = level_texts(mine, x).map({level: i for i, level in enumerate(ticks)})
            lone = style | {"linestyle": "none"}
            draw_points(axis, at.to_numpy(np.float64) + np.float64(shift), mine, scale, lone)


def dodged(place: int, many: int) -> float:
    """Where a series stands beside the others."""
    return 0.7 * ((place + 0.5) / many - 0.5)


def set_scales(
    axes: NDArray[Any], panels: Panels, x: str, names: Sequence[str], width: Width
) -> None:
    """Scales, ticks, and lines between words."""
    if names:
        axes[0, 0].set_xticks(range(len(names)), names)
        axes[0, 0].set_xlim(-0.5, len(names) - 0.5)
        for axis in axes.flat:
            for between in range(len(names) - 1):
                axis.axvline(between + 0.5, color="0.85", linewidth=0.5, zorder=0)
    else:
        set_number_axis(axes[0, 0], panels.frame[x], panel_points(len(panels.cols), width))
    for axis, part in zip(axes[:, 0], rows_of_panels(panels), strict=True):
        if x != "epsilon" and spread_wide(part["value"]):
            log_ticks(axis.yaxis, round_ticks(part))
        else:
            show_zero(axis, part["value"])


def show_zero(axis: Axes, values: pd.Series) -> None:
    """Zero as the end of an axis whose values are a good part of the way from it."""
    if values.min() >= 0 and values.max() > 2 * values.min():
        axis.set_ylim(bottom=0)


def rows_of_panels(panels: Panels) -> list[pd.DataFrame]:
    """The rows of every row of panels, which share their scale."""
    return [panels.frame[panels.row_of == row] for row in panels.rows]


def set_number_axis(axis: Axes, values: pd.Series, room: float) -> None:
    """A log axis of so many points where numbers differ widely."""
    levels = sorted(set(values.dropna().astype(float)))
    if levels[0] <= 0 or levels[-1] <= WIDE * levels[0]:
        return
    log_ticks(axis.xaxis, *ticks_apart(levels, room))
