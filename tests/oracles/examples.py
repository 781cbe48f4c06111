"""Degrees to fit: plain numpy draws, so that no code under test makes its own input."""

from __future__ import annotations

import numpy as np


def parameters(n: int, spread: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """alpha and beta with the last beta 0."""
    return spread * rng.uniform(-1, 1, n), np.append(spread * rng.uniform(-1, 1, n - 1), 0.0)


def network(alpha: np.ndarray, beta: np.ndarray, q: int, rng: np.random.Generator) -> np.ndarray:
    """A draw of the p0 model by inverting the cumulated weight law."""
    levels = np.arange(q).reshape(-1, 1, 1)
    masses = np.cumsum(np.exp(levels * (alpha[:, None] + beta)), axis=0)
    drawn = (rng.random(masses[0].shape) * masses[-1] >= masses).sum(axis=0)
    np.fill_diagonal(drawn, 0)
    return drawn


def laplace_noise(size: int, q: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Discrete Laplace noise of scale 2(q-1)/epsilon, as a difference of geometric draws."""
    success = -np.expm1(-epsilon / (2 * (q - 1)))
    return rng.geometric(success, size) - rng.geometric(success, size)


def noisy_degrees(
    n: int, q: int, epsilon: float, seed: int, spread: float = 0.7
) -> tuple[np.ndarray, np.ndarray]:
    """Out- and in-degrees of such a network plus such noise."""
    rng = np.random.default_rng(seed)
    weights = network(*parameters(n, spread, rng), q, rng)
    noise = laplace_noise(2 * n, q, epsilon, rng)
    return weights.sum(axis=1) + noise[:n], weights.sum(axis=0) + noise[n:]
