"""Which arcs are 0, or q - 1, whatever the network, once its degrees are known: by trying."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

from tests.oracles.enumeration import all_networks, bidegrees


def arc_ranges(n: int, q: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Each bi-degree (2n,) that a network can have, and its arcs' least and largest weights.

    The matrices with given whole-number sums and real entries in 0..q-1 are the mixtures of those
    with whole-number entries (the constraints are totally unimodular): the ranges are theirs too.
    """
    networks = all_networks(n, q)
    sums, which = np.unique(bidegrees(networks), axis=0, return_inverse=True)
    for k, degrees in enumerate(sums):
        alike = networks[which.ravel() == k]
        yield degrees, alike.min(axis=0), alike.max(axis=0)


def arc_ranges_by_lp(rows: np.ndarray, cols: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for real margins: two linear programs an arc."""
    n = len(rows)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    equal = np.zeros((2 * n, len(pairs)))
    for column, (i, j) in enumerate(pairs):
        equal[i, column] = equal[n + j, column] = 1
    ends = np.zeros((2, n, n))
    for column, (i, j) in enumerate(pairs):
        for side, sign in enumerate((1.0, -1.0)):
            cost = sign * np.eye(len(pairs))[column]
            # the last equation follows from the others
            given = {"A_eq": equal[:-1], "b_eq": np.append(rows, cols)[:-1]}
            found = linprog(cost, **given, bounds=(0, q - 1), method="highs")
            assert found.status == 0, found.message
            ends[side, i, j] = sign * found.fun
    return ends[0], ends[1]


def block_moments(
    alpha: np.ndarray, beta: np.ndarray, q: int, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the arcs where `pairs` is true, 0 elsewhere; infinities allowed."""
    sides = (np.where(np.isfinite(side), side, 0.0) for side in (alpha, beta))
    x = np.where(pairs, np.add.outer(*sides), 0.0)
    masses = np.exp(np.arange(q).reshape(-1, 1, 1) * x)
    masses /= masses.sum(axis=0)
    levels = np.arange(q).reshape(-1, 1, 1)
    mean = (levels * masses).sum(axis=0)
    variance = (levels**2 * masses).sum(axis=0) - mean**2
    return np.where(pairs, mean, 0.0), np.where(pairs, variance, 0.0)
