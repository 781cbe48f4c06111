"""Frames of replicates in, one tidy frame of performance measures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from p0sim.arrays import FloatVector, IntVector, require_level, require_real
from p0sim.columns import FITTED, WHOLE_FIT
from p0sim.errors import InvalidStudyError
from p0sim.performance.comparisons import PAIRED_MEASURES, paired_columns, partners
from p0sim.performance.frames import compared, in_study_order, measured, replicates_of
from p0sim.performance.measures import ESTIMAND_MEASURES, FIT_MEASURES
from p0sim.performance.own_checks import require_frame, require_rep
from p0sim.performance.own_frames import OwnFrame, with_pools
from p0sim.performance.pooling import POOLED_MEASURES, averages, members
from p0sim.performance.samples import derived_columns, finite, group_codes

ESTIMATE_COLUMNS = ("estimate", "std_error", "lower", "upper", "true_value")
FIT = ["cell", "method"]
TARGET = [*FIT, "estimand"]


def performance(
    cells: pd.DataFrame,
    replicates: pd.DataFrame,
    estimates: pd.DataFrame,
    level: float = 0.95,
    *,
    estimands: Mapping[str, Sequence[str]] | None = None,
    nulls: Mapping[tuple[str, str], float] | None = None,
    reference: str | None = None,
    pools: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Every measure of every cell, method and estimand, with its Monte Carlo error.

    Parameters
    ----------
    cells, replicates, estimates : DataFrame
        As described in `p0sim.columns`. A failed replicate is a row of
        `replicates` whose status is not "ok"; it has no rows in `estimates`.
    level : float
        Level of the Monte Carlo intervals `lower`, `upper`. It has nothing to
        do with the level of the intervals under study.
    estimands : mapping of str to sequence of str, optional
        What was asked for in each cell. Left out, it is what any method gave
        in the cell; where every fit failed, what was found in cells of the
        same n; failing that, in any cell.
    nulls : mapping of (cell, estimand) to float, optional
        Values that `reject` tests; 0 where none is given.
    reference : str, optional
        Method that the others are compared with on the replicates where both
        have an estimate. Left out, it is the first of `replicates`.
    pools : mapping of str to str, optional
        Name and pattern of estimands to be pooled over, such as "alpha[*]"; see
        `p0sim.performance.pooling.members`. A pattern that matches nothing
        has no rows.

    Returns
    -------
    DataFrame
        The columns of `cells` without target_reps, then method, estimand,
        measure, value, mcse, lower, upper, n_used, n_attempted, n_failed. Measures
        of the whole fit (fail_rate, sup_error_median, sup_error_mean) stand
        once a cell and method, under the estimand "theta"; pooled ones under
        the name of the pool. The reference method has no comparisons. A cell
        without any replicate has no rows.

    Raises
    ------
    InvalidStudyError
        If `cells` lacks a cell of `replicates`, or `replicates` a fit of
        `estimates` or the reference, or a pool has the name of an estimand.

    Examples
    --------
    >>> cells = pd.DataFrame({"cell": ["c1"], "n": [100]})
    >>> replicates = pd.DataFrame({"cell": "c1", "method": "paper", "rep": [1, 2, 3],
    ...     "status": ["ok", "ok", "no_estimate"], "sup_error": [0.5, 0.7, None]})
    >>> estimates = pd.DataFrame({"cell": "c1", "method": "paper", "rep": [1, 2],
    ...     "estimand": "alpha[1]", "estimate": [0.1, -0.3], "std_error": 0.2,
    ...     "lower": [-0.3, -0.7], "upper": [0.5, 0.1], "true_value": 0.0})
    >>> table = performance(cells, replicates, estimates)
    >>> few = table[table["measure"].isin(["bias", "coverage", "fail_rate"])]
    >>> print(few[["estimand", "measure", "value", "n_used"]].round(3).to_string(index=False))
    estimand   measure  value  n_used
    alpha[1]      bias -0.100       2
    alpha[1]  coverage  1.000       2
       theta fail_rate  0.333       3
    """
    level = require_level(level)
    fits = count_fits(replicates)
    if missing := sorted(set(fits["cell"]) - set(cells["cell"])):
        raise InvalidStudyError(f"cells must list every cell of replicates; got none for {missing}")
    targets = expected_targets(fits, estimates, estimands_of_cells(cells, estimates, estimands))
    require_pool_names(pools or {}, targets["estimand"])
    stored = stored_rows(targets, estimates, nulls or {}, level)
    parts = [
        measure_estimands(stored, reference_method(reference, fits)),
        *(measure_pool(stored, name, pattern) for name, pattern in (pools or {}).items()),
        measure_fits(fits, replicates, level),
    ]
    # An empty part has columns without a type and would loosen the other's.
    results = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    return in_study_order(cells, results)


