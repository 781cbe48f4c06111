"""What several figures draw: series with their Monte Carlo intervals, crosses, legend entries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from p0sim.arrays import FloatVector
from p0sim.columns import MEASURES
from p0sim.errors import InvalidStudyError
from p0sim.report.notes import UNCONDITIONAL
from p0sim.report.panels import Labels, Panels
from p0sim.report.precision import FEW, is_proportion
from p0sim.report.selection import labelled
from p0sim.report.style import GREY, INK, Mark, mark_of
from p0sim.report.wording import POINTS_PER_INCH
from p0sim.validation import one_of

NOT_IN_DESIGN = "not in\nthe design"
NO_ESTIMATE = "no estimate in\nany replicate"
FEWER = f"fewer than {FEW} estimates"
CROSSED = "crossed out below the axis: no estimate"
# Points between an axis and the first of the crosses below it, and from those of one method to the
# next: crosses of several methods do not hide each other.
BELOW_AXIS, NEXT_BELOW = 6, 6
# Their size.
CROSS = 4.2
# With more numbers on a log axis, powers of ten are enough.
MOST_TICKS = 8


def measure_rows(performance: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The rows of one measure, which must be there, with a value where any fit has an estimate."""
    rows = performance[performance["measure"] == measure]
    if rows.empty:
        known = list(dict.fromkeys(performance["measure"]))
        raise InvalidStudyError(f"measure must be {one_of(measure, known)}")
    if rows["value"].isna().all() and fits_in(rows):
        raise InvalidStudyError(
            f"measure must be one that fits of this study have; got {measure!r}, of which there "
            "is no value"
        )
    return rows


def fits_in(rows: pd.DataFrame) -> bool:
    """Whether any fit has an estimate."""
    return bool((rows["n_failed"] < rows["n_attempted"]).any())


def available(performance: pd.DataFrame, measure: str) -> str:
    """A measure if any row has it, else what is known of whole fits, else what is there.

    Examples
    --------
    >>> available(pd.DataFrame({"measure": ["fail_rate", "sup_error_median"]}), "coverage")
    'sup_error_median'
    """
    there = list(dict.fromkeys(performance["measure"]))
    known = [name for name in (measure, "sup_error_median") if name in there]
    return (known or there or [measure])[0]


def require_numbers(rows: pd.DataFrame, factor: str, least: float, purpose: str) -> pd.DataFrame:
    """Rows whose factor is a number above `least`, as it must be on a log axis."""
    if factor not in rows:
        raise InvalidStudyError(f"performance must have the factor {factor} {purpose}; got none")
    numbers = pd.to_numeric(rows[factor], errors="coerce").astype(np.float64)
    if len(bad := rows[factor][~(numbers > least)]):
        raise InvalidStudyError(
            f"{factor} must be a number above {least:g} {purpose}; got {bad.iloc[0]}"
        )
    return rows.assign(**{factor: numbers})


def scale_of(measure: str) -> float:
    """Shares are drawn in percent."""
    return 100.0 if is_proportion(measure) else 1.0


def axis_label(measure: str, labels: Labels, failed: pd.Series | None = None) -> str:
    """What a measure is, for an axis; that it needs an estimate, where some fits have none.

    Parameters
    ----------
    measure : str
    labels : mapping of str to str, optional
    failed : Series of int, optional
        The failed fits behind the numbers shown.

    Examples
    --------
    >>> axis_label("coverage", None), axis_label("sup_error_median", {})
    ('Coverage given an estimate (%)', 'Median largest error over θ')
    >>> axis_label("mse", None, pd.Series([0, 2]))
    'Mean squared error, given an estimate'
    """
    known = measure in MEASURES and measure not in (labels or {})
    text = MEASURES[measure].meaning if known else labelled(measure, labels)
    units = {"proportion": " (%)", "percent": " (%)"}
    unit = units.get(MEASURES[measure].kind, "") if measure in MEASURES else ""
    text = text.replace("theta", "θ").replace("$", r"\$")
    said = "estimate" in text or measure in UNCONDITIONAL
    given = "" if said or failed is None or not failed.any() else ", given an estimate"
    return text[:1].upper() + text[1:] + given + unit


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


def start_at_zero(axis: Axes, values: pd.Series) -> None:
    """No room below zero for a bar of a measure that is never negative."""
    if values.min() >= 0 and axis.get_ylim()[0] < 0:
        axis.set_ylim(bottom=0)


