"""Runs the blocks of a study on all workers; the only user of joblib."""

from __future__ import annotations

import os
import secrets
import signal
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

import joblib
import pyarrow as pa

from p0sim.columns import FRAMES
from p0sim.engine.blocks import Block, table_of
from p0sim.engine.design import StudyFile
from p0sim.engine.machine import describe_machine, single_threaded
from p0sim.engine.progress import SilentReporter, open_reporter
from p0sim.engine.rows import Rows, error_rows, no_rows, outcome_rows, warning_rows
from p0sim.engine.schedule import Forecast, missing_ranges, plan_blocks
from p0sim.engine.store import Store, StudyRecord
from p0sim.engine.streams import StreamKeys, open_streams, stream_keys
from p0sim.errors import InvalidStudyError
from p0sim.replicate import Cell, Experiment, Outcome, Streams

# each worker holds its own copy of the libraries, some 200 MB
WORKERS_A_CORE = 8
SEED_BITS = 63  # a drawn seed can be written into a TOML file, whose integers have a sign

# About code and its upkeep, not about numbers; often said on first import only, so that rows
# would depend on which worker came first.
PASSING_WARNINGS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)

T = TypeVar("T")
Simulate: TypeAlias = Callable[[Streams], list[Outcome]]


@dataclass(frozen=True)
class RunSummary:
    """What a run did.

    Attributes
    ----------
    n_done, n_resumed : int
        Replicates computed now, and those that were already there.
    n_problems : int
        Rows of problems that came with the new ones.
    seconds : float
        Time from start to end.
    seed : int
        Seed of the study, drawn or given.
    notes : tuple of str
        Changed versions and damaged blocks, one line each.
    """

    n_done: int
    n_resumed: int
    n_problems: int
    seconds: float
    seed: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """A block with all a worker needs to run it."""

    experiment: Experiment
    cell: Cell
    keys: StreamKeys
    seed: int
    block: Block
    parent: int = field(default_factory=os.getpid)


@dataclass(frozen=True)
class BlockResult:
    """A finished block on its way to the store."""

    block: Block
    tables: dict[str, pa.Table]
    seconds: float


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """What came of some work: its value or its error, and the warnings on the way."""

    result: T | Exception
    caught: Sequence[warnings.WarningMessage]


@dataclass(frozen=True)
class _Setting:
    cell: Cell
    keys: StreamKeys
    cost: float


def run_study(
    study_file: StudyFile,
    experiment: Experiment,
    cells: Sequence[Cell],
    directory: str | Path,
    *,
    n_jobs: int = -1,
    reps: int | None = None,
    block_size: int | None = None,
    progress: bool = True,
) -> RunSummary:
    """Run what is missing of a study.

    Parameters
    ----------
    study_file : StudyFile
        What was read.
    experiment : Experiment
        What runs.
    cells : sequence of Cell
        From `p0sim.engine.design.build_cells`.
    directory : str or Path
        Where results are, or will be.
    n_jobs : int
        Workers; -1 for one a core. Never changes a number.
    reps : int, optional
        Replicates a cell, in place of the file's.
    block_size : int, optional
        Replicates a block, in place of about 10 s of work. Never changes a number.
    progress : bool
        Whether to show progress on standard error.

    Returns
    -------
    RunSummary

    Raises
    ------
    InvalidStudyError
        If an argument is out of range.
    StudyMismatchError
        If the directory is in use or holds another study.
    KeyboardInterrupt
        After the workers were stopped; finished blocks stay.
    """
    workers = _workers(n_jobs)
    _require_positive(reps=reps, block_size=block_size)
    settings = _settings(experiment, cells, reps)
    store, reporter = Store(directory), open_reporter(progress)
    started = time.perf_counter()
    with store.locked(), closing(reporter):
        record = _record(study_file, experiment, store, reporter)
        notes = store.begin(record, [setting.cell for setting in settings.values()])
        for note in notes:
            reporter.note(note)
        missing = _missing(settings, store)
        costs = {cell: settings[cell].cost for cell in settings}
        blocks = plan_blocks(missing, costs, workers, block_size)
        n_done = sum(block.n_reps for block in blocks)
        n_resumed = sum(setting.cell.target_reps for setting in settings.values()) - n_done
        reporter.start(n_done + n_resumed, n_resumed)
        tasks = (_task(experiment, settings[block.cell], record.seed, block) for block in blocks)
        n_problems = _run_all(
            _results(tasks, min(workers, max(1, len(blocks)))),
            store,
            reporter,
            Forecast.of(blocks, costs, workers),
        )
        seconds = time.perf_counter() - started
        reporter.finish(n_done, seconds)
    return RunSummary(n_done, n_resumed, n_problems, seconds, record.seed, tuple(notes))


