"""Chi-square tests of counts, with small cells merged so that the limit law can be trusted."""

from __future__ import annotations

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6


def merge_small(
    counts: np.ndarray, expected: np.ndarray, least: float = 10.0
) -> tuple[np.ndarray, np.ndarray]:
    """Join cells, the rarest first, until each expects at least `least` counts."""
    order = np.argsort(expected, kind="stable")
    groups = np.cumsum(expected[order])
    small = int(np.searchsorted(groups, least)) + 1 if expected.min() < least else 1
    joined = [order[:small], *[order[i : i + 1] for i in range(small, len(order))]]
    merged = [(counts[cells].sum(), expected[cells].sum()) for cells in joined]
    # The joined cell may be below a still small neighbour: repeat until none is left.
    got, wanted = (np.array(side, dtype=float) for side in zip(*merged, strict=True))
    return (
        merge_small(got, wanted, least)
        if wanted.min() < least and len(wanted) > 1
        else (got, wanted)
    )


def p_value(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """Chi-square p-value of counts against a law."""
    counts, probabilities = np.ravel(counts).astype(float), np.ravel(probabilities)
    if counts[probabilities == 0].sum() > 0:
        return 0.0
    got, wanted = merge_small(counts, counts.sum() * probabilities)
    statistic = ((got - wanted) ** 2 / wanted).sum()
    return float(stats.chi2.sf(statistic, len(got) - 1))
