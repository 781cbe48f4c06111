"""Exploring one network: against first-order theory, its rules, and what it must not hide."""

from __future__ import annotations

import numpy as np
import pytest

import p0sim as p0
from p0sim.experiments.exploration import MEASURES, NOT_A_RELEASE
from tests.oracles.refusals import refusal


def explored(network: p0.Network, epsilons: list[float], reps: int = 20, seed: int = 1, **more):
    return p0.explore(network, epsilons, reps, rng=np.random.default_rng(seed), **more)


def value(frame, mechanism: str, epsilon: float, measure: str, column: str = "value") -> float:
    chosen = frame[(frame["mechanism"] == mechanism) & (frame["epsilon"] == epsilon)]
    return float(chosen.set_index("measure")[column][measure])


def laplace_rmse(network: p0.Network, epsilon: float) -> tuple[float, float]:
    """First order: errors are V^-1 e with Cov(e) = tau (I - u u'/(2n)), less means over nodes."""
    fit, n = p0.fit(network.bidegree()), network.n
    lam = np.exp(-epsilon / (2 * (network.q - 1)))
    tau = 2 * lam / (1 - lam) ** 2
    u = np.append(np.ones(n), -np.ones(n - 1))
    inverse = np.linalg.inv(fit.model.fisher_information())
    errors = tau * inverse @ (np.eye(2 * n - 1) - np.outer(u, u) / (2 * n)) @ inverse
    padded = np.zeros((2 * n, 2 * n))
    padded[:-1, :-1] = errors
    centre = np.eye(n) - 1 / n
    sides = (padded[:n, :n], padded[n:, n:])
    return tuple(float(np.sqrt(np.trace(centre @ side @ centre) / n)) for side in sides)


def test_errors_are_those_of_first_order_theory():
    """200 releases: within 4.5 Monte Carlo errors (false alarm 7e-6 each) and 2 % for what is of
    second order. Control: the theory for half the epsilon."""
    network = p0.load_network("fraternity")
    frame = explored(network, [8.0], reps=200)
    for measure, expected, wrong in zip(
        ("rmse_alpha", "rmse_beta"), laplace_rmse(network, 8.0), laplace_rmse(network, 4.0)
    ):
        found, mcse = (value(frame, "laplace", 8.0, measure, c) for c in ("value", "mcse"))
        assert abs(found - expected) < 4.5 * mcse + 0.02 * expected
        assert abs(found - wrong) > 4.5 * mcse + 0.02 * wrong


def test_interval_length_and_noise_share_are_those_of_the_fits():
    """Oracle: the same draws in the same order, each fitted by hand."""
    network = p0.load_network("eies")
    frame = explored(network, [6.0], reps=5, level=0.9)
    rng = np.random.default_rng(1)
    fits = [p0.fit(p0.simulate_release(network.bidegree(), 6.0, rng=rng)) for _ in range(5)]
    widths = [np.ptp(fit.conf_int(level=0.9).to_numpy(), axis=1).mean() for fit in fits]
    assert value(frame, "laplace", 6.0, "ci_width") == pytest.approx(np.mean(widths))
    blind, aware = (np.array([fit.std_errors(v) for fit in fits]) for v in ("S", "noise"))
    shares = np.median(1 - blind**2 / aware**2, axis=1)
    assert value(frame, "laplace", 6.0, "noise_share") == pytest.approx(shares.mean())


def test_the_share_with_an_estimate_is_that_of_the_exact_test():
    network = p0.load_network("eies")
    frame = explored(network, [0.8], reps=40)
    rng, degrees = np.random.default_rng(1), network.bidegree()
    exist = [p0.existence(p0.simulate_release(degrees, 0.8, rng=rng)).exists for _ in range(40)]
    assert 0 < np.mean(exist) < 1
    assert value(frame, "laplace", 0.8, "exists") == np.mean(exist)
    assert value(frame, "laplace", 0.8, "rmse_alpha", "n_used") == sum(exist)
    assert value(frame, "laplace", 0.8, "rmse_alpha", "n_attempted") == 40


