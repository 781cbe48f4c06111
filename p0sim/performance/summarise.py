"""Frames of replicates in, one tidy frame of performance measures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from p0sim.arrays import FloatVector, IntVector, require_level
from p0sim.columns import FITTED, PERFORMANCE, WHOLE_FIT
from p0sim.errors import InvalidStudyError
from p0sim.performance.measures import ESTIMAND_MEASURES, FIT_MEASURES, NEEDS, Measure
from p0sim.performance.samples import Replicates, derived_columns, factorize, group_codes

ESTIMATE_COLUMNS = ("estimate", "std_error", "lower", "upper", "true_value")
RESULT_COLUMNS = tuple(column.name for column in PERFORMANCE[2:])


def performance(
    cells: pd.DataFrame,
    replicates: pd.DataFrame,
    estimates: pd.DataFrame,
    level: float = 0.95,
    *,
    estimands: Mapping[str, Sequence[str]] | None = None,
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

    Returns
    -------
    DataFrame
        The columns of `cells` without target_reps, then method, estimand,
        measure, value, mcse, lower, upper, n_used, n_attempted, n_failed. Measures
        of the whole fit (fail_rate, sup_error_median, sup_error_mean) stand
        once a cell and method, under the estimand "theta". A cell without any
        replicate has no rows.

    Raises
    ------
    InvalidStudyError
        If `cells` lacks a cell of `replicates`, or `replicates` a fit of
        `estimates`.

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
    parts = measure_estimands(targets, estimates, level), measure_fits(fits, replicates, level)
    # An empty part has columns without a type and would loosen the other's.
    results = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    return in_study_order(cells, results)


def count_fits(replicates: pd.DataFrame) -> pd.DataFrame:
    """Fits tried and failed, one row a cell and method, in order of first appearance."""
    codes, first = group_codes(replicates, ["cell", "method"])
    failed = (replicates["status"] != FITTED).to_numpy(dtype=np.float64)
    fits = replicates.iloc[first][["cell", "method"]].reset_index(drop=True).astype(str)
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


def measure_estimands(targets: pd.DataFrame, estimates: pd.DataFrame, level: float) -> pd.DataFrame:
    """The measures of each row of `targets`."""
    codes = positions(targets, estimates, ["cell", "method", "estimand"])
    columns = {name: floats(estimates[name]) for name in ESTIMATE_COLUMNS}
    rows = replicates_of(targets, derived_columns(columns, codes), codes, level)
    return measured(ESTIMAND_MEASURES, rows, targets)


def measure_fits(fits: pd.DataFrame, replicates: pd.DataFrame, level: float) -> pd.DataFrame:
    """The measures of whole fits, under the estimand "theta"."""
    codes = positions(fits, replicates, ["cell", "method"])
    rows = replicates_of(fits, {"sup_error": floats(replicates["sup_error"])}, codes, level)
    return measured(FIT_MEASURES, rows, fits.assign(estimand=WHOLE_FIT))


def replicates_of(
    groups: pd.DataFrame, columns: Mapping[str, FloatVector], codes: IntVector, level: float
) -> Replicates:
    """Rows with the counts of their groups."""
    attempted, failed = (groups[name].to_numpy(np.int64) for name in ("n_attempted", "n_failed"))
    return Replicates(columns, codes, attempted, failed, level)


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


def measured(
    registry: Mapping[str, Measure], rows: Replicates, groups: pd.DataFrame
) -> pd.DataFrame:
    """A row a group and measure: the group's columns, the measure, its error and the counts."""
    parts = []
    for name, measure in registry.items():
        result = measure(rows)
        parts.append(groups.assign(measure=name, **vars(result)))
    if not parts:
        return groups.assign(**{name: [] for name in RESULT_COLUMNS})
    keys = [name for name in groups if name not in RESULT_COLUMNS]
    order = np.arange(len(groups) * len(parts)).reshape(len(parts), -1).T.ravel()
    return pd.concat(parts, ignore_index=True).iloc[order][[*keys, *RESULT_COLUMNS]]


def in_study_order(cells: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Cells in their order, methods and estimands as they first appeared, "theta" last."""
    factors = cells.drop(columns="target_reps", errors="ignore")
    place = dict(zip(cells["cell"], range(len(cells)), strict=True))
    method, _ = factorize(results["method"])
    order = np.lexsort((np.arange(len(results)), method, results["cell"].map(place).to_numpy()))
    ordered = results.iloc[order].reset_index(drop=True)
    facts = factors.iloc[ordered["cell"].map(place)].reset_index(drop=True)
    return pd.concat([facts, ordered.drop(columns="cell")], axis=1)


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
    level : float
        Level of the stand-in intervals and of the Monte Carlo intervals.

    Returns
    -------
    DataFrame
        The columns `by`, `method`, then measure, value, mcse, lower, upper,
        n_used, n_attempted, n_failed. Measures that nothing was given for are
        left out. A row without a finite estimate is a failed replicate.

    Raises
    ------
    InvalidStudyError
        If a column is not in the frame, or a replicate stands there twice.

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
    level = require_level(level)
    sources = {
        "estimate": estimate,
        "std_error": std_error,
        "lower": lower,
        "upper": upper,
        "true_value": true_value,
    }
    keys = [*by] if method is None else [*by, method]
    require_columns(frame, [*keys, rep, *sources.values()])
    require_free_names(keys)
    codes, first = group_codes(frame, keys)
    groups = frame.iloc[first][keys].reset_index(drop=True)
    columns = own_columns(frame, sources, level)
    fitted = np.bincount(codes, np.isfinite(columns["estimate"]), len(groups)).astype(np.int64)
    attempted = count_attempted(frame, list(by), keys, rep)
    counts = groups.assign(n_attempted=attempted, n_failed=attempted - fitted)
    rows = replicates_of(counts, derived_columns(columns, codes), codes, level)
    return measured(answerable(sources), rows, counts).reset_index(drop=True)


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


def own_columns(
    frame: pd.DataFrame, sources: Mapping[str, str | float | None], level: float
) -> dict[str, FloatVector]:
    """The five columns the measures start from; nan where nothing was given."""
    columns = {
        name: floats(frame[source])
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


def count_attempted(
    frame: pd.DataFrame, by: list[str], keys: list[str], rep: str | None
) -> IntVector:
    """Replicates tried by each group of `keys`: those any method of its scenario has."""
    codes, first = group_codes(frame, keys)
    if rep is None:
        return np.bincount(codes, minlength=len(first)).astype(np.int64)
    twice = frame.duplicated([*keys, rep])
    if twice.any():
        named = frame.loc[twice, [*keys, rep]].iloc[0].to_dict()
        raise InvalidStudyError(f"a replicate must have one row a method; got {named} twice")
    scenario, _ = group_codes(frame, by)
    _, one_a_rep = group_codes(frame, [*by, rep])
    tried = np.bincount(scenario[one_a_rep], minlength=1)
    return tried[scenario[first]].astype(np.int64)


def answerable(sources: Mapping[str, str | float | None]) -> dict[str, Measure]:
    """Measures that what was given can say anything about."""
    given = {name for name, source in sources.items() if source is not None}
    if "std_error" in given or {"lower", "upper"} <= given:
        given.add("interval")
    asked = {**ESTIMAND_MEASURES, "fail_rate": FIT_MEASURES["fail_rate"]}
    return {name: measure for name, measure in asked.items() if NEEDS[name] <= given}
