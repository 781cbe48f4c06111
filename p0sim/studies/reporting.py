"""Reports of a study: what they are made from, and whether they still show it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from p0sim.engine.files import writing
from p0sim.engine.options import RunOptions
from p0sim.engine.pools import spread
from p0sim.performance.failures import group_failures
from p0sim.report import page
from p0sim.report.freshness import is_current
from p0sim.report.material import Material, holds_report, read_material
from p0sim.report.tables import PaperTable
from p0sim.report.theory import distinct_fits
from p0sim.studies.results import StudyResults, open_study


def make_report(directory: str | Path, folder: str | Path | None = None, n_jobs: int = -1) -> Path:
    """Write the report of a study, or draw again one that is there.

    Parameters
    ----------
    directory : str or Path
        Results of a study; or a report, which is drawn from its own files without the results.
    folder : str or Path, optional
        Where the report goes; REPORTS/NAME where none is given.
    n_jobs : int
        Processes that draw figures where there are many; -1 is one a core.

    Returns
    -------
    Path
        The page, index.html.

    Raises
    ------
    InvalidStudyError
        If the directory holds neither, or a report is to be drawn elsewhere.

    Examples
    --------
    >>> make_report("no/such/results")
    Traceback (most recent call last):
    p0sim.errors.InvalidStudyError: no/such/results holds no study: study.json is missing
    """
    if holds_report(Path(directory)) and folder is None:
        with writing(Path(directory)):
            return page.write_page(Path(directory), shared(n_jobs))
    return open_study(directory).write_report(folder, n_jobs)


def table_of(directory: str | Path, **options: Any) -> PaperTable:
    """The table of a study's performance.

    Parameters
    ----------
    directory : str or Path
        Results of a study, or its report, which has six digits of each number.
    **options
        Those of :func:`p0sim.report.tables.paper_table`.

    Returns
    -------
    PaperTable

    Raises
    ------
    InvalidStudyError
        If the directory holds neither.
    """
    if holds_report(Path(directory)):
        return page.table_of(read_material(Path(directory)), **options)
    return open_study(directory).paper_table(**options)


def write_report(results: StudyResults, folder: Path, n_jobs: int) -> Path:
    """Write the report of a study, unless the folder already shows these results."""
    made_from = digest(results)
    if not is_current(folder, made_from):
        material = material_of(results, made_from)
        with writing(folder):
            page.write_report(material, folder, shared(n_jobs))
    return folder / page.PAGE


def shared(n_jobs: int) -> page.Spread:
    """What draws the figures: this process, or several where there are many."""
    return partial(spread, n_jobs=RunOptions(n_jobs=n_jobs).workers)


def material_of(results: StudyResults, made_from: str) -> Material:
    """Everything the report shows."""
    progress = results.progress()
    return Material(
        cells=results.cells,
        performance=results.performance(),
        qq=results.qq(),
        zipper=results.zipper(),
        points=results.points(),
        failures=group_failures(distinct_fits(results.replicates, results.cells, results.copies)),
        problems=results.problem_groups(),
        study=results.record.study,
        identity=results.record.identity,
        copies=results.copies,
        seed=results.record.seed,
        versions=results.record.machines[-1]["versions"],
        level=results.level,
        labels=results.labels,
        reference=results.reference,
        done=int(progress["n_done"].sum()),
        asked=int(progress["target_reps"].sum()),
        commands=commands(results),
        made_from=made_from,
    )


def commands(results: StudyResults) -> list[str]:
    """Command lines that make the results and the report again."""
    return [
        f"p0sim run {results.name}.toml",
        f"p0sim report results/{results.name}",
    ]


def digest(results: StudyResults) -> str:
    """Hash of what was run and of the replicates that are there, however cut into blocks."""
    record = results.record
    content = {
        "study": record.study,
        "identity": record.identity,
        "seed": record.seed,
        "versions": record.machines[-1]["versions"],
        "targets": results.store.targets(),
        "replicates": spans(results),
        "statuses": statuses(results),
    }
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def spans(results: StudyResults) -> dict[str, list[list[int]]]:
    """First and last of each unbroken run of replicates, by cell."""
    found: dict[str, list[list[int]]] = {}
    for block in results.store.blocks():
        mine = found.setdefault(block.cell, [])
        if mine and mine[-1][1] + 1 == block.first:
            mine[-1][1] = block.last
        else:
            mine.append([block.first, block.last])
    return found


def statuses(results: StudyResults) -> dict[str, int]:
    """Fits by cell, method and status."""
    counts: Counter[str] = Counter()
    for block, tally in results.store.tallies().items():
        for method, ended in tally.counts.items():
            for status, count in ended.items():
                counts[f"{block.cell} {method} {status}"] += count
    return dict(counts)