def run_block(task: Task) -> BlockResult:
    """Run one block; errors and warnings of its replicates become rows.

    Parameters
    ----------
    task : Task
        What to run.

    Returns
    -------
    BlockResult
    """
    if os.getpid() != task.parent:
        # Ctrl-C reaches the whole group; the parent alone decides, and stops the workers.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    started = time.perf_counter()
    with single_threaded():
        prepared = _guarded(lambda: task.experiment.prepare(task.cell))
    rows = no_rows()
    if task.block.first == 1:
        # Preparing is the same in every block; told once, however replicates are blocked.
        rows["problems"] += warning_rows(task.cell.id, 1, prepared.caught)
    # Once more: preparing may have loaded a library that has threads of its own.
    with single_threaded():
        for rep in range(task.block.first, task.block.last + 1):
            for frame, new in _replicate(task, prepared, rep).items():
                rows[frame] += new
    tables = {frame: table_of(frame, rows[frame]) for frame in FRAMES}
    return BlockResult(task.block, tables, time.perf_counter() - started)


def _replicate(task: Task, prepared: Attempt[Simulate], rep: int) -> Rows:
    cell, methods = task.cell.id, task.experiment.methods
    if isinstance(prepared.result, Exception):
        return error_rows(cell, methods, rep, prepared.result)
    simulate = prepared.result
    attempt = _guarded(
        lambda: outcome_rows(cell, methods, rep, simulate(open_streams(task.seed, task.keys, rep)))
    )
    rows = attempt.result
    if isinstance(rows, Exception):
        rows = error_rows(cell, methods, rep, rows)
    rows["problems"] += warning_rows(cell, rep, attempt.caught)
    return rows


def _guarded(work: Callable[[], T]) -> Attempt[T]:
    """Do work at the worker boundary: whatever goes wrong becomes a row, never an end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in PASSING_WARNINGS:
            warnings.simplefilter("ignore", category)
        try:
            return Attempt(work(), caught)
        except Exception as error:
            return Attempt(error, caught)


def _workers(n_jobs: int) -> int:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int):
        raise TypeError(f"n_jobs must be a whole number; got {n_jobs!r}")
    cores = int(joblib.effective_n_jobs(-1))
    if n_jobs == -1:
        return cores
    if not 1 <= n_jobs <= WORKERS_A_CORE * cores:
        raise InvalidStudyError(
            f"n_jobs must be -1 or in 1..{WORKERS_A_CORE * cores}, {WORKERS_A_CORE} a core; "
            f"got {n_jobs}"
        )
    return n_jobs


def _record(
    study_file: StudyFile, experiment: Experiment, store: Store, reporter: SilentReporter
) -> StudyRecord:
    identity = {
        "experiment": study_file.study.experiment,
        "factors": sorted(study_file.factors),
        **experiment.identity(),
    }
    return StudyRecord(
        seed=_seed(study_file, store, reporter),
        identity=identity,
        methods=list(experiment.methods),
        factors=list(study_file.factors),
        study=study_file.document,
        machines=[describe_machine()],
    )


def _seed(study_file: StudyFile, store: Store, reporter: SilentReporter) -> int:
    if study_file.study.seed is not None:
        return study_file.study.seed
    if store.has_study():
        return store.read_identity().seed
    seed = secrets.randbits(SEED_BITS)
    reporter.note(f"the study file gives no seed; drew {seed}, kept in {store.directory}")
    return seed


def _settings(
    experiment: Experiment, cells: Iterable[Cell], reps: int | None
) -> dict[str, _Setting]:
    wanted = [replace(cell, target_reps=reps or cell.target_reps) for cell in cells]
    return {
        cell.id: _Setting(cell, stream_keys(cell, experiment), experiment.cost(cell))
        for cell in wanted
    }


def _task(experiment: Experiment, setting: _Setting, seed: int, block: Block) -> Task:
    return Task(experiment, setting.cell, setting.keys, seed, block)


def _missing(settings: Mapping[str, _Setting], store: Store) -> dict[str, list[tuple[int, int]]]:
    done: dict[str, list[Block]] = {cell: [] for cell in settings}
    for block in store.blocks():
        done.setdefault(block.cell, []).append(block)
    return {
        cell: list(missing_ranges(setting.cell.target_reps, done[cell]))
        for cell, setting in settings.items()
    }


def _run_all(
    results: Generator[BlockResult, None, None],
    store: Store,
    reporter: SilentReporter,
    forecast: Forecast,
) -> int:
    """Store results as they come; on any way out of here no worker is left."""
    n_problems = 0
    with closing(results):
        for result in results:
            block = result.block
            store.write(block, result.tables)
            n_problems += result.tables["problems"].num_rows
            forecast.record(block.cell, block.n_reps, result.seconds)
            reporter.advance(block.n_reps, forecast.seconds_left)
    return n_problems


def _results(tasks: Iterable[Task], workers: int) -> Generator[BlockResult, None, None]:
    if workers == 1:
        yield from map(run_block, tasks)
        return
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        # No memory maps: an interrupt then leaves nothing of ours in /dev/shm.
        parallel = joblib.Parallel(
            n_jobs=workers, return_as="generator_unordered", batch_size=1, max_nbytes=None
        )
        results = parallel(joblib.delayed(run_block)(task) for task in tasks)
    # Closing this generator closes joblib's, which stops the workers.
    yield from results


def _require_positive(**values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < 1:
            raise InvalidStudyError(f"{name} must be at least 1; got {value}")
