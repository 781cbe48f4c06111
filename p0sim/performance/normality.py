"""Tests of normality, by p value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import special, stats
from statsmodels.stats import diagnostic

from p0sim.arrays import FloatVector
from p0sim.performance.samples import Sample

PValue: TypeAlias = Callable[[FloatVector], float]

# Fewest values: Stephens's approximation to Anderson and Darling's p value starts at 8
# (D'Agostino, Stephens 1986, Goodness-of-Fit Techniques, Table 4.9), Lilliefors's table at 4.
FEWEST_ANDERSON = 8
FEWEST_LILLIEFORS = 4


def p_values(sample: Sample, test: PValue) -> FloatVector:
    """The p value of each group, shape (G,), missing where the test says nothing."""
    # A value beyond 38 standard deviations has probability 0 and its logarithm warns.
    with np.errstate(all="ignore"):
        return np.array([test(values) for values in sample.by_group()], dtype=np.float64)


def kolmogorov(values: FloatVector) -> float:
    """P value against N(0, 1), exact up to 10 000 values.

    Examples
    --------
    >>> round(kolmogorov(np.array([0.0])), 3)
    1.0
    """
    if values.size == 0:
        return float("nan")
    return float(stats.kstest(values, special.ndtr).pvalue)


def anderson(values: FloatVector) -> float:
    """P value of Anderson and Darling's test, mean and variance estimated.

    Examples
    --------
    >>> anderson(np.arange(7.0))
    nan
    """
    if not has_shape(values, FEWEST_ANDERSON):
        return float("nan")
    return float(diagnostic.normal_ad(values)[1])


def lilliefors(values: FloatVector) -> float:
    """P value of Kolmogorov's test, mean and variance estimated; between 0.001 and 0.99.

    Examples
    --------
    >>> lilliefors(np.ones(50))
    nan
    """
    if not has_shape(values, FEWEST_LILLIEFORS):
        return float("nan")
    return float(diagnostic.lilliefors(values)[1])


def has_shape(values: FloatVector, fewest: int) -> bool:
    """Whether there are enough values, and a finite spread to scale them by."""
    if values.size < fewest:
        return False
    return float(np.ptp(values)) > 0 and bool(np.isfinite(np.std(values)))
