"""Both solvers against a plain dense Newton, on margins of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

from p0sim.estimate import solvers
from p0sim.estimate.newton import newton_direction
from p0sim.estimate.solvers import solve, solve_fixed_point, solve_newton
from p0sim.model import pair_sums
from p0sim.model.edge_law import edge_mean
from tests.oracles import dense_sums, examples, newton
from tests.oracles.existence import exists_by_lp, treat

SOLVERS = [solve_newton, solve_fixed_point]


def treated(
    n: int, q: int, epsilon: float, seed: int, margins: str
) -> tuple[np.ndarray, np.ndarray]:
    exact = treat(*(side.tolist() for side in examples.noisy_degrees(n, q, epsilon, seed)), margins)
    return tuple(np.array([float(f) for f in side]) for side in exact)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("margins", ["balanced", "drop_last"])
@pytest.mark.parametrize(
    ("n", "q", "epsilon"),
    [(12, 2, 4), (30, 3, 2), (25, 5, 2), (40, 10, 8), (20, 20, 9), (120, 3, 2), (100, 5, 9)],
)
def test_agrees_with_a_dense_newton_on_noisy_margins(n, q, epsilon, margins, solver):
    """Oracle: tests.oracles.newton, to 1e-8 in every parameter."""
    rows, cols = treated(n, q, epsilon, seed=n + q, margins=margins)
    report = solver(rows, cols, q)
    assert report.converged
    theta = np.append(report.alpha, report.beta[:-1])
    np.testing.assert_allclose(theta, newton.solve(rows, cols, q), atol=1e-8)
    assert report.beta[-1] == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_residual_is_honest_and_small(solver):
    """Largest |margin - expectation| / sqrt(v_ii), recomputed by sums of q terms."""
    rows, cols = treated(30, 3, 2, seed=4, margins="balanced")
    report = solver(rows, cols, 3)
    mean, variance = newton.edge_moments(report.alpha[:, None] + report.beta, 3)
    off = 1 - np.eye(30)
    gaps = np.append(rows - (mean * off).sum(axis=1), cols - (mean * off).sum(axis=0))
    sd = np.sqrt(np.append((variance * off).sum(axis=1), (variance * off).sum(axis=0)))
    assert np.abs(gaps / sd).max() < 1e-8
    assert report.residual == pytest.approx(np.abs(gaps / sd).max(), abs=1e-11)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("q", [2, 5, 20])
def test_wide_parameters_are_found(q, solver):
    """Margins of a model with log-odds from -6 to 6: exact expectations, known answer."""
    n = 20
    alpha, beta = np.linspace(-3, 3, n), np.append(np.linspace(3, -3, n - 1), 0.0)
    mean, _ = newton.edge_moments(alpha[:, None] + beta, q)
    np.fill_diagonal(mean, 0)
    report = solver(mean.sum(axis=1), mean.sum(axis=0), q)
    assert report.converged
    np.testing.assert_allclose(report.alpha, alpha, atol=2e-6)
    np.testing.assert_allclose(report.beta, beta, atol=2e-6)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_margins_close_to_an_end_are_found(solver, swap):
    """One sum misses 0 by a thousandth, another the full degree 14."""
    n, q = 8, 3
    steep = np.full(n, 7.0)
    steep[0], steep[1] = 0.001, 13.999
    rows, cols = (np.full(n, 7.0), steep) if swap else (steep, np.full(n, 7.0))
    assert exists_by_lp(rows.tolist(), cols.tolist(), q)
    report = solver(rows, cols, q)
    assert report.converged
    theta = np.append(report.alpha, report.beta[:-1])
    np.testing.assert_allclose(theta, newton.solve(rows, cols, q), atol=1e-6)


def test_newton_needs_few_steps():
    """Quadratic convergence: no ordinary case takes more than a dozen."""
    for seed in range(10):
        rows, cols = treated(40, 3, 2, seed=seed, margins="balanced")
        assert solve_newton(rows, cols, 3).n_iter <= 12


def expected_margins(n: int, q: int, spread: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dense sums at known parameters theta (2n,), the last 0: they are the solution."""
    theta = np.random.default_rng(n + q).uniform(-spread, spread, 2 * n)
    theta[-1] = 0
    sums = dense_sums.mean_sums(theta[:n], theta[n:], q)
    return sums[:n], sums[n:], theta


