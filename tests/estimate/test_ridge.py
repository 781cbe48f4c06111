"""The ridge estimate against dense algebra, its limits, and its choice of lambda."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import p0sim as p0
from p0sim.errors import NoEstimateError
from p0sim.estimate.margins import treat_margins
from p0sim.estimate.ridge import check_total, choose_ridge, ridge_range
from tests.oracles import examples
from tests.oracles import ridge as oracle
from tests.oracles.covariance import laplace_variance
from tests.oracles.existence import treat
from tests.oracles.newton import edge_moments
from tests.oracles.refusals import refusal

TREATMENTS = ("balanced", "drop_last")


def sparse_network(n: int, q: int, seed: int, level: float = -2.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    alpha, beta = examples.parameters(n, 1.0, rng)
    return examples.network(alpha + level, beta, q, rng)


@pytest.mark.parametrize("ridge", [1e-3, 0.5, 20.0])
@pytest.mark.parametrize(("n", "q", "seed"), [(6, 2, 1), (15, 3, 2), (12, 6, 3)])
def test_the_estimate_agrees_with_dense_newton_steps(n, q, seed, ridge):
    """Networks with silent nodes among them; 1e-7."""
    weights = sparse_network(n, q, seed)
    fit = p0.fit(p0.bidegree(weights, q=q), ridge=ridge)
    expected = oracle.solve(weights.sum(axis=1), weights.sum(axis=0), q, ridge)
    np.testing.assert_allclose(np.append(fit.alpha, fit.beta), expected, atol=1e-7)
    assert fit.moments.ridge == ridge
    assert fit.moments.n_forced == 0


def test_it_maximises_the_penalised_likelihood():
    """Oracle: scipy's BFGS on the objective written as sums, derivatives by differences."""
    weights = sparse_network(6, 3, 4)
    rows, cols = weights.sum(axis=1), weights.sum(axis=0)
    fit = p0.fit(p0.bidegree(weights, q=3), ridge=0.7)
    found = minimize(lambda theta: -oracle.objective(theta, rows, cols, 3, 0.7), np.zeros(12))
    theta = np.append(found.x[:6] + found.x[-1], found.x[6:] - found.x[-1])
    np.testing.assert_allclose(np.append(fit.alpha, fit.beta), theta, atol=1e-4)
    assert fit.glance()["objective"].iloc[0] == pytest.approx(-found.fun, abs=1e-8)
    assert fit.glance()["ridge"].iloc[0] == 0.7


@pytest.mark.parametrize("margins", TREATMENTS)
def test_noisy_margins_are_treated_first(margins):
    """Margins beyond their range are no hindrance."""
    out_degree, in_degree = examples.noisy_degrees(15, 3, 0.5, seed=3)
    assert min(out_degree.min(), in_degree.min()) < 0
    rows, cols = treat(out_degree.tolist(), in_degree.tolist(), margins)
    floats = (np.array([float(f) for f in side]) for side in (rows, cols))
    expected = oracle.solve(*floats, 3, 2.0)
    fit = p0.fit((out_degree, in_degree), q=3, epsilon=0.5, margins=margins, ridge=2.0)
    np.testing.assert_allclose(np.append(fit.alpha, fit.beta), expected, atol=1e-7)


def test_a_small_penalty_tends_to_the_plain_estimate():
    """In proportion to lambda, where the plain estimate exists."""
    weights = sparse_network(30, 4, 1, level=0.0)
    degrees = p0.bidegree(weights, q=4)
    plain = p0.fit(degrees).theta
    gaps = [np.abs(p0.fit(degrees, ridge=r).theta - plain).max() for r in (1e-2, 1e-4, 1e-6)]
    assert gaps[1] == pytest.approx(gaps[0] / 100, rel=0.02)
    assert gaps[2] == pytest.approx(gaps[1] / 100, rel=0.02)


