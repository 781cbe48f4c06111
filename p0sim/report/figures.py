"""Frames in, matplotlib figures out; nothing here touches a display or a global setting."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from p0sim.arrays import require_level
from p0sim.columns import WHOLE_FIT
from p0sim.errors import InvalidStudyError
from p0sim.report.drawing import (
    LARGEST_Z_SHOWN,
    qq_panel,
    rate_panel,
    round_ticks,
    share_handles,
    share_panel,
)
from p0sim.report.notation import mathtext
from p0sim.report.panels import Labels, free_factor, lay_out
from p0sim.report.selection import labelled, levels_of, select
from p0sim.report.style import (
    LEGEND_LINE,
    Width,
    house_style,
    panel_grid,
    plain_log_ticks,
    save_figure,
)

TARGET = ["cell", "method", "estimand"]
__all__ = ["plot_consistency", "plot_coverage", "plot_qq", "save_figure"]


def plot_qq(
    estimates: pd.DataFrame,
    *,
    cells: pd.DataFrame,
    replicates: pd.DataFrame,
    rows: str | None = "method",
    cols: str | None = None,
    where: Mapping[str, object] | None = None,
    level: float = 0.95,
    width: Width = "double",
    labels: Labels = None,
) -> Figure:
    """QQ plots of the standardised errors z against N(0, 1), with a simultaneous band.

    Parameters
    ----------
    estimates, cells, replicates : DataFrame
        Frames of a study. Fits that failed are counted from `replicates`.
    rows, cols : str, optional
        Factor, "method" or "estimand" of the panel rows and columns. `cols` left
        out: epsilon, or the first factor that varies.
    where : mapping of str to level, optional
        Levels to show. A factor that is neither a panel nor in `where` is
        shown at its first level; the title says which.
    level : float
        Probability that the whole sample of a panel lies in its band when z is
        standard normal.
    width : str
        "single" (85 mm) or "double" (180 mm).
    labels : mapping of str to str, optional
        What to print for a factor, a method, an estimand or a level.

    Returns
    -------
    Figure
        A panel whose fits all failed says so. Points beyond 6 stand as
        triangles on the edge.
    """
    level = require_level(level)
    targets = qq_targets(estimates, cells, replicates)
    chosen = select(targets, where)
    cols = cols or free_factor(chosen, [rows, "method"])
    panels = lay_out(targets, rows, cols, where, labels, inside=())
    groups = {
        tuple(map(str, key)): part.to_numpy(np.float64)
        for key, part in estimates.groupby(TARGET, sort=False, observed=True)["z"]
    }
    with house_style():
        figure, axes = panel_grid(len(panels.rows), len(panels.cols), width, 0.85)
        for axis, part in panels.each(axes):
            qq_panel(axis, part, groups, level)
        panels.draw_frame(figure, axes)
        limit = LARGEST_Z_SHOWN + 0.4
        shown = [line.get_ydata() for axis in axes.flat for line in axis.lines]
        largest = max((float(np.max(np.abs(ys))) for ys in shown if len(ys)), default=3.0)
        axes[0, 0].set_ylim(-min(limit, largest + 0.3), min(limit, largest + 0.3))
        figure.supxlabel("Quantile of N(0, 1)", fontsize=7)
        figure.supylabel("Standardised error", fontsize=7)
    return figure


def qq_targets(
    estimates: pd.DataFrame, cells: pd.DataFrame, replicates: pd.DataFrame
) -> pd.DataFrame:
    """Every cell, method and estimand with its attempts, those without any fit included."""
    tried = (
        replicates.groupby(["cell", "method"], sort=False, observed=True)
        .size()
        .rename("n_attempted")
    )
    fits = (
        tried.reset_index()
        .astype({"cell": str, "method": str})
        .merge(cells, on="cell", how="left", validate="m:1")
    )
    fits["place"] = fits["cell"].map({cell: i for i, cell in enumerate(cells["cell"])})
    pairs = estimates[["cell", "estimand"]].drop_duplicates()
    by_cell = pairs.groupby("cell", sort=False, observed=True)["estimand"]
    found = {str(cell): list(names) for cell, names in by_cell}
    sizes = dict(zip(cells["cell"], cells["n"] if "n" in cells else [0] * len(cells), strict=True))
    for cell in set(fits["cell"]) - set(found):
        alike = [names for other, names in found.items() if sizes[other] == sizes[cell]]
        found[cell] = (alike or list(found.values()) or [[WHOLE_FIT]])[0]
    fits["estimand"] = fits["cell"].map(found)
    ordered = fits.sort_values("place", kind="stable").drop(columns="place")
    return ordered.explode("estimand", ignore_index=True)


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
        A measure of the whole fit.
    rows, cols : str, optional
        Factors of the panel rows and columns; left out, the first that vary.
    where, width, labels
        As in `plot_qq`.

    Returns
    -------
    Figure
        The slopes with their 95 % intervals stand in the legend of each panel.
        A method whose fits all failed is named there, too. Points on fewer than
        30 estimates are small, open, not joined and not part of a slope.

    Raises
    ------
    InvalidStudyError
        If the frame lacks n or the measure.
    """
    if "n" not in performance:
        raise InvalidStudyError("performance must have the factor n to show rates; got none")
    chosen = select(measure_rows(performance, measure), where)
    cols = cols or free_factor(chosen, [rows, "n", "method", "estimand"])
    rows = rows or free_factor(chosen, [cols, "n", "method", "estimand"])
    panels = lay_out(chosen, rows, cols, None, labels, inside=("n", "method"))
    panels.frame["n"] = panels.frame["n"].astype(np.float64)
    methods = levels_of(performance, "method")
    with house_style():
        figure, axes = panel_grid(len(panels.rows), len(panels.cols), width, 1.25)
        for axis in axes[-1]:
            axis.set_xlabel("Number of nodes $n$")
        for axis, part in panels.each(axes):
            rate_panel(figure, axis, part, methods, labels)
        panels.draw_frame(figure, axes)
        sizes = sorted(set(panels.frame["n"]))
        for axis in axes.flat:
            plain_log_ticks(axis, sizes, round_ticks(panels.frame))
        figure.supylabel("Median of the largest error over θ", fontsize=7)
    return figure


