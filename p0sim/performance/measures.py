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

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from p0sim.arrays import FloatVector, IntVector
from p0sim.performance.samples import Replicates, Sample, divide


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


def register(registry: dict[str, Measure], *needs: str) -> Callable[[Measure], Measure]:
    """Enter a function into a registry under its own name."""

    def enter(function: Measure) -> Measure:
        name = getattr(function, "__name__")  # noqa: B009 a Callable has no declared name
        registry[name] = function
        NEEDS[name] = frozenset(needs)
        return function

    return enter


def number(value: FloatVector, mcse: FloatVector, n_used: IntVector, level: float) -> Measured:
    """A measure with the normal interval value +- quantile x MCSE."""
    half = stats.norm.ppf((1 + level) / 2) * mcse
    return Measured(value, mcse, value - half, value + half, n_used)


def proportion(
    successes: FloatVector | IntVector, trials: IntVector, level: float, n_used: IntVector
) -> Measured:
    """A share with its binomial standard error and Clopper-Pearson interval, none for 0 of 0."""
    share = divide(successes, trials)
    mcse = np.sqrt(divide(share * (1 - share), trials))
    lower, upper = np.full(len(share), np.nan), np.full(len(share), np.nan)
    some = trials > 0
    if some.any():
        counts = np.asarray(successes)[some].astype(np.int64)
        lower[some], upper[some] = proportion_confint(
            counts, trials[some], alpha=1 - level, method="beta"
        )
    return Measured(share, mcse, lower, upper, n_used)


@register(ESTIMAND_MEASURES, "true_value")
def bias(rows: Replicates) -> Measured:
    """mean(d_i); MCSE SD(d_i)/sqrt(n)."""
    error = rows.sample("error")
    return number(error.mean, error.mean_mcse, error.n, rows.level)


@register(ESTIMAND_MEASURES)
def emp_se(rows: Replicates) -> Measured:
    """Standard deviation of e_i, of d_i where the truth is known; MCSE see `spread`."""
    return spread(rows.sample("deviation"), rows.level)


@register(ESTIMAND_MEASURES, "true_value")
def rmse(rows: Replicates) -> Measured:
    """sqrt(mean d_i^2); MCSE SD(d_i^2)/sqrt(n)/(2 rmse)."""
    error = rows.sample("error")
    return root_mean(error.like(error.values**2), rows.level)


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
    mcse = 50 * root * divide(np.sqrt(misfit), ratio * u.total)
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
    return proportion(covered.total, rows.attempted, rows.level, rows.attempted)


@register(ESTIMAND_MEASURES, "true_value", "interval")
def coverage_uncond_upper(rows: Replicates) -> Measured:
    """(covering + replicates without an interval)/R: what coverage over all could be at most."""
    covered = rows.sample("covered")
    at_most = covered.total + rows.attempted - covered.n
    return proportion(at_most, rows.attempted, rows.level, rows.attempted)


@register(ESTIMAND_MEASURES, "interval")
def ci_width(rows: Replicates) -> Measured:
    """mean(U_i - L_i); MCSE SD/sqrt(n)."""
    width = rows.sample("width")
    return number(width.mean, width.mean_mcse, width.n, rows.level)


@register(ESTIMAND_MEASURES, "true_value", "std_error")
def z_mean(rows: Replicates) -> Measured:
    """Mean of d_i/s_i; MCSE as `bias`."""
    z = rows.sample("z")
    return number(z.mean, z.mean_mcse, z.n, rows.level)


@register(ESTIMAND_MEASURES, "true_value", "std_error")
def z_sd(rows: Replicates) -> Measured:
    """Standard deviation of d_i/s_i; MCSE as `emp_se`."""
    return spread(rows.sample("z"), rows.level)


@register(FIT_MEASURES)
def fail_rate(rows: Replicates) -> Measured:
    """F/R, 0 too; MCSE binomial, Clopper-Pearson."""
    return proportion(rows.failed, rows.attempted, rows.level, rows.attempted)


@register(FIT_MEASURES)
def sup_error_median(rows: Replicates) -> Measured:
    """Median of the largest error over theta; MCSE and interval from order statistics."""
    sup_error = rows.sample("sup_error")
    medians = [median_of(group, rows.level) for group in sup_error.sorted_groups()]
    value, mcse, lower, upper = np.array(medians).reshape(-1, 4).T
    return Measured(value, mcse, lower, upper, sup_error.n)


@register(FIT_MEASURES)
def sup_error_mean(rows: Replicates) -> Measured:
    """Mean of the largest error over theta; MCSE SD/sqrt(n)."""
    sup_error = rows.sample("sup_error")
    return number(sup_error.mean, sup_error.mean_mcse, sup_error.n, rows.level)


def root_mean(squares: Sample, level: float) -> Measured:
    """The root of a mean m; MCSE by the delta method, MCSE(m)/(2 sqrt(m))."""
    root = np.sqrt(squares.mean)
    return number(root, divide(squares.mean_mcse, 2 * root), squares.n, level)


def spread(sample: Sample, level: float) -> Measured:
    """A standard deviation with a MCSE that does not assume normal estimates.

    With u_i = (x_i - mean x)^2 the variance is k mean(u), k = n/(n-1), so the
    delta method gives k SD(u)/sqrt(n)/(2 sd); the mean of x moves u in second
    order only.
    """
    inflation = divide(sample.n, sample.n - 1)
    mcse = divide(inflation * sample.squares.mean_mcse, 2 * sample.sd)
    return number(sample.sd, mcse, sample.n, level)


def median_of(ordered: FloatVector, level: float) -> tuple[float, float, float, float]:
    """Median of sorted values with MCSE and interval, both free of the distribution.

    Parameters
    ----------
    ordered : ndarray, shape (n,)
        Ascending.
    level : float
        Least level of the interval.

    Returns
    -------
    tuple of float
        Median, MCSE, lower, upper. The interval is missing when n is too small
        for two order statistics to reach the level (n < 6 at 0.95).

    References
    ----------
    .. [1] Maritz, Jarrett (1978), A note on estimating the variance of the
       sample median, JASA 73:194-196: weights of the order statistics.
    .. [2] David, Nagaraja (2003), Order Statistics, section 7.1: the interval.
    """
    n = len(ordered)
    if n == 0:
        return (np.nan,) * 4
    below = int(stats.binom.ppf((1 - level) / 2, n, 0.5)) - 1
    inside = below >= 0 and n > 1
    ends = (ordered[below], ordered[n - 1 - below]) if inside else (np.nan, np.nan)
    return float(np.median(ordered)), median_mcse(ordered), float(ends[0]), float(ends[1])


def median_mcse(ordered: FloatVector) -> float:
    """Standard deviation of a bootstrap median in closed form (Maritz and Jarrett)."""
    n = len(ordered)
    if n < 2:
        return float("nan")
    middle = (n + 1) / 2
    weights = np.diff(stats.beta.cdf(np.arange(n + 1) / n, middle, middle))
    mean = weights @ ordered
    return float(np.sqrt(weights @ (ordered - mean) ** 2))
