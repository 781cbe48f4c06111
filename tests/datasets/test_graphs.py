"""The eight undirected graphs: their source files, the published table, and how it is printed."""

from __future__ import annotations

import csv
import gzip
import hashlib
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import p0sim as p0
from p0sim.cli import exploring  # noqa: F401 (its commands join the application)
from p0sim.cli.app import app
from p0sim.datasets import sources
from tests.oracles.refusals import refusal

FOLDER = Path(p0.__file__).parent / "datasets"
# Table 2 of De and Chakrabarti, arXiv 1908.04849 version 1, as printed there.
TABLE_2 = {
    "usair": (332, 2126, "12.81", "0.396", "6"),
    "celegans": (297, 2148, "14.46", "0.181", "5"),
    "yeast": (2375, 11693, "9.85", "0.469", "15"),
    "facebook": (4039, 88234, "43.69", "0.519", "8"),
    "ns": (1589, 2742, "3.45", "0.693", "inf"),
    "pb": (1222, 16714, "27.36", "0.226", "8"),
    "power": (4941, 6594, "2.67", "0.103", "46"),
    "ecoli": (1805, 14660, "16.24", "0.289", "7"),
}


def told(*arguments):
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.exception or done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def described():
    return p0.describe_graphs().set_index("name")


def test_every_graph_of_the_table_is_here_and_no_other():
    undirected = {name for name, entry in sources().items() if not entry["directed"]}
    files = {path.name.removesuffix(".csv.gz") for path in FOLDER.glob("*.csv.gz")}
    assert undirected == files == set(TABLE_2)
    assert sum(path.stat().st_size for path in FOLDER.glob("*.csv.gz")) < 600_000


@pytest.mark.parametrize("name", TABLE_2)
def test_the_table_is_reproduced_digit_by_digit(name, described):
    n, edges, degree, clustering, diameter = TABLE_2[name]
    row = described.loc[name]
    assert (row["V"], row["E"]) == (n, edges)
    assert f"{row['average_degree']:.2f}" == degree
    assert f"{row['clustering']:.3f}" == clustering
    assert f"{row['diameter']:.0f}" == diameter


def test_the_command_prints_the_table_of_the_paper_digit_by_digit():
    lines = told("datasets").splitlines()
    head = next(k for k, line in enumerate(lines) if "2E/V" in line)
    rows = [line.split()[:6] for line in lines[head + 1 : head + 9]]
    printed = {
        name: (int(n), int(edges), f"{float(degree):.2f}", f"{float(share):.3f}", diameter)
        for name, n, edges, degree, share, diameter in rows
    }
    assert printed == TABLE_2


def test_the_command_prints_the_table_to_four_digits(network_data):
    """Oracle: what was measured when the data folder was made."""
    listed = tomllib.loads((network_data / "datasets.toml").read_text("utf-8"))["dataset"]
    measured = {entry["name"]: entry for entry in listed if entry["set"] == "A"}
    lines = told("datasets").splitlines()
    head = next(k for k, line in enumerate(lines) if "2E/V" in line)
    assert lines[head].split() == ["name", "V", "E", "2E/V", "clustering", "diameter", "title"]
    rows = {line.split()[0]: line.split()[1:6] for line in lines[head + 1 : head + 9]}
    assert set(rows) == set(measured) == set(TABLE_2)
    for name, (n, edges, degree, clustering, diameter) in rows.items():
        there = measured[name]["measured"]
        assert (int(n), int(edges)) == (there["nodes"], measured[name]["edges"])
        assert (degree, clustering) == (
            f"{there['avg_degree']:.4f}", f"{there['transitivity']:.4f}",
        )  # fmt: skip
        assert diameter == f"{measured[name]['table2']['diameter']}"
    assert max(map(len, lines)) <= 100


def test_a_graph_is_described_with_citation_and_licence():
    shown = " ".join(told("datasets", "facebook").split())
    assert "licence not stated" in shown
    assert "McAuley, J. and Leskovec, J. (2012)" in shown


@pytest.mark.parametrize("name", TABLE_2)
def test_a_file_is_the_one_that_its_source_entry_describes(name):
    entry, graph = sources()[name], p0.load_graph(name)
    content = (FOLDER / entry["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert entry["citation"]
    assert "github.com/muhanzhang/SEAL" in entry["source"]
    assert (graph.n, graph.n_edges, 2 * graph.n_edges) == (
        entry["n"], entry["edges"], entry["arcs"],
    )  # fmt: skip
    assert graph.nodes == tuple(str(k) for k in range(1, entry["n"] + 1))
    assert graph.source is None


@pytest.mark.parametrize("name", TABLE_2)
def test_a_graph_equals_the_file_it_was_made_from(name, network_data):
    """Oracle: the data folder, whose nodes count from 0, its licence and its commit."""
    (path,) = network_data.glob(f"{name}.csv*")
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    expected = {(int(i), int(j)) for i, j, _ in list(csv.reader(text.splitlines()))[1:]}
    ends = np.array(p0.load_graph(name).adjacency.nonzero())
    assert {(int(i), int(j)) for i, j in ends.T if i < j} == expected
    listed = tomllib.loads((network_data / "datasets.toml").read_text("utf-8"))["dataset"]
    (there,) = (entry for entry in listed if entry["name"] == name)
    assert sources()[name]["licence"] == there["licence"]
    assert f"{there['source_path']} at {there['source_commit']}" in sources()[name]["source"]


def test_a_graph_is_a_network_with_each_edge_both_ways():
    network, graph = p0.load_network("pb"), p0.load_graph("pb")
    assert (network.q, network.nodes, network.source) == (2, graph.nodes, None)
    np.testing.assert_array_equal(network.toarray(), graph.adjacency.toarray())


def test_other_names_are_refused_with_the_nearest():
    assert "did you mean 'facebook'?" in refusal(lambda: p0.load_graph("facebok"), "graph must be")
    refusal(lambda: p0.load_graph("lazega"), "graph must be one of usair")