def test_a_large_penalty_leaves_the_level_alone():
    """All nodes alike: mu(x) is the mean weight, q = 2, so x is its logit."""
    weights = sparse_network(20, 2, 1)
    fit = p0.fit(p0.bidegree(weights, q=2), ridge=2e8)
    mean = weights.sum() / (20 * 19)
    np.testing.assert_allclose(fit.alpha, np.log(mean / (1 - mean)), atol=1e-6)
    np.testing.assert_allclose(fit.beta, 0, atol=1e-6)


def test_larger_networks_are_solved_by_expansions():
    """n = 1200: the score at the answer, by whole arrays, is 0 but for rounding."""
    weights = sparse_network(1200, 3, 5, level=-6.0)
    fit = p0.fit(p0.bidegree(weights, q=3), ridge=0.5)
    margins = np.append(weights.sum(axis=1), weights.sum(axis=0))
    assert margins.min() == 0
    pull = 0.5 * np.append(fit.alpha - fit.alpha.mean(), fit.beta - fit.beta.mean())
    score = margins - oracle.mean_sums(fit.alpha, fit.beta, 3) - pull
    assert np.abs(score).max() < 1e-8


def noisy(n: int = 25) -> tuple[np.ndarray, np.ndarray]:
    return examples.noisy_degrees(n, 4, 1.0, seed=9)


def test_relabelling_permutes_and_transposing_swaps_up_to_the_shift():
    out_degree, in_degree = noisy()
    given = {"q": 4, "epsilon": 1.0, "ridge": 1.5}
    fit = p0.fit((out_degree, in_degree), **given)
    order = np.random.default_rng(1).permutation(25)
    moved = p0.fit((out_degree[order], in_degree[order]), **given)
    last = fit.beta[order[-1]]
    np.testing.assert_allclose(moved.alpha, fit.alpha[order] + last, atol=1e-8)
    np.testing.assert_allclose(moved.beta, fit.beta[order] - last, atol=1e-8)
    swapped = p0.fit((in_degree, out_degree), **given)
    last = fit.alpha[-1]
    np.testing.assert_allclose(swapped.alpha, fit.beta + last, atol=1e-8)
    np.testing.assert_allclose(swapped.beta, fit.alpha - last, atol=1e-8)


def test_reversing_the_weights_turns_the_signs():
    weights = sparse_network(20, 4, 6)
    reversed_weights = 3 - weights
    np.fill_diagonal(reversed_weights, 0)
    one, two = (p0.fit(p0.bidegree(w, q=4), ridge=1.0).theta for w in (weights, reversed_weights))
    np.testing.assert_allclose(one, -two, atol=1e-8)


@pytest.mark.parametrize("ridge", [1.0, "auto"])
def test_a_total_at_its_end_is_refused(ridge):
    """Nothing stops the common level; noise can take the total below 0."""
    for degrees, total in (
        (p0.BiDegree([0, 0, 0], [0, 0, 0], q=3), "0"),
        (p0.BiDegree([4, 4, 4], [4, 4, 4], q=3), "12"),
        (p0.NoisyBiDegree([-3, 1, 0], [-4, 1, 1], 3, 1.0), "-2"),
    ):
        refusal(
            lambda degrees=degrees: p0.fit(degrees, ridge=ridge),
            f"the total weight is {total}", "between 0 and n(n-1)(q-1) = 12",
            error=NoEstimateError,
        )  # fmt: skip


@pytest.mark.parametrize("ridge", [0.03, 0.3])
def test_margins_beyond_their_range_send_parameters_far_away(ridge):
    """Row 1 misses 9: alpha_1 - mean = -9/lambda, its expectation being 0."""
    fit = p0.fit(([-9, 6, 8, 9, 7], [3, 5, 4, 4, 5]), q=4, epsilon=1.0, ridge=ridge)
    assert ridge * (fit.alpha[0] - fit.alpha.mean()) == pytest.approx(-9, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [1e-5, 1e-3, 0.1, None])
