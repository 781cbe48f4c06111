"""What a worker does: run one block of replicates, whatever goes wrong in them."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import pyarrow as pa

from p0sim.columns import FRAMES
from p0sim.engine.blocks import Block, table_of
from p0sim.engine.limits import GRACE_SECONDS, ReplicateTimeout, time_limit
from p0sim.engine.listening import listening
from p0sim.engine.rows import Key, Rows, error_rows, fit_rows, no_rows, said_by, warning_rows
from p0sim.engine.streams import StreamKeys, open_streams
from p0sim.engine.tuning import single_threaded, tuned_process
from p0sim.errors import InvalidStudyError
from p0sim.replicate import Cell, Experiment, Fit, Outcome, Simulate

BEFORE_ANY_METHOD = ""
DIED = "its worker process died: out of memory, a crash, or killed from outside"

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """A block with all a worker needs to run it.

    Attributes
    ----------
    experiment, cell, keys, seed, block
        What to run.
    timeout : float or None
        Seconds a replicate may take.
    process_is_ours : bool
        Whether the worker is a process of this run alone, which may end with a bad replicate.
    parent : int
        Process of the run.
    """

    experiment: Experiment
    cell: Cell
    keys: StreamKeys
    seed: int
    block: Block
    timeout: float | None = None
    process_is_ours: bool = False
    parent: int = field(default_factory=os.getpid)

    def halves(self) -> tuple[Task, Task]:
        """Two tasks of half the replicates each."""
        cell, first, last = self.block.cell, self.block.first, self.block.last
        middle = (first + last) // 2
        return (
            replace(self, block=Block(cell, first, middle)),
            replace(self, block=Block(cell, middle + 1, last)),
        )


@dataclass(frozen=True)
class BlockResult:
    """A finished block on its way to the store."""

    block: Block
    tables: dict[str, pa.Table]
    seconds: float


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """What came of some work: its value, or why there is none, and the warnings on the way."""

    value: T | None = None
    failure: Outcome | None = None
    error: BaseException | None = None
    caught: Sequence[warnings.WarningMessage] = ()

    def problem_rows(self, key: Key) -> list[tuple[Any, ...]]:
        """Rows of `problems`, the error first."""
        errors = error_rows(key, self.error) if self.error else []
        return errors + warning_rows(key, self.caught)


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
    if task.process_is_ours:
        _settle_in()
    started = time.perf_counter()
    rows = no_rows()
    with tuned_process():
        prepared = _attempt(lambda: task.experiment.prepare(task.cell), task)
        if task.block.first <= 1:
            # Preparing is the same in every block; told once, however replicates are blocked.
            key = (task.cell.id, BEFORE_ANY_METHOD, task.block.first)
            rows["problems"] += warning_rows(key, prepared.caught)
        # Once more: preparing may have loaded a library that has threads of its own.
        with single_threaded():
            for rep in range(task.block.first, task.block.last + 1):
                _leave_with_parent(task)
                _add_replicate(rows, task, prepared, rep)
    return _result(task, rows, time.perf_counter() - started)


def lost_block(task: Task, seconds: float) -> BlockResult:
    """Result of a single replicate whose worker died with it.

    Parameters
    ----------
    task : Task
        A task of one replicate, run alone.
    seconds : float
        How long the worker lived.
    """
    over = task.timeout is not None and seconds >= task.timeout + GRACE_SECONDS
    outcome = _too_long(task) if over else Outcome("killed", reason=DIED)
    rows = no_rows()
    for method in task.experiment.methods:
        _add_fit(rows, (task.cell.id, method, task.block.first), outcome)
    return _result(task, rows, seconds)


def first_error(task: Task) -> BaseException | None:
    """What the first replicate of a task raises first, with its traceback; for a debugger."""
    with tuned_process():
        prepared = _attempt(lambda: task.experiment.prepare(task.cell), task)
        fits = _draw(task, prepared, task.block.first, None)
        tried = [_attempt(fit, task) for fit in (fits.value or {}).values()]
    errors = [fits.error, *(each.error for each in tried)]
    return next((error for error in errors if error), None)


def _add_replicate(rows: Rows, task: Task, prepared: Attempt[Simulate], rep: int) -> None:
    end = time.monotonic() + task.timeout if task.timeout is not None else None
    fits = _draw(task, prepared, rep, end)
    rows["problems"] += fits.problem_rows((task.cell.id, BEFORE_ANY_METHOD, rep))
    for method in task.experiment.methods:
        key = (task.cell.id, method, rep)
        if fits.failure:
            _add_fit(rows, key, fits.failure)
        elif fits.value:
            _fit(rows, key, fits.value[method], task, end)


def _draw(
    task: Task, prepared: Attempt[Simulate], rep: int, end: float | None
) -> Attempt[Mapping[str, Fit]]:
    simulate = prepared.value
    if simulate is None:
        return Attempt(failure=prepared.failure, error=prepared.error)
    return _attempt(lambda: _fits(task, simulate, rep), task, end)


def _fits(task: Task, simulate: Simulate, rep: int) -> Mapping[str, Fit]:
    fits, methods = simulate(open_streams(task.seed, task.keys, rep)), task.experiment.methods
    if sorted(fits) != sorted(methods):
        raise InvalidStudyError(
            f"fits must be one for each of {', '.join(methods)}; got {', '.join(fits)}"
        )
    return fits


def _fit(rows: Rows, key: Key, fit: Fit, task: Task, end: float | None) -> None:
    started = time.perf_counter()
    tried = _attempt(lambda: fit_rows(key, fit()), task, end)
    seconds = time.perf_counter() - started
    rows["problems"] += tried.problem_rows(key)
    if tried.value:
        for frame, new in tried.value.items():
            rows[frame] += new
        rows["timings"].append((*key, seconds))
    elif tried.failure:
        _add_fit(rows, key, tried.failure, seconds)


def _add_fit(rows: Rows, key: Key, failure: Outcome, seconds: float = float("nan")) -> None:
    rows["replicates"] += fit_rows(key, failure)["replicates"]
    rows["timings"].append((*key, seconds))


def _attempt(work: Callable[[], T], task: Task, end: float | None = None) -> Attempt[T]:
    """Do work at the worker boundary: whatever goes wrong becomes a row, never an end."""
    left = None if end is None else end - time.monotonic()
    with listening() as caught:
        try:
            with time_limit(left, process_is_ours=task.process_is_ours):
                return Attempt(work(), caught=caught)
        except ReplicateTimeout:
            return Attempt(failure=_too_long(task), caught=caught)
        except BaseException as error:
            # sys.exit speaks for its replicate, not for the study; so does anything that is raised
            # where Ctrl-C is not heard.
            if not (isinstance(error, Exception | SystemExit) or task.process_is_ours):
                raise
            failure = Outcome("error", reason=said_by(error))
            return Attempt(failure=failure, error=error, caught=caught)


def _too_long(task: Task) -> Outcome:
    return Outcome("timeout", reason=f"took longer than {task.timeout:g} s")


def _settle_in() -> None:
    """What a process does once it is a worker."""
    # Ctrl-C reaches the whole group; the parent alone decides, and stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Standard output is for results; what an experiment prints goes where progress does.
    os.dup2(2, 1)


def _leave_with_parent(task: Task) -> None:
    """A worker whose run was killed must not go on beside the run that resumes it."""
    if task.process_is_ours and os.getppid() != task.parent:
        os._exit(1)


def _result(task: Task, rows: Rows, seconds: float) -> BlockResult:
    tables = {frame: table_of(frame, rows[frame]) for frame in FRAMES}
    return BlockResult(task.block, tables, seconds)