def measure_rows(performance: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The rows of one measure, which must be there."""
    rows = performance[performance["measure"] == measure]
    if rows.empty:
        known = ", ".join(dict.fromkeys(performance["measure"]))
        raise InvalidStudyError(f"measure must be one of {known}; got {measure!r}")
    return rows


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
        As in `plot_qq`.

    Returns
    -------
    Figure
        Bars are the frame's Clopper-Pearson intervals: a bar of MCSE would have
        no length at 0 and 100 %. A cross below the axis marks a cell where
        every fit failed. Points on fewer than 30 estimates are small, open and
        not joined.
    """
    nominal = require_level(nominal)
    chosen = select(measure_rows(performance, measure), where)
    x = x or free_factor(chosen, [rows, cols, "method", "estimand"]) or "method"
    cols = cols or free_factor(chosen, [x, rows, "method"])
    rows = rows or free_factor(chosen, [x, cols, "method"])
    panels = lay_out(chosen, rows, cols, None, labels, inside=(x, "method"))
    methods = levels_of(performance, "method")
    ticks = levels_of(panels.frame, x)
    with house_style():
        ncols = 5 if width == "double" else 2
        handles = share_handles(panels.frame, methods, labels, nominal)
        below = LEGEND_LINE * -(-len(handles) // ncols)
        figure, axes = panel_grid(len(panels.rows), len(panels.cols), width, 0.8, below)
        for axis, part in panels.each(axes):
            share_panel(axis, part, x, ticks, methods, nominal)
        panels.draw_frame(figure, axes)
        names = [mathtext(labelled(level, labels)) for level in ticks]
        axes[0, 0].set_xticks(range(len(ticks)), names)
        axes[0, 0].set_xlim(-0.5, len(ticks) - 0.5)
        figure.legend(handles=handles, loc="outside lower center", ncols=ncols)
        for axis in axes[-1]:
            axis.set_xlabel(mathtext(labelled(x, labels)))
        figure.supylabel(f"{labelled(measure, labels).capitalize()} (%)", fontsize=7)
    return figure
