"""Does a result fall as the graph grows? The smallest and the largest n of a study, in words.

Graphs of different n are independent, so that the variance of a difference is the sum of the two.
A method that does not look at epsilon is averaged over its levels; the Monte Carlo standard error
of that mean is at most the mean of theirs, as in :mod:`p0sim.report.calibration_note`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import pandas as pd

from p0sim.report.calibration_note import REFERENCES, SURE, named, with_error
from p0sim.report.material import Material
from p0sim.report.mechanisms import joined
from p0sim.report.quantities import Quantity, quantities_of
from p0sim.report.selection import factors_of, varying


@dataclass(frozen=True)
class Growth:
    """One method and setting at the smallest and at the largest n.

    Attributes
    ----------
    name : str
        As readers know the method.
    epsilon : float or None
        None for a method that does not look at it.
    first, last : tuple of (float, float)
        Mean and its Monte Carlo standard error, nan where there is none.
    """

    name: str
    epsilon: float | None
    first: tuple[float, float]
    last: tuple[float, float]

    @property
    def change(self) -> tuple[float, float]:
        """Last minus first."""
        return self.last[0] - self.first[0], math.hypot(self.last[1], self.first[1])

    @property
    def verdict(self) -> str:
        """What the difference says, where it is more than twice its error."""
        change, mcse = self.change
        if math.isnan(mcse):
            return "without a Monte Carlo standard error nothing is told"
        if abs(change) <= SURE * mcse:
            return "no change is told from chance"
        return "it falls" if change < 0 else "it rises"

    @property
    def falls(self) -> bool:
        """Whether it surely does."""
        return self.verdict == "it falls"


def growth_sentences(material: Material) -> tuple[str, ...]:
    """Whether the first result of a study on the latent space falls with n; nothing for others.

    Parameters
    ----------
    material : Material
    """
    ours = quantities_of(material.identity)
    if not ours or not ours[0].lower_is_better or not varying(material.cells, ["n"]):
        return ()
    sizes = material.cells["n"]
    found = growths(material, ours[0])
    if not found:
        return ()
    ends = f"n = {min(sizes):g} and n = {max(sizes):g}"
    return (
        f"Does the {ours[0].label} fall as the graph grows? At {ends}, with Monte Carlo standard "
        "errors in brackets, and the difference, which counts if it is more than twice its own:",
        *(f"{sentence_of(name, list(rows))}" for name, rows in groupby(found, lambda g: g.name)),
        conclusion(found, ours[0], f"{max(sizes):g}"),
    )


def growths(material: Material, result: Quantity) -> list[Growth]:
    """All methods but uniform draws, one by one over epsilon where they look at it."""
    specs = material.identity["methods"]
    rows = material.performance
    rows = rows[(rows["estimand"] == result.name) & (rows["measure"] == "mean")]
    rows = rows[rows["value"].notna()]
    mechanisms = rows["method"].map(lambda name: specs[name].get("mechanism"))
    rows = rows[mechanisms != "uniform"]
    if rows.empty:
        return []
    others = [name for name in factors_of(material.cells) if name not in ("n", "epsilon")]
    rows = rows.assign(
        name=named(rows, ["method", *varying(rows, others)], material),
        epsilon=rows["epsilon"].where(~mechanisms.isin(REFERENCES))
        if "epsilon" in rows
        else math.nan,
    )
    groups = rows.groupby(["name", "epsilon"], sort=False, dropna=False, observed=True)
    found = [_growth(str(mine["name"].iloc[0]), mine) for _, mine in groups]
    place = {name: i for i, name in enumerate(dict.fromkeys(each.name for each in found))}
    return sorted(found, key=lambda each: place[each.name])


def _growth(name: str, rows: pd.DataFrame) -> Growth:
    epsilon = float(rows["epsilon"].iloc[0])
    first, last = (_mean(rows[rows["n"] == n]) for n in (rows["n"].min(), rows["n"].max()))
    return Growth(name, None if math.isnan(epsilon) else epsilon, first, last)


def _mean(rows: pd.DataFrame) -> tuple[float, float]:
    return float(rows["value"].mean()), float(rows["mcse"].mean(skipna=False))


def sentence_of(name: str, rows: Sequence[Growth]) -> str:
    """All epsilons of a method."""
    said = [
        ("" if row.epsilon is None else f"epsilon = {row.epsilon:g}, ")
        + f"{with_error(*row.first)} and {with_error(*row.last)}, "
        f"{with_error(*row.change, sign='+')}: {row.verdict}"
        for row in rows
    ]
    return f"{name}: {'; '.join(said)}."


def conclusion(found: Sequence[Growth], result: Quantity, largest: str) -> str:
    """What it comes to, where lists without noise get better and some private ones do not."""
    without_noise = [each for each in found if each.epsilon is None]
    staying = [each for each in found if each.epsilon and not each.falls]
    known = not any(math.isnan(each.change[1]) for each in found)
    if not (without_noise and known and staying and all(each.falls for each in without_noise)):
        return ""
    return (
        f"So, up to n = {largest}, the {result.label} of lists without noise falls and that of "
        f"{_levels_of(staying)} is not seen to: nothing here supports that it vanishes there as "
        "the graph grows."
    )


def _levels_of(growths: Sequence[Growth]) -> str:
    """Each method with its epsilons, for a sentence."""
    methods = groupby(growths, lambda growth: growth.name)
    return joined(
        [
            f"{name} at epsilon = {joined([f'{row.epsilon:g}' for row in rows])}"
            for name, rows in methods
        ]
    )
