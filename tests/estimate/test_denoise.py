"""Denoising against a linear program, enumeration, and networks that are known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

import p0sim as p0
from tests.oracles import examples
from tests.oracles.refusals import refusal


def incidence(n: int) -> np.ndarray:
    """Row and column sums as a matrix, one column an ordered pair."""
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    sums = np.zeros((2 * n, len(pairs)))
    for k, (i, j) in enumerate(pairs):
        sums[i, k] = sums[n + j, k] = 1
    return sums


def least_distance(z: np.ndarray, n: int, q: int) -> float:
    """Oracle: min sum t with -t <= z - sums(a) <= t and 0 <= a <= q - 1, real a allowed."""
    sums = incidence(n)
    pairs, eye = sums.shape[1], np.eye(2 * n)
    found = linprog(
        np.append(np.zeros(pairs), np.ones(2 * n)),
        A_ub=csr_array(np.block([[sums, -eye], [-sums, -eye]])),
        b_ub=np.append(z, -z),
        bounds=[(0, q - 1)] * pairs + [(0, None)] * (2 * n),
    )
    assert found.status == 0
    return found.fun


def is_of_a_network(d: np.ndarray, n: int, q: int) -> bool:
    """Oracle: a feasible linear program; its matrix is unimodular, so whole weights do as well."""
    sums = incidence(n)
    found = linprog(np.zeros(sums.shape[1]), A_eq=sums, b_eq=d, bounds=(0, q - 1))
    return found.status == 0


def noisy(z: np.ndarray, q: int) -> p0.NoisyBiDegree:
    n = len(z) // 2
    return p0.NoisyBiDegree(z[:n], z[n:], q, 1.0)


def joined(d: p0.BiDegree) -> np.ndarray:
    return np.append(d.out_degree, d.in_degree)


@pytest.mark.parametrize("q", [2, 3, 5])
def test_the_distance_is_that_of_a_linear_program_and_some_network_has_the_degrees(q):
    """60 cases a q with n = 3..7, from far below 0 to far above (n-1)(q-1)."""
    rng = np.random.default_rng(q)
    for _ in range(60):
        n = int(rng.integers(3, 8))
        reach = int(rng.integers(1, 2 * n * q))
        z = rng.integers(-reach, (n - 1) * (q - 1) + reach, 2 * n, endpoint=True)
        d = joined(p0.denoise(noisy(z, q)))
        assert abs(z - d).sum() == pytest.approx(least_distance(z, n, q), abs=1e-6)
        assert is_of_a_network(d, n, q)


def test_no_network_of_three_nodes_is_closer():
    """Oracle: all 64 networks with q = 2."""
    sums = {tuple(incidence(3) @ weights) for weights in itertools.product((0, 1), repeat=6)}
    networks, rng = np.array(sorted(sums)), np.random.default_rng(3)
    for z in rng.integers(-2, 5, (300, 6)):
        d = joined(p0.denoise(noisy(z, 2)))
        assert tuple(d) in sums
        assert abs(z - d).sum() == abs(z - networks).sum(axis=1).min()


def test_a_pair_of_a_node_with_itself_is_no_arc():
    """Worked out by hand: node 1 alone wants to send and to receive, so nothing can be sent."""
    assert joined(p0.denoise(noisy(np.array([2, 0, 0, 2, 0, 0]), 3))).tolist() == [0] * 6


@pytest.mark.parametrize("name", ["fraternity", "eies", "lazega"])
def test_degrees_of_a_network_come_back_as_they_are(name):
    own = p0.load_network(name).bidegree()
    assert (joined(p0.denoise(own)) == joined(own)).all()
    z = p0.simulate_release(own, epsilon=0.5, rng=np.random.default_rng(1))
    once = p0.denoise(z)
    assert (joined(p0.denoise(once)) == joined(once)).all()
    assert once.nodes == own.nodes
    assert once.out_degree.sum() == once.in_degree.sum()


def test_it_lies_no_farther_from_the_noise_than_the_truth_does():
    """It is the most likely sequence, so at least as likely as the true one."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        weights = examples.network(*examples.parameters(40, 1.5, rng), 4, rng)
        truth = p0.bidegree(weights, q=4)
        z = p0.simulate_release(truth, epsilon=0.5, rng=rng)
        assert abs(joined(z) - joined(p0.denoise(z))).sum() <= abs(joined(z) - joined(truth)).sum()


def test_large_weights_are_exact_and_larger_ones_refused():
    """Degrees up to 2^31 - 1 fit scipy's capacities; sums of them pass it."""
    z = np.array([2**31 - 2] * 3 + [-(2**40), 2**31 - 2, 2**31 - 2])
    d = joined(p0.denoise(noisy(z, 2**30)))
    assert d[:3].sum() == d[3:].sum() == 2 * (2**31 - 2)
    beyond = noisy(np.full(6, 2**32), 2**32)
    refusal(lambda: p0.denoise(beyond), "must be below 2^31", str(2**32))


def test_other_kinds_are_refused():
    flipped = p0.FlippedBiDegree([3, 1, 2], [2, 2, 2], 3, 1.0)
    for wrong in (flipped, ([3, 1, 2], [2, 2, 2]), None):
        refusal(lambda wrong=wrong: p0.denoise(wrong), "z must be", error=TypeError)
    expected = p0.linear_design(5, 0.5, 3).expected_bidegree()
    refusal(lambda: p0.denoise(expected), "whole numbers")


def test_two_thousand_nodes_are_few_enough():
    """About a second; most likely means no farther from what was seen than the truth is."""
    model = p0.linear_design(2000, 0.0, 3)
    truth = model.sample_bidegree(rng=np.random.default_rng(1))
    z = p0.simulate_release(truth, epsilon=1, rng=np.random.default_rng(2))
    assert abs(joined(p0.denoise(z)) - joined(z)).sum() <= abs(joined(truth) - joined(z)).sum()
