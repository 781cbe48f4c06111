"""Graphs of one's own in studies of recommendations."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import p0sim as p0
from p0sim.errors import InvalidStudyError, StudyMismatchError
from p0sim.experiments.graph_sources import GraphSection, find_graphs, graph_source
from p0sim.studies.study import Study
from tests.oracles.refusals import refusal

refused = partial(refusal, error=InvalidStudyError)
DRAWN = nx.powerlaw_cluster_graph(60, 4, 0.5, seed=1)


def edges(separator: str = ",") -> str:
    rows = [f"p{a}{separator}p{b}" for a, b in DRAWN.edges]
    return "\n".join([f"source{separator}target", *rows]) + "\n"


def section(**keys) -> dict[str, GraphSection]:
    return {"friends": GraphSection(**{"file": "friends.csv", **keys})}


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "friends.csv").write_text(edges())
    return tmp_path


def test_a_file_beside_the_study_is_its_graph(folder):
    """Oracle: networkx's edges, and its count of triangles."""
    graph, queries = find_graphs(section(), folder)["friends"].material
    there = np.array(graph.adjacency.nonzero()).T
    assert {(graph.nodes[i], graph.nodes[j]) for i, j in there} == {
        (f"p{a}", f"p{b}") for pair in DRAWN.edges for a, b in (pair, pair[::-1])
    }
    in_triangles = {f"p{node}" for node, count in nx.triangles(DRAWN).items() if count}
    assert {graph.nodes[k] for k in queries} == in_triangles


def test_nodes_without_edges_and_arcs_come_on_request(folder):
    (folder / "nodes.txt").write_text("".join(f"p{k}\n" for k in range(70)))
    a, b = next(iter(DRAWN.edges))
    (folder / "friends.csv").write_text(f"{edges()}p{b},p{a}\n")
    given = section(nodes="nodes.txt", symmetrise=True)
    graph, _ = find_graphs(given, folder)["friends"].material
    assert (graph.n, graph.n_edges) == (70, DRAWN.number_of_edges())


def test_an_embedded_graph_needs_no_table():
    graph, queries = graph_source("celegans", {}).material
    assert (graph.n, len(queries)) == (297, 278)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"file": "nowhere.csv"}, "file must be readable"),
        ({"nodes": "nowhere.txt"}, "file must be readable"),
        ({"file": "arcs.csv"}, "graph must be undirected"),
    ],
)
def test_files_that_break_a_rule_are_refused_with_the_name_of_the_table(folder, change, words):
    (folder / "arcs.csv").write_text("source,target\na,b\nb,a\nb,c\n")
    refused(lambda: find_graphs(section(**change), folder), "[model.graphs.friends]", words)


def test_names_are_those_of_no_other_graph_and_unknown_ones_are_told_the_nearest(folder):
    taken = {"usair": GraphSection(file="friends.csv")}
    refused(lambda: find_graphs(taken, folder), "a name that no embedded graph has")
    own = find_graphs(section(), folder)
    refused(lambda: graph_source("freinds", own), "did you mean 'friends'?")


STUDY = """
[study]
name = "own"
experiment = "link_prediction"
seed = 1
reps = 2
[factors]
epsilon = [1]
[factors.text]
dataset = ["friends"]
protocol = ["CN"]
[model.graphs.friends]
file = "friends.csv"
[methods.private]
"""


def test_a_study_runs_on_a_file_and_another_content_is_another_study(folder):
    toml = folder / "own.toml"
    toml.write_text(STUDY)
    results = Study.from_toml(toml).run(folder / "results", n_jobs=1, progress=False)
    assert set(results.replicates["status"]) == {"ok"}
    again = p0.open_study(folder / "results").estimates
    assert set(again["estimand"]) >= {"map", "map_reference", "queries_used"}
    (folder / "friends.csv").write_text(edges() + "p0,p59\n")
    changed = Study.from_toml(toml)
    with pytest.raises(StudyMismatchError, match="friends has changed"):
        changed.run(folder / "results", n_jobs=1, progress=False)


def test_a_gzip_file_of_the_same_rows_is_the_same_study(folder):
    (folder / "friends.csv.gz").write_bytes(gzip.compress(edges().encode()))
    digests = {
        find_graphs(section(file=name), folder)["friends"].digest
        for name in ("friends.csv", "friends.csv.gz")
    }
    assert len(digests) == 1
