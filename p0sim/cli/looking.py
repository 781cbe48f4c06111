"""Commands that look at results: status, failures, table, report, export, merge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from p0sim.cli.app import Jobs, UsageError, app, require_word, say
from p0sim.cli.words import print_frame

COLUMNS_PAGE = "columns.md"
# each is a method to_FORM of a table
FORMS = ("text", "markdown", "latex", "csv", "html")
Directory = Annotated[Path, typer.Argument(help="Results folder of a study.")]
Where = Annotated[
    str | None, typer.Option(help="Levels to show, such as 'n=100|200,method=paper'.")
]


@app.command()
def status(directory: Directory) -> None:
    """Say how far a study is, cell by cell.

    Example: p0sim status results/coverage
    """
    from p0sim.columns import STATUSES
    from p0sim.studies.progress import progress_lines
    from p0sim.studies.results import open_study

    results = open_study(directory)
    progress = results.progress()
    seen = [name for name in STATUSES if progress[name].any()]
    each = (progress["seconds"] / progress["n_done"]).rename("seconds a replicate")
    shown = ["cell", *results.record.factors, "n_done", "target_reps", *seen, "n_problems"]
    print_frame(progress[shown].join(each), decimals={"seconds a replicate": 4})
    print("", *progress_lines(results), sep="\n")


@app.command()
def failures(directory: Directory) -> None:
    """Group failed fits by reason, errors and warnings by message.

    Example: p0sim failures results/coverage
    """
    from p0sim.studies.results import open_study

    results = open_study(directory)
    failed, problems = results.failures(), results.problem_groups()
    if failed.empty and problems.empty:
        print("no failed fit, no error and no warning")
        return
    if len(failed):
        print("Failed fits:")
        print_frame(failed.assign(share=failed["share"].map("{:.2%}".format)))
        print(f"share: of all fits of the method in all cells; by cell: p0sim status {directory}")
    if len(problems):
        print("\nErrors and warnings:")
        print_frame(problems)
    first = (failed if len(failed) else problems).iloc[0]
    print(f"\nThe first again: p0sim repro {directory} --cell {first['cell']} --rep {first['rep']}")


@app.command()
def table(
    directory: Annotated[Path, typer.Argument(help="Results folder of a study, or its report.")],
    rows: Annotated[str | None, typer.Option(help="Row factors, comma separated.")] = None,
    cols: Annotated[str | None, typer.Option(help="Column factors, comma separated.")] = None,
    cell: Annotated[
        str | None,
        typer.Option(help="Template over measures, such as '{coverage} ({ci_width})'."),
    ] = None,
    where: Where = None,
    form: Annotated[str, typer.Option("--format", help=f"{', '.join(FORMS)}.")] = "text",
) -> None:
    """Print a table of a study's performance.

    Example: p0sim table results/coverage --rows n,estimand --cols epsilon,L --format latex
    """
    require_word(form, "--format", FORMS)
    from p0sim.studies.reporting import table_of

    made = table_of(
        directory,
        rows=names_in(rows),
        cols=names_in(cols),
        cell=cell,
        where=levels_in(where),
    )
    print(getattr(made, f"to_{form}")())


def names_in(text: str | None) -> list[str] | None:
    """Names as in "n,epsilon"; an empty text is a list of none."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def levels_in(text: str | None) -> dict[str, list[str]] | None:
    """Levels by factor, as in "n=100|200,method=paper"."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise UsageError(f"--where must look like n=100|200,method=paper; got {text!r}")
    return {name.strip(): [one.strip() for one in level.split("|")] for name, _, level in pairs}


@app.command()
def report(
    directory: Annotated[
        Path, typer.Argument(help="Results folder of a study, or a report to draw again.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Report folder. [default: reports/NAME]")
    ] = None,
    jobs: Jobs = -1,
) -> None:
    """Write tables, figures and the page of a study.

    Example: p0sim report results/coverage
    """
    from p0sim.studies.reporting import make_report

    print(make_report(directory, output, jobs))


@app.command()
def export(
    directory: Directory,
    csv: Annotated[bool, typer.Option("--csv", help="As CSV, for R and spreadsheets.")] = True,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder. [default: DIRECTORY/csv]")
    ] = None,
) -> None:
    """Write every frame of a study as CSV, with all digits, and what its columns mean.

    Example: p0sim export results/coverage --csv
    """
    from p0sim.report.dictionary import columns_page
    from p0sim.studies.results import open_study

    paths = open_study(directory).export(output)
    page = paths[0].with_name(COLUMNS_PAGE)
    page.write_text(columns_page(), encoding="utf-8", newline="\n")
    for path in (*paths, page):
        print(path)


@app.command()
def columns() -> None:
    """Print what every column and every measure means, as Markdown.

    Example: p0sim columns
    """
    from p0sim.report.dictionary import columns_page

    print(columns_page(), end="")


@app.command()
def merge(
    output: Annotated[Path, typer.Argument(help="Results folder that is to hold them all.")],
    directories: Annotated[list[Path], typer.Argument(help="Results folders of one study.")],
) -> None:
    """Put the replicates of several folders of one study together, such as its shards.

    Example: p0sim merge results/coverage results/coverage-1of2 results/coverage-2of2
    """
    from p0sim.studies.merging import merge_studies

    summary = merge_studies(output, directories)
    for line in summary.notes:
        say(line)
    print(f"{summary.n_replicates} replicates merged into {output}")
