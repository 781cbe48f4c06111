"""The closed-form quantile against 50-digit probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from p0sim.model.quantiles import quantiles
from tests.oracles import sampling as plain
from tests.oracles.goodness import FALSE_ALARM, p_value


def words_of(u) -> np.ndarray:
    """Two words that mean a fraction of [0, 1), cut to 106 bits."""
    number = int(u * 2**106)
    return np.array([(number >> 53) << 11, (number % 2**53) << 11], np.uint64)


@pytest.mark.parametrize("x", [-40.0, -2.0, -0.3, -1e-3, 0.0, 1e-3, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("q", [2, 3, 20, 65, 300])
def test_weights_change_where_the_tail_probabilities_are(x, q):
    """1e-12 of the smaller side off P(a >= k); that is P(a < k) for x > 0, drawn from below."""
    for k in sorted({1, 2, q // 3, q - 1} & set(range(1, q))):
        tail = plain.thresholds(x, q)[k - 1]
        at, smaller = (1 - tail if x > 0 else tail), min(tail, 1 - tail)
        if smaller > 2.0**-60:
            ends = [words_of(at + sign * smaller / 10**12) for sign in (-1, 1)]
            below, above = (quantiles(words, np.array([x]), np.zeros(1), q)[0] for words in ends)
            assert (below < k <= above) if x > 0 else (above < k <= below)


@pytest.mark.parametrize("x", [-1e-320, 0.0, 1e-320])
def test_vanishing_log_odds_give_equal_weights(x):
    """Mean of a fine grid; mirrored for x > 0."""
    u = (np.arange(7000) + 0.5) / 7000
    words = np.concatenate([words_of(float(value)) for value in u])
    weights = quantiles(words, np.array([x]), np.zeros(7000), 7)
    np.testing.assert_array_equal(np.bincount(weights), np.full(7, 1000))


@pytest.mark.parametrize("x", [-0.02, 0.01])
def test_drawn_weights_follow_the_law(x):
    """Chi-square of 200 000 draws at q = 100; off by 0.002, they must not."""
    words = np.random.Generator(np.random.PCG64(8)).integers(2**64, size=400_000, dtype=np.uint64)
    counts = np.bincount(quantiles(words, np.full(200_000, x), np.zeros(1), 100), minlength=100)
    masses = [np.exp(np.arange(100) * value) for value in (x, x + 0.002)]
    right, wrong = (p_value(counts, mass / mass.sum()) for mass in masses)
    assert right > FALSE_ALARM > wrong


def test_the_end_points_stay_inside():
    """The lowest and the highest words, also where the lowest lies infinitely far out."""
    words = np.array([0, 0, 2**64 - 1, 2**64 - 1], np.uint64)
    for x in (-50.0, -0.1, 0.0, 0.1, 50.0):
        ends = quantiles(words, np.array([x]), np.zeros(2), 100)
        np.testing.assert_array_equal(ends, [0, 99] if x > 0 else [99, 0])


@pytest.mark.parametrize("q", [2, 7, 100])
def test_weights_equal_the_plain_version(q):
    """Oracle: sums of masses; 2000 words, rows and columns in order, mirrored for x > 0."""
    alpha, beta = np.linspace(-2, 2, 40), np.linspace(0.3, -0.4, 50)
    words = np.random.Generator(np.random.PCG64(6)).integers(2**64, size=4000, dtype=np.uint64)
    x, u = np.add.outer(alpha, beta).ravel(), words[::2] / 2.0**64
    lower = plain.quantile(u, -np.abs(x), q)
    expected = np.where(x > 0, q - 1 - lower, lower)
    np.testing.assert_array_equal(quantiles(words, alpha, beta, q), expected)
