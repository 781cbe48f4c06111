"""The command line: parse, call, print; nothing else."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from p0sim import __version__
from p0sim.errors import P0SimError

BAD_INPUT, NO_VALID_REPLICATE, INTERRUPTED = 2, 3, 130

app = typer.Typer(
    name="p0sim",
    help="Simulation and inference for weighted p0 networks under edge differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"p0sim {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Hold the options that go before a command."""


@app.command()
def run(
    study: Annotated[Path, typer.Argument(help="Study file (TOML).")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Results folder. [default: results/NAME]")
    ] = None,
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Workers; -1 is one a core.")] = -1,
    reps: Annotated[
        int | None,
        typer.Option(
            help="Replicates a cell instead of the file's: a smoke run in its own folder."
        ),
    ] = None,
    block_size: Annotated[
        int | None, typer.Option(help="Replicates a block, instead of about 10 s of work.")
    ] = None,
) -> None:
    """Run or resume a study; end with its table and its report.

    Example: p0sim run simulations/coverage.toml -j 2
    """
    from p0sim.studies import Study

    planned = Study.from_toml(study)
    directory = output or planned.default_directory(reps)
    again = " ".join(["p0sim run", str(study), "-o", str(directory)])
    with _interruption(f"{again} --reps {reps}" if reps else again):
        results = planned.run(directory, n_jobs=jobs, reps=reps, block_size=block_size)
        report = results.write_report()
    print(results.paper_table().to_text())
    print(f"\nReport: {report}")
    if not (results.replicates["status"] == "ok").any():
        _say("error: no replicate of the study has an estimate; see the report's failures")
        raise typer.Exit(NO_VALID_REPLICATE)


@app.command()
def table(
    directory: Annotated[Path, typer.Argument(help="Results folder of a study.")],
    rows: Annotated[str | None, typer.Option(help="Row factors, comma separated.")] = None,
    cols: Annotated[str | None, typer.Option(help="Column factors, comma separated.")] = None,
    cell: Annotated[
        str | None,
        typer.Option(help="Template over measures, such as '{coverage} ({ci_width})'."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="text, markdown, latex, csv or html.")
    ] = "text",
) -> None:
    """Print a table of a study's performance.

    Example: p0sim table results/coverage --rows n,estimand --cols epsilon,L --format latex
    """
    from p0sim.studies import open_study

    made = open_study(directory).paper_table(
        rows=rows and rows.split(","), cols=cols and cols.split(","), cell=cell
    )
    writers: dict[str, Callable[[], str]] = {
        "text": made.to_text,
        "markdown": made.to_markdown,
        "latex": made.to_latex,
        "csv": made.to_csv,
        "html": made.to_html,
    }
    if form not in writers:
        raise typer.BadParameter(f"must be one of {', '.join(writers)}; got {form!r}")
    print(writers[form]())


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(help="Results folder of a study.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Report folder. [default: reports/NAME]")
    ] = None,
) -> None:
    """Write tables, figures and the page of a study.

    Example: p0sim report results/coverage
    """
    from p0sim.studies import open_study

    print(open_study(directory).write_report(output))


def main() -> None:
    """Run the command line; what a person did wrong is one line and exit code 2."""
    warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except P0SimError as error:
        _say(f"error: {error}")
        sys.exit(BAD_INPUT)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _say(f"error: {place}{error.strerror or error}")
        sys.exit(BAD_INPUT)
    except MemoryError:
        _say("error: n or the grid is too large for the memory of this machine")
        sys.exit(BAD_INPUT)


@contextmanager
def _interruption(resume: str) -> Iterator[None]:
    """Turn Ctrl-C into the command that goes on from here."""
    try:
        yield
    except KeyboardInterrupt:
        _say(f"interrupted; finished blocks are kept. Resume with: {resume}")
        raise typer.Exit(INTERRUPTED) from None


def _say(line: str) -> None:
    print(line, file=sys.stderr)
