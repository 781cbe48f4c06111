"""Points in a ball, the graph of close ones, and what a list loses."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import kstest

from p0sim.errors import InvalidParametersError
from p0sim.linkpred.latent_space import (
    ball_volume,
    draw_latent_graph,
    loss_bound,
    ranking_loss,
    score_gap,
)


def drawn(n=80, radius=0.25, dimension=2, seed=1):
    return draw_latent_graph(n, radius, dimension, rng=np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("dimension", "unit"), [(1, 2), (2, pi), (3, 4 * pi / 3), (4, pi**2 / 2), (5, 8 * pi**2 / 15)]
)
def test_balls_have_the_volumes_of_the_textbooks(dimension, unit):
    assert ball_volume(0.5, dimension) == pytest.approx(unit * 0.5**dimension, rel=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_points_are_uniform_in_the_ball_of_unit_volume(dimension):
    """Volume within a point's distance from the centre is uniform; a false alarm in 10 000.

    Control: the same distances taken as those of another dimension.
    """
    space = drawn(n=2000, dimension=dimension, radius=0.01)
    radii = np.linalg.norm(space.points, axis=1)
    within = [ball_volume(radius, dimension) for radius in radii.tolist()]
    other = [ball_volume(1, dimension) * radius ** (dimension + 1) for radius in radii.tolist()]
    assert max(within) <= 1 + 1e-12
    assert kstest(within, "uniform").pvalue > 1e-4
    assert kstest(other, "uniform").pvalue < 1e-4
    halves = (space.points > 0).mean(axis=0)
    assert np.abs(halves - 0.5).max() < 4.4 * 0.5 / np.sqrt(2000)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_nodes_are_joined_where_they_are_close(dimension):
    space = drawn(dimension=dimension)
    far = cdist(space.points, space.points)
    expected = (far < 0.25) & ~np.eye(80, dtype=bool)
    np.testing.assert_array_equal(space.graph.adjacency.toarray() > 0, expected)
    np.testing.assert_allclose(space.distances(3, [5, 9]), far[3, [5, 9]], rtol=1e-12)


def test_a_tiny_radius_joins_nobody():
    assert drawn(radius=1e-9).graph.n_edges == 0


def test_loss_by_hand():
    """Falls 0.3-0.1, 0.3-0.2, 0.4-0.2 over 2 k = 8."""
    assert ranking_loss([0.3, 0.1, 0.4, 0.2]) == pytest.approx((0.2 + 0.1 + 0.2) / 8)
    np.testing.assert_array_equal(ranking_loss([[0.1, 0.2], [0.5, 0.9]]), [0, 0])


def test_the_bound_holds_with_absolute_values_and_is_false_without_them():
    rng = np.random.default_rng(2)
    for _ in range(200):
        candidates = rng.random(12)
        best = np.sort(candidates)[:5]
        lists = rng.permuted(np.tile(candidates, (20, 1)), axis=1)[:, :5]
        assert (ranking_loss(lists) <= loss_bound(lists, best) + 1e-12).all()
    backwards = best[::-1]
    assert ranking_loss(backwards) > 4 / 10 * (backwards - best).sum() + 1e-3


def test_the_gap_of_scores_by_hand():
    gaps = score_gap([5, 1, 3, 2], [[0, 2], [2, 0], [1, 3]])
    np.testing.assert_array_equal(gaps, [0, 0, 8 - 3])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"radius": 0.0}, "radius must be positive; got 0"),
        ({"dimension": 0}, "dimension must be at least 1; got 0"),
        ({"n": 1}, "n must"),
    ],
)
def test_what_is_no_space_is_refused(arguments, words):
    with pytest.raises(InvalidParametersError, match=words):
        drawn(**arguments)
