"""Draws of networks pair by pair: by thresholds for small q, by the quantile for large q."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import FloatVector, IntVector
from p0sim.model.compiled import compiled
from p0sim.model.quantiles import quantiles
from p0sim.model.raw_words import raw_words
from p0sim.model.thresholds import PIECE, Levels, count_thresholds, settle_ties, tabulate

Weights: TypeAlias = NDArray[np.uint16] | NDArray[np.int64]

# words are drawn for bands of whole rows of about so many pairs, ties after each: part of what a
# seed means
PAIRS_AT_ONCE = 2**17
LEVELS_A_WORD = 4


@dataclass(frozen=True, eq=False)
class DenseLaw(ABC):
    """Bands of rows, drawn in order; every pair has its own random bits, the diagonal too.

    What comes out on the diagonal is set to 0, and a tie there is not settled.
    """

    alpha: FloatVector
    beta: FloatVector
    q: int

    @abstractmethod
    def draw(self, rows: slice, rng: np.random.Generator) -> Weights:
        """Weights of a band, shape (rows * n,), with anything on the diagonal."""

    def blocks(self, rng: np.random.Generator) -> Iterator[tuple[slice, Weights]]:
        """Rows of one network, of shape (rows, n) and zero on the diagonal."""
        n = len(self.beta)
        for rows in row_bands(n):
            weights = self.draw(rows, rng)
            weights[rows.start :: n + 1] = 0
            yield rows, weights.reshape(-1, n)

    def add_degrees(
        self, rng: np.random.Generator, out_degree: IntVector, in_degree: IntVector
    ) -> None:
        """Add the row and column sums of one network."""
        for rows, weights in self.blocks(rng):
            add_sums(weights, out_degree[rows], in_degree)


@dataclass(frozen=True, eq=False)
class ThresholdLaw(DenseLaw):
    """Weights by thresholds, made anew for each draw or kept.

    Attributes
    ----------
    tables : tuple of ndarray
        Thresholds of each band, or empty: they are made when wanted.
    """

    tables: tuple[Levels, ...]

    def draw(self, rows: slice, rng: np.random.Generator) -> Weights:
        """Count thresholds above 16 bits a pair, then settle ties with two words each."""
        alpha, n = self.alpha[rows], len(self.beta)
        pairs = len(alpha) * n
        table = self._table(rows)
        bits = raw_words(rng, -(-pairs // LEVELS_A_WORD)).view(np.uint16)
        weights = np.empty(pairs, np.uint16)
        tied = count_thresholds(bits, table, weights)
        if len(tied) > 0:
            tied = tied[tied // n + rows.start != tied % n]
            levels = table[tied // PIECE, :, tied % PIECE]
            x = alpha[tied // n] + self.beta[tied % n]
            settle_ties(tied, raw_words(rng, 2 * len(tied)), bits[tied], levels, x, weights)
        return weights

    def _table(self, rows: slice) -> Levels:
        if self.tables:
            return self.tables[int(rows.start) // band_height(len(self.beta))]
        made: Levels = tabulate(self.alpha[rows], self.beta, self.q)
        return made


@dataclass(frozen=True, eq=False)
class QuantileLaw(DenseLaw):
    """Weights by the closed-form quantile at two words a pair."""

    def draw(self, rows: slice, rng: np.random.Generator) -> Weights:
        """One logarithm a pair, whatever q."""
        alpha = self.alpha[rows]
        words = raw_words(rng, 2 * len(alpha) * len(self.beta))
        weights: Weights = quantiles(words, alpha, self.beta, self.q)
        return weights


def kept_tables(alpha: FloatVector, beta: FloatVector, q: int) -> tuple[Levels, ...]:
    """Thresholds of every band."""
    return tuple(tabulate(alpha[rows], beta, q) for rows in row_bands(len(beta)))


def row_bands(n: int) -> Iterator[slice]:
    """Bands of rows, each of about PAIRS_AT_ONCE pairs."""
    height = band_height(n)
    for start in range(0, n, height):
        yield slice(start, min(start + height, n))


def band_height(n: int) -> int:
    """Rows of a band."""
    return max(1, PAIRS_AT_ONCE // n)


@compiled
def add_sums(weights: Weights, out_degree: IntVector, in_degree: IntVector) -> None:
    """Add row sums (rows,) and column sums (n,) of weights (rows, n) to degrees."""
    for i in range(len(weights)):
        total = np.int64(0)
        for j in range(len(in_degree)):
            weight = np.int64(weights[i, j])
            total += weight
            in_degree[j] += weight
        out_degree[i] += total
