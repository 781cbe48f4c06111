"""Randomised response written out by its definition, weight by weight."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from tests.oracles.enumeration import arcs
from tests.oracles.newton import edge_moments


def keep(epsilon: float, q: int) -> float:
    """rho, found by bisection of its definition: the largest ratio of two chances is e^epsilon."""
    low, high = 0.0, 1.0
    for _ in range(200):
        rho = (low + high) / 2
        ratio = (rho + (1 - rho) / q) / ((1 - rho) / q) if rho < 1 else math.inf
        low, high = (rho, high) if ratio < math.exp(epsilon) else (low, rho)
    return low


def weight_law(weight: int, rho: float, q: int) -> list[float]:
    """P(y | a): kept, or replaced by one of q equally likely weights."""
    return [rho * (y == weight) + (1 - rho) / q for y in range(q)]


def network_law(network: np.ndarray, rho: float, q: int) -> np.ndarray:
    """Chances of all flipped networks, in the order of enumeration.all_networks."""
    laws = [weight_law(int(network[i, j]), rho, q) for i, j in arcs(len(network))]
    return reduce(np.kron, laws, np.ones(1))


def moments(x: np.ndarray, rho: float, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of a flipped weight by E y and E y^2, the weight's law summed."""
    mean, variance = edge_moments(x, q)
    levels = np.arange(q)
    first = rho * mean + (1 - rho) * levels.mean()
    second = rho * (variance + mean**2) + (1 - rho) * (levels**2).mean()
    return first, second - first**2


def omega(alpha: np.ndarray, beta: np.ndarray, rho: float, q: int) -> np.ndarray:
    """Variances of all flipped weights (n, n), the diagonal 0."""
    _, variances = moments(alpha[:, None] + beta, rho, q)
    np.fill_diagonal(variances, 0.0)
    return variances


def flip(network: np.ndarray, rho: float, q: int, rng: np.random.Generator) -> np.ndarray:
    """One draw: two coins a pair."""
    kept = rng.random(network.shape) < rho
    flipped = np.where(kept, network, rng.integers(q, size=network.shape))
    np.fill_diagonal(flipped, 0)
    return flipped
