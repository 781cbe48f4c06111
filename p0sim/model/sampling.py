"""Exact draws of weighted networks, of their bi-degrees, and of their rows.

One of three ways is taken, by the law alone: points thrown and thinned where few pairs have an edge
(sparse.py); 16-bit thresholds for small q (thresholds.py); the closed-form quantile for large q
(quantiles.py). How exact each is, its module says. A draw is a function of the generator's state,
in one thread, and does not depend on what of the network is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from p0sim.arrays import FloatVector, IntMatrix, IntVector, fill, frozen
from p0sim.model.dense import DenseLaw, QuantileLaw, ThresholdLaw, Weights, kept_tables
from p0sim.model.sparse import SparseLaw, thrown_rates

TABLE_BYTES = 64_000_000
BYTES_A_THRESHOLD = 2
# thresholds beat the quantile up to here, made for one draw or kept
MADE_LEVELS, KEPT_LEVELS = 16, 64
# points a pair below which throwing them beats a draw for each pair
SPARSE_SHARE = 1 / 64


@dataclass(frozen=True, eq=False)
class EdgeSampler:
    r"""Draws of networks of one law, prepared once.

    Parameters
    ----------
    alpha, beta : ndarray of float64, shape (n,)
        Out and in parameters, log-odds of one more unit of weight; finite.
    q : int
        Weights lie in 0..q-1.

    Notes
    -----
    Thresholds are kept where they fit in 64 MB, 2 (q - 1) n^2 bytes. A draw needs some 2 MB beside
    that and the result, or a few rows of the network where n is above 10^5.

    Examples
    --------
    >>> sampler = EdgeSampler(np.zeros(4), np.zeros(4), 2)
    >>> sampler.adjacency(np.random.Generator(np.random.PCG64(1))).sum(axis=1)
    array([1, 0, 3, 1])
    >>> sampler.degrees(np.random.Generator(np.random.PCG64(1)))[0]
    array([1, 0, 3, 1])
    """

    alpha: FloatVector
    beta: FloatVector
    q: int
    _law: DenseLaw | SparseLaw = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Copy the parameters and prepare."""
        law = _choose_law(self.alpha, self.beta, self.q, keep=True)
        fill(self, alpha=law.alpha, beta=law.beta, _law=law)

    def adjacency(self, rng: np.random.Generator) -> IntMatrix:
        """One weighted adjacency matrix, shape (n, n), zero diagonal."""
        return _adjacency(self._law, len(self.alpha), rng)

    def rows(self, rng: np.random.Generator) -> Iterator[tuple[slice, Weights]]:
        """Blocks of consecutive rows of the matrix :meth:`adjacency` would draw."""
        yield from self._law.blocks(rng)

    def degrees(self, rng: np.random.Generator) -> tuple[IntVector, IntVector]:
        """Row and column sums of the matrix :meth:`adjacency` would draw, which is not made."""
        return _degrees(self._law, len(self.alpha), rng)


def sample_rows(
    alpha: FloatVector, beta: FloatVector, q: int, rng: np.random.Generator
) -> Iterator[tuple[slice, IntMatrix]]:
    """Blocks of consecutive rows of one adjacency matrix, drawn in order.

    Memory stays near 20 MB, or a few rows of the matrix, however many nodes there are.

    Yields
    ------
    rows : slice
    weights : ndarray of int64, shape (rows, n)
        The diagonal is 0.
    """
    for rows, weights in _choose_law(alpha, beta, q, keep=False).blocks(rng):
        yield rows, weights.astype(np.int64)


def sample_adjacency(
    alpha: FloatVector, beta: FloatVector, q: int, rng: np.random.Generator
) -> IntMatrix:
    """One weighted adjacency matrix, shape (n, n), zero diagonal."""
    return _adjacency(_choose_law(alpha, beta, q, keep=False), len(alpha), rng)


def sample_degrees(
    alpha: FloatVector, beta: FloatVector, q: int, rng: np.random.Generator
) -> tuple[IntVector, IntVector]:
    """Row and column sums of the matrix :func:`sample_adjacency` draws, which is not kept."""
    return _degrees(_choose_law(alpha, beta, q, keep=False), len(alpha), rng)


def _adjacency(law: DenseLaw | SparseLaw, n: int, rng: np.random.Generator) -> IntMatrix:
    adjacency = np.empty((n, n), dtype=np.int64)
    for rows, weights in law.blocks(rng):
        adjacency[rows] = weights
    return adjacency


def _degrees(
    law: DenseLaw | SparseLaw, n: int, rng: np.random.Generator
) -> tuple[IntVector, IntVector]:
    out_degree, in_degree = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    law.add_degrees(rng, out_degree, in_degree)
    return out_degree, in_degree


def _choose_law(alpha: FloatVector, beta: FloatVector, q: int, keep: bool) -> DenseLaw | SparseLaw:
    """The way to draw; `keep` changes its speed, not what is drawn."""
    # one kind of array, whatever the caller's: kernels are compiled once
    alpha, beta = frozen(alpha), frozen(beta)
    pairs = len(alpha) ** 2
    if thrown_rates(alpha, beta, q)[1].sum() < SPARSE_SHARE * pairs:
        return SparseLaw(alpha, beta, q)
    fits = BYTES_A_THRESHOLD * (q - 1) * pairs <= TABLE_BYTES
    if q > (KEPT_LEVELS if fits else MADE_LEVELS):
        return QuantileLaw(alpha, beta, q)
    return ThresholdLaw(alpha, beta, q, kept_tables(alpha, beta, q) if keep and fits else ())
