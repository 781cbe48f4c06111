r"""The cuts that can refuse an estimate, one worst cut a size, all sizes in O(n log n).

With r, c and K = `top` in whole numbers, an estimate needs for every k = 1..n-1 (derivation in
:mod:`p0sim.estimate.existence`)

    sum of the k largest g_i(k)  <  sum_j min(c_j, K k),    g_i(k) = r_i + h_i(k),
    h_i(k) = min(max(c_i - K (k-1), 0), K).

Three observations, derived here, make one pass over k enough.

- Node i shows only three values, and they fall: with c_i = K level + rest, g_i is r_i + K while
  k <= level, r_i + rest at k = level + 1, and r_i afterwards.
- As the values fall, so does the k-th largest: the (k+1)-th largest of smaller values is at most
  the k-th largest of the old ones. So a pointer that runs once down the 3n sorted values finds the
  k largest of every k; a value that falls from above the pointer leaves them, and comes back when
  the pointer meets it again.
- The right side rises by sum_j h_j(k) from k - 1 to k: min(c, K k) - min(c, K (k-1)) = h.

Sums of whole numbers may pass 64 bits (balanced margins of 10^6 nodes, or reals at their exact
binary value). The values are then cut into digits of a large base and each digit is summed apart,
so nothing is ever rounded.

Where only the nodes of R send and only those of C receive, k runs below ``|R|``, the k largest are
taken over R, and h_i counts for i in C only. One square form serves: a column that left has c = 0,
so its h is 0, and a row that left has r = -(K + 1), so that its g is negative and never among the
largest k of ``|R|`` values that are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import IntVector
from p0sim.model.compiled import compiled

INT64_END = 2**63


def smallest_tight_size(
    rows: NDArray[Any], columns: NDArray[Any], top: int, senders: int | None = None
) -> int | None:
    """The first k whose k largest g_i reach their bound.

    Parameters
    ----------
    rows, columns : ndarray of int64 or of Python integers, shape (n,)
        Margins with equal totals, each strictly between 0 and (n-1) top; Python integers where
        n top reaches 2^63.
    top : int
        K in the unit of the margins, at least 1.
    senders : int, optional
        ``|R|``, where nodes have left: rows that left hold -(top + 1), columns that left 0.

    Returns
    -------
    int or None
        k in 1..n-1, or in ``1..|R|-1``; None where an estimate exists.

    Notes
    -----
    Exact for whole numbers of any size; O(n log n) for a given number of digits.

    Examples
    --------
    Three nodes of out-degrees 2, 6, 5 and in-degrees 7, 1, 5, weights up to 4: node 3 alone is too
    much, as node 2 can take no more than 1.

    >>> smallest_tight_size(np.array([2, 6, 5]), np.array([7, 1, 5]), 4)
    1
    """
    n = len(rows)
    level, rest = (columns // top).astype(np.int64, copy=False), columns % top
    values = np.concatenate([rows, rows + rest, rows + top])
    digits, bits = _digits(values, n, top)
    # rising and stable, lower values first: never a node's lower value after its equal higher one
    order = np.lexsort(digits if values.dtype == object else (values,))
    sizes = (n if senders is None else senders) - 1
    excess = _excess(digits[0], order, level, sizes)
    for digit in digits[1:]:
        excess = _excess(digit, order, level, sizes) + (excess >> bits)
    tight = np.flatnonzero(excess >= 0)
    return int(tight[0]) + 1 if len(tight) else None


def _digits(values: NDArray[Any], n: int, top: int) -> tuple[list[IntVector], int]:
    """Digits of the values, lowest first, and how many bits each has.

    Values lie in 0..n top and both sides of the test in 0..n^2 top: where that is below 2^63 one
    digit will do. Summed digit by digit, fewer than n digits are taken and the bound moves fewer
    than n times, by fewer than n digits: less than (n^2 + n) 2^bits <= 2^62 in all. The sign of a
    row that left goes with its highest digit, so that digits still add up to their value.
    """
    if n * n * top < INT64_END:
        return [values.astype(np.int64, copy=False)], 63
    bits = 62 - 2 * n.bit_length()
    last = ((n * top).bit_length() - 1) // bits * bits
    lower = [(values >> place) % 2**bits for place in range(0, last, bits)]
    return [digit.astype(np.int64) for digit in (*lower, values >> last)], bits


@compiled
def _excess(values: IntVector, order: IntVector, level: IntVector, sizes: int) -> IntVector:
    """Sum of the k largest g_i less its bound, for k = 1..sizes; "largest" as `order` has it.

    values : (3n,), all r_i, then all r_i + rest_i, then all r_i + K, or one digit of each
    order : (3n,), positions of the values in rising order
    level : (n,), floor(c_i / K)
    """
    n = len(level)
    newest, older = _chains(level)
    shown, passed = np.arange(3 * n) >= 2 * n, np.zeros(3 * n, dtype=np.bool_)
    excess = np.empty(sizes, dtype=np.int64)
    rise = values[2 * n :].sum() - values[:n].sum()
    total, taken, pointer = 0, 0, 3 * n
    for k in range(1, sizes + 1):
        for behind in range(1, min(k, 2) + 1):
            i = newest[k - behind]
            while i >= 0:
                old, new = (3 - behind) * n + i, (2 - behind) * n + i
                shown[old], shown[new] = False, True
                rise += values[new] - values[old]
                if passed[old]:
                    total += passed[new] * values[new] - values[old]
                    taken += passed[new] - 1
                i = older[i]
        while taken < k:
            pointer -= 1
            passed[order[pointer]] = True
            if shown[order[pointer]]:
                total += values[order[pointer]]
                taken += 1
        total -= rise
        excess[k - 1] = total
    return excess


@compiled
def _chains(level: IntVector) -> tuple[IntVector, IntVector]:
    """The nodes of each level in a chain: its newest node, and the next older one of each; -1 ends.

    Levels lie in 0..n-2, as every c is below (n-1) K.
    """
    newest, older = np.full(len(level), -1), np.empty_like(level)
    for i in range(len(level)):
        older[i] = newest[level[i]]
        newest[level[i]] = i
    return newest, older
