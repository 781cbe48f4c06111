"""The ridge estimate by dense Newton steps in 2n coordinates; its covariance by matrix algebra."""

from __future__ import annotations

import numpy as np

from tests.oracles.dense_sums import mean_sums, pair_moments


def centring(n: int) -> np.ndarray:
    """M (2n, 2n): takes its mean from either side."""
    block = np.eye(n) - 1 / n
    return np.block([[block, 0 * block], [0 * block, block]])


def full_fisher(alpha: np.ndarray, beta: np.ndarray, q: int) -> np.ndarray:
    """V of all 2n margins."""
    _, variance = pair_moments(alpha, beta, q)
    rows, columns = np.diag(variance.sum(axis=1)), np.diag(variance.sum(axis=0))
    return np.block([[rows, variance], [variance.T, columns]])


def objective(theta: np.ndarray, rows: np.ndarray, cols: np.ndarray, q: int, ridge: float) -> float:
    """Log-likelihood less penalty at theta (2n,), each law's normaliser summed over q terms."""
    n = len(rows)
    alpha, beta = theta[:n], theta[n:]
    x = np.add.outer(alpha, beta)
    logs = np.log(np.exp(np.arange(q).reshape(-1, 1, 1) * x).sum(axis=0))
    np.fill_diagonal(logs, 0)
    squares = n * (np.var(alpha) + np.var(beta))
    return float(rows @ alpha + cols @ beta - logs.sum() - ridge / 2 * squares)


def solve(rows: np.ndarray, cols: np.ndarray, q: int, ridge: float) -> np.ndarray:
    """theta (2n,), the last 0; steps by the pseudo-inverse, halved until the score is smaller."""
    n = len(rows)
    margins, m = np.append(rows, cols).astype(float), centring(n)
    theta = np.zeros(2 * n)

    def score(at: np.ndarray) -> np.ndarray:
        return margins - mean_sums(at[:n], at[n:], q) - ridge * m @ at

    for _ in range(200):
        step = np.linalg.pinv(
            full_fisher(theta[:n], theta[n:], q) + ridge * m, rcond=1e-13, hermitian=True
        ) @ score(theta)
        length = 1.0
        while np.linalg.norm(score(theta + length * step)) > np.linalg.norm(score(theta)):
            length /= 2
            if length < 1e-9:
                break
        theta = theta + length * step
        if np.abs(step).max() < 1e-12:
            break
    return np.append(theta[:n] + theta[-1], theta[n:] - theta[-1])


def covariance(
    alpha: np.ndarray, beta: np.ndarray, q: int, ridge: float, tau: float, margins: str
) -> np.ndarray:
    """G H^+ (V + tau J) H^+ G', where G moves to beta_n = 0; (2n - 1, 2n - 1).

    J is the covariance of unit noise after the treatment: a linear map of 2n independent draws.
    """
    n = len(alpha)
    w = np.append(np.ones(n), -np.ones(n))
    treatment = np.eye(2 * n)
    if margins == "balanced":
        treatment -= np.outer(w, w) / (2 * n)
    else:
        treatment[-1] = np.append(np.ones(n), -np.ones(n))
        treatment[-1, -1] = 0.0
    v = full_fisher(alpha, beta, q)
    inverse = np.linalg.pinv(v + ridge * centring(n), rcond=1e-13, hermitian=True)
    gauge = np.eye(2 * n)[:-1].copy()
    gauge[:n, -1] += 1
    gauge[n:, -1] -= 1
    half = gauge @ inverse
    return half @ (v + tau * treatment @ treatment.T) @ half.T