def test_noise_that_is_always_0_leaves_no_error():
    frame = explored(p0.load_network("lazega"), [500.0], reps=3)
    for mechanism in ("laplace", "edge_flip"):
        assert value(frame, mechanism, 500.0, "exists") == 1
        for measure in ("rmse_alpha", "rmse_beta", "noise_share"):
            assert value(frame, mechanism, 500.0, measure) < 1e-9
            assert value(frame, mechanism, 500.0, measure, "mcse") < 1e-9


def test_flipped_edges_cost_more_than_noisy_degrees():
    frame = explored(p0.load_network("fraternity"), [3.0], reps=50)
    for measure in ("rmse_alpha", "rmse_beta", "ci_width", "noise_share"):
        assert value(frame, "edge_flip", 3.0, measure) > 1.2 * value(frame, "laplace", 3.0, measure)


def test_one_row_a_mechanism_epsilon_and_measure_each_marked():
    frame = explored(p0.load_network("eies"), [4.0, 2.0], reps=3)
    keys = frame[["mechanism", "epsilon", "measure"]]
    assert len(frame) == 2 * 2 * len(MEASURES) == len(keys.drop_duplicates())
    assert list(dict.fromkeys(frame["epsilon"])) == [4.0, 2.0]
    assert set(frame["mark"]) == {NOT_A_RELEASE}
    assert set(frame["reference"]) == {"ordinary"}


def test_one_seed_one_frame():
    network = p0.load_network("eies")
    first, again, other = (explored(network, [4.0], reps=3, seed=seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def sparse_network() -> p0.Network:
    """Ten nodes of which the first sends nothing and the last receives nothing."""
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 3, (10, 10))
    weights[0] = weights[:, 9] = 0
    np.fill_diagonal(weights, 0)
    return p0.as_network(weights, q=3)


def test_a_network_without_an_estimate_is_extended_and_so_are_its_releases():
    network = sparse_network()
    assert not p0.existence(network.bidegree()).exists
    frame = explored(network, [4.0, 400.0], reps=10)
    assert set(frame["reference"]) == {"extended"}
    assert value(frame, "laplace", 400.0, "exists") == 0
    assert value(frame, "laplace", 400.0, "rmse_alpha", "n_used") == 10
    assert value(frame, "laplace", 400.0, "rmse_alpha") < 1e-9
    assert value(frame, "laplace", 4.0, "rmse_alpha") > 0


def test_where_no_release_has_a_fit_measures_are_missing():
    frame = explored(p0.load_network("lazega"), [0.1], reps=2)
    assert value(frame, "edge_flip", 0.1, "exists") == 0
    assert np.isnan(value(frame, "edge_flip", 0.1, "rmse_alpha"))
    assert value(frame, "edge_flip", 0.1, "rmse_alpha", "n_used") == 0


@pytest.mark.parametrize(
    ("given", "words", "error"),
    [
        ({"epsilons": []}, "epsilons must be one or more, each once; got none", ValueError),
        ({"epsilons": [1, 2, 1]}, "each once; got 1, 2, 1", ValueError),
        ({"epsilons": [1, -2]}, "epsilon must be positive and finite; got -2", ValueError),
        ({"reps": 1}, "reps must be at least 2; got 1", ValueError),
        ({"level": 95}, "level must lie strictly between 0 and 1; got 95", ValueError),
        ({"network": p0.BiDegree([3, 1, 2], [2, 2, 2], 3)}, "must be a Network", TypeError),
        ({"rng": 1}, "rng must be a numpy.random.Generator; got int", TypeError),
    ],
)
def test_misuse_is_named(given, words, error):
    right = {"network": p0.load_network("eies"), "epsilons": [1], "rng": np.random.default_rng(1)}
    refusal(lambda: p0.explore(**right | given), words, error=error)
