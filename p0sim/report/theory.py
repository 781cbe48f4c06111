"""Simulated coverage beside what large-sample theory predicts of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from p0sim.report.selection import factors_of, key_column, labelled
from p0sim.report.tables import PaperTable, paper_table

# differences below half a point of coverage are of no consequence
UNDER_COVERS_BY = 0.005
FEWEST_FITS = 200
THEORY_CELL = "{coverage} / {predicted_coverage}"
KEYS = ["cell", "method", "estimand"]


@dataclass(frozen=True)
class Comparison:
    """One method's coverage against theory, over targets with at least 200 fits.

    Attributes
    ----------
    method : str
        As printed.
    targets, below : int
        How many there are, and for how many theory predicts under-coverage by half a point or more.
    above, under : int
        Targets whose coverage is more than 2.5 standard errors above, or under, the prediction.
    lowest : str
        The target of the lowest prediction with its numbers; empty where none is below.
    table : PaperTable or None
        Cells coverage / prediction; None where no prediction is below.
    """

    method: str
    targets: int
    below: int
    above: int
    under: int
    lowest: str = ""
    table: PaperTable | None = None


def compare_with_theory(
    performance: pd.DataFrame,
    level: float,
    labels: Mapping[str, str],
    copies: Mapping[str, Sequence[str]],
) -> list[Comparison]:
    """Compare every method that has enough fits, in file order.

    Parameters
    ----------
    performance : DataFrame
        With the measures coverage and predicted_coverage.
    level : float
        Of the intervals under study.
    labels : mapping of str to str
        What to print for a method.
    copies : mapping of str to sequence of str
        For each method the factors across which its fits are copies; counted once.

    Returns
    -------
    list of Comparison
    """
    compared = coverage_beside_prediction(performance)
    comparisons = []
    for method in dict.fromkeys(performance["method"]):
        rows = without_copies(compared[compared["method"] == method], copies.get(method, ()))
        if len(rows):
            comparisons.append(_compare(performance, rows, method, level, labels))
    return comparisons


def without_copies(frame: pd.DataFrame, shared: Sequence[str]) -> pd.DataFrame:
    """The rows at the first level of factors that make no difference."""
    for factor in shared:
        frame = frame[frame[factor].isin(frame[factor].head(1))]
    return frame


def distinct_fits(
    replicates: pd.DataFrame, cells: pd.DataFrame, copies: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Rows of `replicates` without those that are copies of another cell's, in their order.

    Parameters
    ----------
    replicates, cells : DataFrame
        As described in `p0sim.columns`.
    copies : mapping of str to sequence of str
        For each method the factors across which its fits are copies.

    Examples
    --------
    >>> cells = pd.DataFrame({"cell": ["c1", "c2"], "epsilon": [1.0, 2.0]})
    >>> replicates = pd.DataFrame(
    ...     {"cell": ["c1", "c2", "c1", "c2"], "method": ["quiet", "quiet", "loud", "loud"]})
    >>> distinct_fits(replicates, cells, {"quiet": ["epsilon"]})["cell"].tolist()
    ['c1', 'c1', 'c2']
    """
    kept = {
        method: set(without_copies(cells, copies.get(method, ()))["cell"])
        for method in dict.fromkeys(replicates["method"])
    }
    pairs = zip(replicates["cell"], replicates["method"], strict=True)
    return replicates[[cell in kept[method] for cell, method in pairs]]


def coverage_beside_prediction(performance: pd.DataFrame) -> pd.DataFrame:
    """Coverage rows with a column `predicted`, where enough fits stand behind them."""
    measured = performance[performance["measure"] == "coverage"]
    theory = performance[performance["measure"] == "predicted_coverage"]
    predicted = theory[[*KEYS, "value"]].rename(columns={"value": "predicted"})
    rows = measured.merge(predicted, on=KEYS)
    return rows[rows["n_used"] >= FEWEST_FITS]


def _compare(
    performance: pd.DataFrame,
    rows: pd.DataFrame,
    method: str,
    level: float,
    labels: Mapping[str, str],
) -> Comparison:
    predicted, simulated = (rows[name].to_numpy(np.float64) for name in ("predicted", "value"))
    # the error a share of the predicted size has: the simulated one is 0 at 0 and 100 %
    error = np.sqrt(predicted * (1 - predicted) / rows["n_used"].to_numpy(np.float64))
    distance = (simulated - predicted) / error
    above, under = int((distance > 2.5).sum()), int((distance < -2.5).sum())
    below = rows[rows["predicted"] <= level - UNDER_COVERS_BY]
    name = labelled(method, labels)
    if below.empty:
        return Comparison(name, len(rows), 0, above, under)
    table = paper_table(performance, cell=THEORY_CELL, where={"method": method}, labels=labels)
    return Comparison(
        name,
        len(rows),
        len(below),
        above,
        under,
        _lowest(below, factors_of(performance)),
        table,
    )


def _lowest(below: pd.DataFrame, factors: Sequence[str]) -> str:
    """The target of the lowest prediction, in words."""
    worst = below.nsmallest(1, "predicted").iloc[0]
    setting = [f"{name} = {worst[key_column(below, name)]}" for name in factors]
    target = ", ".join([worst["estimand"], *setting])
    return (
        f"{100 * worst['predicted']:.1f} % for {target}; simulated "
        f"{100 * worst['value']:.1f} % (Monte Carlo standard error {100 * worst['mcse']:.1f})"
    )
