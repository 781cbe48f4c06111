"""Methods with flipped edges beside methods with noisy degrees: the same networks, own draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import p0sim as p0
from p0sim.errors import InvalidStudyError
from p0sim.experiments.private_p0 import PrivateP0
from p0sim.replicate import Cell, Streams
from tests.oracles import edge_flip as oracle

FACTORS = ("n", "q", "L", "epsilon")
OTHERS = {"plain": {"release": False}, "noisy": {}, "paper": {"margins": "drop_last"}}
FLIPPED = {"flipped": {"mechanism": "edge_flip"}}
TERMS = ["alpha[1]-alpha[2]", "alpha[1]", "beta[n-1]"]
# laws that are drawn by thresholds, by the quantile, and by thrown points
LAWS = [(20, 3, 0.5), (20, 70, 0.02), (150, 3, -9.0)]


def experiment(methods, sources=None, **sections):
    sections.setdefault("estimands", {"contrasts": TERMS})
    return PrivateP0.from_sections(
        {"methods": methods, **sections}, FACTORS, Path(), "private_p0", sources
    )


def cell(n=20, q=3, L=0.5, epsilon=3.0):
    factors = {"n": n, "q": q, "L": L, "epsilon": epsilon}
    return Cell("c", factors, {name: str(value) for name, value in factors.items()})


def streams(rep=1):
    return Streams(seed=5, own_key=(1, 2, 3, 4), shared_key=(5, 6, 7, 8), rep=rep)


def run(study, in_cell, rep=1):
    return {name: fit() for name, fit in study.prepare(in_cell)(streams(rep)).items()}


def same(one, other) -> bool:
    return (one.out_degree == other.out_degree).all() and (one.in_degree == other.in_degree).all()


@pytest.mark.parametrize("variance", ["noise", "S", "exact"])
def test_a_replicate_is_the_public_functions_in_a_row(variance):
    """Oracle: the adjacency of the network's stream, flipped by that of the flips, and fit()."""
    study = experiment({"flipped": {"mechanism": "edge_flip", "variance": variance}})
    outcome = run(study, cell())["flipped"]
    model, again = p0.linear_design(20, 0.5, 3), streams()
    network = p0.Network(model.sample(rng=again.network), 3)
    fit = p0.fit(p0.simulate_edge_flip(network, 3.0, rng=again.flips))
    expected = fit.contrast(["alpha[1]-alpha[2]", "alpha[1]", "beta[19]"], variance=variance)
    for column in ("estimate", "std_error", "lower", "upper"):
        got = [row[column] for row in outcome.estimates]
        np.testing.assert_allclose(got, expected[column], rtol=1e-9)


@pytest.mark.parametrize(("n", "q", "L"), LAWS)
def test_a_flip_method_changes_no_other_methods_data(n, q, L):
    """The network and the noise are the same bits with flips and without."""
    here = cell(n, q, L)
    alone = experiment(OTHERS).in_cell(here).data_sets(streams())
    together = experiment({**FLIPPED, **OTHERS}).in_cell(here).data_sets(streams())
    only = experiment(FLIPPED).in_cell(here).data_sets(streams())
    assert same(alone["plain"], together["plain"])
    assert same(alone["laplace"], together["laplace"])
    assert same(only["edge_flip"], together["edge_flip"])
    assert "edge_flip" not in alone


def test_a_flip_method_changes_no_other_methods_rows():
    alone, together = run(experiment(OTHERS), cell()), run(experiment(FLIPPED | OTHERS), cell())
    for name in OTHERS:
        assert repr(alone[name]) == repr(together[name])


@pytest.mark.parametrize(("n", "q", "L"), LAWS)
def test_flips_are_of_the_network_whose_degrees_the_others_see(n, q, L):
    """At epsilon = 1e4 no weight is replaced: the flipped degrees are the network's."""
    study = experiment({"plain": {"release": False}, **FLIPPED})
    data = study.in_cell(cell(n, q, L, epsilon=1e4)).data_sets(streams())
    assert same(data["plain"], data["edge_flip"])
    assert data["plain"].out_degree.sum() > 0


