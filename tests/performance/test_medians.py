"""Medians: the binomial level of their intervals, and bootstrap errors counted out."""

import itertools
import math

import numpy as np
import pytest

from p0sim.performance.medians import median_mcse, median_of


@pytest.mark.parametrize("n", [6, 7, 25, 100])
def test_the_interval_of_a_median_is_the_shortest_with_its_binomial_level(n):
    """Oracle: the interval (x_(j), x_(n+1-j)) covers with 1 - 2 P(Bin(n, 1/2) < j)."""
    _, _, lower, upper = median_of(np.arange(1.0, n + 1), 0.95)
    j = int(lower)
    level = [1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n for k in (j, j + 1)]
    assert level[0] >= 0.95 > level[1]
    assert upper == n + 1 - j


def test_five_values_have_no_interval_for_their_median():
    value, mcse, lower, upper = median_of(np.arange(5.0), 0.95)
    assert value == 2.0
    assert mcse > 0
    assert np.isnan([lower, upper]).all()


def test_the_error_of_a_median_is_that_of_all_bootstrap_samples_at_once():
    """Oracle: the medians of all 5**5 samples drawn with replacement, each equally likely."""
    values = np.array([-1.0, 0.2, 0.3, 2.0, 7.0])
    medians = [np.median(draw) for draw in itertools.product(values, repeat=5)]
    assert median_mcse(values) == pytest.approx(np.std(medians), rel=1e-12)


def test_one_value_is_its_median_and_says_nothing_of_its_error():
    value, *others = median_of(np.array([3.0]), 0.95)
    assert value == 3.0
    assert np.isnan(others).all()


def test_no_values_have_no_median():
    assert np.isnan(median_of(np.array([]), 0.95)).all()
