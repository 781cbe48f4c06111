"""Figures of a fit, and of what privacy would cost a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from p0sim.inference.results import P0Results
from p0sim.privacy.edge_flip import FlippedBiDegree
from p0sim.report.fit_figures import draw_degrees, draw_exploration, draw_intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_degrees(fit: P0Results) -> Figure:
    """Released against fitted degrees.

    Parameters
    ----------
    fit : P0Results

    Returns
    -------
    Figure
        An ordinary fit reproduces the degrees but for what made their totals agree, so its points
        stand beside the identity line by that. An extended fit departs where nodes are at the end
        of their range, a ridge draws all degrees together. The band is 1.96 standard deviations of
        the noise. Degrees of flipped edges are shown without the bias of the flips.

    Examples
    --------
    >>> from p0sim.inference.results import fit
    >>> len(plot_degrees(fit(([3, 1, 2], [2, 2, 2]), q=3)).axes)
    2
    """
    frame = degree_frame(fit)
    return draw_degrees(frame, float(np.sqrt(fit.moments.noise_variance)), _title(fit))


def plot_intervals(fit: P0Results, level: float = 0.95, variance: str = "noise") -> Figure:
    """Intervals of all parameters, each side sorted by its estimates.

    Parameters
    ----------
    fit : P0Results
    level : float
    variance : {"noise", "S", "exact"}

    Returns
    -------
    Figure
        Parameters that were forced to -inf or inf are triangles at the edge.

    Raises
    ------
    InvalidParametersError
        If `level` or `variance` breaks its rule.

    Examples
    --------
    >>> from p0sim.inference.results import fit
    >>> len(plot_intervals(fit(([3, 1, 2], [2, 2, 2]), q=3)).axes)
    2
    """
    return draw_intervals(parameter_frame(fit, level, variance), level, _title(fit))


def plot_exploration(exploration: pd.DataFrame) -> Figure:
    """Privacy against utility for one network: how each measure falls or rises with epsilon.

    Parameters
    ----------
    exploration : DataFrame
        As :func:`p0sim.explore` gives it.

    Returns
    -------
    Figure
        It says on top that it is no release and must not be published.

    Examples
    --------
    >>> from p0sim.datasets import load_network
    >>> from p0sim.experiments.exploration import explore
    >>> frame = explore(load_network("eies"), [4, 8], reps=2, rng=np.random.default_rng(1))
    >>> plot_exploration(frame).get_suptitle()
    "not a release: shows the network's own numbers, do not publish"
    """
    return draw_exploration(exploration, str(exploration["mark"].iloc[0]))


def degree_frame(fit: P0Results) -> pd.DataFrame:
    """Both degrees of each node: side, node, released, fitted, forced."""
    degrees, fitted = fit.moments.degrees, fit.model.expected_bidegree()
    released = np.concatenate([degrees.out_degree, degrees.in_degree])
    if isinstance(degrees, FlippedBiDegree):
        released = np.concatenate(degrees.unbiased_margins())
    return pd.DataFrame(
        {
            "side": np.repeat(["out", "in"], fit.model.n),
            "node": fit.nodes * 2,
            "released": released,
            "fitted": np.concatenate([fitted.out_degree, fitted.in_degree]),
            "forced": np.isinf(np.concatenate([fit.alpha, fit.beta])),
        }
    )


def parameter_frame(fit: P0Results, level: float, variance: str) -> pd.DataFrame:
    """All 2n parameters: name, node, estimate, lower, upper; the beta that is 0 has no interval."""
    n, reference = fit.model.n, fit.model.n + fit.model.reference
    bounds = np.full((2 * n, 2), np.nan)
    bounds[np.arange(2 * n) != reference] = fit.conf_int(level, variance).to_numpy()
    return pd.DataFrame(
        {
            "name": np.repeat(["alpha", "beta"], n),
            "node": fit.nodes * 2,
            "estimate": np.concatenate([fit.alpha, fit.beta]),
            "lower": bounds[:, 0],
            "upper": bounds[:, 1],
        }
    )


def _title(fit: P0Results) -> str:
    epsilon, ridge = fit.moments.epsilon, fit.moments.ridge
    noise = "no noise" if epsilon is None else f"ε = {epsilon:g}"
    way = f", ridge λ = {ridge:g}" if ridge > 0 else ""
    return f"n = {fit.model.n}, q = {fit.model.q}, {noise}{way}"
