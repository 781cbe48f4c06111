"""Rows of many groups held as arrays: sums, means and spreads of every group at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from p0sim.arrays import FloatVector, IntVector

OF_A_FIT = ("estimate", "std_error", "lower", "upper")


@dataclass(frozen=True, eq=False)
class Sample:
    """One number a row, every row in one of G groups.

    Attributes
    ----------
    values : ndarray, shape (rows,)
        Numbers, none of them missing; infinite where they are beyond the largest float.
    codes : ndarray, shape (rows,)
        Group of each row, 0..G-1.
    n_groups : int
        G. A group may have no rows.
    """

    values: FloatVector
    codes: IntVector
    n_groups: int

    def like(self, values: FloatVector) -> Sample:
        """Other numbers for the same rows."""
        return Sample(values, self.codes, self.n_groups)

    @cached_property
    def n(self) -> IntVector:
        """Rows of each group, shape (G,)."""
        return np.bincount(self.codes, minlength=self.n_groups).astype(np.int64)

    @cached_property
    def total(self) -> FloatVector:
        """Sum of each group, shape (G,)."""
        totals = np.bincount(self.codes, weights=self.values, minlength=self.n_groups)
        return totals.astype(np.float64)

    @cached_property
    def mean(self) -> FloatVector:
        """Mean of each group, nan where it is empty."""
        return divide(self.total, self.n)

    @cached_property
    def squares(self) -> Sample:
        """Squared distance of each row from the mean of its group."""
        # Seen from one of themselves, equal values spread by exactly 0.
        origin = np.zeros(self.n_groups)
        origin[self.codes] = self.values
        gaps = self.like(self.values - origin[self.codes])
        return self.like((gaps.values - gaps.mean[self.codes]) ** 2)

    @cached_property
    def sd(self) -> FloatVector:
        """Standard deviation of each group with divisor n - 1, nan for fewer than two rows."""
        variance = divide(self.squares.total, self.n - 1)
        return np.sqrt(variance)

    @cached_property
    def mean_mcse(self) -> FloatVector:
        """Monte Carlo standard error of the mean of each group."""
        return divide(self.sd, np.sqrt(self.n))

    def by_group(self) -> list[FloatVector]:
        """The values of each group, in the order of the rows."""
        order = np.argsort(self.codes, kind="stable")
        return np.split(self.values[order], np.cumsum(self.n))[: self.n_groups]


def divide(top: FloatVector | IntVector, bottom: FloatVector | IntVector) -> FloatVector:
    """The ratio where the divisor is positive, nan elsewhere; says nothing."""
    nothing = np.full(np.broadcast_shapes(np.shape(top), np.shape(bottom)), np.nan)
    np.divide(top, bottom, out=nothing, where=np.asarray(bottom) > 0)
    return nothing


@dataclass(frozen=True, eq=False)
class Replicates:
    """Everything the measures of G groups are computed from.

    Attributes
    ----------
    columns : mapping of str to ndarray, shape (rows,)
        Numbers by name, nan where a row lacks one.
    codes : ndarray, shape (rows,)
        Group of each row, 0..G-1.
    attempted, failed : ndarray, shape (G,)
        Replicates tried and those without a fit. They are counted apart
        from the rows: a failed replicate has none and still counts.
    level : float
        Level of the Monte Carlo intervals.
    """

    columns: Mapping[str, FloatVector]
    codes: IntVector
    attempted: IntVector
    failed: IntVector
    level: float

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.attempted)

    def samples(self, *names: str) -> tuple[Sample, ...]:
        """The named columns over the rows that have a number in each of them."""
        complete = ~np.logical_or.reduce([np.isnan(self.columns[name]) for name in names])
        codes = self.codes[complete]
        return tuple(Sample(self.columns[name][complete], codes, self.n_groups) for name in names)

    def sample(self, name: str) -> Sample:
        """One column over the rows that have a number there."""
        return self.samples(name)[0]


def derived_columns(columns: Mapping[str, FloatVector], codes: IntVector) -> dict[str, FloatVector]:
    """Estimates and what follows from them row by row.

    Parameters
    ----------
    columns : mapping of str to ndarray, shape (rows,)
        estimate, std_error, lower, upper, true_value; null where a value other than 0 is tested.
    codes : ndarray, shape (rows,)
        Group of each row.

    Returns
    -------
    dict of str to ndarray
        estimate, std_error, error, squared_error, absolute_error, deviation, width,
        covered and rejected (0, 1 or nan), z; left and right, the ends of the interval
        seen from the truth.

    Notes
    -----
    A row without a finite estimate has nothing else either, whatever stands
    beside it: it is a failed fit. A number that is infinite is beyond the
    largest float, or an end of an interval without end.

    `deviation` is what spreads are taken on: the error where the truth of the
    group is known, since the truth may change from replicate to replicate,
    and the estimate itself where it is not.
    """
    fitted, truth = np.isfinite(columns["estimate"]), columns["true_value"]
    estimate, std_error, lower, upper = (
        np.where(fitted, columns[name], np.nan) for name in OF_A_FIT
    )
    null = columns.get("null", np.float64(0))
    known = np.bincount(codes, weights=np.isfinite(truth), minlength=1) > 0
    with np.errstate(invalid="ignore", over="ignore"):
        error = estimate - finite(truth)
        return {
            "estimate": estimate,
            "std_error": finite(std_error),
            "error": error,
            "squared_error": error**2,
            "absolute_error": np.abs(error),
            "deviation": np.where(known[codes], error, estimate),
            "width": finite(upper - lower),
            "covered": covers(lower, truth, upper),
            "rejected": 1 - covers(lower, null, upper),
            "left": lower - truth,
            "right": upper - truth,
            "z": error / np.where(std_error > 0, std_error, np.nan),
        }


def covers(lower: FloatVector, truth: FloatVector | np.float64, upper: FloatVector) -> FloatVector:
    """1 where lower <= truth <= upper, 0 where not, nan where one of them is missing."""
    covered = inside(lower, truth, upper)
    covered[np.isnan(lower) | np.isnan(truth) | np.isnan(upper)] = np.nan
    return covered


def inside(lower: FloatVector, point: FloatVector | np.float64, upper: FloatVector) -> FloatVector:
    """1 where lower <= point <= upper, 0 elsewhere."""
    return ((lower <= point) & (point <= upper)).astype(np.float64)


def finite(values: FloatVector) -> FloatVector:
    """Infinite numbers as missing ones."""
    return np.where(np.isfinite(values), values, np.nan)


def group_codes(frame: pd.DataFrame, by: list[str]) -> tuple[IntVector, IntVector]:
    """Number the groups of a frame by first appearance; a missing key is a key.

    Returns
    -------
    codes : ndarray, shape (rows,)
        Group of each row, 0..G-1.
    first : ndarray, shape (G,)
        Position of the first row of each group.
    """
    codes = np.zeros(len(frame), dtype=np.int64)
    for name in by:
        level, levels = factorize(frame[name])
        # Compressed after each column: the product of all level counts may not fit in 64 bits.
        codes, _ = pd.factorize(codes * max(len(levels), 1) + level)
    first = np.unique(codes, return_index=True)[1]
    return codes.astype(np.int64), first.astype(np.int64)


def factorize(values: pd.Series) -> tuple[NDArray[np.int64], pd.Index]:
    """Integer codes of a column's values in order of first appearance, missing ones included."""
    codes, levels = pd.factorize(values, use_na_sentinel=False)
    return codes.astype(np.int64), pd.Index(levels)
