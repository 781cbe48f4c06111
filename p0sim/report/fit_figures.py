"""Figures of one fit and of one network's exploration: frames in, matplotlib figures out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from p0sim.report.notation import number_text
from p0sim.report.style import GREY, INK, LIGHT, WIDTHS, house_style, mark_of, panel_grid, say

SIDES = {"out": "Out-degree", "in": "In-degree"}
PARAMETERS = {"alpha": "α (sending)", "beta": "β (receiving)"}
# noise stays within so many standard deviations in about 95 of 100 draws
NOISE_BAND = 1.96
LABELLED_UP_TO = 80
INTERVALS_SHOWN = 100
LONGEST_SHOWN = 3.0
INCHES_A_LABEL, SHORTEST, TALLEST = 0.078, 2.2, 4.6
PANELS = {
    "exists": "Releases with an estimate (%)",
    "rmse_alpha": "RMSE of α",
    "rmse_beta": "RMSE of β",
    "ci_width": "Mean interval length",
    "noise_share": "Variance that is noise (%)",
}
# factor between the outermost epsilons and the ends of their axis
BESIDE = 1.2
SHARES = ("exists", "noise_share")


def draw_degrees(degrees: pd.DataFrame, noise_sd: float, title: str) -> Figure:
    """Released against fitted degrees, with the identity line and the reach of the noise.

    Parameters
    ----------
    degrees : DataFrame
        Columns side ("out", "in"), released, fitted, forced: whether the node's parameter is
        infinite.
    noise_sd : float
        Standard deviation of the noise, in weight units; 0 draws no band.
    title : str

    Returns
    -------
    Figure
    """
    ends = np.array(_padded(degrees[["released", "fitted"]].to_numpy(np.float64)))
    with house_style():
        figure, axes = panel_grid(1, 2, "double", 0.95, below=0.2)
        for axis, (side, name) in zip(axes[0], SIDES.items(), strict=True):
            _degree_panel(axis, degrees[degrees["side"] == side], noise_sd, ends)
            axis.set_title(name)
            axis.set_xlabel("Released")
        axes[0, 0].set_ylabel("Fitted")
        axes[0, 0].set(xlim=ends, ylim=ends)
        figure.suptitle(_plain(title))
        handles = _degree_handles(bool(degrees["forced"].any()), noise_sd)
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _degree_panel(
    axis: Axes, degrees: pd.DataFrame, noise_sd: float, ends: NDArray[np.float64]
) -> None:
    if noise_sd > 0:
        reach = NOISE_BAND * noise_sd
        axis.fill_between(ends, ends - reach, ends + reach, color=LIGHT, linewidth=0)
    axis.axline((0, 0), slope=1, color=INK, linewidth=0.6)
    for forced, rows in degrees.groupby("forced"):
        axis.plot(rows["released"], rows["fitted"], **_degree_mark(bool(forced)))
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(MaxNLocator(6))
    axis.set_aspect("equal")


def _degree_mark(forced: bool) -> dict[str, Any]:
    mark = mark_of(1 if forced else 0)
    apart = {"markersize": 3.5, "markerfacecolor": "none", "markeredgewidth": 0.7}
    own = apart if forced else {"markersize": 2.2, "markeredgewidth": 0}
    return mark.line() | {"linestyle": "none", "label": "infinite parameter"} | own


def _degree_handles(any_forced: bool, noise_sd: float) -> list[Line2D | Patch]:
    handles: list[Line2D | Patch] = [
        Line2D([], [], **_degree_mark(False) | {"label": "node"}),
        Line2D([], [], color=INK, linewidth=0.6, label="fitted = released"),
    ]
    if noise_sd > 0:
        said = f"±{NOISE_BAND:g} standard deviations of the noise"
        handles.append(Patch(color=LIGHT, linewidth=0, label=said))
    return handles + ([Line2D([], [], **_degree_mark(True))] if any_forced else [])


def draw_intervals(parameters: pd.DataFrame, level: float, title: str) -> Figure:
    """Intervals by node, sorted by estimate (a caterpillar plot), a panel a side.

    Parameters
    ----------
    parameters : DataFrame
        Columns name ("alpha", "beta"), node, estimate, lower, upper; estimates may be -inf or inf,
        and a parameter that is 0 by convention has no lower and upper.
    level : float
        Of the intervals.
    title : str

    Returns
    -------
    Figure
        Up to 80 nodes are labelled. Of more than 100 every estimate is drawn, and 100 intervals at
        even distances. Infinite estimates are triangles at the edge, counted in words.
    """
    n = int(parameters["name"].value_counts().max())
    height = INCHES_A_LABEL * n if n <= LABELLED_UP_TO else TALLEST
    with house_style():
        figure = Figure(
            figsize=(WIDTHS["double"], max(height, SHORTEST) + 0.7), layout="constrained"
        )
        axes = figure.subplots(1, 2, sharex=True)
        for axis, (name, heading) in zip(axes, PARAMETERS.items(), strict=True):
            mine = parameters[parameters["name"] == name].sort_values("estimate", kind="stable")
            _interval_panel(axis, mine.reset_index(drop=True))
            axis.set_title("\n".join([heading, *_interval_notes(mine)]))
            axis.set_xlabel("Log-odds of one more unit of weight")
        axes[0].set_xlim(_interval_ends(parameters))
        axes[0].set_ylabel("Nodes by estimate")
        figure.suptitle(_plain(f"{title}; intervals at {100 * level:g} %"))
    return figure


def _interval_panel(axis: Axes, rows: pd.DataFrame) -> None:
    """Nodes from below in the order of their rows."""
    mark = mark_of(0)
    place, estimate = np.arange(len(rows)), rows["estimate"].to_numpy(np.float64)
    fitted, given = _fitted(rows), _given(rows)
    shown = _thinned(np.flatnonzero(fitted))
    axis.hlines(shown, rows["lower"][shown], rows["upper"][shown], color=mark.color, linewidth=0.7)
    axis.plot(estimate[fitted], place[fitted], "o", color=mark.color, markersize=1.8)
    axis.plot(estimate[given], place[given], "D", color=INK, markersize=2.8, fillstyle="none")
    axis.axvline(0, color=GREY, linewidth=0.5, zorder=0)
    for infinite, edge, marker in ((-np.inf, 0.0, "<"), (np.inf, 1.0, ">")):
        _edge_marks(axis, np.flatnonzero(estimate == infinite), edge, marker)
    axis.set_ylim(-1, len(rows))
    _name_nodes(axis, rows["node"].tolist())


def _fitted(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Finite estimates with an interval."""
    fitted: NDArray[np.bool_] = np.isfinite(rows["estimate"].to_numpy(np.float64)) & ~_given(rows)
    return fitted


