"""Single panels: QQ plots, rates on log scales, shares by a factor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray
from scipy import stats

from p0sim.arrays import FloatVector
from p0sim.report.bands import order_statistic_band
from p0sim.report.panels import Labels
from p0sim.report.precision import FEW
from p0sim.report.selection import labelled, level_texts
from p0sim.report.style import GREY, INK, LIGHT, Mark, mark_of, say

POINTS_SHOWN = 300
LARGEST_Z_SHOWN = 6.0
NOT_IN_DESIGN = "not in\nthe design"
FEWER = f"fewer than {FEW} estimates"
# Points between an axis and the crosses below it.
BELOW_AXIS = 5


def qq_panel(
    axis: Axes,
    targets: pd.DataFrame,
    groups: Mapping[tuple[str, ...], FloatVector],
    level: float,
) -> None:
    """One panel: band, identity line, points, how many fits stand behind them."""
    if targets.empty:
        say(axis, NOT_IN_DESIGN)
        return
    target = targets.iloc[0]
    z = groups.get((target["cell"], target["method"], target["estimand"]), np.empty(0))
    z = np.sort(z[np.isfinite(z)])
    if z.size == 0:
        say(axis, f"no estimate in\n{target['n_attempted']} replicates")
        return
    axis.axline((0, 0), slope=1, color=INK, linewidth=0.6)
    outside = qq_points(axis, z, level)
    counted = f"{z.size} of {target['n_attempted']} fitted"
    text = f"{counted}\n{outside} outside band" if outside else counted
    axis.text(0.04, 0.97, text, transform=axis.transAxes, va="top", fontsize=6)


def qq_points(axis: Axes, z: FloatVector, level: float) -> int:
    """Draw a sorted sample and its band; how many of its points lie outside."""
    lower, upper = (stats.norm.ppf(bound) for bound in order_statistic_band(z.size, level))
    at = stats.norm.ppf(np.arange(1, z.size + 1) / (z.size + 1))
    kept = ranks_shown(z.size)
    axis.fill_between(at[kept], lower[kept], upper[kept], color=LIGHT, linewidth=0)
    clipped = np.clip(z, -LARGEST_Z_SHOWN, LARGEST_Z_SHOWN)[kept]
    beyond = np.abs(z[kept]) > LARGEST_Z_SHOWN
    mark = mark_of(0)
    for marker, some in (
        (".", ~beyond),
        ("^", beyond & (clipped > 0)),
        ("v", beyond & (clipped < 0)),
    ):
        axis.plot(at[kept][some], clipped[some], marker, color=mark.color, markersize=2.5)
    return int(((z < lower) | (z > upper)).sum())


def ranks_shown(n: int) -> NDArray[np.int64]:
    """Positions of a sorted sample to draw: all of a small one, else even in z."""
    if n <= POINTS_SHOWN:
        return np.arange(n)
    edge = POINTS_SHOWN // 6
    reach = stats.norm.ppf(n / (n + 1))
    even = stats.norm.cdf(np.linspace(-reach, reach, POINTS_SHOWN - 2 * edge)) * (n + 1) - 1
    inner = np.clip(np.rint(even), 0, n - 1).astype(np.int64)
    return np.unique(np.concatenate([np.arange(edge), inner, np.arange(n - edge, n)]))


@dataclass(frozen=True)
class Slope:
    """Slope of log y on log x by least squares, with its interval (nan below three points)."""

    slope: float
    lower: float
    upper: float

    def __str__(self) -> str:
        interval = "" if math.isnan(self.lower) else f" [{self.lower:.2f}, {self.upper:.2f}]"
        return f"{self.slope:.2f}{interval}".replace("-", "−")


def log_log_slope(x: FloatVector, y: FloatVector, level: float = 0.95) -> Slope | None:
    """Least squares on log scales; None for fewer than two different x.

    Examples
    --------
    >>> str(log_log_slope(np.array([1.0, 2.0]), np.array([4.0, 2.0])))
    '−1.00'
    """
    if len(set(x.tolist())) < 2:
        return None
    fit = sm.OLS(np.log(y), sm.add_constant(np.log(x))).fit()
    if len(x) < 3:
        return Slope(float(fit.params[1]), math.nan, math.nan)
    lower, upper = fit.conf_int(1 - level)[1]
    return Slope(float(fit.params[1]), float(lower), float(upper))


def round_ticks(frame: pd.DataFrame) -> list[float]:
    """1, 2, 5 times powers of ten around the values shown."""
    values = frame[["value", "lower", "upper"]].to_numpy(np.float64)
    values = values[np.isfinite(values) & (values > 0)]
    if not values.size:
        return [0.1, 1.0]
    powers = range(
        math.floor(math.log10(values.min())) - 1, math.ceil(math.log10(values.max())) + 1
    )
    ticks = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    around = [t for t in ticks if values.min() / 1.2 <= t <= values.max() * 1.2]
    return around or [values.min(), values.max()]


def rate_panel(
    figure: Figure, axis: Axes, frame: pd.DataFrame, methods: Sequence[str], labels: Labels
) -> None:
    """One panel: a line a method, the reference rate, the slopes in the legend."""
    known = frame[frame["value"] > 0]
    if known.empty:
        say(axis, "no estimate in\nany replicate" if len(frame) else NOT_IN_DESIGN)
        return
    handles = []
    for series, method in enumerate(methods):
        mine = known[known["method"] == method].sort_values("n")
        draw_series(axis, mine["n"].to_numpy(), mine, mark_of(series))
        if (frame["method"] == method).any():
            handles.append(handle(series, f"{labelled(method, labels)}: {slope_text(mine)}"))
    handles.append(draw_rate(axis, known))
    legend_below(figure, axis, [*handles, *few_handles(known)])


def slope_text(known: pd.DataFrame) -> str:
    """The slope of the points that are joined, or why there is none."""
    joined = known[~on_few(known)]
    slope = log_log_slope(joined["n"].to_numpy(), joined["value"].to_numpy())
    if slope:
        return str(slope)
    return "one n only" if len(joined) else FEWER if len(known) else "no estimate"


def draw_rate(axis: Axes, known: pd.DataFrame) -> Line2D:
    """The rate sqrt(log n / n), a little below the lowest series."""
    sizes = np.sort(known["n"].unique())
    rate = np.sqrt(np.log(sizes) / sizes)
    start = known.loc[known["n"] == sizes[0], "value"].min()
    slope = log_log_slope(sizes, rate)
    said = f": {Slope(slope.slope, math.nan, math.nan)}" if slope else ""
    (line,) = axis.plot(sizes, 0.8 * start * rate / rate[0], color=GREY, linewidth=0.7)
    line.set_label(r"$\sqrt{\log n / n}$" + said)
    return line


def legend_below(figure: Figure, axis: Axes, handles: list[Line2D]) -> None:
    """A legend under a panel, clear of its tick labels and of the name of its axis."""
    points = -25 if axis.get_xlabel() else -6
    down = ScaledTranslation(0, points / 72, figure.dpi_scale_trans)
    axis.legend(
        handles=handles,
        title="Slope [95 % interval]",
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=axis.transAxes + down,
        borderaxespad=0,
    )


def draw_series(
    axis: Axes, x: FloatVector, frame: pd.DataFrame, mark: Mark, scale: float = 1.0
) -> None:
    """Points joined by a line; those on few estimates are small, open and not joined."""
    few = on_few(frame)
    joined = frame.assign(value=frame["value"].mask(few))
    draw_points(axis, x, joined, scale, mark.line())
    if few.any():
        draw_points(axis, x[few], frame[few], scale, mark.lone())


def on_few(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Rows with a value that rests on fewer than 30 estimates."""
    return (frame["value"].notna() & (frame["n_used"] < FEW)).to_numpy(np.bool_)