def failing(panels: Panels, methods: Sequence[str]) -> list[str]:
    """Methods without a value where their panel has some, in order: each has a line of crosses."""
    known = panels.frame["value"].notna()
    crossed = known.groupby([panels.row_of, panels.col_of]).transform("any") & ~known
    without = set(panels.frame.loc[crossed, "method"].astype(str))
    return [name for name in methods if name in without]


def draw_crosses(axis: Axes, x: FloatVector, mark: Mark, line: int, size: float = CROSS) -> None:
    """Marks of the method, crossed out, below the axis, where no value can stand.

    Parameters
    ----------
    axis : Axes
    x : ndarray
        Where.
    mark : Mark
        That of the method: shapes tell methods apart in print without colours.
    line : int
        Line below the axis, from 0.
    size : float
        Of the marks, in points.
    """
    if not x.size:
        return
    below = axis.get_xaxis_transform() + down(axis, line)
    thin = {"color": INK, "markersize": 1.2 * size, "markeredgewidth": 0.5, "linestyle": "none"}
    for look in (open_mark(mark, size), {"marker": "x"} | thin):
        axis.plot(x, np.zeros(x.size), transform=below, clip_on=False, **look)


def name_crosses(axis: Axes, methods: Sequence[str], crossed: Sequence[str]) -> None:
    """The mark of its method before every line of crosses, for crosses too small to show it."""
    for line, method in enumerate(crossed):
        below = axis.transAxes + down(axis, line)
        look = open_mark(mark_of(methods.index(method)), CROSS)
        axis.plot([-0.01], [0], transform=below, clip_on=False, **look)


def open_mark(mark: Mark, size: float) -> dict[str, Any]:
    """A mark alone, white inside."""
    apart = {"markerfacecolor": "white", "markersize": size, "linestyle": "none"}
    return mark.line() | apart


def down(axis: Axes, line: int) -> ScaledTranslation:
    """From the axis to a line of crosses below it."""
    points = -(BELOW_AXIS + line * NEXT_BELOW)
    return ScaledTranslation(0, points / POINTS_PER_INCH, axis.figure.dpi_scale_trans)


def cross_out(
    axis: Axes,
    x: FloatVector,
    frame: pd.DataFrame,
    methods: Sequence[str],
    crossed: Sequence[str],
    size: float = CROSS,
) -> None:
    """A line of crosses for each of some methods, where it has no value in a panel with some."""
    for line, method in enumerate(crossed if frame["value"].notna().any() else ()):
        gone = (frame["value"].isna() & (frame["method"] == method)).to_numpy(np.bool_)
        draw_crosses(axis, x[gone], mark_of(methods.index(method)), line, size)


def keep_room_for_crosses(axes: NDArray[Any], n_lines: int) -> None:
    """Tick labels lower, alike under all panels."""
    for axis in axes.flat if n_lines else ():
        axis.tick_params(axis="x", pad=BELOW_AXIS + NEXT_BELOW * (n_lines - 1) + 1.5)


def method_handles(
    rows: pd.DataFrame, methods: Sequence[str], labels: Labels, crossed: Sequence[str] = ()
) -> list[Line2D]:
    """Entries of a legend: the methods that are there, crosses and small points where some are."""
    there = set(rows["method"].astype(str))
    handles = [
        handle(series, labelled(name, labels))
        for series, name in enumerate(methods)
        if name in there
    ]
    if crossed:
        handles.append(Line2D([], [], color=INK, linestyle="", marker="x", label=CROSSED))
    return [*handles, *few_handles(rows)]


def few_handles(frame: pd.DataFrame) -> list[Line2D]:
    """A legend entry for points on few estimates, where there are any."""
    if not on_few(frame).any():
        return []
    style = mark_of(0).lone() | {"color": GREY, "markeredgecolor": GREY}
    return [Line2D([], [], label=FEWER, **style)]


def handle(series: int, text: str) -> Line2D:
    """A legend entry; no text is taken for mathematics."""
    return Line2D([], [], label=text.replace("$", r"\$"), **mark_of(series).line())


def nominal_handle(nominal: float) -> Line2D:
    """The legend entry of the nominal line."""
    return Line2D(
        [], [], color=INK, linestyle="--", linewidth=0.6, label=f"nominal {100 * nominal:g} %"
    )


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
    if len(around) > MOST_TICKS:
        around = [t for t in around if round(math.log10(t), 9).is_integer()]
    return around or [values.min(), values.max()]
