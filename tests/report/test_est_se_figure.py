"""Standard errors against errors: points, the truth, counts."""

from itertools import pairwise

import numpy as np
import pytest

from p0sim.performance.quantiles import POINTS, points_summary
from p0sim.report.figures import plot_est_se
from tests.report.fake_study import fake_study, texts


@pytest.fixture(scope="module")
def spread_out():
    """A study whose standard errors vary."""
    cells, replicates, estimates = fake_study(sizes=(100,), ls=("0",), epsilons=("2",))
    factor = np.random.default_rng(5).uniform(0.8, 1.2, size=len(estimates))
    return cells, replicates, estimates.assign(std_error=factor * estimates["std_error"])


def drawn(axis):
    """Points of a panel by marker."""
    return {line.get_marker(): line.get_xydata() for line in axis.lines if len(line.get_xydata())}


def test_points_are_errors_and_standard_errors(spread_out):
    """All of them, as there are no more than a figure shows."""
    cells, replicates, estimates = spread_out
    estimates = estimates[estimates["rep"] <= POINTS]
    axis = plot_est_se(points_summary(estimates, cells, replicates), cells).axes[0]
    mine = estimates[(estimates["method"] == "nonprivate")]
    mine = mine[mine["estimand"] == "alpha[1]-alpha[2]"]
    missed = (mine["lower"] > 0.1) | (mine["upper"] < 0.1)
    there = np.concatenate([drawn(axis)["o"], drawn(axis)["^"]])
    wanted = np.column_stack([mine["estimate"] - 0.1, mine["std_error"]])
    distance = abs(wanted[:, None, :] - there).sum(axis=2).min(axis=0)
    assert distance.max() < 1e-12
    assert len(there) >= 0.97 * len(mine)
    assert len(drawn(axis)["^"]) <= missed.sum() < 20


def test_points_beyond_the_axes_are_counted(spread_out):
    cells, replicates, estimates = spread_out
    estimates = estimates[estimates["rep"] <= POINTS]
    wild = estimates["estimate"].where(estimates["rep"] != 7, 1e6)
    figure = plot_est_se(points_summary(estimates.assign(estimate=wild), cells, replicates), cells)
    assert figure.axes[0].get_xlim()[1] < 10
    said = figure.axes[0].texts[0].get_text()
    beyond = 100 - sum(
        len(points) for marker, points in drawn(figure.axes[0]).items() if marker in "o^"
    )
    assert said == f"100 of 200 usable\n{beyond} beyond the axes"


def test_a_panel_that_shows_the_first_points_only_says_so(spread_out):
    cells, replicates, estimates = spread_out
    figure = plot_est_se(points_summary(estimates, cells, replicates), cells)
    assert "200 of 200 fitted\nfirst 100 shown" in figure.axes[0].texts[0].get_text()


def test_words_stand_above_all_points(spread_out):
    cells, replicates, estimates = spread_out
    figure = plot_est_se(points_summary(estimates, cells, replicates), cells, width="single")
    figure.draw_without_rendering()
    for axis in figure.axes:
        lowest = axis.texts[0].get_window_extent().y0
        tops = [axis.transData.transform(points)[:, 1].max() for points in drawn(axis).values()]
        assert max(tops[1:]) < lowest + 1


def test_standard_errors_that_are_all_alike_are_drawn(study, summaries):
    figure = plot_est_se(summaries["points"], study[0])
    assert np.diff(figure.axes[0].get_ylim())[0] > 0


def test_without_truth_estimates_are_centred_at_their_mean(spread_out):
    cells, replicates, estimates = spread_out
    frame = points_summary(estimates.assign(true_value=np.nan), cells, replicates)
    axis = plot_est_se(frame, cells).axes[-1]
    assert axis.get_xlabel() == "Estimate minus mean"
    assert abs(drawn(axis)["o"][:, 0].mean()) < 0.1


def test_a_panel_whose_fits_all_failed_says_so(study, summaries):
    said = texts(plot_est_se(summaries["points"], study[0], cols="L"))
    assert said.count("no estimate in\n200 replicates") == 3


def test_a_panel_without_estimates_has_no_numbers_beside_it(study, summaries):
    figure = plot_est_se(summaries["points"], study[0], cols="L")
    empty = [axis for axis in figure.axes if not axis.lines]
    assert len(empty) == 3
    assert [len(axis.get_yticks()) for axis in empty] == [0, 0, 0]


def test_each_row_has_an_axis_that_its_points_fill_and_clear_numbers_under_it():
    """Errors fall like the square root of n: those of 20 nodes are ten times those of 2000."""
    sizes = (20, 50, 100, 500, 2000)
    study = fake_study(sizes=sizes, epsilons=("2",), ls=("0",), reps=40)
    cells, replicates, estimates = study
    figure = plot_est_se(points_summary(estimates, cells, replicates), cells, cols="n")
    figure.draw_without_rendering()
    limits = np.array([axis.get_xlim()[1] for axis in figure.axes]).reshape(5, 3)
    assert (limits == limits[:, :1]).all()
    assert limits[0, 0] > 5 * limits[-1, 0]
    for axis in figure.axes:
        boxes = [text.get_window_extent() for text in axis.get_xticklabels() if text.get_text()]
        inside = [box for box in boxes if axis.bbox.x0 <= (box.x0 + box.x1) / 2 <= axis.bbox.x1]
        assert all(left.x1 < right.x0 for left, right in pairwise(inside))
