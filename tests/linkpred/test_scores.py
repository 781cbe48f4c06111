"""Base scores against networkx, dense linear algebra and all graphs on five nodes."""

from __future__ import annotations

import itertools
import math
import warnings
from functools import partial

import networkx as nx
import numpy as np
import pytest

import p0sim as p0
from p0sim.linkpred.graphs import Graph, as_graph
from p0sim.linkpred.scores import Protocol, find_protocol, register_protocol, score, score_blocks
from tests.oracles.refusals import refusal

INDICES = {"JC": nx.jaccard_coefficient, "AA": nx.adamic_adar_index}
PAIRS = list(itertools.combinations(range(5), 2))


def expected_row(protocol, drawn, u):
    """networkx's score of u and each node that is not joined to it."""
    others = [v for v in drawn if v != u and v not in drawn[u]]
    if protocol == "CN":
        return {v: len(set(nx.common_neighbors(drawn, u, v))) for v in others}
    return {v: s for _, v, s in INDICES[protocol](drawn, [(u, v) for v in others])}


def assert_like_networkx(protocol, drawn, queries):
    rows = score(protocol, as_graph(drawn), queries)
    assert rows.shape == (len(queries), len(drawn))
    for u, row in zip(queries, rows):
        there = expected_row(protocol, drawn, u)
        np.testing.assert_allclose(row[list(there)], list(there.values()), rtol=1e-12)


@pytest.mark.parametrize("protocol", ["CN", "JC", "AA"])
@pytest.mark.parametrize("density", [0.01, 0.05, 0.2, 0.7])
def test_scores_equal_those_of_networkx_on_random_graphs(protocol, density):
    drawn = nx.gnp_random_graph(60, density, seed=round(100 * density))
    assert_like_networkx(protocol, drawn, list(drawn))


@pytest.mark.parametrize("protocol", ["CN", "JC", "AA"])
@pytest.mark.parametrize("name", list(p0.describe_graphs()["name"]))
def test_scores_equal_those_of_networkx_on_the_embedded_graphs(protocol, name):
    graph = p0.load_graph(name)
    drawn = nx.from_scipy_sparse_array(graph.adjacency)
    queries = np.random.default_rng(5).choice(graph.n, 4, replace=False).tolist()
    assert_like_networkx(protocol, drawn, queries)


def dense(graph):
    return graph.adjacency.toarray().astype(float)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_crw_equals_its_two_sided_definition(length):
    """Oracle: powers of the dense transition matrix, both terms of the published formula."""
    drawn = nx.gnp_random_graph(30, 0.15, seed=8)
    drawn.add_node(30)
    graph = as_graph(drawn)
    matrix, degree = dense(graph), dense(graph).sum(1)
    step = np.divide(matrix, degree[:, None], out=np.zeros_like(matrix), where=degree[:, None] > 0)
    share = degree / degree.sum()
    expected = np.zeros_like(matrix)
    for t in range(1, length + 1):
        chance = np.linalg.matrix_power(step, t)
        expected += share[:, None] * chance + (share[:, None] * chance).T
    np.testing.assert_allclose(
        score("CRW", graph, np.arange(31), length=length), expected, atol=1e-15
    )


@pytest.mark.parametrize("beta", [0.01, 0.1])
def test_katz_equals_the_dense_inverse(beta):
    graph = as_graph(nx.gnp_random_graph(50, 0.1, seed=2))
    expected = np.linalg.inv(np.eye(50) - beta * dense(graph))
    np.testing.assert_allclose(score("katz", graph, range(50), beta=beta), expected, atol=1e-13)


def test_katz_is_the_inverse_up_to_the_largest_eigenvalue_and_refused_from_there_on():
    graph = as_graph(nx.gnp_random_graph(50, 0.3, seed=2))
    edge = 1 / np.linalg.eigvalsh(dense(graph))[-1]
    assert score("katz", graph, [0], beta=0.999 * edge).min() > 0
    for beta in (edge, 1.001 * edge, 3.0):
        said = refusal(partial(score, "katz", graph, [0], beta=beta), "largest eigenvalue")
        assert f"beta must be below {edge:.6g}, one over" in said