@pytest.mark.parametrize("q", [2, 5, 1000])
def test_both_ends_of_the_range_of_lambda_are_solved(q, epsilon, seed):
    """Noise far beyond the range, silent nodes, full ones; any warning is an error."""
    rng = np.random.default_rng(seed)
    weights = rng.binomial(q - 1, rng.choice([0.05, 0.5]), (12, 12))
    weights[3], weights[:, 5] = 0, q - 1
    np.fill_diagonal(weights, 0)
    sides = weights.sum(axis=1), weights.sum(axis=0)
    if epsilon is not None:
        noise = examples.laplace_noise(24, q, epsilon, rng)
        noise[:4] += max(weights.sum() // 4 - noise.sum() // 4, 0)
        sides = sides[0] + noise[:12], sides[1] + noise[12:]
    margins = treat_margins(*sides)
    if not check_total(margins, q).exists:
        return
    for ridge in ridge_range(margins, q):
        fit = p0.fit(sides, q=q, epsilon=epsilon, ridge=ridge)
        assert np.isfinite(fit.conf_int().to_numpy()).all()


@pytest.mark.parametrize("bad", [1e300, 1e160, 1e100, 1e20, 1e-300, 1e-12])
def test_a_lambda_that_floats_cannot_follow_is_refused(bad):
    """q = 2: V = 1/4, so 2.5e-8..2.5e8."""
    degrees = p0.BiDegree([0, 2, 2, 3], [2, 2, 2, 1], q=2)
    refusal(
        lambda: p0.fit(degrees, ridge=bad), "ridge must lie in 2.5e-08..2.5e+08", f"got {bad:g}"
    )


def test_the_least_lambda_grows_with_what_lies_beyond_the_range():
    """Row 1 misses 9, q = 4: 3 * 9/1000."""
    sides = [-9, 6, 8, 9, 7], [3, 5, 4, 4, 5]
    refusal(
        lambda: p0.fit(sides, q=4, epsilon=1.0, ridge=0.026), "ridge must lie in 0.027..", "0.026"
    )


def test_separated_blocks_have_a_ridge_estimate():
    weights = np.zeros((6, 6), dtype=int)
    weights[:3, 3:] = 2
    degrees = p0.bidegree(weights, q=3)
    with pytest.raises(NoEstimateError):
        p0.fit(degrees, boundary="extend")
    fit = p0.fit(degrees, ridge=0.1)
    assert fit.contrast("alpha[1]-alpha[4]")["estimate"].iloc[0] > 1


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, "lots"])
def test_ridge_must_be_a_number_or_auto(bad):
    degrees = p0.BiDegree([1, 2, 1], [1, 2, 1], q=3)
    refusal(lambda: p0.fit(degrees, ridge=bad), "ridge must be", "auto", str(bad))


@pytest.mark.parametrize("bad", [True, None, [1.0]])
def test_ridge_of_another_kind_is_a_type_error(bad):
    degrees = p0.BiDegree([1, 2, 1], [1, 2, 1], q=3)
    refusal(lambda: p0.fit(degrees, ridge=bad), "ridge must be", error=TypeError)


def test_a_ridge_goes_with_newton_only():
    degrees = p0.BiDegree([1, 2, 1], [1, 2, 1], q=3)
    refusal(lambda: p0.fit(degrees, ridge=1.0, solver="fixed_point"), "newton", "fixed_point")


def variance_if_alike(mean: float, n: int) -> float:
    """(n - 1) mu'(x) where mu(x) is that mean weight, q = 3."""
    x = brentq(lambda x: edge_moments(np.array(x), 3)[0] - mean, -9, 9)
    return (n - 1) * float(edge_moments(np.array(x), 3)[1])


