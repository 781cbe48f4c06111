"""Which replicates are due, and which cells are paused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p0sim.engine.blocks import Block
from p0sim.engine.options import Shard
from p0sim.engine.rounds import PILOT, missing_of, only_fails, own_ranges, pilot_of
from p0sim.engine.tally import Tally

cells = st.text("0123456789abcdef", min_size=10, max_size=10)


def numbers(ranges) -> list[int]:
    return [rep for first, last in ranges for rep in range(first, last + 1)]


@given(cells, st.integers(1, 500), st.integers(1, 7))
def test_shards_share_every_replicate_out_once(cell, target, of):
    shards = [numbers(own_ranges(cell, target, Shard(k, of))) for k in range(1, of + 1)]
    assert sorted(rep for shard in shards for rep in shard) == list(range(1, target + 1))


@given(cells, st.integers(1, 300), st.integers(0, 300), st.integers(1, 5))
def test_extending_leaves_each_shard_what_it_had(cell, target, more, of):
    for k in range(1, of + 1):
        before = numbers(own_ranges(cell, target, Shard(k, of)))
        after = numbers(own_ranges(cell, target + more, Shard(k, of)))
        assert after[: len(before)] == before


def test_a_study_of_one_chunk_a_cell_is_shared_out_over_the_cells():
    shares = [len(own_ranges(f"{cell:010x}", PILOT, Shard(2, 3))) for cell in range(30)]
    assert sum(shares) == 10


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=5),
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)), max_size=5),
)
def test_missing_is_what_counting_one_by_one_says(steps, held):
    own, start = [], 0
    for gap, length in steps:
        own.append((start + gap, start + gap + length))
        start = own[-1][1] + 1
    done = [Block("a", first, first + length) for first, length in held]
    there = {rep for block in done for rep in range(block.first, block.last + 1)}
    assert numbers(missing_of(own, done)) == [rep for rep in numbers(own) if rep not in there]


FAILS = {"mean": {"error": 10}, "median": {"killed": 6, "timeout": 4}}
BLOCKS = (Block("a", 1, 10), Block("a", 11, 20))


@pytest.mark.parametrize(
    ("second", "paused"),
    [
        ({"mean": {"error": 10}, "median": {"error": 10}}, True),
        ({"mean": {"error": 10}, "median": {"error": 9, "ok": 1}}, False),
        ({"mean": {"error": 10}, "median": {"no_estimate": 10}}, False),
        ({"mean": {"error": 10}, "median": {"not_converged": 10}}, False),
    ],
)
def test_a_cell_is_paused_when_no_method_had_any_luck_in_twenty(second, paused):
    tallies = {BLOCKS[0]: Tally(1.0, FAILS, 0), BLOCKS[1]: Tally(1.0, second, 0)}
    assert only_fails(pilot_of([(1, 500)]), tallies) is paused


def test_fewer_than_twenty_replicates_pause_nothing():
    tallies = {BLOCKS[0]: Tally(1.0, FAILS, 0)}
    assert not only_fails(pilot_of([(1, 500)]), tallies)
    assert not only_fails(pilot_of([(1, 10)]), tallies)
