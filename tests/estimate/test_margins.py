"""The treated margins against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from p0sim.estimate.margins import treat_margins
from tests.oracles.existence import treat
from tests.oracles.refusals import refusal

TREATMENTS = ("balanced", "drop_last")


def random_degrees(seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    if kind == "integer":
        return rng.integers(-5, 30, n), rng.integers(-5, 30, n)
    if kind == "edge":  # of what balancing does in int64
        side = 2**53 // (4 * n)
        return rng.integers(side - 9, side + 10, n), rng.integers(-side - 9, 10 - side, n)
    if kind == "huge":
        return rng.integers(2**57, 2**58, n), rng.integers(2**57, 2**58, n)
    return rng.normal(10, 4, n), rng.normal(10, 4, n)


@pytest.mark.parametrize("margins", TREATMENTS)
@pytest.mark.parametrize("kind", ["integer", "real", "edge", "huge"])
def test_margins_agree_with_exact_fractions(kind, margins):
    """Correctly rounded, also where 2n times a degree passes int64."""
    for seed in range(40):
        degrees = random_degrees(seed, kind)
        treated = treat_margins(*degrees, margins)
        rows, cols = treat(*(side.tolist() for side in degrees), margins)
        np.testing.assert_allclose(treated.rows, [float(r) for r in rows], rtol=2e-16, atol=1e-300)
        np.testing.assert_allclose(
            treated.columns, [float(c) for c in cols], rtol=2e-16, atol=1e-300
        )


@pytest.mark.parametrize("margins", TREATMENTS)
def test_the_smallest_int64_is_a_degree_like_any_other(margins):
    """Its absolute value is no int64."""
    degrees = np.array([-(2**63), 0, 5]), np.array([1, 2, 3])
    rows, cols = treat(*(side.tolist() for side in degrees), margins)
    treated = treat_margins(*degrees, margins)
    np.testing.assert_allclose(treated.rows, [float(r) for r in rows], rtol=2e-16)
    np.testing.assert_allclose(treated.columns, [float(c) for c in cols], rtol=2e-16)


@pytest.mark.parametrize("margins", TREATMENTS)
def test_whole_floats_are_treated_as_whole_numbers(margins):
    out_degree, in_degree = random_degrees(1, "integer")
    whole = treat_margins(out_degree, in_degree, margins)
    treated = treat_margins(out_degree.astype(float), in_degree.astype(float), margins)
    assert treated.scaled_rows.dtype == np.int64
    assert treated.denominator == whole.denominator
    np.testing.assert_array_equal(treated.scaled_rows, whole.scaled_rows)
    np.testing.assert_array_equal(treated.scaled_columns, whole.scaled_columns)


def test_tiny_degrees_keep_their_digits():
    """delta = -2^-100, n = 3: a sixth of it enters each row. The denominator is no int64."""
    treated = treat_margins(np.array([2.0**-100, 0, 0]), np.array([2.0**-100, 0, 2.0**-100]))
    np.testing.assert_allclose(treated.rows * 2.0**100, np.array([7, 1, 1]) / 6, rtol=2e-16)
    np.testing.assert_allclose(treated.columns * 2.0**100, np.array([5, -1, 5]) / 6, rtol=2e-16)


def test_a_million_nodes_need_no_python_integers():
    """int64 throughout for degrees up to 19 (n - 1)."""
    sums = np.full(10**6, 19 * (10**6 - 1))
    treated = treat_margins(sums, sums - 1)
    assert treated.scaled_rows.dtype == treated.scaled_columns.dtype == np.int64
    assert treated.rows[0] == treated.columns[-1] == 19 * (10**6 - 1) - 0.5


def test_margins_are_divided_once_and_read_only():
    treated = treat_margins(np.array([3, 1, 2]), np.array([0, 1, 2]))
    assert treated.rows is treated.rows
    with pytest.raises(ValueError, match="read-only"):
        treated.columns[0] = 1


def test_balanced_margins_by_hand():
    """delta = 6 - 3 = 3, n = 3: half a unit leaves each row and enters each column."""
    treated = treat_margins(np.array([3, 1, 2]), np.array([0, 1, 2]), "balanced")
    np.testing.assert_array_equal(treated.rows, [2.5, 0.5, 1.5])
    np.testing.assert_array_equal(treated.columns, [0.5, 1.5, 2.5])


def test_drop_last_never_uses_the_last_in_degree():
    """The implied one is sum z+ - sum_{j<n} z-_j = 6 - 1 = 5, whatever was observed."""
    for observed in (2, -100, 40):
        treated = treat_margins(np.array([3, 1, 2]), np.array([0, 1, observed]), "drop_last")
        np.testing.assert_array_equal(treated.rows, [3, 1, 2])
        np.testing.assert_array_equal(treated.columns, [0, 1, 5])


def test_balanced_is_the_nearest_point_with_equal_totals():
    """Least squares by numpy: project z on the null space of (1, -1)."""
    out_degree, in_degree = random_degrees(3, "real")
    n = len(out_degree)
    normal = np.append(np.ones(n), -np.ones(n)) / np.sqrt(2 * n)
    z = np.append(out_degree, in_degree)
    treated = treat_margins(out_degree, in_degree, "balanced")
    np.testing.assert_allclose(
        np.append(treated.rows, treated.columns), z - normal * (normal @ z), rtol=1e-12
    )


def test_equal_totals_are_left_alone():
    for margins in TREATMENTS:
        treated = treat_margins(np.array([3, 1, 2]), np.array([1, 2, 3]), margins)
        np.testing.assert_array_equal(treated.rows, [3, 1, 2])
        np.testing.assert_array_equal(treated.columns, [1, 2, 3])


@pytest.mark.parametrize("margins", TREATMENTS)
def test_the_exact_margins_have_equal_totals(margins):
    """As fractions, not as floats."""
    for seed in range(20):
        treated = treat_margins(*random_degrees(seed, "real"), margins)
        assert sum(treated.scaled_rows.tolist()) == sum(treated.scaled_columns.tolist())
        first = Fraction(int(treated.scaled_rows[0]), int(treated.denominator))
        assert float(first) == treated.rows[0]


def test_other_words_are_refused():
    refusal(
        lambda: treat_margins(np.ones(3), np.ones(3), "raw"),
        "margins must be one of", "balanced", "drop_last", "'raw'",
    )  # fmt: skip
