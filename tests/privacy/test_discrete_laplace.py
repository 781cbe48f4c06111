"""The noise law against scipy, direct sums and a chi-square with controls that must fail.

Sampling checks compare p-values with goodness.FALSE_ALARM = 1e-6 under fixed seeds.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from p0sim.privacy.discrete_laplace import (
    discrete_laplace_pmf,
    discrete_laplace_variance,
    sample_discrete_laplace,
)
from tests.oracles.covariance import laplace_variance
from tests.oracles.goodness import FALSE_ALARM, p_value
from tests.oracles.refusals import refusal

SCALES = (0.3, 1.0, 2.0, 4.0, np.pi, 80.0)
DRAWS = 200_000


def support(scale: float) -> np.ndarray:
    """Integers that hold all but exp(-40) of the mass."""
    reach = int(40 * scale) + 2
    return np.arange(-reach, reach + 1)


def chi_square(draws: np.ndarray, scale: float) -> float:
    """p-value against scipy's law; draws beyond the support count at its ends."""
    k = support(scale)
    counts = np.bincount(np.clip(draws, k[0], k[-1]) - k[0], minlength=len(k))
    return p_value(counts, stats.dlaplace.pmf(k, 1 / scale))


@pytest.mark.parametrize("scale", SCALES)
def test_pmf_agrees_with_scipy(scale):
    """Oracle: scipy.stats.dlaplace with a = 1/scale."""
    k = support(scale)
    np.testing.assert_allclose(
        discrete_laplace_pmf(k, scale), stats.dlaplace.pmf(k, 1 / scale), rtol=1e-10
    )


@pytest.mark.parametrize("scale", SCALES)
def test_pmf_sums_to_one(scale):
    assert discrete_laplace_pmf(support(scale), scale).sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(("q", "epsilon"), [(2, 1.0), (2, 2.0), (3, 1.0), (5, 0.1), (50, 3.0)])
def test_variance_is_the_sum_over_the_law(q, epsilon):
    """Sum of k^2 P(k), term by term."""
    got = discrete_laplace_variance(2 * (q - 1) / epsilon)
    assert got == pytest.approx(laplace_variance(q, epsilon), rel=1e-9)


@pytest.mark.parametrize(
    ("q", "epsilon", "at_zero", "variance"),
    [(2, 1.0, 0.2449, 7.835), (3, 1.0, 0.1244, 31.834), (5, 0.1, 0.0062, 12799.83)],
)
def test_known_numbers(q, epsilon, at_zero, variance):
    """P(0) = tanh(epsilon/(4(q-1))) and the variance, worked out to the digits shown."""
    scale = 2 * (q - 1) / epsilon
    assert discrete_laplace_pmf(0, scale) == pytest.approx(at_zero, abs=5e-5)
    assert discrete_laplace_variance(scale) == pytest.approx(variance, abs=5e-3)


@pytest.mark.parametrize("scale", SCALES)
def test_draws_follow_the_law(scale):
    """Chi-square of 200 000 draws, tails merged."""
    draws = sample_discrete_laplace(DRAWS, scale, rng=np.random.default_rng(11))
    assert draws.dtype == np.int64
    assert draws.shape == (DRAWS,)
    assert chi_square(draws, scale) > FALSE_ALARM


def test_share_of_zeros_at_q_2_epsilon_1():
    """A million draws: 0.2449 within 0.0013, three standard errors (false alarm 0.0025)."""
    draws = sample_discrete_laplace(1_000_000, 2.0, rng=np.random.default_rng(24))
    assert np.mean(draws == 0) == pytest.approx(0.2449, abs=0.0013)


@pytest.mark.parametrize("scale", [1.0, 2.0, 4.0])
def test_control_rounded_continuous_laplace_is_found(scale):
    """Rounding is another law: 0.2212 zeros at scale 2."""
    draws = np.rint(np.random.default_rng(11).laplace(0, scale, DRAWS)).astype(int)
    assert chi_square(draws, scale) < FALSE_ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_control_a_scale_five_percent_too_small_is_found(scale):
    draws = sample_discrete_laplace(DRAWS, 0.95 * scale, rng=np.random.default_rng(11))
    assert chi_square(draws, scale) < FALSE_ALARM


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12])
def test_large_scales_are_not_clipped(scale):
    """Chi-square of the sign-free size in twenty equal-probability bins; hardly any zeros."""
    draws = sample_discrete_laplace(20_000, scale, rng=np.random.default_rng(54))
    bins = np.floor(-20 * np.expm1(-np.abs(draws) / scale)).astype(int)
    assert p_value(np.bincount(bins, minlength=20), np.full(20, 0.05)) > FALSE_ALARM
    assert (draws == 0).sum() <= 2
    assert abs((draws > 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(20_000)


def test_draws_are_independent():
    """Neighbouring draws: lag-one table of signs, chi-square with 9 cells."""
    draws = np.sign(sample_discrete_laplace(DRAWS, 1.0, rng=np.random.default_rng(5))) + 1
    single = np.array([1 - np.tanh(0.5), 2 * np.tanh(0.5), 1 - np.tanh(0.5)]) / 2
    pairs = draws[:-1:2] * 3 + draws[1::2]
    assert p_value(np.bincount(pairs, minlength=9), np.outer(single, single)) > FALSE_ALARM


def test_small_scales_give_no_noise_and_no_warning():
    """epsilon far above the sensitivity: variance 0, not an overflow."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert discrete_laplace_variance(1e-4) == 0
        assert discrete_laplace_pmf(0, 1e-4) == 1
        assert discrete_laplace_pmf(1, 1e-4) == 0
        assert not sample_discrete_laplace(50, 1e-4, rng=np.random.default_rng(0)).any()


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_scale_must_be_positive_and_finite(bad):
    refusal(lambda: discrete_laplace_pmf(0, bad), "scale")
    refusal(lambda: discrete_laplace_variance(bad), "scale")
    refusal(lambda: sample_discrete_laplace(3, bad, rng=np.random.default_rng(0)), "scale")


def test_rng_has_no_default():
    with pytest.raises(TypeError):
        sample_discrete_laplace(3, 1.0)
