"""How a study is run: workers, limits, shards. Nothing here ever changes a number."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields

import joblib

from p0sim.errors import InvalidStudyError

# each worker holds its own copy of the libraries, some 200 MB
WORKERS_A_CORE = 8
BACKENDS = ("loky", "threading")
# what went wrong with the run, not with the data: `no_estimate` comes out the same again
RETRIED = ("error", "killed", "timeout")
UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}

_PART = r"(\d+(?:\.\d+)?)\s*(s|min|m|h|d)"
_DURATION = re.compile(rf"\s*(?:{_PART}\s*)+")
_SHARD = re.compile(r"(\d+)/(\d+)")


@dataclass(frozen=True)
class Shard:
    """Part k of K of a study, for machines that share no disk.

    Examples
    --------
    >>> Shard.parse("1/3")
    Shard(number=1, of=3)
    """

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise InvalidStudyError(f"shard must be k/K with 1 <= k <= K; got {self}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read "k/K".

        Raises
        ------
        InvalidStudyError
            If it is written otherwise or k is not in 1..K.
        """
        match = _SHARD.fullmatch(text)
        if not match:
            raise InvalidStudyError(f"shard must be k/K, such as 1/3; got {text!r}")
        return cls(int(match[1]), int(match[2]))


@dataclass(frozen=True)
class RunOptions:
    """How to run a study.

    Parameters
    ----------
    n_jobs : int
        Workers; -1 for one a core.
    reps : int, optional
        Replicates a cell, in place of the file's and of its stopping rule.
    block_size : int, optional
        Replicates a block, in place of about 10 s of work.
    max_time : float, optional
        Seconds after which no further block is started; the study can be resumed.
    timeout : float, optional
        Seconds a replicate may take; one that takes longer is a row `timeout`.
    shard : Shard, optional
        Which part of the study to run.
    retry : tuple of str
        Replicates that ended so are computed again: error, killed or timeout.
    scheduler : str, optional
        Address of a dask scheduler whose workers do the work.
    backend : {"loky", "threading"}
        Worker processes, which a crash cannot take the study down with, or threads of this process.
    keep_going : bool
        Whether to go on with a cell whose first replicates all failed.
    strict_version : bool
        Whether to refuse to add rows made with other versions than those already there.
    progress : bool
        Whether to show progress on standard error.

    Raises
    ------
    InvalidStudyError
        If one is out of its range.
    TypeError
        If n_jobs is no whole number.

    Examples
    --------
    >>> RunOptions(timeout=0)
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: timeout must be positive and finite; got 0
    """

    n_jobs: int = -1
    reps: int | None = None
    block_size: int | None = None
    max_time: float | None = None
    timeout: float | None = None
    shard: Shard | None = None
    retry: tuple[str, ...] = ()
    scheduler: str | None = None
    backend: str = "loky"
    keep_going: bool = False
    strict_version: bool = False
    progress: bool = True
    workers: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "workers", _workers(self.n_jobs))
        _require_counts(reps=self.reps, block_size=self.block_size)
        _require_durations(max_time=self.max_time, timeout=self.timeout)
        _require_one_of("backend", self.backend, BACKENDS)
        if self.timeout and self.backend == "threading" and self.workers > 1:
            raise InvalidStudyError(
                "timeout needs worker processes: a thread that sleeps cannot be woken; "
                "leave out backend threading or use one worker"
            )
        for status in self.retry:
            _require_one_of("retry", status, RETRIED)


OPTION_NAMES = tuple(each.name for each in fields(RunOptions) if each.init)


def parse_duration(text: str) -> float:
    """Seconds of a duration such as 90, 45s, 30min or 1h30m.

    Raises
    ------
    InvalidStudyError
        If it is written otherwise.

    Examples
    --------
    >>> parse_duration("1h30m"), parse_duration("90")
    (5400.0, 90.0)
    """
    written = f"{text}s" if text.replace(".", "", 1).isdecimal() else text
    if not _DURATION.fullmatch(written):
        raise InvalidStudyError(
            f"a duration must be written like 90, 45s, 30min or 1h30m; got {text!r}"
        )
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(_PART, written))


def _workers(n_jobs: int) -> int:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int):
        raise TypeError(f"n_jobs must be a whole number; got {n_jobs!r}")
    cores = int(joblib.effective_n_jobs(-1))
    if n_jobs == -1:
        return cores
    if not 1 <= n_jobs <= WORKERS_A_CORE * cores:
        raise InvalidStudyError(
            f"n_jobs (-j) must be -1 or in 1..{WORKERS_A_CORE * cores}, {WORKERS_A_CORE} a core; "
            f"got {n_jobs}"
        )
    return n_jobs


def _require_counts(**values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < 1:
            raise InvalidStudyError(f"{name} must be at least 1; got {value}")


def _require_durations(**values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise InvalidStudyError(f"{name} must be positive and finite; got {value}")


def _require_one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidStudyError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
