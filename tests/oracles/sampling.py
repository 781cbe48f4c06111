"""Plain versions of the ways to draw a network, in exact arithmetic and pair by pair.

Bits are read from a generator in the order that the package promises: for each band of whole rows
first 16 bits a pair, four to a word from its low end, then two words for each tied pair in order.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from tests.oracles.edge_law import tail

BITS = 2**16
DIGIT = 2**53


@cache
def thresholds(x: float, q: int) -> tuple[Fraction, ...]:
    """P(a >= k) for k = 1..q-1, from 50 digits."""
    return tuple(fraction(tail(x, q, k)) for k in range(1, q))


def fraction(value) -> Fraction:
    """An mpmath number, exactly."""
    sign, man, exp, _ = value._mpf_
    return (-1) ** sign * Fraction(int(man)) * Fraction(2) ** int(exp)


def weight(u: Fraction, x: float, q: int) -> int:
    """The number of thresholds above u."""
    return sum(u < threshold for threshold in thresholds(x, q))


def is_tied(bits: int, x: float, q: int) -> bool:
    """Whether 16 bits leave a comparison with some threshold open."""
    return any(int(threshold * BITS) == bits for threshold in thresholds(x, q))


def further(bits: int, first: int, second: int) -> Fraction:
    """The number of [0, 1) with these 16 bits and the 53 high bits of two words after them."""
    digits = Fraction(first >> 11, DIGIT) + Fraction(second >> 11, DIGIT**2)
    return (bits + digits) / BITS


def adjacency(
    alpha: np.ndarray, beta: np.ndarray, q: int, rng: np.random.Generator, height: int
) -> tuple[np.ndarray, int]:
    """A network drawn by thresholds, bands of `height` rows; and how many pairs were tied."""
    n, ties = len(alpha), 0
    network = np.zeros((n, n), dtype=int)
    for start in range(0, n, height):
        rows = range(start, min(start + height, n))
        words = word_list(rng, -(-len(rows) * n // 4))
        bits = [word >> shift & 0xFFFF for word in words for shift in (0, 16, 32, 48)]
        cells = [(i, j) for i in rows for j in range(n)]
        x = {(i, j): float(alpha[i] + beta[j]) for i, j in cells}
        drawn = {cell: own for cell, own in zip(cells, bits) if cell[0] != cell[1]}
        tied = [cell for cell, own in drawn.items() if is_tied(own, x[cell], q)]
        more = word_list(rng, 2 * len(tied))
        ties += len(tied)
        for cell, own in drawn.items():
            network[cell] = weight(Fraction(own, BITS), x[cell], q)
        for number, cell in enumerate(tied):
            u = further(drawn[cell], *more[2 * number : 2 * number + 2])
            network[cell] = weight(u, x[cell], q)
    return network, ties


def word_list(rng: np.random.Generator, count: int) -> list[int]:
    """Whole outputs of the generator, as Python numbers."""
    return rng.integers(2**64, size=count, dtype=np.uint64).tolist() if count else []


def quantile(u: np.ndarray, x: np.ndarray, q: int) -> np.ndarray:
    """The number of k in 1..q-1 with u < P(a >= k), by sums of masses in float64."""
    levels = np.arange(q).reshape(-1, 1)
    masses = np.exp(levels * x - (q - 1) * np.maximum(x, 0))
    tails = np.cumsum(masses[::-1], axis=0)[::-1] / masses.sum(axis=0)
    return (u < tails[1:]).sum(axis=0)
