"""Scores of one's own and node vectors in studies of recommendations."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from p0sim.errors import InvalidParametersError, InvalidPrivacyError, InvalidStudyError
from p0sim.experiments.link_prediction import LinkPrediction
from p0sim.experiments.score_sources import (
    ProtocolSection,
    find_score,
    find_scores,
    require_score,
)
from p0sim.linkpred.embeddings import embedding_protocol, node2vec
from p0sim.linkpred.graphs import as_graph
from p0sim.linkpred.scores import BUILT_IN, score
from p0sim.replicate import Cell, Streams
from p0sim.studies.study import Study, extend_study
from tests.oracles.refusals import refusal

refused = partial(refusal, error=InvalidStudyError)
GRAPH = as_graph(nx.barbell_graph(8, 0))
OWN = """
import numpy as np

def capped_degree(graph, queries):
    return np.tile(np.minimum(graph.degree, 5).astype(float), (len(queries), 1))
"""
CODE = {"score": "own.py:capped_degree"}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    vectors = rng(3).normal(size=(16, 3)).round(3)
    lines = [f"{label} {' '.join(map(str, row))}" for label, row in zip(GRAPH.nodes, vectors)]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def found(folder, **keys):
    return find_scores({"mine": ProtocolSection(**keys)}, folder)["mine"]


def test_a_function_of_ones_own_has_the_sensitivity_that_was_declared(folder):
    own = found(folder, **CODE, sensitivity=1.0, one_direction=True)
    protocol = own.on(GRAPH, rng())
    assert (protocol.name, protocol.sensitivity, protocol.one_direction) == ("mine", 1.0, True)
    np.testing.assert_array_equal(score(protocol, GRAPH, [3])[0], np.minimum(GRAPH.degree, 5))


def test_vectors_from_a_file_are_trained_on_the_graph_that_is_given(folder):
    """Oracle: the public function, on vectors read by numpy."""
    pytest.importorskip("sklearn")
    own = found(folder, vectors="vectors.txt")
    assert own.protocol.sensitivity is None
    expected = embedding_protocol(np.loadtxt(folder / "vectors.txt")[:, 1:], GRAPH, rng=rng())
    np.testing.assert_array_equal(
        score(own.on(GRAPH, rng()), GRAPH, [0, 9]), score(expected, GRAPH, [0, 9])
    )


def test_node2vec_sees_the_training_graph_alone(folder):
    pytest.importorskip("gensim")
    pytest.importorskip("sklearn")
    own = found(folder, node2vec={"dimension": 4, "walks": 2, "length": 10})
    draws = rng()
    vectors = node2vec(GRAPH, 4, walks=2, length=10, rng=draws)
    expected = embedding_protocol(vectors, GRAPH, rng=draws)
    np.testing.assert_array_equal(
        score(own.on(GRAPH, rng()), GRAPH, [0]), score(expected, GRAPH, [0])
    )


def test_vectors_have_no_score_before_there_is_a_training_graph(folder):
    own = found(folder, vectors="vectors.txt")
    refusal(lambda: score(own.protocol, GRAPH, [0]), "trained", error=InvalidParametersError)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "one of score, vectors and node2vec"),
        ({**CODE, "vectors": "v"}, "one of score, vectors and node2vec"),
        ({"vectors": "v", "sensitivity": 1.0}, "must not have sensitivity"),
        ({"node2vec": {}, "one_direction": True}, "must not have sensitivity"),
        ({**CODE, "sensitivity": 0.0}, "sensitivity must be greater than 0"),
        ({**CODE, "sensitivty": 1.0}, "unknown key 'protocols.mine.sensitivty'"),
        ({"node2vec": {"dimension": 0}}, "dimension must be greater than or equal to 1"),
        ({"score": "own.py:capped"}, "did you mean 'capped_degree'?"),
        ({"score": "nowhere.py:f"}, "nowhere.py cannot be read"),
        ({"vectors": "nowhere.txt"}, "file must be readable"),
    ],
)
def test_tables_that_break_a_rule_are_refused_in_one_line(folder, keys, words):
    sections = {"model": {"protocols": {"mine": keys}}, "methods": {"m": {"mechanism": "none"}}}
    refused(lambda: LinkPrediction.from_sections(sections, ("dataset", "protocol"), folder), words)


def test_names_are_those_of_no_other_score_and_unknown_ones_are_told_the_nearest(folder):
    taken = {"AA": ProtocolSection(**CODE)}
    refused(lambda: find_scores(taken, folder), "a name that no built-in score has")
    own = {"mine": found(folder, **CODE)}
    refused(lambda: find_score("mina", own), "did you mean 'mine'?")
    assert find_score("JC", own).protocol is BUILT_IN["JC"]


def study(folder, protocols, methods):
    sections = {"model": {"protocols": protocols, "draws": 2}, "methods": methods}
    return LinkPrediction.from_sections(sections, ("dataset", "protocol", "epsilon"), folder)


def cell(protocol):
    factors = {"dataset": "usair", "protocol": protocol, "epsilon": 2.0}
    return Cell("c", factors, {name: str(value) for name, value in factors.items()})


def test_a_declared_sensitivity_sets_the_noise_of_a_study(folder):
    """k = 10, two ways: the realised loss is at most what is claimed, and near it."""
    made = study(folder, {"mine": {**CODE, "sensitivity": 1.0}}, {"m": {}})
    made.require(cell("mine"))
    streams = Streams(seed=1, own_key=(1, 2, 3, 4), shared_key=(5, 6, 7, 8), rep=1)
    outcome = made.prepare(cell("mine"))(streams)["m"]()
    values = {row["estimand"]: row["estimate"] for row in outcome.estimates}
    assert values["realised_epsilon_worst"] == pytest.approx(2.0)
    assert values["map"] > 0


def test_a_score_without_a_sensitivity_has_no_private_lists(folder):
    made = study(folder, {"mine": CODE, "n2v": {"node2vec": {}}}, {"m": {}})
    for name in ("mine", "n2v"):
        with pytest.raises(InvalidPrivacyError, match=f"sensitivity must be given for {name}"):
            made.require(cell(name))


WRONG = """
import numpy as np

