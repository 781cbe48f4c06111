"""Simulated edge flips: their law, their record, and what they refuse.

Sampling checks compare p-values with goodness.FALSE_ALARM = 1e-6 under fixed seeds.
"""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse

import p0sim as p0
from p0sim.privacy.edge_flip import FlippedBiDegree, flip, flip_blocks, simulate_edge_flip
from p0sim.privacy.edge_flip_law import keep_probability
from tests.oracles import edge_flip as oracle
from tests.oracles.enumeration import all_networks
from tests.oracles.goodness import FALSE_ALARM, p_value
from tests.oracles.refusals import refusal

WEIGHTS = np.array([[0, 2, 1], [0, 0, 2], [1, 0, 0]])


def degree_law(network: np.ndarray, epsilon: float, q: int) -> tuple[np.ndarray, np.ndarray]:
    """All bi-degrees a flip of this network can have, and their chances, by enumeration."""
    networks = all_networks(len(network), q)
    sums = np.hstack([networks.sum(axis=2), networks.sum(axis=1)])
    bidegrees, where = np.unique(sums, axis=0, return_inverse=True)
    chances = oracle.network_law(network, oracle.keep(epsilon, q), q)
    return bidegrees, np.bincount(where.ravel(), chances)


def counted(bidegrees: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """How often each of the bi-degrees was drawn."""
    number = {tuple(row): k for k, row in enumerate(bidegrees.tolist())}
    drawn = [number[tuple(row)] for row in draws.tolist()]
    return np.bincount(drawn, minlength=len(bidegrees))


def drawn_bidegrees(q: int, epsilon: float, draws: int) -> np.ndarray:
    rng = np.random.default_rng(17)
    network = p0.Network(WEIGHTS % q, q)
    flips = [simulate_edge_flip(network, epsilon, rng=rng) for _ in range(draws)]
    return np.array([np.append(y.out_degree, y.in_degree) for y in flips])


@pytest.mark.parametrize(("q", "epsilon"), [(2, 1.0), (3, 0.5), (3, 3.0)])
def test_flipped_bidegrees_have_the_law_of_all_flips(q, epsilon):
    """Chi-square of 4000 draws against the enumerated law of the bi-degree, n = 3."""
    bidegrees, chances = degree_law(WEIGHTS % q, epsilon, q)
    counts = counted(bidegrees, drawn_bidegrees(q, epsilon, 4000))
    assert p_value(counts, chances) > FALSE_ALARM


def test_control_twice_the_epsilon_is_found():
    bidegrees, chances = degree_law(WEIGHTS, 1.0, 3)
    assert p_value(counted(bidegrees, drawn_bidegrees(3, 0.5, 4000)), chances) < FALSE_ALARM


@pytest.mark.parametrize("weight", [0, 1, 2, 3])
def test_each_weight_of_a_large_block_has_its_law(weight):
    """A million pairs: chi-square of what they become."""
    q, epsilon, rng = 4, 1.3, np.random.default_rng(weight)
    words = rng.integers(2**64, size=1_000_000, dtype=np.uint64)
    block = np.full((1, 1_000_000), weight)
    # the first pair is on the diagonal
    flipped = flip(block, words, 0, keep_probability(epsilon, q), q)[0, 1:]
    expected = oracle.weight_law(weight, oracle.keep(epsilon, q), q)
    assert p_value(np.bincount(flipped, minlength=q), expected) > FALSE_ALARM


def test_flips_of_different_pairs_are_independent():
    """Chi-square of 10^6 pairs of neighbouring weights against the product of their laws."""
    rng = np.random.default_rng(5)
    words = rng.integers(2**64, size=2_000_000, dtype=np.uint64)
    flipped = flip(np.ones((1, 2_000_000), int), words, 0, keep_probability(1.0, 2), 2)[0, 2:]
    pairs = 2 * flipped[::2] + flipped[1::2]
    one = oracle.weight_law(1, oracle.keep(1.0, 2), 2)
    assert p_value(np.bincount(pairs, minlength=4), np.outer(one, one)) > FALSE_ALARM


def test_unbiased_margins_have_the_networks_degrees_as_their_mean():
    """Over all flips of one network on three nodes, each with its chance."""
    q, epsilon = 3, 0.7
    bidegrees, chances = degree_law(WEIGHTS, epsilon, q)
    margins = [
        np.concatenate(FlippedBiDegree(row[:3], row[3:], q, epsilon).unbiased_margins())
        for row in bidegrees
    ]
    expected = np.append(WEIGHTS.sum(axis=1), WEIGHTS.sum(axis=0))
    np.testing.assert_allclose(chances @ np.array(margins), expected, rtol=1e-10)


def test_unbiased_margins_vary_as_their_docstring_says():
    """Variance given the network, from the enumerated law."""
    q, epsilon = 3, 0.7
    bidegrees, chances = degree_law(WEIGHTS, epsilon, q)
    rho = oracle.keep(epsilon, q)
    margins = (bidegrees[:, 0] - 2 * (1 - rho) * (q - 1) / 2) / rho
    variance = chances @ margins**2 - (chances @ margins) ** 2
    squares = ((WEIGHTS[0, 1:] - (q - 1) / 2) ** 2).sum()
    uniform = 2 * (1 - rho) * (q**2 - 1) / (12 * rho**2)
    assert variance == pytest.approx(uniform + (1 - rho) / rho * squares, rel=1e-10)


def some_flips(**more) -> FlippedBiDegree:
    network = p0.Network(WEIGHTS, 3, ["ann", "01", "α,β"])
    return simulate_edge_flip(network, 2, rng=np.random.default_rng(0), **more)


def test_the_record_says_what_was_done():
    y = some_flips()
    assert (y.n, y.q, y.epsilon, y.nodes) == (3, 3, 2.0, ("ann", "01", "α,β"))
    assert y.mechanism == "edge_flip"
    assert y.is_release is False
    assert "simulation, not a private release" in repr(y)
    typed = FlippedBiDegree(y.out_degree, y.in_degree, y.q, y.epsilon)
    assert repr(typed) == f"FlippedBiDegree(n={y.n}, q={y.q}, epsilon=2; no record of a release)"
    assert y.keep_probability == pytest.approx(oracle.keep(2.0, 3), rel=1e-12)


def test_flipped_degrees_are_those_of_a_network():
    """Whole numbers in 0..(n-1)(q-1) with one total, read-only."""
    y = some_flips()
    assert y.out_degree.dtype == y.in_degree.dtype == np.int64
    assert y.out_degree.sum() == y.in_degree.sum()
    assert min(y.out_degree.min(), y.in_degree.min()) >= 0
    with pytest.raises(ValueError, match="read-only"):
        y.out_degree[0] = 0


def test_one_seed_one_simulation_whatever_the_network_came_as():
    rng = np.random.default_rng(8)
    weights = rng.integers(3, size=(500, 500))
    np.fill_diagonal(weights, 0)
    same = [weights, sparse.csr_array(weights), p0.Network(weights, 3)]
    flips = [simulate_edge_flip(w, 1, q=3, rng=np.random.default_rng(1)) for w in same]
    for y in flips[1:]:
        np.testing.assert_array_equal(y.out_degree, flips[0].out_degree)
        np.testing.assert_array_equal(y.in_degree, flips[0].in_degree)
    other = simulate_edge_flip(weights, 1, q=3, rng=np.random.default_rng(2))
    assert (other.out_degree != flips[0].out_degree).any()


def test_blocks_do_not_change_the_flips_and_plain_degrees_are_the_networks():
    """Rows one by one, and all at once: a pair's word is known by its place."""
    weights, nodes = np.random.default_rng(8).integers(3, size=(40, 40)), [*map(str, range(40))]
    np.fill_diagonal(weights, 0)
    whole = [(slice(0, 40), weights)]
    rows = [(slice(i, i + 1), weights[i : i + 1].astype(np.uint16)) for i in range(40)]
    flips = [
        flip_blocks(blocks, 3, 1.0, nodes, rng=np.random.default_rng(1)) for blocks in (whole, rows)
    ]
    for plain, flipped in flips:
        np.testing.assert_array_equal(plain.out_degree, weights.sum(axis=1))
        np.testing.assert_array_equal(plain.in_degree, weights.sum(axis=0))
        np.testing.assert_array_equal(flipped.out_degree, flips[0][1].out_degree)
        np.testing.assert_array_equal(flipped.in_degree, flips[0][1].in_degree)


def test_a_large_epsilon_leaves_the_network_as_it_is():
    y = simulate_edge_flip(WEIGHTS, 1e4, q=3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(y.out_degree, WEIGHTS.sum(axis=1))
    np.testing.assert_array_equal(y.unbiased_margins()[1], WEIGHTS.sum(axis=0))


def test_flipped_degrees_can_be_pickled():
    y = some_flips()
    back = pickle.loads(pickle.dumps(y))
    np.testing.assert_array_equal(back.out_degree, y.out_degree)
    assert (back.nodes, back.epsilon, back.q, back.mechanism) == (y.nodes, 2.0, 3, "edge_flip")


@pytest.mark.parametrize(
    ("bad", "words", "error"),
    [
        (p0.BiDegree([1, 1, 1], [1, 1, 1], q=2), "network must have edges to flip", TypeError),
        ("friends.csv", "read a file with read_network", TypeError),
        (np.array([[0, 5], [0, 0]]), "n must be at least 3", ValueError),
        (np.full((3, 3), 5), "0..q-1 = 2", ValueError),
    ],
)
def test_what_is_no_network_is_refused(bad, words, error):
    call = partial(simulate_edge_flip, bad, 1.0, q=3, rng=np.random.default_rng(0))
    refusal(call, words, error=error)


@pytest.mark.parametrize("bad", [0, -1.0, np.nan, np.inf])
def test_epsilon_must_be_positive_and_finite(bad):
    call = partial(simulate_edge_flip, WEIGHTS, bad, q=3, rng=np.random.default_rng(0))
    refusal(call, "epsilon must be positive and finite")


def test_rng_must_be_a_generator():
    refusal(partial(simulate_edge_flip, WEIGHTS, 1.0, q=3, rng=7), "rng", error=TypeError)


@pytest.mark.parametrize(
    ("out_degree", "in_degree", "words"),
    [
        ([1, 1, 1], [1, 1, 2], "totals of out_degree and in_degree must agree"),
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], "must be whole numbers"),
        ([5, 0, 0], [2, 2, 1], "out_degree must lie in 0..(n-1)(q-1) = 4; got 5"),
    ],
)
def test_degrees_no_network_can_have_are_refused(out_degree, in_degree, words):
    refusal(partial(FlippedBiDegree, out_degree, in_degree, 3, 1.0), words)