@pytest.mark.parametrize(
    ("drawn", "largest"),
    [(nx.complete_graph(2), 1), (nx.complete_graph(7), 6), (nx.star_graph(9), 3),
     (nx.cycle_graph(8), 2)],
)  # fmt: skip
def test_the_largest_beta_that_katz_allows_is_told(drawn, largest):
    """Eigenvalues by hand: n - 1 of a complete graph, the root of a star's degree, 2 of a cycle."""
    graph = as_graph(drawn)
    said = refusal(lambda: score("katz", graph, [0], beta=1.0), "beta must be below")
    assert f"beta must be below {1 / largest:.6g}, one over" in said
    assert np.isfinite(score("katz", graph, [0], beta=0.999 / largest)).all()


def test_aa_of_a_path_and_of_nodes_without_common_neighbours():
    """Case row 48: edges 0-1, 2-3, 3-4; AA(2, 4) is 1/log 2, AA(0, 2) is 0."""
    rows = score("AA", as_graph(nx.Graph([(0, 1), (2, 3), (3, 4)])), [0, 2])
    assert rows[1, 4] == pytest.approx(1.442695, abs=5e-7)
    assert rows[0, 2] == 0


def test_aa_is_finite_beside_neighbours_of_degree_one():
    """Case row 47: a common neighbour of two nodes has degree 2, so nothing divides by log 1."""
    star = as_graph(nx.star_graph(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = score("AA", star, range(5))
    assert np.isfinite(rows).all()
    assert rows[1, 2] == pytest.approx(1 / math.log(4))
    assert rows[0, 0] == 0


def test_jaccard_of_two_isolated_nodes_is_zero_without_a_warning():
    """Case row 49."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for protocol in ("JC", "CN", "AA", "CRW"):
            assert (score(protocol, as_graph(np.zeros((2, 2))), [0, 1]) == 0).all()


def graph_of(bits):
    matrix = np.zeros((5, 5))
    for (i, j), bit in zip(PAIRS, bits):
        matrix[i, j] = matrix[j, i] = bit
    return Graph(matrix)


@pytest.fixture(scope="module")
def all_graphs():
    """All 2^10 labelled graphs on five nodes, with the scores of node 0 among its candidates."""
    found = {}
    for bits in itertools.product((0, 1), repeat=len(PAIRS)):
        graph = graph_of(bits)
        rows = {name: score(name, graph, [0])[0] for name in ("CN", "JC", "AA")}
        found[bits] = (graph.candidates(0), rows)
    return found


def changes(all_graphs, protocol):
    """Change of the candidates' scores of node 0 by every edge that is not at node 0."""
    for bits, (candidates, rows) in all_graphs.items():
        for k, pair in enumerate(PAIRS):
            if 0 not in pair and not bits[k] and len(candidates):
                after = all_graphs[(*bits[:k], 1, *bits[k + 1 :])][1]
                yield sum(bits[:4]), (after[protocol] - rows[protocol])[candidates]


@pytest.mark.parametrize(("protocol", "least"), [("CN", 1), ("JC", 1), ("AA", 1 / math.log(2))])
def test_sensitivities_hold_and_are_attained(protocol, least, all_graphs):
    largest = max(np.abs(change).max() for _, change in changes(all_graphs, protocol))
    declared = find_protocol(protocol).sensitivity
    assert declared == pytest.approx(least)
    assert largest == pytest.approx(declared, rel=1e-12)


def test_jaccard_changes_by_one_over_the_degree_of_the_query(all_graphs):
    for degree in (1, 2, 3):
        steps = [np.abs(c).max() for d, c in changes(all_graphs, "JC") if d == degree]
        assert max(steps) == pytest.approx(1 / degree)


@pytest.mark.parametrize("protocol", ["CN", "JC"])
def test_one_edge_moves_all_scores_the_same_way(protocol, all_graphs):
    for _, change in changes(all_graphs, protocol):
        assert (change >= 0).all() or (change <= 0).all()


def test_an_edge_raises_one_aa_score_and_lowers_others_at_no_higher_cost(all_graphs):
    """The product of both factors of (s + D + 1) is at most (2D + 1)/(D + 1); it is reached."""
    bound, mixed, largest = 1 / math.log(2), 0, 0.0
    for bits, (candidates, rows) in all_graphs.items():
        for k, pair in enumerate(PAIRS):
            if 0 not in pair and not bits[k] and len(candidates):
                after = all_graphs[(*bits[:k], 1, *bits[k + 1 :])][1]["AA"][candidates]
                factor = (after + bound + 1) / (rows["AA"][candidates] + bound + 1)
                mixed += factor.max() > 1 > factor.min()
                largest = max(largest, max(factor.max(), 1) / min(factor.min(), 1))
    assert mixed
    assert largest == pytest.approx((2 * bound + 1) / (bound + 1), rel=1e-12)


def test_blocks_are_the_rows_of_one_piece(monkeypatch):
    graph = p0.load_graph("usair")
    queries = [5, 0, 331, 5, 17]
    whole = score("AA", graph, queries)
    monkeypatch.setattr("p0sim.linkpred.scores.ENTRIES_AT_ONCE", 2 * graph.n)
    blocks = list(score_blocks("AA", graph, queries))
    assert [block.tolist() for block, _ in blocks] == [[5, 0], [331, 5], [17]]
    np.testing.assert_array_equal(np.vstack([rows for _, rows in blocks]), whole)
    np.testing.assert_array_equal(score("AA", graph, queries), whole)


def test_no_query_gives_no_row():
    assert score("CN", p0.load_graph("usair"), []).shape == (0, 332)


def preferential(graph, queries):
    return np.outer(graph.degree[queries], graph.degree).astype(float)


def test_a_score_of_ones_own_is_used_by_name_and_by_itself(monkeypatch):
    monkeypatch.setattr("p0sim.linkpred.scores._registered", {})
    graph = p0.load_graph("celegans")
    own = register_protocol("preferential", preferential, sensitivity=2)
    assert (own.sensitivity, own.one_direction) == (2.0, False)
    for way in ("preferential", own):
        np.testing.assert_array_equal(
            score(way, graph, [3]), graph.degree[3] * graph.degree[None, :].astype(float)
        )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (lambda graph, queries: np.zeros((len(queries), 2)), "shape"),
        (lambda graph, queries: -np.ones((len(queries), graph.n)), "not negative"),
        (lambda graph, queries: np.full((len(queries), graph.n), np.nan), "finite"),
        (lambda graph, queries: np.full((len(queries), graph.n), np.inf), "finite"),
    ],
)
def test_scores_that_break_a_rule_are_refused(rows, words):
    refusal(lambda: score(Protocol("mine", rows), p0.load_graph("usair"), [0]), words)


