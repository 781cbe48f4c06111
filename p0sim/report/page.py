"""A report: one self-contained page, and the tables and figures that papers include."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from p0sim.report.calibration_note import calibration_note
from p0sim.report.captions import TITLES, caption
from p0sim.report.drawing import fits_in
from p0sim.report.embedding import Picture, picture_of, png_of
from p0sim.report.estimands import Chosen, few_estimands
from p0sim.report.freshness import forget, remember
from p0sim.report.gallery import Drawing, Exhibit, exhibits
from p0sim.report.growth_note import growth_sentences
from p0sim.report.material import FILES, RECORD, Material, read_material, unfinished, write_material
from p0sim.report.mechanisms import own_experiment
from p0sim.report.methods_text import methods_paragraphs
from p0sim.report.quantities import quantities_of
from p0sim.report.renderings import as_html, markdown
from p0sim.report.selection import has_means_alone, labelled
from p0sim.report.style import save_figure
from p0sim.report.tables import PaperTable, paper_table
from p0sim.report.theory import FEWEST_FITS, compare_with_theory

PAGE, README = "index.html", "README.md"
TABLES = {
    "table.tex": r"LaTeX, for \input",
    "table.csv": "CSV",
    "table.md": "Markdown",
    "table.txt": "text",
}
DATA = {
    "performance.csv.gz": "every measure with its Monte Carlo error",
    "cells.csv": "the cells of the study",
    "qq.csv.gz": "quantiles of the standardised errors",
    "zipper.csv.gz": "intervals by centile",
    "points.csv.gz": "estimates and standard errors",
    "failures.csv": "replicates without an estimate, by reason",
    "problems.csv": "errors and warnings",
}
# Longer lists stand in the CSV files.
MOST_REASONS = 40
# Tables with more columns are printed across the page.
WIDE = 7
# Pipe tables with more are unreadable: their text stands in a block of code.
WIDEST = 8


Spread: TypeAlias = Callable[..., Iterable[Picture]]


@dataclass(frozen=True)
class Shown:
    """An exhibit, drawn.

    Attributes
    ----------
    exhibit : Exhibit
    pictures : tuple of (Drawing, Picture)
    """

    exhibit: Exhibit
    pictures: tuple[tuple[Drawing, Picture], ...]


def write_report(material: Material, folder: Path, spread: Spread = map) -> Path:
    """Write what a report is drawn from, then the report.

    Parameters
    ----------
    material : Material
    folder : Path
        Made if it is not there; files of the same names are replaced.
    spread : callable
        As in `write_page`.

    Returns
    -------
    Path
        The page, index.html.
    """
    write_material(material, folder)
    return write_page(folder, spread)


def write_page(folder: Path, spread: Spread = map) -> Path:
    """Draw a report from the files of its folder alone: the same bytes each time.

    Parameters
    ----------
    folder : Path
        As `p0sim.report.material.write_material` leaves it.
    spread : callable
        Draws the figures: `map`, or what shares the work among processes as map would do it.

    Returns
    -------
    Path
        The page, index.html; beside it tables, figures and a README.md for code hosts.

    Raises
    ------
    InvalidStudyError
        If the folder does not hold what a report is drawn from.
    """
    material = read_material(folder)
    forget(folder)
    table = table_of(material)
    write_tables(table, folder)
    chosen = few_estimands(material)
    shown = draw(exhibits(chosen.material), folder, spread)
    kinds = [part.exhibit.kind for part in shown]
    page = write_text(folder / PAGE, page_text(material, table, shown, chosen))
    write_text(folder / README, readme_text(material, table, kinds))
    drawn = [f"{kind}.{suffix}" for kind in kinds for suffix in ("pdf", "png")]
    remember(folder, material.made_from, [*FILES, RECORD, *TABLES, PAGE, README, *drawn])
    return page


def table_of(material: Material, **options: Any) -> PaperTable:
    """The table of the paper; options of :func:`p0sim.report.tables.paper_table`."""
    told = unfinished(material)
    return paper_table(material.performance, labels=material.labels, unfinished=told, **options)


def write_tables(table: PaperTable, folder: Path) -> None:
    """The table of the paper in every form."""
    table.to_markdown(folder / "table.md")
    table.to_latex(folder / "table.tex")
    table.to_csv(folder / "table.csv")
    write_text(folder / "table.txt", table.to_text() + "\n")


def write_text(path: Path, text: str) -> Path:
    """A text file that is the same on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def draw(exhibits: Sequence[Exhibit], folder: Path, spread: Spread) -> list[Shown]:
    """Draw every figure; the first of each exhibit becomes a file, too."""
    drawings = [drawing for exhibit in exhibits for drawing in exhibit.drawings]
    stems = [
        None if place else folder / exhibit.kind
        for exhibit in exhibits
        for place in range(len(exhibit.drawings))
    ]
    pictures = iter(spread(picture, drawings, stems))
    return [
        Shown(exhibit, tuple((drawing, next(pictures)) for drawing in exhibit.drawings))
        for exhibit in exhibits
    ]