@pytest.mark.parametrize("noise_epsilon", [None, 1.0])
@pytest.mark.parametrize(("sigma", "level", "n"), [(0.3, -0.5, 100), (0.8, -4.0, 250)])
def test_auto_finds_the_spread_of_normal_parameters(sigma, level, n, noise_epsilon):
    """Small in a dense network, larger in a sparse one: median over 30 networks of
    sigma = sqrt((1 + tau/v)/lambda), v from sums at 0, within 15 %."""
    rng, tau = np.random.default_rng(17), 0.0
    found = []
    for _ in range(30):
        alpha, beta = sigma * rng.normal(size=(2, n))
        weights = examples.network(alpha + level, beta, 3, rng)
        sides = weights.sum(axis=1), weights.sum(axis=0)
        if noise_epsilon is not None:
            noise, tau = (
                examples.laplace_noise(2 * n, 3, noise_epsilon, rng),
                laplace_variance(3, 1),
            )
            sides = sides[0] + noise[:n], sides[1] + noise[n:]
        margins = treat_margins(*sides)
        v = variance_if_alike(margins.rows.mean() / (n - 1), n)
        found.append(np.sqrt((1 + tau / v) / choose_ridge(margins, 3, tau)))
    assert np.median(found) == pytest.approx(sigma, rel=0.15)


@pytest.mark.parametrize("epsilon", [None, 4.0, 1.0, 0.3])
def test_auto_is_nearly_the_best_lambda(epsilon):
    """Mean squared error of centred alpha over 20 networks of 40 nodes: no lambda of a grid does
    15 % better, and one that is 30 times off, either way, does worse where there is less noise
    than spread."""
    rng = np.random.default_rng(5)
    errors: dict[object, float] = dict.fromkeys(("auto", 1 / 30, 30.0, 0.1, 0.3, 3.0, 10.0), 0.0)
    for _ in range(20):
        alpha, beta = 0.6 * rng.normal(size=(2, 40))
        weights = examples.network(alpha - 1.5, beta, 2, rng)
        sides = weights.sum(axis=1), weights.sum(axis=0)
        if epsilon is not None:
            noise = examples.laplace_noise(80, 2, epsilon, rng)
            sides = sides[0] + noise[:40], sides[1] + noise[40:]
        best = p0.fit(sides, q=2, epsilon=epsilon, ridge="auto").moments.ridge
        for factor in errors:
            ridge = best if factor == "auto" else best * factor
            fitted = p0.fit(sides, q=2, epsilon=epsilon, ridge=ridge).alpha
            errors[factor] += np.var(fitted - alpha)
    assert errors["auto"] < 1.15 * min(errors.values())
    assert errors[1 / 30] > 1.2 * errors["auto"]
    assert epsilon == 0.3 or errors[30.0] > 1.2 * errors["auto"]


def test_auto_believes_no_spread_below_a_tenth_of_a_step():
    """Degrees all alike: the end of the range, (1/(0.1 sqrt(12/(q^2-1))))^2 = 66.7 for q = 3."""
    degrees = p0.BiDegree([5, 5, 5, 5], [5, 5, 5, 5], q=3)
    fit = p0.fit(degrees, ridge="auto")
    assert fit.moments.ridge == 67.0
    np.testing.assert_allclose(fit.beta, 0, atol=1e-9)


def test_auto_is_a_number_that_can_be_given_again():
    sides = noisy()
    fit = p0.fit(sides, q=4, epsilon=1.0, ridge="auto")
    again = p0.fit(sides, q=4, epsilon=1.0, ridge=fit.moments.ridge)
    np.testing.assert_array_equal(fit.theta, again.theta)


@pytest.mark.parametrize("factor", [1, 10])
def test_auto_grows_with_noise(factor):
    """The same degrees with more noise said to be in them are shrunk more."""
    margins = treat_margins(*noisy())
    assert choose_ridge(margins, 4, 50.0 * factor) > 1.5 * choose_ridge(margins, 4, 1.0)