@pytest.mark.parametrize(("n", "q", "spread"), [(1500, 2, 0.7), (1000, 5, 1), (1200, 20, 4)])
def test_larger_networks_are_solved_by_expansions(n, q, spread):
    """Known answer, 1e-9; the last case stands on several pieces."""
    rows, cols, theta = expected_margins(n, q, spread)
    report = solve_newton(rows, cols, q)
    assert report.converged
    assert report.residual <= 1e-9
    np.testing.assert_allclose(np.append(report.alpha, report.beta), theta, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_any_start_in_any_gauge_leads_to_the_same_answer(solver):
    """At the answer nothing is left to do; far off, more steps; the same to 1e-9."""
    rows, cols, theta = expected_margins(150, 3, 1)
    rng = np.random.default_rng(3)
    starts = [
        (theta[:150] + 5, theta[150:] - 5),
        (rng.normal(scale=3, size=150), rng.normal(scale=3, size=150)),
        (np.zeros(150), np.full(150, 20.0)),
    ]
    for start in starts:
        report = solver(rows, cols, 3, start)
        assert report.converged
        np.testing.assert_allclose(np.append(report.alpha, report.beta), theta, atol=1e-9)
    assert solver(rows, cols, 3, starts[0]).n_iter == 0


def test_a_start_is_left_as_it_was():
    rows, cols, _ = expected_margins(50, 3, 1)
    start = np.zeros(50), np.zeros(50)
    solve(rows, cols, 3, "fixed_point", start)
    assert not start[0].any()
    assert not start[1].any()


def test_the_direction_solves_the_full_system():
    """Oracle: numpy's least squares on the singular 2n x 2n matrix; equal up to the gauge."""
    n, q, theta = 60, 4, np.random.default_rng(1).uniform(-1, 1, 120)
    basis = np.eye(2 * n)
    v = [dense_sums.variance_product(theta[:n], theta[n:], q, e[:n], e[n:]) for e in basis]
    residual = np.random.default_rng(2).normal(size=2 * n)
    gauge = np.append(np.ones(n), -np.ones(n))
    residual -= gauge * (gauge @ residual) / (2 * n)
    sums = pair_sums.pair_sums(theta, q, pair_sums.square(n), 0.0, pair_sums.no_expansion())
    got = newton_direction(residual / 1e9, q, 0.0, sums, 1e-12) * 1e9
    expected = np.linalg.lstsq(np.array(v), residual, rcond=1e-12)[0]
    np.testing.assert_allclose(got, expected, atol=1e-10)


def test_a_step_limit_is_not_convergence(monkeypatch):
    """One step from a poor start: the residual says how far it is."""
    monkeypatch.setattr(solvers, "NEWTON_STEPS", 1)
    rows, cols, _ = expected_margins(100, 3, 1)
    report = solve(rows, cols, 3, start=(np.full(100, 2.0), np.zeros(100)))
    assert (report.converged, report.n_iter) == (False, 1)
    assert report.residual > 1e-3


@pytest.mark.parametrize("missing", [1e-3, 1e-6, 1e-9])
def test_a_margin_nearly_full_is_met_to_rounding(missing):
    """Row 1 misses (n-1)(q-1) = 198 by little; the float 198 - 1e-9 holds 4 digits of the gap.

    By symmetry all other alphas are equal and all betas but the first: row 1 then asks for
    99 mu(-x) = missing with x its common log-odds, solved in closed form for q = 3.
    """
    n, rows = 100, np.full(100, 99.0)
    rows[0] = 198 - missing
    cols = np.full(n, (rows.sum() - 99.0) / (n - 1))
    cols[0] = 99.0
    report = solve(rows, cols, 3)
    assert report.converged
    share = (198 - rows[0]) / 99
    # mu(-x) = (t + 2 t^2)/(1 + t + t^2) = share
    t = np.roots([2 - share, 1 - share, -share]).max()
    x = report.alpha[0] + report.beta[1:]
    np.testing.assert_allclose(x, -np.log(t), atol=1e-3)


@pytest.mark.parametrize("solver", ["newton", "fixed_point"])
def test_a_margin_full_up_to_rounding_is_not_called_solved(solver):
    """The largest float below 198: one rounding more or less moves alpha_1 by all of its tail."""
    rows = np.full(100, 99.0)
    rows[0] = np.nextafter(198, 0)
    cols = np.full(100, rows.sum() / 100)
    assert not solve(rows, cols, 3, solver).converged


def test_large_expected_degrees_reach_the_tolerance():
    """n = 20 000, 200 kinds of nodes: rounding stays far below 1e-9 deviations of a degree."""
    grid = np.linspace(-1, 1, 200)
    parameters = np.repeat(grid, 100)
    mean, _ = newton.edge_moments(grid[:, None] + grid, 3)
    loops, _ = newton.edge_moments(2 * grid, 3)
    rows = np.repeat(100 * mean.sum(axis=1) - loops, 100)
    report = solve(rows, rows, 3)
    assert report.converged
    assert report.residual <= 1e-9
    np.testing.assert_allclose(report.alpha, parameters + 1, atol=1e-9)
    np.testing.assert_allclose(report.beta, parameters - 1, atol=1e-9)


def test_equal_terms_do_not_keep_a_fit_from_its_tolerance():
    """A hub over equal nodes, q = 100: the sums are plain, their 299 terms alike.

    Added one by one, such terms are all rounded the same way. Margins by sums of numpy.
    """
    alpha, beta = np.full(300, -3.0), np.full(300, -3.0)
    alpha[0] = 12.0
    means = edge_mean(np.add.outer(alpha, beta), 100)
    np.fill_diagonal(means, 0.0)
    report = solve(means.sum(axis=1), means.sum(axis=0), 100)
    assert report.converged
    np.testing.assert_allclose(report.alpha - report.alpha[0], alpha - alpha[0], atol=1e-8)
