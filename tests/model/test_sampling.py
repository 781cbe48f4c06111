"""Sampled networks and bi-degrees against the law, with controls that must fail.

Every p-value is compared with goodness.FALSE_ALARM = 1e-6: a correct sampler fails a single check
once in a million seeds; the seeds are fixed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy import stats

import p0sim as p0
from tests.oracles import edge_law, enumeration
from tests.oracles.goodness import FALSE_ALARM, p_value

GROUPS = 300
SENDER, RECEIVER = (-1.2, 0.5), (0.8, 0.0)
SMALL_ALPHA = np.array([0.4, -0.5, 0.2])
SMALL_BETA = np.array([0.3, -0.6, 0.0])
SMALL_DRAWS = 6000


def two_group_model(q: int) -> p0.P0Model:
    """300 nodes; sender and receiver parameters take two values each, so four laws in all."""
    alpha = np.repeat(SENDER, GROUPS // 2)
    beta = np.tile(RECEIVER, GROUPS // 2)
    return p0.P0Model(alpha, beta, q=q)


def weight_counts(adjacency: np.ndarray, model: p0.P0Model, q: int) -> dict[float, np.ndarray]:
    """How often each weight occurs among the arcs of each law."""
    x = model.alpha[:, None] + model.beta
    off = ~np.eye(model.n, dtype=bool)
    return {
        value: np.bincount(adjacency[off & (x == value)], minlength=q) for value in np.unique(x)
    }


def law(x: float, q: int) -> np.ndarray:
    return np.array([float(p) for p in edge_law.law(x, q)])


def wrong_law_sample(model: p0.P0Model, q: int, rng: np.random.Generator) -> np.ndarray:
    """Control: weights drawn with every log-odds too large by 0.05."""
    x = model.alpha[:, None] + model.beta + 0.05
    masses = np.cumsum([np.exp(k * x) for k in range(q)], axis=0)
    drawn = (rng.random(x.shape) > masses / masses[-1]).sum(axis=0)
    np.fill_diagonal(drawn, 0)
    return drawn


@pytest.mark.parametrize("q", [2, 3, 5, 8])
def test_single_weights_follow_the_law(q):
    """Chi-square over about 22 000 arcs of each of four laws."""
    model = two_group_model(q)
    adjacency = model.sample(rng=np.random.default_rng(100 + q))
    for x, counts in weight_counts(adjacency, model, q).items():
        assert p_value(counts, law(x, q)) > FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3, 5, 8])
def test_control_a_slightly_wrong_law_is_found(q):
    """The chi-square of the test above rejects log-odds that are off by 0.05."""
    model = two_group_model(q)
    adjacency = wrong_law_sample(model, q, np.random.default_rng(100 + q))
    statistics = weight_counts(adjacency, model, q).items()
    combined = stats.combine_pvalues([p_value(c, law(x, q)) for x, c in statistics]).pvalue
    assert combined < FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3, 5])
def test_rare_weights_follow_the_law(q):
    """Far tails, x = -5: a coarse table of thresholds would show here."""
    model = p0.P0Model(np.full(400, -5.0), np.zeros(400), q=q)
    adjacency = model.sample(rng=np.random.default_rng(q))
    counts = np.bincount(adjacency[~np.eye(400, dtype=bool)], minlength=q)
    assert p_value(counts, law(-5.0, q)) > FALSE_ALARM


def test_sample_is_an_integer_adjacency():
    """Shape (n, n), integer dtype, weights in 0..q-1, zero diagonal."""
    adjacency = two_group_model(3).sample(rng=np.random.default_rng(0))
    assert adjacency.shape == (GROUPS, GROUPS)
    assert adjacency.dtype.kind == "i"
    assert (np.diag(adjacency) == 0).all()
    assert set(np.unique(adjacency)) == {0, 1, 2}


@cache
def small_networks(q: int) -> np.ndarray:
    model = p0.P0Model(SMALL_ALPHA, SMALL_BETA, q=q)
    rng = np.random.default_rng(7)
    return np.array([model.sample(rng=rng) for _ in range(SMALL_DRAWS)])


def pair_table(networks: np.ndarray, first: tuple, second: tuple, q: int) -> np.ndarray:
    codes = networks[:, first[0], first[1]] * q + networks[:, second[0], second[1]]
    return np.bincount(codes, minlength=q * q)


def test_pairs_of_weights_are_independent():
    """Chi-square of the joint law of all 15 pairs of arcs: same row, column, reciprocal, apart."""
    q = 3
    x = SMALL_ALPHA[:, None] + SMALL_BETA
    for first, second in itertools.combinations(enumeration.arcs(3), 2):
        joint = np.outer(law(x[first], q), law(x[second], q))
        assert p_value(pair_table(small_networks(q), first, second, q), joint) > FALSE_ALARM


def test_control_a_weak_dependence_is_found():
    """One arc copied from another in a tenth of the networks has the right margins, not the law."""
    q, first, second = 3, (0, 1), (1, 0)
    same_alpha = p0.P0Model(np.zeros(3), np.zeros(3), q=q)
    rng = np.random.default_rng(3)
    networks = np.array([same_alpha.sample(rng=rng) for _ in range(SMALL_DRAWS)])
    copied = rng.random(SMALL_DRAWS) < 0.1
    networks[copied, 1, 0] = networks[copied, 0, 1]
    assert p_value(pair_table(networks, first, second, q), np.full(9, 1 / 9)) < FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3])
def test_bidegrees_of_sampled_networks_follow_the_enumerated_law(q):
    """Chi-square over all possible bi-degrees of three nodes."""
    networks = small_networks(q)
    assert bidegree_p_value(enumeration.bidegrees(networks), q, SMALL_ALPHA) > FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3])
def test_sample_bidegree_follows_the_same_law(q):
    """The sampler that keeps no adjacency, against the same enumeration."""
    assert bidegree_p_value(drawn_bidegrees(q), q, SMALL_ALPHA) > FALSE_ALARM


def test_control_a_slightly_wrong_bidegree_law_is_found():
    """alpha_1 off by 0.25 is rejected with the same draws."""
    assert bidegree_p_value(drawn_bidegrees(2), 2, SMALL_ALPHA + 0.25 * np.eye(3)[0]) < FALSE_ALARM


@cache
def drawn_bidegrees(q: int) -> np.ndarray:
    model = p0.P0Model(SMALL_ALPHA, SMALL_BETA, q=q)
    rng = np.random.default_rng(8)
    drawn = [model.sample_bidegree(rng=rng) for _ in range(SMALL_DRAWS)]
    return np.array([np.append(d.out_degree, d.in_degree) for d in drawn])


def bidegree_p_value(degrees: np.ndarray, q: int, alpha: np.ndarray) -> float:
    exact = enumeration.bidegree_law(3, q, alpha, SMALL_BETA)
    seen = Counter(map(tuple, degrees.tolist()))
    assert set(seen) <= set(exact)
    return p_value(np.array([seen[key] for key in exact]), np.array(list(exact.values())))


def test_sample_bidegree_of_a_larger_model_has_the_right_moments():
    """300 nodes, q = 5: standardised degrees have mean square 1 within 6 sd; equal totals."""
    model = two_group_model(5)
    expected, variance = model.expected_bidegree(), np.diag(model.fisher_information())[:GROUPS]
    degrees = model.sample_bidegree(rng=np.random.default_rng(5))
    z = (degrees.out_degree - expected.out_degree) / np.sqrt(variance)
    assert degrees.out_degree.dtype.kind == "i"
    assert degrees.out_degree.sum() == degrees.in_degree.sum()
    assert abs(np.mean(z**2) - 1) < 6 * np.sqrt(2 / GROUPS)
    assert abs(np.mean(z)) < 6 / np.sqrt(GROUPS)


def test_generators_decide_the_sample():
    """One seed, one network; another seed, another network; the state moves on between calls."""
    model = two_group_model(3)
    first, again = (model.sample(rng=np.random.default_rng(1)) for _ in range(2))
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, model.sample(rng=rng))
    assert (first != model.sample(rng=rng)).any()
    assert (first != model.sample(rng=np.random.default_rng(2))).any()


def test_rng_has_no_default_and_must_be_a_generator():
    """Nothing seeded may fall back to a global state."""
    model = two_group_model(2)
    for draw in (model.sample, model.sample_bidegree):
        with pytest.raises(TypeError):
            draw()
        with pytest.raises(TypeError):
            draw(rng=1)
