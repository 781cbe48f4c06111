"""Sparse draws against the law, and at a cost in edges; controls that must fail.

p-values are compared with goodness.FALSE_ALARM = 1e-6 under fixed seeds.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

from p0sim.model import sparse
from p0sim.model.raw_words import raw_words
from p0sim.model.sampling import EdgeSampler
from p0sim.model.sparse import SparseLaw, alias_table, thrown_rates
from tests.oracles import edge_law, enumeration
from tests.oracles.goodness import FALSE_ALARM, p_value

ALPHA, BETA = np.array([0.4, -0.5, 0.2]), np.array([0.3, -0.6, 0.0])
DRAWS = 20_000


def pcg(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def law(x: float, q: int) -> np.ndarray:
    return np.array([float(p) for p in edge_law.law(x, q)])


def degrees_of(sampler: SparseLaw, rng: np.random.Generator) -> tuple[int, ...]:
    out_degree, in_degree = np.zeros(len(sampler.alpha), int), np.zeros(len(sampler.alpha), int)
    sampler.add_degrees(rng, out_degree, in_degree)
    return (*out_degree.tolist(), *in_degree.tolist())


@cache
def small_bidegrees(q: int) -> Counter:
    sampler, rng = SparseLaw(ALPHA, BETA, q), pcg(20 + q)
    return Counter(degrees_of(sampler, rng) for _ in range(DRAWS))


def bidegree_p_value(q: int, alpha: np.ndarray) -> float:
    exact, seen = enumeration.bidegree_law(3, q, alpha, BETA), small_bidegrees(q)
    assert set(seen) <= set(exact)
    return p_value(np.array([seen[key] for key in exact]), np.array(list(exact.values())))


@pytest.mark.parametrize("q", [2, 3, 4])
def test_dense_networks_thrown_and_thinned_follow_the_enumerated_law(q):
    """Three nodes with about half their edges: points often share a pair or are refused."""
    assert bidegree_p_value(q, ALPHA) > FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3, 4])
def test_control_a_wrong_bidegree_law_is_found(q):
    """alpha_1 off by 0.15."""
    assert bidegree_p_value(q, ALPHA + 0.15 * np.eye(3)[0]) < FALSE_ALARM


# sender parameters for q below 10, with a hub whose log-odds reach 3, and above
SENDERS, RECEIVER = {True: (-7.0, 0.0), False: (-5.0, -3.5)}, (-2.0, 3.0)


@cache
def weight_counts(q: int) -> dict[float, np.ndarray]:
    """Twenty networks of 400 nodes: counts of the weights in each of four laws, by log-odds."""
    n, sender = 400, SENDERS[q < 10]
    sampler, rng = SparseLaw(np.repeat(sender, n // 2), np.tile(RECEIVER, n // 2), q), pcg(q)
    counts = {a + b: np.zeros(q, int) for a in sender for b in RECEIVER}
    for _ in range(20):
        network = np.vstack([weights for _, weights in sampler.blocks(rng)])
        for i, a in enumerate(sender):
            for j, b in enumerate(RECEIVER):
                cells = network[i * n // 2 : (i + 1) * n // 2, j::2]
                counts[a + b] += np.bincount(cells.ravel(), minlength=q)
    for tally in counts.values():
        # a quarter of the diagonal lies in each law's part
        tally[0] -= 20 * n // 4
    return counts


@pytest.mark.parametrize("q", [2, 3, 5, 20, 64, 300])
def test_single_weights_follow_the_law(q):
    """Chi-square of 800 000 pairs of each of four laws."""
    for x, counts in weight_counts(q).items():
        assert p_value(counts, law(x, q)) > FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3, 5, 20, 64, 300])
def test_control_a_slightly_wrong_law_is_found(q):
    """The best filled of the four laws, log-odds off by 0.05."""
    x, counts = max(weight_counts(q).items())
    assert p_value(counts, law(x + 0.05, q)) < FALSE_ALARM


@pytest.mark.parametrize("q", [2, 3, 50, 2**41])
@pytest.mark.parametrize("largest", [-30.0, -6.0, -5.999, -0.4, 0.0, 2.5, 20.0])
def test_thrown_rates_bound_the_rates_of_edges(q, largest):
    """c e^x >= log S(x) at x = largest and below; and not idly large where x is small."""
    bound, rates = thrown_rates(np.array([largest, -50.0]), np.zeros(2), q)
    x = np.append(np.linspace(-45, largest, 20_001), largest)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(x == 0, q - 1, np.expm1(-(q - 1) * np.abs(x)) / np.expm1(-np.abs(x)))
    empty = (q - 1) * np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)) * ratio)
    assert (bound * np.exp(x) >= empty).all()
    assert bound < 1.02 * max(1.0013, (empty / np.exp(x)).max())
    np.testing.assert_allclose(rates, bound * 2 * np.exp([largest, -50.0]), rtol=1e-12)


def test_alias_tables_give_back_the_masses():
    """What entry and alias pass on sums to each mass; masses of 0 and far apart included."""
    masses = np.concatenate([np.random.default_rng(2).exponential(size=500) ** 6, [0, 1e-12, 900]])
    keep, alias = alias_table(masses)
    assert (keep >= 0).all() and (keep <= 1).all()
    passed = keep + np.bincount(alias, weights=1 - keep, minlength=len(masses))
    np.testing.assert_allclose(passed, len(masses) * masses / masses.sum(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [2000, 20_000])
def test_the_cost_grows_with_the_edges(n, monkeypatch):
    """Words drawn: two a point, and hardly more points than edges; not n^2/4."""
    drawn = []

    def counted(rng: np.random.Generator, count: int) -> np.ndarray:
        drawn.append(count)
        return raw_words(rng, count)

    monkeypatch.setattr(sparse, "raw_words", counted)
    alpha = np.random.default_rng(3).normal(0, 1, n)
    sampler = EdgeSampler(alpha - alpha.max(), np.full(n, np.log(5 / n)), 2)
    edges = sampler.degrees(pcg(4))[0].sum()
    assert edges > 0
    assert 2 * edges <= sum(drawn) < 2.2 * edges + 40


def test_samplers_take_the_sparse_way_only_where_it_pays():
    """Expected edges 1/200 of the pairs, and 1/20; a hub that most others reach hinders it."""
    n = 300
    for share, sparse_way in ((1 / 200, True), (1 / 20, False)):
        sampler = EdgeSampler(np.full(n, np.log(share)), np.zeros(n), 2)
        assert isinstance(sampler._law, SparseLaw) is sparse_way
    hub = np.append(np.zeros(n - 1), 60.0)
    assert not isinstance(EdgeSampler(np.full(n, -6.0), hub, 2)._law, SparseLaw)


def test_bands_of_rows_draw_independent_rows():
    """Few points a band, so many bands: row sums still have their means, within 6 sd."""
    n, reps = 500, 40
    sampler = SparseLaw(np.full(n, -5.0), np.zeros(n), 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse, "POINTS_AT_ONCE", 16)
        total = sum(np.array(degrees_of(sampler, pcg(seed))[:n]) for seed in range(reps))
    p = 1 / (1 + np.exp(5.0))
    z = (total - reps * (n - 1) * p) / np.sqrt(reps * (n - 1) * p * (1 - p))
    assert abs(np.mean(z**2) - 1) < 6 * np.sqrt(2 / n)
    assert abs(np.mean(z)) < 6 / np.sqrt(n)
