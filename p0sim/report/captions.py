"""Words under figures and for those who cannot see them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from p0sim.columns import MEASURES
from p0sim.report.consistency_figure import FEWEST_SIZES
from p0sim.report.drawing import available
from p0sim.report.panels import Labels
from p0sim.report.selection import labelled

TITLES = {
    "coverage": "Coverage",
    "mean": "Means",
    "nested": "The whole design",
    "qq": "Normality of the estimates",
    "zipper": "Intervals, one by one",
    "est-se": "Estimates and their standard errors",
    "consistency": "Consistency",
    "privacy-utility": "Privacy and utility",
}
APART = (
    "A small open point rests on fewer than 30 estimates; a mark crossed out below the axis tells "
    "of a method whose fits all failed there."
)
CONDITIONAL = "Estimates are judged on the data sets that have one."
JUDGED_APART = (
    "Methods that fail at different rates are judged on different data sets: one that has an "
    "estimate for the harder ones, too, may look worse for it."
)
CAPTIONS = {
    "coverage": "Share of intervals that hold the true value, in percent, with 95 % "
    "Clopper-Pearson intervals over the replicates; the dashed line is the nominal level. The "
    "vertical axis is stretched towards 100 %, where differences matter. Points below the nominal "
    "level tell of intervals that are too short or of biased estimates, points above it of "
    f"intervals longer than they need be. {APART}",
    "mean": "Mean over the replicates, with 95 % Monte Carlo intervals: mean plus or minus 1.96 "
    "Monte Carlo standard errors. There is no true value to compare it with. Methods that do not "
    "depend on the factor along the axis are the levels to compare the others with. Rows of panels "
    "have scales of their own.",
    "nested": "{measure} in all cells of the study in one line a method, and below it the level "
    "of each factor, as steps. Read it from left to right: the outermost factor changes slowest. "
    f"What moves together with a factor's steps is its effect. {APART}",
    "qq": "Standardised errors, (estimate - true value) / standard error, against quantiles of "
    "N(0, 1). Points on the line mean that the normal approximation behind the intervals holds. "
    "Points steeper than the line tell of standard errors that are too small, points parallel to "
    "it of bias, bent ends of heavy or light tails. If N(0, 1) is right, all points of a panel lie "
    "in its grey band with probability 95 %. Triangles stand for points beyond the axis.",
    "zipper": "Intervals of each panel sorted by how far the true value lies from their middle; "
    "the vertical axis is the centile of that distance. Those that miss the truth close the zip at "
    "the top. An honest method turns from hits to misses at its nominal level; misses on one side "
    "only are a sign of bias. Panels of a row share their horizontal axis, others do not.",
    "est-se": "Standard error against estimate, a point for each of the first 100 fitted "
    "replicates; those whose intervals miss the true value are marked. A slope means that the "
    "error a method reports depends on its estimate; far points are replicates close to having no "
    "estimate. Panels of a row share their horizontal axis, others do not; each has a vertical one "
    "of its own.",
    "consistency": "Median of the largest absolute error over all parameters against n, both on "
    "logarithmic scales, with 95 % Monte Carlo intervals; the grey line falls like the square root "
    "of log(n)/n. A parallel line of points has that rate; how high it lies is the price of "
    "privacy. {slopes}",
    "privacy-utility": "What is lost as the privacy loss epsilon gets smaller: to the left privacy "
    "is strong. Bars are 95 % Monte Carlo intervals; the strip below each panel shows how many "
    "replicates have no estimate. A flat stretch at the right means that more epsilon buys nothing "
    "more. Methods without noise are the level to compare with.",
}
SLOPES = {
    True: "The numbers below a panel are least-squares slopes with their 95 % intervals.",
    False: "Fewer than three n have no slope: a line through two points says nothing of its error.",
}


def caption(kind: str, performance: pd.DataFrame) -> str:
    """The words under a figure, true of this study.

    Parameters
    ----------
    kind : str
        One of `CAPTIONS`.
    performance : DataFrame
        As `p0sim.performance.summarise.performance` gives it.

    Examples
    --------
    >>> rows = pd.DataFrame({"cell": "c1", "method": ["a", "b"], "n": 50, "n_failed": [0, 9],
    ...     "measure": "sup_error_median", "value": 0.3})
    >>> caption("consistency", rows).endswith(JUDGED_APART)
    True
    >>> caption("consistency", rows[:1]).endswith(SLOPES[False])
    True
    """
    measure = MEASURES[available(performance, "coverage")].meaning.partition(" given")[0]
    sizes = performance["n"].nunique() if "n" in performance else 0
    words = {
        "measure": measure[:1].upper() + measure[1:],
        "slopes": SLOPES[sizes >= FEWEST_SIZES],
    }
    parts = (CAPTIONS[kind].format(**words), existence_note(performance))
    return " ".join(part for part in parts if part)


def existence_note(performance: pd.DataFrame) -> str:
    """That estimates are looked at where there are some, and what follows for comparisons."""
    failed = performance["n_failed"]
    if not failed.any():
        return ""
    fits = performance.drop_duplicates(["cell", "method"])
    unlike = fits.groupby("cell", observed=True)["n_failed"].nunique().max() > 1
    return f"{CONDITIONAL} {JUDGED_APART}" if unlike else CONDITIONAL


def slice_text(where: Mapping[str, str], labels: Labels) -> str:
    """Levels held fixed, as a reader knows them.

    Examples
    --------
    >>> slice_text({"n": "100", "estimand": "alpha[1]"}, None)
    'n = 100, alpha[1]'
    """
    parts = []
    for name, level in where.items():
        alone = name in ("method", "estimand")
        parts.append(labelled(level, labels) if alone else f"{labelled(name, labels)} = {level}")
    return ", ".join(parts)


def ranges(rows: pd.DataFrame, labels: Labels, scale: float = 1.0, unit: str = "") -> str:
    """Smallest and largest value of each method.

    Parameters
    ----------
    rows : DataFrame
        Columns method and value; values may be missing.
    labels : mapping of str to str, optional
        What to print for a method.
    scale : float
        Values are multiplied by it.
    unit : str
        What follows a number.

    Examples
    --------
    >>> rows = pd.DataFrame({"method": ["a", "a", "b"], "value": [0.934, 0.951, float("nan")]})
    >>> ranges(rows, None, 100, " %")
    'a: 93.4 % to 95.1 %; b: no estimate.'
    """
    parts = []
    for method in dict.fromkeys(rows["method"]):
        values = rows.loc[rows["method"] == method, "value"].dropna().to_numpy(np.float64)
        ends = [values.min(), values.max()] if values.size else []
        texts = dict.fromkeys(f"{scale * end:.3g}{unit}" for end in ends)
        parts.append(f"{labelled(method, labels)}: {' to '.join(texts) or 'no estimate'}")
    return f"{'; '.join(parts)}."


def outside_band(targets: pd.DataFrame, labels: Labels) -> str:
    """For each method, of how many samples some point lies outside its band.

    Parameters
    ----------
    targets : DataFrame
        Columns method, n_used and n_outside, one row a target.
    labels : mapping of str to str, optional
        What to print for a method.

    Examples
    --------
    >>> targets = pd.DataFrame({"method": ["a", "a"], "n_used": [9, 0], "n_outside": [2, 0]})
    >>> outside_band(targets, None)
    'a: 1 of 1 samples leave the band.'
    """
    parts = []
    for method in dict.fromkeys(targets["method"]):
        mine = targets[(targets["method"] == method) & (targets["n_used"] > 0)]
        outside = int((mine["n_outside"] > 0).sum())
        said = f"{outside} of {len(mine)} samples leave the band" if len(mine) else "no estimate"
        parts.append(f"{labelled(method, labels)}: {said}")
    return f"{'; '.join(parts)}."
