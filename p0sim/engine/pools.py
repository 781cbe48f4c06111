"""Workers of three kinds, and what happens when one dies; the only user of joblib.

A worker that dies takes the block it had with it, and nobody says which replicate was to blame. The
blocks that were under way are run again, one at a time; one that kills its worker again is halved,
down to the replicate that does it alone. That one is a row, all others are done.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import joblib

from p0sim.engine.blocks import Block
from p0sim.engine.machine import versions
from p0sim.engine.options import RunOptions
from p0sim.engine.tuning import tuned_process
from p0sim.engine.worker import BlockResult, Task, lost_block, run_block
from p0sim.errors import InvalidStudyError, name_some

CONNECT_SECONDS = 15
# Processes start in two or three seconds, the time of as many figures.
FEWEST_SPREAD = 12
# what every worker must share with us for numbers to agree
LEFT_OVER = r"\d+ tasks (have been successfully executed|which were still being processed)"
SHARED_PACKAGES = ("p0sim", "numpy", "scipy")

Work: TypeAlias = Callable[[Task], BlockResult]
Results: TypeAlias = Generator[BlockResult, None, None]
T = TypeVar("T")


@dataclass(frozen=True)
class Pool:
    """Workers that run tasks, and find the replicate that kills them.

    Attributes
    ----------
    n_jobs : int
        Tasks under way at once.
    process_is_ours : bool
        Whether each worker is a process of this run alone.
    deaths : tuple of exception types
        What it raises when a worker died.
    """

    n_jobs: int
    process_is_ours: bool
    deaths: tuple[type[Exception], ...]
    _start: Callable[[Iterable[Task]], Results]

    def results(self, tasks: Iterable[Task]) -> Results:
        """Results as they come, of all tasks or, where a worker died, of those begun so far.

        Close the generator to stop the workers.
        """
        under_way: dict[Block, Task] = {}
        try:
            with closing(self._start(_noted(tasks, under_way))) as results:
                for result in results:
                    del under_way[result.block]
                    yield result
        except self.deaths:
            for task in list(under_way.values()):
                yield from self._alone(task)

    def _alone(self, task: Task) -> Results:
        started = time.monotonic()
        try:
            with closing(self._start([task])) as results:
                yield from results
        except self.deaths:
            if task.block.n_reps == 1:
                yield lost_block(task, time.monotonic() - started)
            else:
                for half in task.halves():
                    yield from self._alone(half)


@contextmanager
def open_pool(
    options: RunOptions, note: Callable[[str], None], work: Work = run_block
) -> Iterator[Pool]:
    """Workers as the options want them.

    Parameters
    ----------
    options : RunOptions
    note : callable
        Takes what the user should know, such as workers with other versions.
    work : callable
        What is done with each task.

    Raises
    ------
    InvalidStudyError
        If dask is not installed, or no scheduler answers.
    """
    n_jobs = options.workers
    if options.scheduler is not None:
        with _connected(options.scheduler) as client:
            _compare_versions(client, note)
            yield _cluster(client, work)
    elif options.backend == "threading":
        with tuned_process():
            yield Pool(n_jobs, False, (), partial(_in_threads, work, n_jobs))
    else:
        yield Pool(n_jobs, True, (BrokenProcessPool,), partial(_in_processes, work, n_jobs))


def spread(work: Callable[..., T], *arguments: Sequence[Any], n_jobs: int) -> list[T]:
    """What `map` gives, from worker processes where they pay for their start.

    Parameters
    ----------
    work : callable
        Takes one of each of the arguments.
    *arguments : sequences
        All of one length.
    n_jobs : int
        At most so many processes; this one alone where there are fewer than `FEWEST_SPREAD` calls.

    Returns
    -------
    list
        Results in order. Warnings of the workers are given here, each once.

    Examples
    --------
    >>> spread(pow, [2, 3], [3, 2], n_jobs=2)
    [8, 9]
    """
    calls = list(zip(*arguments, strict=True))
    if n_jobs == 1 or len(calls) < FEWEST_SPREAD:
        return [work(*call) for call in calls]
    parallel = joblib.Parallel(n_jobs=n_jobs, backend="loky", batch_size=1, max_nbytes=None)
    ended = parallel(joblib.delayed(_with_warnings)(work, call) for call in calls)
    for text, category in dict.fromkeys(one for _, warned in ended for one in warned):
        warnings.warn(text, category, stacklevel=2)
    return [result for result, _ in ended]


def _with_warnings(
    work: Callable[..., T], call: tuple[Any, ...]
) -> tuple[T, list[tuple[str, type[Warning]]]]:
    with warnings.catch_warnings(record=True) as caught:
        result = work(*call)
    return result, [(str(one.message), one.category) for one in caught]


def _noted(tasks: Iterable[Task], under_way: dict[Block, Task]) -> Iterator[Task]:
    for task in tasks:
        under_way[task.block] = task
        yield task


def _in_processes(work: Work, n_jobs: int, tasks: Iterable[Task]) -> Results:
    # One job too gets a process of its own, which may die; joblib has none for n_jobs = 1, so
    # two are there and one is fed. No memory maps: an interrupt then leaves nothing in /dev/shm.
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        results = _started(work, tasks, max(2, n_jobs), pre_dispatch=n_jobs, max_nbytes=None)
    yield from results


def _in_threads(work: Work, n_jobs: int, tasks: Iterable[Task]) -> Results:
    if n_jobs == 1:
        yield from map(work, tasks)
    else:
        yield from _started(work, tasks, n_jobs, pre_dispatch=n_jobs, backend="threading")


def _on_cluster(work: Work, n_jobs: int, client: Any, tasks: Iterable[Task]) -> Results:
    with joblib.parallel_config(backend="dask", client=client):
        results = _started(work, tasks, -1, pre_dispatch=n_jobs)
    yield from results


def _cluster(client: Any, work: Work) -> Pool:
    from distributed.scheduler import KilledWorker

    n_jobs = _n_threads(client)
    return Pool(n_jobs, False, (KilledWorker,), partial(_on_cluster, work, n_jobs, client))


def _started(work: Work, tasks: Iterable[Task], n_jobs: int, **options: Any) -> Results:
    parallel = joblib.Parallel(
        n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, **options
    )
    results: Results = parallel(joblib.delayed(work)(task) for task in tasks)
    try:
        # No yield from: it would close joblib's generator first.
        for result in results:  # noqa: UP028
            yield result
    finally:
        with warnings.catch_warnings():
            # Whoever stops early knows that results are left over.
            warnings.filterwarnings("ignore", LEFT_OVER, UserWarning)
            results.close()


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise InvalidStudyError(
            "scheduler needs dask, which is not installed: pip install 'p0sim[dask]'"
        ) from None
    try:
        client = Client(  # type: ignore[no-untyped-call]
            address, timeout=CONNECT_SECONDS, set_as_default=False
        )
    except (OSError, ValueError) as error:
        raise InvalidStudyError(f"scheduler {address} does not answer: {error}") from None
    with client:
        if not _n_threads(client):
            raise InvalidStudyError(f"scheduler {address} has no workers; start some first")
        yield client


def _n_threads(client: Any) -> int:
    return sum(client.nthreads().values())


def _compare_versions(client: Any, note: Callable[[str], None]) -> None:
    here = versions()
    differing = [
        f"{worker} has {package} {there[package]}, not {here[package]}"
        for worker, there in client.run(versions).items()
        for package in SHARED_PACKAGES
        if there[package] != here[package]
    ]
    if differing:
        note(f"numbers may differ in the last digits: {name_some(differing)}")
