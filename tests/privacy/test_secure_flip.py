"""The flips of a release: never more than epsilon, exact, and of the operating system's randomness.

Sampling checks compare p-values with goodness.FALSE_ALARM = 1e-6. As no seed can be given, a run
fails by chance with that probability a check.
"""

from __future__ import annotations

import ast
import inspect
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import p0sim as p0
from p0sim.privacy import secure_flip
from tests.oracles import edge_flip as oracle
from tests.oracles.enumeration import all_networks, neighbours
from tests.oracles.goodness import FALSE_ALARM, p_value
from tests.oracles.refusals import refusal
from tests.privacy.test_edge_flip import WEIGHTS, counted, degree_law

EPSILONS = [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(20)]


def exact(value: Fraction):
    return mpmath.mpf(value.numerator) / value.denominator


def exponential(epsilon: Fraction):
    with mpmath.workdps(120):
        return mpmath.exp(exact(epsilon))


@pytest.mark.parametrize("q", [2, 3, 100])
@pytest.mark.parametrize("epsilon", [*EPSILONS, Fraction(50), Fraction(64), Fraction(1000)])
def test_the_chance_to_keep_is_never_above_rho(q, epsilon):
    """Oracle: rho to 120 digits. Below e^64 it is the next multiple of 2^-64 under it."""
    kept = secure_flip.keep_words(epsilon, q)
    with mpmath.workdps(120):
        words = 2**64 * (exponential(epsilon) - 1) / (exponential(epsilon) + q - 1)
        assert kept <= words
        assert kept == mpmath.floor(words) or epsilon > 64
    assert kept < 2**64


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("q", [2, 5])
def test_the_effective_epsilon_is_at_most_the_one_asked_for_and_close_to_it(q, epsilon):
    with mpmath.workdps(120):
        loss = mpmath.log(exact(secure_flip.effective_loss(epsilon, q)))
        assert exact(epsilon) * (1 - mpmath.mpf(10) ** -10) < loss <= exact(epsilon)


def test_a_lower_bound_of_the_exponential_is_one():
    for exponent in (
        Fraction(0),
        Fraction(1, 10**6),
        Fraction(1),
        Fraction(355, 113),
        Fraction(64),
    ):
        with mpmath.workdps(120):
            below = exact(secure_flip.exponential_below(exponent))
            assert exponential(exponent) * (1 - mpmath.mpf(2) ** -180) <= below
            assert below <= exponential(exponent)


def largest_ratio(n: int, q: int, chance: Fraction) -> Fraction:
    """Of the chances of one flipped network under two neighbours, in exact fractions."""
    same, other = chance + (1 - chance) / q, (1 - chance) / q
    everything = all_networks(n, q)
    largest = Fraction(0)
    for network in everything[:: len(everything) // 8]:
        for neighbour in neighbours(network, q):
            agree = (everything == network).sum(axis=(1, 2)) - n
            agree_other = (everything == neighbour).sum(axis=(1, 2)) - n
            pairs = set(zip(agree.tolist(), agree_other.tolist()))
            largest = max(largest, *((same / other) ** (one - two) for one, two in pairs))
    return largest


@pytest.mark.parametrize(("n", "q"), [(3, 2), (3, 3)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
def test_the_ratio_of_any_two_neighbours_is_the_effective_one_exactly(n, q, epsilon):
    """By enumeration, in fractions: it never passes e^epsilon."""
    ratio = largest_ratio(n, q, Fraction(secure_flip.keep_words(epsilon, q), 2**64))
    assert ratio == secure_flip.effective_loss(epsilon, q)
    with mpmath.workdps(120):
        assert exact(ratio) <= exponential(epsilon)


def test_control_one_word_more_would_cost_more_than_epsilon():
    epsilon = Fraction(1)
    chance = Fraction(secure_flip.keep_words(epsilon, 3) + 1, 2**64)
    with mpmath.workdps(120):
        assert exact(largest_ratio(3, 3, chance)) > exponential(epsilon)


def drawn(q: int, epsilon: Fraction, draws: int) -> np.ndarray:
    network = p0.Network(WEIGHTS % q, q)
    flips = [secure_flip.flip_securely(network, epsilon) for _ in range(draws)]
    return np.array([np.concatenate(sums) for sums in flips])


@pytest.mark.parametrize(
    ("q", "epsilon"), [(2, Fraction(1)), (3, Fraction(1, 2)), (3, Fraction(3))]
)
def test_released_bidegrees_have_the_law_of_all_flips(q, epsilon):
    """Chi-square of 4000 draws against the enumerated law of the bi-degree, n = 3."""
    bidegrees, chances = degree_law(WEIGHTS % q, float(epsilon), q)
    assert p_value(counted(bidegrees, drawn(q, epsilon, 4000)), chances) > FALSE_ALARM


def test_control_twice_the_epsilon_is_found():
    bidegrees, chances = degree_law(WEIGHTS, 1.0, 3)
    assert p_value(counted(bidegrees, drawn(3, Fraction(1, 2), 4000)), chances) < FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3, 7])
def test_replacements_are_uniform(q):
    counts = np.bincount(secure_flip._uniform_weights(200_000, q), minlength=q)
    assert p_value(counts, np.full(q, 1 / q)) > FALSE_ALARM


def test_words_of_the_incomplete_last_cycle_are_drawn_again(monkeypatch):
    """2^64 = 1 modulo 3: the word 2^64 - 1 would favour weight 0."""
    answers = [np.array([2**64 - 1, 4], np.uint64), np.array([5], np.uint64)]
    monkeypatch.setattr(secure_flip, "_words", lambda count: answers.pop(0))
    np.testing.assert_array_equal(secure_flip._uniform_weights(2, 3), [2, 1])


def test_blocks_of_a_larger_network_make_one_network():
    """n = 700 is four blocks of rows: totals agree and the diagonal stays empty."""
    empty = p0.Network(np.zeros((700, 700), int), 2)
    out_degree, in_degree = secure_flip.flip_securely(empty, Fraction(1, 100))
    assert out_degree.sum() == in_degree.sum()
    # 699 pairs a node, half of them replaced by 1: beyond 7 standard deviations 3e-12 a node
    mean = 699 * (1 - oracle.keep(0.01, 2)) / 2
    for side in (out_degree, in_degree):
        assert (np.abs(side - mean) < 7 * np.sqrt(699 / 4)).all()


def test_two_releases_differ():
    """The same degrees twice: below 1e-100 for 200 nodes."""
    network = p0.Network(np.zeros((200, 200), int), 3)
    one, other = (secure_flip.flip_securely(network, Fraction(1)) for _ in range(2))
    assert (one[0] != other[0]).any()


def test_no_generator_is_in_reach():
    """The module speaks of no numpy.random, no random and no seed."""
    tree = ast.parse(inspect.getsource(secure_flip))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {arg.arg for arg in ast.walk(tree) if isinstance(arg, ast.arg)}
    assert names.isdisjoint({"random", "default_rng", "Generator", "rng", "seed", "float"})
    assert "urandom" in names


def test_an_epsilon_too_small_for_q_is_refused():
    refusal(
        lambda: secure_flip.keep_words(Fraction(1, 10**6), 10**6),
        "epsilon must be so large that edge_flip keeps one weight in 2^34 at q = 1000000",
        "got 1/1000000",
    )
