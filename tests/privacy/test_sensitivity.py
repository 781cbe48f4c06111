"""Sensitivity and epsilon, by enumeration of neighbouring networks: no sampling, no slack."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from p0sim.privacy.discrete_laplace import discrete_laplace_pmf
from p0sim.privacy.sensitivity import bidegree_sensitivity
from tests.oracles.enumeration import all_networks, bidegrees, neighbours

SIZES = [(2, 2), (3, 2), (2, 3)]


def neighbouring_bidegrees(n: int, q: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of bi-degrees of two networks that differ in one arc's weight."""
    pairs = set()
    for network in all_networks(n, q):
        others = np.array(neighbours(network, q))
        here = tuple(bidegrees(network[None])[0].tolist())
        pairs |= {(here, tuple(d.tolist())) for d in bidegrees(others)}
    return pairs


@pytest.mark.parametrize(("n", "q"), [*SIZES, (3, 3)])
def test_sensitivity_is_attained_and_never_passed(n, q):
    """Largest L1 distance over every network and every neighbour of it."""
    distances = [
        sum(abs(a - b) for a, b in zip(one, other, strict=True))
        for one, other in neighbouring_bidegrees(n, q)
    ]
    assert max(distances) == bidegree_sensitivity(q) == 2 * (q - 1)


def test_sensitivity_does_not_come_from_the_data():
    """q = 5 with weights 3..4 in use still has 8: it depends on q alone, as a whole number."""
    assert bidegree_sensitivity(5) == 8
    assert isinstance(bidegree_sensitivity(5), int)


def largest_log_ratio(n: int, q: int, scale: float) -> float:
    """Over neighbours d, d' and outputs z of max log P(z|d) - log P(z|d').

    The 2n noises are independent, so the largest ratio is the sum over coordinates of the largest
    ratio; outside the window the ratio of a coordinate no longer changes.
    """
    reach = (n - 1) * (q - 1) + 3
    outputs = np.arange(-reach, 2 * reach + 1)
    log_mass = np.log(discrete_laplace_pmf(np.arange(-3 * reach, 3 * reach + 1), scale))
    best = {
        (a, b): (log_mass[outputs - a + 3 * reach] - log_mass[outputs - b + 3 * reach]).max()
        for a in range(reach)
        for b in range(reach)
    }
    return max(
        sum(best[a, b] for a, b in zip(one, other, strict=True))
        for one, other in neighbouring_bidegrees(n, q)
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
@pytest.mark.parametrize(("n", "q"), SIZES)
def test_largest_log_ratio_is_epsilon(n, q, epsilon):
    """Exactly epsilon: neither broken nor wasted."""
    scale = bidegree_sensitivity(q) / epsilon
    assert largest_log_ratio(n, q, scale) == pytest.approx(epsilon, rel=1e-11)


@pytest.mark.parametrize(("n", "q"), SIZES)
def test_control_an_under_noised_mechanism_is_found(n, q):
    """Noise for q - 1 in place of 2(q - 1) costs twice the epsilon."""
    assert largest_log_ratio(n, q, (q - 1) / 1.0) == pytest.approx(2.0, rel=1e-11)


def test_the_product_over_coordinates_is_the_joint_law():
    """The step above, checked on the joint law of two nodes: every z in a window of 9**4."""
    scale, axis = 2.0, np.arange(-4, 5)
    grid = np.array(np.meshgrid(*[axis] * 4, indexing="ij")).reshape(4, -1)
    log_mass = [
        np.log(discrete_laplace_pmf(grid - np.array(d)[:, None], scale)).sum(axis=0)
        for d in ((0, 1, 1, 0), (1, 1, 1, 1))
    ]
    assert np.abs(log_mass[0] - log_mass[1]).max() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("q", [1, 0])
def test_q_is_checked(q):
    with pytest.raises(ValueError, match="q must be at least 2"):
        bidegree_sensitivity(q)


def test_fraction_of_the_budget_is_exact():
    """Sensitivity stays a whole number, so sensitivity / epsilon can be an exact fraction."""
    assert Fraction(bidegree_sensitivity(4)) / Fraction(1, 10) == 60
