"""Every performance measure with its Monte Carlo standard error, over many groups at once.

Notation of the docstrings: e_i estimate, s_i its standard error, [L_i, U_i] its interval, t_i the
truth, d_i = e_i - t_i; n rows of a group that have what the measure needs, R replicates attempted,
F failed. Formulas: Morris, White, Crowther (2019), Statistics in Medicine 38:2074-2102, Table 6;
the robust forms of `emp_se` and `rel_err_se` after White (2010), Stata Journal 10:369-385, since
the normal-theory forms are half the truth for heavy-tailed estimates.

A measure without a valid row is missing (nan), and so is a Monte Carlo standard error that needs
more rows than there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from p0sim.arrays import FloatVector, IntVector
from p0sim.performance.medians import median_of
from p0sim.performance.normality import PValue, anderson, kolmogorov, lilliefors, p_values
from p0sim.performance.samples import Replicates, Sample, divide, inside


@dataclass(frozen=True, eq=False)
class Measured:
    """One measure of G groups, each field of shape (G,)."""

    value: FloatVector
    mcse: FloatVector
    lower: FloatVector
    upper: FloatVector
    n_used: IntVector


Measure: TypeAlias = Callable[[Replicates], Measured]

# Measures of one estimand, and measures of a whole fit, in the order of the frame.
ESTIMAND_MEASURES: dict[str, Measure] = {}
FIT_MEASURES: dict[str, Measure] = {}
# What a measure cannot do without, beside the estimate: true_value, std_error, interval.
NEEDS: dict[str, frozenset[str]] = {}
# of the half-width of a uniform kernel, in SD n^(-1/5)
SLOPE_WIDTH = (12 * math.sqrt(math.pi)) ** 0.2


def register(registry: dict[str, Measure], *needs: str) -> Callable[[Measure], Measure]:
    """Enter a function into a registry under its own name."""

    def enter(function: Measure) -> Measure:
        name = getattr(function, "__name__")  # noqa: B009 a Callable has no declared name
        registry[name] = function
        NEEDS[name] = frozenset(needs)
        return function

    return enter


def number(value: FloatVector, mcse: FloatVector, n_used: IntVector, level: float) -> Measured:
    """A measure with the normal interval value +- quantile x MCSE, none beyond the floats."""
    mcse = np.where(np.isfinite(value), mcse, np.nan)
    half = stats.norm.ppf((1 + level) / 2) * mcse
    return Measured(value, mcse, value - half, value + half, n_used)


def mean_of(rows: Replicates, name: str) -> Measured:
    """The mean of a column; MCSE SD/sqrt(n)."""
    sample = rows.sample(name)
    return number(sample.mean, sample.mean_mcse, sample.n, rows.level)


def proportion(
    successes: FloatVector | IntVector, trials: IntVector, level: float, n_used: IntVector
) -> Measured:
    """A share with its binomial standard error and Clopper-Pearson interval, none for 0 of 0."""
    share = divide(successes, trials)
    mcse = np.sqrt(divide(share * (1 - share), trials))
    return Measured(share, mcse, *clopper_pearson(successes, trials, level), n_used)


def share(value: FloatVector, mcse: FloatVector, n_used: IntVector, level: float) -> Measured:
    """A share whose error is not binomial, with an interval that stays within 0 and 1.

    The interval is Clopper-Pearson's at the number of independent trials with this error,
    C(1-C)/MCSE^2, and at n where the error is 0 or unknown: Korn, Graubard (1998), Survey
    Methodology 24:193-201.
    """
    trials = np.where(mcse > 0, divide(value * (1 - value), mcse**2), n_used)
    return Measured(value, mcse, *clopper_pearson(value * trials, trials, level), n_used)


def clopper_pearson(
    successes: FloatVector | IntVector, trials: FloatVector | IntVector, level: float
) -> tuple[FloatVector, FloatVector]:
    """Both ends of each interval, missing for 0 of 0. Counts need not be whole."""
    lower, upper = np.full(len(trials), np.nan), np.full(len(trials), np.nan)
    some = trials > 0
    if some.any():
        lower[some], upper[some] = proportion_confint(
            successes[some], trials[some], alpha=1 - level, method="beta"
        )
    return lower, upper


@register(ESTIMAND_MEASURES, "true_value")
def bias(rows: Replicates) -> Measured:
    """mean(d_i); MCSE SD(d_i)/sqrt(n)."""
    return mean_of(rows, "error")


@register(ESTIMAND_MEASURES)
def mean(rows: Replicates) -> Measured:
    """mean(e_i), whether or not there is a truth; MCSE SD(e_i)/sqrt(n)."""
    return mean_of(rows, "estimate")


@register(ESTIMAND_MEASURES)
def emp_se(rows: Replicates) -> Measured:
    """Standard deviation of e_i, of d_i where the truth is known; MCSE see `spread`."""
    return spread(rows.sample("deviation"), rows.level)


@register(ESTIMAND_MEASURES, "true_value")
def mse(rows: Replicates) -> Measured:
    """mean(d_i^2); MCSE SD(d_i^2)/sqrt(n)."""
    return mean_of(rows, "squared_error")


@register(ESTIMAND_MEASURES, "true_value")
def rmse(rows: Replicates) -> Measured:
    """sqrt(mean d_i^2); MCSE SD(d_i^2)/sqrt(n)/(2 rmse)."""
    return root_mean(rows.sample("squared_error"), rows.level)


@register(ESTIMAND_MEASURES, "true_value")
def mae(rows: Replicates) -> Measured:
    """``mean |d_i|``; MCSE ``SD(|d_i|)/sqrt(n)``."""
    return mean_of(rows, "absolute_error")


@register(ESTIMAND_MEASURES, "std_error")
def mod_se(rows: Replicates) -> Measured:
    """sqrt(mean s_i^2); MCSE sqrt(Var(s_i^2)/(4 n mod_se^2))."""
    std_error = rows.sample("std_error")
    return root_mean(std_error.like(std_error.values**2), rows.level)


@register(ESTIMAND_MEASURES, "std_error")
def rel_err_se(rows: Replicates) -> Measured:
    """100 (mod_se/emp_se - 1), over the rows that have both; robust MCSE.

    With v_i = s_i^2, u_i = (d_i - mean d)^2 and Q = sum v/sum u the value is
    100 (sqrt((n-1)/n Q) - 1). Q is a ratio of means, so its variance is
    sum (v_i - Q u_i)^2/(sum u)^2, and the root halves it over sqrt(Q).
    """
    deviation, std_error = rows.samples("deviation", "std_error")
    n, u, v = deviation.n, deviation.squares, std_error.like(std_error.values**2)
    ratio = divide(v.total, u.total)
    root = np.sqrt(divide(n - 1, n) * ratio)
    misfit = v.like((v.values - ratio[v.codes] * u.values) ** 2).total
    mcse = 50 * root * divide(np.sqrt(misfit), np.where(n > 2, ratio * u.total, np.nan))
    return number(100 * (root - 1), mcse, n, rows.level)


@register(ESTIMAND_MEASURES, "true_value", "interval")
def coverage(rows: Replicates) -> Measured:
    """C = mean(L_i <= t_i <= U_i) given an estimate; MCSE sqrt(C(1-C)/n), Clopper-Pearson."""
    covered = rows.sample("covered")
    return proportion(covered.total, covered.n, rows.level, covered.n)


@register(ESTIMAND_MEASURES, "true_value", "interval")
def coverage_uncond(rows: Replicates) -> Measured:
    """Covering intervals over R: a replicate without an interval does not cover."""
    covered = rows.sample("covered")
    tried = judged(rows)
    return proportion(covered.total, tried, rows.level, tried)


@register(ESTIMAND_MEASURES, "true_value", "interval")
def coverage_uncond_upper(rows: Replicates) -> Measured:
    """(covering + replicates without an interval)/R: what coverage over all could be at most."""
    covered = rows.sample("covered")
    tried = judged(rows)
    return proportion(covered.total + tried - covered.n, tried, rows.level, tried)


@register(ESTIMAND_MEASURES, "true_value", "interval")
def be_coverage(rows: Replicates) -> Measured:
    """Bias-eliminated coverage: C = mean(L_i <= t_i + bias <= U_i), over rows that have all.

    The estimated bias moves with the estimates, so the MCSE is sqrt(sum psi_i^2)/n with the
    influence psi_i = covered_i - C + g (d_i - bias), g the slope of C in the shift (derived here:
    a share at an estimated point, by the delta method). g is the central difference of C over
    +- h. Since C is the difference of two distribution functions, those of L_i - t_i and
    U_i - t_i, that is a density estimate with a uniform kernel, and h follows its normal
    reference rule, (12 sqrt(pi))^(1/5) SD n^(-1/5) = 1.84 SD n^(-1/5) (Silverman 1986, equation
    3.21). From 500 rows on the MCSE is right to 3 % for normal, Laplace, lognormal and t3
    estimates, whether or not their standard errors follow them, and 0.3 h or 2 h move it by less
    than 2 %; the binomial form is up to 21 % off.
    """
    error, left, right = rows.samples("error", "left", "right")
    shift, h = error.mean, SLOPE_WIDTH * error.sd * np.power(np.maximum(error.n, 1), -0.2)
    covered, above, below = (
        error.like(inside(left.values, at[error.codes], right.values))
        for at in (shift, shift + h, shift - h)
    )
    slope = divide(above.mean - below.mean, 2 * h)
    moved = slope[error.codes] * (error.values - shift[error.codes])
    influence = error.like((covered.values - covered.mean[error.codes] + moved) ** 2)
    return share(covered.mean, divide(np.sqrt(influence.total), error.n), error.n, rows.level)


@register(ESTIMAND_MEASURES, "interval")
def ci_width(rows: Replicates) -> Measured:
    """mean(U_i - L_i); MCSE SD/sqrt(n)."""
    return mean_of(rows, "width")


@register(ESTIMAND_MEASURES, "interval")
def reject(rows: Replicates) -> Measured:
    """Share of intervals that leave out the null value; MCSE and interval as `coverage`."""
    rejected = rows.sample("rejected")
    return proportion(rejected.total, rejected.n, rows.level, rejected.n)


@register(ESTIMAND_MEASURES, "true_value", "std_error")
def z_mean(rows: Replicates) -> Measured:
    """Mean of d_i/s_i; MCSE as `bias`."""
    return mean_of(rows, "z")


@register(ESTIMAND_MEASURES, "true_value", "std_error")
def z_sd(rows: Replicates) -> Measured:
    """Standard deviation of d_i/s_i; MCSE as `emp_se`."""
    return spread(rows.sample("z"), rows.level)


@register(ESTIMAND_MEASURES, "true_value", "std_error")
def normality(rows: Replicates) -> Measured:
    """Kolmogorov's p value of d_i/s_i against N(0, 1)."""
    return p_value_of(rows, kolmogorov)


