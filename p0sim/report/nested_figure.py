"""Nested loop plots: a measure in every cell of a study, the levels of its factors as stairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from p0sim.arrays import FloatVector
from p0sim.report.drawing import (
    CROSS,
    NO_ESTIMATE,
    NOT_IN_DESIGN,
    available,
    axis_label,
    cross_out,
    draw_points,
    failing,
    measure_rows,
    method_handles,
    name_crosses,
    on_few,
    scale_of,
    start_at_zero,
)
from p0sim.report.notation import mathtext
from p0sim.report.panels import Labels, Panels, lay_out
from p0sim.report.precision import printed_mcse
from p0sim.report.selection import factors_of, key_column, labelled, level_texts, levels_of, varying
from p0sim.report.stretched import STRETCHED, stretch
from p0sim.report.style import (
    INK,
    LIGHT,
    Width,
    house_style,
    mark_of,
    say,
    stacked_grid,
)
from p0sim.report.wording import (
    POINTS_PER_INCH,
    legend_inches,
    legend_outside,
    panel_points,
    points_of,
    wrapped,
)

PANEL, STAIR = 2.0, 0.25
# Points that a bar needs beside its neighbours; share of the place of a cell that a cross takes.
BAR, OF_A_CELL = 2.0, 0.75


@dataclass(frozen=True, eq=False)
class Loops:
    """The cells of a study along an axis.

    Attributes
    ----------
    factors : list of str
        From the outermost loop to the innermost.
    levels : dict of str to list of str
        Of each factor, in order.
    steps : ndarray, shape (cells, factors)
        The level number of every factor in every cell, lexicographically ordered.
    """

    factors: list[str]
    levels: dict[str, list[str]]
    steps: FloatVector

    def places(self, frame: pd.DataFrame) -> FloatVector:
        """Where along the axis the cell of every row stands: 0, 1, 2, ..."""
        at = {tuple(step): i for i, step in enumerate(self.steps.tolist())}
        return np.array([at[step] for step in level_numbers(frame, self.levels)], dtype=np.float64)


def plot_nested(
    performance: pd.DataFrame,
    *,
    measure: str | None = None,
    order: Sequence[str] | None = None,
    nominal: float | None = None,
    rows: str | None = None,
    cols: str | None = None,
    where: Mapping[str, object] | None = None,
    width: Width = "double",
    labels: Labels = None,
) -> Figure:
    """A measure in all cells, by method, in lexicographic order of the factors shown as stairs.

    Parameters
    ----------
    performance : DataFrame
        As `p0sim.performance.summarise.performance` gives it.
    measure : str, optional
        Any measure of the frame; left out, coverage, or the median largest error in a
        study without contrasts.
    order : sequence of str, optional
        Factors from the outermost loop to the innermost; those left out follow
        in the order of the frame.
    nominal : float, optional
        A value to draw a dashed line at, in the unit of the frame (0.95, not 95).
    rows, cols : str, optional
        Factors, or "estimand", of the panel rows and columns; none left out.
    where, width, labels
        As in `p0sim.report.qq_figure.plot_qq`.

    Returns
    -------
    Figure
        Monte Carlo intervals are drawn as bars where there is room for them;
        where not, the legend gives the largest Monte Carlo standard error.
        Values on fewer than 30 estimates are small open points; the mark of a
        method crossed out below the axis tells of a cell where each of its fits
        failed. Shares beside a nominal level have an axis stretched towards 100 %.

    Raises
    ------
    InvalidStudyError
        If the frame lacks the measure, a factor or a level.

    References
    ----------
    .. [1] Rücker, Schwarzer (2014), Presenting simulation results in a nested
       loop plot, BMC Medical Research Methodology 14:129.

    Examples
    --------
    >>> rows = pd.DataFrame({"cell": ["c1", "c2"], "n": [50, 100], "method": "paper",
    ...     "estimand": "alpha[1]", "measure": "bias", "value": [0.1, 0.05], "mcse": 0.02,
    ...     "lower": [0.06, 0.01], "upper": [0.14, 0.09], "n_used": 100, "n_attempted": 100,
    ...     "n_failed": 0})
    >>> plot_nested(rows, measure="bias").axes[-1].texts[0].get_text()
    '$n$: 50, 100'
    """
    for name in order or ():
        key_column(performance, name)
    measure = measure or available(performance, "coverage")
    chosen = measure_rows(performance, measure)
    inside = [*factors_of(chosen), "method"]
    panels = lay_out(chosen, rows, cols, where, labels, inside=inside)
    loops = loops_of(panels.frame, [name for name in (rows, cols) if name], order or ())
    methods, scale = levels_of(performance, "method"), scale_of(measure)
    crossed = failing(panels, methods)
    bars = room_for_bars(len(loops.steps), panels, width)
    with house_style():
        handles = nested_handles(panels.frame, methods, labels, nominal, scale, bars, crossed)
        parts = [("panel", PANEL)] * len(panels.rows) + [("stairs", STAIR * len(loops.factors))]
        parts = parts if loops.factors else parts[:-1]
        below = legend_inches(handles, width)
        figure, axes = stacked_grid(parts, len(panels.cols), width, below)
        for axis, part in panels.each(axes):
            nested_panel(axis, part, loops, methods, scale, bars)
            size = min(CROSS, OF_A_CELL * panel_points(len(panels.cols), width) / len(loops.steps))
            name_crosses(axis, methods, crossed)
            cross_out(axis, loops.places(part) + 0.5, part, methods, crossed, size)
            if nominal is not None:
                axis.axhline(scale * nominal, color=INK, linewidth=0.6, linestyle="--", zorder=0)
        for axis in axes[-1] if loops.factors else ():
            draw_stairs(axis, loops, labels, panel_points(axes.shape[1], width))
        panels.draw_frame(figure, axes[: len(panels.rows)])
        said = axis_label(measure, labels, panels.frame["n_failed"])
        if nominal is not None and scale > 1:
            said += f", {STRETCHED}"
            stretch(axes[0, 0], panels.frame, nominal, 0.8 * POINTS_PER_INCH * PANEL)
        else:
            start_at_zero(axes[0, 0], panels.frame["value"])
        axes[0, 0].set_xlim(0, len(loops.steps))
        axes[0, 0].xaxis.set_major_locator(NullLocator())
        for axis in axes[: len(panels.rows), 0]:
            axis.set_ylabel(wrapped(said, PANEL * POINTS_PER_INCH))
        legend_outside(figure, handles, width)
    return figure


def loops_of(frame: pd.DataFrame, taken: Sequence[str], order: Sequence[str]) -> Loops:
    """The factors that vary inside the panels, and every cell that is in the frame."""
    free = [name for name in dict.fromkeys([*order, *factors_of(frame)]) if name not in taken]
    factors = varying(frame, free)
    levels = {name: levels_of(frame, name) for name in factors}
    steps = sorted(set(level_numbers(frame, levels)))
    return Loops(factors, levels, np.array(steps, dtype=np.float64).reshape(len(steps), -1))


def level_numbers(
    frame: pd.DataFrame, levels: Mapping[str, Sequence[str]]
) -> list[tuple[int, ...]]:
    """For every row, the place of its level among those of each factor."""
    numbers = [level_texts(frame, name).map(list(known).index) for name, known in levels.items()]
    return list(zip(*numbers, strict=True)) if numbers else [()] * len(frame)


def room_for_bars(n_cells: int, panels: Panels, width: Width) -> bool:
    """Whether a bar for each method fits into the place of a cell."""
    room = panel_points(len(panels.cols), width) / max(n_cells, 1)
    return room > BAR * (panels.frame["method"].nunique() + 1)


def nested_panel(
    axis: Axes,
    frame: pd.DataFrame,
    loops: Loops,
    methods: Sequence[str],
    scale: float,
    bars: bool,
) -> None:
    """One panel: a line a method, level over every cell."""
    if frame["value"].isna().all():
        say(axis, NO_ESTIMATE if len(frame) else NOT_IN_DESIGN)
        return
    for edge in outer_edges(loops):
        axis.axvline(edge, color=LIGHT, linewidth=0.6, zorder=0)
    for series, method in enumerate(methods):
        mine = frame[frame["method"] == method]
        shift = (series + 1) / (len(methods) + 1)
        draw_nested(axis, mine, loops, series, shift, scale, bars)


def draw_nested(
    axis: Axes,
    mine: pd.DataFrame,
    loops: Loops,
    series: int,
    shift: float,
    scale: float,
    bars: bool,
) -> None:
    """The line of a method, its bars, and what stands apart from it."""
    mark, place = mark_of(series), loops.places(mine)
    few = on_few(mine)
    heights = np.full(len(loops.steps), np.nan)
    heights[place[~few].astype(np.int64)] = scale * mine["value"][~few]
    edges = np.arange(len(heights) + 1)
    style = {"color": mark.color, "linestyle": mark.linestyle, "linewidth": 1.0}
    axis.step(edges, np.append(heights, heights[-1:]), where="post", **style)
    at = place + shift
    if bars:
        draw_points(axis, at[~few], mine[~few], scale, mark.lone())
    draw_points(axis, at[few], mine[few], scale, mark.lone())


def outer_edges(loops: Loops) -> list[int]:
    """Where the outermost factor changes its level."""
    return (np.flatnonzero(np.diff(loops.steps[:, 0])) + 1).tolist() if loops.factors else []


def draw_stairs(axis: Axes, loops: Loops, labels: Labels, room: float) -> None:
    """Stairs of each factor below one another, their levels in words above them."""
    depth = len(loops.factors)
    for i, name in enumerate(loops.factors):
        height = loops.steps[:, i] / (len(loops.levels[name]) - 1)
        bottom = depth - 1 - i
        axis.stairs(bottom + 0.05 + 0.33 * height, baseline=None, color=INK, linewidth=0.7)
        said = stair_text(name, loops.levels[name], labels, room)
        axis.text(0, bottom + 0.45, said, fontsize=6, va="bottom", ha="left")
    axis.set_ylim(0, depth)
    axis.yaxis.set_major_locator(NullLocator())
    axis.spines[:].set_visible(False)


def stair_text(name: str, levels: Sequence[str], labels: Labels, room: float) -> str:
    """A factor and its levels from the bottom step to the top one; the first and last if many."""
    texts = [mathtext(labelled(level, labels)) for level in levels]
    whole = f"{mathtext(labelled(name, labels))}: {', '.join(texts)}"
    if points_of(whole, 6) <= room:
        return whole
    return f"{mathtext(labelled(name, labels))}: {texts[0]}, …, {texts[-1]} ({len(texts)} levels)"


def nested_handles(
    rows: pd.DataFrame,
    methods: Sequence[str],
    labels: Labels,
    nominal: float | None,
    scale: float,
    bars: bool,
    crossed: Sequence[str],
) -> list[Line2D]:
    """Entries of the legend: methods, the nominal line, what the bars are or how long."""
    handles = method_handles(rows, methods, labels, crossed)
    marked = bars or crossed or on_few(rows).any()
    for line in handles[: rows["method"].nunique()]:
        shown = line.get_marker() if marked else ""
        line.set(marker=shown, markersize=2.5, markerfacecolor="white")
    if nominal is not None:
        said = f"nominal {scale * nominal:g}{' %' if scale > 1 else ''}"
        handles.append(Line2D([], [], color=INK, linestyle="--", linewidth=0.6, label=said))
    mcse = printed_mcse(str(rows["measure"].iloc[0]), rows)
    if not bars and np.isfinite(mcse).any():
        largest = f"Monte Carlo standard errors up to {np.nanmax(mcse):.2g}"
        handles.append(Line2D([], [], linestyle="none", label=largest))
    return handles
