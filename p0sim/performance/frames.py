"""Measures of many groups as one tidy frame."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from p0sim.arrays import FloatVector, IntVector
from p0sim.columns import PERFORMANCE
from p0sim.performance.comparisons import PAIRED_MEASURES, Mask
from p0sim.performance.measures import Measure
from p0sim.performance.samples import Replicates, factorize

KEYS = ("method", "estimand", "estimand_rule")
RESULT_COLUMNS = tuple(column.name for column in PERFORMANCE if column.name not in KEYS)


def measured(
    registry: Mapping[str, Measure], rows: Replicates, groups: pd.DataFrame
) -> pd.DataFrame:
    """A row a group and measure: the group's columns, the measure, its error and the counts."""
    parts = []
    for name, measure in registry.items():
        # The squares of a fit that ran away may be beyond the largest float.
        with np.errstate(over="ignore", invalid="ignore"):
            result = measure(rows)
        parts.append(groups.assign(measure=name, **vars(result)))
    if not parts:
        return groups.assign(**{name: [] for name in RESULT_COLUMNS})
    keys = [name for name in groups if name not in RESULT_COLUMNS]
    order = np.arange(len(groups) * len(parts)).reshape(len(parts), -1).T.ravel()
    return pd.concat(parts, ignore_index=True).iloc[order][[*keys, *RESULT_COLUMNS]]


def compared(
    registry: Mapping[str, Measure], rows: Replicates, groups: pd.DataFrame, is_reference: Mask
) -> pd.DataFrame:
    """As `measured`, without the comparisons of the reference method with itself.

    Parameters
    ----------
    is_reference : ndarray of bool, shape (G,)
        Groups of the reference method.
    """
    results = measured(registry, rows, groups)
    paired = results["measure"].isin(list(PAIRED_MEASURES)).to_numpy(np.bool_)
    return results[~(paired & np.repeat(is_reference, len(registry)))]


def in_study_order(cells: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Cells in their order, methods and estimands as they first appeared, "theta" last."""
    factors = cells.drop(columns="target_reps", errors="ignore")
    place = dict(zip(cells["cell"], range(len(cells)), strict=True))
    method, _ = factorize(results["method"])
    order = np.lexsort((np.arange(len(results)), method, results["cell"].map(place).to_numpy()))
    ordered = results.iloc[order].reset_index(drop=True)
    facts = factors.iloc[ordered["cell"].map(place)].reset_index(drop=True)
    return pd.concat([facts, ordered.drop(columns="cell")], axis=1)


def replicates_of(
    groups: pd.DataFrame, columns: Mapping[str, FloatVector], codes: IntVector, level: float
) -> Replicates:
    """Rows with the counts of their groups."""
    attempted, failed = (groups[name].to_numpy(np.int64) for name in ("n_attempted", "n_failed"))
    return Replicates(columns, codes, attempted, failed, level)
