"""What privacy costs: a measure against epsilon, and how often there is no estimate at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from statsmodels.stats.proportion import proportion_confint

from p0sim.report.drawing import (
    NO_ESTIMATE,
    NOT_IN_DESIGN,
    available,
    axis_label,
    draw_series,
    measure_rows,
    method_handles,
    require_numbers,
    round_ticks,
    scale_of,
    start_at_zero,
)
from p0sim.report.notation import mathtext
from p0sim.report.panels import Labels, free_factor, lay_out, require_apart
from p0sim.report.selection import labelled, levels_of, select
from p0sim.report.style import (
    Width,
    house_style,
    log_ticks,
    mark_of,
    panel_inches,
    say,
    stacked_grid,
)
from p0sim.report.wording import (
    POINTS_PER_INCH,
    legend_inches,
    legend_outside,
    name_x_axes,
    panel_points,
    ticks_apart,
    wrapped,
)

# Height of the strip of shares, in inches.
STRIP = 0.65
# A measure whose values differ by more than this factor is drawn on a log axis.
WIDE = 10.0


def plot_privacy_utility(
    performance: pd.DataFrame,
    *,
    measure: str | None = None,
    rows: str | None = None,
    cols: str | None = None,
    where: Mapping[str, object] | None = None,
    width: Width = "double",
    labels: Labels = None,
) -> Figure:
    r"""A measure against epsilon by method, above the share of replicates without an estimate.

    Parameters
    ----------
    performance : DataFrame
        As `p0sim.performance.summarise.performance` gives it.
    measure : str, optional
        Such as "rmse", "ci_width", "coverage" or "sup_error_median"; left out, rmse,
        or the median largest error in a study without contrasts.
    rows, cols : str, optional
        Factors of the panel rows and columns; left out, the first that vary.
    where, width, labels
        As in `p0sim.report.qq_figure.plot_qq`.

    Returns
    -------
    Figure
        Bars are the 95 % Monte Carlo intervals of the frame. The measure is
        conditional on the existence of an estimate, hence the strip of
        no-estimate shares under each panel. Points on fewer than 30 estimates
        are small, open and not joined.

    Raises
    ------
    InvalidStudyError
        If the frame lacks epsilon or the measure, or epsilon is not a
        positive number.

    Examples
    --------
    >>> rows = pd.DataFrame({"cell": ["c1", "c2"], "epsilon": [1.0, 2.0], "method": "paper",
    ...     "estimand": "alpha[1]", "measure": "rmse", "value": [0.5, 0.3], "mcse": 0.02,
    ...     "lower": [0.46, 0.26], "upper": [0.54, 0.34], "n_used": 100, "n_attempted": 100,
    ...     "n_failed": 0})
    >>> [axis.get_ylabel() for axis in plot_privacy_utility(rows).axes]
    ['Root mean squared error', 'No estimate\n(%)']
    """
    measure = measure or available(performance, "rmse")
    require_apart(rows, cols, "epsilon")
    chosen = require_numbers(measure_rows(performance, measure), "epsilon", 0, "to show its price")
    chosen = select(chosen, where)
    cols = cols or free_factor(chosen, [rows, "epsilon", "method", "estimand"])
    rows = rows or free_factor(chosen, [cols, "epsilon", "method", "estimand"])
    panels = lay_out(chosen, rows, cols, None, labels, inside=("epsilon", "method")).abreast()
    methods = levels_of(performance, "method")
    with house_style():
        handles = method_handles(panels.frame, methods, labels)
        height = panel_inches(len(panels.cols), width, 0.75, len(panels.rows), STRIP)
        parts = [("measure", height), ("share", STRIP)] * len(panels.rows)
        below = legend_inches(handles, width)
        figure, axes = stacked_grid(parts, len(panels.cols), width, below)
        for (axis, part), (strip, _) in zip(
            panels.each(axes[::2]), panels.each(axes[1::2]), strict=True
        ):
            utility_panel(axis, part, methods, scale_of(measure))
            share_strip(strip, part, methods)
        panels.draw_frame(figure, axes[::2])
        set_scales(axes, panels.frame, panel_points(len(panels.cols), width))
        label = axis_label(measure, labels, panels.frame["n_failed"])
        label = wrapped(label, 0.8 * POINTS_PER_INCH * height)
        for row in range(0, len(axes), 2):
            axes[row, 0].set_ylabel(label)
            axes[row + 1, 0].set_ylabel("No estimate\n(%)")
        name_x_axes(axes, mathtext(labelled("epsilon", labels)), width)
        legend_outside(figure, handles, width)
    return figure


def utility_panel(axis: Axes, frame: pd.DataFrame, methods: Sequence[str], scale: float) -> None:
    """One panel: a line a method."""
    if frame["value"].isna().all():
        say(axis, NO_ESTIMATE if len(frame) else NOT_IN_DESIGN)
        return
    draw_methods(axis, frame, methods, scale)


def share_strip(axis: Axes, frame: pd.DataFrame, methods: Sequence[str]) -> None:
    """The share of replicates without an estimate, with Clopper-Pearson intervals."""
    attempted, failed = (frame[name].to_numpy(np.int64) for name in ("n_attempted", "n_failed"))
    if len(frame):
        lower, upper = proportion_confint(failed, attempted, alpha=0.05, method="beta")
        shares = {"value": failed / attempted, "lower": lower, "upper": upper}
        draw_methods(axis, frame.assign(**shares, n_used=attempted), methods, 100)


def draw_methods(axis: Axes, frame: pd.DataFrame, methods: Sequence[str], scale: float) -> None:
    """A line a method against epsilon."""
    for series, method in enumerate(methods):
        mine = frame[frame["method"] == method].sort_values("epsilon")
        draw_series(axis, mine["epsilon"].to_numpy(), mine, mark_of(series), scale)


def set_scales(axes: NDArray[Any], frame: pd.DataFrame, room: float) -> None:
    """Scales and ticks, on axes of so many points."""
    log_ticks(axes[0, 0].xaxis, *ticks_apart(frame["epsilon"].tolist(), room))
    if spread_wide(frame["value"]):
        log_ticks(axes[0, 0].yaxis, round_ticks(frame))
    start_at_zero(axes[0, 0], frame["value"])
    axes[1, 0].set(ylim=(-8, 108), yticks=[0, 50, 100])


def spread_wide(values: pd.Series) -> bool:
    """Whether values are positive and of different orders of magnitude."""
    known = values.dropna()
    return bool(len(known) and known.min() > 0 and known.max() > WIDE * known.min())
