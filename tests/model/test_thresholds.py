"""Thresholds and the settling of ties against 50-digit probabilities."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from p0sim.model.thresholds import PIECE, count_thresholds, settle_ties, tabulate
from tests.oracles import sampling as plain
from tests.oracles.goodness import FALSE_ALARM, p_value

LEVELS = [2, 3, 5, 16, 20, 64]
LOG_ODDS = [-40.0, -11.0, -3.7, -1.0, -0.01, -1e-12, 0.0, 1e-9, 0.3, 2.0, 9.5, 40.0]


def levels_of(x: float, q: int) -> np.ndarray:
    """Tabulated thresholds of one pair, shape (q - 1,)."""
    return tabulate(np.array([x]), np.zeros(1), q)[0, :, 0]


@pytest.mark.parametrize("q", LEVELS)
@pytest.mark.parametrize("x", LOG_ODDS)
def test_tables_hold_the_whole_parts(x, q):
    """A whole product 2^16 P may be held as one less: the settling then adds all of it."""
    exact = [2**16 * threshold for threshold in plain.thresholds(x, q)]
    for level, product in zip(levels_of(x, q).tolist(), exact):
        near_whole = abs(product - round(product)) < Fraction(1, 2**30)
        assert level == int(product) or (near_whole and abs(level - product) < 1 + 2**-30)


def test_tables_are_in_order_of_rows_then_columns():
    """More pairs than a piece holds, rows that begin inside pieces, q = 3."""
    alpha, beta = np.linspace(-1, 1, 40), np.linspace(2, -2, 70)
    table = tabulate(alpha, beta, 3)
    for pair in (0, 69, 70, 2047, 2048, 2799):
        x = alpha[pair // 70] + beta[pair % 70]
        np.testing.assert_array_equal(table[pair // PIECE, :, pair % PIECE], levels_of(x, 3))


def is_above(number: int, k: int, x: float, q: int, levels: np.ndarray) -> bool:
    """Whether threshold k is above a draw tied with it whose further 106 bits are `number`."""
    words = np.array([(number >> 53) << 11, (number % 2**53) << 11], np.uint64)
    weights, own = np.zeros(1, np.uint16), np.zeros((1, q - 1), np.uint16)
    own[0, k - 1] = levels[k - 1]
    own[0, np.arange(q - 1) != k - 1] = 0 if levels[k - 1] else 1
    settle_ties(np.array([0]), words, levels[k - 1 : k], own, np.array([x]), weights)
    return bool(weights[0])


def drawn_tail(k: int, x: float, q: int) -> Fraction:
    """P(a >= k) as drawn, exactly: the switch of the comparison, found by bisection."""
    levels, low, high = levels_of(x, q), 0, 2**106
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_above(middle, k, x, q, levels) else (low, middle)
    return (int(levels[k - 1]) + Fraction(low, 2**106)) / 2**16


@pytest.mark.parametrize("q", LEVELS)
@pytest.mark.parametrize("x", LOG_ODDS)
def test_the_law_drawn_has_the_accuracy_it_claims(x, q):
    """The smaller side within (6 k + 3 q) 2^-53 of itself and 2^-122, against 50 digits."""
    exact = plain.thresholds(x, q)
    for k in sorted({1, 2, q // 2, q - 1} & set(range(1, q))):
        got, wanted, steps = drawn_tail(k, x, q), exact[k - 1], k
        if x > 0:
            got, wanted, steps = 1 - got, 1 - wanted, q - k
        allowed = wanted * (6 * steps + 3 * q) / 2**53 + Fraction(1, 2**121)
        assert abs(got - wanted) <= allowed


def test_the_bound_is_not_idle():
    """Control: the same probabilities, cut to 40 bits, are outside it."""
    exact = plain.thresholds(-3.7, 5)[0]
    cut = Fraction(int(exact * 2**40), 2**40)
    assert abs(cut - exact) > exact * (6 + 15) / 2**53


def settled_counts(x: float, q: int, bits: int, draws: int) -> np.ndarray:
    """Weights of draws whose first 16 bits are all `bits`."""
    table = tabulate(np.full(draws, x), np.zeros(1), q)
    own, weights = np.full(draws, bits, np.uint16), np.empty(draws, np.uint16)
    tied = count_thresholds(own, table, weights)
    np.testing.assert_array_equal(tied, np.arange(draws))
    words = np.random.Generator(np.random.PCG64(9)).integers(2**64, size=2 * draws, dtype=np.uint64)
    levels = table[tied // PIECE, :, tied % PIECE]
    settle_ties(tied, words, own, levels, np.full(draws, x), weights)
    return np.bincount(weights, minlength=q)


def tied_law(x: float, q: int, bits: int) -> np.ndarray:
    """P(a | the first 16 bits of U), exactly, as floats."""
    tails = [min(max(2**16 * threshold - bits, 0), 1) for threshold in plain.thresholds(x, q)]
    return -np.diff([1.0, *map(float, tails), 0.0])


# one tied threshold; three at once near 0 and near 1, where all weights are far out
TIES = [(-0.4, 2, None), (0.7, 5, None), (-12.0, 4, 0), (12.0, 4, 65535), (-0.3, 64, None)]


@pytest.mark.parametrize(("x", "q", "bits"), TIES)
def test_forced_ties_follow_the_conditional_law(x, q, bits):
    """Chi-square of 100 000 ties, false alarm 1e-6."""
    bits = int(levels_of(x, q)[0]) if bits is None else bits
    assert p_value(settled_counts(x, q, bits, 100_000), tied_law(x, q, bits)) > FALSE_ALARM


@pytest.mark.parametrize(("x", "q", "bits"), TIES)
def test_control_forced_ties_find_a_slightly_wrong_law(x, q, bits):
    """Log-odds off by 3e-6, a twentieth of a 16-bit step; by a hundredth of themselves far out."""
    bits = int(levels_of(x, q)[0]) if bits is None else bits
    moved = x * 1.01 if abs(x) > 5 else x + 3e-6
    assert p_value(settled_counts(x, q, bits, 100_000), tied_law(moved, q, bits)) < FALSE_ALARM


def test_counts_are_those_of_a_plain_comparison():
    """Random bits and thresholds, three pieces; ties wherever any threshold is met."""
    rng = np.random.default_rng(4)
    pairs, q = 2 * PIECE + 100, 6
    table = rng.integers(0, 300, (3, q - 1, PIECE), dtype=np.uint16)
    bits, weights = rng.integers(0, 300, pairs, dtype=np.uint16), np.empty(pairs, np.uint16)
    tied = count_thresholds(bits, table, weights)
    flat = table.transpose(1, 0, 2).reshape(q - 1, -1)[:, :pairs]
    np.testing.assert_array_equal(weights, (bits < flat).sum(axis=0))
    np.testing.assert_array_equal(tied, np.flatnonzero((bits == flat).any(axis=0)))
