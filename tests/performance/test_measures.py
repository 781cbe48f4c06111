"""Measures against formulas written out per group, other libraries and exact equations."""

import math

import numpy as np
import pytest
from scipy import stats

from p0sim.columns import MEASURES
from p0sim.performance.comparisons import PAIRED_MEASURES
from p0sim.performance.measures import (
    ESTIMAND_MEASURES,
    FIT_MEASURES,
    NEEDS,
    be_coverage,
    coverage,
    emp_se,
    fail_rate,
    proportion,
    reject,
    share,
)
from p0sim.performance.pooling import POOLED_MEASURES
from p0sim.performance.samples import Replicates, derived_columns


def replicates(estimate, std_error=None, truth=0.0, codes=None, failed=0, half=1.96, null=0.0):
    estimate = np.asarray(estimate, dtype=float)
    codes = np.zeros(estimate.size, dtype=np.int64) if codes is None else codes
    std_error = np.ones(estimate.size) if std_error is None else np.asarray(std_error, float)
    groups = int(codes.max(initial=0)) + 1
    columns = {
        "estimate": estimate,
        "std_error": std_error,
        "lower": estimate - half * std_error,
        "upper": estimate + half * std_error,
        "true_value": np.broadcast_to(np.asarray(truth, float), estimate.shape).copy(),
        "null": np.full(estimate.size, null),
    }
    failures = np.full(groups, failed)
    attempted = np.bincount(codes, minlength=groups) + failures
    derived = derived_columns(columns, codes) | {"sup_error": np.abs(estimate)}
    return Replicates(derived, codes, attempted, failures, 0.95)


def test_every_measure_described_is_measured_and_the_other_way_round():
    from_theory = {"predicted_coverage"}
    registered = ESTIMAND_MEASURES | FIT_MEASURES | PAIRED_MEASURES
    assert set(MEASURES) - from_theory == set(registered) == set(NEEDS)
    assert set(POOLED_MEASURES) <= set(ESTIMAND_MEASURES)


def test_measures_are_described_in_the_order_of_the_frame():
    order = [*ESTIMAND_MEASURES, *PAIRED_MEASURES, *FIT_MEASURES]
    assert [name for name in MEASURES if name != "predicted_coverage"] == order


def test_measures_of_six_replicates_equal_the_formulas_written_out():
    """Oracle: Morris et al. (2019), Table 6, and the robust forms, in plain sums."""
    e = [0.9, 1.3, 0.4, 2.2, 1.1, 0.2]
    s = [0.5, 0.6, 0.4, 0.2, 0.7, 0.1]
    t, n = 1.0, 6
    d = [a - t for a in e]
    m = sum(e) / n
    u = [(a - m) ** 2 for a in e]
    v = [b * b for b in s]
    emp = math.sqrt(sum(u) / (n - 1))
    mod = math.sqrt(sum(v) / n)
    big_q = sum(v) / sum(u)
    k = n / (n - 1)
    ubar = sum(u) / n
    z = [a / b for a, b in zip(d, s)]
    covered = [abs(a) <= 1.96 * b for a, b in zip(d, s)]
    expected = {
        "mean": (m, emp / math.sqrt(n)),
        "bias": (sum(d) / n, emp / math.sqrt(n)),
        "emp_se": (emp, k * math.sqrt(sum((a - ubar) ** 2 for a in u) / (n * (n - 1))) / (2 * emp)),
        "rmse": (
            math.sqrt(sum(a * a for a in d) / n),
            np.std(np.square(d), ddof=1)
            / math.sqrt(n)
            / (2 * math.sqrt(sum(a * a for a in d) / n)),
        ),
        "mse": (sum(a * a for a in d) / n, np.std(np.square(d), ddof=1) / math.sqrt(n)),
        "mae": (sum(map(abs, d)) / n, np.std(np.abs(d), ddof=1) / math.sqrt(n)),
        "mod_se": (mod, math.sqrt(np.var(v, ddof=1) / (4 * n * mod**2))),
        "rel_err_se": (
            100 * (mod / emp - 1),
            100
            * math.sqrt((n - 1) / n)
            * math.sqrt(sum((b - big_q * a) ** 2 for a, b in zip(u, v)))
            / (2 * math.sqrt(big_q) * sum(u)),
        ),
        "coverage": (sum(covered) / n, math.sqrt(sum(covered) / n * (1 - sum(covered) / n) / n)),
        "ci_width": (2 * 1.96 * sum(s) / n, 2 * 1.96 * np.std(s, ddof=1) / math.sqrt(n)),
        "z_mean": (sum(z) / n, np.std(z, ddof=1) / math.sqrt(n)),
    }
    rows = replicates(e, s, t)
    for name, (value, mcse) in expected.items():
        got = ESTIMAND_MEASURES[name](rows)
        np.testing.assert_allclose((got.value[0], got.mcse[0]), (value, mcse), rtol=1e-12)
        assert got.n_used.tolist() == [n]