def draw_points(
    axis: Axes, x: FloatVector, frame: pd.DataFrame, scale: float, style: Mapping[str, Any]
) -> None:
    """Points with their Monte Carlo intervals."""
    value = scale * frame["value"].to_numpy(np.float64)
    ends = [scale * frame[side].to_numpy(np.float64) for side in ("lower", "upper")]
    bars = [np.clip(value - ends[0], 0, None), np.clip(ends[1] - value, 0, None)]
    axis.errorbar(x, value, yerr=np.nan_to_num(bars), elinewidth=0.7, capsize=1.5, **style)


def share_panel(
    axis: Axes,
    frame: pd.DataFrame,
    x: str,
    ticks: Sequence[str],
    methods: Sequence[str],
    nominal: float,
) -> None:
    """One panel: a series a method, dodged; a cross below the axis where every fit failed."""
    if frame.empty:
        say(axis, NOT_IN_DESIGN)
        return
    if frame["value"].isna().all():
        say(axis, "no estimate in\nany replicate")
        return
    axis.axhline(100 * nominal, color=INK, linewidth=0.6, linestyle="--", zorder=0)
    place = level_texts(frame, x).map({level: i for i, level in enumerate(ticks)})
    for series, method in enumerate(methods):
        mine = frame["method"] == method
        shift = 0.0 if x == "method" else 0.5 * ((series + 0.5) / len(methods) - 0.5)
        at = place[mine].to_numpy(np.float64) + np.float64(shift)
        rows, mark = frame[mine], mark_of(series)
        draw_series(axis, at, rows, mark, scale=100)
        draw_crosses(axis, at[rows["value"].isna().to_numpy()], mark)


def draw_crosses(axis: Axes, x: FloatVector, mark: Mark) -> None:
    """Crosses just below the axis, where no value can stand."""
    if not x.size:
        return
    to_inches = axis.figure.dpi_scale_trans
    below = axis.get_xaxis_transform() + ScaledTranslation(0, -BELOW_AXIS / 72, to_inches)
    axis.plot(x, np.zeros(x.size), "x", color=mark.color, transform=below, clip_on=False)
    axis.tick_params(axis="x", pad=BELOW_AXIS + 1)


def share_handles(
    frame: pd.DataFrame, methods: Sequence[str], labels: Labels, nominal: float
) -> list[Line2D]:
    """Entries of the one legend for all panels."""
    handles = [handle(series, labelled(name, labels)) for series, name in enumerate(methods)]
    handles.append(Line2D([], [], color=INK, linestyle="--", label=f"nominal {100 * nominal:g} %"))
    if frame["value"].isna().any():
        handles.append(Line2D([], [], color=GREY, linestyle="", marker="x", label="no estimate"))
    return [*handles, *few_handles(frame)]


def few_handles(frame: pd.DataFrame) -> list[Line2D]:
    """A legend entry for points on few estimates, where there are any."""
    if not on_few(frame).any():
        return []
    style = mark_of(0).lone() | {"color": GREY, "markeredgecolor": GREY}
    return [Line2D([], [], label=FEWER, **style)]


def handle(series: int, text: str) -> Line2D:
    """A legend entry; no text is taken for mathematics."""
    return Line2D([], [], label=text.replace("$", r"\$"), **mark_of(series).line())
