"""Shares of variance by hand, and what a fit says of privacy."""

from __future__ import annotations

import numpy as np
import pytest

import p0sim as p0
from p0sim.inference.noise_cost import noise_shares, privacy_statement
from tests.oracles import examples


def noisy_fit(epsilon: float, n: int = 20) -> p0.P0Results:
    return p0.fit(examples.noisy_degrees(n, 3, epsilon, seed=4), q=3, epsilon=epsilon)


def test_the_share_of_a_parameter_follows_the_closed_form():
    """Var(alpha_i) = 1/v_i + 1/v_2n + tau (1/v_i^2 + 1/v_2n^2), and so for beta_j."""
    fit = noisy_fit(3.0)
    scale = 4 / 3.0
    lam = np.exp(-1 / scale)
    tau = 2 * lam / (1 - lam) ** 2
    rows, columns = fit.model.degree_variances()
    v, last = np.append(rows, columns[:-1]), columns[-1]
    own, added = 1 / v + 1 / last, tau * (1 / v**2 + 1 / last**2)
    shares = noise_shares(fit.moments)
    assert shares.parameter == pytest.approx(np.median(added / (own + added)), rel=1e-9)
    typical = np.median(np.append(v, last))
    assert shares.degree == pytest.approx(tau / (tau + typical), rel=1e-9)


def test_more_privacy_costs_more():
    shares = [noise_shares(noisy_fit(epsilon).moments) for epsilon in (16.0, 8.0, 4.0)]
    assert shares == sorted(shares)
    assert 0 < shares[0].degree < shares[-1].degree < 1


@pytest.mark.parametrize("way", [{"ridge": 0.5}, {"boundary": "extend"}, {"margins": "drop_last"}])
def test_every_way_to_fit_has_shares(way):
    fit = p0.fit(examples.noisy_degrees(20, 3, 4.0, seed=4), q=3, epsilon=4.0, **way)
    assert all(0 < share < 1 for share in noise_shares(fit.moments))


def test_flipped_edges_have_shares_too():
    network = p0.load_network("eies")
    y = p0.simulate_edge_flip(network, epsilon=3, rng=np.random.default_rng(1))
    assert all(0 < share < 1 for share in noise_shares(p0.fit(y).moments))


@pytest.mark.parametrize(("mechanism", "how"), [("laplace", "Laplace"), ("edge_flip", "flipped")])
def test_a_fit_to_a_release_says_what_was_released_and_that_it_costs_nothing(mechanism, how):
    z = p0.release(p0.load_network("eies"), "12", mechanism=mechanism)
    text = str(p0.fit(z).summary())
    for words in (how, "epsilon = 12", "anywhere in 0..4", "Public: n, the node list"):
        assert words in text
    assert "not node privacy" in text
    assert text.endswith("costs no more privacy.")
    assert "seeded noise" not in text


def test_a_simulation_is_not_called_a_release():
    text = privacy_statement(p0.NoisyBiDegree([5, -1, 2], [2, 2, 1], 3, 0.5))
    assert "epsilon = 0.5" in text
    assert "no record of a release" in text
    assert "protects nobody" in text


def test_no_noise_is_no_privacy():
    text = str(p0.fit(([3, 1, 2], [2, 2, 2]), q=3).summary())
    assert "Noise: none\n" in text
    assert text.endswith("Privacy: none; the degrees are taken as a network's own.")
