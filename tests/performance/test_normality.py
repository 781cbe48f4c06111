"""P values of normality: other libraries, their own laws under normal samples, and no warnings."""

import math

import numpy as np
import pytest
from scipy import stats

from p0sim.performance.normality import anderson, kolmogorov, lilliefors, p_values
from p0sim.performance.samples import Sample

TESTS = (kolmogorov, anderson, lilliefors)
FEWEST = {kolmogorov: 1, anderson: 8, lilliefors: 4}


def exact_kolmogorov(values):
    """Two-sided statistic by its definition, p value by scipy's exact law of it."""
    x, n = np.sort(values), len(values)
    cdf = stats.norm.cdf(x)
    d = max(np.max(np.arange(1, n + 1) / n - cdf), np.max(cdf - np.arange(n) / n))
    return stats.kstwo.sf(d, n)


@pytest.mark.parametrize("n", [1, 2, 50, 2000])
def test_kolmogorovs_p_is_that_of_the_largest_distance(n):
    z = np.random.default_rng(n).normal(0.1, 1.1, size=n)
    assert kolmogorov(z) == pytest.approx(exact_kolmogorov(z), rel=1e-9)


def test_anderson_and_darlings_p_is_stephenss_formula():
    """Oracle: scipy's statistic, and D'Agostino and Stephens (1986), Table 4.9 for p."""
    z = np.random.default_rng(3).normal(5.0, 3.0, size=80)
    with np.errstate(all="raise"):
        w = (np.sort(z) - z.mean()) / z.std(ddof=1)
    i = np.arange(1, 81)
    logs = stats.norm.logcdf(w) + stats.norm.logsf(w[::-1])
    a = (-80 - np.sum((2 * i - 1) * logs) / 80) * (1 + 0.75 / 80 + 2.25 / 80**2)
    formulas = {
        0.2: 1 - math.exp(-13.436 + 101.14 * a - 223.73 * a * a),
        0.34: 1 - math.exp(-8.318 + 42.796 * a - 59.938 * a * a),
        0.6: math.exp(0.9177 - 4.279 * a - 1.38 * a * a),
        13.0: math.exp(1.2937 - 5.709 * a + 0.0186 * a * a),
    }
    assert anderson(z) == pytest.approx(next(p for top, p in formulas.items() if a < top), rel=1e-6)


@pytest.mark.parametrize("test", TESTS)
def test_normal_samples_are_rejected_at_the_level(test):
    """400 samples: 41 or more rejections at 5 % have probability 1e-5. Control: Laplace, moved."""
    rng = np.random.default_rng(20240501)
    normal = [test(rng.normal(size=200)) for _ in range(400)]
    laplace = [test(rng.laplace(0.3, size=200)) for _ in range(400)]
    assert np.mean(np.less(normal, 0.05)) < 41 / 400
    assert np.mean(np.less(laplace, 0.05)) > 0.5


@pytest.mark.parametrize(("test", "free"), list(zip(TESTS, [False, True, True])))
def test_place_and_scale_matter_to_kolmogorov_alone(test, free):
    z = np.random.default_rng(8).normal(size=100)
    assert (test(2 + 3 * z) == pytest.approx(test(z), rel=1e-6)) == free


@pytest.mark.parametrize("test", TESTS)
def test_fewer_rows_than_a_test_needs_give_no_p(test):
    z = np.random.default_rng(2).normal(size=8)
    for n in range(8):
        assert math.isnan(test(z[:n])) == (n < FEWEST[test])


@pytest.mark.parametrize("test", [anderson, lilliefors])
def test_values_that_do_not_differ_have_no_shape(test):
    assert math.isnan(test(np.full(50, 0.3)))


@pytest.mark.parametrize("outlier", [9.0, 40.0, 1e6, 1e300])
@pytest.mark.parametrize("test", TESTS)
def test_an_outlier_gives_a_p_without_a_warning(test, outlier):
    """A value 1e300 away has an infinite spread: no shape can be said."""
    values = np.append(np.random.default_rng(1).normal(size=2000), outlier)
    p = p_values(Sample(values, np.zeros(2001, dtype=np.int64), 1), test)[0]
    if test is kolmogorov:
        assert p > 0.05
    elif outlier == 1e300:
        assert math.isnan(p)
    elif outlier > 9:
        assert p < 0.01


def test_groups_have_their_own_p_and_an_empty_one_has_none():
    values = np.random.default_rng(6).normal(size=60)
    codes = np.tile([0, 2], 30)
    got = p_values(Sample(values, codes, 3), kolmogorov)
    assert got[[0, 2]] == pytest.approx([kolmogorov(values[::2]), kolmogorov(values[1::2])])
    assert math.isnan(got[1])
