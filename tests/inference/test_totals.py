"""Total weights of extended fits to noisy degrees: by hand, and against releases of sparse ones."""

from __future__ import annotations

import numpy as np
import pytest

import p0sim as p0
from p0sim.inference.totals import totals_of
from tests.oracles import examples
from tests.oracles.covariance import laplace_variance


def sparse_release(epsilon: float, seed: int = 3) -> p0.NoisyBiDegree:
    """200 nodes, most of them with less than one arc."""
    rng = np.random.default_rng(seed)
    alpha, beta = rng.normal(size=(2, 200))
    degrees = p0.bidegree(examples.network(alpha - 6, beta, 2, rng), q=2)
    return p0.simulate_release(degrees, epsilon, rng=rng)


def test_totals_and_their_noise_are_those_of_the_formula():
    z = sparse_release(1.0)
    fit = p0.fit(z, boundary="extend")
    totals = totals_of(fit.moments)
    assert totals.released == (z.out_degree.sum(), z.in_degree.sum())
    assert totals.fitted == pytest.approx(fit.model.expected_bidegree().out_degree.sum())
    expected = np.sqrt(200 * laplace_variance(2, 1.0) / 2)
    assert totals.noise_deviation == pytest.approx(expected, rel=1e-9)


def test_on_sparse_releases_the_summary_says_that_the_total_is_far():
    z = sparse_release(1.0)
    text = str(p0.fit(z, boundary="extend").summary())
    assert f"released {z.out_degree.sum()} by out-degrees" in text
    assert "Intervals take the forced nodes as known and are not trustworthy here" in text
    assert "prefer a ridge" in text


def test_a_ridge_keeps_the_released_total():
    z = sparse_release(1.0)
    fit = p0.fit(z, ridge="auto")
    mean = (z.out_degree.sum() + z.in_degree.sum()) / 2
    assert fit.model.expected_bidegree().out_degree.sum() == pytest.approx(mean, rel=1e-6)
    assert "Total weight" not in str(fit.summary())


def test_control_with_little_noise_the_distance_is_told_without_a_warning():
    text = str(p0.fit(sparse_release(50.0), boundary="extend").summary())
    assert "standard deviations of the noise from the released one" in text
    assert "not trustworthy" not in text


def test_without_noise_or_forced_nodes_nothing_is_said():
    silent = p0.fit(p0.BiDegree([2, 1, 3, 2], [0, 4, 2, 2], q=3), boundary="extend")
    inside = p0.fit(([3, 1, 2], [2, 2, 3]), q=3, epsilon=1.0, boundary="extend")
    for fit in (silent, inside):
        assert "Total weight" not in str(fit.summary())


def test_the_noise_of_flips_in_the_total_is_that_of_simulated_flips():
    """Standard deviation over 400 simulations within 15 % (4 standard errors of it: 14 %)."""
    rng = np.random.default_rng(5)
    network = p0.as_network(examples.network(*np.full((2, 30), -0.5), 2, rng), 2)
    found = []
    for _ in range(400):
        y = p0.simulate_edge_flip(network, 2.0, rng=rng)
        found.append(totals_of(p0.fit(y, ridge=5.0).moments))
    spread = np.std([totals.released[0] for totals in found], ddof=1)
    assert np.mean([totals.noise_deviation for totals in found]) == pytest.approx(spread, rel=0.15)
