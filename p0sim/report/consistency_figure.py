"""How fast errors fall with n, beside the rate sqrt(log n / n)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation
from statsmodels.regression.linear_model import OLS
from statsmodels.tools.tools import add_constant

from p0sim.arrays import FloatVector
from p0sim.columns import WHOLE_FIT
from p0sim.errors import InvalidStudyError
from p0sim.report.drawing import (
    FEWER,
    NO_ESTIMATE,
    NOT_IN_DESIGN,
    axis_label,
    cross_out,
    draw_series,
    failing,
    few_handles,
    handle,
    keep_room_for_crosses,
    measure_rows,
    method_handles,
    on_few,
    require_numbers,
    round_ticks,
)
from p0sim.report.panels import Labels, free_factor, lay_out, require_apart
from p0sim.report.selection import labelled, levels_of, select
from p0sim.report.style import (
    GREY,
    LEGEND_LINE,
    WIDTHS,
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
    entry_points,
    legend_inches,
    legend_outside,
    name_x_axes,
    name_y_axes,
    panel_points,
    points_of,
    ticks_apart,
)

# What the legend of a panel holds beside slopes; without slopes there is none.
Detail: TypeAlias = Literal["names", "intervals", "slopes", "none"]
# A line through two points says nothing of its own error.
FEWEST_SIZES = 3
LONGEST = "−0.00 [−0.00, −0.00]"
RATE = r"$\sqrt{\log n / n}$"


def plot_consistency(
    performance: pd.DataFrame,
    *,
    measure: str = "sup_error_median",
    rows: str | None = None,
    cols: str | None = None,
    where: Mapping[str, object] | None = None,
    width: Width = "double",
    labels: Labels = None,
) -> Figure:
    """Median largest error against n on log scales, by method, beside sqrt(log n / n).

    Parameters
    ----------
    performance : DataFrame
        As `p0sim.performance.summarise.performance` gives it.
    measure : str
        A positive error of the whole fit: sup_error_median or sup_error_mean.
    rows, cols : str, optional
        Factors of the panel rows and columns; left out, the first that vary.
    where, width, labels
        As in `p0sim.report.qq_figure.plot_qq`.

    Returns
    -------
    Figure
        The slopes with their 95 % intervals stand in the legend of each panel;
        where that is too narrow for the names of the methods, these stand
        below all panels, and where it is too narrow for intervals, there are
        none.
        A method whose fits all failed is named there, too. Points on fewer than
        30 estimates are small, open, not joined and not part of a slope. Below
        three n there are no slopes; the mark of a method crossed out below the
        axis tells of an n where each of its fits failed.

    Raises
    ------
    InvalidStudyError
        If the frame lacks n or the measure, the measure is one of single
        estimands, rows and cols are not two factors other than n, n is not a
        number, or a value is not positive.

    Examples
    --------
    >>> rows = pd.DataFrame({"cell": ["c1", "c2", "c3"], "n": [50, 100, 200], "method": "paper",
    ...     "estimand": "theta", "measure": "sup_error_median", "value": [1.0, 0.7, 0.5],
    ...     "mcse": 0.02, "lower": [0.96, 0.66, 0.46], "upper": [1.04, 0.74, 0.54], "n_used": 100,
    ...     "n_attempted": 100, "n_failed": 0})
    >>> plot_consistency(rows).axes[0].get_legend().get_texts()[0].get_text()
    'paper: −0.50 [−0.61, −0.39]'
    """
    require_apart(rows, cols, "n")
    of_fits = require_whole_fits(measure_rows(performance, measure), measure)
    measured = require_numbers(of_fits, "n", 1, "to show rates")
    chosen = select(require_positive(measured, measure), where)
    cols = cols or free_factor(chosen, [rows, "n", "method", "estimand"])
    rows = rows or free_factor(chosen, [cols, "n", "method", "estimand"])
    panels = lay_out(chosen, rows, cols, None, labels, inside=("n", "method")).abreast()
    methods = levels_of(performance, "method")
    names = [labelled(method, labels) for method in methods]
    room = 0.95 * POINTS_PER_INCH * WIDTHS[width] / len(panels.cols)
    detail = detail_of(names, panels.frame["n"].nunique(), room)
    crossed = failing(panels, methods) if detail == "none" else []
    with house_style():
        common = [] if detail == "names" else common_handles(panels.frame, methods, labels, crossed)
        below = legend_inches(common, width) if common else 0.0
        slopes = LEGEND_LINE * (len(methods) + 3) if detail != "none" else 0.0
        height = panel_inches(len(panels.cols), width, 0.8, len(panels.rows), slopes)
        parts = [("panel", height + slopes)] * len(panels.rows)
        figure, axes = stacked_grid(parts, len(panels.cols), width, below)
        drawn = list(panels.each(axes))
        name_x_axes(axes, x_name(len(panels.cols), width), width)
        for axis, part in drawn:
            rate_panel(figure, axis, part, dict(zip(methods, names, strict=True)), detail)
            cross_out(axis, part["n"].to_numpy(np.float64), part, methods, crossed)
        keep_room_for_crosses(axes, len(crossed))
        panels.draw_frame(figure, axes)
        sizes = ticks_apart(panels.frame["n"].tolist(), panel_points(len(panels.cols), width))
        log_ticks(axes[0, 0].xaxis, *sizes)
        log_ticks(axes[0, 0].yaxis, round_ticks(panels.frame))
        name_y_axes(figure, axis_label(measure, labels, panels.frame["n_failed"]))
        if common:
            legend_outside(figure, common, width)
    return figure


def x_name(n_columns: int, width: Width) -> str:
    """Name of the axis, on the one line that the legend below leaves it."""
    whole = "Number of nodes $n$"
    return whole if points_of(whole) < panel_points(n_columns, width) else "$n$"


def detail_of(names: Sequence[str], n_sizes: int, room: float) -> Detail:
    """What the legend of a panel has room for, where there are slopes."""
    if n_sizes < FEWEST_SIZES:
        return "none"
    if max(entry_points(f"{name}: {LONGEST}") for name in names) <= room:
        return "names"
    return "intervals" if entry_points(LONGEST) <= room else "slopes"


def common_handles(
    rows: pd.DataFrame, methods: Sequence[str], labels: Labels, crossed: Sequence[str]
) -> list[Line2D]:
    """One legend for all panels, where those of the panels have no room for names."""
    rate = Line2D([], [], color=GREY, linewidth=0.7, label=RATE)
    return [*method_handles(rows, methods, labels, crossed), rate]


def require_whole_fits(rows: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Refuse a measure of estimands, whose rate is another one."""
    if (rows["estimand"] != WHOLE_FIT).any():
        raise InvalidStudyError(
            "measure must be an error of the whole fit, such as sup_error_median, to show rates; "
            f"got {measure!r}"
        )
    return rows