def count_fits(replicates: pd.DataFrame) -> pd.DataFrame:
    """Fits tried and failed, one row a cell and method, in order of first appearance."""
    codes, first = group_codes(replicates, FIT)
    failed = (replicates["status"] != FITTED).to_numpy(dtype=np.float64)
    fits = replicates.iloc[first][FIT].reset_index(drop=True).astype(str)
    fits["n_attempted"] = np.bincount(codes, minlength=len(fits)).astype(np.int64)
    fits["n_failed"] = np.bincount(codes, weights=failed, minlength=len(fits)).astype(np.int64)
    return fits


def estimands_of_cells(
    cells: pd.DataFrame,
    estimates: pd.DataFrame,
    estimands: Mapping[str, Sequence[str]] | None,
) -> dict[str, list[str]]:
    """What every cell should have estimated: as asked, and anything else that was found."""
    pairs = estimates[["cell", "estimand"]].drop_duplicates()
    by_cell = pairs.groupby("cell", sort=False, observed=True)["estimand"]
    found = {str(cell): list(names) for cell, names in by_cell}
    asked = {cell: list((estimands or {}).get(cell, ())) for cell in cells["cell"].tolist()}
    expected = {c: list(dict.fromkeys([*asked[c], *found.get(c, [])])) for c in asked}
    # As codes: a missing n is a size of its own, and pandas' NA has no truth value.
    size, _ = group_codes(cells, [name for name in cells if name == "n"])
    sizes = dict(zip(cells["cell"], size.tolist(), strict=True))
    for cell in (c for c in asked if not expected[c]):
        alike = [c for c in found if sizes.get(c) == sizes[cell]] or list(found)
        expected[cell] = list(dict.fromkeys(name for c in alike for name in found[c]))
    return expected


