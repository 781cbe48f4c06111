"""Small frames that figures are drawn from: QQ quantiles, zipped intervals, single estimates.

A row belongs to a target: a cell, method and estimand. A target that has nothing to show is one
row whose numbers are missing, so that a figure can say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from p0sim.arrays import FloatVector, IntVector, require_level
from p0sim.columns import DTYPES, SUMMARIES
from p0sim.performance.bands import order_statistic_band
from p0sim.performance.measures import proportion
from p0sim.performance.samples import covers, factorize
from p0sim.performance.summarise import (
    count_fits,
    estimands_of_cells,
    expected_targets,
    floats,
    positions,
)

# As many as the eye tells apart in a panel: these frames are kept with every report.
QQ_POINTS = 100
ZIPPER_ROWS = 100
POINTS = 100
COVERAGE_LEVEL = 0.95
TARGET = ["cell", "method", "estimand"]


def qq_summary(
    estimates: pd.DataFrame,
    cells: pd.DataFrame,
    replicates: pd.DataFrame,
    level: float = 0.95,
    *,
    estimands: Mapping[str, Sequence[str]] | None = None,
) -> pd.DataFrame:
    """Sorted standardised errors of every target beside normal quantiles and their band.

    Parameters
    ----------
    estimates, cells, replicates : DataFrame
        Frames of a study, as described in `p0sim.columns`.
    level : float
        Probability that the whole sample of a target lies in its band when z is
        standard normal.
    estimands : mapping of str to sequence of str, optional
        What was asked for in each cell; left out, as in
        `p0sim.performance.summarise.performance`.

    Returns
    -------
    DataFrame
        As `p0sim.columns.SUMMARIES` says: at most 100 rows a target, those of
        the tails among them.

    Raises
    ------
    InvalidParametersError
        If the level is not in (0, 1).
    InvalidStudyError
        If `replicates` lacks a fit of `estimates`.

    Examples
    --------
    >>> cells = pd.DataFrame({"cell": ["c1"], "n": [100]})
    >>> replicates = pd.DataFrame({"cell": "c1", "method": "paper", "rep": [1, 2, 3],
    ...     "status": ["ok", "ok", "no_estimate"]})
    >>> estimates = pd.DataFrame({"cell": "c1", "method": "paper", "rep": [1, 2],
    ...     "estimand": "alpha[1]", "z": [1.5, -0.5]})
    >>> frame = qq_summary(estimates, cells, replicates)
    >>> print(frame[["rank", "expected", "z", "upper", "n_used"]].round(2).to_string(index=False))
     rank  expected    z  upper  n_used
        1     -0.43 -0.5   1.20       2
        2      0.43  1.5   2.48       2
    """
    level = require_level(level)
    targets, codes = targets_of(estimates, cells, replicates, estimands)
    z = floats(estimates["z"])
    rows = ranked(z, codes, np.isfinite(z), len(targets)).assign(z=lambda frame: z[frame["at"]])
    rows = rows.merge(qq_places(rows["n_used"].unique().tolist(), level), on=["n_used", "rank"])
    outside = (rows["z"] < rows["lower"]) | (rows["z"] > rows["upper"])
    counted = np.bincount(rows["target"], outside, len(targets)).astype(np.int64)
    return summary("qq", targets.assign(n_outside=counted), rows[rows["shown"].to_numpy(np.bool_)])


def zipper_summary(
    estimates: pd.DataFrame,
    cells: pd.DataFrame,
    replicates: pd.DataFrame,
    *,
    estimands: Mapping[str, Sequence[str]] | None = None,
) -> pd.DataFrame:
    """Intervals of every target by the distance of the truth from their middle, one a centile.

    Parameters
    ----------
    estimates, cells, replicates, estimands
        As in `qq_summary`.

    Returns
    -------
    DataFrame
        As `p0sim.columns.SUMMARIES` says: at most 100 rows a target.

    Raises
    ------
    InvalidStudyError
        If `replicates` lacks a fit of `estimates`.

    Notes
    -----
    Distances are counted in half-widths: proportional to abs(z) for intervals
    estimate +- constant x std_error, and at most 1 exactly where any interval,
    symmetric about its estimate or not, holds the truth.

    References
    ----------
    .. [1] Morris, White, Crowther (2019), Using simulation studies to evaluate
       statistical methods, Statistics in Medicine 38:2074-2102, Figure 3.

    Examples
    --------
    >>> cells = pd.DataFrame({"cell": ["c1"], "n": [100]})
    >>> replicates = pd.DataFrame({"cell": "c1", "method": "paper", "rep": [1, 2],
    ...     "status": "ok"})
    >>> estimates = pd.DataFrame({"cell": "c1", "method": "paper", "rep": [1, 2],
    ...     "estimand": "alpha[1]", "lower": [0.1, -1.0], "upper": [0.9, 1.1], "true_value": 0.0})
    >>> frame = zipper_summary(estimates, cells, replicates)
    >>> print(frame[["centile", "lower", "upper", "covers", "coverage"]].to_string(index=False))
     centile  lower  upper  covers  coverage
        50.0   -1.0    1.1     1.0       0.5
       100.0    0.1    0.9     0.0       0.5
    """
    targets, codes = targets_of(estimates, cells, replicates, estimands)
    lower, upper, truth = (floats(estimates[name]) for name in ("lower", "upper", "true_value"))
    covered = covers(lower, truth, upper)
    off = distance(lower, truth, upper, covered)
    rows = ranked(off, codes, np.isfinite(covered), len(targets))
    held = {"lower": lower, "upper": upper, "covers": covered, "true_value": truth}
    rows = rows.assign(**{name: column[rows["at"]] for name, column in held.items()})
    rows = rows.merge(centiles(rows["n_used"].unique().tolist()), on=["n_used", "rank"])
    return summary("zipper", with_coverage(targets, codes, covered), rows)


def points_summary(
    estimates: pd.DataFrame,
    cells: pd.DataFrame,
    replicates: pd.DataFrame,
    *,
    estimands: Mapping[str, Sequence[str]] | None = None,
) -> pd.DataFrame:
    """The first 100 estimates of every target with their standard errors.

    Parameters
    ----------
    estimates, cells, replicates, estimands
        As in `qq_summary`.

    Returns
    -------
    DataFrame
        As `p0sim.columns.SUMMARIES` says, in the order of the replicates.
        n_used counts all that have an estimate and a standard error.

    Raises
    ------
    InvalidStudyError
        If `replicates` lacks a fit of `estimates`.

    Examples
    --------
    >>> cells = pd.DataFrame({"cell": ["c1"], "n": [100]})
    >>> replicates = pd.DataFrame({"cell": "c1", "method": "paper", "rep": [1, 2],
    ...     "status": ["ok", "no_estimate"]})
    >>> estimates = pd.DataFrame({"cell": "c1", "method": "paper", "rep": [1], "estimate": 0.5,
    ...     "estimand": "alpha[1]", "std_error": 0.2, "lower": 0.1, "upper": 0.9,
    ...     "true_value": 0.0})
    >>> frame = points_summary(estimates, cells, replicates)
    >>> print(frame[["rep", "estimate", "std_error", "covers", "n_used"]].to_string(index=False))
     rep  estimate  std_error  covers  n_used
       1       0.5        0.2     0.0       1
    """
    targets, codes = targets_of(estimates, cells, replicates, estimands)
    names = ("estimate", "std_error", "lower", "upper", "true_value")
    held = {name: floats(estimates[name]) for name in names}
    held["covers"] = covers(held.pop("lower"), held["true_value"], held.pop("upper"))
    known = np.isfinite(held["estimate"]) & np.isfinite(held["std_error"])
    number = floats(estimates["rep"])
    rows = ranked(number, codes, known, len(targets))
    rows = rows[rows["rank"] <= POINTS]
    rows = rows.assign(**{name: column[rows["at"]] for name, column in held.items()})
    return summary("points", targets, rows.assign(rep=number[rows["at"]].astype(np.int64)))


def targets_of(
    estimates: pd.DataFrame,
    cells: pd.DataFrame,
    replicates: pd.DataFrame,
    estimands: Mapping[str, Sequence[str]] | None,
) -> tuple[pd.DataFrame, IntVector]:
    """Every target with its counts, in study order, and the target of every estimate."""
    expected = estimands_of_cells(cells, estimates, estimands)
    targets = expected_targets(count_fits(replicates), estimates, expected)
    place = targets["cell"].map({cell: i for i, cell in enumerate(cells["cell"])})
    method, _ = factorize(targets["method"])
    order = np.lexsort((np.arange(len(targets)), method, place.to_numpy(np.int64)))
    targets = targets.iloc[order].reset_index(drop=True)
    return targets, positions(targets, estimates, TARGET)


def ranked(
    values: FloatVector, codes: IntVector, known: NDArray[np.bool_], n_targets: int
) -> pd.DataFrame:
    """Known rows in ascending order inside their target: target, at (position), rank, n_used."""
    (at,) = np.nonzero(known)
    at = at[np.lexsort((values[at], codes[at]))]
    target = codes[at]
    n_used = np.bincount(target, minlength=n_targets)
    start = np.cumsum(n_used) - n_used
    rank = np.arange(at.size) - start[target] + 1
    return pd.DataFrame({"target": target, "at": at, "rank": rank, "n_used": n_used[target]})


def qq_places(sizes: Sequence[int], level: float) -> pd.DataFrame:
    """For each sample size and rank: normal quantile, band as z, whether a figure shows it."""
    parts = []
    for n in sizes:
        rank = np.arange(1, n + 1)
        lower, upper = (special.ndtri(bound) for bound in order_statistic_band(n, level))
        shown = np.isin(rank - 1, ranks_shown(n))
        expected = special.ndtri(rank / (n + 1))
        parts.append(pd.DataFrame({"n_used": n, "rank": rank, "expected": expected}))
        parts[-1] = parts[-1].assign(lower=lower, upper=upper, shown=shown)
    return stacked(parts, ["n_used", "rank", "expected", "lower", "upper", "shown"])


def ranks_shown(n: int) -> IntVector:
    """Positions of a sorted sample to draw: all of a small one, else tails and even in z."""
    if n <= QQ_POINTS:
        return np.arange(n)
    edge = QQ_POINTS // 6
    reach = special.ndtri(n / (n + 1))
    even = special.ndtr(np.linspace(-reach, reach, QQ_POINTS - 2 * edge)) * (n + 1) - 1
    inner = np.clip(np.rint(even), 0, n - 1).astype(np.int64)
    return np.unique(np.concatenate([np.arange(edge), inner, np.arange(n - edge, n)]))


def centiles(sizes: Sequence[int]) -> pd.DataFrame:
    """For each sample size the ranks in the middle of their centiles; all of a small one."""
    parts = []
    for n in sizes:
        rows = min(n, ZIPPER_ROWS)
        step = np.arange(1, rows + 1)
        rank = np.ceil((step - 0.5) * n / rows).astype(np.int64)
        parts.append(pd.DataFrame({"n_used": n, "rank": rank, "centile": 100.0 * step / rows}))
    return stacked(parts, ["n_used", "rank", "centile"])


def stacked(parts: Sequence[pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """The parts below one another; without any, a frame that has the columns and no rows."""
    if parts:
        return pd.concat(parts, ignore_index=True)
    return pd.DataFrame({name: np.empty(0, dtype=np.int64) for name in names})


def distance(
    lower: FloatVector, truth: FloatVector, upper: FloatVector, covered: FloatVector
) -> FloatVector:
    """Truth from mid-interval in half-widths; an interval without a middle is all or nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.abs((lower + upper) / 2 - truth) / ((upper - lower) / 2)
    return np.where(np.isnan(off), np.where(covered == 1, 0.0, np.inf), off)


def with_coverage(targets: pd.DataFrame, codes: IntVector, covered: FloatVector) -> pd.DataFrame:
    """Targets with their coverage and its Monte Carlo interval."""
    known = np.isfinite(covered)
    n_used = np.bincount(codes[known], minlength=len(targets)).astype(np.int64)
    covering = np.bincount(codes[known], covered[known], len(targets))
    share = proportion(covering, n_used, COVERAGE_LEVEL, n_used)
    return targets.assign(
        coverage=share.value, coverage_lower=share.lower, coverage_upper=share.upper
    )


def summary(name: str, targets: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows beside the facts of their target, typed; a target without rows keeps one."""
    n_used = rows.drop_duplicates("target").set_index("target")["n_used"]
    targets = targets.assign(n_used=n_used.reindex(range(len(targets)), fill_value=0))
    joined = targets.rename_axis("target").reset_index()
    joined = joined.merge(rows.drop(columns=["n_used", "at"]), on="target", how="left")
    kinds = {column.name: DTYPES[column.kind] for column in SUMMARIES[name]}
    return joined[list(kinds)].astype(kinds)
