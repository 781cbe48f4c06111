"""QQ plots: whether standardised errors are normal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from p0sim.report.panels import Labels
from p0sim.report.style import INK, LIGHT, Width, house_style, mark_of, panel_grid
from p0sim.report.target_panels import (
    counted,
    each_target,
    rows_of_panels,
    target_panels,
    words_in_panel,
    write_in_panel,
)
from p0sim.report.wording import name_x_axes, name_y_axes, panel_points

LARGEST_Z_SHOWN = 6.0


def plot_qq(
    qq: pd.DataFrame,
    cells: pd.DataFrame,
    *,
    rows: str | None = "method",
    cols: str | None = None,
    where: Mapping[str, object] | None = None,
    width: Width = "double",
    labels: Labels = None,
) -> Figure:
    """QQ plots of the standardised errors z against N(0, 1), with a simultaneous band.

    Parameters
    ----------
    qq : DataFrame
        As `p0sim.performance.quantiles.qq_summary` gives it.
    cells : DataFrame
        The cells of the study.
    rows, cols : str, optional
        Factor, "method" or "estimand" of the panel rows and columns. `cols` left
        out: epsilon, or the first factor that varies.
    where : mapping of str to level, optional
        Levels to show. A factor that is neither a panel nor in `where` is
        shown at its first level; the title says which.
    width : str
        "single" (85 mm) or "double" (180 mm).
    labels : mapping of str to str, optional
        What to print for a factor, a method, an estimand or a level.

    Returns
    -------
    Figure
        A panel whose fits all failed says so. Points beyond 6 stand as
        triangles on the edge. More than four columns become rows, or go on
        below the first four.

    Raises
    ------
    InvalidStudyError
        If a factor or a level is not in the study, or `cells` lacks a cell.

    Examples
    --------
    >>> qq = pd.DataFrame({"cell": "c1", "method": "paper", "estimand": "alpha[1]", "rank": [1],
    ...     "expected": [0.0], "z": [0.3], "lower": [-1.96], "upper": [1.96], "n_used": [1],
    ...     "n_attempted": [2], "n_failed": [1], "n_outside": [0]})
    >>> figure = plot_qq(qq, pd.DataFrame({"cell": ["c1"], "n": [100]}))
    >>> figure.axes[0].texts[0].get_text()
    '1 of 2 fitted'
    """
    panels = target_panels(qq, cells, rows, cols, where, labels)
    shown = rows_of_panels(panels, qq)
    with house_style():
        figure, axes = panel_grid(len(panels.rows), len(panels.cols), width, 0.85)
        for axis, target in each_target(panels, axes, shown, "standardised error"):
            qq_panel(axis, target, panel_points(axes.shape[1], width))
        panels.draw_frame(figure, axes)
        limit = largest_shown(shown["z"])
        axes[0, 0].set_ylim(-limit, limit)
        name_x_axes(axes, "Quantile of $N(0, 1)$", width)
        name_y_axes(figure, "Standardised error")
    return figure


def largest_shown(z: pd.Series) -> float:
    """End of the axis: a little beyond the largest z, or beyond 6."""
    largest = float(z.abs().max())
    return min(LARGEST_Z_SHOWN + 0.4, largest + 0.3) if largest > 0 else 3.0


def qq_panel(axis: Axes, target: pd.DataFrame, room: float) -> None:
    """Band, identity line, points, how many fits stand behind them."""
    expected, z = target["expected"], target["z"].to_numpy(np.float64)
    axis.fill_between(expected, target["lower"], target["upper"], color=LIGHT, linewidth=0)
    axis.axline((0, 0), slope=1, color=INK, linewidth=0.6)
    clipped = np.clip(z, -LARGEST_Z_SHOWN, LARGEST_Z_SHOWN)
    marks = {".": z == clipped, "^": z > clipped, "v": z < clipped}
    for marker, some in marks.items():
        at = expected.to_numpy(np.float64)[some]
        axis.plot(at, clipped[some], marker, color=mark_of(0).color, markersize=2.5)
    outside = target["n_outside"].iloc[0]
    lines = [counted(target.iloc[0])]
    if outside:
        lines.append((f"{outside} outside band", f"{outside} outside"))
    write_in_panel(axis, words_in_panel(lines, 0.6 * room))
