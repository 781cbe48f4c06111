"""The p0 model against full enumeration and the printed formula of S."""

from __future__ import annotations

import numpy as np
import pytest

import p0sim as p0
from p0sim.errors import P0SimError
from p0sim.model.edge_sums import mean_sums, variance_sums
from tests.oracles import covariance, enumeration, newton
from tests.oracles.refusals import refusal

ALPHA = np.array([0.3, -0.2, 0.1])
BETA = np.array([0.4, -0.1, 0.0])


def random_parameters(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), np.append(rng.normal(size=n - 1), 0.0)


@pytest.mark.parametrize("q", [2, 3])
def test_expected_bidegree_matches_enumeration(q):
    """Oracle: all q**6 weighted networks on three nodes, each with its probability."""
    mean, _ = enumeration.bidegree_moments(3, q, ALPHA, BETA)
    got = p0.P0Model(ALPHA, BETA, q=q).expected_bidegree()
    np.testing.assert_allclose(got.out_degree, mean[:3], rtol=1e-12)
    np.testing.assert_allclose(got.in_degree, mean[3:], rtol=1e-12)
    assert got.q == q


@pytest.mark.parametrize("q", [2, 3])
def test_fisher_information_is_the_covariance_of_the_bidegree(q):
    """Oracle: covariance over all q**6 networks; the last in-degree has no parameter."""
    _, cov = enumeration.bidegree_moments(3, q, ALPHA, BETA)
    got = p0.P0Model(ALPHA, BETA, q=q).fisher_information()
    np.testing.assert_allclose(got, cov[:5, :5], rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("q", [2, 4, 7])
def test_fisher_information_is_the_jacobian_of_the_expected_bidegree(q):
    """Central differences of the expected degrees; error O(h^2)."""
    alpha, beta = random_parameters(6)
    model, h = p0.P0Model(alpha, beta, q=q), 1e-5

    def degrees(theta: np.ndarray) -> np.ndarray:
        moved = p0.P0Model(theta[:6], np.append(theta[6:], 0.0), q=q).expected_bidegree()
        return np.append(moved.out_degree, moved.in_degree[:-1])

    steps = h * np.eye(11)
    slopes = [(degrees(model.theta + s) - degrees(model.theta - s)) / (2 * h) for s in steps]
    np.testing.assert_allclose(model.fisher_information(), slopes, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("n", "q"), [(3, 2), (5, 3), (12, 9)])
def test_s_matrix_has_the_printed_entries(n, q):
    """Oracle: equation (6), written entry by entry."""
    alpha, beta = random_parameters(n, seed=n)
    got = p0.P0Model(alpha, beta, q=q).s_matrix()
    np.testing.assert_allclose(got, covariance.s_matrix(alpha, beta, q), rtol=1e-11)


def test_s_matrix_is_close_to_the_inverse_of_v():
    """Known error at n = 50, q = 2, theta = 0: (n-1)^2 max|V^-1 - S| = 4.08."""
    model = p0.P0Model(np.zeros(50), np.zeros(50), q=2)
    error = np.abs(np.linalg.inv(model.fisher_information()) - model.s_matrix()).max()
    assert 49**2 * error == pytest.approx(4.08, abs=0.005)


@pytest.mark.parametrize("q", [2, 5])
def test_edge_sums_leave_the_diagonal_out(q):
    """Oracle: sums of q terms an edge, self-loops taken away."""
    alpha, beta = random_parameters(8)
    mean, variance = newton.edge_moments(alpha[:, None] + beta, q)
    off = 1 - np.eye(8)
    for sums, dense in ((mean_sums, mean * off), (variance_sums, variance * off)):
        rows, cols = sums(alpha, beta, q)
        np.testing.assert_allclose(rows, dense.sum(axis=1), rtol=1e-11)
        np.testing.assert_allclose(cols, dense.sum(axis=0), rtol=1e-11)


def test_theta_joins_alpha_and_beta_without_the_last():
    """theta is alpha_1..alpha_n, beta_1..beta_{n-1}."""
    model = p0.P0Model(ALPHA, BETA, q=3)
    assert (model.n, model.q) == (3, 3)
    np.testing.assert_array_equal(model.theta, [0.3, -0.2, 0.1, 0.4, -0.1])
    np.testing.assert_array_equal(model.alpha, ALPHA)
    np.testing.assert_array_equal(model.beta, BETA)


def test_parameters_are_a_read_only_copy():
    """Changing the caller's array later does not change the model, nor the other way round."""
    alpha = ALPHA.copy()
    model = p0.P0Model(alpha, BETA, q=3)
    alpha[0] = 99.0
    assert model.alpha[0] == 0.3
    with pytest.raises(ValueError, match="read-only"):
        model.alpha[0] = 1.0


def test_linear_design_has_the_written_values():
    """By hand for n = 5, L = 2: alpha = 2, 1.5, 1, .5, 0 and beta = alpha (its last is 0)."""
    model = p0.linear_design(n=5, L=2.0, q=3)
    np.testing.assert_allclose(model.alpha, [2, 1.5, 1, 0.5, 0], rtol=1e-15)
    np.testing.assert_allclose(model.beta, [2, 1.5, 1, 0.5, 0], rtol=1e-15)
    assert model.beta[-1] == 0.0
    assert model.q == 3


def test_linear_design_at_zero_is_the_uniform_model():
    """L = 0: every weight uniform, so each degree expects (n-1)(q-1)/2."""
    degrees = p0.linear_design(n=7, L=0, q=4).expected_bidegree()
    np.testing.assert_allclose(degrees.out_degree, 9.0, rtol=1e-14)
    np.testing.assert_allclose(degrees.in_degree, 9.0, rtol=1e-14)


def test_last_beta_must_be_zero():
    refusal(lambda: p0.P0Model([0.1, 0.2, 0.3], [0.0, 0.1, 0.25], q=3), "beta", "0", "got 0.25")


def test_two_nodes_are_too_few():
    refusal(lambda: p0.P0Model([0.1, 0.2], [0.3, 0.0], q=3), "n must be at least 3", "got 2")
    refusal(lambda: p0.linear_design(n=2, L=1, q=3), "n must be at least 3", "got 2")


@pytest.mark.parametrize("q", [1, 0, -3])
def test_q_must_be_at_least_two(q):
    refusal(lambda: p0.P0Model(ALPHA, BETA, q=q), "q must be at least 2", f"got {q}")
    refusal(lambda: p0.linear_design(n=5, L=0, q=q), "q must be at least 2", f"got {q}")


@pytest.mark.parametrize("q", [2.5, "3", None, True])
def test_q_must_be_a_whole_number(q):
    refusal(lambda: p0.P0Model(ALPHA, BETA, q=q), "q must be", repr(q), error=TypeError)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_parameters_must_be_finite(bad):
    refusal(lambda: p0.P0Model([0.1, bad, 0.0], BETA, q=3), "alpha must be finite", str(bad))
    refusal(lambda: p0.P0Model(ALPHA, [bad, 0.1, 0.0], q=3), "beta must be finite", str(bad))
    refusal(lambda: p0.linear_design(n=5, L=bad, q=3), "L must be finite", str(bad))


def test_parameters_must_have_one_length():
    message = refusal(lambda: p0.P0Model(ALPHA, np.zeros(4), q=3), "alpha", "beta")
    assert "3" in message
    assert "4" in message


def test_refusals_are_the_packages_own_errors():
    """A caller can catch everything the package refuses by one type."""
    refusal(lambda: p0.P0Model(ALPHA, BETA, q=1), error=P0SimError)
    refusal(lambda: p0.P0Model(ALPHA, ALPHA, q=3), error=P0SimError)
