"""Expansions against the law itself, and the choice of N."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import chebyshev as numpy_chebyshev

from p0sim.model import chebyshev, expansions
from p0sim.model.edge_law import edge_log_normalizer, edge_mean, edge_variance


def worst_in_boxes(coefficients, layout, function) -> float:
    """Largest error on a 30 x 30 grid of a box, relative to the largest value in it."""
    u, half, worst = np.linspace(-1, 1, 30), layout.width / 2, 0.0
    for box, square in enumerate(coefficients):
        centre = layout.low_alpha + layout.low_beta + (box + 1) * layout.width
        exact = function(centre + half * np.add.outer(u, u))
        got = numpy_chebyshev.chebgrid2d(u, u, square)
        worst = max(worst, float(np.abs(got - exact).max() / np.abs(exact).max()))
    return worst


RANGES = [(2, -1, 1), (2, -8, 8), (3, 0, 2.6), (5, -3, 2), (20, -8, 8), (100, -1, 1), (2, 40, 41)]


@pytest.mark.parametrize(("q", "low", "high"), RANGES)
def test_expansions_reproduce_the_law_to_rounding(q, low, high):
    """Oracle: the elementwise law; 3e-14 of the largest value in each box."""
    values = np.linspace(low, high, 10_000)
    layout, terms = chebyshev.lay_out(values, values, q, 0.0)
    means, variances = expansions.expand(layout, terms, q, expansions.MOMENTS)
    logs, _ = expansions.expand(layout, terms, q, expansions.LOG_NORMALIZER)
    assert worst_in_boxes(means, layout, lambda x: edge_mean(x, q)) < 3e-14
    assert worst_in_boxes(variances, layout, lambda x: edge_variance(x, q)) < 3e-14
    assert worst_in_boxes(logs, layout, lambda x: edge_log_normalizer(x, q)) < 3e-14


@pytest.mark.parametrize(("q", "low", "high"), RANGES[:5])
def test_control_two_thirds_of_the_terms_are_not_enough(q, low, high):
    """The check above would see an expansion cut too short."""
    values = np.linspace(low, high, 10_000)
    layout, terms = chebyshev.lay_out(values, values, q, 0.0)
    _, variances = expansions.expand(layout, terms, q, expansions.MOMENTS)
    kept = variances.shape[1] * 2 // 3
    short = variances[:, :kept, :kept]
    assert worst_in_boxes(short, layout, lambda x: edge_variance(x, q)) > 1e-12


def test_a_poor_guess_of_the_number_of_terms_is_enlarged():
    """Starting from 8 terms, decay decides: as accurate as from the safe number."""
    values = np.linspace(-1, 1, 1000)
    layout, _ = chebyshev.lay_out(values, values, 5, 0.0)
    _, variances = expansions.expand(layout, 8, 5, expansions.MOMENTS)
    assert worst_in_boxes(variances, layout, lambda x: edge_variance(x, 5)) < 3e-14


def test_without_decay_plain_sums_are_asked_for():
    """A box across a hundred poles' distance: no affordable number of terms will do."""
    layout = chebyshev.Layout(-8.0, -8.0, 16.0, 1, 1)
    means, _ = expansions.expand(layout, 8, 50, expansions.MOMENTS)
    assert len(means) == 0
