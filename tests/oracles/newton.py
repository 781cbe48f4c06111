"""Dense damped Newton for the 2n - 1 moment equations, written out plainly."""

from __future__ import annotations

import numpy as np


def edge_moments(x: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the weight law by summing its q terms."""
    levels = np.arange(q).reshape(-1, *[1] * x.ndim)
    exponents = levels * x
    masses = np.exp(exponents - exponents.max(axis=0))
    masses /= masses.sum(axis=0)
    mean = (levels * masses).sum(axis=0)
    return mean, ((levels - mean) ** 2 * masses).sum(axis=0)


def moments(theta: np.ndarray, n: int, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Expected out- and in-degrees without the last one (2n - 1,), and their Jacobian V."""
    alpha, beta = theta[:n], np.append(theta[n:], 0.0)
    mean, variance = edge_moments(alpha[:, None] + beta, q)
    np.fill_diagonal(mean, 0.0)
    np.fill_diagonal(variance, 0.0)
    expected = np.append(mean.sum(axis=1), mean.sum(axis=0)[:-1])
    v = np.zeros((2 * n - 1, 2 * n - 1))
    v[:n, :n] = np.diag(variance.sum(axis=1))
    v[n:, n:] = np.diag(variance.sum(axis=0)[:-1])
    v[:n, n:] = variance[:, :-1]
    v[n:, :n] = variance[:, :-1].T
    return expected, v


def solve(rows: np.ndarray, cols: np.ndarray, q: int, steps: int = 200) -> np.ndarray:
    """Theta (2n - 1,) with expected degrees rows and cols[:-1]; halves steps that do not help."""
    n = len(rows)
    target = np.append(rows, cols[:-1]).astype(float)
    theta = np.zeros(2 * n - 1)
    expected, v = moments(theta, n, q)
    for _ in range(steps):
        residual = target - expected
        if np.abs(residual).max() < 1e-11 * max(1.0, np.abs(target).max()):
            return theta
        direction, length = np.linalg.solve(v, residual), 1.0
        while True:
            trial = theta + length * direction
            trial_expected, trial_v = moments(trial, n, q)
            if np.linalg.norm(target - trial_expected) < np.linalg.norm(residual):
                break
            length /= 2
            if length < 1e-12:
                return theta
        theta, expected, v = trial, trial_expected, trial_v
    raise AssertionError("the oracle did not converge: choose another example")
