"""Monte Carlo errors against the truth: ten thousand studies, each done again and again.

A ratio is the mean MCSE of the studies over the SD of the measure between them. That SD is itself
known to 0.7 % (1 % for Laplace estimates) and the formulas, right for many replicates, are off by
at most 2 % (3 %) at 450 of them: with 5 % (10 %) to spare the false-alarm rate is below 1e-4 a
measure. Seeds are fixed.
"""

import math
from functools import lru_cache

import numpy as np
import pytest

from p0sim.performance.comparisons import PAIRED_MEASURES, paired_columns
from p0sim.performance.measures import ESTIMAND_MEASURES, FIT_MEASURES, be_coverage
from p0sim.performance.pooling import POOLED_MEASURES, averages
from p0sim.performance.samples import Replicates, derived_columns

pytestmark = pytest.mark.slow

STUDIES, REPS, CHUNK = 10_000, 500, 500
NODES, POOLED_REPS = 10, 200
# Law of the estimates, and how their standard errors go with them.
SETTINGS = {
    "normal, constant": ("normal", lambda e, rng: np.ones(e.size)),
    "normal, following": ("normal", lambda e, rng: np.exp(0.1 * e + 0.1 * rng.normal(size=e.size))),
    "laplace, random": ("laplace", lambda e, rng: np.exp(0.1 * rng.normal(size=e.size))),
}
SLACK = {"normal, constant": 0.05, "normal, following": 0.05, "laplace, random": 0.1}
P_VALUES = {"normality", "normality_anderson", "normality_lilliefors"}
MEASURES = {
    name: measure
    for name, measure in (ESTIMAND_MEASURES | FIT_MEASURES | PAIRED_MEASURES).items()
    if name not in P_VALUES
}
# Without any spread where all standard errors are one.
WITHOUT_SPREAD = {"mod_se", "ci_width", "ci_width_diff"}


def draws(law, rng, size):
    return rng.normal(size=size) if law == "normal" else rng.laplace(0, math.sqrt(0.5), size=size)


def rows_of(estimate, std_error, codes):
    """Truth 0.1, tested value -1, and one fit in ten lost."""
    ends = {"lower": estimate - 1.96 * std_error, "upper": estimate + 1.96 * std_error}
    columns = {"estimate": estimate, "std_error": std_error, **ends}
    constants = {"true_value": np.full(estimate.size, 0.1), "null": np.full(estimate.size, -1.0)}
    return derived_columns(columns | constants, codes)


def lost(estimate, rng):
    return np.where(rng.random(estimate.size) < 0.1, np.nan, estimate)


def chunk_of_studies(setting, rng):
    """CHUNK studies by the reference method, then the same by another, correlated by 0.8."""
    law, errors = SETTINGS[setting]
    size = CHUNK * REPS
    first = draws(law, rng, size)
    other = 1.2 * (0.8 * first + 0.6 * draws(law, rng, size))
    noise = np.concatenate([first, other])
    std_error = errors(noise, rng) * np.repeat([1.0, 1.1], size)
    study = np.repeat(np.arange(CHUNK), REPS)
    codes = np.concatenate([study, study + CHUNK])
    columns = rows_of(lost(0.3 + noise, rng), std_error, codes)
    columns |= paired_columns(columns, np.tile(np.arange(size), 2))
    columns |= {"sup_error": np.abs(columns["estimate"])}
    attempted = np.full(2 * CHUNK, REPS)
    fitted = np.bincount(codes, np.isfinite(columns["estimate"])).astype(int)
    return Replicates(columns, codes, attempted, attempted - fitted, 0.95)