def test_methods_of_one_mechanism_see_the_same_flips():
    methods = {**FLIPPED, "again": {"mechanism": "edge_flip", "variance": "S"}}
    outcomes = run(experiment(methods), cell())
    one, other = (outcomes[name].estimates for name in methods)
    assert [row["estimate"] for row in one] == [row["estimate"] for row in other]
    assert [row["std_error"] for row in one] != [row["std_error"] for row in other]


def test_flips_and_noise_draw_from_streams_of_their_own():
    first = {streams().noise.random(), streams().flips.random(), streams().other("x").random()}
    assert len(first) == 3
    own = Streams(seed=5, own_key=(9, 9, 9, 9), shared_key=(5, 6, 7, 8), rep=1)
    assert own.flips.random() not in first
    assert own.network.random() == streams().network.random()


def test_predicted_coverage_is_the_share_of_the_networks_own_variance():
    """At L = 0 all v_ii are v, and o = (n-1)(rho v_1 + (1-rho)(q^2-1)/12) with v_1 = (q^2-1)/12:
    2 Phi(1.96 rho) - 1 for the variance that ignores flips."""
    methods = {**FLIPPED, "ignored": {"mechanism": "edge_flip", "variance": "S"}}
    study = experiment(methods, estimands={"contrasts": TERMS[:1]})
    predicted = {m: c for m, _, c in study.predicted(cell(n=100, q=3, L=0.0, epsilon=2.0))}
    expected = 2 * stats.norm.cdf(stats.norm.ppf(0.975) * oracle.keep(2.0, 3)) - 1
    assert predicted["ignored"] == pytest.approx(expected, rel=1e-12)
    assert predicted["flipped"] == pytest.approx(0.95, rel=1e-12)


def test_a_replicate_without_estimate_is_a_row_with_its_reason():
    outcomes = [run(experiment(FLIPPED), cell(L=2.0, epsilon=0.3), rep) for rep in range(1, 6)]
    failed = [o["flipped"] for o in outcomes if o["flipped"].status == "no_estimate"]
    assert failed
    assert all(outcome.reason and not outcome.estimates for outcome in failed)


def test_the_default_mechanism_leaves_the_identity_as_it_was():
    """A tripwire: results written before there was a choice stay those of their study."""
    said = {"noisy": {"mechanism": "laplace"}}
    assert experiment(said).identity() == experiment({"noisy": {}}).identity()
    assert "mechanism" not in experiment({"noisy": {}}).identity()["methods"]["noisy"]
    identity = experiment(FLIPPED).identity()["methods"]["flipped"]
    assert identity["mechanism"] == "edge_flip"
    assert experiment(FLIPPED).content(cell()) == experiment(OTHERS).content(cell())


def test_a_method_of_ones_own_sees_flipped_degrees():
    looks = """
import p0sim as p0


def looks(data, rng):
    raise p0.NoEstimateError(f"{type(data).__name__} {data.mechanism} {data.out_degree.sum()}")
"""
    mine = {"mine": {"call": "mine.py:looks", "mechanism": "edge_flip"}}
    study = experiment(mine, {"mine.py": looks})
    flips = study.in_cell(cell()).data_sets(streams())["edge_flip"]
    expected = f"FlippedBiDegree edge_flip {flips.out_degree.sum()}"
    assert run(study, cell())["mine"].reason == expected


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ({"mechanism": "flip"}, "[methods.x] mechanism must be 'laplace' or 'edge_flip'"),
        ({"mechanism": "edge_flip", "release": False}, "must not stand beside release = false"),
        ({"mechanisms": "edge_flip"}, "did you mean 'mechanism'"),
    ],
)
def test_a_mechanism_that_cannot_be_is_refused_in_one_line(method, words):
    with pytest.raises(InvalidStudyError) as caught:
        experiment({"x": method})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_flips_need_epsilon_among_the_factors():
    with pytest.raises(InvalidStudyError, match="must have epsilon"):
        PrivateP0.from_sections({"methods": FLIPPED}, ("n", "q", "L"), Path())
