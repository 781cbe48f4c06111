"""The three covariances against matrix algebra, finite differences and a simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import p0sim as p0
from tests.oracles import covariance as oracle
from tests.oracles import examples, newton
from tests.oracles.existence import treat
from tests.oracles.refusals import refusal

TREATMENTS = ("balanced", "drop_last")
VARIANCES = ("noise", "S", "exact")


def noisy_fit(n: int, q: int, epsilon: float, margins: str) -> p0.P0Results:
    """Degrees with little noise, so that every treatment has an estimate, said to have more."""
    z = examples.noisy_degrees(n, q, 30.0, seed=n)
    return p0.fit(z, margins=margins, q=q, epsilon=epsilon)


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("margins", TREATMENTS)
@pytest.mark.parametrize(("n", "q", "epsilon"), [(12, 2, 3.0), (25, 3, 1.0), (20, 7, 2.0)])
def test_covariance_agrees_with_plain_matrix_algebra(n, q, epsilon, margins, variance):
    """Oracle: S entry by entry, numpy inverse of V, tau by summation; all at the estimate."""
    fit = noisy_fit(n, q, epsilon, margins)
    tau = oracle.laplace_variance(q, epsilon)
    expected = oracle.covariance(fit.alpha, fit.beta, q, tau, margins, variance)
    got = fit.cov_params(variance=variance)
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-11)
    assert list(got.index) == list(got.columns) == list(fit.params.index)


@pytest.mark.parametrize("margins", TREATMENTS)
def test_without_noise_the_noise_variance_is_s(margins):
    """tau = 0 adds nothing."""
    z = examples.noisy_degrees(12, 3, 50.0, seed=1)
    fit = p0.fit(z, margins=margins, q=3)
    np.testing.assert_array_equal(fit.cov_params("noise"), fit.cov_params("S"))
    v = oracle.fisher(fit.alpha, fit.beta, 3)
    np.testing.assert_allclose(fit.cov_params("exact"), np.linalg.inv(v), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("margins", TREATMENTS)
def test_printed_variances_of_single_parameters_and_contrasts(margins):
    """The closed forms for Var(alpha_i - alpha_j), Var(alpha_i) and Var(alpha_i + beta_j)."""
    n, q, epsilon = 20, 3, 1.5
    fit, tau = noisy_fit(n, q, epsilon, margins), oracle.laplace_variance(q, epsilon)
    v = np.diag(oracle.fisher(fit.alpha, fit.beta, q))
    last = oracle.s_last(fit.alpha, fit.beta, q)
    cov = fit.cov_params("noise").to_numpy()

    def variance(*signed: tuple[int, int]) -> float:
        weights = np.zeros(2 * n - 1)
        for k, sign in signed:
            weights[k] = sign
        return weights @ cov @ weights

    own = [1 / v_k + tau / v_k**2 for v_k in v]
    assert variance((0, 1), (1, -1)) == pytest.approx(own[0] + own[1], rel=1e-9)
    assert variance((n, 1), (n + 1, -1)) == pytest.approx(own[n] + own[n + 1], rel=1e-9)
    assert variance((0, 1), (n + 1, 1)) == pytest.approx(own[0] + own[n + 1], rel=1e-9)
    shared = {
        "drop_last": 2 / (v[0] * last) + (2 * n - 1) / last**2,
        "balanced": 1 / last**2,
    }
    expected = own[0] + 1 / last + tau * shared[margins]
    assert variance((0, 1)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("margins", TREATMENTS)
def test_exact_noise_term_is_the_estimates_response_to_noise(margins):
    """Move each of the 2n degrees a little: tau times the sum of squared responses is what noise
    adds to V^-1 (central differences through the dense Newton oracle, error O(h^2))."""
    n, q, epsilon, h = 8, 3, 2.0, 1e-4
    out_degree, in_degree = examples.noisy_degrees(n, q, 20.0, seed=5)
    fit = p0.fit((out_degree, in_degree), margins=margins, q=q, epsilon=epsilon)

    def theta(z: np.ndarray) -> np.ndarray:
        sides = treat(z[:n].tolist(), z[n:].tolist(), margins)
        return newton.solve(*(np.array([float(f) for f in side]) for side in sides), q)

    z = np.append(out_degree, in_degree).astype(float)
    response = np.array([theta(z + h * e) - theta(z - h * e) for e in np.eye(2 * n)]) / (2 * h)
    tau = oracle.laplace_variance(q, epsilon)
    inverse = np.linalg.inv(oracle.fisher(fit.alpha, fit.beta, q))
    got = fit.cov_params("exact").to_numpy()
    np.testing.assert_allclose(got, inverse + tau * response.T @ response, rtol=1e-5, atol=1e-6)


def test_noise_form_is_close_to_the_exact_one():
    """At n = 60, L = 0: single variances within 5 %; S alone is far off."""
    model = p0.linear_design(n=60, L=0, q=3)
    degrees = p0.bidegree(model.sample(rng=np.random.default_rng(1)), q=3)
    z = degrees.out_degree, degrees.in_degree
    for margins in TREATMENTS:
        fit = p0.fit(z, margins=margins, q=3, epsilon=0.5)
        noise, exact, s = (np.diag(fit.cov_params(v)) for v in ("noise", "exact", "S"))
        np.testing.assert_allclose(noise, exact, rtol=0.05)
        assert (exact > 2 * s).all()


REPLICATES = 300


@pytest.fixture(scope="module")
def simulated_errors() -> dict[str, dict[str, np.ndarray]]:
    """Standardised errors of a contrast and of alpha_1, n = 60, q = 3, epsilon = 0.8, 300 noisy
    networks; rho = tau/v_ii is about 1.3. Draws by tests.oracles.examples."""
    n, q, epsilon = 60, 3, 0.8
    rng, errors = np.random.default_rng(77), []
    for _ in range(REPLICATES):
        weights = examples.network(np.zeros(n), np.zeros(n), q, rng)
        noise = examples.laplace_noise(2 * n, q, epsilon, rng)
        pair = weights.sum(axis=1) + noise[:n], weights.sum(axis=0) + noise[n:]
        fit = p0.fit(pair, q=q, epsilon=epsilon)
        row = {}
        for variance in VARIANCES:
            table = fit.contrast(["alpha[1]-alpha[2]", "alpha[1]"], variance=variance)
            row[variance] = table["estimate"].to_numpy() / table["std_error"].to_numpy()
        errors.append(row)
    return {v: np.array([row[v] for row in errors]) for v in VARIANCES}


def mean_square_p_value(z: np.ndarray) -> float:
    """Two-sided chi-square p-value of the sum of squares of z, were they standard normal."""
    law = stats.chi2(len(z))
    return 2 * min(law.cdf(z @ z), law.sf(z @ z))


@pytest.mark.parametrize("variance", ["noise", "exact"])
@pytest.mark.parametrize("which", [0, 1])
def test_standardised_errors_have_variance_one(simulated_errors, variance, which):
    """Rejects with probability 1e-6 a column if z is standard normal; seed fixed."""
    assert mean_square_p_value(simulated_errors[variance][:, which]) > 1e-6


@pytest.mark.parametrize("which", [0, 1])
def test_control_s_alone_is_found_too_small(simulated_errors, which):
    """It leaves the noise out: mean square about 2.3 instead of 1."""
    assert mean_square_p_value(simulated_errors["S"][:, which]) < 1e-6


def test_other_words_are_refused():
    fit = noisy_fit(12, 2, 3.0, "balanced")
    for call in (fit.cov_params, lambda variance: fit.conf_int(variance=variance)):
        refusal(lambda call=call: call(variance="robust"), "variance must be one of", "'robust'")