def expected_targets(
    fits: pd.DataFrame, estimates: pd.DataFrame, expected: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """One row a cell, method and estimand, whether or not any fit gave it."""
    targets = fits.assign(estimand=fits["cell"].map(dict(expected)))
    targets = targets.explode("estimand", ignore_index=True)
    targets = targets[targets["estimand"].notna()].reset_index(drop=True)
    return targets.astype({"n_attempted": np.int64, "n_failed": np.int64})


def require_pool_names(pools: Mapping[str, str], estimands: pd.Series) -> None:
    """Refuse a pool whose rows could not be told from those of an estimand."""
    if taken := [name for name in pools if name == WHOLE_FIT or (estimands == name).any()]:
        raise InvalidStudyError(f"pools must have names of their own; got {taken[0]!r}")


def reference_method(name: str | None, fits: pd.DataFrame) -> str | None:
    """The method others are compared with; None where there is no method at all."""
    methods = fits["method"].unique().tolist()
    if name is not None and name not in methods:
        raise InvalidStudyError(f"reference must be one of {', '.join(methods)}; got {name!r}")
    return name or next(iter(methods), None)


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Estimates with what the measures need of them.

    Attributes
    ----------
    targets : DataFrame
        One row a cell, method and estimand.
    keys : DataFrame
        cell, method, estimand and rep of each row of the estimates.
    codes : ndarray
        Row of `targets` that each belongs to.
    columns : mapping of str to ndarray
        As `p0sim.performance.samples.derived_columns` gives them.
    level : float
        Level of the Monte Carlo intervals.
    """

    targets: pd.DataFrame
    keys: pd.DataFrame
    codes: IntVector
    columns: Mapping[str, FloatVector]
    level: float


def stored_rows(
    targets: pd.DataFrame,
    estimates: pd.DataFrame,
    nulls: Mapping[tuple[str, str], float],
    level: float,
) -> StoredRows:
    """Bring estimates and targets together."""
    codes = positions(targets, estimates, TARGET)
    pairs = zip(targets["cell"], targets["estimand"], strict=True)
    null = np.array([nulls.get(pair, 0.0) for pair in pairs], dtype=np.float64)
    columns = {name: floats(estimates[name]) for name in ESTIMATE_COLUMNS}
    derived = derived_columns(columns | {"null": null[codes]}, codes)
    return StoredRows(targets, estimates[[*TARGET, "rep"]], codes, derived, level)


def measure_estimands(stored: StoredRows, reference: str | None) -> pd.DataFrame:
    """The measures of each target, and its comparison with the reference method."""
    targets, keys = stored.targets, stored.keys
    own, groups = ((frame["method"] == reference).to_numpy(np.bool_) for frame in (keys, targets))
    pairs = paired_columns(stored.columns, partners(keys, ["cell", "estimand", "rep"], own))
    rows = replicates_of(targets, {**stored.columns, **pairs}, stored.codes, stored.level)
    return compared(ESTIMAND_MEASURES | PAIRED_MEASURES, rows, targets, groups)


def measure_pool(stored: StoredRows, name: str, pattern: str) -> pd.DataFrame:
    """The measures of one pool in each cell and method that has any of its estimands."""
    targets = stored.targets
    within = targets["estimand"].isin(members(pattern, targets["estimand"].unique()))
    groups = targets[within].drop_duplicates(FIT).assign(estimand=name)
    taken = within.to_numpy(np.bool_)[stored.codes]
    keys = stored.keys[taken]
    replicate, first = group_codes(keys, [*FIT, "rep"])
    columns = {column: values[taken] for column, values in stored.columns.items()}
    pooled = averages(columns, replicate, len(first))
    codes = positions(groups, keys.iloc[first], FIT)
    return measured(POOLED_MEASURES, replicates_of(groups, pooled, codes, stored.level), groups)


def measure_fits(fits: pd.DataFrame, replicates: pd.DataFrame, level: float) -> pd.DataFrame:
    """The measures of whole fits, under the estimand "theta"."""
    codes = positions(fits, replicates, FIT)
    rows = replicates_of(fits, {"sup_error": finite(floats(replicates["sup_error"]))}, codes, level)
    return measured(FIT_MEASURES, rows, fits.assign(estimand=WHOLE_FIT))


def positions(groups: pd.DataFrame, rows: pd.DataFrame, by: list[str]) -> IntVector:
    """For each of `rows`, the row of `groups` with the same keys."""
    stacked = pd.concat([groups[by], rows[by]], ignore_index=True)
    codes, _ = group_codes(stacked, by)
    # The keys of `groups` are distinct and come first: their codes are 0..G-1 in order.
    found = codes[len(groups) :]
    if found.size and found.max() >= len(groups):
        keys = rows[by].iloc[int(found.argmax())].to_dict()
        raise InvalidStudyError(f"replicates must hold every fit of estimates; got none for {keys}")
    return found


def floats(column: pd.Series) -> FloatVector:
    """A column as floats, missing values of any sort as nan."""
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def summarise(
    frame: pd.DataFrame,
    *,
    estimate: str = "estimate",
    std_error: str | None = None,
    true_value: str | float | None = None,
    by: Sequence[str] = (),
    method: str | None = None,
    rep: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    level: float = 0.95,
    null: float = 0.0,
    reference: str | None = None,
    pool: Sequence[str] = (),
) -> pd.DataFrame:
    """Performance measures of anybody's replicates, wherever they were made.

    Parameters
    ----------
    frame : DataFrame
        One row a scenario, method and replicate.
    estimate, std_error, lower, upper : str
        Columns of the estimate, its standard error and its interval. Without
        an interval, estimate +- normal quantile x std_error stands in.
    true_value : str or float, optional
        Column of the truth, or the truth.
    by : sequence of str
        Columns that tell scenarios (and estimands) apart. A missing key is a key.
    method, rep : str, optional
        Columns of the method and of the replicate's number. With `rep`, a
        replicate that one method has and another lacks counts as failed there.
        With both, methods are compared on the replicates they have in common.
    level : float
        Level of the stand-in intervals and of the Monte Carlo intervals.
    null : float
        Value that `reject` tests.
    reference : str, optional
        Method that the others are compared with; the first where left out.
    pool : sequence of str
        Columns of `by` that are pooled over as well, such as the node: inside
        each replicate first.

    Returns
    -------
    DataFrame
        The columns `by`, `method`, then measure, value, mcse, lower, upper,
        n_used, n_attempted, n_failed. Measures that nothing was given for are
        left out. A row without a finite estimate is a failed replicate: what
        else it has is in no measure. In the pooled rows, which have no value in
        the columns `pool` and come last, that is a replicate without any.

    Raises
    ------
    TypeError
        If `frame` is no DataFrame.
    InvalidStudyError
        If a column is not in the frame, is there or named twice or holds other
        things than numbers, a standard error is negative, an interval ends
        before it begins, a replicate stands there twice or has no number, or
        what `reference` or `pool` needs is missing.

    Examples
    --------
    >>> frame = pd.DataFrame({"n": 50, "b": [0.9, 1.2, None], "se": [0.1, 0.1, None]})
    >>> result = summarise(frame, estimate="b", std_error="se", true_value=1.0, by=["n"])
    >>> few = result[result["measure"].isin(["bias", "coverage", "fail_rate"])]
    >>> print(few[["n", "measure", "value", "n_used"]].round(3).to_string(index=False))
     n   measure  value  n_used
    50      bias  0.050       2
    50  coverage  0.500       2
    50 fail_rate  0.333       3
    """
    require_frame(frame)
    level, null = require_level(level), require_real(null, "null")
    sources = {
        "estimate": estimate,
        "std_error": std_error,
        "lower": lower,
        "upper": upper,
        "true_value": true_value,
    }
    require_rep(by, method, rep, reference, pool)
    own = OwnFrame(frame, sources, list(by), method, rep, level, null)
    results = own.measured(reference)
    return with_pools(results, own.pooled(pool), pool) if pool else results.reset_index(drop=True)