def require_positive(rows: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Refuse values that a log scale cannot show."""
    if (rows["value"] <= 0).any():
        least = rows["value"].min()
        raise InvalidStudyError(f"{measure} must be positive to show rates; got {least:.3g}")
    return rows


def rate_panel(
    figure: Figure, axis: Axes, frame: pd.DataFrame, names: Mapping[str, str], detail: Detail
) -> None:
    """One panel: a line a method, the reference rate, the slopes in the legend."""
    known = frame[frame["value"].notna()]
    if known.empty:
        say(axis, NO_ESTIMATE if len(frame) else NOT_IN_DESIGN)
        return
    handles = []
    for series, (method, name) in enumerate(names.items()):
        mine = known[known["method"] == method].sort_values("n")
        draw_series(axis, mine["n"].to_numpy(), mine, mark_of(series))
        if (frame["method"] == method).any():
            handles.append(handle(series, entry(name, slope_text(mine, detail), detail)))
    handles.append(draw_rate(axis, known, detail))
    if detail == "none":
        return
    legend_below(figure, axis, [*handles, *(few_handles(known) if detail == "names" else [])])


def entry(name: str, slope: str, detail: Detail) -> str:
    """Text of a legend entry."""
    return f"{name}: {slope}" if detail == "names" else slope


@dataclass(frozen=True)
class Slope:
    """Slope of log y on log x by least squares, with its interval."""

    slope: float
    lower: float
    upper: float

    @property
    def short(self) -> str:
        """Without the interval."""
        return f"{self.slope:.2f}".replace("-", "−")

    def __str__(self) -> str:
        return self.short + f" [{self.lower:.2f}, {self.upper:.2f}]".replace("-", "−")


def log_log_slope(x: FloatVector, y: FloatVector, level: float = 0.95) -> Slope | None:
    """Least squares on log scales; None for fewer than three different x.

    Examples
    --------
    >>> str(log_log_slope(np.array([1.0, 2.0, 4.0]), np.array([4.0, 2.0, 1.1])))
    '−0.93 [−1.44, −0.43]'
    """
    if len(set(x.tolist())) < FEWEST_SIZES:
        return None
    fit = OLS(np.log(y), add_constant(np.log(x))).fit()
    lower, upper = fit.conf_int(1 - level)[1]
    return Slope(float(fit.params[1]), float(lower), float(upper))


def slope_text(known: pd.DataFrame, detail: Detail) -> str:
    """The slope of the points that are joined, or why there is none."""
    joined = known[~on_few(known)]
    slope = log_log_slope(joined["n"].to_numpy(), joined["value"].to_numpy())
    if slope:
        return slope.short if detail == "slopes" else str(slope)
    few = FEWER if detail == "names" else "too few"
    return "fewer than 3 n" if len(joined) else few if len(known) else "no estimate"


def draw_rate(axis: Axes, known: pd.DataFrame, detail: Detail) -> Line2D:
    """The rate sqrt(log n / n), a little below the lowest series."""
    sizes = np.sort(known["n"].unique())
    rate = np.sqrt(np.log(sizes) / sizes)
    start = known.loc[known["n"] == sizes[0], "value"].min()
    slope = log_log_slope(sizes, rate)
    (line,) = axis.plot(sizes, 0.8 * start * rate / rate[0], color=GREY, linewidth=0.7)
    line.set_label(entry(RATE, slope.short, detail) if slope else RATE)
    return line


def legend_below(figure: Figure, axis: Axes, handles: list[Line2D]) -> None:
    """A legend under a panel, clear of its tick labels and of the name of its axis."""
    interval = any(str(line.get_label()).endswith("]") for line in handles)
    points = -25 if axis.get_xlabel() else -6
    down = ScaledTranslation(0, points / POINTS_PER_INCH, figure.dpi_scale_trans)
    axis.legend(
        handles=handles,
        title="Slope [95 % interval]" if interval else "Slope",
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=axis.transAxes + down,
        borderaxespad=0,
    )
