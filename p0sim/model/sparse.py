r"""Draws of networks with few edges, at a cost that grows with the edges and not with the pairs.

A pair has no edge with probability 1/S(x), S(x) = sum_{k<q} e^{kx}: it is empty with the rate h(x)
= log S(x), as if points fell on it by a Poisson law of mean h. So points are thrown on all pairs of
a row with the larger means c e^{alpha_i} e^{beta_j} >= h(x_ij), which factor: their number in the
row is Poisson of mean c e^{alpha_i} sum_j e^{beta_j}, and their columns are independent draws with
chances proportional to e^{beta_j}, by an alias table (Walker 1977). A point is kept with chance
h(x_ij)/(c e^{x_ij}), and a pair with at least one kept point is an edge: by the thinning theorem
exactly with probability 1 - e^{-h} = P(a >= 1), pairs being independent. Given an edge, a - 1 has
the same law with q - 1 levels, drawn by its quantile. Points on the diagonal are dropped. (Derived
here.)

The law is exact but for float64: chances are compared with 53 random bits, the alias table's
entries carry rounding errors of 2^-53, and numpy's Poisson law is what it is. P(a >= 1) is right to
about 2^-50 relatively where it is not itself below 2^-53/n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from p0sim.arrays import FloatVector, IntMatrix, IntVector, fill
from p0sim.model.compiled import compiled
from p0sim.model.edge_law import edge_log_normalizer
from p0sim.model.quantiles import UNIT, quantile
from p0sim.model.raw_words import WordVector, raw_words

# points thrown at a time, about: a band of rows is as many as expect these
POINTS_AT_ONCE = 2**15
# pairs of the adjacency handed out at a time
BLOCK_PAIRS = 2**20
GRID_STEP = 0.01
GRID_START = -6.0
LARGEST_LOG_ODDS = 50.0


@dataclass(frozen=True, eq=False, init=False)
class SparseLaw:
    """What is prepared once to draw networks of one law.

    Attributes
    ----------
    alpha, beta : ndarray, shape (n,)
    q : int
    bound : float
        c of the module's head.
    rates : ndarray, shape (n,)
        Expected points of each row.
    keep, alias : ndarray, shape (n,)
        Alias table of the columns.
    """

    alpha: FloatVector
    beta: FloatVector
    q: int
    bound: float
    rates: FloatVector
    keep: FloatVector
    alias: IntVector

    def __init__(self, alpha: FloatVector, beta: FloatVector, q: int) -> None:
        keep, alias = alias_table(np.exp(beta - beta.max()))
        bound, rates = thrown_rates(alpha, beta, q)
        fill(self, alpha=alpha, beta=beta, q=q, bound=bound, rates=rates, keep=keep, alias=alias)

    def blocks(self, rng: np.random.Generator) -> Iterator[tuple[slice, IntMatrix]]:
        """Rows of one network, of shape (rows, n) and zero on the diagonal."""
        height = max(1, BLOCK_PAIRS // len(self.beta))
        for rows, senders, receivers, weights in self._edges(rng):
            for start in range(rows.start, rows.stop, height):
                block = slice(start, min(start + height, rows.stop))
                own = slice(*np.searchsorted(senders, (block.start, block.stop)))
                dense = np.zeros((block.stop - block.start, len(self.beta)), dtype=np.int64)
                dense[senders[own] - block.start, receivers[own]] = weights[own]
                yield block, dense

    def add_degrees(
        self, rng: np.random.Generator, out_degree: IntVector, in_degree: IntVector
    ) -> None:
        """Add the row and column sums of one network."""
        for _, senders, receivers, weights in self._edges(rng):
            add_edges(senders, receivers, weights, out_degree, in_degree)

    def _edges(
        self, rng: np.random.Generator
    ) -> Iterator[tuple[slice, IntVector, IntVector, IntVector]]:
        """Edges of one network, band by band: rows, then senders, receivers and weights."""
        last_sender = np.full(len(self.beta), -1)
        width = 2 if self.q == 2 else 4
        for rows in self._row_bands():
            counts = rng.poisson(self.rates[rows])
            words = raw_words(rng, int(counts.sum()) * width)
            edges = thin_points(
                counts, words, rows.start, self.alpha, self.beta, self.q, self.bound,
                self.keep, self.alias, last_sender,
            )  # fmt: skip
            yield (rows, *edges)

    def _row_bands(self) -> Iterator[slice]:
        reached = np.cumsum(self.rates)
        start = 0
        while start < len(reached):
            before = reached[start - 1] if start else 0.0
            stop = int(np.searchsorted(reached, before + POINTS_AT_ONCE, side="right"))
            yield slice(start, max(stop, start + 1))
            start = max(stop, start + 1)


def thrown_rates(alpha: FloatVector, beta: FloatVector, q: int) -> tuple[float, FloatVector]:
    r"""The bound c and the expected points c e^{alpha_i} sum_j e^{beta_j} of each row.

    Parameters
    ----------
    alpha, beta : ndarray, shape (n,)
    q : int
        Weights lie in 0..q-1.

    Returns
    -------
    bound : float
        No smaller than h(x)/e^x for any x up to max alpha + max beta.
    rates : ndarray, shape (n,)
        Infinite, and so is the bound, where log-odds reach beyond 50: not sparse by any measure.

    Notes
    -----
    h grows with x, so on [x - 0.01, x] the ratio is at most e^{0.01} h(x)/e^x: the maximum over a
    grid bounds it from -6 on. Below, h(x) <= -log(1 - e^x) gives less than 1.0013.

    Examples
    --------
    >>> bound, rates = thrown_rates(np.full(3, -8.0), np.zeros(3), 2)
    >>> round(bound, 4), rates.round(5)
    (1.0013, array([0.00101, 0.00101, 0.00101]))
    """
    largest = float(alpha.max()) + float(beta.max())
    if largest > LARGEST_LOG_ODDS:
        return np.inf, np.full(len(alpha), np.inf)
    bound = 1.0013
    if largest > GRID_START:
        grid = np.arange(GRID_START, largest, GRID_STEP) + GRID_STEP
        grid[-1] = largest
        bound = max(bound, float((np.exp(GRID_STEP - grid) * edge_log_normalizer(grid, q)).max()))
    row_odds = np.exp(alpha - alpha.max()) * np.exp(largest)
    return bound, bound * row_odds * np.exp(beta - beta.max()).sum()


@compiled
def alias_table(masses: FloatVector) -> tuple[FloatVector, IntVector]:
    """Walker's table: entry j is kept with chance keep[j], else it stands for alias[j].

    Parameters
    ----------
    masses : ndarray of float64, shape (n,)
        Not negative, not all 0; chances are proportional to them.

    Returns
    -------
    keep : ndarray of float64, shape (n,)
    alias : ndarray of int64, shape (n,)

    References
    ----------
    .. [1] Walker, An efficient method for generating discrete random variables with general
       distributions, ACM Trans. Math. Software 3, 1977; the linear construction is Vose's, 1991.

    Examples
    --------
    >>> alias_table(np.array([1.0, 3.0]))
    (array([0.5, 1. ]), array([1, 1]))
    """
    n = len(masses)
    keep, alias = masses * (n / masses.sum()), np.arange(n)
    short, tall = list(np.flatnonzero(keep < 1)), list(np.flatnonzero(keep >= 1))
    while len(short) > 0 and len(tall) > 0:
        low, high = short.pop(), tall[-1]
        alias[low] = high
        keep[high] -= 1 - keep[low]
        if keep[high] < 1:
            short.append(tall.pop())
    # what is left is 1 but for rounding
    for j in short:
        keep[j] = 1.0
    for j in tall:
        keep[j] = 1.0
    return keep, alias


@compiled
def thin_points(
    counts: IntVector,
    words: WordVector,
    first_row: int,
    alpha: FloatVector,
    beta: FloatVector,
    q: int,
    bound: float,
    keep: FloatVector,
    alias: IntVector,
    last_sender: IntVector,
) -> tuple[IntVector, IntVector, IntVector]:
    """Edges of a band of rows from the numbers of points thrown on them.

    Parameters
    ----------
    counts : ndarray of int64, shape (rows,)
    words : ndarray of uint64, shape (width * points,)
        Two words a point if q is 2 and four otherwise.
    first_row : int
    alpha, beta : ndarray of float64, shape (n,)
    q : int
    bound : float
    keep, alias : ndarray, shape (n,)
    last_sender : ndarray of int64, shape (n,)
        The last row with an edge to each column, from -1; written.

    Returns
    -------
    senders, receivers, weights : ndarray of int64, shape (edges,)
    """
    width = 2 if q == 2 else 4
    edges = np.empty((3, len(words) // width), np.int64)
    point = found = 0
    for i in range(first_row, first_row + len(counts)):
        for _ in range(counts[i - first_row]):
            own = words[width * point : width * (point + 1)]
            point += 1
            j = _column(own[0], keep, alias)
            x = alpha[i] + beta[j]
            if i != j and last_sender[j] != i and _is_kept(own[1], bound, x, q):
                last_sender[j] = i
                weight = 1 if q == 2 else 1 + quantile(own[2], own[3], x, q - 1)
                edges[:, found] = i, j, weight
                found += 1
    return edges[0, :found], edges[1, :found], edges[2, :found]


@compiled
def _column(word: np.uint64, keep: FloatVector, alias: IntVector) -> int:
    """A column at the entry and the fraction that word * n / 2^64 consists of."""
    n, half = np.uint64(len(keep)), np.uint64(32)
    high, low = word >> half, word & np.uint64(0xFFFFFFFF)
    entry = int(np.int64((high * n + ((low * n) >> half)) >> half))
    fraction = ((word * n) >> np.uint64(11)) * UNIT
    return entry if fraction < keep[entry] else int(alias[entry])


@compiled
def _is_kept(word: np.uint64, bound: float, x: float, q: int) -> bool:
    """Whether u c < h(x)/e^x; h is at least log(1 + e^x), so 1 - e^x/2 mostly answers."""
    level, odds = (word >> np.uint64(11)) * UNIT * bound, np.exp(x)
    return bool(level < 1 - odds / 2 or level * odds < _empty_rate(x, q))


@compiled
def _empty_rate(x: float, q: int) -> float:
    """h(x), as :func:`~p0sim.model.edge_law.edge_log_normalizer`."""
    if q == 2:
        return float(max(x, 0.0) + np.log1p(np.exp(-abs(x))))
    ratio = np.expm1(-(q - 1) * abs(x)) / np.expm1(-abs(x)) if x != 0 else q - 1.0
    return float((q - 1) * max(x, 0.0) + np.log1p(np.exp(-abs(x)) * ratio))


@compiled
def add_edges(
    senders: IntVector,
    receivers: IntVector,
    weights: IntVector,
    out_degree: IntVector,
    in_degree: IntVector,
) -> None:
    """Add the weights of edges to the degrees of their ends."""
    for edge in range(len(weights)):
        out_degree[senders[edge]] += weights[edge]
        in_degree[receivers[edge]] += weights[edge]
