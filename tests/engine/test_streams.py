"""Streams are named by seed, content, replicate, stage and method, and by nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p0sim.engine.streams import (
    StreamKeys,
    canonical_number,
    canonical_text,
    cell_id,
    open_streams,
    stream_keys,
)
from p0sim.errors import InvalidStudyError
from p0sim.replicate import Cell
from tests.engine.fake import FakeExperiment

KEYS = StreamKeys((1, 2, 3, 4), (5, 6, 7, 8))
TRIPWIRE_KEY = (1076318325, 273221552, 1805795374, 122605246)
TRIPWIRE_ID = "4027507510"
TRIPWIRE_DRAWS = [
    7698543071224132586,
    685151086894974982,
    7852401204131523525,
    6904345027971100397,
    971845044206724395,
]
STAGES = ("truth", "network", "noise")
finite = st.floats(allow_nan=False, allow_infinity=False)


def cell(**factors) -> Cell:
    return Cell("", factors, {name: str(value) for name, value in factors.items()})


def first_draws(seed=1, keys=KEYS, rep=1, methods=("a", "b")) -> list[int]:
    streams = open_streams(seed, keys, rep)
    generators = [getattr(streams, stage) for stage in STAGES] + [streams.other(m) for m in methods]
    return [int(generator.integers(2**63)) for generator in generators]


def test_stream_is_numpys_seed_sequence_with_the_promised_spawn_key():
    """Oracle: the formula of the promise, written out."""
    want = np.random.SeedSequence(9, spawn_key=(5, 6, 7, 8, 3, 1))
    got = open_streams(9, KEYS, rep=3).network.bit_generator.state
    assert got == np.random.PCG64(want).state


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**63 - 1, 2**96, 2**127 + 5, 2**128 - 1])
def test_every_seed_gives_the_sequence_numpy_makes_of_it(seed):
    """Seeds of one to four words, and a key that ends in zeros."""
    keys = StreamKeys(own=(0, 0, 0, 2**32 - 1), shared=(0, 0, 0, 0))
    want = np.random.SeedSequence(seed, spawn_key=(0, 0, 0, 0, 3, 0))
    got = open_streams(seed, keys, rep=3).truth.bit_generator.state
    assert got == np.random.PCG64(want).state


def test_noise_uses_the_whole_hash_and_stage_two():
    want = np.random.SeedSequence(9, spawn_key=(1, 2, 3, 4, 3, 2))
    got = open_streams(9, KEYS, rep=3).noise.bit_generator.state
    assert got == np.random.PCG64(want).state


def test_stored_draws_have_not_changed():
    """Tripwire: a failure means that results of older versions can no longer be repeated."""
    keys = stream_keys(cell(n=100, L=0.3, epsilon=2), FakeExperiment())
    assert keys.own == keys.shared == TRIPWIRE_KEY
    assert cell_id(cell(n=100, L=0.3, epsilon=2), FakeExperiment()) == TRIPWIRE_ID
    assert first_draws(20240501, keys, 1) == TRIPWIRE_DRAWS


def test_all_seeds_cells_replicates_stages_and_methods_draw_apart():
    """64-bit draws: the chance of one false alarm in about 1e3 draws is below 1e-12."""
    experiment = FakeExperiment()
    keys = [stream_keys(cell(n=n, q=q), experiment) for n in (10, 20) for q in (2, 3)]
    draws = [
        draw
        for seed in (0, 1, 2**32, 2**127)
        for key in keys
        for rep in (1, 2, 256)
        for draw in first_draws(seed, key, rep)
    ]
    assert len(set(draws)) == len(draws)


def test_stream_of_a_method_does_not_depend_on_other_methods_or_their_order():
    alone = first_draws(methods=("b",))[-1]
    assert first_draws(methods=("a", "b", "c"))[-2] == alone
    assert first_draws(methods=("c", "b"))[-1] == alone


def test_stage_is_one_generator_that_goes_on():
    streams = open_streams(1, KEYS, 1)
    assert streams.truth is streams.truth
    assert streams.other("a") is streams.other("a")


def test_shared_factor_is_left_out_of_the_first_two_stages_only():
    experiment = FakeExperiment(shared_factors=frozenset({"epsilon"}))
    one, two = (stream_keys(cell(n=10, epsilon=e), experiment) for e in (1, 2))
    assert one.shared == two.shared
    assert one.own != two.own
    other_n = stream_keys(cell(n=11, epsilon=1), experiment)
    assert other_n.shared != one.shared


def test_content_beyond_the_factors_counts():
    one, two = (stream_keys(cell(n=10), FakeExperiment(law=law)) for law in ("a", "b"))
    assert one.own != two.own


def test_order_of_factors_does_not_count():
    experiment = FakeExperiment()
    assert stream_keys(cell(n=10, q=2), experiment) == stream_keys(cell(q=2, n=10), experiment)


@pytest.mark.parametrize("seed", [-1, 2**128])
def test_seed_out_of_range_is_refused(seed):
    with pytest.raises(InvalidStudyError, match=r"seed must lie in 0\.\.2\^128-1; got"):
        open_streams(seed, KEYS, 1)


@pytest.mark.parametrize("rep", [-1, 2**32])
def test_replicate_out_of_range_is_refused(rep):
    with pytest.raises(InvalidStudyError, match=r"rep must lie in 0\.\.2\^32-1; got"):
        open_streams(1, KEYS, rep)


@given(finite)
def test_canonical_number_is_within_half_a_unit_of_the_twelfth_digit_and_stays(value):
    got = canonical_number(value)
    assert math.isclose(got, value, rel_tol=5.1e-12, abs_tol=1e-320)
    assert canonical_number(got) == got


@given(st.integers(-(10**6), 10**6), st.integers(1, 999))
def test_decimal_written_or_computed_is_one_text(whole, tenths):
    written = float(f"{whole}.{tenths:03d}")
    assert canonical_text(written) == canonical_text(written * 3 / 3)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"b": 0.1 + 0.2, "a": [np.float64(2.0), np.int64(3)]}, '{"a":[2,3],"b":0.3}'),
        (("x", None, True), '["x",null,true]'),
        (-0.0, "0"),
        ("2", '"2"'),
        (1e300, "1e+300"),
    ],
)
def test_canonical_text_is_as_written_down_by_hand(content, text):
    assert canonical_text(content) == text


@pytest.mark.parametrize("content", [math.nan, math.inf])
def test_content_that_is_not_finite_is_refused(content):
    with pytest.raises(ValueError, match="must be finite"):
        canonical_text({"x": content})


@pytest.mark.parametrize("content", [{1: 2}, {"x": {3}}])
def test_content_that_is_no_json_is_refused(content):
    with pytest.raises(TypeError, match="got"):
        canonical_text(content)
