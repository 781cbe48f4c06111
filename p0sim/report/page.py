"""The page of a study: tables, figures and what they say, in one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from p0sim.columns import FITTED
from p0sim.report.figures import plot_consistency, plot_coverage, plot_qq, save_figure
from p0sim.report.freshness import forget, remember
from p0sim.report.selection import labelled
from p0sim.report.tables import PaperTable, paper_table
from p0sim.report.theory import FEWEST_FITS, compare_with_theory, without_copies

PAGE = "README.md"
TABLE_TEXT = "table.txt"
TABLES = ("table.md", "table.tex", "table.csv", TABLE_TEXT, "performance.csv")


@dataclass(frozen=True, eq=False)
class Material:
    """What a page is made from: the frames of a study and what was run.

    Attributes
    ----------
    cells, replicates, estimates, problems, performance : DataFrame
        As described in `p0sim.columns`.
    study : dict
        The study file.
    identity : dict
        What the experiment resolved it to.
    copies : mapping of str to sequence of str
        For each method the factors across which its fits are copies of one another.
    seed : int
    versions : dict
        Versions of Python and the libraries.
    level : float
        Of the intervals under study.
    labels : dict
        What to print for a method.
    made_from : str
        Digest of all that.
    """

    cells: pd.DataFrame
    replicates: pd.DataFrame
    estimates: pd.DataFrame
    problems: pd.DataFrame
    performance: pd.DataFrame
    study: Mapping[str, Any]
    identity: Mapping[str, Any]
    copies: Mapping[str, Sequence[str]]
    seed: int
    versions: Mapping[str, str]
    level: float
    labels: Mapping[str, str]
    made_from: str


def write_page(material: Material, folder: Path) -> Path:
    """Write every table and figure of a study, and the page that shows them.

    Parameters
    ----------
    material : Material
    folder : Path
        Made if it is not there; files of the same names are replaced.

    Returns
    -------
    Path
        The page, README.md.
    """
    folder.mkdir(parents=True, exist_ok=True)
    forget(folder)
    table = paper_table(material.performance, labels=material.labels)
    table.to_markdown(folder / "table.md")
    table.to_latex(folder / "table.tex")
    table.to_csv(folder / "table.csv")
    (folder / TABLE_TEXT).write_text(table.to_text() + "\n", encoding="utf-8", newline="\n")
    material.performance.to_csv(
        folder / "performance.csv", index=False, lineterminator="\n", float_format="%.6g"
    )
    drawn = [
        path.name
        for name, figure in figures_of(material).items()
        for path in save_figure(figure, folder / name)
    ]
    page = folder / PAGE
    page.write_text(page_text(material, table), encoding="utf-8", newline="\n")
    remember(folder, material.made_from, [*TABLES, PAGE, *drawn])
    return page


def page_text(material: Material, table: PaperTable) -> str:
    """The page itself, from its template."""
    environment = Environment(
        loader=PackageLoader("p0sim.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.md.j2").render(page_words(material, table))


def figures_of(material: Material) -> dict[str, Figure]:
    """The figures that this study has something to show in."""
    figures = {}
    if len(material.estimates):
        figures["qq"] = plot_qq(
            material.estimates,
            cells=material.cells,
            replicates=material.replicates,
            labels=material.labels,
        )
        figures["coverage"] = plot_coverage(
            material.performance, nominal=material.level, labels=material.labels
        )
    if has_rates(material):
        figures["consistency"] = plot_consistency(material.performance, labels=material.labels)
    return figures


def has_rates(material: Material) -> bool:
    """Whether there are several n and largest errors to plot against them."""
    return bool(
        "n" in material.cells
        and material.cells["n"].nunique() > 1
        and material.replicates["sup_error"].notna().any()
    )


def page_words(material: Material, table: PaperTable) -> dict[str, Any]:
    """Everything the template prints."""
    experiment = str(material.identity["experiment"])
    return {
        "name": material.study["study"]["name"],
        "aims": material.study["study"].get("aims", ""),
        "seed": material.seed,
        "level": f"{100 * material.level:g}",
        "own_experiment": experiment if ":" in experiment else "",
        "methods": [
            method_row(labelled(name, material.labels), spec)
            for name, spec in material.identity["methods"].items()
        ],
        "cells": len(material.cells),
        **progress_of(material),
        "table": table.to_markdown().rstrip(),
        "has_intervals": bool((material.performance["measure"] == "coverage").any()),
        "fewest_fits": FEWEST_FITS,
        "theory": compare_with_theory(
            material.performance, material.level, material.labels, material.copies
        ),
        "failures": failure_counts(material),
        "figures": {"qq": len(material.estimates) > 0, "consistency": has_rates(material)},
        "n_problems": len(material.problems),
        "versions": ", ".join(f"{name} {number}" for name, number in material.versions.items()),
    }


def method_row(name: str, spec: Mapping[str, Any]) -> dict[str, str]:
    """What a method does, in the words of the study file; one of the user's own names its code."""
    private, variance = spec.get("release", True), spec.get("variance", "")
    return {
        "name": name,
        "private": "yes" if private else "no",
        "margins": spec.get("margins", ""),
        # without noise the variance that counts it is S
        "variance": variance if private or variance in ("exact", "") else "S",
        "solver": spec.get("solver") or f"`{spec.get('call', '')}`",
    }


def progress_of(material: Material) -> dict[str, Any]:
    """How many replicates of the study are there, of how many asked for."""
    done = material.replicates[["cell", "rep"]].drop_duplicates()
    asked = material.cells["target_reps"]
    return {
        "reps": f"{asked.min()}" if asked.nunique() == 1 else f"{asked.min()} to {asked.max()}",
        "done": len(done),
        "asked": int(asked.sum()),
    }


def failure_counts(material: Material) -> list[dict[str, Any]]:
    """How many replicates of each method ended how, copies counted once, in file order."""
    rows = []
    fits = material.replicates.merge(material.cells, on="cell")
    for method in dict.fromkeys(fits["method"]):
        mine = without_copies(fits[fits["method"] == method], material.copies.get(method, ()))
        for status, count in mine["status"].value_counts().items():
            if status != FITTED:
                name, share = labelled(method, material.labels), 100 * count / len(mine)
                rows.append({"method": name, "status": status, "count": count, "share": share})
    return rows
