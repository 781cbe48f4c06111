"""Coverage by a factor, beside the nominal level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from p0sim.arrays import require_level
from p0sim.errors import InvalidStudyError
from p0sim.report.drawing import (
    NO_ESTIMATE,
    NOT_IN_DESIGN,
    axis_label,
    draw_crosses,
    draw_series,
    failing,
    fits_in,
    keep_room_for_crosses,
    measure_rows,
    method_handles,
    nominal_handle,
)
from p0sim.report.notation import mathtext
from p0sim.report.panels import Labels, free_factor, lay_out, require_apart
from p0sim.report.selection import labelled, level_texts, levels_of, select
from p0sim.report.stretched import STRETCHED, stretch
from p0sim.report.style import INK, Width, house_style, mark_of, panel_grid, panel_inches, say
from p0sim.report.wording import (
    POINTS_PER_INCH,
    crowded,
    legend_inches,
    legend_outside,
    lowest,
    name_x_axes,
    name_y_axes,
    panel_points,
    slant_if_crowded,
    slant_inches,
)


def plot_coverage(
    performance: pd.DataFrame,
    *,
    x: str | None = None,
    measure: str = "coverage",
    nominal: float = 0.95,
    rows: str | None = None,
    cols: str | None = None,
    where: Mapping[str, object] | None = None,
    width: Width = "double",
    labels: Labels = None,
) -> Figure:
    """Coverage by a factor and method, with Monte Carlo intervals and the nominal line.

    Parameters
    ----------
    performance : DataFrame
        As `p0sim.performance.summarise.performance` gives it.
    x : str, optional
        Factor along the axis; left out, the first that varies.
    measure : str
        "coverage" or another share of intervals.
    nominal : float
        Level of the intervals under study.
    rows, cols : str, optional
        Factors of the panel rows and columns; left out, the first that vary.
    where, width, labels
        As in `p0sim.report.qq_figure.plot_qq`.

    Returns
    -------
    Figure
        Bars are the frame's Clopper-Pearson intervals: a bar of MCSE would have
        no length at 0 and 100 %. The vertical axis is stretched towards 100 %.
        The mark of a method crossed out below the axis tells of a cell where
        each of its fits failed. Points on fewer than 30 estimates are small, open and
        not joined.

    Raises
    ------
    InvalidStudyError
        If the study has no intervals, the frame lacks the measure, a factor or
        a level, or rows, cols and x are not different.

    Examples
    --------
    >>> rows = pd.DataFrame({"cell": ["c1", "c2"], "n": [50, 100], "method": "paper",
    ...     "estimand": "alpha[1]", "measure": "coverage", "value": [0.9, 0.95], "mcse": 0.02,
    ...     "lower": [0.86, 0.91], "upper": [0.94, 0.99], "n_used": 100, "n_attempted": 100,
    ...     "n_failed": 0})
    >>> plot_coverage(rows).axes[0].get_xlabel()
    '$n$'
    """
    nominal = require_level(nominal)
    require_apart(rows, cols, x)
    chosen = select(interval_rows(performance, measure), where)
    x = x or free_factor(chosen, [rows, cols, "method", "estimand"]) or "method"
    cols = cols or free_factor(chosen, [x, rows, "method"])
    rows = rows or free_factor(chosen, [x, cols, "method"])
    panels = lay_out(chosen, rows, cols, None, labels, inside=(x, "method")).abreast()
    methods = levels_of(performance, "method")
    crossed = failing(panels, methods)
    ticks = levels_of(panels.frame, x)
    room = panel_points(len(panels.cols), width)
    with house_style():
        handles = method_handles(panels.frame, methods, labels, crossed)
        handles.insert(panels.frame["method"].nunique(), nominal_handle(nominal))
        names = tick_names(x, ticks, labels, room)
        below = legend_inches(handles, width) + slant_inches(names, room)
        size = len(panels.rows), len(panels.cols)
        figure, axes = panel_grid(*size, width, 0.8, below)
        for axis, part in panels.each(axes):
            share_panel(axis, part, x, ticks, methods, crossed)
            if part["value"].notna().any():
                axis.axhline(100 * nominal, color=INK, linewidth=0.6, linestyle="--", zorder=0)
        keep_room_for_crosses(axes, len(crossed))
        panels.draw_frame(figure, axes)
        points = 0.8 * POINTS_PER_INCH * panel_inches(size[1], width, 0.8, size[0])
        stretch(axes[0, 0], panels.frame, nominal, points)
        axes[0, 0].set_xticks(range(len(names)), names)
        axes[0, 0].set_xlim(-0.5, len(ticks) - 0.5)
        slant_if_crowded(lowest(axes), names, room)
        legend_outside(figure, handles, width)
        name_x_axes(axes, mathtext(labelled(x, labels)), width)
        said = axis_label(measure, labels, panels.frame["n_failed"])
        name_y_axes(figure, f"{said}, {STRETCHED}")
    return figure


def interval_rows(performance: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The rows of a measure, refused in words of their own where nothing has an interval."""
    rows = performance[performance["measure"] == "coverage"]
    if measure == "coverage" and rows["value"].isna().all() and (rows.empty or fits_in(rows)):
        raise InvalidStudyError(
            "a study must have intervals, of contrasts or of other estimands with standard errors, "
            "to show their coverage; got none"
        )
    return measure_rows(performance, measure)


def tick_names(x: str, ticks: Sequence[str], labels: Labels, room: float) -> list[str]:
    """What stands under the axis; methods without room there are told by the legend alone."""
    names = [mathtext(labelled(level, labels)) for level in ticks]
    return [] if x == "method" and crowded(names, room) else names


def share_panel(
    axis: Axes,
    frame: pd.DataFrame,
    x: str,
    ticks: Sequence[str],
    methods: Sequence[str],
    crossed: Sequence[str],
) -> None:
    """One panel: a series a method, dodged; a cross below the axis where every fit failed."""
    if frame["value"].isna().all():
        say(axis, NO_ESTIMATE if len(frame) else NOT_IN_DESIGN)
        return
    place = level_texts(frame, x).map({level: i for i, level in enumerate(ticks)})
    for series, method in enumerate(methods):
        mine = frame["method"] == method
        shift = 0.0 if x == "method" else 0.5 * ((series + 0.5) / len(methods) - 0.5)
        at = place[mine].to_numpy(np.float64) + np.float64(shift)
        rows, mark = frame[mine], mark_of(series)
        draw_series(axis, at, rows, mark, scale=100)
        if method in crossed:
            missing = rows["value"].isna().to_numpy()
            draw_crosses(axis, at[missing], mark, crossed.index(method))