@pytest.mark.parametrize("n", [2, 3, 57, 1000])
def test_mse_is_squared_bias_plus_shrunken_variance(n):
    rng = np.random.default_rng(20240501)
    rows = replicates(rng.standard_t(4, size=n) + 0.3, truth=rng.normal(size=n))
    got = {name: measure(rows).value[0] for name, measure in ESTIMAND_MEASURES.items()}
    expected = got["bias"] ** 2 + (n - 1) / n * got["emp_se"] ** 2
    np.testing.assert_allclose(got["mse"], expected, rtol=1e-13)
    np.testing.assert_allclose(got["rmse"] ** 2, expected, rtol=1e-13)


def test_groups_do_not_mix():
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 5, size=400)
    e, s = rng.normal(size=400), rng.uniform(0.5, 1.5, size=400)
    together = replicates(e, s, codes=codes)
    for group in range(5):
        alone = replicates(e[codes == group], s[codes == group])
        for measure in (*ESTIMAND_MEASURES.values(), *FIT_MEASURES.values()):
            both, one = measure(together), measure(alone)
            np.testing.assert_allclose(both.value[group], one.value[0], rtol=1e-10)
            np.testing.assert_allclose(both.mcse[group], one.mcse[0], rtol=1e-10)


def test_a_truth_that_varies_by_replicate_does_not_inflate_emp_se():
    truth = np.array([0.0, 5.0, -3.0, 9.0])
    error = np.array([0.1, -0.1, 0.2, -0.2])
    got = emp_se(replicates(truth + error, truth=truth)).value[0]
    np.testing.assert_allclose(got, np.std(error, ddof=1), rtol=1e-12)


def test_emp_se_needs_no_truth():
    got = emp_se(replicates([1.0, 2.0, 4.0], truth=np.nan))
    np.testing.assert_allclose(got.value[0], np.std([1, 2, 4], ddof=1), rtol=1e-12)


def test_a_group_without_rows_is_missing_and_never_zero():
    rows = replicates([0.1, 0.2], codes=np.array([1, 1]), failed=10)
    for name, measure in (ESTIMAND_MEASURES | FIT_MEASURES).items():
        got = measure(rows)
        if name in {"fail_rate", "coverage_uncond", "coverage_uncond_upper"}:
            assert np.isfinite(got.value[0])
        else:
            assert np.isnan([got.value[0], got.mcse[0], got.lower[0], got.upper[0]]).all(), name
            assert got.n_used[0] == 0


def test_one_replicate_has_a_bias_without_error_and_no_spread():
    rows = replicates([0.4])
    bias = ESTIMAND_MEASURES["bias"](rows)
    assert bias.value[0] == 0.4
    assert np.isnan([bias.mcse[0], emp_se(rows).value[0]]).all()


