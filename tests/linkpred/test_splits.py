"""Held-out pairs: how many, which, and what is left to learn from."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chi2

from p0sim.errors import InvalidNetworkError, InvalidParametersError
from p0sim.linkpred import splits
from p0sim.linkpred.graphs import as_graph
from p0sim.linkpred.splits import candidate_scores, query_nodes, split

GRAPH = nx.gnp_random_graph(60, 0.25, seed=3)


def drawn(graph=GRAPH, queries=None, share=0.15, seed=1):
    found = as_graph(graph)
    chosen = query_nodes(found) if queries is None else queries
    return split(found, chosen, share, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("p", [0.02, 0.1, 0.4])
def test_query_nodes_are_those_with_a_triangle(p):
    """Oracle: networkx."""
    graph = nx.gnp_random_graph(50, p, seed=7)
    expected = [node for node, count in nx.triangles(graph).items() if count]
    assert query_nodes(as_graph(graph)).tolist() == expected


def test_each_query_holds_out_fifteen_percent_of_each_kind_rounded_down():
    found = drawn()
    for k, u in enumerate(found.queries.tolist()):
        degree, pairs = GRAPH.degree[u], found.pairs(k)
        names, relevant = found.candidates[pairs].tolist(), found.relevant[pairs].tolist()
        assert len(set(names)) == len(names)
        assert u not in names
        assert relevant == [GRAPH.has_edge(u, v) for v in names]
        assert sum(relevant) == found.n_relevant[k] == degree * 15 // 100
        assert len(names) - sum(relevant) == (59 - degree) * 15 // 100


def test_the_training_graph_lacks_the_union_of_all_held_out_edges():
    found, left = drawn(), GRAPH.copy()
    for k, u in enumerate(found.queries.tolist()):
        pairs = found.pairs(k)
        left.remove_edges_from(
            (u, v) for v in found.candidates[pairs][found.relevant[pairs]].tolist()
        )
    np.testing.assert_array_equal(found.training.adjacency.toarray(), nx.to_numpy_array(left))
    assert left.number_of_edges() < GRAPH.number_of_edges()


@pytest.mark.parametrize(("degree", "relevant"), [(6, 0), (7, 1), (13, 1), (14, 2), (20, 3)])
def test_a_query_with_six_neighbours_has_no_relevant_candidate(degree, relevant):
    assert drawn(nx.star_graph(degree), [0]).n_relevant.tolist() == [relevant]


def test_a_share_counts_as_it_is_written():
    """0.29 times 100 is 28.999999999999996 in floats."""
    assert drawn(nx.star_graph(100), [0], share=0.29).n_relevant.tolist() == [29]


def test_how_many_rows_are_worked_on_at_once_changes_nothing(monkeypatch):
    whole = drawn()
    monkeypatch.setattr(splits, "ENTRIES_AT_ONCE", 200)
    parts = drawn()
    np.testing.assert_array_equal(whole.candidates, parts.candidates)
    np.testing.assert_array_equal(whole.starts, parts.starts)


def test_every_neighbour_is_held_out_equally_often():
    """False alarm once in 10 000; a split that favours one neighbour by a half fails.

    With 3 of 20 a draw, counts have the covariance N p (1-p) d/(d-1) (I - J/d): their squared
    distances from N p, over its factor, are chi-square with d - 1 degrees of freedom.
    """
    reps, d, p = 2000, 20, 3 / 20
    counts = np.zeros(d + 1)
    for seed in range(reps):
        counts[drawn(nx.star_graph(d), [0], seed=seed).candidates] += 1

    def p_value(seen):
        return chi2.sf(((seen - reps * p) ** 2).sum() / (reps * p * (1 - p) * d / (d - 1)), d - 1)

    assert p_value(counts[1:]) > 1e-4
    favoured = counts[1:] * np.r_[1.5, np.full(d - 1, 1 - 0.5 / (d - 1))]
    assert p_value(favoured) < 1e-4


@pytest.mark.parametrize(
    ("protocol", "oracle"),
    [("JC", nx.jaccard_coefficient), ("AA", nx.adamic_adar_index)],
)
def test_scores_come_from_the_training_graph_alone(protocol, oracle):
    """Oracle: networkx on the training graph, and on the full graph as a control."""
    found = drawn()
    pairs = list(
        zip(np.repeat(found.queries, np.diff(found.starts)).tolist(), found.candidates.tolist())
    )
    training = nx.from_scipy_sparse_array(found.training.adjacency)
    expected, full = ([s for _, _, s in oracle(graph, pairs)] for graph in (training, GRAPH))
    scores = candidate_scores(protocol, found)
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    assert not np.allclose(scores, full)


def test_no_query_leaves_the_graph_as_it_is():
    found = drawn(queries=np.empty(0, dtype=int))
    assert found.training.n_edges == GRAPH.number_of_edges()
    assert len(found.candidates) == len(candidate_scores("CN", found)) == 0


@pytest.mark.parametrize(
    ("queries", "share", "error", "words"),
    [
        ([0, 0], 0.15, InvalidNetworkError, "queries must differ; got one twice"),
        ([60], 0.15, InvalidNetworkError, "query must be a position in 0..n-1 = 59; got 60"),
        ([0], 1.0, InvalidParametersError, "share must lie strictly between 0 and 1; got 1.0"),
        ([0.5], 0.15, TypeError, "queries must be a list of positions"),
    ],
)
def test_what_cannot_be_split_is_refused_in_one_line(queries, share, error, words):
    with pytest.raises(error, match=words.replace(".", r"\.")) as caught:
        drawn(queries=queries, share=share)
    assert "\n" not in str(caught.value)
