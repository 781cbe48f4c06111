"""From a fit to its figures: the numbers are those of the fit."""

from __future__ import annotations

import numpy as np
import pytest

import p0sim as p0
from p0sim.studies.fit_plots import degree_frame, parameter_frame
from tests.oracles import examples


@pytest.fixture(scope="module")
def noisy() -> p0.P0Results:
    return p0.fit(examples.noisy_degrees(30, 3, 4.0, seed=4), q=3, epsilon=4.0)


@pytest.fixture(scope="module")
def extended() -> p0.P0Results:
    """Node 1 sends nothing and the last node receives nothing."""
    rng = np.random.default_rng(4)
    weights = examples.network(np.full(10, -0.3), np.zeros(10), 3, rng)
    weights[0] = weights[:, 9] = 0
    return p0.fit(p0.bidegree(weights, q=3), boundary="extend")


def test_a_balanced_fit_stands_beside_the_identity_by_the_shared_excess(noisy):
    frame, degrees = degree_frame(noisy), noisy.moments.degrees
    excess = (degrees.out_degree.sum() - degrees.in_degree.sum()) / 60
    gap = (frame["released"] - frame["fitted"]).to_numpy()
    np.testing.assert_allclose(gap, np.repeat([excess, -excess], 30), atol=1e-6)
    assert not frame["forced"].any()


def test_flipped_degrees_are_shown_without_their_bias():
    y = p0.simulate_edge_flip(p0.load_network("eies"), 3, rng=np.random.default_rng(1))
    frame = degree_frame(p0.fit(y))
    np.testing.assert_allclose(frame["released"], frame["fitted"], atol=1e-6)


def test_all_2n_parameters_have_a_row_and_the_reference_no_interval(noisy):
    frame = parameter_frame(noisy, 0.9, "S")
    theta = frame["estimate"].to_numpy()
    np.testing.assert_array_equal(theta[:-1], noisy.theta)
    assert theta[-1] == 0
    expected = noisy.conf_int(0.9, "S").to_numpy()
    np.testing.assert_array_equal(frame[["lower", "upper"]].to_numpy()[:-1], expected)
    assert frame["lower"].isna().to_numpy().nonzero()[0].tolist() == [59]


def test_infinite_parameters_are_marked_in_both_figures(extended):
    frame = degree_frame(extended)
    assert frame[frame["forced"]][["side", "node"]].to_numpy().tolist() == [
        ["out", "1"], ["in", "10"],
    ]  # fmt: skip
    titles = [axis.get_title() for axis in p0.plot_intervals(extended).axes]
    assert titles[0].splitlines()[1] == "1 at −∞"
    assert titles[1].splitlines()[1] == "β of 9 is 0 by convention; 1 at −∞"
    assert p0.plot_degrees(extended).legends[0].get_texts()[-1].get_text() == "infinite parameter"


def test_titles_say_what_was_fitted(noisy):
    assert p0.plot_degrees(noisy).get_suptitle() == "n = 30, q = 3, ε = 4"
    ridged = p0.fit(([3, 1, 2], [2, 2, 2]), q=3, ridge=0.5)
    assert p0.plot_degrees(ridged).get_suptitle() == "n = 3, q = 3, no noise, ridge λ = 0.5"


def test_an_exploration_says_on_top_that_it_is_no_release():
    network = p0.load_network("eies")
    frame = p0.explore(network, [4.0, 8.0], reps=2, rng=np.random.default_rng(1))
    title = p0.plot_exploration(frame).get_suptitle()
    assert title == "not a release: shows the network's own numbers, do not publish"
