"""Studies of recommendations: one split, lists by every method, and what they cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from p0sim.datasets import load_graph
from p0sim.engine.design import build_cells, read_study_file
from p0sim.engine.streams import stream_keys
from p0sim.errors import InvalidPrivacyError, InvalidStudyError, P0SimError
from p0sim.experiments.link_prediction import LinkPrediction
from p0sim.experiments.registry import load_experiment
from p0sim.linkpred.calibration import calibrate
from p0sim.linkpred.evaluation import map_reference, map_standard
from p0sim.linkpred.mechanisms import rank
from p0sim.linkpred.query import Query
from p0sim.linkpred.splits import candidate_scores, query_nodes, split
from p0sim.replicate import Cell, Streams

FACTORS = ("dataset", "protocol", "mechanism", "calibration", "epsilon", "k")
SIMULATIONS = Path(__file__).parents[2] / "simulations"


def experiment(methods=None, factors=FACTORS, **model):
    sections = {"model": model, "methods": methods or {}}
    return LinkPrediction.from_sections(sections, factors, Path())


def cell(**changed):
    factors = {
        "dataset": "usair", "protocol": "AA", "mechanism": "dplp", "calibration": "sharp",
        "epsilon": 1.0, "k": 10, **changed,
    }  # fmt: skip
    return Cell("c", factors, {name: str(value) for name, value in factors.items()})


def run(study, in_cell, rep=1):
    streams = Streams(seed=5, own_key=(1, 2, 3, 4), shared_key=(5, 6, 7, 8), rep=rep)
    outcomes = {name: fit() for name, fit in study.prepare(in_cell)(streams).items()}
    assert {outcome.status for outcome in outcomes.values()} == {"ok"}
    return {
        name: {row["estimand"]: row["estimate"] for row in outcome.estimates}
        for name, outcome in outcomes.items()
    }


def test_a_replicate_is_the_public_functions_in_a_row():
    found = run(experiment({"only": {}}, draws=3), cell(k=4))["only"]
    streams = Streams(seed=5, own_key=(1, 2, 3, 4), shared_key=(5, 6, 7, 8), rep=1)
    graph = load_graph("usair")
    held = split(graph, query_nodes(graph), rng=streams.network)
    scores, rng = candidate_scores("AA", held), streams.other("only")
    hits, losses = np.zeros((3, len(held.queries), 4), dtype=bool), []
    for k in np.flatnonzero(held.n_relevant):
        pairs = held.pairs(k)
        m, degree = len(held.candidates[pairs]), int(held.training.degree[held.queries[k]])
        law = calibrate("dplp", 1.0, Query(4, m, "AA", degree))
        lists = rank(scores[pairs], 4, "dplp", law.parameter, rng=rng,
                     sensitivity=law.sensitivity, draws=3)  # fmt: skip
        hits[:, k] = held.relevant[pairs][lists]
        losses.append(law.epsilon_realised)
    assert found == {
        "map": map_standard(hits, held.n_relevant).mean(),
        "map_reference": map_reference(hits).mean(),
        "queries_used": len(losses),
        "queries_left_out": (held.n_relevant == 0).sum(),
        "realised_epsilon_worst": max(losses),
        "realised_epsilon_median": np.median(losses),
    }


def test_only_the_dataset_makes_another_split():
    study = experiment()
    shared = stream_keys(cell(), study).shared
    others = [
        cell(protocol="CN"), cell(mechanism="laplace"), cell(epsilon=2.0), cell(k=3),
        cell(calibration="paper"),
    ]  # fmt: skip
    assert {stream_keys(other, study).shared for other in others} == {shared}
    assert len({stream_keys(other, study).own for other in [cell(), *others]}) == 6
    assert stream_keys(cell(dataset="yeast"), study).shared != shared


def test_a_huge_epsilon_gives_the_lists_without_noise():
    found = run(experiment(), cell(epsilon=1e7))
    assert found["private"]["map"] == pytest.approx(found["nonprivate"]["map"], abs=0.005)
    assert found["uniform"]["map"] < found["nonprivate"]["map"] / 3


def expected_uniform(in_rep):
    """Mean over queries of the expected average precision of a uniform order, by places."""
    streams = Streams(seed=5, own_key=(1, 2, 3, 4), shared_key=(5, 6, 7, 8), rep=in_rep)
    graph = load_graph("usair")
    held = split(graph, query_nodes(graph), rng=streams.network)
    used = held.n_relevant > 0
    m, relevant = np.diff(held.starts)[used], held.n_relevant[used]
    place = np.arange(1, 11)[:, np.newaxis]
    precision = relevant / m * (1 + (place - 1) * (relevant - 1) / (m - 1)) / place
    return (precision.sum(axis=0) / np.minimum(10, relevant)).mean()


def test_uniform_lists_have_the_expected_precision_and_so_nearly_has_the_papers_sigma():
    """A t test over 20 splits, a false alarm in 10 000; lists without noise must fail it."""
    study = experiment({
        "uniform": {"mechanism": "uniform"},
        "paper": {"calibration": "paper"},
        "nonprivate": {"mechanism": "none"},
    })  # fmt: skip
    reps = range(1, 21)
    rows = [run(study, cell(epsilon=0.1), rep) for rep in reps]
    truth = np.array([expected_uniform(rep) for rep in reps])
    values = {name: np.array([row[name]["map"] for row in rows]) for name in study.methods}
    assert stats.ttest_1samp(values["uniform"] - truth, 0).pvalue > 1e-4
    assert stats.ttest_1samp(values["nonprivate"] - truth, 0).pvalue < 1e-4
    assert values["paper"].mean() == pytest.approx(truth.mean(), rel=0.1)


@pytest.mark.parametrize("mechanism", ["dplp", "laplace", "gaussian", "exponential"])
@pytest.mark.parametrize("protocol", ["CN", "AA", "JC"])
def test_what_is_realised_never_exceeds_what_is_claimed(mechanism, protocol):
    found = run(experiment({"m": {}}, draws=1), cell(mechanism=mechanism, protocol=protocol))["m"]
    assert 0 < found["realised_epsilon_median"] <= found["realised_epsilon_worst"] <= 1 + 1e-9


def test_a_sensitivity_by_hand_realises_far_more_than_it_claims():
    published = {"sensitivity": 0.0001, "calibration": "paper", "label": "Published, not private"}
    found = run(experiment({"published": published, "honest": {}}, draws=1), cell())
    assert found["published"]["realised_epsilon_worst"] > 100
    assert found["honest"]["realised_epsilon_worst"] <= 1
    assert found["published"]["map"] > found["honest"]["map"]


def test_exact_gives_common_neighbours_more_signal_at_the_same_epsilon():
    methods = {name: {"calibration": name} for name in ("paper", "sharp", "exact")}
    found = run(experiment(methods, draws=5), cell(protocol="CN"))
    maps = [found[name]["map"] for name in methods]
    assert maps == sorted(maps)
    assert found["exact"]["realised_epsilon_worst"] == pytest.approx(1, abs=1e-6)


def test_lists_without_noise_claim_no_privacy():
    found = run(experiment(), cell())
    assert "realised_epsilon_worst" not in found["nonprivate"]
    assert found["uniform"]["realised_epsilon_worst"] == 0


@pytest.mark.parametrize(
    ("methods", "factors", "model", "words"),
    [
        ({}, ("dataset", "epsilon"), {}, "[factors] must have protocol"),
        ({}, ("dataset", "protocol"), {}, "[factors] must have epsilon"),
        ({}, (*FACTORS, "n"), {}, "[factors] has an unknown key 'n'"),
        ({"m": {"mechanism": "dlpl"}}, FACTORS, {}, "[methods.m] mechanism must be"),
        ({"m": {}}, FACTORS, {"sensitivity": 0.1}, "[methods.m] label must say 'not private'"),
        ({"m": {"sensitivity": 0.1}}, FACTORS, {}, "[methods.m] label must say 'not private'"),
        ({"m": {"mechanism": "laplace", "calibration": "exact"}}, FACTORS, {}, "be left out for"),
        ({"m": {"mechanism": "uniform", "calibration": "sharp"}}, FACTORS, {}, "be left out for"),
        ({}, FACTORS, {"draws": 0}, "[model] draws must be"),
        ({}, FACTORS, {"shares": 0.2}, "did you mean 'share'?"),
    ],
)
def test_a_study_that_cannot_be_is_refused_in_one_line(methods, factors, model, words):
    with pytest.raises(InvalidStudyError) as caught:
        experiment(methods, factors, **model)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"dataset": "usiar"}, "usair"),
        ({"protocol": "AB"}, "protocol must be one of"),
        ({"mechanism": "dlpl"}, "did you mean 'dplp'?"),
        ({"calibration": "exact"}, "calibration exact must go with"),
        ({"protocol": "katz"}, "sensitivity must be given for katz"),
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"k": 0}, "k must be at least 1"),
        ({"k": 2.5}, "k must hold whole numbers; got 2.5"),
    ],
)
def test_a_cell_that_cannot_run_is_refused_in_one_line(changed, words):
    with pytest.raises(P0SimError) as caught:
        experiment().require(cell(**changed))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cells_calibration_is_for_those_that_have_a_choice_of_one():
    study = experiment({"noise": {"mechanism": "laplace"}, "drawn": {}})
    in_cell = cell(protocol="CN", calibration="exact")
    study.require(in_cell)
    laws = {name: rule.law(20, 5) for name, rule in study.rules(in_cell).items()}
    assert {name: law.calibration for name, law in laws.items()} == {"noise": "", "drawn": "exact"}


def test_a_list_longer_than_all_candidates_is_one_of_all():
    """No query of usair has 60 candidates: k beyond is the same study, number for number."""
    study = experiment({"m": {}}, draws=1)
    study.require(cell(protocol="CN", k=10**9, calibration="exact"))
    assert run(study, cell(k=60))["m"] == run(study, cell(k=10**9))["m"]
    assert run(study, cell(k=60))["m"] != run(study, cell(k=40))["m"]


def test_a_score_without_a_proved_bound_runs_without_noise():
    study = experiment({"nonprivate": {"mechanism": "none"}})
    study.require(cell(protocol="katz"))
    assert run(study, cell(protocol="katz"))["nonprivate"]["map"] > 0.3
    with pytest.raises(InvalidPrivacyError):
        experiment({"private": {}}).require(cell(protocol="katz"))


def test_a_score_without_a_proved_bound_has_no_realised_epsilon():
    by_hand = {"sensitivity": 0.1, "label": "Sensitivity by hand, not private"}
    found = run(experiment({"m": by_hand}, draws=1), cell(protocol="katz"))["m"]
    assert list(found) == ["map", "map_reference", "queries_used", "queries_left_out"]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("link_prediction", 24),
        ("link_prediction_epsilon", 144),
        ("link_prediction_yeast", 72),
        ("latent_space", 20),
    ],
)
def test_the_studies_of_the_package_are_valid(name, cells):
    file = read_study_file(SIMULATIONS / f"{name}.toml")
    study = load_experiment(file.study.experiment, file.sections, file.factors, SIMULATIONS)
    built = build_cells(file, study)
    assert len(built) == cells
    for each in built:
        study.require(each)
        assert study.cost(each) > 0
