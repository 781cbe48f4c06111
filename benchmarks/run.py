"""Time the package beside what users run today: `python -m benchmarks.run --help`.

Every contender has a process of its own, and the repeats of a group take turns: a noisy minute
hits all of them. This module and what it imports at the top stay light, because a new process
remembers the memory of the one that started it.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from benchmarks.tasks import TASKS, Setting
from benchmarks.worker import serve, set_environment

RESULTS = Path(__file__).parent / "results"
QUICK_RESULTS = Path("build") / "bench"
# seconds a contender may take for one repeat, or for all of one group
LIMIT = 120.0
PREPARATION = 300.0
PATIENCE = 10.0


@dataclass
class Contender:
    """The process of one contender at one size."""

    task: str
    name: str
    setting: Setting
    process: BaseProcess
    connection: Connection
    facts: dict[str, Any] = field(default_factory=dict)
    spent: float = 0.0
    busy: bool = False

    @classmethod
    def start(cls, task: str, name: str, setting: Setting, memory: int) -> Contender:
        """A process with its own setting of threads; it begins to prepare at once."""
        set_environment(setting.threads)
        here, there = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=serve, args=(there, task, name, setting.n, setting.q, memory)
        )
        process.start()
        there.close()
        return cls(task, name, setting, process, here)

    def prepared(self) -> dict[str, Any]:
        """What it says of itself once ready; a status where it cannot take part."""
        said = self._answer(PREPARATION)
        self.facts = {
            "task": self.task,
            "contender": self.name,
            "version": said.get("version", ""),
            **self.setting._asdict(),
        }
        return said

    def repeat(self, number: int) -> dict[str, Any]:
        """The row of one repeat."""
        self.connection.send(number)
        said = self._answer(LIMIT)
        self.spent += said.get("wall_seconds", LIMIT)
        return {**self.facts, **said}

    def stop(self) -> None:
        """Let the process end by itself; end it where it is still busy."""
        if not self.busy:
            # a contender that has failed hears nothing any more
            with contextlib.suppress(BrokenPipeError):
                self.connection.send(None)
            self.process.join(PATIENCE)
        self.process.terminate()
        self.process.join()
        self.connection.close()

    def _answer(self, seconds: float) -> dict[str, Any]:
        if not self.connection.poll(seconds):
            self.busy = True
            return {"status": f"over {seconds:.0f} s"}
        try:
            return self.connection.recv()
        except EOFError:
            self.process.join()
            return {"status": f"died with exit code {self.process.exitcode}"}


def run_group(
    task: str, names: Iterable[str], setting: Setting, repeats: int, memory: int
) -> Iterator[dict[str, Any]]:
    """Rows of contenders of a task at one size, in turn."""
    contenders = []
    for name in names:
        contender = Contender.start(task, name, setting, memory)
        said = contender.prepared()
        contenders.append(contender)
        if "status" in said:
            contender.spent = LIMIT
            yield {**contender.facts, **said}
    for number in range(1, repeats + 1):
        for contender in contenders:
            if contender.spent < LIMIT:
                yield contender.repeat(number)
    for contender in contenders:
        contender.stop()


def measure(tasks: list[str], quick: bool, repeats: int, memory: int) -> Iterator[dict[str, Any]]:
    """Rows of the tasks, said on the way."""
    for name in tasks:
        task = TASKS[name]
        contenders = (quick and task.smoke) or task.contenders
        for setting in task.quick if quick else task.settings:
            print(f"{name}: {_words(setting)}", flush=True)
            yield from run_group(name, contenders, setting, repeats, memory)


def _words(setting: Setting) -> str:
    size = f"n = {setting.n}, q = {setting.q}, " if setting.n else ""
    return f"{size}threads = {setting.threads}"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, about two minutes")
    parser.add_argument("--task", action="append", choices=TASKS, help="may be given again")
    parser.add_argument("--repeats", type=int, help="7; 2 with --quick")
    parser.add_argument("--out", type=Path, help="folder of the results")
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
    parser.add_argument(
        "--memory", type=int, default=gib // 2, help="GiB a contender may have; 0 is no limit"
    )
    options = parser.parse_args(arguments)
    options.repeats = options.repeats or (2 if options.quick else 7)
    options.out = options.out or (QUICK_RESULTS if options.quick else RESULTS)
    return options


def main(arguments: list[str] | None = None) -> None:
    """Measure, then write and print the results."""
    options = parse(arguments)
    tasks = options.task or list(TASKS)
    rows = list(measure(tasks, options.quick, options.repeats, options.memory * 2**30))
    from benchmarks.results_page import write_results

    print(write_results(rows, options.out))


if __name__ == "__main__":
    main()
