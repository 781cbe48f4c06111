"""What is left to run, cut into blocks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p0sim.engine.blocks import Block
from p0sim.engine.schedule import (
    BLOCK_SECONDS,
    LARGEST_BLOCK,
    Forecast,
    missing_ranges,
    plan_blocks,
)

spans = st.tuples(st.integers(1, 30), st.integers(0, 10)).map(
    lambda s: Block("a", s[0], s[0] + s[1])
)


@given(st.integers(1, 40), st.lists(spans, max_size=6))
def test_missing_ranges_are_those_of_counting_one_by_one(target, done):
    held = {rep for block in done for rep in range(block.first, block.last + 1)}
    want = [rep for rep in range(1, target + 1) if rep not in held]
    ranges = list(missing_ranges(target, done))
    assert [rep for first, last in ranges for rep in range(first, last + 1)] == want


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 3000), min_size=1),
    st.lists(st.floats(0, 100) | st.just(math.nan), min_size=3, max_size=3),
    st.integers(1, 8),
    st.none() | st.integers(1, 50),
)
def test_blocks_hold_each_missing_replicate_once(reps, costs, n_jobs, block_size):
    missing = {cell: [(1, n)] for cell, n in reps.items()}
    blocks = plan_blocks(missing, dict(zip("abc", costs)), n_jobs, block_size)
    held = sorted((b.cell, rep) for b in blocks for rep in range(b.first, b.last + 1))
    assert held == sorted((cell, rep) for cell, n in reps.items() for rep in range(1, n + 1))
    assert max(block.n_reps for block in blocks) <= (block_size or LARGEST_BLOCK)


def test_blocks_are_about_ten_seconds_and_slow_cells_come_first():
    missing = {"quick": [(1, 10_000)], "slow": [(1, 1000)]}
    blocks = plan_blocks(missing, {"quick": 0.1, "slow": 2.0}, n_jobs=2)
    sizes = {block.cell: block.n_reps for block in reversed(blocks)}
    assert sizes == {"slow": BLOCK_SECONDS / 2.0, "quick": BLOCK_SECONDS / 0.1}
    cells = [block.cell for block in blocks]
    assert cells == sorted(cells, reverse=True)


def test_short_study_still_has_a_few_blocks_a_worker():
    assert len(plan_blocks({"a": [(1, 40)]}, {"a": 0.01}, n_jobs=2)) == 8


def test_forecast_starts_from_the_guess_and_corrects_cells_to_come():
    forecast = Forecast({"a": 1.0, "b": 2.0}, n_jobs=2, remaining={"a": 10, "b": 10})
    assert forecast.seconds_left == pytest.approx((10 * 1 + 10 * 2) / 2)
    forecast.record("a", 10, seconds=30.0)  # three times the guess, so b is taken as 6 s each
    assert forecast.seconds_left == pytest.approx(10 * 6 / 2)
    forecast.record("b", 5, seconds=10.0)
    assert forecast.seconds_left == pytest.approx(5 * 2 / 2)


def test_forecast_learns_from_blocks_that_were_there():
    forecast = Forecast({"a": 1.0}, n_jobs=1, remaining={"a": 10})
    forecast.learn("a", 5, seconds=20.0)
    assert forecast.seconds_left == pytest.approx(10 * 4)
    assert forecast.seconds_a_rep("a") == pytest.approx(4)
