"""Time of a fit against n on log scales, with the exponents of growth."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from p0sim.report.style import Mark, house_style, mark_of, panel_grid

DECADES = 100
SERIES = ["contender", "q"]


def power_law(n: pd.Series, seconds: pd.Series) -> tuple[float, float, float, float]:
    """Least squares of log seconds on log n: constant, exponent and its 95 % interval."""
    from statsmodels.api import OLS, add_constant

    fit = OLS(np.log(seconds.to_numpy()), add_constant(np.log(n.to_numpy(float)))).fit()
    lower, upper = fit.conf_int()[1]
    return float(fit.params[0]), float(fit.params[1]), float(lower), float(upper)


def upper_sizes(part: pd.DataFrame) -> pd.DataFrame:
    """The repeats of one series at sizes from a hundredth of its largest: its last two decades."""
    return part[part["n"] * DECADES >= part["n"].max()]


def fitted_exponents(fits: pd.DataFrame) -> pd.DataFrame:
    """One row a series of two sizes or more: sizes, exponent, interval, in words."""
    rows = []
    for (contender, q), part in fits.groupby(SERIES, sort=False):
        part = upper_sizes(part)
        if part["n"].nunique() > 1 and len(part) > 2:
            _, slope, lower, upper = power_law(part["n"], part["cpu"])
            sizes = f"{part['n'].min():,} to {part['n'].max():,}"
            row = (f"{contender}, q = {q}", sizes, f"{slope:.2f}", f"{lower:.2f} to {upper:.2f}")
            rows.append(row)
    return pd.DataFrame(rows, columns=["series", "n", "exponent", "95 % interval"])


def draw_times(fits: pd.DataFrame) -> Figure:
    """Median CPU seconds of a fit with quartiles, and the fitted power law of every series."""
    with house_style():
        figure, axes = panel_grid(1, 1, "double", 1.0)
        axis = axes[0, 0]
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.yaxis.set_minor_formatter(NullFormatter())
        for series, ((contender, q), part) in enumerate(fits.groupby(SERIES, sort=False)):
            _draw_series(axis, f"{contender}, q = {q}", part, mark_of(series))
        axis.set_xlabel("Nodes n")
        axis.set_ylabel("CPU seconds of a fit")
        figure.legend(loc="outside right center")
    return figure


def _draw_series(axis: Axes, name: str, part: pd.DataFrame, mark: Mark) -> None:
    low, middle, high = (part.groupby("n")["cpu"].quantile(level) for level in (0.25, 0.5, 0.75))
    law = upper_sizes(part)
    if law["n"].nunique() > 1 and len(law) > 2:
        constant, slope, *_ = power_law(law["n"], law["cpu"])
        ends = np.array([law["n"].min(), law["n"].max()], dtype=float)
        axis.plot(ends, np.exp(constant) * ends**slope, **mark.line() | {"marker": ""})
        name += rf": $n^{{{slope:.2f}}}$"
    axis.plot([], [], label=name, **mark.line())
    points = mark.line() | {"linestyle": "none", "elinewidth": 0.6}
    axis.errorbar(middle.index, middle, yerr=[middle - low, high - middle], **points)
