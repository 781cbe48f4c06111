"""An audit of the released law, with mechanisms that must fail it.

First without sampling: the largest log ratio over all weighted digraphs of a few nodes, in exact
fractions. Then the release itself as a black box. Each of its checks raises a false alarm with
probability 1e-6 at most; there are 4 a mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import p0sim as p0
from p0sim.privacy.exact_laplace import exact_laplace
from tests.oracles.enumeration import all_networks, arcs, bidegrees
from tests.oracles.goodness import FALSE_ALARM, p_value
from tests.privacy.test_sensitivity import neighbouring_bidegrees

SIZES = [(2, 2), (2, 3), (3, 2), (3, 3)]
N = 100_000


def largest_log_ratio(n: int, q: int, scale: Fraction) -> Fraction:
    """Of P(z|d) and P(z|d') over all neighbours and outputs, exactly.

    P(z|d) is proportional to exp(-|z - d|_1/scale), so a log ratio is |z - d'|_1 - |z - d|_1 over
    the scale, and its maximum over z is the sum of each coordinate's, taken over a window that
    holds all values a degree can have and one more on either side.
    """
    window = range(-1, (n - 1) * (q - 1) + 2)
    gains = [
        sum(max(abs(z - b) - abs(z - a) for z in window) for a, b in zip(one, other, strict=True))
        for one, other in neighbouring_bidegrees(n, q)
    ]
    return max(gains) / scale


@pytest.mark.parametrize("epsilon", ["0.1", "1", "7/3"])
@pytest.mark.parametrize(("n", "q"), SIZES)
def test_the_largest_log_ratio_is_epsilon_and_never_above(n, q, epsilon):
    noise = exact_laplace(2 * n, 2 * (q - 1), Fraction(epsilon))
    ratio = largest_log_ratio(n, q, Fraction(noise.scale))
    assert ratio == noise.effective_epsilon
    assert ratio <= Fraction(epsilon)
    assert ratio > Fraction(epsilon) * (1 - Fraction(1, 2**48))


@pytest.mark.parametrize(("n", "q"), SIZES)
def test_control_noise_for_one_side_only_costs_twice_as_much(n, q):
    """Scale (q-1)/epsilon on the out- and on the in-degrees, each at full epsilon."""
    assert largest_log_ratio(n, q, Fraction(q - 1)) == 2


def test_the_window_and_the_coordinates_are_enough():
    """Oracle: every output of the four degrees of two nodes in -3..4, all at once."""
    outputs = np.array(list(product(range(-3, 5), repeat=4)))
    networks = all_networks(2, 3)
    distance = np.abs(outputs[:, None] - bidegrees(networks)[None]).sum(axis=2)
    close = [
        (a, b)
        for a, b in product(range(len(networks)), repeat=2)
        if sum(networks[a][i, j] != networks[b][i, j] for i, j in arcs(2)) == 1
    ]
    gains = [(distance[:, b] - distance[:, a]).max() for a, b in close]
    assert max(gains) == largest_log_ratio(2, 3, Fraction(1)) == 4


Mechanism = Callable[[np.ndarray, int, str], np.ndarray]


def released(degrees: np.ndarray, q: int, epsilon: str) -> np.ndarray:
    z = p0.release(p0.BiDegree(*degrees, q=q), epsilon)
    return np.array([z.out_degree, z.in_degree])


def seeded(scale: Callable[[int, float], float]) -> Mechanism:
    """Discrete Laplace noise of another scale."""

    def mechanism(degrees: np.ndarray, q: int, epsilon: str) -> np.ndarray:
        rate = 1 / scale(q, float(Fraction(epsilon)))
        return degrees + stats.dlaplace.rvs(rate, size=degrees.shape, random_state=3)

    return mechanism


def rounded(degrees: np.ndarray, q: int, epsilon: str) -> np.ndarray:
    """Continuous Laplace noise, rounded."""
    scale = 2 * (q - 1) / float(Fraction(epsilon))
    return np.rint(degrees + np.random.default_rng(4).laplace(0, scale, degrees.shape)).astype(int)


under_noised = seeded(lambda q, epsilon: 2 * (q - 1) / (1.25 * epsilon))
each_side_at_full_epsilon = seeded(lambda q, epsilon: (q - 1) / epsilon)


def audit(mechanism: Mechanism, q: int, epsilon: str) -> set[str]:
    """What is wrong with a mechanism: its "law", its "loss", or nothing.

    Each node's two degrees serve as one trial of an edge's two ends: all weights 0 in one network,
    and in the other one arc more at its top for each end. "Both at most 0" has exp(epsilon) times
    the chance in the first, "both at least q - 1" in the second: the largest ratio there is.
    """
    low, high = (mechanism(np.full((2, N), level), q, epsilon) for level in (0, q - 1))
    found = set()
    for values in (low, high - (q - 1)):
        if chi_square(values.ravel(), q, epsilon) < FALSE_ALARM:
            found.add("law")
    for more, less in ((low <= 0, high <= 0), (high >= q - 1, low >= q - 1)):
        if least_loss(more.all(axis=0).sum(), less.all(axis=0).sum()) > float(Fraction(epsilon)):
            found.add("loss")
    return found


def least_loss(more: int, less: int) -> float:
    """Lower confidence bound of log(p/p'), from Clopper and Pearson's of both chances."""
    below = stats.beta.ppf(FALSE_ALARM / 2, more, N - more + 1)
    above = stats.beta.ppf(1 - FALSE_ALARM / 2, less + 1, N - less)
    return math.log(below / above)


def chi_square(noise: np.ndarray, q: int, epsilon: str) -> float:
    rate = float(Fraction(epsilon)) / (2 * (q - 1))
    reach = int(40 / rate) + 2
    counts = np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)
    return p_value(counts, stats.dlaplace.pmf(np.arange(-reach, reach + 1), rate))


@pytest.mark.slow
@pytest.mark.parametrize(("q", "epsilon"), [(2, "1"), (3, "1/2"), (5, "2")])
def test_the_release_passes_the_audit(q, epsilon):
    assert audit(released, q, epsilon) == set()


@pytest.mark.parametrize(("q", "epsilon"), [(2, "1"), (3, "1/2"), (5, "2")])
@pytest.mark.parametrize("mechanism", [under_noised, each_side_at_full_epsilon])
def test_control_a_mechanism_that_loses_more_is_found(mechanism, q, epsilon):
    assert audit(mechanism, q, epsilon) == {"law", "loss"}


@pytest.mark.parametrize(("q", "epsilon"), [(2, "1"), (3, "2")])
def test_control_rounded_continuous_noise_is_found(q, epsilon):
    """It is another law: rounding cannot lose more, but floats and their tails can."""
    assert audit(rounded, q, epsilon) == {"law"}


def test_control_the_right_law_from_a_seed_passes():
    """The audit is no alarm that always rings."""
    exact = seeded(lambda q, epsilon: 2 * (q - 1) / epsilon)
    assert audit(exact, 3, "1") == set()
