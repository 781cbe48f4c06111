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
from p0sim.model import sampling, sparse
from p0sim.model.dense import QuantileLaw, ThresholdLaw
from p0sim.model.sampling import EdgeSampler, sample_adjacency, sample_degrees, sample_rows
from p0sim.model.sparse import SparseLaw
from tests.oracles import edge_law, enumeration
from tests.oracles import sampling as plain
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


def pcg(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


# (n, shift of the log-odds, q, kind of law): every way to draw, one band of rows and several
WAYS = [
    (40, 0.0, 2, ThresholdLaw),
    (600, 0.0, 3, ThresholdLaw),
    (40, -1.0, 20, ThresholdLaw),
    (600, 0.0, 100, QuantileLaw),
    (40, -5.5, 2, SparseLaw),
    (600, -6.0, 3, SparseLaw),
    (600, -7.0, 100, SparseLaw),
]


def parameters_of(n: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(-1, 1, n) + shift, np.linspace(0.5, -0.5, n)


@pytest.mark.parametrize(("n", "shift", "q", "kind"), WAYS)
def test_what_is_kept_does_not_change_the_draw(n, shift, q, kind, monkeypatch):
    """Adjacency, rows, degrees; prepared or not; thresholds kept or not; blocks of any size."""
    alpha, beta = parameters_of(n, shift)
    sampler = EdgeSampler(alpha, beta, q)
    network = sampler.adjacency(pcg(1))
    assert isinstance(sampler._law, kind)
    assert network.dtype == np.int64 and 0 < network.max() < q
    np.testing.assert_array_equal(network, sample_adjacency(alpha, beta, q, pcg(1)))
    monkeypatch.setattr(sparse, "BLOCK_PAIRS", 1000)
    blocks = list(sample_rows(alpha, beta, q, pcg(1)))
    assert [rows.start for rows, _ in blocks[1:]] == [rows.stop for rows, _ in blocks[:-1]]
    np.testing.assert_array_equal(network, np.vstack([weights for _, weights in blocks]))
    for degrees in (sampler.degrees(pcg(1)), sample_degrees(alpha, beta, q, pcg(1))):
        np.testing.assert_array_equal(degrees[0], network.sum(axis=1))
        np.testing.assert_array_equal(degrees[1], network.sum(axis=0))
        assert degrees[0].dtype == degrees[1].dtype == np.int64


@pytest.mark.parametrize(("n", "shift", "q", "kind"), WAYS)
def test_draws_follow_one_another_in_the_stream(n, shift, q, kind):
    """Degrees take as many bits as the adjacency, so the next draws agree too."""
    sampler = EdgeSampler(*parameters_of(n, shift), q)
    one, other = pcg(2), pcg(2)
    sampler.degrees(one)
    sampler.adjacency(other)
    assert one.bit_generator.state == other.bit_generator.state
    np.testing.assert_array_equal(sampler.degrees(one)[0], sampler.adjacency(other).sum(axis=1))


def test_thresholds_that_do_not_fit_are_made_for_each_draw(monkeypatch):
    alpha, beta = parameters_of(600, 0.0)
    kept = EdgeSampler(alpha, beta, 3)
    monkeypatch.setattr(sampling, "TABLE_BYTES", 1000)
    made = EdgeSampler(alpha, beta, 3)
    assert kept._law.tables and not made._law.tables
    np.testing.assert_array_equal(kept.adjacency(pcg(3)), made.adjacency(pcg(3)))


def test_a_sampler_keeps_its_own_parameters():
    """Changing the caller's array afterwards changes nothing."""
    alpha, beta = parameters_of(40, 0.0)
    sampler = EdgeSampler(alpha, beta, 3)
    alpha[:] = 9
    np.testing.assert_array_equal(sampler.alpha, parameters_of(40, 0.0)[0])
    with pytest.raises(ValueError, match="read-only"):
        sampler.beta[0] = 1


@pytest.mark.parametrize("q", [2, 5])
def test_networks_equal_the_plain_version_ties_included(q):
    """Oracle: the same bits compared with 50-digit probabilities in fractions, pair by pair."""
    alpha, beta = two_group_model(q).alpha, two_group_model(q).beta
    plainly, ties = plain.adjacency(alpha, beta, q, pcg(11), height=GROUPS)
    assert ties >= 1
    np.testing.assert_array_equal(EdgeSampler(alpha, beta, q).adjacency(pcg(11)), plainly)


def test_bands_of_rows_have_their_bits_in_order():
    """At 400 nodes a band has 327 rows, and its ties are settled before the next band's bits."""
    alpha, beta = np.zeros(400), np.zeros(400)
    plainly, ties = plain.adjacency(alpha, beta, 3, pcg(12), height=327)
    assert ties >= 2
    np.testing.assert_array_equal(EdgeSampler(alpha, beta, 3).adjacency(pcg(12)), plainly)


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_other_bit_generators_draw_the_same_law(bits):
    """Chi-square of 160 000 pairs; MT19937 makes words of 32 bits only."""
    sampler = EdgeSampler(np.full(400, -0.5), np.zeros(400), 3)
    network = sampler.adjacency(np.random.Generator(bits(5)))
    counts = np.bincount(network[~np.eye(400, dtype=bool)], minlength=3)
    assert p_value(counts, law(-0.5, 3)) > FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3, 5, 16, 20, 64, 100])
