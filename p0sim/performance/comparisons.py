"""Methods compared on the replicates where both have an estimate.

Notation: B a method, A the reference method, over n replicates that both have; u_Ai, u_Bi the
squared distances of their estimates from their means. A difference is B minus A. Both methods saw
the same data, so their errors are correlated and the Monte Carlo errors are those of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from p0sim.arrays import FloatVector, IntVector
from p0sim.performance.measures import Measure, Measured, number, register
from p0sim.performance.samples import Replicates, divide, group_codes

Mask: TypeAlias = NDArray[np.bool_]

# Measures of pairs, in the order of the frame. The reference method has none.
PAIRED_MEASURES: dict[str, Measure] = {}
COMPARED = ("estimate", "error", "squared_error", "deviation", "covered", "width")
OF_REFERENCE = "reference_"


def partners(frame: pd.DataFrame, by: list[str], is_reference: Mask) -> IntVector:
    """Position of the reference method's row with the same keys, -1 where there is none.

    Parameters
    ----------
    frame : DataFrame
    by : list of str
        What pairs have in common: cell, estimand and replicate. A missing key is a key.
    is_reference : ndarray of bool, shape (rows,)
        Rows of the reference method.

    Examples
    --------
    >>> frame = pd.DataFrame({"method": ["a", "a", "b", "b"], "rep": [1, 2, 2, 3]})
    >>> partners(frame, ["rep"], (frame["method"] == "a").to_numpy()).tolist()
    [0, 1, 1, -1]
    """
    codes, first = group_codes(frame, by)
    partner = np.full(len(first), -1, dtype=np.int64)
    rows = np.flatnonzero(is_reference)
    partner[codes[rows]] = rows
    return partner[codes]


def paired_columns(
    columns: Mapping[str, FloatVector], partner: IntVector
) -> dict[str, FloatVector]:
    """What each row's partner has, under names of its own; nan where there is no partner."""
    return {
        OF_REFERENCE + name: np.where(partner >= 0, columns[name][partner], np.nan)
        for name in COMPARED
    }


@register(PAIRED_MEASURES)
def rel_prec(rows: Replicates) -> Measured:
    """Relative precision 100 (Q - 1), Q = sum u_A/sum u_B: the squared ratio of emp_se.

    Q is a ratio of means over pairs, so its variance is sum (u_Ai - Q u_Bi)^2/(sum u_B)^2,
    whatever the distribution and the correlation. Two pairs say nothing of it.
    """
    own, other = rows.samples("deviation", OF_REFERENCE + "deviation")
    u_a, u_b = other.squares, own.squares
    ratio = divide(u_a.total, u_b.total)
    misfit = u_a.like((u_a.values - ratio[own.codes] * u_b.values) ** 2).total
    mcse = 100 * divide(np.sqrt(misfit), np.where(own.n > 2, u_b.total, np.nan))
    return number(100 * (ratio - 1), mcse, own.n, rows.level)


@register(PAIRED_MEASURES)
def mean_diff(rows: Replicates) -> Measured:
    """Difference of mean; MCSE SD of the pairs' differences/sqrt(n)."""
    return difference(rows, "estimate")


@register(PAIRED_MEASURES, "true_value")
def bias_diff(rows: Replicates) -> Measured:
    """Difference of bias; MCSE SD(e_Bi - e_Ai)/sqrt(n)."""
    return difference(rows, "error")


@register(PAIRED_MEASURES, "true_value")
def mse_diff(rows: Replicates) -> Measured:
    """Difference of mse; MCSE SD of the pairs' differences/sqrt(n)."""
    return difference(rows, "squared_error")


@register(PAIRED_MEASURES, "true_value", "interval")
def coverage_diff(rows: Replicates) -> Measured:
    """Difference of coverage; MCSE SD of the pairs' differences/sqrt(n)."""
    return difference(rows, "covered")


@register(PAIRED_MEASURES, "interval")
def ci_width_diff(rows: Replicates) -> Measured:
    """Difference of ci_width; MCSE SD of the pairs' differences/sqrt(n)."""
    return difference(rows, "width")


def difference(rows: Replicates, name: str) -> Measured:
    """Mean of a column minus the reference's, over pairs."""
    own, other = rows.samples(name, OF_REFERENCE + name)
    gap = own.like(own.values - other.values)
    return number(gap.mean, gap.mean_mcse, gap.n, rows.level)