def _given(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """The parameter that is 0 by convention."""
    return rows["lower"].isna().to_numpy(np.bool_)


def _edge_marks(axis: Axes, places: NDArray[np.int64], edge: float, marker: str) -> None:
    if not len(places):
        return
    where = _thinned(places)
    (line,) = axis.plot(np.full(len(where), edge), where, marker, color=mark_of(1).color)
    line.set(markersize=2.8, transform=axis.get_yaxis_transform(), clip_on=False, in_layout=False)


def _interval_notes(rows: pd.DataFrame) -> list[str]:
    """What a panel shows besides intervals, and how many it leaves out; one line at most."""
    estimate, fitted = rows["estimate"], int(_fitted(rows).sum())
    notes = [f"β of {_plain(node)} is 0 by convention" for node in rows["node"][_given(rows)]]
    for infinite, word in ((-np.inf, "−∞"), (np.inf, "∞")):
        count = int((estimate == infinite).sum())
        notes += [f"{count} at {word}"] if count else []
    if fitted > INTERVALS_SHOWN:
        notes.append(f"{INTERVALS_SHOWN} of {fitted} intervals drawn")
    return ["; ".join(notes)]


def _interval_ends(parameters: pd.DataFrame) -> tuple[float, float]:
    """Room for all finite estimates and typical intervals; the longest run out of the panel."""
    rows = parameters[_fitted(parameters)]
    beyond = LONGEST_SHOWN * float(((rows["upper"] - rows["lower"]) / 2).median())
    low, high = rows["estimate"].min() - beyond, rows["estimate"].max() + beyond
    return _padded(np.array([max(low, rows["lower"].min()), min(high, rows["upper"].max()), 0.0]))


def _name_nodes(axis: Axes, nodes: Sequence[str]) -> None:
    if len(nodes) > LABELLED_UP_TO:
        axis.set_yticks([])
        return
    axis.set_yticks(range(len(nodes)), [_plain(node) for node in nodes], fontsize=4.5)
    axis.tick_params(axis="y", length=1.5)


def _thinned(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """All of a few places; of many 100 at even distances, both ends among them."""
    if len(places) <= INTERVALS_SHOWN:
        return places
    return places[np.linspace(0, len(places) - 1, INTERVALS_SHOWN).round().astype(np.int64)]


def draw_exploration(exploration: pd.DataFrame, title: str) -> Figure:
    """What privacy costs one network: a panel a measure, epsilon along the axis.

    Parameters
    ----------
    exploration : DataFrame
        Columns mechanism, epsilon, measure, value, mcse; measures exists, rmse_alpha, rmse_beta,
        ci_width and noise_share.
    title : str
        Must say that this is no release.

    Returns
    -------
    Figure
        Bars are 1.96 Monte Carlo standard errors.
    """
    mechanisms = list(dict.fromkeys(exploration["mechanism"]))
    with house_style():
        figure = Figure(figsize=(WIDTHS["double"], 3.9), layout="constrained")
        axes = figure.subplots(2, 3).ravel()
        for axis, (measure, name) in zip(axes, PANELS.items(), strict=False):
            chosen = exploration[exploration["measure"] == measure]
            _measure_panel(axis, chosen, mechanisms, 100 if measure in SHARES else 1)
            axis.set_title(name)
            axis.set_xlabel("ε")
        handles = [
            Line2D([], [], label=_plain(name), **mark_of(k).line())
            for k, name in enumerate(mechanisms)
        ]
        axes[-1].set_axis_off()
        axes[-1].legend(handles=handles, loc="center", title="Mechanism")
        figure.suptitle(_plain(title))
    return figure


def _measure_panel(axis: Axes, rows: pd.DataFrame, mechanisms: Sequence[str], scale: float) -> None:
    ticks = sorted(set(rows["epsilon"]))
    axis.set_xscale("log")
    axis.set_xlim(ticks[0] / BESIDE, ticks[-1] * BESIDE)
    axis.set_xticks(ticks, [number_text(tick) for tick in ticks])
    axis.set_xticks([], minor=True)
    for series, mechanism in enumerate(mechanisms):
        mine = rows[(rows["mechanism"] == mechanism) & rows["value"].notna()]
        value, bars = scale * mine["value"], scale * NOISE_BAND * mine["mcse"].fillna(0)
        if len(mine):
            style = mark_of(series).line() | {"markersize": 3.5}
            axis.errorbar(mine["epsilon"], value, yerr=bars, elinewidth=0.7, capsize=1.5, **style)
    if rows["value"].notna().any():
        axis.set_ylim(bottom=0, top=103 if scale > 1 else None)
    else:
        say(axis, "no estimate in\nany release")


def _plain(text: str) -> str:
    """No text of the user's is taken for mathematics."""
    return text.replace("$", r"\$")


def _padded(values: NDArray[np.float64]) -> tuple[float, float]:
    """Ends of an axis, a little beyond the values."""
    low, high = float(values.min()), float(values.max())
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room
