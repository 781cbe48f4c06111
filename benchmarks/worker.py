"""A process of one contender: it prepares once, then runs whenever it is told to."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import math
import os
import resource
import subprocess
import sys
import time
import traceback
import warnings
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.tasks import Work

# a first run below this many seconds only warms caches and compilers
WARM_UP = 10.0
WARM_UP_N = 30
COMPILED = {"fit", "large"}


def serve(connection: Connection, task: str, contender: str, n: int, q: int, memory: int) -> None:
    """Answer "ready", then every number received with the row of one repeat, until None comes.

    Whatever a contender raises is sent as the status of its row: others' code may raise anything.
    """
    warnings.simplefilter("ignore")
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        repeats = _Repeats(task, contender, n, q)
        connection.send({"version": _version(contender)})
        for repeat in iter(connection.recv, None):
            connection.send({"repeat": repeat, **repeats.row()})
    except Exception as problem:
        traceback.print_exc()
        connection.send({"status": in_words(problem, memory)})


def in_words(problem: Exception, memory: int = 0) -> str:
    """What stopped a contender, without the paths that messages carry."""
    if isinstance(problem, ImportError):
        return f"not available: {problem.msg.partition(' (')[0]}"
    if isinstance(problem, MemoryError):
        return f"needs more than {memory / 2**30:.0f} GiB"
    if isinstance(problem, subprocess.CalledProcessError):
        return f"failed: exit code {problem.returncode}"
    return f"failed: {type(problem).__name__}"


class _Repeats:
    """The repeats of one contender at one size."""

    def __init__(self, task: str, contender: str, n: int, q: int) -> None:
        from benchmarks.tasks import TASKS

        spec = TASKS[task]
        self.work = spec.all_contenders[contender](n, q)
        self.seconds, self.loops, self.peak = spec.seconds, 0, math.nan
        if task in COMPILED:
            self._timed(spec.all_contenders[contender](WARM_UP_N, q), 1)

    def row(self) -> dict[str, Any]:
        """One repeat; before the first, find how many calls make one."""
        times, answer = self._timed(self.work, self.loops) if self.loops else self._first()
        units = self.loops * self.work.units
        told = self.work.tell(answer)
        return {"status": "ok", "units": units, "peak_mib": self.peak, **times, **told}

    def _first(self) -> tuple[dict[str, float], Any]:
        self.loops = 1
        times, answer = self._timed(self.work, 1)
        if times["wall_seconds"] < WARM_UP:
            while (times := self._timed(self.work, self.loops)[0])["wall_seconds"] < (
                self.seconds / 4
            ):
                self.loops *= 4
            self.loops = math.ceil(self.loops * self.seconds / times["wall_seconds"])
            times, answer = self._timed(self.work, self.loops)
        # before anything is checked: the yardstick needs memory too
        self.peak = _peak_mib()
        return times, answer

    @staticmethod
    def _timed(work: Work, loops: int) -> tuple[dict[str, float], Any]:
        with contextlib.redirect_stdout(io.StringIO()):
            wall, cpu = time.perf_counter(), _cpu_seconds()
            for _ in range(loops):
                answer = work.one()
            cpu, wall = _cpu_seconds() - cpu, time.perf_counter() - wall
        return {"wall_seconds": wall, "cpu_seconds": cpu}, answer


def _cpu_seconds() -> float:
    """CPU time of this process and of those it started and has seen end."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _peak_mib() -> float:
    """Largest resident size so far, in MiB; macOS counts in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _version(contender: str) -> str:
    """Version of the package a contender is called after; empty for other names."""
    try:
        return "" if " " in contender else importlib.metadata.version(contender)
    except importlib.metadata.PackageNotFoundError:
        return ""


def set_environment(threads: int) -> None:
    """Set threads and memory for the processes started from now on.

    glibc gives memory back and asks for it anew whenever the top of its heap is free: numpy's fixed
    point takes five times as long at n = 100 when that happens, and it does or does not by chance.
    Every contender keeps its memory.
    """
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):
        os.environ[f"{library}_NUM_THREADS"] = str(threads)
    os.environ["MALLOC_TRIM_THRESHOLD_"] = str(2**27)
    os.environ["MALLOC_MMAP_THRESHOLD_"] = str(2**25)
