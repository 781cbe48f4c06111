"""The networks inside the package: what their sources say, and the files they were made from."""

from __future__ import annotations

import csv
import hashlib
import tomllib
from pathlib import Path

import numpy as np
import pytest

import p0sim as p0
from p0sim.datasets import sources
from tests.oracles import tables

FOLDER = Path(p0.__file__).parent / "datasets"
# embedded name -> file in the data folder, what its ratings lose
ORIGINS = {
    "fraternity": ("bk_fraternity_recall", 1),
    "eies": ("eies_acquaintance_t2", 0),
    "lazega": ("lazega_multiplex", 0),
}


def test_every_network_of_the_list_is_here_and_no_other():
    directed = {name for name, entry in sources().items() if entry["directed"]}
    assert directed == set(ORIGINS) == {path.stem for path in FOLDER.glob("*.csv")}


@pytest.mark.parametrize("name", ORIGINS)
def test_a_file_is_the_one_that_its_source_entry_describes(name):
    entry = sources()[name]
    content = (FOLDER / entry["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert entry["citation"]
    assert "github.com/" in entry["source"]
    network = p0.load_network(name)
    assert (network.n, network.q, network.weights.nnz) == (entry["n"], entry["q"], entry["arcs"])
    assert network.nodes == tuple(str(k) for k in range(1, entry["n"] + 1))


@pytest.mark.parametrize("name", ORIGINS)
def test_a_network_equals_the_file_it_was_made_from(name, network_data):
    """Oracle: the data folder, whose nodes count from 0."""
    stem, less = ORIGINS[name]
    weights = np.zeros_like(p0.load_network(name).toarray())
    with (network_data / f"{stem}.csv").open() as file:
        for i, j, weight in list(csv.reader(file))[1:]:
            weights[int(i), int(j)] = int(weight) - less
    np.testing.assert_array_equal(p0.load_network(name).toarray(), weights)


@pytest.mark.parametrize("name", ORIGINS)
def test_sizes_and_licence_are_those_of_the_data_folder(name, network_data):
    stem, less = ORIGINS[name]
    listed = tomllib.loads((network_data / "datasets.toml").read_text("utf-8"))["dataset"]
    (there,) = (entry for entry in listed if entry["name"] == stem)
    here = sources()[name]
    assert (here["n"], here["q"]) == (there["n"], there["q"] - less)
    assert here["licence"] == there["licence"]
    assert there["source_commit"] in here["source"]
    assert there["source_path"].split(" ")[0] in here["source"]


def test_eies_is_the_network_that_vgam_fitted():
    """Oracle: the copy of the table beside the VGAM estimates, and those estimates, to 1e-6."""
    network = p0.load_network("eies")
    np.testing.assert_array_equal(network.toarray(), tables.adjacency("eies_acquaintance_t2", 32))
    expected = tables.table("vgam_eies_t2_q5")
    fit = p0.fit(network.bidegree())
    np.testing.assert_allclose(fit.params, expected["estimate"], rtol=0, atol=1e-6)
    errors = np.sqrt(np.diag(fit.cov_params(variance="exact")))
    np.testing.assert_allclose(errors, expected["std_error"], rtol=0, atol=1e-6)


def test_lazega_sums_three_relations():
    """892 advice, 575 friendship and 1104 co-work arcs, as published: 2571 in all, 3 at most."""
    network = p0.load_network("lazega")
    assert network.bidegree().out_degree.sum() == 892 + 575 + 1104
    assert network.weights.max() == 3


@pytest.mark.parametrize("name", ORIGINS)
def test_the_nodes_are_public_and_no_file_of_the_package_is_the_source(name):
    """So that a release of it needs a ledger named, and writes none into the package."""
    for record in (p0.load_network(name), p0.load_network(name).bidegree()):
        assert (record.nodes_given, record.source, record.clipped) == (True, None, False)


@pytest.mark.parametrize("name", ORIGINS)
def test_an_estimate_exists(name):
    assert p0.existence(p0.load_network(name).bidegree()).exists


def test_the_description_has_a_row_for_each_network():
    frame = p0.describe_networks()
    assert list(frame) == ["name", "title", "n", "q", "arcs", "weight", "citation"]
    assert list(frame["name"]) == list(ORIGINS)
    assert list(frame["arcs"]) == [p0.load_network(name).weights.nnz for name in frame["name"]]
    assert frame.map(lambda cell: bool(cell) and "\n" not in str(cell)).all(axis=None)
