"""S entry by entry from its printed formula, and the covariances by plain matrix algebra."""

from __future__ import annotations

import numpy as np

from tests.oracles.newton import edge_moments, moments


def s_matrix(alpha: np.ndarray, beta: np.ndarray, q: int) -> np.ndarray:
    """Equation (6) of Wang, Zhang, Luo, Ouyang, Wang (2022), one entry after the other."""
    n = len(alpha)
    size = 2 * n - 1
    _, variance = edge_moments(alpha[:, None] + beta, q)
    v = np.zeros(size)
    for i in range(n):
        v[i] = sum(variance[i, j] for j in range(n) if j != i)
    for j in range(n - 1):
        v[n + j] = sum(variance[i, j] for i in range(n) if i != j)
    v_2n = sum(variance[i, n - 1] for i in range(n - 1))
    s = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            same_block = (i < n) == (j < n)
            s[i, j] = (1 / v[i] if i == j else 0.0) + (1 / v_2n if same_block else -1 / v_2n)
    return s


def fisher(alpha: np.ndarray, beta: np.ndarray, q: int) -> np.ndarray:
    """V, as the Jacobian of the moment map."""
    return moments(np.append(alpha, beta[:-1]), len(alpha), q)[1]


def shift_direction(n: int) -> np.ndarray:
    """u = (1, .., 1, -1, .., -1): the direction of a common shift in theta."""
    return np.append(np.ones(n), -np.ones(n - 1))


def covariance(
    alpha: np.ndarray, beta: np.ndarray, q: int, tau: float, margins: str, variance: str
) -> np.ndarray:
    """Covariance of theta; tau is the variance of the noise on each degree."""
    n = len(alpha)
    v, s, u = fisher(alpha, beta, q), s_matrix(alpha, beta, q), shift_direction(n)
    if variance == "S":
        return s
    if variance == "exact":
        inverse = np.linalg.inv(v)
        projection = np.eye(2 * n - 1)
        if margins == "balanced":
            projection -= np.outer(u, u) / (2 * n)
        return inverse + tau * inverse @ projection @ inverse
    if margins == "drop_last":
        return s + tau * s @ s
    v_2n = s_last(alpha, beta, q)
    return s + tau * (np.diag(1 / np.diag(v) ** 2) + np.outer(u, u) / v_2n**2)


def s_last(alpha: np.ndarray, beta: np.ndarray, q: int) -> float:
    """v_2n, the variance of the last in-degree."""
    _, variance = edge_moments(alpha[:-1] + beta[-1], q)
    return float(variance.sum())


def laplace_variance(q: int, epsilon: float) -> float:
    """Variance of P(k) = (1 - lam)/(1 + lam) lam^|k|, lam = exp(-epsilon/(2(q-1))), by summing."""
    rate = epsilon / (2 * (q - 1))
    k = np.arange(-int(60 / rate) - 2, int(60 / rate) + 3, dtype=float)
    mass = np.exp(-rate * np.abs(k))
    return float((k**2 * mass).sum() / mass.sum())


def flipped_covariance(
    alpha: np.ndarray, beta: np.ndarray, omega: np.ndarray, rho: float, q: int, variance: str
) -> np.ndarray:
    """Covariance of theta fitted to flipped degrees; omega are the variances of flipped weights."""
    n, v, u = len(alpha), fisher(alpha, beta, q), shift_direction(len(alpha))
    if variance == "S":
        return s_matrix(alpha, beta, q)
    sums = np.append(omega.sum(axis=1), omega.sum(axis=0))
    if variance == "exact":
        spread = np.diag(sums[:-1])
        spread[:n, n:], spread[n:, :n] = omega[:, :-1], omega[:, :-1].T
        return np.linalg.inv(v) @ spread @ np.linalg.inv(v) / rho**2
    shift = sums[-1] / s_last(alpha, beta, q) ** 2 * np.outer(u, u)
    return (np.diag(sums[:-1] / np.diag(v) ** 2) + shift) / rho**2
