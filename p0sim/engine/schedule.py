"""Which blocks are left to run, in which order, and how long they will take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from p0sim.engine.blocks import Block

BLOCK_SECONDS = 10.0
BLOCKS_A_WORKER = 4
LARGEST_BLOCK = 10_000
LEAST_COST = 1e-6


def missing_ranges(target: int, done: Iterable[Block]) -> Iterator[tuple[int, int]]:
    """Ranges of replicates in 1..target that no finished block holds.

    Parameters
    ----------
    target : int
        Replicates asked for.
    done : iterable of Block
        Finished blocks of one cell.

    Examples
    --------
    >>> list(missing_ranges(10, [Block("a", 3, 4), Block("a", 8, 20)]))
    [(1, 2), (5, 7)]
    """
    next_rep = 1
    for block in sorted(done):
        if next_rep < block.first <= target:
            yield next_rep, block.first - 1
        elif next_rep <= target < block.first:
            break
        next_rep = max(next_rep, block.last + 1)
    if next_rep <= target:
        yield next_rep, target


def plan_blocks(
    missing: Mapping[str, list[tuple[int, int]]],
    costs: Mapping[str, float],
    n_jobs: int,
    block_size: int | None = None,
) -> list[Block]:
    """Cut what is missing into blocks, slowest cells first.

    Parameters
    ----------
    missing : mapping of cell id to ranges
        First and last replicate of each gap.
    costs : mapping of cell id to seconds
        A guess of the time a replicate takes; it shapes blocks, never numbers.
    n_jobs : int
        Workers; each gets a few blocks at least, so that all end at about the same time.
    block_size : int, optional
        Replicates a block, in place of about 10 s of work.

    Returns
    -------
    list of Block

    Examples
    --------
    >>> plan_blocks({"a": [(1, 5)], "b": [(1, 2)]}, {"a": 1.0, "b": 60.0}, n_jobs=1, block_size=3)
    [Block(cell='b', first=1, last=2), Block(cell='a', first=1, last=3), \
Block(cell='a', first=4, last=5)]
    """
    costs = {cell: _usable(costs[cell]) for cell in missing}
    total = sum(costs[cell] * n_reps_of(ranges) for cell, ranges in missing.items())
    seconds = min(BLOCK_SECONDS, total / (BLOCKS_A_WORKER * n_jobs))
    blocks = []
    for cell in sorted(missing, key=costs.__getitem__, reverse=True):
        size = block_size or max(1, min(LARGEST_BLOCK, int(seconds / costs[cell])))
        for first, last in missing[cell]:
            starts = range(first, last + 1, size)
            blocks += [Block(cell, start, min(start + size - 1, last)) for start in starts]
    return blocks


@dataclass
class Forecast:
    """Seconds left, from the guesses first and from what blocks took as they come in.

    Parameters
    ----------
    guesses : mapping of cell id to seconds
        A guess of the time a replicate takes.
    n_jobs : int
        Workers.
    remaining : dict of cell id to int
        Replicates to run.

    Examples
    --------
    >>> forecast = Forecast({"a": 1.0, "b": 2.0}, n_jobs=1, remaining={"a": 10, "b": 10})
    >>> forecast.record("a", n_reps=5, seconds=10.0)
    >>> forecast.seconds_left
    50.0
    """

    guesses: Mapping[str, float]
    n_jobs: int
    remaining: dict[str, int] = field(default_factory=dict)
    _reps: dict[str, int] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)

    def learn(self, cell: str, n_reps: int, seconds: float) -> None:
        """Take the time of a block into account that was there before."""
        self._reps[cell] = self._reps.get(cell, 0) + n_reps
        self._seconds[cell] = self._seconds.get(cell, 0.0) + seconds

    def record(self, cell: str, n_reps: int, seconds: float) -> None:
        """Take a block into account that was expected."""
        self.learn(cell, n_reps, seconds)
        self.remaining[cell] -= n_reps

    def knows(self, cell: str) -> bool:
        """Whether there is a guess or a measurement for the cell."""
        return cell in self._reps or math.isfinite(self.guesses[cell])

    def seconds_a_rep(self, cell: str) -> float:
        """What a replicate of the cell takes, as far as is known."""
        if cell in self._reps:
            return self._seconds[cell] / self._reps[cell]
        return self._correction() * _usable(self.guesses[cell])

    @property
    def seconds_left(self) -> float:
        """Time until the last worker is done, if all stay busy."""
        work = sum(n * self.seconds_a_rep(cell) for cell, n in self.remaining.items() if n)
        return work / self.n_jobs

    def _correction(self) -> float:
        """What the guesses were off by so far, for the cells still to come."""
        guessed = sum(_usable(self.guesses[cell]) * n_reps for cell, n_reps in self._reps.items())
        return sum(self._seconds.values()) / guessed if guessed else 1.0


def _usable(cost: float) -> float:
    return max(cost, LEAST_COST) if math.isfinite(cost) else BLOCK_SECONDS


def n_reps_of(ranges: Iterable[tuple[int, int]]) -> int:
    """Replicates in some ranges."""
    return sum(last - first + 1 for first, last in ranges)