def test_estimates_that_never_differ_spread_by_0_and_compare_with_nothing():
    """0.3 has no exact sum: the mean of its copies is not 0.3."""
    rows = replicates([0.3] * 50, truth=0.1)
    assert emp_se(rows).value[0] == 0.0
    assert np.isnan(ESTIMAND_MEASURES["rel_err_se"](rows).value[0])
    assert ESTIMAND_MEASURES["mod_se"](rows).mcse[0] == 0.0


@pytest.mark.parametrize("name", ["emp_se", "rel_err_se", "z_sd"])
def test_two_replicates_have_a_spread_of_unknown_error(name):
    """Both lie equally far from their mean: the spread of one number is no error of 0."""
    got = ESTIMAND_MEASURES[name](replicates([0.4, 1.0], [1.0, 2.0]))
    assert np.isfinite(got.value[0])
    assert np.isnan([got.mcse[0], got.lower[0], got.upper[0]]).all()


def test_failures_stay_in_the_denominator_of_unconditional_coverage():
    rows = replicates([0.0, 0.0, 9.0], failed=1)
    got = {name: ESTIMAND_MEASURES[name](rows).value[0] for name in ESTIMAND_MEASURES}
    assert got["coverage"] == pytest.approx(2 / 3)
    assert got["coverage_uncond"] == 2 / 4
    assert got["coverage_uncond_upper"] == 3 / 4
    assert fail_rate(rows).value[0] == 1 / 4


def test_coverage_without_bias_is_of_intervals_moved_by_it():
    """By hand: errors 0, 1, 5 have mean 2; moved by it, those of half-width 3 reach to +-3."""
    rows = replicates([0.0, 1.0, 5.0], half=3.0)
    assert coverage(rows).value[0] == pytest.approx(2 / 3)
    assert be_coverage(rows).value[0] == 1.0
    rows = replicates([0.0, 1.0, 5.0], half=1.5)
    assert be_coverage(rows).value[0] == pytest.approx(1 / 3)


def test_the_error_of_coverage_without_bias_has_the_exact_slope():
    """Oracle: exponential estimates e with intervals e (1 +- 1): C(b) = P(e >= b/2) has the slope
    -exp(-b/2)/2 at b = 1, so the influence is 1(e >= 1/2) - C - exp(-1/2)/2 (e - 1)."""
    n = 200_000
    e = stats.expon.ppf((np.arange(n) + 0.5) / n)
    got = be_coverage(replicates(e, e, half=1.0))
    c = math.exp(-0.5)
    influence = (e >= 0.5) - c - c / 2 * (e - 1)
    assert got.value[0] == pytest.approx(c, rel=1e-4)
    assert got.mcse[0] == pytest.approx(np.std(influence) / math.sqrt(n), rel=5e-3)
    binomial = math.sqrt(c * (1 - c) / n)
    assert abs(got.mcse[0] / binomial - 1) > 0.1, "the control"


def test_an_interval_without_end_covers_and_counts():
    rows = replicates([0.0, 4.0, 4.0], std_error=[1.0, 1.0, np.inf], half=1.0)
    for measure in (coverage, be_coverage):
        assert measure(rows).n_used[0] == 3
    assert coverage(rows).value[0] == pytest.approx(2 / 3)


def test_a_rejection_leaves_out_the_null_value_and_one_at_the_end_does_not():
    rows = replicates([1.0, 3.0, np.nan, -2.0], half=1.0, null=2.0, failed=5)
    got = reject(rows)
    assert got.value[0] == pytest.approx(1 / 3)
    assert got.n_used[0] == 3
    assert got.mcse[0] == pytest.approx(math.sqrt(2) / 3 / math.sqrt(3), rel=1e-12)


def test_at_the_truth_rejections_are_what_coverage_leaves():
    rng = np.random.default_rng(4)
    rows = replicates(rng.normal(size=400), truth=0.3, null=0.3)
    assert reject(rows).value[0] == pytest.approx(1 - coverage(rows).value[0], rel=1e-12)


