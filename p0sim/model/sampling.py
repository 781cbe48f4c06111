"""Exact draws of weighted networks by inversion of the edge law."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from p0sim.arrays import FloatVector, IntMatrix, IntVector
from p0sim.model.edge_law import edge_quantile

PAIRS_AT_ONCE = 2**20


def sample_rows(
    alpha: FloatVector, beta: FloatVector, q: int, rng: np.random.Generator
) -> Iterator[tuple[slice, IntMatrix]]:
    """Blocks of consecutive rows of one adjacency matrix, drawn in order.

    A weight is the law's quantile at a uniform number of 53 random bits. Memory stays near 50 MB
    however many nodes there are; the draw does not depend on where blocks end.

    Yields
    ------
    rows : slice
    weights : ndarray, shape (rows, n)
        The diagonal is 0.
    """
    n = len(alpha)
    height = max(1, PAIRS_AT_ONCE // n)
    for start in range(0, n, height):
        rows = slice(start, min(start + height, n))
        log_odds = np.add.outer(alpha[rows], beta)
        weights = edge_quantile(rng.random(log_odds.shape), log_odds, q)
        weights[np.arange(len(weights)), np.arange(rows.start, rows.stop)] = 0
        yield rows, weights


def sample_adjacency(
    alpha: FloatVector, beta: FloatVector, q: int, rng: np.random.Generator
) -> IntMatrix:
    """One weighted adjacency matrix, shape (n, n), zero diagonal."""
    return np.vstack([weights for _, weights in sample_rows(alpha, beta, q, rng)])


def sample_degrees(
    alpha: FloatVector, beta: FloatVector, q: int, rng: np.random.Generator
) -> tuple[IntVector, IntVector]:
    """Row and column sums of the matrix :func:`sample_adjacency` draws, which is not kept."""
    out_degree = np.zeros(len(alpha), dtype=np.int64)
    in_degree = np.zeros(len(alpha), dtype=np.int64)
    for rows, weights in sample_rows(alpha, beta, q, rng):
        out_degree[rows] = weights.sum(axis=1)
        in_degree += weights.sum(axis=0)
    return out_degree, in_degree