def picture(drawing: Drawing, stem: Path | None) -> Picture:
    """Draw a figure for the page, and as STEM.pdf and STEM.png where there is a stem."""
    if stem is None:
        return picture_of(png_of(drawing.draw()))
    _, png = save_figure(drawing.draw(), stem)
    return picture_of(png.read_bytes())


def page_text(material: Material, table: PaperTable, shown: Sequence[Shown], chosen: Chosen) -> str:
    """The page, from its template.

    Parameters
    ----------
    material : Material
    table : PaperTable
    shown : sequence of Shown
        Figures, in order.
    chosen : Chosen
        What they show.
    """
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            **words_of(material),
            methods=methods_paragraphs(material),
            table=html_table(table, "Table 1. Results."),
            shown=shown,
            titles=TITLES,
            captions={
                part.exhibit.kind: caption(part.exhibit.kind, material.performance)
                for part in shown
            },
            theory=theory_parts(material),
            calibration=calibration_part(material),
            estimands=chosen.shown,
            results=results_of(material),
            growth=growth_sentences(material),
            n_left_out=chosen.n_left_out,
            whole_fits_alone=fits_in(material.performance) and not chosen.shown,
            why_no_figure=why_no_figure(material),
            has_intervals=bool((material.performance["measure"] == "coverage").any())
            and not has_means_alone(material.performance),
            fewest_fits=FEWEST_FITS,
            failures=failure_rows(material),
            problems=material.problems.head(MOST_REASONS).to_dict("records"),
            n_failures=len(material.failures),
            n_problems=len(material.problems),
            tables=TABLES,
            data=DATA,
        )
    )


def results_of(material: Material) -> list[str]:
    """What a study of ours without a truth is about: the figures show these alone."""
    ours = quantities_of(material.identity)
    return [each.label for each in ours if each.is_result]


def why_no_figure(material: Material) -> str:
    """Why a page has none."""
    if not fits_in(material.performance):
        return "No replicate has an estimate: there is nothing to draw."
    return "Nothing but whole fits was measured, and no factor varies: the table says it all."


def readme_text(material: Material, table: PaperTable, kinds: Sequence[str]) -> str:
    """A short page for code hosts, from its template.

    Parameters
    ----------
    material : Material
    table : PaperTable
    kinds : sequence of str
        Stems of the figures.
    """
    return (
        environment()
        .get_template("readme.md.j2")
        .render(**words_of(material), table=readme_table(table), kinds=kinds, titles=TITLES)
    )


def readme_table(table: PaperTable) -> str:
    """A table for code hosts, in panels where it is wide."""
    if len(table.grid.columns) <= WIDEST:
        return table.to_markdown().rstrip()
    return f"```text\n{table.to_text()}\n```"


def environment() -> Environment:
    """Templates: HTML escapes by itself, Markdown by its own filter, a missing word is an error."""
    made = Environment(
        loader=PackageLoader("p0sim.report"),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["markdown"] = lambda text: markdown(" ".join(str(text).split()))
    return made


def words_of(material: Material) -> dict[str, Any]:
    """What both pages say of a study."""
    asked = material.cells["target_reps"]
    return {
        "name": material.study["study"]["name"],
        "aims": str(material.study["study"].get("aims", "")).strip(),
        "own_experiment": own_experiment(material),
        "n_cells": len(material.cells),
        "reps": f"{asked.min()}" if asked.nunique() == 1 else f"{asked.min()} to {asked.max()}",
        "method_names": [labelled(name, material.labels) for name in material.identity["methods"]],
        "done": material.done,
        "asked": material.asked,
        "seed": material.seed,
        "level": "" if has_means_alone(material.performance) else f"{100 * material.level:g}",
        "versions": material.versions,
        "commands": material.commands,
        "made_from": material.made_from,
    }


def html_table(table: PaperTable, caption: str) -> dict[str, Any]:
    """A table with its caption inside, its note apart: the note must not scroll with it."""
    grid = table.grid
    captioned = as_html(replace(grid, note="")).replace(
        "<thead>", f"<caption>{escape(caption)}</caption>\n<thead>", 1
    )
    wide = len(grid.columns) > WIDE
    return {"html": Markup(captioned), "note": grid.note, "wide": wide, "name": caption}


def theory_parts(material: Material) -> list[dict[str, Any]]:
    """Comparisons with theory, their tables ready for the page."""
    compared = compare_with_theory(
        material.performance, material.level, material.labels, material.copies
    )
    return [
        {
            "part": part,
            "table": part.table
            and html_table(part.table, f"Coverage / prediction by theory, in %: {part.method}."),
        }
        for part in compared
    ]


def calibration_part(material: Material) -> dict[str, Any] | None:
    """What the epsilons of private lists are, its table ready for the page."""
    note = calibration_note(material)
    if note is None:
        return None
    caption = "Table 2. What epsilon is, and what it buys."
    return {"sentences": note.sentences, "table": html_table(note.table, caption)}


def failure_rows(material: Material) -> list[dict[str, Any]]:
    """The most frequent reasons, methods by the names a reader knows."""
    rows: pd.DataFrame = material.failures.head(MOST_REASONS)
    named = rows["method"].map(lambda name: labelled(name, material.labels))
    return [
        {str(key): value for key, value in row.items()}
        for row in rows.assign(method=named).to_dict("records")
    ]
