"""The simultaneous band: its probability by two other formulas and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from p0sim.performance.bands import (
    EXACT_UP_TO,
    local_band,
    local_level,
    order_statistic_band,
    stay_probability,
)


def steck(lower, upper):
    """P(lower_i <= U_(i) <= upper_i) as a determinant (Steck 1971, Annals of Math. Statist. 42)."""
    n = len(lower)
    matrix = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            power = j - i + 1
            if power >= 0:
                matrix[i, j] = max(upper[i] - lower[j], 0.0) ** power / math.factorial(power)
    return math.factorial(n) * np.linalg.det(matrix)


def test_two_uniforms_by_hand():
    """2 x area of {u < v, 0.1 <= u <= 0.7, 0.3 <= v <= 0.9} = 2 (0.12 + 0.16) = 0.56."""
    got = stay_probability(np.array([0.1, 0.3]), np.array([0.7, 0.9]))
    assert got == pytest.approx(0.56, abs=1e-14)


@pytest.mark.parametrize("n", [1, 3, 6, 9])
@pytest.mark.parametrize("eta", [0.3, 0.01])
def test_the_walk_agrees_with_stecks_determinant(n, eta):
    lower, upper = local_band(n, eta)
    assert stay_probability(lower, upper) == pytest.approx(steck(lower, upper), abs=1e-10)


def test_no_sample_stays_between_bounds_that_cross():
    assert stay_probability(np.array([0.1, 0.9]), np.array([0.05, 0.95])) == 0.0


@pytest.mark.parametrize("n", [EXACT_UP_TO, 223, 281, 700])
def test_the_level_between_grid_sizes_is_right_to_a_tenth_of_a_point(n):
    assert stay_probability(*local_band(n, local_level(n, 0.95))) == pytest.approx(0.95, abs=1e-3)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_other_levels_are_met(level):
    assert stay_probability(*order_statistic_band(40, level)) == pytest.approx(level, abs=1e-4)


def inside(n, band, samples):
    lower, upper = band
    rng = np.random.default_rng(20240501)
    kept = 0
    for _ in range(samples // 1000):
        uniforms = np.sort(rng.uniform(size=(1000, n)), axis=1)
        kept += int(((uniforms >= lower) & (uniforms <= upper)).all(axis=1).sum())
    return kept / samples


def test_the_whole_band_holds_95_percent_of_40_000_samples():
    """+- 0.55 points is five standard errors: false alarms 6e-7. Seed fixed."""
    assert abs(inside(150, order_statistic_band(150), 40_000) - 0.95) < 0.0055


def test_the_pointwise_band_fails_the_same_check():
    """Control: bounds of 95 % for each point alone hold far fewer whole samples."""
    assert inside(150, local_band(150, 0.05), 40_000) < 0.5


def normal_samples_inside(n, band, samples=40_000):
    """Share of standard normal samples that lie in a band as a whole, as in a QQ plot."""
    lower, upper = (stats.norm.ppf(bound) for bound in band)
    rng = np.random.default_rng(20240507)
    kept = 0
    for _ in range(samples // 1000):
        z = np.sort(rng.normal(size=(1000, n)), axis=1)
        kept += int(((z >= lower) & (z <= upper)).all(axis=1).sum())
    return kept / samples


@pytest.mark.parametrize("n", [50, 500])
def test_the_band_holds_95_percent_of_40_000_normal_samples_as_a_whole(n):
    """+- 0.5 points is 4.6 standard errors: false alarms 4e-6. Seed fixed."""
    assert abs(normal_samples_inside(n, order_statistic_band(n)) - 0.95) < 0.005


@pytest.mark.parametrize("n", [50, 500])
def test_bounds_of_95_percent_for_each_point_hold_far_fewer_normal_samples(n):
    """Control: the pointwise band fails the same check."""
    assert normal_samples_inside(n, local_band(n, 0.05)) < 0.6
