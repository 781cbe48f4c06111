"""Studies on latent space graphs: what a list loses, and how it changes with n and epsilon."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from p0sim.engine.streams import stream_keys
from p0sim.errors import InvalidStudyError, P0SimError
from p0sim.experiments.latent_space import LatentSpace
from p0sim.linkpred.calibration import calibrate
from p0sim.linkpred.latent_space import draw_latent_graph, loss_bound, ranking_loss
from p0sim.linkpred.mechanisms import rank
from p0sim.linkpred.query import Query
from p0sim.linkpred.scores import score
from p0sim.replicate import Cell, Streams

FACTORS = ("n", "epsilon")


def experiment(methods=None, factors=FACTORS, **model):
    sections = {"model": model, "methods": methods or {}}
    return LatentSpace.from_sections(sections, factors, Path())


def cell(n=100, epsilon=1.0, **others):
    factors = {"n": n, "epsilon": epsilon, **others}
    return Cell("c", factors, {name: str(value) for name, value in factors.items()})


def streams(rep=1):
    return Streams(seed=5, own_key=(1, 2, 3, 4), shared_key=(5, 6, 7, 8), rep=rep)


def run(study, in_cell, rep=1):
    outcomes = {name: fit() for name, fit in study.prepare(in_cell)(streams(rep)).items()}
    assert {outcome.status for outcome in outcomes.values()} == {"ok"}
    return {
        name: {row["estimand"]: row["estimate"] for row in outcome.estimates}
        for name, outcome in outcomes.items()
    }


def mean(study, in_cell, estimand, reps=8):
    rows = [run(study, in_cell, rep) for rep in range(1, reps + 1)]
    return {name: np.mean([row[name][estimand] for row in rows]) for name in study.methods}


def test_a_replicate_is_the_public_functions_in_a_row():
    found = run(experiment({"only": {}}, queries=3, draws=2), cell())["only"]
    again = streams()
    space, rng = draw_latent_graph(100, 0.25, rng=again.network), again.other("only")
    rows, losses, bounds, gammas = score("CN", space.graph, [0, 1, 2]), [], [], []
    for u in range(3):
        others = space.graph.candidates(u)
        law = calibrate("dplp", 1.0, Query(10, len(others), "CN", int(space.graph.degree[u])))
        scores, far = rows[u, others], space.distances(u, others)
        lists = rank(scores, 10, "dplp", law.parameter, rng=rng, sensitivity=1.0, draws=2)
        losses.append(ranking_loss(far[lists]).mean())
        bounds.append(loss_bound(far[lists], np.sort(far)[:10]).mean())
        gammas.append(np.sort(scores)[-10:].sum() - scores[lists].sum(axis=1).mean())
    assert found["loss"] == pytest.approx(np.mean(losses), rel=1e-12)
    assert found["loss_bound"] == pytest.approx(np.mean(bounds), rel=1e-12)
    assert found["gamma"] == pytest.approx(np.mean(gammas), rel=1e-12)
    assert found["gamma_per_node"] == pytest.approx(np.mean(gammas) / 100, rel=1e-12)


def test_lists_without_noise_lose_no_score_and_all_losses_lie_below_their_bound():
    found = run(experiment(), cell())
    assert found["nonprivate"]["gamma"] == 0
    assert all(row["loss"] <= row["loss_bound"] for row in found.values())


def test_loss_and_gamma_fall_as_epsilon_grows():
    """Differences are many times their spread: losses 0.25, 0.08 and 0.02 at these epsilons."""
    study = experiment({"private": {}})
    for estimand in ("loss", "gamma"):
        values = [mean(study, cell(epsilon=e), estimand)["private"] for e in (1.0, 10.0, 100.0)]
        assert values == sorted(values, reverse=True)
        assert values[2] < values[0] / 3


def test_at_fixed_epsilon_the_private_loss_stays_while_that_without_noise_falls():
    """The claim that it vanishes as the graph grows does not hold at a fixed sigma."""
    study = experiment()
    small, large = (mean(study, cell(n=n), "loss") for n in (100, 800))
    assert large["private"] > 0.9 * small["private"]
    assert large["nonprivate"] < 0.7 * small["nonprivate"]
    gammas = [mean(study, cell(n=n), "gamma_per_node")["private"] for n in (100, 800)]
    assert all(0.4 < gamma < 0.65 for gamma in gammas)


def test_graphs_are_shared_across_all_but_n():
    study = experiment()
    one, other = (stream_keys(cell(epsilon=e), study) for e in (1.0, 2.0))
    assert one.shared == other.shared
    assert one.own != other.own
    assert stream_keys(cell(n=50), study).shared != one.shared


def test_a_query_joined_to_everybody_has_no_list():
    study = experiment()
    outcomes = [fit() for fit in study.prepare(Cell("c", {"n": 5, "epsilon": 1.0}, {}))(streams())
                .values()]  # fmt: skip
    assert {outcome.status for outcome in outcomes} <= {"ok", "no_estimate"}
    everybody = experiment(radius=9.0).prepare(cell(n=5))(streams())["private"]()
    assert everybody.reason == "no query has a candidate"


@pytest.mark.parametrize(
    ("factors", "model", "words"),
    [
        (("epsilon",), {}, "[factors] must have n"),
        (("n",), {}, "[factors] must have epsilon"),
        ((*FACTORS, "dataset"), {}, "[factors] has an unknown key 'dataset'"),
        (FACTORS, {"radius": 0.0}, "[model] radius must"),
        (FACTORS, {"dimension": 0}, "[model] dimension must"),
    ],
)
def test_a_study_that_cannot_be_is_refused_in_one_line(factors, model, words):
    with pytest.raises(InvalidStudyError) as caught:
        experiment(None, factors, **model)
    assert words in str(caught.value)


@pytest.mark.parametrize(("changed", "words"), [({"n": 1}, "n must"), ({"k": 0}, "k must")])
def test_a_cell_that_cannot_run_is_refused(changed, words):
    with pytest.raises(P0SimError, match=words):
        experiment(factors=(*FACTORS, "k")).require(cell(**changed))
