"""Which replicates a run owes: the first of every cell, then the rest, or on to a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pandas as pd

from p0sim.engine.blocks import Block
from p0sim.engine.options import RETRIED, Shard
from p0sim.engine.schedule import missing_ranges
from p0sim.engine.tally import Tally

# Replicates of every cell that run before any other: their times shape the blocks of the rest, and
# a cell that does nothing but fail is found out. A shard is dealt out in chunks of as many.
PILOT = 20

Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class StoppingRule:
    """When a cell has replicates enough.

    Attributes
    ----------
    checkpoints : tuple of int
        Replicates after which to look, the largest allowed last.
    is_met : callable
        Takes the estimates of one cell up to a checkpoint.
    """

    checkpoints: tuple[int, ...]
    is_met: Callable[[pd.DataFrame], bool]


def own_ranges(cell: str, target: int, shard: Shard | None) -> list[Range]:
    """Ranges of replicates in 1..target that are this run's to do.

    Parameters
    ----------
    cell : str
        Content id; it decides which shard begins, so that small studies are shared out too.
    target : int
        Replicates asked for.
    shard : Shard or None
        None for all of them. Chunks of 20 are dealt out in turn, the same ones however far a study
        is extended.

    Examples
    --------
    >>> own_ranges("0f", 50, None), own_ranges("00", 50, Shard(1, 2))
    ([(1, 50)], [(1, 20), (41, 50)])
    """
    if shard is None:
        return [(1, target)]
    turn = (shard.number - 1 - int(cell, 16)) % shard.of
    starts = range(1 + PILOT * turn, target + 1, PILOT * shard.of)
    return [(start, min(start + PILOT - 1, target)) for start in starts]


def pilot_of(own: Sequence[Range]) -> list[Range]:
    """The first replicates among them.

    Examples
    --------
    >>> pilot_of([(1, 500)])
    [(1, 20)]
    """
    return [(first, min(last, first + PILOT - 1)) for first, last in own[:1]]


def missing_of(own: Sequence[Range], done: Iterable[Block]) -> list[Range]:
    """The parts of ranges that no finished block holds.

    Examples
    --------
    >>> missing_of([(1, 10), (21, 30)], [Block("a", 4, 25)])
    [(1, 3), (26, 30)]
    """
    if not own:
        return []
    gaps = list(missing_ranges(own[-1][1], done))
    both = [(max(a, first), min(b, last)) for first, last in own for a, b in gaps]
    return [(first, last) for first, last in both if first <= last]


def only_fails(pilot: Sequence[Range], tallies: Mapping[Block, Tally]) -> bool:
    """Whether the first replicates of a cell all ended in `error`, `killed` or `timeout`.

    Parameters
    ----------
    pilot : sequence of (int, int)
        From `pilot_of`; a shorter one than 20 replicates says nothing yet.
    tallies : mapping of Block to Tally
        What the finished blocks of the cell hold.

    Examples
    --------
    >>> mixed = Tally(1.0, {"mean": {"error": 19, "no_estimate": 1}}, n_problems=19)
    >>> only_fails([(1, 20)], {Block("a", 1, 20): mixed})
    False
    """
    if not pilot or pilot[0][1] - pilot[0][0] + 1 < PILOT:
        return False
    inside = {block: tally for block, tally in tallies.items() if _within(block, pilot[0])}
    whole = sum(block.n_reps for block in inside) == PILOT
    return whole and all(sum(map(tally.n_of, RETRIED)) == tally.n_fits for tally in inside.values())


def _within(block: Block, span: Range) -> bool:
    return span[0] <= block.first and block.last <= span[1]
