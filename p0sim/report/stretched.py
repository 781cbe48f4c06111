"""An axis of coverage that spreads the region where levels and most values lie."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

# For the name of the axis.
STRETCHED = "stretched near 100"
# Numbers that may stand beside the axis, the more welcome first, after the nominal level.
WELCOME = (100.0, 90.0, 50.0, 80.0, 0.0, 98.0, 70.0, 20.0, 99.0, 60.0, 30.0)
# Points between two of them.
APART = 8.0
# Room beyond the values, as a share of the axis.
BEYOND = 0.05


def stretch(axis: Axes, rows: pd.DataFrame, nominal: float, points: float) -> None:
    """Make the vertical axis one of shares in percent that is stretched towards 100.

    Parameters
    ----------
    axis : Axes
        It and those that share its y axis are changed.
    rows : DataFrame
        Columns value and lower: the shares shown, from 0 to 1.
    nominal : float
        Level of the intervals under study.
    points : float
        Height of the axis.

    Notes
    -----
    Derived here: a share of p percent stands at -log(1 + (100 - p)/m), m the
    misses in percent that the level allows. Well below the level equal factors
    of the share of misses are equal steps; near 100, where a logarithm of the
    misses has no end, the axis is linear.
    """
    misses = 100 * (1 - nominal)
    axis.set_yscale("function", functions=(partial(height, misses), partial(share, misses)))
    lowest = 100 * np.nanmin(rows[["value", "lower"]].to_numpy(np.float64), initial=nominal)
    bottom = min(lowest, 100 - 2 * misses)
    low, high = height(misses, np.array([bottom, 100.0]))
    ends = np.array([low, high]) + BEYOND * (high - low) * np.array([-1, 1])
    axis.set_ylim(*share(misses, ends).tolist())
    ticks = sorted(welcome(misses, ends, points))
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])


def welcome(misses: float, ends: NDArray[np.float64], points: float) -> list[float]:
    """The nominal level and round numbers on the axis that stand clear of one another."""
    wanted = [100 - misses, *WELCOME]
    places = dict(zip(wanted, height(misses, np.array(wanted)).tolist(), strict=True))
    least = APART * (ends[1] - ends[0]) / points
    kept: list[float] = []
    for tick, place in places.items():
        if place >= ends[0] and all(abs(place - places[other]) > least for other in kept):
            kept.append(tick)
    return kept


def height(misses: float, percent: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where a share stands on the axis.

    Examples
    --------
    >>> height(5.0, np.array([100.0, 95.0, 85.0])).round(3).tolist()
    [-0.0, -0.693, -1.386]
    """
    return -np.log1p(np.maximum((100 - percent) / misses, -0.99))


def share(misses: float, place: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share that stands there: the inverse of `height`."""
    return 100 - misses * np.expm1(-place)
