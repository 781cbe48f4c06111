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
    if kind == "huge":
        return rng.integers(2**57, 2**58, n), rng.integers(2**57, 2**58, n)
    return rng.normal(10, 4, n), rng.normal(10, 4, n)


@pytest.mark.parametrize("margins", TREATMENTS)
@pytest.mark.parametrize("kind", ["integer", "real", "huge"])
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
