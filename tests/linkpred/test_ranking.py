"""Recommendations: what is drawn, what is said, what is spent and what is refused."""

from __future__ import annotations

import inspect
import math
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import p0sim as p0
from p0sim.errors import InvalidNetworkError, InvalidParametersError, InvalidPrivacyError
from p0sim.linkpred import secure_ranking
from p0sim.linkpred.ranking import query_of, recommend
from p0sim.linkpred.scores import Protocol
from p0sim.privacy.ledger import read_ledger

HUGE = "1000000000"


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def star_with_paths() -> nx.Graph:
    """Query q joined to a, b, c, d; candidates share 3, 2, 1 and 0 of them; far ends hang on."""
    graph = nx.Graph([("q", v) for v in "abcd"])
    graph.add_edges_from([("three", v) for v in "abc"] + [("two", v) for v in "ab"])
    graph.add_edges_from([("one", "d"), ("far", "one")])
    return graph


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "friends.csv"
    rows = [f"{a},{b}" for a, b in star_with_paths().edges]
    path.write_text("source,target\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("secure", [True, False])
@pytest.mark.parametrize("mechanism", ["dplp", "laplace", "gaussian", "exponential"])
def test_at_a_huge_epsilon_the_list_is_the_top_k_by_score_in_order(mechanism, secure):
    found = recommend(
        star_with_paths(), "q", 4, "CN", mechanism, HUGE,
        delta=1e-6 if mechanism == "gaussian" else None, rng=None if secure else rng(),
    )  # fmt: skip
    assert found.nodes == ("three", "two", "one", "far")


def test_the_true_list_is_for_studies_only():
    found = recommend(star_with_paths(), "q", 4, "CN", "none", rng=rng())
    assert found.nodes == ("three", "two", "one", "far")
    assert found.statement.startswith("Not private: no noise.")
    with pytest.raises(InvalidPrivacyError, match=r"rng must be given.*not private: no noise"):
        recommend(star_with_paths(), "q", 4, "CN", "none")


def test_both_epsilons_are_told():
    found = recommend(star_with_paths(), "q", 2, "CN", epsilon="0.1", calibration="paper")
    assert found.epsilon_claimed == 0.1
    sigma = 0.1 / (4 * math.log(2))
    assert found.law.parameter == pytest.approx(sigma)
    assert 0 < found.epsilon_realised < 0.2925 * 0.1
    exact = recommend(star_with_paths(), "q", 2, "CN", epsilon="0.1", calibration="exact")
    assert exact.epsilon_realised == pytest.approx(0.1, abs=1e-10)


def test_all_three_bounds_are_told_and_which_one_was_used():
    """By hand: sigma = 0.1/(2 k log 2) for the paper's, which sharp has at k sigma log 1.5."""
    found = recommend(star_with_paths(), "q", 2, "CN", epsilon="0.1", calibration="paper")
    assert found.bounds["paper"] == pytest.approx(0.1)
    assert found.bounds["sharp"] == pytest.approx(0.1 * math.log(1.5) / math.log(4))
    assert found.bounds["exact"] == found.epsilon_realised < found.bounds["sharp"]
    assert "calibration paper; at most" in found.statement
    assert (
        "Epsilon of these draws as each calibration has it: "
        f"paper 0.1, sharp 0.02925, exact {found.epsilon_realised:.4g}." in found.statement
    )
    assert list(recommend(star_with_paths(), "q", 2, "AA").bounds) == ["paper", "sharp"]
    assert not recommend(star_with_paths(), "q", 2, "AA", "laplace").bounds


def test_the_statement_says_what_is_protected_and_what_is_not():
    said = recommend(star_with_paths(), "q", 2, epsilon="1/3").statement
    for words in (
        "epsilon = 1/3 for one edge that is not at q",
        "dplp with AA, calibration sharp",
        "is realised",
        "Not covered: edges at q itself",
        "a node\nwith all its edges",
        "epsilons add\nup",
        "Drawn exactly, from the operating system's randomness.",
    ):
        assert words in said
    assert max(map(len, said.splitlines())) <= 100


def test_a_seeded_list_says_that_it_is_a_simulation_and_one_in_floats_how_far_it_goes():
    seeded = recommend(star_with_paths(), "q", 2, rng=rng())
    assert "A simulation" in seeded.statement
    assert recommend(star_with_paths(), "q", 2, rng=rng()).nodes == seeded.nodes
    noisy = recommend(star_with_paths(), "q", 2, mechanism="laplace")
    assert "floating point: epsilon is not warranted" in noisy.statement


def test_a_declared_sensitivity_is_said_to_be_declared():
    own = Protocol("own", lambda graph, queries: np.ones((len(queries), graph.n)), 2.0)
    said = recommend(star_with_paths(), "q", 2, own).statement
    assert "The sensitivity of own is declared, not proved." in said


def test_a_sensitivity_set_by_hand_is_for_studies_and_marked():
    given = {"protocol": "katz", "sensitivity": 0.0001}
    found = recommend(star_with_paths(), "q", 2, **given, rng=rng())
    assert found.statement.startswith("Not private: sensitivity set to 0.0001 by hand.")
    assert found.epsilon_realised == math.inf
    with pytest.raises(InvalidPrivacyError, match="rng must be given"):
        recommend(star_with_paths(), "q", 2, **given)


def test_with_a_sensitivity_by_hand_the_statement_tells_what_is_realised():
    """By hand, for AA: sigma from the false D, each draw at most (1 + D_true/(1 + D))^sigma."""
    wrong, k = 0.0001, 2
    sigma = 1 / (k * math.log((2 * wrong + 1) / (wrong + 1)))
    realised = k * sigma * math.log(1 + (1 / math.log(2)) / (1 + wrong))
    found = recommend(star_with_paths(), "q", k, "AA", sensitivity=wrong, rng=rng())
    assert found.epsilon_realised == pytest.approx(realised)
    assert not found.bounds
    assert f"these draws realise epsilon = {realised:.6g}," in found.statement
    assert "each calibration" not in found.statement
    unknown = recommend(star_with_paths(), "q", k, "katz", sensitivity=wrong, rng=rng())
    assert "no bound on the epsilon of these draws" in unknown.statement
    assert "declared" not in unknown.statement


def test_a_mechanism_without_a_choice_of_calibration_records_and_says_none(file):
    graph = p0.read_graph(file)
    noisy = recommend(graph, "q", 2, mechanism="laplace")
    assert "calibration" not in noisy.statement
    recommend(graph, "q", 2)
    entries = read_ledger(file.with_name("friends.csv.ledger")).entries
    assert [entry.get("calibration") for entry in entries] == [None, "sharp"]
    with pytest.raises(InvalidPrivacyError, match="calibration must be left out for laplace"):
        recommend(graph, "q", 2, mechanism="laplace", calibration="paper")


def test_a_list_that_no_ledger_holds_says_so(tmp_path, file):
    assert "Nothing was recorded" in recommend(star_with_paths(), "q", 2).statement
    for kept in (
        recommend(star_with_paths(), "q", 2, ledger=tmp_path / "mine"),
        recommend(p0.read_graph(file), "q", 2),
        recommend(star_with_paths(), "q", 2, rng=rng()),
    ):
        assert "Nothing was recorded" not in kept.statement


def test_a_node_that_is_joined_to_all_others_has_no_candidates():
    with pytest.raises(InvalidParametersError, match=r"node must have a candidate.*all 3 others"):
        recommend(nx.star_graph(3), "0", 1)


def test_what_a_list_costs_stands_in_the_ledger_beside_the_file(file):
    graph = p0.read_graph(file)
    recommend(graph, "q", 2, epsilon="0.2", budget="1")
    recommend(graph, "q", 2, mechanism="gaussian", epsilon="1/2", delta=1e-6)
    ledger = read_ledger(file.with_name("friends.csv.ledger"))
    assert ledger.spent == Fraction(7, 10)
    assert [entry["mechanism"] for entry in ledger.entries] == [
        "recommend_dplp", "recommend_gaussian",
    ]  # fmt: skip
    assert ledger.entries[1]["delta"] == 1e-6
    with pytest.raises(InvalidPrivacyError, match=r"epsilon must be at most 0.3"):
        recommend(graph, "q", 2, epsilon="0.4")


def test_a_simulation_spends_nothing(file):
    recommend(p0.read_graph(file), "q", 2, rng=rng())
    assert not file.with_name("friends.csv.ledger").exists()
    with pytest.raises(InvalidPrivacyError, match="must be left out of a simulation"):
        recommend(p0.read_graph(file), "q", 2, rng=rng(), budget="1")


def test_the_entry_stands_before_anything_is_drawn(file, monkeypatch):
    def interrupted(_: int) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(secure_ranking.secrets, "randbelow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recommend(p0.read_graph(file), "q", 2, epsilon="0.5")
    assert read_ledger(file.with_name("friends.csv.ledger")).spent == Fraction(1, 2)


def test_a_graph_from_memory_may_name_a_ledger_and_needs_one_for_a_budget(tmp_path, file):
    recommend(star_with_paths(), "q", 2, epsilon="0.5", ledger=tmp_path / "mine")
    assert read_ledger(tmp_path / "mine").spent == Fraction(1, 2)
    with pytest.raises(InvalidPrivacyError, match="budget must go with a ledger"):
        recommend(star_with_paths(), "q", 2, budget="1")
    with pytest.raises(InvalidPrivacyError, match=r"ledger must be .*beside the graph's file"):
        recommend(p0.read_graph(file), "q", 2, ledger=tmp_path / "mine")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"k": 5}, InvalidParametersError, "k must be at most 4, the number of candidates; got 5"),
        ({"u": "nobody"}, InvalidNetworkError, "node must be in the graph; got 'nobody'"),
        ({"epsilon": 0.5}, TypeError, "epsilon must be exact"),
        ({"epsilon": True}, TypeError, "epsilon must be text such as"),
        ({"k": 2.0}, TypeError, "k must be a whole number; got 2.0"),
        ({"k": True}, TypeError, "k must be a whole number; got True"),
        ({"k": "2"}, TypeError, "k must be a whole number; got '2'"),
        ({"mechanism": "gaussian", "delta": "x"}, TypeError, "delta must be a number; got 'x'"),
        ({"sensitivity": "1"}, TypeError, "sensitivity must be a number; got '1'"),
        ({"epsilon": "0"}, InvalidPrivacyError, "epsilon must be positive and finite; got 0"),
        ({"protocol": "AAA"}, InvalidParametersError, "protocol must be one of"),
        ({"calibration": "exact"}, InvalidPrivacyError, "calibration exact must go with"),
        ({"protocol": "katz"}, InvalidPrivacyError, "sensitivity must be given for katz"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_spent(file, change, error, words):
    given = {"u": "q", "k": 2, **change}
    with pytest.raises(error, match=words):
        recommend(p0.read_graph(file), **given)
    assert not file.with_name("friends.csv.ledger").exists()


def test_nobody_is_recommended_who_is_joined_already_and_isolated_nodes_may_be():
    graph = star_with_paths()
    graph.add_nodes_from(["lone", "alone"])
    found = recommend(graph, "q", 6, "JC", epsilon="0.01")
    assert set(found.nodes) == {"three", "two", "one", "far", "lone", "alone"}
    assert recommend(graph, "lone", 9, epsilon="0.01").epsilon_realised == 0


def test_the_query_says_what_is_public():
    graph = p0.as_graph(star_with_paths())
    asked = query_of(graph, graph.position("q"), 2, "AA")
    assert (asked.m, asked.degree, asked.ways) == (4, 4, 1)


def test_the_secure_modules_have_no_seeded_randomness():
    """Case 27; the control is the study path."""
    assert ".random" not in inspect.getsource(secure_ranking)
    from p0sim.linkpred import mechanisms

    assert ".random" in inspect.getsource(mechanisms)
