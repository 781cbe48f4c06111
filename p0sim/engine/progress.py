"""How far a run is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from random import getstate, setstate
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SECONDS_BETWEEN_LINES = 10.0


class SilentReporter:
    """Says nothing; the others fill in what to say."""

    def start(self, total: int, resumed: int) -> None:
        """Begin: replicates of the study, and those already there."""

    def advance(self, n_reps: int, seconds_left: float) -> None:
        """A block came in."""

    def drop(self, n_reps: int) -> None:
        """So many replicates are not needed after all."""

    def note(self, text: str) -> None:
        """Something the user should know."""

    def finish(self, n_done: int, seconds: float) -> None:
        """All done."""

    def close(self) -> None:
        """Leave the terminal as it was, also after an interrupt."""


class LineReporter(SilentReporter):
    """Plain lines, at most one each ten seconds while running.

    Parameters
    ----------
    stream : text stream
        Where to write.

    Examples
    --------
    >>> reporter = LineReporter(sys.stdout)
    >>> reporter.start(total=40, resumed=10)
    10 of 40 replicates are already there
    >>> reporter.finish(n_done=30, seconds=2.0)
    30 replicates in 2 s, 15 a second
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._total = self._count = self._resumed = 0
        self._started = self._last_line = time.monotonic()

    def start(self, total: int, resumed: int) -> None:  # noqa: D102
        self._total, self._count, self._resumed = total, resumed, resumed
        self._started = self._last_line = time.monotonic()
        if resumed:
            self.note(f"{resumed} of {total} replicates are already there")

    def advance(self, n_reps: int, seconds_left: float) -> None:  # noqa: D102
        self._count += n_reps
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            rate = _rate(self._count - self._resumed, now - self._started)
            left = readable_seconds(seconds_left)
            self.note(f"{self._count} of {self._total} replicates, {rate}, {left} left")

    def drop(self, n_reps: int) -> None:  # noqa: D102
        self._total -= n_reps

    def note(self, text: str) -> None:  # noqa: D102
        print(text, file=self._stream, flush=True)

    def finish(self, n_done: int, seconds: float) -> None:  # noqa: D102
        if n_done:
            rate, took = _rate(n_done, seconds), readable_seconds(seconds)
            self.note(f"{n_done} {'replicate' if n_done == 1 else 'replicates'} in {took}, {rate}")
        else:
            self.note("nothing to compute")


class BarReporter(LineReporter):
    """A bar with the time left, for a terminal.

    Parameters
    ----------
    stream : text stream
        The terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._bar = _bar(stream)
        self._task: TaskID | None = None

    def start(self, total: int, resumed: int) -> None:  # noqa: D102
        super().start(total, resumed)
        if resumed < total:
            self._task = self._bar.add_task("replicates", total=total, completed=resumed, left="")
            self._bar.start()

    def advance(self, n_reps: int, seconds_left: float) -> None:  # noqa: D102
        if self._task is not None:
            left = f"{readable_seconds(seconds_left)} left"
            self._bar.update(self._task, advance=n_reps, left=left)

    def drop(self, n_reps: int) -> None:  # noqa: D102
        super().drop(n_reps)
        if self._task is not None:
            self._bar.update(self._task, total=self._total)

    def note(self, text: str) -> None:  # noqa: D102
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def finish(self, n_done: int, seconds: float) -> None:  # noqa: D102
        self.close()
        super().finish(n_done, seconds)

    def close(self) -> None:  # noqa: D102
        self._bar.stop()


def open_reporter(enabled: bool = True, stream: TextIO | None = None) -> SilentReporter:
    """Reporter that suits the stream.

    Parameters
    ----------
    enabled : bool
        False for silence.
    stream : text stream, optional
        Where to write; standard error unless given.
    """
    if not enabled:
        return SilentReporter()
    stream = stream or sys.stderr
    return BarReporter(stream) if stream.isatty() else LineReporter(stream)


def readable_seconds(seconds: float) -> str:
    """Write a duration as people say it.

    Examples
    --------
    >>> readable_seconds(0.21), readable_seconds(75), readable_seconds(7500)
    ('0.2 s', '1 min 15 s', '2 h 5 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _bar(stream: TextIO) -> Progress:
    # rich draws from the standard library's global generator when it is loaded; whoever seeded
    # that one finds it where it stood.
    state = getstate()
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    setstate(state)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(file=stream),
    )


def _rate(n_reps: int, seconds: float) -> str:
    return f"{n_reps / max(seconds, 1e-9):.3g} a second"
