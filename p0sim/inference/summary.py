"""The printed account of a fit, laid out like R's summary()."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from p0sim.estimate.boundary import name_forced
from p0sim.estimate.moments import MomentFit
from p0sim.inference.noise_cost import noise_shares, privacy_statement
from p0sim.inference.totals import totals_lines
from p0sim.model.bidegree import BiDegree
from p0sim.model.extended import ExtendedP0Model
from p0sim.privacy.edge_flip import FlippedBiDegree

if TYPE_CHECKING:
    import pandas as pd

ROWS_SHOWN = 130
ROWS_AT_EACH_END = 20
VARIANCE_WORDS = {
    "noise": "network and noise (closed form)",
    "S": "network only (the paper's S)",
    "exact": "network and noise (exact inverse)",
}


@dataclass(frozen=True)
class Summary:
    """Text that prints itself, in a terminal and in a notebook."""

    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def summarise_fit(moments: MomentFit, table: pd.DataFrame, level: float, variance: str) -> Summary:
    """Lay out a tidy table of parameters under what was fitted.

    Parameters
    ----------
    moments : MomentFit
    table : DataFrame
        As :meth:`P0Results.tidy` gives it.
    level : float
    variance : str

    Returns
    -------
    Summary
    """
    lines = [
        "Weighted p0 model fitted to a bi-degree sequence",
        "",
        f"Nodes: {moments.model.n}    Weights: 0..{moments.model.q - 1}    "
        f"Margins: {moments.margins.treatment}",
        _noise_line(moments),
        f"Standard errors: {VARIANCE_WORDS[variance]}",
        *_way_on(moments),
        "",
        _coefficients(table[np.isfinite(table["estimate"])], level),
        "---",
        f"Solver {moments.solver}: {moments.n_iter} iterations, largest residual "
        f"{moments.residual:.1e} standard deviations",
        "",
        privacy_statement(moments.degrees),
    ]
    return Summary("\n".join(lines))


def _way_on(moments: MomentFit) -> list[str]:
    """What was done where no estimate exists, or to be sure of one."""
    if moments.ridge > 0:
        return [
            f"Ridge: lambda = {moments.ridge:g} on centred alpha and beta; intervals are about the "
            "penalised target, not about the true parameters"
        ]
    if not isinstance(moments.model, ExtendedP0Model):
        return []
    model = moments.model
    forced = name_forced(model.alpha_rates, model.nodes, "alpha")
    forced += name_forced(model.beta_rates, model.nodes, "beta")
    return [*(f"Forced {phrase}" for phrase in forced), *totals_lines(moments)]


def _noise_line(moments: MomentFit) -> str:
    if isinstance(moments.degrees, BiDegree):
        return _no_noise_line(moments.degrees)
    shares = noise_shares(moments)
    flipped = isinstance(moments.degrees, FlippedBiDegree)
    mechanism = "flipped edges (edge_flip)" if flipped else "discrete Laplace"
    return (
        f"Noise: {mechanism}, epsilon = {moments.epsilon:g}, "
        f"{100 * shares.degree:.0f} % of a typical degree's variance, "
        f"{100 * shares.parameter:.0f} % of a typical parameter's"
    )


def _no_noise_line(degrees: BiDegree) -> str:
    """Totals may differ only where somebody said that this is no noise."""
    excess = float(degrees.out_degree.sum() - degrees.in_degree.sum())
    if np.isclose(excess, 0, atol=1e-9 * float(degrees.out_degree.sum())):
        return "Noise: none"
    return f"Noise: none, as was said; yet totals differ by {abs(excess):g}: intervals ignore it"


def _coefficients(table: pd.DataFrame, level: float) -> str:
    percent = f"{100 * level:g} %"
    names = {
        "term": "",
        "estimate": "Estimate",
        "std_error": "Std. Error",
        "statistic": "z value",
        "p_value": "Pr(>|z|)",
        "lower": f"lower {percent}",
        "upper": f"upper {percent}",
    }
    shown = table.rename(columns=names)
    shown["Pr(>|z|)"] = [f"{p:.3g}" if p >= 1e-4 else "<1e-04" for p in table["p_value"]]
    left_out = len(shown) - 2 * ROWS_AT_EACH_END
    if len(shown) <= ROWS_SHOWN:
        return _aligned(shown)
    head, tail = shown.head(ROWS_AT_EACH_END), shown.tail(ROWS_AT_EACH_END)
    note = f"... {left_out} more parameters: see tidy() ..."
    return "\n".join([_aligned(head), note, *_aligned(tail).splitlines()[1:]])


def _aligned(table: pd.DataFrame) -> str:
    return table.to_string(index=False, float_format=lambda value: f"{value:.4f}")
