"""Which estimands a reader sees: a few a cell, pools before contrasts before single parameters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import pandas as pd

from p0sim.columns import WHOLE_FIT
from p0sim.report.material import Material

SINGLE_PARAMETER = r"(?:alpha|beta)\[\w+\]"
# A page with figures of more is no longer read, and no panels are left for them.
MOST_ESTIMANDS = 5


@dataclass(frozen=True)
class Chosen:
    """What the figures of a page show.

    Attributes
    ----------
    material : Material
        With the chosen estimands alone, pools first.
    shown : tuple of str
        They, over all cells.
    n_left_out : int
        The others.
    """

    material: Material
    shown: tuple[str, ...]
    n_left_out: int


def few_estimands(material: Material, most: int = MOST_ESTIMANDS) -> Chosen:
    """Leave out the estimands of every cell beyond the first few.

    Parameters
    ----------
    material : Material
    most : int
        Estimands a cell in the performance frame and in each summary; measures of the whole
        fit stay beside them.
    """
    pools = set(material.study.get("measures", {}).get("pool", {}))
    made = replace(
        material,
        performance=leading(material.performance, most, pools),
        qq=leading(material.qq, most, pools),
        zipper=leading(material.zipper, most, pools),
        points=leading(material.points, most, pools),
    )
    frames = (made.performance, made.qq, made.zipper, made.points)
    named = (names_in(frame) for frame in frames)
    shown = tuple(dict.fromkeys(name for names in named for name in names))
    n_all = len(names_in(material.performance))
    return Chosen(made, shown, n_all - len(shown))


def names_in(frame: pd.DataFrame) -> list[str]:
    """Estimands of a frame in order of appearance, the whole fit not among them."""
    return [name for name in dict.fromkeys(frame["estimand"]) if name != WHOLE_FIT]


def leading(frame: pd.DataFrame, most: int, pools: Collection[str] = ()) -> pd.DataFrame:
    """Rows of the first estimands of every cell: pools, then contrasts, then single parameters.

    Parameters
    ----------
    frame : DataFrame
        Columns cell, method and estimand.
    most : int
        Estimands a cell; rows of the whole fit are not counted.
    pools : collection of str
        Estimands that are pools.

    Examples
    --------
    >>> names = ["alpha[1]", "alpha[1]-beta[2]", "all", "theta"]
    >>> frame = pd.DataFrame({"cell": "c1", "method": "paper", "estimand": names})
    >>> leading(frame, 2, {"all"})["estimand"].tolist()
    ['theta', 'all', 'alpha[1]-beta[2]']
    """
    texts = frame.astype({"cell": str, "method": str, "estimand": str})
    names = texts[["cell", "estimand"]].drop_duplicates(ignore_index=True)
    names = names.assign(order=ranks(names["estimand"], pools))
    names = names.sort_values("order", kind="stable")
    names["place"] = names[names["order"] >= 0].groupby("cell").cumcount()
    places = texts.merge(names.fillna({"place": -1}), on=["cell", "estimand"], how="left")["place"]
    fit = texts.groupby(["cell", "method"], sort=False).ngroup().to_numpy()
    order = pd.DataFrame({"fit": fit, "place": places.to_numpy()})
    order = order[order["place"] < most].sort_values(["fit", "place"], kind="stable")
    return frame.iloc[order.index].reset_index(drop=True)


def ranks(names: pd.Series, pools: Collection[str]) -> pd.Series:
    """-1 for a whole fit, 0 for a pool, 2 for a single parameter, 1 for anything else."""
    single = names.str.fullmatch(SINGLE_PARAMETER).astype(int) + 1
    return single.mask(names.isin(list(pools)), 0).mask(names == WHOLE_FIT, -1)
