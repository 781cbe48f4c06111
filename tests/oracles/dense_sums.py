"""Sums over i != j by whole n x n arrays, each weight law summed over its q terms."""

from __future__ import annotations

import numpy as np

from tests.oracles.newton import edge_moments


def pair_moments(alpha: np.ndarray, beta: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of all arcs (n, n), the diagonal 0."""
    mean, variance = edge_moments(alpha[:, None] + beta, q)
    np.fill_diagonal(mean, 0.0)
    np.fill_diagonal(variance, 0.0)
    return mean, variance


def mean_sums(alpha: np.ndarray, beta: np.ndarray, q: int) -> np.ndarray:
    """Rows, then columns (2n,)."""
    mean, _ = pair_moments(alpha, beta, q)
    return np.append(mean.sum(axis=1), mean.sum(axis=0))


def variance_sums(alpha: np.ndarray, beta: np.ndarray, q: int) -> np.ndarray:
    """Rows, then columns (2n,)."""
    _, variance = pair_moments(alpha, beta, q)
    return np.append(variance.sum(axis=1), variance.sum(axis=0))


def variance_product(
    alpha: np.ndarray, beta: np.ndarray, q: int, x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """The full matrix V, (2n, 2n), times (x, y)."""
    _, variance = pair_moments(alpha, beta, q)
    rows, columns = np.diag(variance.sum(axis=1)), np.diag(variance.sum(axis=0))
    return np.block([[rows, variance], [variance.T, columns]]) @ np.append(x, y)


def log_normalizer_sum(alpha: np.ndarray, beta: np.ndarray, q: int) -> float:
    """Log of sum_k exp(k x), largest term taken out, over i != j."""
    x = alpha[:, None] + beta
    exponents = np.arange(q).reshape(-1, 1, 1) * x
    largest = exponents.max(axis=0)
    logs = largest + np.log(np.exp(exponents - largest).sum(axis=0))
    return float(logs.sum() - np.trace(logs))