def test_wrong_names_and_values_are_refused():
    graph = p0.load_graph("usair")
    assert "did you mean 'AA'" in refusal(lambda: score("AAA", graph, [0]), "protocol")
    refusal(lambda: score("AA", graph, [0], beta=1), "takes no parameters")
    refusal(lambda: score("katz", graph, [0], alpha=1), "takes beta")
    refusal(lambda: score("katz", graph, [0], beta=-0.1), "positive")
    refusal(lambda: score("CRW", graph, [0], length=0), "at least 1")
    refusal(lambda: score("AA", graph, [332]), "got 332")
    refusal(lambda: score("AA", graph, [-1]), "got -1")
    refusal(lambda: register_protocol("AA", preferential), "none of")
    for bound in (0, -1, math.inf, math.nan):
        refusal(partial(register_protocol, "mine", preferential, bound), "sensitivity")
    for queries in (["a"], [0.5], [True], 3):
        with pytest.raises(TypeError, match="queries"):
            score("AA", graph, queries)


@pytest.mark.slow
def test_all_queries_of_facebook_are_scored_in_time_and_memory():
    """Adamic-Adar of 4039 x 4039 pairs: 5 s of computing and, with what it returns, 1 GB."""
    import time
    import tracemalloc

    graph = p0.load_graph("facebook")
    tracemalloc.start()
    began = time.process_time()
    rows = score("AA", graph, np.arange(graph.n))
    seconds = time.process_time() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows.shape == (4039, 4039)
    assert seconds < 5
    assert peak < 1e9
