"""Node vectors: the law of the walks, one seed one answer, the graph given and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

import networkx as nx
import numpy as np
import pytest
from scipy import stats

import p0sim as p0
from p0sim.linkpred import embeddings
from p0sim.linkpred.embeddings import embedding_protocol, node2vec
from p0sim.linkpred.graphs import as_graph
from p0sim.linkpred.random_walks import biased_walks
from p0sim.linkpred.scores import score
from p0sim.linkpred.vector_files import read_vectors
from tests.oracles.refusals import refusal


def rng(seed=1):
    return np.random.default_rng(seed)


# from 0 to 1: back to 0 is 1/p, to 2 (joined to 0) 1, to 3 and 4 (not joined to 0) 1/q each
KITE = nx.Graph([(0, 1), (0, 2), (1, 2), (1, 3), (1, 4)])


def third_nodes(p, q, n_walks=4000):
    walked = biased_walks(as_graph(KITE), n_walks, 3, p, q, rng=rng(4))
    here = walked[(walked[:, 0] == 0) & (walked[:, 1] == 1)]
    return np.bincount(here[:, 2], minlength=5)[[0, 2, 3, 4]]


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0), (4.0, 0.5), (2.0, 1.0)])
def test_walks_follow_the_second_order_law(p, q):
    """Chi-square, false-alarm rate 1e-6 each; the control is the law with p and q exchanged."""
    counts = third_nodes(p, q)
    weight = np.array([1 / p, 1, 1 / q, 1 / q])
    expected = counts.sum() * weight / weight.sum()
    assert stats.chisquare(counts, expected).pvalue > 1e-6
    if p != q:
        other = np.array([1 / q, 1, 1 / p, 1 / p])
        assert stats.chisquare(counts, counts.sum() * other / other.sum()).pvalue < 1e-6


def test_walks_go_along_edges_and_stop_at_isolated_nodes():
    drawn = nx.gnp_random_graph(30, 0.06, seed=1)
    graph = as_graph(drawn)
    walked = biased_walks(graph, 3, 9, 0.5, 2.0, rng=rng())
    assert walked.shape == (90, 9)
    assert np.bincount(walked[:, 0]).tolist() == [3] * 30
    alone = graph.degree[walked[:, 0]] == 0
    assert alone.any()
    assert (walked[alone, 1:] == -1).all()
    for walk in walked[~alone]:
        assert all(drawn.has_edge(i, j) for i, j in zip(walk[:-1].tolist(), walk[1:].tolist()))


@pytest.mark.parametrize("argument", ["walks", "length", "p", "q"])
def test_walks_need_positive_numbers(argument):
    given = {"walks": 1, "length": 2, "p": 1, "q": 1, argument: 0}
    refusal(lambda: biased_walks(as_graph(KITE), **given, rng=rng()), f"{argument} must")


def write(tmp_path, text):
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_vectors_are_read_in_the_order_of_the_graph(header, tmp_path):
    graph = as_graph(nx.path_graph(3))
    path = write(tmp_path, header + "2 1e-3 4\n0 1 2\n\n1 -3 0.5\n")
    np.testing.assert_array_equal(read_vectors(path, graph), [[1, 2], [-3, 0.5], [1e-3, 4]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 1\n1 2\n", "got none of 2 in"),
        ("0 1\n1 2\n2 3\n0 4\n", "got another of 0 in line 4"),
        ("0 1\n1 2 2\n2 3\n", "in line 2"),
        ("0 1\n1 nan\n2 3\n", "in line 2"),
        ("0 1\n1 x\n2 3\n", "in line 2"),
        ("0 1\n1\n2 3\n", "in line 2"),
        ("0 1\n1 2\n2 3\n7 4\n", "got '7'"),
        ("", "got none of 0 in"),
        ("4 2\n0 1 5\n1 2 5\n2 3 5\n", "must hold 4 vectors, as its first line says; got 3"),
        ("3 2\n0 1 5\n0 2 5\n2 3 5\n", "got another of 0 in line 3"),
        ("3 2\n0 1 5\n1 2\n2 3 5\n", "must be 2 finite numbers"),
        ("0,1,5\n1,2,5\n2,3,5\n", "separated by blanks; got commas in line 1"),
    ],
)
def test_broken_vector_files_are_refused_with_their_line(text, words, tmp_path):
    path = write(tmp_path, text)
    refusal(lambda: read_vectors(path, as_graph(nx.path_graph(3))), words)


def test_a_missing_package_is_said_with_the_way_to_get_it(monkeypatch):
    graph = as_graph(KITE)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    ways = {
        "gensim": lambda: node2vec(graph, rng=rng()),
        "scikit-learn": lambda: embedding_protocol(np.eye(5), graph, rng=rng()),
    }
    for package, call in ways.items():
        message = refusal(call, f"needs {package}")
        assert "pip install 'p0sim[embeddings]'" in message


def test_drawn_pairs_are_uniform_among_those_without_an_edge():
    """Chi-square over ordered pairs, false-alarm rate 1e-6.

    The control draws a first node uniformly, which favours pairs of nodes with few free ones.
    """
    drawn = nx.Graph([(0, 1), (0, 2), (0, 3), (1, 2), (4, 5)])
    free = list(nx.complement(drawn).to_directed().edges)
    u, v = embeddings._free_pairs(as_graph(drawn, list("012345")), 6000, rng())
    counts = np.array([((u == i) & (v == j)).sum() for i, j in free])
    assert counts.sum() == 6000
    assert stats.chisquare(counts).pvalue > 1e-6
    by_node = np.array([1 / 6 / (5 - drawn.degree[i]) for i, _ in free])
    assert stats.chisquare(counts, 6000 * by_node).pvalue < 1e-6


def test_vectors_of_two_groups_separate_them():
    pytest.importorskip("sklearn")
    drawn = nx.disjoint_union(nx.complete_graph(10), nx.complete_graph(10))
    vectors = np.repeat([[1.0, 0.2], [-1.0, 0.2]], 10, axis=0)
    protocol = embedding_protocol(vectors, as_graph(drawn), rng=rng())
    assert protocol.sensitivity is None
    rows = score(protocol, as_graph(drawn), [0, 15])
    assert rows[0, :10].min() > 0.5 > rows[0, 10:].max()
    assert rows[1, 10:].min() > 0.5 > rows[1, :10].max()


def test_chances_are_those_of_the_regression_itself():
    """Oracle: scikit-learn's predict_proba of the same features."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    graph = p0.load_graph("celegans")
    vectors = rng(2).normal(size=(graph.n, 5))
    protocol = embedding_protocol(vectors, graph, rng=rng(3))
    again = rng(3)
    ends, joined = embeddings._training_pairs(graph, again)
    model = linear_model.LogisticRegression(
        solver="liblinear", random_state=int(again.integers(2**31 - 1))
    )
    model.fit(vectors[ends[0]] * vectors[ends[1]], joined)
    expected = model.predict_proba(vectors[7] * vectors)[:, 1]
    np.testing.assert_allclose(score(protocol, graph, [7])[0], expected, rtol=1e-12)


