"""Models with infinite parameters: the limit of ordinary ones."""

from __future__ import annotations

import numpy as np
import pytest

import p0sim as p0
from p0sim.model.edge_sums import log_normalizer_sum, mean_sums, variance_sums
from p0sim.model.extended import ExtendedP0Model, full_arcs
from tests.oracles.extended import block_moments
from tests.oracles.refusals import refusal

ALPHA_RATES, BETA_RATES = [0, -1, 0, 3, 0], [2, 0, 0, 0, -4]


def model(q: int = 3) -> ExtendedP0Model:
    return ExtendedP0Model(
        [0.4, 0, -0.3, 0, 0.1], [0, 0.2, -0.5, 0, 0], q, ALPHA_RATES, BETA_RATES, list("abcde")
    )


def near(t: float, q: int = 3) -> p0.P0Model:
    """An ordinary model on its way to the limit, moved to the gauge beta_n = 0."""
    alpha = np.array([0.4, 0, -0.3, 0, 0.1]) + t * np.array(ALPHA_RATES)
    beta = np.array([0, 0.2, -0.5, 0, 0]) + t * np.array(BETA_RATES)
    return p0.P0Model(alpha + beta[-1], beta - beta[-1], q)


def test_moments_are_limits_of_ordinary_ones():
    """t = 40: e^-40 from the limit."""
    limit, close = model(), near(40)
    for one, other in zip(
        (*limit.degree_variances(), limit.fisher_information(), limit.arc_variances()),
        (*close.degree_variances(), close.fisher_information(), close.arc_variances()),
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)
    one, other = limit.expected_bidegree(), close.expected_bidegree()
    np.testing.assert_allclose(one.out_degree, other.out_degree, atol=1e-12)
    np.testing.assert_allclose(one.in_degree, other.in_degree, atol=1e-12)
    assert one.nodes == tuple("abcde")


def test_the_gauge_is_the_last_finite_beta():
    assert model().reference == 3
    np.testing.assert_array_equal(
        model().theta, [0.4, -np.inf, -0.3, np.inf, 0.1, np.inf, 0.2, -0.5, -np.inf]
    )


def test_degrees_are_those_of_the_network_drawn():
    drawn = model().sample(rng=np.random.default_rng(2))
    degrees = model().sample_bidegree(rng=np.random.default_rng(2))
    np.testing.assert_array_equal(degrees.out_degree, drawn.sum(axis=1))
    np.testing.assert_array_equal(degrees.in_degree, drawn.sum(axis=0))
    assert not np.diag(drawn).any()


def test_draws_have_the_limit_law():
    """2000 networks, mean of each arc within 5 standard errors (false alarm 1e-5), fixed arcs
    always; control: the ordinary model on its way, t = 0.5, is told apart."""
    rng = np.random.default_rng(8)
    finite = np.isfinite(model().alpha)[:, None] & np.isfinite(model().beta)
    np.fill_diagonal(finite, False)
    mean, variance = block_moments(model().alpha, model().beta, 3, finite)
    pull = np.add.outer(ALPHA_RATES, BETA_RATES)
    fixed = (pull != 0) & ~np.eye(5, dtype=bool)

    def passes(source: p0.P0Model) -> bool:
        drawn = np.array([source.sample(rng=rng) for _ in range(2000)])
        right = (drawn[:, fixed] == np.where(pull > 0, 2, 0)[fixed]).all()
        gap = np.abs(drawn.mean(axis=0) - mean)[finite]
        return bool(right and (gap < 5 * np.sqrt(variance[finite] / 2000)).all())

    assert passes(model())
    assert not passes(near(0.5))


def test_full_arcs_are_counted_pair_by_pair():
    rng = np.random.default_rng(1)
    for _ in range(50):
        rates = rng.permutation(14) * rng.choice([-1, 0, 1], 14)
        full = np.add.outer(rates[:7], rates[7:]) > 0
        np.fill_diagonal(full, False)
        rows, columns = full_arcs(rates[:7], rates[7:])
        np.testing.assert_array_equal(rows, full.sum(axis=1))
        np.testing.assert_array_equal(columns, full.sum(axis=0))


def test_the_log_likelihood_is_a_limit():
    degrees = model().sample_bidegree(rng=np.random.default_rng(4))
    got = model().log_likelihood(degrees.out_degree, degrees.in_degree)
    close = near(40).log_likelihood(degrees.out_degree, degrees.in_degree)
    assert got == pytest.approx(close, abs=1e-9)


@pytest.mark.parametrize(("a", "b", "shared", "q", "spread"), [
    (7, 5, 4, 3, 1.0), (3, 9, 0, 2, 2.0), (300, 180, 120, 3, 1.0), (150, 400, 150, 20, 2.0),
])  # fmt: skip
def test_sums_over_sides_of_different_length(a, b, shared, q, spread):
    """Oracle: whole arrays, terms of the law summed one by one; with and without expansions."""
    rng = np.random.default_rng(a)
    alpha, beta = rng.uniform(-spread, spread, a), rng.uniform(-spread, spread, b)
    pairs = np.ones((a, b), dtype=bool)
    pairs[range(shared), range(shared)] = False
    mean, variance = block_moments(alpha, beta, q, pairs)
    for got, table in ((mean_sums, mean), (variance_sums, variance)):
        rows, columns = got(alpha, beta, q, shared)
        np.testing.assert_allclose(rows, table.sum(axis=1), rtol=1e-9)
        np.testing.assert_allclose(columns, table.sum(axis=0), rtol=1e-9)
    x = np.add.outer(alpha, beta)
    logs = np.log(np.exp(np.arange(q).reshape(-1, 1, 1) * x).sum(axis=0))
    got = log_normalizer_sum(alpha, beta, q, shared)
    assert got == pytest.approx(logs[pairs].sum(), rel=1e-11)


def test_bad_arguments_are_refused():
    refusal(lambda: ExtendedP0Model([0, 0], [0, 0], 3, [0, 0], [0, 0]), "n must be at least 3")
    refusal(lambda: ExtendedP0Model([0, 0, 0], [0, 1, 0], 3, [0, 0, 0], [0, 0, 1]), "last finite")
    refusal(lambda: ExtendedP0Model([0, 0, 0], [0, 0, 0], 3, [1, 1, 2], [0, 0, 0]), "alpha", "rate")
    refusal(lambda: ExtendedP0Model([0, 0, 0], [0, 0, 0], 3, [0, 1], [0, 0, 0]), "alpha", "rate")
    refusal(lambda: model().s_matrix(), "finite parameters")
