"""Which figures a report shows: those its study has something to show in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from p0sim.report import figures
from p0sim.report.captions import outside_band, ranges, slice_text
from p0sim.report.drawing import available
from p0sim.report.estimands import MOST_ESTIMANDS
from p0sim.report.material import Material
from p0sim.report.mean_figure import axis_factor, panel_factors
from p0sim.report.panels import free_factor
from p0sim.report.quantities import quantities_of
from p0sim.report.selection import (
    TARGET,
    factors_of,
    has_means_alone,
    labelled,
    levels_of,
    select,
    slices,
    varying,
    with_factors,
)

# A page with more of one kind is no longer read.
MOST_SLICES = 6
# of the measure shown where there is nothing but whole fits
MEANING = "Median largest error"


@dataclass(frozen=True)
class Drawing:
    """One figure, not yet drawn.

    Attributes
    ----------
    draw : callable
        Gives the figure.
    alt : str
        What it shows, for those who cannot see it.
    slice : str
        Levels that it holds fixed, where there are several such figures.
    """

    draw: Callable[[], Figure]
    alt: str
    slice: str = ""


@dataclass(frozen=True)
class Exhibit:
    """Figures of one kind.

    Attributes
    ----------
    kind : str
        Stem of the files.
    drawings : tuple of Drawing
        At least one.
    n_slices : int
        How many the whole study needs.
    """

    kind: str
    drawings: tuple[Drawing, ...]
    n_slices: int = 1


def exhibits(material: Material) -> list[Exhibit]:
    """The figures of a study, in the order of a report.

    Parameters
    ----------
    material : Material

    Returns
    -------
    list of Exhibit
        Empty where no fit has an estimate.
    """
    parts = (
        mean_exhibit,
        coverage_exhibit,
        nested_exhibit,
        qq_exhibit,
        zipper_exhibit,
        est_se_exhibit,
        consistency_exhibit,
        privacy_exhibit,
    )
    found = (part(material) for part in parts)
    return [exhibit for exhibit in found if exhibit is not None]


def coverage_exhibit(material: Material) -> Exhibit | None:
    """Coverage by factor, one figure a slice."""
    known = known_rows(material, "coverage")
    if known is None:
        return None
    x = free_factor(known, ["method", "estimand"]) or "method"
    cols = panel_factor(known, [x, "method"])
    rows = panel_factor(known, [x, "method", cols])

    def draw(where: Mapping[str, str]) -> Figure:
        return figures.plot_coverage(
            material.performance,
            x=x,
            nominal=material.level,
            rows=rows,
            cols=cols,
            where=where,
            labels=material.labels,
        )

    def say(shown: pd.DataFrame) -> str:
        return ranges(shown, material.labels, 100, " %")

    title = f"Coverage by {labelled(x, material.labels)}"
    return sliced("coverage", title, known, (x, cols, rows, "method"), draw, say, material)


def mean_exhibit(material: Material) -> Exhibit | None:
    """Means where nothing has a truth, one figure an estimand; of ours, of those that matter."""
    if not has_means_alone(material.performance):
        return None
    ours = [each.name for each in quantities_of(material.identity) if each.is_result]
    known = material.performance[material.performance["measure"] == "mean"]
    known = known[known["estimand"].isin(ours or list(known["estimand"]))]
    x = axis_factor(known, [])
    rows, cols = panel_factors(known, x, None, None)

    def draw(where: Mapping[str, str]) -> Figure:
        return figures.plot_mean(
            known, x=x, rows=rows, cols=cols, where=where, labels=material.labels
        )

    def say(shown: pd.DataFrame) -> str:
        return ranges(shown, material.labels)

    title = f"Mean by {labelled(x, material.labels)}"
    return sliced("mean", title, known, (x, cols, rows, "method"), draw, say, material)


def qq_exhibit(material: Material) -> Exhibit | None:
    """QQ plots, one figure a slice."""
    if material.qq["z"].isna().all():
        return None
    counts = material.qq.drop_duplicates(TARGET)[[*TARGET, "n_used", "n_outside"]]
    targets = with_factors(material.qq, material.cells)
    cols = panel_factor(targets, ["method"])

    def draw(where: Mapping[str, str]) -> Figure:
        return figures.plot_qq(
            material.qq,
            material.cells,
            rows="method",
            cols=cols,
            where=where,
            labels=material.labels,
        )

    def say(shown: pd.DataFrame) -> str:
        return outside_band(shown.merge(counts, on=TARGET), material.labels)

    title = "QQ plots of standardised errors"
    return sliced("qq", title, targets, (cols, "method"), draw, say, material)


def nested_exhibit(material: Material) -> Exhibit | None:
    """Coverage over all cells, or the largest errors, where there are several factors."""
    measure = available(material.performance, "coverage")
    known = known_rows(material, measure)
    if known is None or len(varying(material.cells, factors_of(material.cells))) < 2:
        return None
    draw = partial(figures.plot_nested, material.performance, labels=material.labels)
    if measure != "coverage":
        return single("nested", draw, f"{MEANING} in all cells", known, material)
    draw = partial(draw, nominal=material.level)
    return single("nested", draw, "Coverage in all cells", known, material, 100, " %")


def zipper_exhibit(material: Material) -> Exhibit | None:
    """Intervals by their distance from the truth."""
    known = material.zipper.assign(value=material.zipper["coverage"])
    if known["value"].isna().all():
        return None
    draw = partial(
        figures.plot_zipper,
        material.zipper,
        material.cells,
        nominal=material.level,
        labels=material.labels,
    )
    return single("zipper", draw, "Zipper plots. Coverage", known, material, 100, " %")


def est_se_exhibit(material: Material) -> Exhibit | None:
    """Standard errors against estimates."""
    known = material.points.assign(value=material.points["std_error"])
    if known["value"].isna().all():
        return None
    draw = partial(figures.plot_est_se, material.points, material.cells, labels=material.labels)
    title = "Standard errors against estimates. Standard errors"
    return single("est-se", draw, title, known, material)


def consistency_exhibit(material: Material) -> Exhibit | None:
    """Largest errors against n."""
    known = known_rows(material, "sup_error_median")
    if known is None or "n" not in varying(known, factors_of(known)):
        return None
    draw = partial(figures.plot_consistency, material.performance, labels=material.labels)
    return single("consistency", draw, f"{MEANING} against n", known, material)


def privacy_exhibit(material: Material) -> Exhibit | None:
    """What is lost as epsilon gets smaller."""
    measure = available(material.performance, "rmse")
    known = known_rows(material, measure)
    if known is None or "epsilon" not in varying(known, factors_of(known)):
        return None
    draw = partial(figures.plot_privacy_utility, material.performance, labels=material.labels)
    said = "Root mean squared error" if measure == "rmse" else MEANING
    return single("privacy-utility", draw, f"{said} against epsilon", known, material)


def known_rows(material: Material, measure: str) -> pd.DataFrame | None:
    """All rows of a measure, or None where it has no value anywhere."""
    rows = material.performance[material.performance["measure"] == measure]
    return rows if rows["value"].notna().any() else None


def panel_factor(frame: pd.DataFrame, taken: Sequence[str | None]) -> str | None:
    """The next factor worth panels of its own; estimands only while there are few."""
    found = free_factor(frame, taken)
    few = found != "estimand" or len(levels_of(frame, found)) <= MOST_ESTIMANDS
    return found if few else None


def single(
    kind: str,
    draw: Callable[[], Figure],
    title: str,
    known: pd.DataFrame,
    material: Material,
    scale: float = 1.0,
    unit: str = "",
) -> Exhibit:
    """An exhibit of one figure; its words give the ranges of a column `value` over the study."""
    said = f"{title}, over the whole study: {ranges(known, material.labels, scale, unit)}"
    return Exhibit(kind, (Drawing(draw, said),))


def sliced(
    kind: str,
    title: str,
    frame: pd.DataFrame,
    inside: Sequence[str | None],
    draw: Callable[[Mapping[str, str]], Figure],
    say: Callable[[pd.DataFrame], str],
    material: Material,
) -> Exhibit:
    """An exhibit of one figure a slice of a frame."""
    chosen, n_slices = page_slices(frame, [name for name in inside if name])
    drawings = []
    for where in chosen:
        held = slice_text(where, material.labels)
        said = f"{title}{f' at {held}' if held else ''}. {say(select(frame, where))}"
        drawings.append(Drawing(partial(draw, where), said, held))
    return Exhibit(kind, tuple(drawings), n_slices)


def page_slices(frame: pd.DataFrame, inside: Sequence[str]) -> tuple[list[dict[str, str]], int]:
    """What each figure of a page holds fixed, and how many figures the whole study needs.

    Estimands beyond the first are left out before any level of a factor is.
    """
    everything = slices(frame, inside)
    if len(everything) <= MOST_SLICES:
        return everything, len(everything)
    settings = slices(frame, [*inside, "estimand"])[:MOST_SLICES]
    if "estimand" in inside:
        return settings, len(everything)
    first = [levels_of(select(frame, where), "estimand")[0] for where in settings]
    held = [{**where, "estimand": name} for where, name in zip(settings, first, strict=True)]
    return held, len(everything)