@register(ESTIMAND_MEASURES, "true_value", "std_error")
def normality_anderson(rows: Replicates) -> Measured:
    """Anderson and Darling's p value of d_i/s_i, mean and variance free."""
    return p_value_of(rows, anderson)


@register(ESTIMAND_MEASURES, "true_value", "std_error")
def normality_lilliefors(rows: Replicates) -> Measured:
    """Lilliefors' p value of d_i/s_i, mean and variance free; 0.001 stands for less too."""
    return p_value_of(rows, lilliefors)


@register(FIT_MEASURES)
def fail_rate(rows: Replicates) -> Measured:
    """F/R, 0 too; MCSE binomial, Clopper-Pearson."""
    return proportion(rows.failed, rows.attempted, rows.level, rows.attempted)


@register(FIT_MEASURES)
def sup_error_median(rows: Replicates) -> Measured:
    """Median of the largest error over theta; MCSE and interval from order statistics."""
    sup_error = rows.sample("sup_error")
    medians = [median_of(np.sort(group), rows.level) for group in sup_error.by_group()]
    value, mcse, lower, upper = np.array(medians).reshape(-1, 4).T
    return Measured(value, mcse, lower, upper, sup_error.n)


@register(FIT_MEASURES)
def sup_error_mean(rows: Replicates) -> Measured:
    """Mean of the largest error over theta; MCSE SD/sqrt(n)."""
    return mean_of(rows, "sup_error")


