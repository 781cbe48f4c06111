"""Zipper plots: what stands where, and what is said."""

from itertools import pairwise

import numpy as np
import pytest

from p0sim.errors import InvalidParametersError, InvalidStudyError
from p0sim.performance.quantiles import zipper_summary
from p0sim.report.figures import plot_zipper
from tests.report.fake_study import fake_study, texts


@pytest.fixture(scope="module")
def first(study, summaries):
    """The rows of the upper left panel."""
    frame = summaries["zipper"]
    chosen = (frame["cell"] == "c000") & (frame["method"] == "nonprivate")
    return frame[chosen & (frame["estimand"] == "alpha[1]-alpha[2]")]


def intervals(axis):
    """Ends and heights of the light and the dark intervals of a panel."""
    lines = [collection for collection in axis.collections if hasattr(collection, "get_segments")]
    return [np.array(collection.get_segments()).reshape(-1, 2, 2) for collection in lines[:2]]


def test_light_intervals_hold_the_truth_and_dark_ones_miss_it(study, summaries, first):
    light, dark = intervals(plot_zipper(summaries["zipper"], study[0]).axes[0])
    assert len(light) + len(dark) == len(first) == 100
    assert ((light[:, 0, 0] <= 0) & (light[:, 1, 0] >= 0)).all()
    assert ((dark[:, 0, 0] > 0) | (dark[:, 1, 0] < 0)).all()


def test_intervals_stand_in_the_middle_of_their_centile_minus_the_truth(study, summaries, first):
    light, dark = intervals(plot_zipper(summaries["zipper"], study[0]).axes[0])
    drawn = np.concatenate([light, dark])
    np.testing.assert_allclose(np.sort(drawn[:, 0, 1]), np.arange(100) + 0.5)
    lowest = drawn[drawn[:, 0, 1].argmin()]
    np.testing.assert_allclose(lowest[:, 0], first[["lower", "upper"]].iloc[0] - 0.1)


def test_hits_and_misses_differ_in_grey_and_in_thickness(study, summaries):
    """Luminance by Rec. 709."""
    axis = plot_zipper(summaries["zipper"], study[0]).axes[0]
    light, dark = [c for c in axis.collections if hasattr(c, "get_segments")][:2]
    grey = [c.get_color()[0][:3] @ np.array([0.2126, 0.7152, 0.0722]) for c in (light, dark)]
    assert grey[0] - grey[1] > 0.4
    assert dark.get_linewidth()[0] > 1.5 * light.get_linewidth()[0]


def test_the_coverage_is_written_with_its_interval_and_the_fits(study, summaries, first):
    share, low, high = 100 * first[["coverage", "coverage_lower", "coverage_upper"]].iloc[0]
    said = f"{share:.3g} % [{low:.3g}, {high:.3g}]\n200 of 200 fitted"
    assert said in texts(plot_zipper(summaries["zipper"], study[0]))


def test_the_nominal_line_is_where_it_is_asked_for(study, summaries):
    axis = plot_zipper(summaries["zipper"], study[0], nominal=0.9).axes[0]
    dashed = [line.get_ydata()[0] for line in axis.lines if line.get_linestyle() == "--"]
    assert dashed == [90.0]
    with pytest.raises(InvalidParametersError, match="level must"):
        plot_zipper(summaries["zipper"], study[0], nominal=95)


def test_a_panel_whose_fits_all_failed_says_so(study, summaries):
    figure = plot_zipper(summaries["zipper"], study[0], cols="L")
    assert texts(figure).count("no estimate in\n200 replicates") == 3


def test_estimates_without_intervals_are_not_called_failed(study):
    cells, replicates, estimates = study
    frame = zipper_summary(estimates.assign(lower=np.nan), cells, replicates)
    said = texts(plot_zipper(frame, cells, where={"L": "0"}))
    assert said.count("no interval in\n200 replicates") == 9


def test_one_huge_interval_does_not_press_the_others_together(study):
    cells, replicates, estimates = study
    wild = estimates["upper"].where(estimates["rep"] != 7, 1e9)
    frame = zipper_summary(estimates.assign(upper=wild), cells, replicates)
    assert plot_zipper(frame, cells).axes[0].get_xlim()[1] < 10


def test_panels_of_a_row_share_their_axis_and_others_do_not(study):
    cells, replicates, estimates = study
    wide = cells.set_index("cell")["epsilon_rule"].eq("2").map({True: 9.0, False: 1.0})
    factor = estimates["cell"].map(wide)
    ends = {
        side: 0.1 + factor * (estimates[side] - estimates["true_value"])
        for side in ("lower", "upper")
    }
    frame = zipper_summary(estimates.assign(**ends), cells, replicates)
    figure = plot_zipper(frame, cells, rows="epsilon", cols="method")
    limits = np.array([axis.get_xlim()[1] for axis in figure.axes]).reshape(3, 3)
    assert (limits == limits[:, :1]).all()
    assert limits[0, 0] > 5 * limits[1, 0]


def test_no_panel_is_a_sliver_beside_a_wild_one(study):
    cells, replicates, estimates = study
    wild = estimates["method"] == "balanced"
    ends = {
        side: estimates[side].where(~wild, 0.1 + sign * 1000)
        for side, sign in (("lower", -1), ("upper", 1))
    }
    frame = zipper_summary(estimates.assign(**ends), cells, replicates)
    axis = plot_zipper(frame, cells, rows="epsilon", cols="method").axes[0]
    light, dark = intervals(axis)
    assert np.abs(np.concatenate([light, dark])[:, :, 0]).max() > axis.get_xlim()[1] / 7


def test_many_levels_become_rows_whose_panels_have_room_for_their_words(study):
    cells, replicates, estimates = fake_study(sizes=tuple(range(20, 90, 10)), ls=("0",), reps=20)
    figure = plot_zipper(zipper_summary(estimates, cells, replicates), cells, cols="n")
    assert [axis.get_title() for axis in figure.axes[:3]] == ["nonprivate", "paper", "balanced"]
    assert len(figure.axes) == 7 * 3
    figure.draw_without_rendering()
    words = [axis.texts[0].get_window_extent() for axis in figure.axes]
    assert all(left.x1 < right.x0 for left, right in pairwise(words[:3]))


def test_a_hole_in_the_design_says_so(study, summaries):
    cells, _, _ = study
    gone = cells["cell"][(cells["L_rule"] == "0") & (cells["n"] == 100)].iloc[0]
    part = summaries["zipper"][summaries["zipper"]["cell"] != gone]
    figure = plot_zipper(part, cells, rows="L", cols="epsilon", where={"n": 100})
    assert "not in\nthe design" in texts(figure)


def test_cells_that_lack_one_of_the_summary_are_refused(study, summaries):
    with pytest.raises(InvalidStudyError, match="cells must list every cell of the summary"):
        plot_zipper(summaries["zipper"], study[0].iloc[1:])
