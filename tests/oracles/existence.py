"""Does a matrix with these margins and entries strictly inside (0, K) exist? Some slow answers.

A network flow has arcs i -> j (i != j) with 0 < x_ij < K = q - 1. For a set I of rows and a set J
of columns, r(I) - c(J) is the flow from I to outside J minus the flow from outside I to J, so it
lies below K times the number of arcs from I to outside J, strictly if any arc is concerned.
By Hoffman's circulation theorem these cuts are also enough for 0 <= x_ij <= K; an arc that
is 0 or K in every such matrix lies in a cut that holds with equality, and the average of matrices
that free one arc each is strictly inside.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog


def treat(
    out_degree: Sequence[float], in_degree: Sequence[float], margins: str
) -> tuple[list[Fraction], list[Fraction]]:
    """Margins with equal totals, in exact fractions.

    balanced: half of the excess is taken from the rows and given to the columns, evenly.
    drop_last: the last in-degree is replaced by the one the other 2n - 1 imply.
    """
    rows, cols = [Fraction(r) for r in out_degree], [Fraction(c) for c in in_degree]
    excess = sum(rows) - sum(cols)
    if margins == "balanced":
        share = excess / (2 * len(rows))
        return [r - share for r in rows], [c + share for c in cols]
    return rows, [*cols[:-1], cols[-1] + excess]


def _cut_sizes(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Members of all 2^n subsets, and arcs from I to outside J, from outside I to J."""
    subsets = np.array(list(itertools.product((0, 1), repeat=n)))
    off_diagonal = 1 - np.eye(n, dtype=np.int64)
    forward = subsets @ off_diagonal @ (1 - subsets).T
    backward = (1 - subsets) @ off_diagonal @ subsets.T
    return subsets, forward, backward


_CUTS: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}


def smallest_slack(rows: Sequence[Fraction], cols: Sequence[Fraction], q: int) -> Fraction:
    """Smallest K |arcs of I -> outside J| - (r(I) - c(J)) over all cuts that concern an arc."""
    n = len(rows)
    subsets, forward, backward = _CUTS.setdefault(n, _cut_sizes(n))
    scale = int(np.lcm.reduce([f.denominator for f in (*rows, *cols)], dtype=object))
    row_sums = subsets @ np.array([int(r * scale) for r in rows], dtype=object)
    col_sums = subsets @ np.array([int(c * scale) for c in cols], dtype=object)
    slack = (q - 1) * scale * forward.astype(object) - (row_sums[:, None] - col_sums)
    return Fraction(int(slack[(forward > 0) | (backward > 0)].min()), scale)


def exists_by_cuts(rows: Sequence[Fraction], cols: Sequence[Fraction], q: int) -> bool:
    """Totals agree and every cut is slack."""
    return sum(rows) == sum(cols) and smallest_slack(rows, cols, q) > 0


def exists_by_senders(rows: Sequence[Fraction], cols: Sequence[Fraction], q: int) -> bool:
    """Every set I of rows against its worst J, chosen column by column.

    Column j costs c_j inside J, and K for each of the rows of I but its own outside.
    """
    scale = int(np.lcm.reduce([f.denominator for f in (*rows, *cols)], dtype=object))
    sets = np.array(list(itertools.product((0, 1), repeat=len(rows))))
    whole_rows, whole_cols = (np.array([int(f * scale) for f in side]) for side in (rows, cols))
    senders = sets.sum(axis=1, keepdims=True) - sets
    room = np.minimum(whole_cols, (q - 1) * scale * senders).sum(axis=1) - sets @ whole_rows
    proper = (sets.sum(axis=1) > 0) & (sets.sum(axis=1) < len(rows))
    return exists_by_single_margins(rows, cols, q) and bool((room[proper] > 0).all())


def smallest_tight_size(rows: np.ndarray, columns: np.ndarray, top: int) -> int | None:
    """The first k whose k largest g_i are not below their bound, k by k as the formula reads."""
    for k in range(1, len(rows)):
        raised = rows + np.minimum(np.maximum(columns - top * (k - 1), 0), top)
        if np.sort(raised)[-k:].sum() >= np.minimum(columns, top * k).sum():
            return k
    return None


def cut_slack(
    rows: Sequence[Fraction],
    cols: Sequence[Fraction],
    q: int,
    senders: set[int],
    receivers: set[int],
) -> Fraction:
    """Slack of one cut (I, J) = (senders, receivers)."""
    n = len(rows)
    crossing = sum(i != j for i in senders for j in set(range(n)) - receivers)
    return (q - 1) * crossing - sum(rows[i] for i in senders) + sum(cols[j] for j in receivers)


def largest_margin_by_lp(rows: Sequence[Fraction], cols: Sequence[Fraction], q: int) -> float:
    """Largest t with t <= x_ij <= K - t for all arcs; minus infinity if there is no flow at all."""
    n = len(rows)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    equal = np.zeros((2 * n, len(pairs) + 1))
    for column, (i, j) in enumerate(pairs):
        equal[i, column] = equal[n + j, column] = 1
    identity, ones = np.eye(len(pairs)), np.ones((len(pairs), 1))
    below = np.block([[-identity, ones], [identity, ones]])
    bound = np.repeat([0.0, q - 1.0], len(pairs))
    target = np.array([float(f) for f in (*rows, *cols)])
    cost = np.append(np.zeros(len(pairs)), -1.0)
    found = linprog(cost, below, bound, equal, target, bounds=(None, None), method="highs")
    return -found.fun if found.status == 0 else -np.inf


def exists_by_lp(rows: Sequence[Fraction], cols: Sequence[Fraction], q: int) -> bool:
    """Slack of the linear program above the rounding of its solver."""
    return largest_margin_by_lp(rows, cols, q) > 1e-7


def exists_by_single_margins(rows: Sequence[Fraction], cols: Sequence[Fraction], q: int) -> bool:
    """Control: looks at one node at a time and misses separated blocks."""
    full = (len(rows) - 1) * (q - 1)
    return sum(rows) == sum(cols) and all(0 < f < full for f in (*rows, *cols))


def exists_by_sorted_rows(rows: Sequence[Fraction], cols: Sequence[Fraction], q: int) -> bool:
    """Control: the cuts of the k largest rows alone, wrong for q >= 3 and for real margins."""
    if not exists_by_single_margins(rows, cols, q):
        return False
    largest, cap = 0 * rows[0], q - 1
    order = sorted(range(len(rows)), key=lambda i: (rows[i], cols[i]), reverse=True)
    for k in range(1, len(rows)):
        chosen = set(order[:k])
        largest = sum(rows[i] for i in chosen)
        if largest >= sum(min(c, cap * (k - (j in chosen))) for j, c in enumerate(cols)):
            return False
    return True