def judged(rows: Replicates) -> IntVector:
    """Replicates that coverage over all is taken of.

    None where there are estimates, but no interval or no truth to compare one with; nor where a
    method lacks an estimand of a study without any.
    """
    estimates, covered = rows.sample("estimate").n, rows.sample("covered").n
    lacking = (estimates == 0) & (rows.attempted > rows.failed) & (not covered.any())
    return np.where((covered == 0) & ((estimates > 0) | lacking), 0, rows.attempted)


def p_value_of(rows: Replicates, test: PValue) -> Measured:
    """A p value, which has no Monte Carlo error."""
    z, none = rows.sample("z"), np.full(rows.n_groups, np.nan)
    return Measured(p_values(z, test), none, none, none, z.n)


def root_mean(squares: Sample, level: float) -> Measured:
    """The root of a mean m; MCSE by the delta method, MCSE(m)/(2 sqrt(m))."""
    root = np.sqrt(squares.mean)
    return number(root, divide(squares.mean_mcse, 2 * root), squares.n, level)


def spread(sample: Sample, level: float) -> Measured:
    """A standard deviation with a MCSE that does not assume normal estimates.

    With u_i = (x_i - mean x)^2 the variance is k mean(u), k = n/(n-1), so the
    delta method gives k SD(u)/sqrt(n)/(2 sd); the mean of x moves u in second
    order only. Two rows have one u and say nothing of its spread.
    """
    inflation = np.where(sample.n > 2, divide(sample.n, sample.n - 1), np.nan)
    mcse = divide(inflation * sample.squares.mean_mcse, 2 * sample.sd)
    return number(sample.sd, mcse, sample.n, level)
