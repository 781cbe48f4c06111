"""Anybody's replicates: which column holds what, and the measures of each scenario and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from p0sim.arrays import FloatVector, IntVector
from p0sim.errors import InvalidStudyError
from p0sim.performance.comparisons import PAIRED_MEASURES, Mask, paired_columns, partners
from p0sim.performance.frames import RESULT_COLUMNS, compared, measured, replicates_of
from p0sim.performance.measures import ESTIMAND_MEASURES, FIT_MEASURES, NEEDS, Measure
from p0sim.performance.pooling import POOLED_MEASURES, averages
from p0sim.performance.samples import derived_columns, factorize, group_codes

# R writes NA, also into columns that are read as text.
MISSING_TEXTS = ("NA", "")


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
        If a column is absent or has a name of the result, or a replicate stands there twice.
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
        require_free_names(keys)
        require_one_row(self.frame, keys, self.rep)

    @cached_property
    def columns(self) -> dict[str, FloatVector]:
        """What the measures need of each row."""
        codes, _ = group_codes(self.frame, with_method(self.by, self.method))
        own = own_columns(self.frame, self.sources, self.level)
        return derived_columns(own | {"null": np.full(len(self.frame), self.null)}, codes)

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


def require_columns(frame: pd.DataFrame, names: Sequence[object]) -> None:
    """Refuse the name of a column that is not there."""
    wanted = [name for name in names if isinstance(name, str)]
    if absent := [name for name in wanted if name not in frame]:
        raise InvalidStudyError(
            f"columns must be among {', '.join(map(str, frame))}; got {', '.join(absent)}"
        )


def require_free_names(keys: Sequence[str]) -> None:
    """Refuse keys that would be overwritten by the columns of the result."""
    if taken := [name for name in keys if name in RESULT_COLUMNS]:
        raise InvalidStudyError(
            f"by and method must not name a column of the result; got {', '.join(taken)}"
        )


def require_one_row(frame: pd.DataFrame, keys: list[str], rep: str | None) -> None:
    """Refuse a replicate that a method has twice."""
    if rep is None:
        return
    twice = frame.duplicated([*keys, rep])
    if twice.any():
        named = frame.loc[twice, [*keys, rep]].iloc[0].to_dict()
        raise InvalidStudyError(f"a replicate must have one row a method; got {named} twice")


def require_rep(
    by: Sequence[str],
    method: str | None,
    rep: str | None,
    reference: str | None,
    pool: Sequence[str],
) -> None:
    """Refuse pairs and pools of replicates that nobody can tell apart."""
    if reference is not None and (method is None or rep is None):
        raise InvalidStudyError(f"reference must come with method and rep; got {reference!r} alone")
    if pool and rep is None:
        raise InvalidStudyError(f"pool must come with rep; got {', '.join(pool)} alone")
    if strange := [name for name in pool if name not in by]:
        raise InvalidStudyError(f"pool must name columns of by; got {', '.join(strange)}")


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
    half = stats.norm.ppf((1 + level) / 2) * columns["std_error"]
    if sources["lower"] is None:
        columns["lower"] = columns["estimate"] - half
    if sources["upper"] is None:
        columns["upper"] = columns["estimate"] + half
    return columns


def numbers(column: pd.Series) -> FloatVector:
    """A column as floats, also one of texts; missing values of any sort as nan.

    Raises
    ------
    InvalidStudyError
        If a value is neither a number nor missing.

    Examples
    --------
    >>> numbers(pd.Series(["1.5", "NA", None])).tolist()
    [1.5, nan, nan]
    """
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    missing = column.isna() | column.isin(MISSING_TEXTS)
    values = column.astype(object).where(~missing, np.nan)
    return np.array([as_number(value, column.name) for value in values], dtype=np.float64)


def as_number(value: Any, column: object) -> float:
    """One entry of a column as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidStudyError(f"column {column} must hold numbers; got {value!r}") from None


def answerable(
    asked: Mapping[str, Measure], sources: Mapping[str, str | float | None]
) -> dict[str, Measure]:
    """Measures that what was given can say anything about."""
    given = {name for name, source in sources.items() if source is not None}
    if "std_error" in given or {"lower", "upper"} <= given:
        given.add("interval")
    return {name: measure for name, measure in asked.items() if NEEDS[name] <= given}
