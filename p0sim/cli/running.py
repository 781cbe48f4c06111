"""Commands that run replicates: check, plan, run, extend, repro."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p0sim.cli.app import (
    NO_VALID_REPLICATE,
    NOT_REPRODUCED,
    OUT_OF_TIME,
    Jobs,
    app,
    same_command,
    say,
)
from p0sim.cli.words import print_frame, readable_bytes
from p0sim.errors import name_some

if TYPE_CHECKING:
    from p0sim.engine.runner import RunSummary
    from p0sim.engine.worker import Task
    from p0sim.studies.results import StudyResults

NoReport = Annotated[
    bool, typer.Option("--no-report", help="End with the table; p0sim report does the rest.")
]
StudyPath = Annotated[Path, typer.Argument(help="Study file (TOML).")]
Directory = Annotated[Path, typer.Argument(help="Results folder of a study.")]
BlockSize = Annotated[
    int | None, typer.Option(help="Replicates a block, instead of about 10 s of work.")
]
MaxTime = Annotated[
    str | None, typer.Option(help="Start no block after this time (90, 30min, 2h); exit code 4.")
]
Timeout = Annotated[
    str | None, typer.Option(help="Time a replicate may take; longer ones are rows 'timeout'.")
]
Retry = Annotated[
    list[str] | None,
    typer.Option(help="Compute again what ended so: error, killed, timeout, comma separated."),
]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a dask scheduler; its workers do the work.")
]
Backend = Annotated[str, typer.Option(help="loky (worker processes) or threading.")]
KeepGoing = Annotated[
    bool, typer.Option(help="Go on with cells whose first 20 replicates all failed.")
]
StrictVersion = Annotated[
    bool, typer.Option(help="Refuse to add rows made with other versions than those there.")
]
Strict = Annotated[bool, typer.Option(help="Exit code 3 where any cell has no valid replicate.")]


@app.command()
def check(
    study: StudyPath,
    jobs: Jobs = -1,
    reps: Annotated[int | None, typer.Option(help="Replicates a cell to reckon with.")] = None,
    timeout: Timeout = None,
) -> None:
    """Check a study file, try one replicate of each cell, forecast time, memory and disk.

    Example: p0sim check simulations/coverage.toml
    """
    from p0sim.engine.options import RunOptions, parse_duration
    from p0sim.engine.progress import readable_seconds
    from p0sim.studies.forecast import forecast
    from p0sim.studies.study import Study

    workers = RunOptions(n_jobs=jobs, reps=reps).workers
    limit = parse_duration(timeout) if timeout else None
    found = forecast(Study.from_toml(study), reps, limit, tell=say)
    print_frame(found.cells, decimals={"seconds": 4})
    took = readable_seconds(found.worker_seconds / workers)
    print(f"\n{found.cells['reps'].sum()} replicates: about {took} on {workers} workers")
    print(f"memory: {readable_bytes(found.worker_bytes)} a worker")
    print(f"disk: at most about {readable_bytes(found.disk_bytes)}")
    if len(found.failures):
        print_frame(found.failures[["cell", "method", "status", "reason"]], file=sys.stderr)
        say("error: replicate 0 failed where it should not")
        raise typer.Exit(NO_VALID_REPLICATE)


@app.command()
def plan(
    study: StudyPath,
    mcse: Annotated[
        list[str], typer.Option(help="Measure and its Monte Carlo standard error wanted.")
    ],
    pilot: Annotated[
        Path | None, typer.Option("--from", help="Results to reckon from, such as a smoke run's.")
    ] = None,
) -> None:
    """Say how many replicates a Monte Carlo standard error takes.

    Example: p0sim plan simulations/coverage.toml --mcse coverage=0.005
    """
    from p0sim.performance.planning import parse_wanted
    from p0sim.performance.planning import plan as plan_reps
    from p0sim.studies.results import open_study
    from p0sim.studies.study import Study

    planned = Study.from_toml(study)
    performance = open_study(pilot).performance() if pilot else None
    print_frame(plan_reps(performance, parse_wanted(mcse), planned.experiment.level))


@app.command()
def run(
    study: StudyPath,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Results folder. [default: results/NAME]")
    ] = None,
    jobs: Jobs = -1,
    reps: Annotated[
        int | None,
        typer.Option(
            help="Replicates a cell instead of the file's: a smoke run in its own folder."
        ),
    ] = None,
    block_size: BlockSize = None,
    max_time: MaxTime = None,
    timeout: Timeout = None,
    shard: Annotated[
        str | None, typer.Option(help="Part k/K of the study, in a folder of its own; then merge.")
    ] = None,
    retry: Retry = None,
    scheduler: Scheduler = None,
    backend: Backend = "loky",
    keep_going: KeepGoing = False,
    strict_version: StrictVersion = False,
    strict: Strict = False,
    no_report: NoReport = False,
) -> None:
    """Run or resume a study; end with its table and its report.

    Example: p0sim run simulations/coverage.toml -j 2
    """
    from p0sim.engine.options import Shard
    from p0sim.studies.study import Study

    planned = Study.from_toml(study)
    part = Shard.parse(shard) if shard else None
    _require_report(output or planned.default_directory(reps, part), no_report)
    options = {
        "reps": reps,
        "block_size": block_size,
        "max_time": max_time,
        "timeout": timeout,
        "shard": part,
        "retry": tuple(status for given in retry or () for status in given.split(",")),
        "scheduler": scheduler,
        "backend": backend,
        "keep_going": keep_going,
        "strict_version": strict_version,
    }
    results, summary = planned.run_and_tell(output, n_jobs=jobs, **options)
    _end(results, summary, strict, None if no_report else jobs)


@app.command()
def extend(
    directory: Directory,
    reps: Annotated[int, typer.Option(help="Replicates every cell is to have.")],
    jobs: Jobs = -1,
    block_size: BlockSize = None,
    max_time: MaxTime = None,
    timeout: Timeout = None,
    scheduler: Scheduler = None,
    backend: Backend = "loky",
    keep_going: KeepGoing = False,
    strict_version: StrictVersion = False,
    strict: Strict = False,
    no_report: NoReport = False,
) -> None:
    """Add replicates to a study, from what its results folder holds.

    Example: p0sim extend results/coverage --reps 2000 -j 2
    """
    from p0sim.studies.results import open_study
    from p0sim.studies.study import Study

    study = Study.from_record(open_study(directory).record)
    _require_report(directory, no_report)
    results, summary = study.run_and_tell(
        directory,
        reps=reps,
        n_jobs=jobs,
        block_size=block_size,
        max_time=max_time,
        timeout=timeout,
        scheduler=scheduler,
        backend=backend,
        keep_going=keep_going,
        strict_version=strict_version,
    )
    _end(results, summary, strict, None if no_report else jobs)


@app.command()
def repro(
    directory: Directory,
    cell: Annotated[str, typer.Option(help="Beginning of a cell's id, or n=100,q=3.")],
    rep: Annotated[int, typer.Option(help="Number of the replicate.")],
    timeout: Annotated[str | None, typer.Option(help="Time it may take.")] = None,
    pdb: Annotated[
        bool, typer.Option("--pdb", help="Stop in the debugger where it raises, or at its start.")
    ] = False,
) -> None:
    """Run one stored replicate again and compare it to the last bit; exit code 1 if it differs.

    Example: p0sim repro results/coverage --cell n=100,q=3 --rep 40
    """
    from p0sim.engine.options import parse_duration
    from p0sim.studies.reproduction import reproduce, task_of
    from p0sim.studies.results import open_study

    if pdb:
        _debug(task_of(open_study(directory), cell, rep))
        return
    again = reproduce(directory, cell, rep, parse_duration(timeout) if timeout else None)
    for name in ("replicates", "estimates", "problems"):
        if len(again.again[name]):
            print(f"{name}:")
            print_frame(again.again[name])
    if not again.comparable:
        say("not compared: the stored replicate was killed or took too long")
    elif again.differences:
        say("\n".join(again.differences))
        say("error: the replicate does not come out as stored; compare versions in study.json")
        raise typer.Exit(NOT_REPRODUCED)
    else:
        say(f"replicate {rep} of cell {again.cell} comes out as stored, to the last bit")


def _require_report(directory: Path, no_report: bool) -> None:
    """Refuse a report that could not be written, before hours are spent on its numbers."""
    from p0sim.engine.files import require_writable
    from p0sim.studies.results import StudyResults

    folder = StudyResults(directory).default_report
    if not no_report and folder.parent != directory:
        require_writable(folder, "the report, unless --no-report is given,")


def _debug(task: Task) -> None:
    """Into the debugger where the replicate raises; at its start where it does not."""
    import pdb

    from p0sim.engine.trial import run_bare
    from p0sim.engine.worker import first_error

    error = first_error(replace(task, process_is_ours=False))
    if error:
        say(f"{type(error).__name__}: {error}")
        pdb.post_mortem(error.__traceback__)
    else:
        pdb.runcall(run_bare, task)


def _end(results: StudyResults, summary: RunSummary, strict: bool, drawing: int | None) -> None:
    """Say how a run ended, by words and exit code; None draw no report."""
    from p0sim.studies.progress import closing_line

    if line := closing_line(results):
        say(line)
    if not results.n_replicates:
        say("no replicate is there: nothing of the study falls to this shard")
    elif drawing is None:
        print(results.paper_table().to_text())
    else:
        report = results.write_report(n_jobs=drawing)
        print(report.with_name("table.txt").read_text("utf-8"))
        print(f"Report: {report}")
    if summary.stopped:
        say(f"time is up; finished blocks are kept. Resume with: {same_command()}")
        raise typer.Exit(OUT_OF_TIME)
    without = results.cells_without_estimates()
    if len(without) == len(results.cells) and not summary.is_part:
        say("error: no replicate of the study has an estimate; see the report's failures")
        raise typer.Exit(NO_VALID_REPLICATE)
    if strict and without:
        say(f"error: cells without any estimate: {name_some(without)}")
        raise typer.Exit(NO_VALID_REPLICATE)
