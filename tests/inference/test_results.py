"""What a fit offers: names, columns, labels, printed summary."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import p0sim as p0
from tests.oracles import examples, newton

NODES = ("ann", "01", "α b", "d]", "e,f", "g")
TERMS = [f"alpha[{v}]" for v in NODES] + [f"beta[{v}]" for v in NODES[:-1]]


@pytest.fixture(scope="module")
def fit() -> p0.P0Results:
    out_degree, in_degree = examples.noisy_degrees(6, 4, 30.0, seed=2)
    return p0.fit(p0.NoisyBiDegree(out_degree, in_degree, 4, 3.0, NODES))


@pytest.fixture(scope="module")
def quiet() -> p0.P0Results:
    rng = np.random.default_rng(2)
    weights = examples.network(*examples.parameters(6, 0.5, rng), 4, rng)
    return p0.fit(p0.bidegree(weights, q=4, nodes=NODES), margins="drop_last", solver="fixed_point")


def test_params_are_a_labelled_series(fit):
    assert isinstance(fit.params, pd.Series)
    assert list(fit.params.index) == TERMS
    np.testing.assert_array_equal(fit.params, fit.theta)
    np.testing.assert_array_equal(fit.theta, np.append(fit.alpha, fit.beta[:-1]))
    assert fit.beta[-1] == 0
    assert fit.nodes == NODES


def test_standard_errors_are_roots_of_the_noise_covariance(fit):
    assert list(fit.bse.index) == TERMS
    np.testing.assert_allclose(fit.bse, np.sqrt(np.diag(fit.cov_params())), rtol=1e-12)
    np.testing.assert_array_equal(fit.cov_params(), fit.cov_params(variance="noise"))
    assert list(fit.cov_params().columns) == TERMS


@pytest.mark.parametrize("variance", ["noise", "S", "exact"])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_are_normal(fit, level, variance):
    """estimate -/+ the normal quantile times the standard error of that variance."""
    interval = fit.conf_int(level=level, variance=variance)
    assert list(interval.columns) == ["lower", "upper"]
    assert list(interval.index) == TERMS
    half = stats.norm.isf((1 - level) / 2) * np.sqrt(np.diag(fit.cov_params(variance)))
    np.testing.assert_allclose(interval["lower"], fit.theta - half, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(interval["upper"], fit.theta + half, rtol=1e-10, atol=1e-12)


def test_defaults_are_95_percent_and_noise(fit):
    pd.testing.assert_frame_equal(fit.conf_int(), fit.conf_int(level=0.95, variance="noise"))
    pd.testing.assert_frame_equal(fit.tidy(), fit.tidy(level=0.95))


def test_tidy_has_one_row_a_parameter(fit):
    table = fit.tidy(level=0.9)
    assert list(table.columns) == [
        "term", "estimate", "std_error", "statistic", "p_value", "lower", "upper",
    ]  # fmt: skip
    assert list(table["term"]) == TERMS
    np.testing.assert_array_equal(table["estimate"], fit.params)
    np.testing.assert_allclose(table["std_error"], fit.bse, rtol=1e-12)
    np.testing.assert_allclose(table["statistic"], fit.params / fit.bse, rtol=1e-12)
    np.testing.assert_allclose(table["p_value"], 2 * stats.norm.sf(abs(fit.params / fit.bse)))
    np.testing.assert_allclose(table["lower"], fit.conf_int(0.9)["lower"], rtol=1e-12)


def test_glance_is_one_row(fit, quiet):
    table = fit.glance()
    assert list(table.columns) == [
        "n", "q", "epsilon", "margins", "solver", "converged", "n_iter", "residual", "objective",
        "boundary", "n_forced", "ridge",
    ]  # fmt: skip
    assert len(table) == 1
    row = table.iloc[0]
    assert (row["n"], row["q"], row["epsilon"]) == (6, 4, 3.0)
    assert (row["margins"], row["solver"], bool(row["converged"])) == ("balanced", "newton", True)
    assert row["n_iter"] >= 1
    assert row["residual"] < 1e-8
    other = quiet.glance().iloc[0]
    assert (other["margins"], other["solver"]) == ("drop_last", "fixed_point")
    assert pd.isna(other["epsilon"])


def test_objective_is_the_log_likelihood(quiet):
    """sum of log P(a_ij), over any network with these degrees: degrees are sufficient."""
    rng = np.random.default_rng(2)
    weights = examples.network(*examples.parameters(6, 0.5, rng), 4, rng)
    x = quiet.alpha[:, None] + quiet.beta
    log_law = weights * x - np.log(sum(np.exp(k * x) for k in range(4)))
    expected = log_law[~np.eye(6, dtype=bool)].sum()
    assert quiet.glance()["objective"].iloc[0] == pytest.approx(expected, rel=1e-10)


def test_model_is_the_estimate(fit):
    assert isinstance(fit.model, p0.P0Model)
    np.testing.assert_array_equal(fit.model.theta, fit.theta)
    assert fit.model.q == 4
    mean, _ = newton.edge_moments(fit.alpha[:, None] + fit.beta, 4)
    np.fill_diagonal(mean, 0)
    np.testing.assert_allclose(
        fit.model.expected_bidegree().out_degree, mean.sum(axis=1), rtol=1e-10
    )


def test_summary_prints_every_parameter(fit, quiet):
    """Labels, the four familiar columns, what the noise was, and how the fit ended."""
    text = str(fit.summary())
    for word in (*TERMS, "Estimate", "Std. Error", "z value", "Pr(>|z|)", "balanced", "newton"):
        assert word in text
    assert "epsilon = 3" in text
    assert f"{fit.params.iloc[0]:.4f}" in text
    assert "none" in str(quiet.summary())
    assert repr(fit.summary()) == text


def test_labels_survive_from_a_file_to_the_results(tmp_path):
    """Ids such as 01 and é stay what they are, in the order of the node list."""
    rng, nodes = np.random.default_rng(5), ["01", "1", "é", "NA", "x y", "z"]
    weights = examples.network(np.zeros(6), np.zeros(6), 3, rng)
    lines = [f"{nodes[i]},{nodes[j]},{weights[i, j]}" for i, j in np.argwhere(weights)]
    path = tmp_path / "net.csv"
    path.write_text("source,target,weight\n" + "\n".join(lines), encoding="utf-8")
    degrees = p0.read_network(path, q=3, nodes=nodes).bidegree()
    z = p0.simulate_release(degrees, epsilon=20, rng=rng)
    fit = p0.fit(z)
    assert z.nodes == fit.nodes == fit.model.nodes == tuple(nodes)
    assert list(fit.params.index) == [f"alpha[{v}]" for v in nodes] + [
        f"beta[{v}]" for v in nodes[:-1]
    ]
    assert fit.contrast("alpha[01]-alpha[é]")["estimate"].iloc[0] == fit.alpha[0] - fit.alpha[2]


def test_the_generator_of_a_synthetic_network_may_be_given_by_place(fit):
    one, other = (np.random.default_rng(9) for _ in range(2))
    np.testing.assert_array_equal(fit.simulate(one), fit.simulate(rng=other))


def test_synthetic_networks_come_from_the_fit(fit):
    """300 networks: mean degrees within 6 standard errors of the treated margins."""
    rng = np.random.default_rng(9)
    drawn = np.array([fit.simulate(rng=rng) for _ in range(300)])
    assert drawn.shape == (300, 6, 6)
    assert drawn.min() == 0
    assert drawn.max() <= 3
    expected, v = fit.model.expected_bidegree(), np.diag(fit.model.fisher_information())[:6]
    gap = drawn.sum(axis=2).mean(axis=0) - expected.out_degree
    assert (abs(gap) < 6 * np.sqrt(v / 300)).all()


def test_series_carry_their_labels_into_the_results():
    """Two pandas Series with one index are a labelled pair; different ones are refused."""
    out = pd.Series([3, 1, 2], index=["ann", "bob", "cy"])
    into = pd.Series([2, 2, 2], index=["ann", "bob", "cy"])
    assert p0.fit((out, into), q=3).params.index[0] == "alpha[ann]"
    assert "bob" in p0.existence((out - 3, into), q=3).nodes
    with pytest.raises(p0.InvalidNetworkError, match="same labels"):
        p0.fit((out, into[::-1]), q=3)


def test_what_a_user_changes_in_params_stays_theirs():
    fit = p0.fit(([3, 1, 2], [2, 2, 2]), q=3)
    mine = fit.params
    mine.iloc[0] = 99.0
    assert fit.params.iloc[0] == fit.alpha[0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda fit: fit.contrast([]), ValueError, "contrast must name at least one"),
        (lambda fit: fit.contrast(3), TypeError, "contrast must be text"),
        (lambda fit: p0.fit(np.eye(4), q=3), TypeError, "z must be degrees or a pair"),
        (lambda fit: p0.fit(None), TypeError, "z must be degrees or a pair"),
        (lambda fit: p0.existence(np.eye(3), q=3), TypeError, "z must be degrees or a pair"),
        (lambda fit: p0.fit(p0.load_network("fraternity")), TypeError, "has .bidegree()"),
    ],
)
def test_misuse_is_named(call, error, words):
    fit = p0.fit(([3, 1, 2], [2, 2, 2]), q=3)
    with pytest.raises(error) as caught:
        call(fit)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_blanks_around_a_contrast_do_not_matter():
    fit = p0.fit(([3, 1, 2], [2, 2, 2]), q=3)
    assert fit.contrast(" alpha[1]-alpha[2] ")["term"][0] == "alpha[1]-alpha[2]"