def test_extreme_log_odds_give_the_extreme_weights(q):
    """At -40 and 40 any other weight has probability 4e-18."""
    alpha, beta = np.tile([-40.0, 40.0], 30), np.zeros(60)
    network = EdgeSampler(alpha, beta, q).adjacency(pcg(q))
    assert (network[::2] == 0).all()
    assert (network[1::2].sum(axis=1) == (q - 1) * 59).all()


def test_parameters_beyond_the_range_of_exp_still_give_their_law():
    """800 - 800 = 0: a fair coin; 800 alone: always; -800 alone: never."""
    alpha, beta = np.repeat([800.0, 0.0], 200), np.tile([-800.0, 0.0], 200)
    network = EdgeSampler(alpha, beta, 2).adjacency(pcg(6))
    off = ~np.eye(400, dtype=bool)
    fair = np.concatenate(
        [network[:200, ::2][off[:200, ::2]], network[200:, 1::2][off[200:, 1::2]]]
    )
    assert p_value(np.bincount(fair), np.array([0.5, 0.5])) > FALSE_ALARM
    assert network[:200, 1::2].sum() == 200 * 200 - 100
    assert network[200:, ::2].sum() == 0


def test_largest_q_gives_uniform_weights_at_log_odds_zero():
    """q = 2**41: chi-square of twenty equal bins."""
    q = 2**41
    network = EdgeSampler(np.zeros(100), np.zeros(100), q).adjacency(pcg(7))
    drawn = network[~np.eye(100, dtype=bool)]
    assert drawn.min() >= 0 and drawn.max() < q
    assert p_value(np.bincount(20 * drawn // q, minlength=20), np.full(20, 0.05)) > FALSE_ALARM


FAR_SENDER, FAR_RECEIVER = (-6.0, 0.5), (-4.0, 0.0)
FAR_NETWORKS = 100


@cache
def many_draws(q: int) -> dict[float, np.ndarray]:
    """Counts over 100 networks of 1000 nodes, 1e8 draws, in four laws: x = -10, -6, -3.5, 0.5."""
    alpha, beta = np.repeat(FAR_SENDER, 500), np.tile(FAR_RECEIVER, 500)
    sampler, rng = EdgeSampler(alpha, beta, q), pcg(77)
    assert isinstance(sampler._law, ThresholdLaw)
    counts = {x: np.zeros(q, dtype=int) for x in (-10.0, -6.0, -3.5, 0.5)}
    for _ in range(FAR_NETWORKS):
        network = sampler.adjacency(rng)
        for i, j in itertools.product((0, 1), (0, 1)):
            cells = network[500 * i : 500 * (i + 1), j::2]
            counts[FAR_SENDER[i] + FAR_RECEIVER[j]] += np.bincount(cells.ravel(), minlength=q)
    for tally in counts.values():
        # each law's part holds 250 cells of the diagonal
        tally[0] -= 250 * FAR_NETWORKS
    return counts


def combined_p_value(counts: dict[float, np.ndarray], laws: dict[float, np.ndarray]) -> float:
    return stats.combine_pvalues([max(p_value(counts[x], laws[x]), 1e-300) for x in counts]).pvalue


@pytest.mark.parametrize("q", [2, 3])
def test_a_hundred_million_draws_follow_the_law(q):
    """False alarm 1e-6."""
    counts = many_draws(q)
    assert sum(tally.sum() for tally in counts.values()) == 1000 * 999 * FAR_NETWORKS
    assert combined_p_value(counts, {x: law(x, q) for x in counts}) > FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3])
def test_control_a_hundred_million_draws_find_log_odds_off_by_three_thousandths(q):
    counts = many_draws(q)
    assert combined_p_value(counts, {x: law(x + 0.003, q) for x in counts}) < FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3])
def test_control_a_hundred_million_draws_find_thresholds_cut_to_16_bits(q):
    """What the ties are settled for: at x = -10 a cut threshold loses a third of the edges."""
    counts = many_draws(q)
    cut = {x: np.floor(2**16 * np.cumsum(law(x, q)[::-1])[::-1][1:]) / 2**16 for x in counts}
    laws = {x: -np.diff(np.concatenate([[1.0], tails, [0.0]])) for x, tails in cut.items()}
    assert combined_p_value(counts, laws) < FALSE_ALARM


def test_parameters_may_stand_apart_in_memory():
    """Every second entry of an array."""
    wide = np.linspace(-1, 1, 80)
    strided = sample_adjacency(wide[::2], wide[1::2], 3, pcg(8))
    np.testing.assert_array_equal(
        strided, EdgeSampler(wide[::2].copy(), wide[1::2].copy(), 3).adjacency(pcg(8))
    )
