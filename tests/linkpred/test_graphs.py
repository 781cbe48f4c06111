"""Undirected graphs from every way in: the same graph, and directed ones never by accident."""

from __future__ import annotations

import gzip
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import p0sim as p0
from p0sim.linkpred.graph_facts import average_degree, clustering, diameter
from p0sim.linkpred.graphs import Graph, as_graph, read_graph
from tests.oracles.refusals import refusal

ROWS = [("a", "b"), ("c", "b"), ("c", "d")]
ARCS = [*ROWS, ("b", "a")]
DENSE = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])


def text(rows, header="source,target"):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.fixture
def write(tmp_path):
    def written(content, name="graph.csv"):
        path = tmp_path / name
        data = content.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return written


def graphml(rows, edgedefault):
    graph = (nx.DiGraph if edgedefault == "directed" else nx.Graph)(rows)
    return "".join(nx.generate_graphml(graph))


def every_way_in(write):
    frame = pd.DataFrame(ROWS, columns=["source", "target"])
    labels = list("abcd")
    yield as_graph(DENSE, labels)
    yield as_graph(DENSE.tolist(), labels)
    yield as_graph(DENSE.astype(bool), labels)
    yield as_graph(2.0 * DENSE, labels)
    yield as_graph(sparse.csr_array(DENSE), labels)
    yield as_graph(sparse.coo_matrix(DENSE), labels)
    yield as_graph(frame)
    yield as_graph(pd.DataFrame(DENSE, labels, labels))
    yield as_graph(nx.Graph(ROWS), labels)
    yield as_graph(nx.DiGraph(ROWS), labels, symmetrise=True)
    yield as_graph(np.triu(DENSE), labels, symmetrise=True)
    yield as_graph(p0.Network(DENSE, 2, labels))
    yield read_graph(write(text(ROWS)))
    yield read_graph(write(text(ROWS), "graph.csv.gz"))
    yield read_graph(write(text([*ROWS, *(row[::-1] for row in ROWS)])))
    yield read_graph(write(text([(*row, 3) for row in ROWS], "source,target,weight")))
    yield read_graph(write(text([(*r, 1) for r in ROWS] + [("a", "d", 0)], "source,target,weight")))
    yield read_graph(write(graphml(ROWS, "undirected"), "g.graphml"), labels)
    yield read_graph(write(graphml(ROWS, "directed"), "g.graphml"), labels, symmetrise=True)


def test_every_way_in_gives_the_same_graph(write):
    for graph in every_way_in(write):
        assert graph.nodes == tuple("abcd")
        np.testing.assert_array_equal(graph.adjacency.toarray(), DENSE)
        assert graph.adjacency.dtype == np.int8
        assert graph.degree.tolist() == [1, 2, 2, 1]
        assert (graph.n, graph.n_edges) == (4, 3)


def test_neighbours_and_candidates_are_those_of_networkx():
    drawn = nx.gnp_random_graph(40, 0.15, seed=3)
    graph = as_graph(drawn)
    for u in range(40):
        assert graph.neighbours(u).tolist() == sorted(drawn[u])
        assert graph.candidates(u).tolist() == sorted(nx.non_neighbors(drawn, u))


DIRECTED = {
    "array": lambda write: as_graph(np.triu(DENSE)),
    "weights": lambda write: as_graph([[0, 1], [2, 0]]),
    "sparse": lambda write: as_graph(sparse.csr_array(np.tril(DENSE))),
    "networkx": lambda write: as_graph(nx.DiGraph(ROWS)),
    "network": lambda write: as_graph(p0.load_network("lazega")),
    "frame": lambda write: as_graph(pd.DataFrame(ARCS, columns=["source", "target"])),
    "file": lambda write: read_graph(write(text(ARCS))),
    "graphml": lambda write: read_graph(write(graphml(ROWS, "directed"), "g.graphml")),
    "class": lambda write: Graph(np.triu(DENSE)),
}


