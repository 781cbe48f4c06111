"""Both solvers against a plain dense Newton, on margins of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

from p0sim.estimate.solvers import solve_fixed_point, solve_newton
from tests.oracles import examples, newton
from tests.oracles.existence import exists_by_lp, treat

SOLVERS = [solve_newton, solve_fixed_point]


def treated(
    n: int, q: int, epsilon: float, seed: int, margins: str
) -> tuple[np.ndarray, np.ndarray]:
    exact = treat(*(side.tolist() for side in examples.noisy_degrees(n, q, epsilon, seed)), margins)
    return tuple(np.array([float(f) for f in side]) for side in exact)


@pytest.mark.parametrize("solve", SOLVERS)
@pytest.mark.parametrize("margins", ["balanced", "drop_last"])
@pytest.mark.parametrize(
    ("n", "q", "epsilon"), [(12, 2, 4), (30, 3, 2), (25, 5, 2), (40, 10, 8), (20, 20, 9)]
)
def test_agrees_with_a_dense_newton_on_noisy_margins(n, q, epsilon, margins, solve):
    """Oracle: tests.oracles.newton, to 1e-7 in every parameter."""
    rows, cols = treated(n, q, epsilon, seed=n + q, margins=margins)
    report = solve(rows, cols, q)
    assert report.converged
    theta = np.append(report.alpha, report.beta[:-1])
    np.testing.assert_allclose(theta, newton.solve(rows, cols, q), atol=1e-7)
    assert report.beta[-1] == 0


@pytest.mark.parametrize("solve", SOLVERS)
def test_the_residual_is_honest_and_small(solve):
    """Largest |margin - expectation| / sqrt(v_ii), recomputed by sums of q terms."""
    rows, cols = treated(30, 3, 2, seed=4, margins="balanced")
    report = solve(rows, cols, 3)
    mean, variance = newton.edge_moments(report.alpha[:, None] + report.beta, 3)
    off = 1 - np.eye(30)
    gaps = np.append(rows - (mean * off).sum(axis=1), cols - (mean * off).sum(axis=0))
    sd = np.sqrt(np.append((variance * off).sum(axis=1), (variance * off).sum(axis=0)))
    assert np.abs(gaps / sd).max() < 1e-8
    assert report.residual == pytest.approx(np.abs(gaps / sd).max(), abs=1e-11)


@pytest.mark.parametrize("solve", SOLVERS)
@pytest.mark.parametrize("q", [2, 5, 20])
def test_wide_parameters_are_found(q, solve):
    """Margins of a model with log-odds from -6 to 6: exact expectations, known answer."""
    n = 20
    alpha, beta = np.linspace(-3, 3, n), np.append(np.linspace(3, -3, n - 1), 0.0)
    mean, _ = newton.edge_moments(alpha[:, None] + beta, q)
    np.fill_diagonal(mean, 0)
    report = solve(mean.sum(axis=1), mean.sum(axis=0), q)
    assert report.converged
    np.testing.assert_allclose(report.alpha, alpha, atol=2e-6)
    np.testing.assert_allclose(report.beta, beta, atol=2e-6)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("solve", SOLVERS)
def test_margins_close_to_an_end_are_found(solve, swap):
    """One sum misses 0 by a thousandth, another the full degree 14."""
    n, q = 8, 3
    steep = np.full(n, 7.0)
    steep[0], steep[1] = 0.001, 13.999
    rows, cols = (np.full(n, 7.0), steep) if swap else (steep, np.full(n, 7.0))
    assert exists_by_lp(rows.tolist(), cols.tolist(), q)
    report = solve(rows, cols, q)
    assert report.converged
    theta = np.append(report.alpha, report.beta[:-1])
    np.testing.assert_allclose(theta, newton.solve(rows, cols, q), atol=1e-6)


def test_newton_needs_few_steps():
    """Quadratic convergence: no ordinary case takes more than a dozen."""
    for seed in range(10):
        rows, cols = treated(40, 3, 2, seed=seed, margins="balanced")
        assert solve_newton(rows, cols, 3).n_iter <= 12
