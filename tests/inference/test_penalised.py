"""Covariance of ridge and extended estimates: matrix algebra, simulations, what is printed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import p0sim as p0
from p0sim.inference.covariance import covariance
from tests.oracles import examples
from tests.oracles import ridge as oracle
from tests.oracles.extended import block_moments
from tests.oracles.refusals import refusal

TREATMENTS = ("balanced", "drop_last")


def noisy_fit(n: int, ridge: float, margins: str, q: int = 3, epsilon: float = 2.0):
    sides = examples.noisy_degrees(n, q, epsilon, seed=n)
    return p0.fit(sides, q=q, epsilon=epsilon, margins=margins, ridge=ridge)


@pytest.mark.parametrize("margins", TREATMENTS)
@pytest.mark.parametrize("ridge", [1e-2, 0.5, 30.0])
def test_exact_is_the_sandwich_in_2n_coordinates(ridge, margins):
    """Oracle: pseudo-inverses of the full H, then the gauge; noise as a linear map of its draws."""
    fit = noisy_fit(12, ridge, margins)
    tau = fit.moments.noise_variance
    expected = oracle.covariance(fit.alpha, fit.beta, 3, ridge, tau, margins)
    np.testing.assert_allclose(fit.cov_params("exact"), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("margins", TREATMENTS)
def test_it_tends_to_the_plain_covariance(margins):
    sides = examples.noisy_degrees(15, 3, 5.0, seed=2)
    given = {"q": 3, "epsilon": 5.0, "margins": margins}
    plain, ridge = p0.fit(sides, **given), p0.fit(sides, **given, ridge=1e-7)
    np.testing.assert_allclose(ridge.cov_params("exact"), plain.cov_params("exact"), rtol=1e-5)


@pytest.mark.parametrize("margins", TREATMENTS)
@pytest.mark.parametrize("ridge", [0.1, 2.0, 100.0])
@pytest.mark.parametrize(("n", "single", "contrast"), [(40, 0.1, 0.03), (160, 0.03, 0.006)])
def test_the_closed_form_is_near_the_exact_one(n, ridge, margins, single, contrast):
    """Largest relative error of a variance, and of that of alpha_1 - alpha_j, falls as 1/n."""
    fit = noisy_fit(n, ridge, margins)
    close, exact = covariance(fit.moments, "noise"), covariance(fit.moments, "exact")
    np.testing.assert_allclose(close.diagonal(), exact.diagonal(), rtol=single)
    weights = np.eye(2 * n - 1)[[0]] - np.eye(2 * n - 1)[1:n]
    np.testing.assert_allclose(
        close.contrast_variances(weights), exact.contrast_variances(weights), rtol=contrast
    )
    np.testing.assert_allclose(np.diag(close.matrix()), close.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(
        close.contrast_variances(np.eye(2 * n - 1)), close.diagonal(), rtol=1e-9
    )


def test_it_knows_the_common_level():
    """lambda so large that nodes are alike: Var(alpha) = 1/T, T the variance of the total. The
    diagonal alone, (v + tau)/(v + lambda)^2, would say nearly 0."""
    fit = p0.fit(p0.BiDegree([5, 6, 4, 5, 7], [6, 5, 5, 4, 7], q=3), ridge=1e6)
    total = fit.moments.degree_variances[0].sum()
    for variance in ("noise", "S", "exact"):
        assert fit.std_errors(variance).iloc[0] ** 2 == pytest.approx(1 / total, rel=1e-3)


def test_S_is_the_closed_form_without_noise():
    sides = examples.noisy_degrees(30, 3, 2.0, seed=1)
    noisy = p0.fit(sides, q=3, epsilon=2.0, ridge=1.0)
    quiet = p0.fit(sides, q=3, epsilon=1e4, ridge=1.0)
    np.testing.assert_allclose(noisy.std_errors("S"), quiet.std_errors("noise"), rtol=1e-6)
    assert (noisy.std_errors("S") < noisy.bse).all()


def covered_share(ridge: float, about: str, reps: int = 400) -> float:
    """Share of 95 % intervals of alpha_1 - alpha_2 that hold the target, or the truth."""
    model = p0.P0Model(np.linspace(2, -2, 25), np.zeros(25), q=3)
    rng = np.random.default_rng(7)
    target = p0.fit(model.expected_bidegree(), ridge=ridge) if about == "target" else model
    value, covered = target.alpha[0] - target.alpha[24], 0
    for _ in range(reps):
        z = p0.simulate_release(model.sample_bidegree(rng=rng), epsilon=3.0, rng=rng)
        row = p0.fit(z, ridge=ridge).contrast("alpha[1]-alpha[25]").iloc[0]
        covered += row["lower"] <= value <= row["upper"]
    return covered / reps


def test_intervals_cover_the_penalised_target():
    """Of 400 intervals at 95 %, within 4.5 binomial standard deviations (false alarm 7e-6) and 2 %
    for what first-order theory leaves. Control: the true contrast, 4, is missed far more often."""
    share = covered_share(5.0, "target")
    assert abs(share - 0.95) < 4.5 * np.sqrt(0.95 * 0.05 / 400) + 0.02
    assert covered_share(5.0, "truth") < 0.5


def test_the_summary_says_what_intervals_are_about():
    text = str(noisy_fit(12, 0.5, "balanced").summary())
    assert "Ridge: lambda = 0.5" in text
    assert "penalised target, not about the true parameters" in text


@pytest.fixture(scope="module")
def extended() -> p0.P0Results:
    """Node 2 sends nothing, node 10, the last, receives nothing, node 4 receives all it can."""
    rng = np.random.default_rng(4)
    weights = examples.network(np.full(10, -0.3), np.zeros(10), 3, rng)
    weights[:, 3] = 2
    weights[1] = 0
    weights[:, 9] = 0
    np.fill_diagonal(weights, 0)
    weights[1, 3] = 2
    return p0.fit(p0.bidegree(weights, q=3, nodes=list("abcdefghij")), boundary="extend")


def test_names_leave_out_the_last_finite_beta(extended):
    """beta of j is -inf, so that of i is 0."""
    assert extended.beta[8] == 0
    expected = [f"alpha[{v}]" for v in "abcdefghij"] + [f"beta[{v}]" for v in "abcdefghj"]
    assert list(extended.params.index) == expected
    assert list(extended.forced.index) == ["alpha[b]", "beta[d]", "beta[j]"]
    assert list(extended.forced) == [-np.inf, np.inf, -np.inf]


def test_forced_parameters_have_no_finite_interval(extended):
    table = extended.tidy().set_index("term")
    for term, end in extended.forced.items():
        row = table.loc[term]
        assert row["estimate"] == end
        assert row[["std_error", "statistic", "p_value"]].isna().all()
        assert (row["lower"], row["upper"]) == (-np.inf, np.inf)
    others = table.drop(extended.forced.index)
    assert np.isfinite(others.to_numpy()).all()
    pd.testing.assert_index_equal(extended.conf_int().index, extended.params.index)
    pd.testing.assert_index_equal(extended.bse.index, extended.params.index)


@pytest.mark.parametrize("variance", ["noise", "S", "exact"])
def test_cov_params_holds_the_free_part(extended, variance):
    names = list(extended.params.index.drop(extended.forced.index))
    cov = extended.cov_params(variance)
    assert list(cov.index) == list(cov.columns) == names
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), extended.std_errors(variance)[names])


def left(fit: p0.P0Results) -> np.ndarray:
    pairs = np.isfinite(fit.alpha)[:, None] & np.isfinite(fit.beta)
    np.fill_diagonal(pairs, False)
    return pairs


def test_exact_inverts_the_information_of_what_is_left(extended):
    """Oracle: V of the arcs that are left, dense, without the row of beta[i]; no noise."""
    _, variance = block_moments(extended.alpha, extended.beta, 3, left(extended))
    rows, cols = np.isfinite(extended.alpha), np.isfinite(extended.beta)
    block = variance[np.ix_(rows, cols)]
    v = np.block([[np.diag(block.sum(axis=1)), block], [block.T, np.diag(block.sum(axis=0))]])
    expected = np.linalg.inv(v[:-1, :-1])
    np.testing.assert_allclose(extended.cov_params("exact"), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("margins", TREATMENTS)
def test_noise_of_what_is_left_enters_the_exact_covariance(margins):
    """Oracle: V^-1 (V + tau J) V^-1 in full coordinates of what is left, then the gauge."""
    sides = [-3, 6, 8, 9, 7, 5], [4, 7, 5, 6, 6, 5]
    fit = p0.fit(sides, q=4, epsilon=3.0, boundary="extend", margins=margins)
    assert list(fit.forced.index) == ["alpha[1]"]
    _, variance = block_moments(fit.alpha, fit.beta, 4, left(fit))
    block = variance[1:]
    v = np.block([[np.diag(block.sum(axis=1)), block], [block.T, np.diag(block.sum(axis=0))]])
    w = np.append(np.ones(5), -np.ones(6))
    if margins == "balanced":
        treatment = np.eye(11) - np.outer(w, w) / 11
    else:
        treatment = np.eye(11)
        treatment[-1] = np.append(w[:-1], 0)
    inverse = np.linalg.pinv(v, rcond=1e-12, hermitian=True)
    sigma = v + fit.moments.noise_variance * treatment @ treatment.T
    gauge = np.eye(11)[:-1].copy()
    gauge[:5, -1], gauge[5:, -1] = 1, -1
    half = gauge @ inverse
    np.testing.assert_allclose(fit.cov_params("exact"), half @ sigma @ half.T, rtol=1e-8)


def test_the_closed_form_is_near_the_exact_one_for_what_is_left():
    """A third of 150 nodes is silent: singles within 5 %, contrasts within 2 %."""
    rng = np.random.default_rng(2)
    weights = examples.network(*examples.parameters(150, 0.5, rng), 3, rng)
    weights[:50] = 0
    fit = p0.fit(p0.bidegree(weights, q=3), boundary="extend")
    assert len(fit.forced) == 50
    exact = covariance(fit.moments, "exact")
    close = covariance(fit.moments, "noise")
    np.testing.assert_allclose(close.diagonal(), exact.diagonal(), rtol=0.05)
    terms = [f"alpha[51]-alpha[{k}]" for k in range(52, 60)]
    one, other = (fit.contrast(terms, variance=name)["std_error"] for name in ("noise", "exact"))
    np.testing.assert_allclose(one, other, rtol=0.01)


def test_contrasts_take_finite_parameters_only(extended):
    row = extended.contrast("alpha[a]-alpha[c]").iloc[0]
    assert row["estimate"] == extended.alpha[0] - extended.alpha[2]
    assert extended.contrast("alpha[a]+beta[i]")["estimate"].iloc[0] == extended.alpha[0]
    refusal(
        lambda: extended.contrast("alpha[a]-alpha[b]"),
        "finite parameters", "'alpha[a]-alpha[b]'", "alpha[b] forced to -inf",
    )  # fmt: skip
    refusal(lambda: extended.contrast("beta[j]"), "beta[j] forced to -inf")
    refusal(lambda: extended.contrast("beta[i]"), "free parameter", "'beta[i]'")


def test_the_objective_leaves_fixed_arcs_out(extended):
    """Log-probability of the arcs that are left, weights as one such network has them."""
    drawn = extended.simulate(rng=np.random.default_rng(3))
    pairs = left(extended)
    finite = (np.where(np.isfinite(s), s, 0) for s in (extended.alpha, extended.beta))
    x = np.add.outer(*finite)
    logs = drawn * x - np.log(sum(np.exp(k * x) for k in range(3)))
    got = extended.model.log_likelihood(drawn.sum(axis=1), drawn.sum(axis=0))
    assert got == pytest.approx(logs[pairs].sum(), rel=1e-10)
    row = extended.glance().iloc[0]
    assert (row["boundary"], row["n_forced"], row["ridge"]) == ("extend", 3, 0.0)


def test_the_summary_lists_who_was_forced(extended):
    text = str(extended.summary())
    assert "Forced to -inf: alpha of 1 node: b" in text
    assert "Forced to inf: beta of 1 node: d" in text
    assert "Forced to -inf: beta of 1 node: j" in text
    assert "nan" not in text
    assert "inf " not in text.split("Estimate")[1]


def test_synthetic_networks_keep_the_fixed_arcs(extended):
    """300 networks: fixed arcs always, the others' mean within 5 standard errors of the fit's
    (false alarm 5e-5 for 80 arcs)."""
    rng = np.random.default_rng(1)
    drawn = np.array([extended.simulate(rng=rng) for _ in range(300)])
    pairs = left(extended)
    assert (drawn[:, 1, [0, 2, 4, 5, 6, 7, 8, 9]] == 0).all()
    assert (drawn[:, [0, 1, 2, 4, 5, 6, 7, 8, 9], 3] == 2).all()
    assert (drawn[:, :, 9] == 0).all()
    mean, variance = block_moments(extended.alpha, extended.beta, 3, pairs)
    gap = drawn.mean(axis=0)[pairs] - mean[pairs]
    assert (np.abs(gap) < 5 * np.sqrt(variance[pairs] / 300)).all()
    assert stats.norm.sf(5) * 2 * pairs.sum() < 5e-5
