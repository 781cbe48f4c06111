"""One replicate of a cell, run and looked at, not stored: before a study, and after it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import pandas as pd

from p0sim.columns import FRAMES
from p0sim.engine.blocks import Block, typed_frame
from p0sim.engine.options import RunOptions
from p0sim.engine.pools import open_pool
from p0sim.engine.streams import open_streams, stream_keys
from p0sim.engine.worker import BlockResult, Task, run_block
from p0sim.replicate import Cell, Experiment, Outcome

TRIAL = 0  # number of the replicate that no study keeps
LONG_SECONDS = 5.0
TIMED_SECONDS, MOST_TIMED = 0.25, 50


@dataclass(frozen=True, eq=False)
class Trial:
    """What one replicate of a cell took and gave.

    Attributes
    ----------
    cell : Cell
    frames : dict of str to DataFrame
        Its rows, as they would be stored.
    seconds : float
        Time of the replicate, libraries loaded.
    n_bytes : int
        Size of its rows in memory; on disk they are hardly larger.
    peak_bytes : int
        Largest memory of the worker so far; 0 where the system does not tell.
    """

    cell: Cell
    frames: dict[str, pd.DataFrame]
    seconds: float
    n_bytes: int
    peak_bytes: int


@dataclass(frozen=True)
class MeasuredResult(BlockResult):
    """A result with the memory its worker had needed by then."""

    peak_bytes: int = 0


def try_cells(
    experiment: Experiment, cells: Iterable[Cell], seed: int, timeout: float | None = None
) -> Iterator[Trial]:
    """Run replicate 0 of each cell in a worker process, one after the other.

    Parameters
    ----------
    experiment : Experiment
    cells : iterable of Cell
    seed : int
    timeout : float, optional
        Seconds a replicate may take.

    Yields
    ------
    Trial
        As they come.
    """
    by_id = {cell.id: cell for cell in cells}
    options = RunOptions(n_jobs=1, timeout=timeout)
    with open_pool(options, note=print, work=_measured) as pool:
        tasks = [single(experiment, cell, seed, TRIAL, timeout=timeout) for cell in by_id.values()]
        with closing(pool.results(tasks)) as results:
            for result in results:
                yield _trial(by_id, result)


def run_again(task: Task) -> dict[str, pd.DataFrame]:
    """Frames of a task, run in a worker process: it may crash again."""
    options = RunOptions(n_jobs=1, timeout=task.timeout)
    with open_pool(options, note=print) as pool, closing(pool.results([task])) as results:
        return _frames(next(results))


def run_bare(task: Task) -> list[Outcome]:
    """The fits of one replicate with nothing around them, for stepping through."""
    fits = task.experiment.prepare(task.cell)(open_streams(task.seed, task.keys, task.block.first))
    return [fits[method]() for method in task.experiment.methods]


def single(
    experiment: Experiment, cell: Cell, seed: int, rep: int, timeout: float | None = None
) -> Task:
    """The task of one replicate, for a worker process.

    Parameters
    ----------
    experiment : Experiment
    cell : Cell
    seed : int
        Of the study.
    rep : int
        Number of the replicate; 0 for a trial.
    timeout : float, optional
        Seconds it may take.
    """
    keys, block = stream_keys(cell, experiment), Block(cell.id, rep, rep)
    return Task(experiment, cell, keys, seed, block, timeout, process_is_ours=True)


def _measured(task: Task) -> MeasuredResult:
    first = run_block(task)
    return MeasuredResult(task.block, first.tables, _seconds(task, first.seconds), _peak_bytes())


def _seconds(task: Task, first: float) -> float:
    """Seconds a replicate, without loading libraries and tuning the process, which blocks share."""
    if first > LONG_SECONDS:
        return first
    again = run_block(task).seconds
    n_reps = min(MOST_TIMED, int(TIMED_SECONDS / again))
    if n_reps < 2:
        return again
    block = replace(task.block, last=task.block.first + n_reps - 1)
    return run_block(replace(task, block=block)).seconds / n_reps


def _peak_bytes() -> int:
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _trial(cells: dict[str, Cell], result: BlockResult) -> Trial:
    n_bytes = sum(table.nbytes for table in result.tables.values())
    peak_bytes = result.peak_bytes if isinstance(result, MeasuredResult) else 0
    cell = cells[result.block.cell]
    return Trial(cell, _frames(result), result.seconds, n_bytes, peak_bytes)


def _frames(result: BlockResult) -> dict[str, pd.DataFrame]:
    return {frame: typed_frame(result.tables[frame], FRAMES[frame]) for frame in FRAMES}
