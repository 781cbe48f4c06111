"""p0.fit against other programs, its symmetries, and its refusals."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed

import p0sim as p0
from p0sim.estimate import moments
from tests.oracles import examples, newton, tables
from tests.oracles.existence import treat
from tests.oracles.logit import fit_logit
from tests.oracles.refusals import refusal

TREATMENTS = ("balanced", "drop_last")


def binary_network() -> np.ndarray:
    rng = np.random.default_rng(21)
    return examples.network(*examples.parameters(22, 0.8, rng), 2, rng)


def weighted_network(n: int = 25, q: int = 4, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return examples.network(*examples.parameters(n, 0.6, rng), q, rng)


@pytest.mark.parametrize("solver", ["newton", "fixed_point"])
@pytest.mark.parametrize("margins", TREATMENTS)
def test_binary_fit_agrees_with_a_logistic_regression(margins, solver):
    """Oracle: statsmodels Logit with sender and receiver dummies; 1e-6, estimates and errors."""
    estimates, std_errors = fit_logit(binary_network())
    fit = p0.fit(p0.bidegree(binary_network(), q=2), margins=margins, solver=solver)
    np.testing.assert_allclose(fit.theta, estimates, atol=1e-6)
    got = np.sqrt(np.diag(fit.cov_params(variance="exact")))
    np.testing.assert_allclose(got, std_errors, atol=1e-6)


REAL = {
    "vgam_sampson_q4": lambda: p0.bidegree(tables.adjacency("sampson_liking_count", 18), q=4),
    "vgam_eies_t2_q5": lambda: p0.bidegree(tables.adjacency("eies_acquaintance_t2", 32), q=5),
    "vgam_fraternity_q5": lambda: p0.load_network("fraternity").bidegree(),
}


@pytest.mark.parametrize("margins", TREATMENTS)
@pytest.mark.parametrize("name", REAL)
def test_real_networks_agree_with_vgam(name, margins):
    """Oracle: adjacent-category logit by the R package VGAM; 1e-7, estimates and errors.

    Its rows are alpha[1..n], beta[1..n-1] by position, ours are named by the ids of the file.
    """
    expected = tables.table(name)
    fit = p0.fit(REAL[name](), margins=margins)
    np.testing.assert_allclose(fit.params, expected["estimate"], atol=1e-7)
    got = np.sqrt(np.diag(fit.cov_params(variance="exact")))
    np.testing.assert_allclose(got, expected["std_error"], atol=1e-7)


@pytest.mark.parametrize("margins", TREATMENTS)
@pytest.mark.parametrize(("n", "q", "epsilon"), [(15, 2, 3.0), (40, 3, 5.0), (30, 6, 6.0)])
def test_noisy_fit_agrees_with_a_dense_newton(n, q, epsilon, margins):
    """Oracle: margins treated in fractions, then tests.oracles.newton; 1e-7."""
    out_degree, in_degree = examples.noisy_degrees(n, q, epsilon, seed=q)
    rows, cols = treat(out_degree.tolist(), in_degree.tolist(), margins)
    expected = newton.solve(*(np.array([float(f) for f in side]) for side in (rows, cols)), q)
    fit = p0.fit((out_degree, in_degree), margins=margins, q=q, epsilon=epsilon)
    np.testing.assert_allclose(fit.theta, expected, atol=1e-7)


@pytest.mark.parametrize("margins", TREATMENTS)
def test_fixed_point_and_newton_agree(margins):
    z = examples.noisy_degrees(30, 4, 2.0, seed=6)
    one, other = (
        p0.fit(z, margins=margins, solver=solver, q=4, epsilon=2.0)
        for solver in ("newton", "fixed_point")
    )
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-7)


@pytest.mark.parametrize("margins", TREATMENTS)
@pytest.mark.parametrize(("n", "L", "q"), [(5, 0, 2), (30, 1.2, 2), (30, 1.2, 5), (20, 2, 12)])
def test_fitting_the_expectation_returns_the_parameters(n, L, q, margins):
    """The moment equations at the truth: theta-hat(E d) = theta."""
    model = p0.linear_design(n=n, L=L, q=q)
    fit = p0.fit(model.expected_bidegree(), margins=margins)
    np.testing.assert_allclose(fit.theta, model.theta, atol=1e-7)


def test_fitted_model_reproduces_the_balanced_margins():
    """z+_i - delta/(2n) and z-_j + delta/(2n), recomputed by sums of q terms."""
    out_degree, in_degree = examples.noisy_degrees(30, 3, 1.5, seed=2)
    fit = p0.fit((out_degree, in_degree), q=3, epsilon=1.5)
    mean, _ = newton.edge_moments(fit.alpha[:, None] + fit.beta, 3)
    np.fill_diagonal(mean, 0)
    share = (out_degree.sum() - in_degree.sum()) / 60
    np.testing.assert_allclose(mean.sum(axis=1), out_degree - share, atol=1e-6)
    np.testing.assert_allclose(mean.sum(axis=0), in_degree + share, atol=1e-6)


def test_drop_last_ignores_the_last_in_degree():
    out_degree, in_degree = examples.noisy_degrees(30, 3, 1.5, seed=2)
    other = np.append(in_degree[:-1], in_degree[-1] + 9)
    one, two = (
        p0.fit((out_degree, side), margins="drop_last", q=3, epsilon=1.5)
        for side in (in_degree, other)
    )
    np.testing.assert_array_equal(one.theta, two.theta)


def test_treatments_agree_without_noise():
    degrees = p0.bidegree(weighted_network(), q=4)
    one, two = (p0.fit(degrees, margins=margins).theta for margins in TREATMENTS)
    np.testing.assert_allclose(one, two, atol=1e-9)


def shifted(alpha: np.ndarray, beta: np.ndarray, last: int) -> np.ndarray:
    """The same model in the gauge where beta of one node is 0."""
    return np.append(alpha + beta[last], beta - beta[last])


def noisy_or_not(noisy: bool) -> tuple[tuple[np.ndarray, np.ndarray], dict]:
    if noisy:
        return examples.noisy_degrees(25, 4, 2.0, seed=9), {"q": 4, "epsilon": 2.0}
    weights = weighted_network()
    return (weights.sum(axis=1), weights.sum(axis=0)), {"q": 4}


@pytest.mark.parametrize("noisy", [False, True])
def test_relabelling_permutes_balanced_estimates_up_to_the_shift(noisy):
    """Another node is last, so beta moves by a constant and alpha against it."""
    (out_degree, in_degree), given = noisy_or_not(noisy)
    order = np.random.default_rng(1).permutation(25)
    assert order[-1] != 24
    fit = p0.fit((out_degree, in_degree), **given)
    moved = p0.fit((out_degree[order], in_degree[order]), **given)
    expected = shifted(fit.alpha, fit.beta, last=order[-1])
    np.testing.assert_allclose(moved.alpha, expected[:25][order], atol=1e-8)
    np.testing.assert_allclose(moved.beta, expected[25:][order], atol=1e-8)


@pytest.mark.parametrize("noisy", [False, True])
def test_transposing_swaps_balanced_estimates_up_to_the_shift(noisy):
    (out_degree, in_degree), given = noisy_or_not(noisy)
    fit = p0.fit((out_degree, in_degree), **given)
    swapped = p0.fit((in_degree, out_degree), **given)
    expected = shifted(fit.beta, fit.alpha, last=24)
    np.testing.assert_allclose(np.append(swapped.alpha, swapped.beta), expected, atol=1e-8)


def test_relabelling_that_keeps_the_last_node_permutes_drop_last_estimates():
    out_degree, in_degree = examples.noisy_degrees(25, 4, 2.0, seed=9)
    order = np.append(np.random.default_rng(1).permutation(24), 24)
    given = {"margins": "drop_last", "q": 4, "epsilon": 2.0}
    fit = p0.fit((out_degree, in_degree), **given)
    moved = p0.fit((out_degree[order], in_degree[order]), **given)
    np.testing.assert_allclose(moved.alpha, fit.alpha[order], atol=1e-8)
    np.testing.assert_allclose(moved.beta, fit.beta[order], atol=1e-8)


def test_reversing_the_weights_turns_the_signs():
    """a -> q - 1 - a for every arc: alpha and beta change sign."""
    weights = weighted_network()
    reversed_weights = 3 - weights
    np.fill_diagonal(reversed_weights, 0)
    one, two = (p0.fit(p0.bidegree(w, q=4)).theta for w in (weights, reversed_weights))
    np.testing.assert_allclose(one, -two, atol=1e-8)


def test_no_estimate_is_known_before_any_solving(monkeypatch):
    """A solver is never called on margins without a solution."""

    def never(*_):
        raise AssertionError("the solver was called")

    for name in list(moments.SOLVERS):
        monkeypatch.setitem(moments.SOLVERS, name, never)
    silent = p0.BiDegree([0, 2, 2], [1, 1, 2], q=3, nodes=["ann", "bob", "cy"])
    with pytest.raises(p0.NoEstimateError) as caught:
        p0.fit(silent)
    assert caught.value.nodes == ("ann",)
    assert "ann" in caught.value.reason
    assert "\n" not in str(caught.value)


def test_no_estimate_is_not_a_value_error():
    """It is an outcome of honest data, so `except ValueError` must not swallow it."""
    assert issubclass(p0.NoEstimateError, p0.P0SimError)
    assert not issubclass(p0.NoEstimateError, ValueError)


def test_a_solver_that_stops_short_says_where(monkeypatch):
    """With no step allowed, NotConvergedError holds theta and the residual."""
    monkeypatch.setattr("p0sim.estimate.solvers.NEWTON_STEPS", 0)
    with pytest.raises(p0.NotConvergedError) as caught:
        p0.fit(p0.bidegree(weighted_network(), q=4))
    assert caught.value.theta.shape == (49,)
    assert caught.value.residual > 1e-6


@pytest.mark.parametrize("solver", ["newton", "fixed_point"])
@pytest.mark.parametrize("seed", range(8))
def test_a_degree_full_up_to_rounding_is_an_outcome(seed, solver):
    """alpha_1 = 50: its expected degree is 8 = (n-1)(q-1) in floats, on either side of it after
    balancing. Whatever is decided, it is one of the two outcome errors, without a warning."""
    rng = np.random.default_rng(seed)
    alpha, beta = np.append(50, rng.normal(size=4)), np.append(rng.normal(size=4), 0)
    degrees = p0.P0Model(alpha, beta, q=3).expected_bidegree()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((p0.NoEstimateError, p0.NotConvergedError)):
            p0.fit(degrees, solver=solver)


@pytest.mark.parametrize(
    "error", [p0.NoEstimateError("no", ["a", "b"]), p0.NotConvergedError(np.arange(5.0), 0.25)]
)
def test_outcome_errors_can_be_pickled(error):
    """joblib sends them between processes."""
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    for name, value in vars(error).items():
        np.testing.assert_array_equal(vars(back)[name], value)


def fit_or_reason(z: p0.BiDegree) -> object:
    try:
        return p0.fit(z)
    except p0.NoEstimateError as error:
        return error


def test_results_and_errors_come_back_from_workers():
    """Two loky processes: a fit and an outcome without estimate."""
    good = p0.bidegree(weighted_network(), q=4)
    bad = p0.BiDegree([0, 2, 2], [1, 1, 2], q=3)
    fitted, refused = Parallel(n_jobs=2)(delayed(fit_or_reason)(z) for z in (good, bad))
    np.testing.assert_array_equal(fitted.theta, p0.fit(good).theta)
    assert refused.nodes == ("1",)


def test_a_pair_of_vectors_can_carry_noise_or_not():
    """epsilon None: no noise; otherwise the noise variance enters the standard errors."""
    weights = weighted_network()
    pair = weights.sum(axis=1), weights.sum(axis=0)
    quiet, noisy = p0.fit(pair, q=4), p0.fit(pair, q=4, epsilon=1.0)
    np.testing.assert_allclose(quiet.theta, noisy.theta, atol=1e-12)
    assert (noisy.bse > quiet.bse).all()
    np.testing.assert_allclose(quiet.theta, p0.fit(p0.bidegree(weights, q=4)).theta, atol=1e-12)


@pytest.mark.parametrize("margins", TREATMENTS)
def test_a_simulated_release_is_fitted_with_its_own_q_and_epsilon(margins):
    degrees = p0.bidegree(weighted_network(), q=4)
    z = p0.simulate_release(degrees, epsilon=3, rng=np.random.default_rng(4))
    fit = p0.fit(z, margins=margins)
    same = p0.fit((z.out_degree, z.in_degree), margins=margins, q=4, epsilon=3)
    np.testing.assert_array_equal(fit.theta, same.theta)
    np.testing.assert_array_equal(fit.bse, same.bse)


def test_unequal_totals_without_epsilon_are_refused():
    """Noise must not be ignored in silence."""
    refusal(lambda: p0.fit(([3, 2, 2], [2, 2, 2]), q=3), "totals", "7", "6", "epsilon")


def test_bad_arguments_are_refused():
    degrees = p0.bidegree(weighted_network(), q=4)
    pair = ([2, 2, 2], [2, 2, 2])
    refusal(lambda: p0.fit(degrees, margins="raw"), "margins must be one of", "'raw'")
    refusal(lambda: p0.fit(degrees, solver="bfgs"), "solver must be one of", "'bfgs'")
    refusal(lambda: p0.fit(pair), "q must be given", error=TypeError)
    refusal(lambda: p0.fit(pair, q=1), "q must be at least 2", "got 1")
    refusal(lambda: p0.fit(([2, 2], [2, 2]), q=3), "n must be at least 3", "got 2")
    refusal(lambda: p0.fit(pair, q=3, epsilon=-1.0), "epsilon must be positive", "got -1.0")
    refusal(lambda: p0.fit(pair, q=3, epsilon=np.nan), "epsilon must be positive", "nan")
    refusal(lambda: p0.fit(pair, q=3, epsilon=True), "epsilon", error=TypeError)


@pytest.mark.parametrize("bad", [7, "friends.csv", None])
def test_other_kinds_of_degrees_are_a_type_error(bad):
    """One plain line, not an unpacking error from inside."""
    message = refusal(lambda: p0.fit(bad, q=3), error=TypeError)
    assert "unpack" not in message
    assert "argument after *" not in message


def test_one_based_ids_are_eleven_nodes_in_the_fit(tmp_path):
    """An edge list with ids 1..11 and no node list."""
    path = tmp_path / "ids.csv"
    rows = [f"{i},{i % 11 + 1},1\n{i},{(i + 3) % 11 + 1},2\n" for i in range(1, 12)]
    path.write_text("source,target,weight\n" + "".join(rows))
    fit = p0.fit(p0.read_network(path, q=3).bidegree())
    assert fit.nodes == tuple(str(k) for k in range(1, 12))
    assert len(fit.params) == 21