@pytest.mark.parametrize("kind", DIRECTED)
def test_a_directed_graph_is_refused_unless_it_is_to_be_symmetrised(kind, write):
    """Case row 50: no silent out-neighbours."""
    refusal(lambda: DIRECTED[kind](write), "undirected")


def test_a_directed_file_is_refused_with_its_row_and_joined_on_request(write):
    """Case row 50: the arc without the same back stands in row 3."""
    path = write(text([("a", "b"), ("b", "c"), ("b", "a")]))
    message = refusal(lambda: read_graph(path), "undirected")
    assert "from b to c in row 3 of" in message
    assert read_graph(path, symmetrise=True).degree.tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    "make",
    [
        lambda write: read_graph(write(text([(0, 1), (1, 1)]))),
        lambda write: as_graph(pd.DataFrame({"source": [0, 1], "target": [1, 1]})),
        lambda write: as_graph(nx.Graph([(0, 1), (1, 1)])),
        lambda write: as_graph([[0, 1], [1, 1]], ["0", "1"]),
        lambda write: Graph([[0, 1], [1, 1]], ["0", "1"]),
        lambda write: read_graph(write(text([(0, 1), (1, 1)])), symmetrise=True),
    ],
)
def test_a_self_loop_is_refused(make, write):
    """Case row 47."""
    assert "from 1 to itself" in refusal(lambda: make(write), "self-loop")


def test_a_self_loop_is_refused_with_its_row(write):
    message = refusal(lambda: read_graph(write(text([(0, 1), (1, 1)]))), "self-loop")
    assert "in row 3 of" in message


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("a", "b", 1), ("a", "b", 1)], "each edge must stand once"),
        ([("a", "b", -1)], "weight of an edge must be at least 0; got '-1' in row 2"),
        ([("a", "b", 0.5)], "whole number"),
        ([("a", "b", "x")], "whole number"),
    ],
)
def test_a_broken_edge_is_refused(rows, words, write):
    path = write(text(rows, "source,target,weight"))
    assert words in refusal(lambda: read_graph(path), "must")


def test_other_input_is_refused():
    refusal(lambda: as_graph([[0, 1, 1]]), "square")
    refusal(lambda: as_graph(DENSE, ["a", "b"]), "nodes")
    refusal(lambda: as_graph(nx.MultiGraph(ROWS)), "MultiGraph")
    refusal(lambda: as_graph(nx.Graph(ROWS), ["a", "b"]), "node list")
    assert "mean" not in refusal(lambda: as_graph(DENSE).position("9"), "got '9'")
    named = as_graph(DENSE, ["ann", "bob", "cleo", "dan"])
    refusal(lambda: named.position("cloe"), "did you mean 'cleo'")
    with pytest.raises(TypeError, match="read_graph"):
        as_graph("graph.csv")


def test_nodes_without_edges_are_kept_and_small_graphs_are_graphs(write):
    graph = read_graph(write(text(ROWS)), nodes=["z", "d", "c", "b", "a"])
    assert graph.degree.tolist() == [0, 1, 2, 2, 1]
    assert as_graph(np.zeros((2, 2))).n_edges == 0
    assert read_graph(write("source,target\n"), nodes=["a", "b"]).n == 2
    refusal(lambda: read_graph(write("source,target\n")), "nodes be given")


def test_a_graph_survives_pickling():
    copy = pickle.loads(pickle.dumps(as_graph(DENSE)))
    np.testing.assert_array_equal(copy.adjacency.toarray(), DENSE)


@pytest.mark.parametrize("seed", range(6))
def test_the_facts_are_those_of_networkx(seed):
    drawn = nx.gnp_random_graph(70, [0.02, 0.05, 0.1, 0.3, 0.9, 1.0][seed], seed=seed)
    graph = as_graph(drawn)
    expected = nx.diameter(drawn) if nx.is_connected(drawn) else np.inf
    assert diameter(graph) == expected
    assert clustering(graph) == pytest.approx(nx.transitivity(drawn), abs=1e-12)
    assert average_degree(graph) == pytest.approx(np.mean([d for _, d in drawn.degree]))
