"""The law of randomised response: exactly epsilon, and its moments, by enumeration."""

from __future__ import annotations

import math
from functools import partial, reduce

import numpy as np
import pytest

import p0sim as p0
from p0sim.model.extended import ExtendedP0Model
from p0sim.privacy import edge_flip_law as law
from tests.oracles import edge_flip as oracle
from tests.oracles.enumeration import all_networks, arcs, neighbours, probabilities
from tests.oracles.refusals import refusal

SIZES = [(3, 2), (3, 3)]


@pytest.mark.parametrize("q", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0])
def test_the_chance_to_keep_is_the_one_that_costs_epsilon(q, epsilon):
    """Oracle: bisection of the largest ratio between two chances of one weight."""
    assert law.keep_probability(epsilon, q) == pytest.approx(oracle.keep(epsilon, q), rel=1e-12)
    assert law.replace_probability(epsilon, q) == pytest.approx(
        1 - oracle.keep(epsilon, q), rel=1e-12
    )


def network_law(network: np.ndarray, epsilon: float, q: int) -> np.ndarray:
    """Chances of all flipped networks by the package's law of one weight."""
    laws = [law.flipped_law(int(network[i, j]), epsilon, q) for i, j in arcs(len(network))]
    return reduce(np.kron, laws, np.ones(1))


def largest_log_ratio(n: int, q: int, epsilon: float) -> float:
    """Over all networks, all their neighbours and all flipped networks."""
    largest = 0.0
    for network in all_networks(n, q):
        mine = network_law(network, epsilon, q)
        for other in neighbours(network, q):
            ratios = np.log(mine / network_law(other, epsilon, q))
            largest = max(largest, float(np.abs(ratios).max()))
    return largest


@pytest.mark.parametrize(("n", "q", "epsilon"), [(3, 2, 0.3), (3, 2, 2.5), (3, 3, 1.0)])
def test_the_flipped_network_costs_exactly_epsilon(n, q, epsilon):
    """No more, and attained, to the rounding of six factors."""
    assert largest_log_ratio(n, q, epsilon) == pytest.approx(epsilon, rel=1e-12)


def test_control_a_chance_to_keep_that_is_too_large_is_found():
    """rho for epsilon = 1.01 where 1 was asked for."""
    assert largest_log_ratio(3, 2, 1.01) > 1.0099


@pytest.mark.parametrize("weight", [0, 1, 2])
def test_the_law_of_a_weight_is_that_of_two_coins(weight):
    expected = oracle.weight_law(weight, oracle.keep(0.8, 3), 3)
    np.testing.assert_allclose(law.flipped_law(weight, 0.8, 3), expected, rtol=1e-12)


@pytest.mark.parametrize(("n", "q"), SIZES)
def test_degree_variances_are_those_of_all_flips_of_all_networks(n, q):
    """Oracle: every network with its chance times every flip of it with its chance."""
    alpha, beta, epsilon = np.array([0.4, -0.9, 0.1]), np.array([0.7, -0.2, 0.0]), 0.9
    networks = all_networks(n, q)
    mass = np.zeros(len(networks))
    for network, chance in zip(networks, probabilities(networks, alpha, beta)):
        mass += chance * oracle.network_law(network, oracle.keep(epsilon, q), q)
    model, rho = p0.P0Model(alpha, beta, q), oracle.keep(epsilon, q)
    got = law.unbiased_variances(model, model.degree_variances(), epsilon)
    degrees = np.hstack([networks.sum(axis=2), networks.sum(axis=1)])
    expected = (mass @ degrees**2 - (mass @ degrees) ** 2) / rho**2
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize(("n", "q", "L"), [(12, 3, 1.0), (90, 5, 2.0), (400, 2, 3.0)])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 40.0])
def test_sums_are_those_of_the_pairs_variances(n, q, L, epsilon):
    """Oracle: E y^2 - (E y)^2 pair by pair; at epsilon = 40 nothing is left of the flips."""
    model = p0.linear_design(n, L, q)
    rho = oracle.keep(epsilon, q)
    expected = oracle.omega(model.alpha, model.beta, rho, q) / rho**2
    pairs = law.unbiased_edge_variances(model, epsilon)
    np.testing.assert_allclose(pairs, expected, rtol=1e-9, atol=1e-14)
    sums = law.unbiased_variances(model, model.degree_variances(), epsilon)
    both = np.append(expected.sum(axis=1), expected.sum(axis=0))
    np.testing.assert_allclose(sums, both, rtol=1e-9)


def test_arcs_that_are_fixed_are_flipped_too():
    """Node 2 sends nothing and node 5 receives all it can: oracle at log-odds of -+60."""
    alpha, beta = np.array([0.3, 0.0, -0.4, 0.2, 0.1]), np.array([0.1, 0.4, -0.2, 0.0, 0.0])
    alpha_rates, beta_rates = np.array([0, -2, 0, 0, 0]), np.array([0, 0, 0, 0, 1])
    model = ExtendedP0Model(alpha, beta, 3, alpha_rates, beta_rates)
    got = law.unbiased_variances(model, model.degree_variances(), 0.9)
    rho = oracle.keep(0.9, 3)
    far = oracle.omega(alpha + 60 * alpha_rates, beta + 60 * beta_rates, rho, 3) / rho**2
    np.testing.assert_allclose(got, np.append(far.sum(axis=1), far.sum(axis=0)), rtol=1e-10)


def test_the_design_notes_form_of_omega_is_the_same():
    """rho (mu' + mu^2) + (1-rho) K(2q-1)/6 - (E y)^2, at x = 0.7, q = 4, epsilon = 1."""
    q, epsilon, x = 4, 1.0, 0.7
    rho = (math.e**epsilon - 1) / (math.e**epsilon + q - 1)
    masses = np.exp(x * np.arange(q)) / np.exp(x * np.arange(q)).sum()
    mu = masses @ np.arange(q)
    variance = masses @ (np.arange(q) - mu) ** 2
    mean = rho * mu + (1 - rho) * (q - 1) / 2
    expected = rho * (variance + mu**2) + (1 - rho) * (q - 1) * (2 * q - 1) / 6 - mean**2
    model = p0.P0Model([x, 0, 0], [0, 0, 0], q)
    got = law.unbiased_edge_variances(model, epsilon)[0, 1]
    assert got == pytest.approx(expected / rho**2, rel=1e-12)


def test_a_large_epsilon_is_silent_and_leaves_everything():
    """e^epsilon would overflow."""
    assert (law.keep_probability(1e4, 3), law.replace_probability(1e4, 3)) == (1.0, 0.0)


@pytest.mark.parametrize("bad", [0, -1.0, math.inf, math.nan])
def test_epsilon_must_be_positive_and_finite(bad):
    refusal(partial(law.keep_probability, bad, 3), "epsilon must be positive and finite")