def test_vectors_of_another_shape_are_refused():
    graph = as_graph(KITE)
    for vectors in (np.eye(4), np.ones(5), np.ones((5, 0))):
        refusal(partial(embedding_protocol, vectors, graph, rng=rng()), "shape")
    refusal(lambda: embedding_protocol(np.full((5, 2), np.nan), graph, rng=rng()), "finite")
    for drawn in (nx.empty_graph(5), nx.complete_graph(5)):
        empty = as_graph(drawn)
        refusal(partial(embedding_protocol, np.eye(5), empty, rng=rng()), "an edge")


def test_node2vec_gives_one_answer_a_seed():
    pytest.importorskip("gensim")
    graph = as_graph(nx.karate_club_graph())
    one, same, other = (node2vec(graph, length=20, rng=rng(seed)) for seed in (1, 1, 2))
    assert one.shape == (34, 5)
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


@pytest.mark.slow
def test_node2vec_does_not_depend_on_the_hash_seed_of_the_process():
    pytest.importorskip("gensim")
    code = (
        "import numpy as np, p0sim as p0; from p0sim.linkpred.embeddings import node2vec;"
        "v = node2vec(p0.as_graph(np.ones((6, 6)) - np.eye(6)), rng=np.random.default_rng(1));"
        "print(v.tobytes().hex())"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(shown) == 1


def test_node2vec_brings_neighbours_near():
    """Two cliques joined by one edge: pairs inside score above pairs across on average."""
    pytest.importorskip("gensim")
    pytest.importorskip("sklearn")
    graph = as_graph(nx.barbell_graph(12, 0))
    draws = rng(6)
    protocol = embedding_protocol(node2vec(graph, epochs=5, rng=draws), graph, rng=draws)
    rows = score(protocol, graph, np.arange(24))
    inside = np.kron(np.eye(2), np.ones((12, 12))).astype(bool)
    assert rows[inside].mean() > rows[~inside].mean() + 0.2