@pytest.mark.parametrize(
    ("successes", "trials", "lower", "upper"),
    [(10, 10, 0.6915, 1.0), (0, 10, 0.0, 0.3085)],
)
def test_clopper_pearson_ends_are_the_printed_ones(successes, trials, lower, upper):
    """Clopper, Pearson (1934): 0.025^(1/10) = 0.6915 and its complement."""
    n = np.array([trials])
    got = proportion(np.array([successes]), n, 0.95, n)
    assert (round(got.lower[0], 4), round(got.upper[0], 4)) == (lower, upper)


@pytest.mark.parametrize("level", [0.5, 0.999999])
@pytest.mark.parametrize("successes", [0, 1, 5 * 10**8, 10**9 - 1, 10**9])
def test_clopper_pearson_holds_for_a_thousand_million_trials(successes, level):
    """Oracle: the binomial tails, one part in a thousand or one float off at both ends."""
    n = np.array([10**9])
    got = proportion(np.array([successes]), n, level, n)
    tail = (1 - level) / 2
    below, above = np.nextafter(got.upper, 0), np.nextafter(got.upper, 2)
    if successes > 0:
        assert stats.binom.sf(successes - 1, n, got.lower)[0] == pytest.approx(tail, rel=1e-3)
    if successes < 10**9:
        assert stats.binom.cdf(successes, n, below)[0] > 0.999 * tail
        assert stats.binom.cdf(successes, n, np.minimum(above, 1))[0] < 1.001 * tail
    assert 0 <= got.lower[0] <= successes / 10**9 <= got.upper[0] <= 1


def test_a_share_with_its_binomial_error_has_the_binomial_interval():
    n = np.array([40])
    exact = proportion(np.array([37]), n, 0.95, n)
    got = share(exact.value, exact.mcse, n, 0.95)
    np.testing.assert_allclose((got.lower, got.upper), (exact.lower, exact.upper), rtol=1e-9)


def test_a_share_with_twice_the_error_is_worth_a_quarter_of_the_trials():
    n = np.array([400])
    exact = proportion(np.array([90]), np.array([100]), 0.95, n)
    got = share(np.array([0.9]), np.array([2 * math.sqrt(0.09 / 400)]), n, 0.95)
    np.testing.assert_allclose((got.lower, got.upper), (exact.lower, exact.upper), rtol=1e-9)


def test_a_share_of_one_without_error_has_the_interval_of_its_replicates():
    got = share(np.array([1.0]), np.array([0.0]), np.array([10]), 0.95)
    assert (round(got.lower[0], 4), got.upper[0]) == (0.6915, 1.0)


@pytest.mark.parametrize("level", [0.95, 1e-9, 1 - 1e-12])
@pytest.mark.parametrize(("successes", "trials"), [(10, 10), (0, 10), (3, 10)])
def test_clopper_pearson_ends_solve_the_binomial_tail_equations(successes, trials, level):
    """Oracle: P(X >= x; lower) = P(X <= x; upper) = (1 - level)/2, ends 0 and 1 at 0 and n."""
    n = np.array([trials])
    got = proportion(np.array([successes]), n, level, n)
    tail = (1 - level) / 2
    if successes == 0:
        assert got.lower[0] == 0.0
    else:
        assert stats.binom.sf(successes - 1, trials, got.lower[0]) == pytest.approx(tail, rel=1e-3)
    if successes == trials:
        assert got.upper[0] == 1.0
    else:
        assert stats.binom.cdf(successes, trials, got.upper[0]) == pytest.approx(tail, rel=1e-3)


def test_zero_of_zero_has_no_interval():
    none = np.array([0, 0])
    got = proportion(none, none, 0.95, none)
    assert np.isnan([got.value, got.mcse, got.lower, got.upper]).all()


def test_intervals_that_touch_the_truth_cover_it():
    rows = replicates([1.0, -1.0, 1.5], half=1.0)
    assert coverage(rows).value[0] == pytest.approx(2 / 3)
