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
from p0sim.report.panels import Labels
from p0sim.report.precision import FEW, is_proportion
from p0sim.report.selection import labelled
from p0sim.report.style import GREY, INK, Mark, mark_of
from p0sim.report.wording import POINTS_PER_INCH

NOT_IN_DESIGN = "not in\nthe design"
NO_ESTIMATE = "no estimate in\nany replicate"
FEWER = f"fewer than {FEW} estimates"
# Points between an axis and the crosses below it.
BELOW_AXIS = 5


def measure_rows(performance: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The rows of one measure, which must be there, with a value where any fit has an estimate."""
    rows = performance[performance["measure"] == measure]
    if rows.empty:
        known = ", ".join(dict.fromkeys(performance["measure"]))
        raise InvalidStudyError(f"measure must be one of {known}; got {measure!r}")
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


def axis_label(measure: str, labels: Labels) -> str:
    """What a measure is, for an axis.

    Examples
    --------
    >>> axis_label("coverage", None), axis_label("sup_error_median", {})
    ('Coverage given an estimate (%)', 'Median largest error over θ')
    """
    known = measure in MEASURES and measure not in (labels or {})
    text = MEASURES[measure].meaning if known else labelled(measure, labels)
    units = {"proportion": " (%)", "percent": " (%)"}
    unit = units.get(MEASURES[measure].kind, "") if measure in MEASURES else ""
    text = text.replace("theta", "θ").replace("$", r"\$")
    return text[:1].upper() + text[1:] + unit


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


def draw_crosses(axis: Axes, x: FloatVector, mark: Mark) -> None:
    """Crosses just below the axis, where no value can stand."""
    if not x.size:
        return
    to_inches = axis.figure.dpi_scale_trans
    below = axis.get_xaxis_transform() + ScaledTranslation(
        0, -BELOW_AXIS / POINTS_PER_INCH, to_inches
    )
    axis.plot(x, np.zeros(x.size), "x", color=mark.color, transform=below, clip_on=False)


def keep_room_for_crosses(axes: NDArray[Any]) -> None:
    """Tick labels a little lower, alike under all panels."""
    for axis in axes.flat:
        axis.tick_params(axis="x", pad=BELOW_AXIS + 1)


def method_handles(
    rows: pd.DataFrame, methods: Sequence[str], labels: Labels, *, crosses: bool = False
) -> list[Line2D]:
    """Entries of a legend: the methods that are there, crosses and small points where some are."""
    there = set(rows["method"].astype(str))
    handles = [
        handle(series, labelled(name, labels))
        for series, name in enumerate(methods)
        if name in there
    ]
    if crosses and rows["value"].isna().any():
        handles.append(Line2D([], [], color=GREY, linestyle="", marker="x", label="no estimate"))
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
    return around or [values.min(), values.max()]


def ticks_apart(values: Sequence[float], share: float) -> list[float]:
    """Those of the values that stand apart by a share of the log axis, the ends among them.

    Examples
    --------
    >>> ticks_apart([1.0, 1.05, 2.0, 4.0], 0.2)
    [1.0, 2.0, 4.0]
    """
    ordered = sorted(set(values))
    least = share * math.log(ordered[-1] / ordered[0])
    kept = ordered[:1]
    for value in ordered[1:-1]:
        ends = math.log(value / kept[-1]), math.log(ordered[-1] / value)
        if min(ends) >= least:
            kept.append(value)
    return kept if len(ordered) == 1 else [*kept, ordered[-1]]