def of_a_shape(graph, queries):
    return np.zeros(3)

def missing(graph, queries):
    return np.full((len(queries), graph.n), np.nan)

def negative(graph, queries):
    return -np.ones((len(queries), graph.n))

def broken(graph, queries):
    raise ZeroDivisionError("by hand")
"""


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"score": "wrong.py:of_a_shape"}, "must have shape (2, 332); got (3,)"),
        ({"score": "wrong.py:missing"}, "finite and not negative; got nan"),
        ({"score": "wrong.py:negative"}, "finite and not negative; got -1.0"),
        ({"score": "wrong.py:broken"}, "wrong.py, line 14, cannot be run: ZeroDivisionError"),
        ({"vectors": "vectors.txt"}, "node must be in the graph; got '0'"),
    ],
)
def test_what_is_no_score_is_refused_before_anything_runs(folder, keys, words):
    pytest.importorskip("sklearn")
    (folder / "wrong.py").write_text(WRONG)
    made = study(folder, {"mine": keys}, {"m": {"mechanism": "none"}})
    refused(lambda: made.require(cell("mine")), words)
    made = study(folder, {"mine": keys}, {"m": {"mechanism": "uniform"}})
    made.require(cell("mine"))
    streams = Streams(seed=1, own_key=(1, 2, 3, 4), shared_key=(5, 6, 7, 8), rep=1)
    assert made.prepare(cell("mine"))(streams)["m"]().status == "ok"


@pytest.mark.parametrize("gone", ["gensim", "sklearn"])
def test_a_package_that_is_not_installed_is_missed_before_anything_runs(folder, gone, monkeypatch):
    pytest.importorskip("gensim")
    pytest.importorskip("sklearn")
    made = study(folder, {"mine": {"node2vec": {}}}, {"m": {"mechanism": "none"}})
    made.require(cell("mine"))
    require_score.cache_clear()
    monkeypatch.setitem(sys.modules, gone, None)
    refused(lambda: made.require(cell("mine")), "pip install 'p0sim[embeddings]'")


def test_scores_of_ones_own_do_not_change_the_splits_of_others(folder):
    plain, more = study(folder, {}, {"m": {}}), study(folder, {"mine": CODE}, {"m": {}})
    assert plain.content(cell("AA")) == more.content(cell("AA"))
    assert plain.identity() != more.identity()
    assert more.sources == {"own.py": OWN}


TOML = """
[study]
name = "own"
experiment = "link_prediction"
seed = 1
reps = 2
[factors.text]
dataset = ["usair"]
protocol = ["AA", "mine"]
[model]
draws = 1
[model.protocols.mine]
score = "own.py:capped_degree"
[methods.nonprivate]
mechanism = "none"
"""


@pytest.mark.slow
def test_a_study_with_a_function_of_ones_own_runs_in_processes_and_is_extended_without_its_file(
    folder,
):
    (folder / "own.toml").write_text(TOML)
    made = Study.from_toml(folder / "own.toml")
    made.run(folder / "results", n_jobs=2, progress=False)
    (folder / "own.py").unlink()
    longer = extend_study(folder / "results", 3, n_jobs=1, progress=False)
    assert set(longer.replicates["status"]) == {"ok"}
    assert len(longer.replicates) == 6
