"""Anybody's replicates: which column holds what, and the measures of each scenario and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from p0sim.arrays import FloatVector, IntVector
from p0sim.errors import InvalidStudyError
from p0sim.performance.comparisons import PAIRED_MEASURES, Mask, paired_columns, partners
from p0sim.performance.frames import compared, measured, replicates_of
from p0sim.performance.measures import ESTIMAND_MEASURES, FIT_MEASURES, NEEDS, Measure
from p0sim.performance.own_checks import (
    is_missing,
    require_columns,
    require_free_names,
    require_intervals,
    require_one_row,
)
from p0sim.performance.pooling import POOLED_MEASURES, averages
from p0sim.performance.samples import derived_columns, factorize, group_codes
from p0sim.validation import shown


@dataclass(frozen=True, eq=False)
class OwnFrame:
    """A frame of replicates and what its columns mean.

    Attributes
    ----------
    frame : DataFrame
        One row a scenario, method and replicate.
    sources : mapping of str to str, float or None
        What holds estimate, std_error, lower, upper and true_value: a column, a number for all
        rows, or nothing.
    by : list of str
        Columns that tell scenarios and estimands apart.
    method, rep : str or None
        Columns of the method and of the replicate.
    level, null : float
        Level of intervals; the value that `reject` tests.

    Raises
    ------
    InvalidStudyError
        If a column is absent, there or named twice or has a name of the result, a number is none
        or cannot be, or a replicate stands there twice or has no number.
    """

    frame: pd.DataFrame
    sources: Mapping[str, str | float | None]
    by: list[str]
    method: str | None
    rep: str | None
    level: float
    null: float

    def __post_init__(self) -> None:
        keys = [name for name in (*self.by, self.method) if name is not None]
        require_columns(self.frame, [*keys, self.rep, *self.sources.values()])
        require_free_names(keys, self.rep)
        require_one_row(self.frame, keys, self.rep)
        require_intervals(self.given, self.frame.index)

    @cached_property
    def given(self) -> dict[str, FloatVector]:
        """The five columns the measures start from."""
        return own_columns(self.frame, self.sources, self.level)

    @cached_property
    def columns(self) -> dict[str, FloatVector]:
        """What the measures need of each row."""
        codes, _ = group_codes(self.frame, with_method(self.by, self.method))
        null = np.full(len(self.frame), self.null)
        return derived_columns(self.given | {"null": null}, codes)

    def measured(self, reference: str | None) -> pd.DataFrame:
        """Measures of each scenario and method, comparisons too where methods form pairs."""
        keys = with_method(self.by, self.method)
        codes, first = group_codes(self.frame, keys)
        fitted = np.bincount(codes[self.has_estimate], minlength=len(first))
        groups = with_counts(self.frame.iloc[first][keys], self.attempted(self.by), fitted)
        is_reference = self.is_reference(reference)
        partner = partners(self.frame, [*self.by, *filter(None, [self.rep])], is_reference)
        columns = self.columns | paired_columns(self.columns, partner)
        rows = replicates_of(groups, columns, codes, self.level)
        return compared(answerable(self.asked, self.sources), rows, groups, is_reference[first])

    def pooled(self, pool: Sequence[str]) -> pd.DataFrame:
        """Pooled measures of each scenario and method, the columns `pool` of the first row."""
        rest = [name for name in self.by if name not in pool]
        keys = with_method(rest, self.method)
        codes, first = group_codes(self.frame, keys)
        replicate, start = group_codes(self.frame, [*keys, *filter(None, [self.rep])])
        known = np.unique(replicate[self.has_estimate])
        fitted = np.bincount(codes[start][known], minlength=len(first))
        shown = with_method(self.by, self.method)
        groups = with_counts(self.frame.iloc[first][shown], self.attempted(rest), fitted)
        averaged = averages(self.columns, replicate, len(start))
        rows = replicates_of(groups, averaged, codes[start], self.level)
        return measured(answerable(POOLED_MEASURES, self.sources), rows, groups)

    @property
    def has_pairs(self) -> bool:
        """Whether replicates of two methods can be told to be of the same data."""
        return self.method is not None and self.rep is not None

    @property
    def asked(self) -> dict[str, Measure]:
        """Measures of a scenario and method, whether or not enough was given for them."""
        pairs = PAIRED_MEASURES if self.has_pairs else {}
        return {**ESTIMAND_MEASURES, **pairs, "fail_rate": FIT_MEASURES["fail_rate"]}

    @property
    def has_estimate(self) -> Mask:
        """Rows with a finite estimate."""
        return np.isfinite(self.columns["estimate"])

    def is_reference(self, reference: str | None) -> Mask:
        """Rows of the reference method, the first one unless named; none without pairs."""
        if self.method is None or self.rep is None:
            return np.zeros(len(self.frame), dtype=np.bool_)
        codes, levels = factorize(self.frame[self.method])
        names = [str(level) for level in levels]
        if reference is not None and reference not in names:
            raise InvalidStudyError(
                f"reference must be one of {', '.join(names)}; got {reference!r}"
            )
        return np.equal(codes, 0 if reference is None else names.index(reference))

    def attempted(self, by: list[str]) -> IntVector:
        """Replicates tried by each group of `by` and method: those any method of it has."""
        codes, first = group_codes(self.frame, with_method(by, self.method))
        if self.rep is None:
            return np.bincount(codes, minlength=len(first)).astype(np.int64)
        scenario, _ = group_codes(self.frame, by)
        _, one_a_rep = group_codes(self.frame, [*by, self.rep])
        tried = np.bincount(scenario[one_a_rep], minlength=1)
        return tried[scenario[first]].astype(np.int64)


def with_method(by: Sequence[str], method: str | None) -> list[str]:
    """Keys of a scenario and method."""
    return [*by] if method is None else [*by, method]


def with_counts(groups: pd.DataFrame, attempted: IntVector, fitted: IntVector) -> pd.DataFrame:
    """Groups with the replicates they tried and those without an estimate."""
    groups = groups.reset_index(drop=True)
    return groups.assign(n_attempted=attempted, n_failed=attempted - fitted)


def with_pools(results: pd.DataFrame, pooled: pd.DataFrame, pool: Sequence[str]) -> pd.DataFrame:
    """Both below each other; pooled rows have no value in the columns pooled over."""
    both = pd.concat([results, pooled], ignore_index=True)
    is_pooled = np.arange(len(both)) >= len(results)
    # Types that can miss a value: an integer stays one.
    open_columns = {name: both[name].convert_dtypes().mask(is_pooled) for name in pool}
    return both.assign(**open_columns)


def own_columns(
    frame: pd.DataFrame, sources: Mapping[str, str | float | None], level: float
) -> dict[str, FloatVector]:
    """The five columns the measures start from; nan where nothing was given."""
    columns = {
        name: numbers(frame[source])
        if isinstance(source, str)
        else np.full(len(frame), np.nan if source is None else source)
        for name, source in sources.items()
    }
    with np.errstate(over="ignore", invalid="ignore"):
        half = stats.norm.ppf((1 + level) / 2) * columns["std_error"]
        ends = {"lower": columns["estimate"] - half, "upper": columns["estimate"] + half}
    return columns | {name: end for name, end in ends.items() if sources[name] is None}


def numbers(column: pd.Series) -> FloatVector:
    """A column as floats, also one of texts; missing values of any sort as nan.

    Raises
    ------
    InvalidStudyError
        If a value is neither a real number nor missing.

    Examples
    --------
    >>> numbers(pd.Series(["1.5", "NA", None])).tolist()
    [1.5, nan, nan]
    """
    types = pd.api.types
    if types.is_numeric_dtype(column) and not types.is_complex_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = column.astype(object).where(~is_missing(column), np.nan)
    return np.array([as_number(value, column.name) for value in values], dtype=np.float64)


def as_number(value: Any, column: object) -> float:
    """One entry of a column as a float."""
    with suppress(TypeError, ValueError):
        # numpy would take the real part
        if not isinstance(value, complex | np.complexfloating):
            return float(value)
    raise InvalidStudyError(f"column {column} must hold numbers; got {shown(value)}")


def answerable(
    asked: Mapping[str, Measure], sources: Mapping[str, str | float | None]
) -> dict[str, Measure]:
    """Measures that what was given can say anything about."""
    given = {name for name, source in sources.items() if source is not None}
    if "std_error" in given or {"lower", "upper"} <= given:
        given.add("interval")
    return {name: measure for name, measure in asked.items() if NEEDS[name] <= given}
