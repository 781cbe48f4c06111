"""The printed account of a fit, laid out like R's summary()."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from p0sim.estimate.moments import MomentFit

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
        "",
        _coefficients(table, level),
        "---",
        f"Solver {moments.solver}: {moments.n_iter} iterations, largest residual "
        f"{moments.residual:.1e} standard deviations",
    ]
    return Summary("\n".join(lines))


def _noise_line(moments: MomentFit) -> str:
    if moments.epsilon is None:
        return "Noise: none"
    variances = np.concatenate(moments.model.degree_variances())
    share = moments.noise_variance / (moments.noise_variance + np.median(variances))
    return (
        f"Noise: discrete Laplace, epsilon = {moments.epsilon:g}, "
        f"{100 * share:.0f} % of a typical degree's variance"
    )


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