@lru_cache
def studies(setting):
    """Values and MCSE of every measure: those of the other method, whose interval is too short."""
    rng = np.random.default_rng(20240501)
    found = {name: [] for name in MEASURES}
    for _ in range(STUDIES // CHUNK):
        rows = chunk_of_studies(setting, rng)
        for name, measure in MEASURES.items():
            got = measure(rows)
            found[name].append((got.value[CHUNK:], got.mcse[CHUNK:], got.n_used[CHUNK:]))
    return {name: np.concatenate(parts, axis=1) for name, parts in found.items()}


def ratio(value, mcse):
    return np.mean(mcse) / np.std(value, ddof=1)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", MEASURES)
def test_the_mcse_is_the_spread_of_the_measure_over_repeated_studies(setting, name):
    value, mcse, _ = studies(setting)[name]
    if setting == "normal, constant" and name in WITHOUT_SPREAD:
        assert max(np.std(value), np.max(mcse)) < 1e-12
    else:
        assert abs(ratio(value, mcse) - 1) < SLACK[setting]


def test_the_normal_theory_mcse_of_emp_se_fails_on_laplace_estimates():
    """Control: emp_se/sqrt(2(n-1)) of Morris et al. (2019), Table 6."""
    value, _, n = studies("laplace, random")["emp_se"]
    assert ratio(value, value / np.sqrt(2 * (n - 1))) < 0.8


def test_the_normal_theory_mcse_of_rel_prec_fails_on_laplace_estimates():
    """Control: 200 (s_A/s_B)^2 sqrt((1 - r^2)/(n-1)) of Morris et al. (2019), Table 6, r = 0.8."""
    value, _, n = studies("laplace, random")["rel_prec"]
    usual = 200 * (1 + value / 100) * np.sqrt((1 - 0.8**2) / (n - 1))
    assert ratio(value, usual) < 0.85


@pytest.mark.parametrize("name", ["bias_diff", "mse_diff"])
def test_errors_of_unpaired_methods_fail_for_correlated_ones(name):
    """Control: the error of the method alone is already too large for a difference."""
    value = studies("normal, constant")[name][0]
    alone = studies("normal, constant")[name.removesuffix("_diff")][1]
    assert ratio(value, alone) > 1.2


def test_the_binomial_error_fails_for_coverage_without_bias():
    """Control: standard errors that follow the estimates move the end that is crossed."""
    rng = np.random.default_rng(20240501)
    codes = np.repeat(np.arange(CHUNK), REPS)
    value, mcse = [], []
    for _ in range(STUDIES // CHUNK):
        e = rng.normal(size=codes.size)
        n = np.full(CHUNK, REPS)
        got = be_coverage(Replicates(rows_of(e, np.exp(0.3 * e), codes), codes, n, 0 * n, 0.95))
        value.append(got.value)
        mcse.append(got.mcse)
    value, mcse = np.concatenate(value), np.concatenate(mcse)
    assert abs(ratio(value, mcse) - 1) < 0.05
    assert ratio(value, np.sqrt(value * (1 - value) / REPS)) > 1.1


@lru_cache
def pooled_studies():
    """Ten nodes a replicate, correlated by 0.7; one estimate in ten lost, as one fit in twenty."""
    rng = np.random.default_rng(20240501)
    study = np.repeat(np.arange(CHUNK), POOLED_REPS)
    replicate = np.repeat(np.arange(study.size), NODES)
    found = {name: [] for name in POOLED_MEASURES}
    for _ in range(STUDIES // CHUNK):
        shared = np.where(rng.random(study.size) < 0.05, np.nan, rng.normal(size=study.size))
        own = rng.normal(size=replicate.size)
        e = lost(0.1 + math.sqrt(0.7) * shared[replicate] + math.sqrt(0.3) * own, rng)
        columns = rows_of(e, np.exp(0.1 * e), replicate)
        n = np.full(CHUNK, POOLED_REPS)
        means = averages(columns, replicate, study.size)
        rows = Replicates(means, study, n, 0 * n, 0.95)
        for name, measure in POOLED_MEASURES.items():
            got = measure(rows)
            found[name].append((got.value, got.mcse, got.n_used, got.lower, got.upper))
    return {name: np.concatenate(parts, axis=1) for name, parts in found.items()}


@pytest.mark.parametrize("name", POOLED_MEASURES)
def test_the_mcse_of_a_pool_is_its_spread_over_repeated_studies(name):
    value, mcse, *_ = pooled_studies()[name]
    assert abs(ratio(value, mcse) - 1) < 0.05


def test_the_binomial_error_of_a_pool_is_much_too_small():
    """Control: nodes of one replicate taken for independent."""
    value, _, n, *_ = pooled_studies()["coverage"]
    assert ratio(value, np.sqrt(value * (1 - value) / (0.9 * NODES * n))) < 0.6


@pytest.mark.parametrize("name", ["coverage", "reject"])
def test_the_interval_of_a_pool_holds_what_is_true_at_its_level(name):
    """Truth: the grand mean of 2 million replicates. Clopper and Pearson err upwards by 1 %."""
    value, _, n, lower, upper = pooled_studies()[name]
    truth = np.average(value, weights=n)
    assert 0.945 < np.mean((lower <= truth) & (truth <= upper)) < 0.975
