"""Covariances of fits to flipped degrees: matrix algebra, finite differences, simulations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import p0sim as p0
from p0sim.inference.covariance import covariance, flipped_covariance
from tests.oracles import covariance as oracle
from tests.oracles import edge_flip, examples, newton
from tests.oracles.enumeration import all_networks

VARIANCES = ("noise", "S", "exact")


def flipped_network(alpha, beta, q, epsilon, rng) -> np.ndarray:
    weights = examples.network(alpha, beta, q, rng)
    return edge_flip.flip(weights, edge_flip.keep(epsilon, q), q, rng)


def degrees_of(flipped: np.ndarray, q: int, epsilon: float) -> p0.FlippedBiDegree:
    return p0.FlippedBiDegree(flipped.sum(axis=1), flipped.sum(axis=0), q, epsilon)


def some_fit(n: int, q: int, epsilon: float) -> p0.P0Results:
    rng = np.random.default_rng(n)
    alpha, beta = examples.parameters(n, 0.4, rng)
    return p0.fit(degrees_of(flipped_network(alpha, beta, q, epsilon, rng), q, epsilon))


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize(("n", "q", "epsilon"), [(14, 2, 3.0), (40, 3, 1.5), (25, 7, 4.0)])
def test_covariance_agrees_with_plain_matrix_algebra(n, q, epsilon, variance):
    """Oracle: omega pair by pair, numpy inverse of V, S entry by entry; all at the estimate."""
    fit, rho = some_fit(n, q, epsilon), edge_flip.keep(epsilon, q)
    omega = edge_flip.omega(fit.alpha, fit.beta, rho, q)
    expected = oracle.flipped_covariance(fit.alpha, fit.beta, omega, rho, q, variance)
    got = fit.cov_params(variance=variance)
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-11)
    assert list(got.index) == list(got.columns) == list(fit.params.index)
    np.testing.assert_allclose(fit.std_errors(variance), np.sqrt(np.diag(expected)), rtol=1e-8)


def test_printed_variances_of_a_contrast_and_a_parameter():
    """(o_i/v_i^2 + o_j/v_j^2)/rho^2 and (o_i/v_i^2 + o_2n/v_2n^2)/rho^2."""
    n, q, epsilon = 40, 3, 2.0
    fit, rho = some_fit(n, q, epsilon), edge_flip.keep(epsilon, q)
    v = np.diag(oracle.fisher(fit.alpha, fit.beta, q))
    omega = edge_flip.omega(fit.alpha, fit.beta, rho, q)
    own = omega.sum(axis=1) / v[:n] ** 2 / rho**2
    last = omega.sum(axis=0)[-1] / oracle.s_last(fit.alpha, fit.beta, q) ** 2 / rho**2
    table = fit.contrast(["alpha[1]-alpha[2]", "alpha[1]"])
    expected = np.sqrt([own[0] + own[1], own[0] + last])
    np.testing.assert_allclose(table["std_error"], expected, rtol=1e-9)


def test_closed_form_is_close_to_the_exact_one():
    """At n = 100 single variances within 2 %; S, which leaves the flips out, is far off."""
    fit = some_fit(100, 3, 1.5)
    noise, s, exact = (covariance(fit.moments, variance).diagonal() for variance in VARIANCES)
    np.testing.assert_allclose(noise, exact, rtol=0.02)
    assert (exact > 1.5 * s).all()


def test_a_large_epsilon_leaves_the_networks_own_covariance():
    fit = some_fit(20, 3, 60.0)
    v = oracle.fisher(fit.alpha, fit.beta, 3)
    np.testing.assert_allclose(fit.cov_params("exact"), np.linalg.inv(v), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(fit.cov_params("noise"), fit.cov_params("S"), rtol=1e-9, atol=1e-12)


def test_exact_covariance_is_the_response_to_every_pair_by_enumeration():
    """n = 3, q = 3: the covariance of the degrees of all 3^6 flipped networks, by their chances.

    It is carried through the derivative of the dense Newton oracle (central differences, O(h^2)).
    """
    n, q, epsilon, h = 3, 3, 2.5, 1e-4
    alpha, beta = np.array([0.3, -0.1, 0.1]), np.array([0.2, -0.2, 0.0])
    rho = edge_flip.keep(epsilon, q)
    networks = all_networks(n, q)
    chances = np.zeros(len(networks))
    exponents = (networks * (alpha[:, None] + beta)).sum(axis=(1, 2))
    mass = np.exp(exponents) / np.exp(exponents).sum()
    for network, chance in zip(networks, mass):
        chances += chance * edge_flip.network_law(network, rho, q)
    sums = np.hstack([networks.sum(axis=2), networks.sum(axis=1)])
    margins = (sums - (n - 1) * (1 - rho) * (q - 1) / 2) / rho
    centre = chances @ margins
    spread = ((margins - centre) * chances[:, None]).T @ (margins - centre)

    def theta(z: np.ndarray) -> np.ndarray:
        return newton.solve(z[:n], z[n:], q)

    # the last in-degree is implied by the others
    moves = np.eye(2 * n)[:-1]
    response = np.array([theta(centre + h * e) - theta(centre - h * e) for e in moves]) / (2 * h)
    expected = response.T @ spread[:-1, :-1] @ response
    model = p0.P0Model(alpha, beta, q)
    got = flipped_covariance(model, epsilon, "exact").matrix()
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7)


REPLICATES = 400


@pytest.fixture(scope="module")
def simulated_errors() -> dict[str, np.ndarray]:
    """Standardised errors of a contrast and of alpha_1, n = 150, q = 3, epsilon = 2, 400 flipped
    networks by tests.oracles; the flips are half of the variance."""
    n, q, epsilon = 150, 3, 2.0
    rng, errors = np.random.default_rng(11), []
    for _ in range(REPLICATES):
        flipped = flipped_network(np.zeros(n), np.zeros(n), q, epsilon, rng)
        fit = p0.fit(degrees_of(flipped, q, epsilon))
        tables = [
            fit.contrast(["alpha[1]-alpha[2]", "alpha[1]"], variance=v) for v in ("noise", "S")
        ]
        errors.append([table["statistic"].to_numpy() for table in tables])
    return dict(zip(("noise", "S"), np.transpose(errors, (1, 0, 2))))


def mean_square_p_value(z: np.ndarray) -> float:
    """Two-sided chi-square p-value of the sum of squares of z, were they standard normal."""
    law = stats.chi2(len(z))
    return 2 * min(law.cdf(z @ z), law.sf(z @ z))


@pytest.mark.parametrize("which", [0, 1])
def test_standardised_errors_have_variance_one(simulated_errors, which):
    """Rejects with probability 1e-6 a column if z is standard normal; seed fixed."""
    assert mean_square_p_value(simulated_errors["noise"][:, which]) > 1e-6


@pytest.mark.parametrize("which", [0, 1])
def test_control_leaving_the_flips_out_is_found(simulated_errors, which):
    """S knows the network alone: mean square 1/rho^2 = 2.2 instead of 1."""
    assert mean_square_p_value(simulated_errors["S"][:, which]) < 1e-6


@pytest.mark.slow
def test_simulated_variances_are_those_predicted_within_3_percent():
    """Mean variance of 200 contrasts, n = 400, q = 3, L = 0, epsilon = 3, 500 flipped networks.

    Each contrast's sample variance has the relative error sqrt(2/499), their mean over contrasts of
    different nodes sqrt(2/499/200) = 0.45 %; what the linear theory leaves out adds about 1.3 %
    here. Beyond 3 % is 3.8 standard errors of the rest (false alarm 1e-4); seed fixed.
    """
    n, q, epsilon = 400, 3, 3.0
    rng, model = np.random.default_rng(2), p0.linear_design(n, 0, q)
    thetas = []
    for _ in range(500):
        flipped = flipped_network(model.alpha, model.beta, q, epsilon, rng)
        thetas.append(p0.fit(degrees_of(flipped, q, epsilon)).alpha)
    contrasts = np.array(thetas)[:, ::2] - np.array(thetas)[:, 1::2]
    weights = np.zeros((n // 2, 2 * n - 1))
    weights[range(n // 2), range(0, n, 2)], weights[range(n // 2), range(1, n, 2)] = 1, -1
    predicted = flipped_covariance(model, epsilon, "noise").contrast_variances(weights)
    ratio = contrasts.var(axis=0, ddof=1).mean() / predicted.mean()
    assert abs(ratio - 1) < 0.03
    # control: with the flips left out the prediction is rho^2 of that
    alone = flipped_covariance(model, epsilon, "S").contrast_variances(weights)
    assert contrasts.var(axis=0, ddof=1).mean() / alone.mean() > 1.2


def test_the_summary_says_the_mechanism_and_the_flips_share():
    """What flips add to the variance of a typical margin, at the estimate."""
    fit = some_fit(40, 3, 2.0)
    rho = edge_flip.keep(2.0, 3)
    omega = edge_flip.omega(fit.alpha, fit.beta, rho, 3)
    _, variance = newton.edge_moments(fit.alpha[:, None] + fit.beta, 3)
    np.fill_diagonal(variance, 0)
    own, whole = (np.append(m.sum(1), m.sum(0)) for m in (variance, omega / rho**2))
    added = np.median(whole - own)
    share = 100 * added / (added + np.median(own))
    expected = (
        f"flipped edges (edge_flip), epsilon = 2, {share:.0f} % of a typical degree's variance"
    )
    assert expected in str(fit.summary())


def test_a_glance_knows_epsilon():
    glance = some_fit(14, 2, 3.0).glance()
    assert glance["epsilon"][0] == 3.0
    assert glance["margins"][0] == "unbiased"


def far_fit(boundary: str, ridge: float, epsilon: float = 2.0) -> p0.P0Results:
    """Twelve nodes of which some have no estimate."""
    rng = np.random.default_rng(4)
    alpha, beta = np.linspace(3, -3, 12), np.zeros(12)
    y = degrees_of(flipped_network(alpha, beta, 2, epsilon, rng), 2, epsilon)
    assert not p0.existence(y).exists
    return p0.fit(y, boundary=boundary, ridge=ridge)


@pytest.mark.parametrize("variance", ["noise", "exact"])
def test_fixed_arcs_are_flipped_too(variance):
    """Oracle: V and omega at log-odds of -+60 for parameters that are infinite; rows and columns of
    those are left out of V, and their arcs stay in the variances of the other margins."""
    fit, rho = far_fit("extend", 0.0), edge_flip.keep(2.0, 2)
    assert fit.moments.n_forced
    alpha, beta = (np.clip(side, -60, 60) for side in (fit.alpha, fit.beta))
    _, own = newton.edge_moments(alpha[:, None] + beta, 2)
    np.fill_diagonal(own, 0.0)
    flipped = edge_flip.omega(alpha, beta, rho, 2) / rho**2
    left = np.append(np.isfinite(fit.alpha), np.isfinite(fit.beta))

    def full(pairs: np.ndarray) -> np.ndarray:
        sums = np.diag(np.append(pairs.sum(axis=1), pairs.sum(axis=0)))
        sums[:12, 12:], sums[12:, :12] = pairs, pairs.T
        return sums[np.ix_(left, left)]

    v, omega = full(own), full(flipped)
    if variance == "exact":
        inverse = np.linalg.inv(v[:-1, :-1])
        expected = inverse @ omega[:-1, :-1] @ inverse
    else:
        u = np.append(np.ones(left[:12].sum()), -np.ones(left[12:].sum() - 1))
        shares = np.diag(omega) / np.diag(v) ** 2
        expected = np.diag(shares[:-1]) + shares[-1] * np.outer(u, u)
    got = covariance(fit.moments, variance).matrix()
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9)


def test_a_ridge_takes_what_flips_add_to_each_margin():
    """Oracle: H^-1 (V + diag) H^-1 in dense algebra, V at the estimate."""
    fit, rho, ridge, n = far_fit("refuse", 3.0), edge_flip.keep(2.0, 2), 3.0, 12
    v = oracle.fisher(fit.alpha, fit.beta, 2)
    omega = edge_flip.omega(fit.alpha, fit.beta, rho, 2) / rho**2
    sums = np.append(omega.sum(axis=1), omega.sum(axis=0))[:-1]
    centre = np.zeros((2 * n - 1, 2 * n - 1))
    centre[:n, :n], centre[n:, n:] = np.eye(n) - 1 / n, np.eye(n - 1) - 1 / n
    inverse = np.linalg.inv(v + ridge * centre)
    expected = inverse @ (v + np.diag(sums - np.diag(v))) @ inverse
    got = covariance(fit.moments, "exact").matrix()
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-10)
    assert p0.fit(fit.moments.degrees, ridge="auto").moments.ridge > 0
