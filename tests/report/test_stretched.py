"""The stretched axis of coverage: its scale by hand, its numbers, its ends."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from p0sim.report.stretched import height, share, stretch


def stretched(shares, nominal=0.95, points=100.0):
    axis = Figure().subplots()
    rows = pd.DataFrame({"value": shares, "lower": shares})
    stretch(axis, rows, nominal, points)
    return axis


def test_the_scale_is_a_logarithm_of_the_misses_over_those_allowed():
    """By hand: 95 % misses as often as allowed, log 2 below 100 %; 85 % and 65 % as far again."""
    steps = np.diff(height(5.0, np.array([65.0, 85.0, 95.0, 100.0])))
    np.testing.assert_allclose(steps, np.log(2))


def test_two_points_about_the_level_take_three_times_the_room_of_a_linear_axis():
    axis = stretched([0.2, 0.95, 0.97])
    spot = axis.transData.transform([(0, 95.0), (0, 97.0)])[:, 1]
    part = np.diff(spot)[0] / axis.get_window_extent().height
    low, high = axis.get_ylim()
    assert part > 3 * (97 - 95) / (high - low)


def test_the_scale_and_its_inverse_undo_each_other():
    percents = np.linspace(0, 100, 21)
    np.testing.assert_allclose(share(10.0, height(10.0, percents)), percents, atol=1e-9)


@pytest.mark.parametrize("nominal", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("lowest", [0.0, 0.35, 0.93, 1.0])
@pytest.mark.parametrize("points", [40.0, 150.0])
def test_the_level_and_100_are_named_and_no_two_numbers_collide(nominal, lowest, points):
    """6.5 points is the size of the numbers."""
    axis = stretched([lowest, 1.0], nominal, points)
    low, high = axis.get_ylim()
    assert low < 100 * min(lowest, nominal) and high > 100
    ticks = axis.get_yticks()
    assert np.isclose(ticks, 100 * nominal).any()
    apart = np.diff(height(100 * (1 - nominal), ticks))
    whole = np.diff(height(100 * (1 - nominal), np.array([low, high])))[0]
    assert apart.min() * points / whole > 6.5


def test_numbers_that_are_missing_do_not_matter():
    assert np.isfinite(stretched([0.9, np.nan]).get_ylim()).all()
    assert np.isfinite(stretched([np.nan]).get_ylim()).all()
