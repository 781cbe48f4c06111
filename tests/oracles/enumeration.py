"""All weighted networks on a few nodes, each with its probability."""

from __future__ import annotations

import itertools
import math

import numpy as np


def arcs(n: int) -> list[tuple[int, int]]:
    """Ordered pairs of different nodes."""
    return [(i, j) for i in range(n) for j in range(n) if i != j]


def all_networks(n: int, q: int) -> np.ndarray:
    """Every adjacency with weights 0..q-1: shape (q**(n(n-1)), n, n)."""
    pairs = arcs(n)
    rows, cols = zip(*pairs, strict=True)
    levels = np.array(list(itertools.product(range(q), repeat=len(pairs))))
    networks = np.zeros((len(levels), n, n), dtype=np.int64)
    networks[:, rows, cols] = levels
    return networks


def probabilities(networks: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Exp of sum a_ij (alpha_i + beta_j), divided by its sum over the networks."""
    exponents = (networks * (alpha[:, None] + beta)).sum(axis=(1, 2))
    masses = np.exp(exponents - exponents.max())
    return masses / math.fsum(masses)


def bidegrees(networks: np.ndarray) -> np.ndarray:
    """Out-degrees, then in-degrees, of each network: shape (m, 2n)."""
    return np.hstack([networks.sum(axis=2), networks.sum(axis=1)])


def bidegree_moments(
    n: int, q: int, alpha: np.ndarray, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean (2n,) and covariance (2n, 2n) of the bi-degree under the p0 law."""
    networks = all_networks(n, q)
    mass, degrees = probabilities(networks, alpha, beta), bidegrees(networks)
    mean = mass @ degrees
    centred = degrees - mean
    return mean, (centred * mass[:, None]).T @ centred


def bidegree_law(
    n: int, q: int, alpha: np.ndarray, beta: np.ndarray
) -> dict[tuple[int, ...], float]:
    """Probability of each possible bi-degree."""
    networks = all_networks(n, q)
    law: dict[tuple[int, ...], float] = {}
    mass = probabilities(networks, alpha, beta)
    for degrees, p in zip(bidegrees(networks), mass, strict=True):
        key = tuple(degrees.tolist())
        law[key] = law.get(key, 0.0) + float(p)
    return law


def neighbours(network: np.ndarray, q: int) -> list[np.ndarray]:
    """Networks that differ from this one in the weight of one arc."""
    found = []
    for i, j in arcs(len(network)):
        for weight in set(range(q)) - {int(network[i, j])}:
            other = network.copy()
            other[i, j] = weight
            found.append(other)
    return found
