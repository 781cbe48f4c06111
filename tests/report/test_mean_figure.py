"""Means in figures: log epsilon, dots over words, scales that show the values."""

from __future__ import annotations

import numpy as np
import pytest

from p0sim.errors import InvalidStudyError
from p0sim.performance.summarise import performance
from p0sim.report.figures import plot_mean
from p0sim.report.gallery import exhibits
from p0sim.report.style import save_figure
from tests.report.fake_means import LABELS, means_material, means_study
from tests.report.fake_study import texts


@pytest.fixture(scope="module")
def means():
    return performance(*means_study())


def test_lines_stand_against_epsilon_on_a_log_axis_with_the_intervals_of_the_frame(means):
    figure = plot_mean(means, where={"estimand": "map"}, labels=LABELS)
    axis = figure.axes[0]
    mine = means[
        (means["estimand"] == "map") & (means["measure"] == "mean") & (means["method"] == "sharp")
        & (means["dataset"] == "usair") & (means["protocol"] == "CN")
    ].sort_values("epsilon")  # fmt: skip
    line = axis.containers[0].lines
    np.testing.assert_allclose(line[0].get_xdata(), mine["epsilon"])
    np.testing.assert_allclose(line[0].get_ydata(), mine["value"])
    ends = np.array([segment[:, 1] for segment in line[2][0].get_segments()])
    np.testing.assert_allclose(ends, mine[["lower", "upper"]])
    assert axis.get_xscale() == "log"
    assert axis.get_yscale() == "linear"
    assert len(axis.containers) == 4


def test_panels_are_datasets_by_protocols_and_the_axis_is_named_by_the_estimand(means):
    figure = plot_mean(means, where={"estimand": "map"}, labels=LABELS)
    assert len(figure.axes) == 4
    assert "protocol = AA" in texts(figure)
    assert figure.get_supylabel() == "MAP"


def test_over_words_there_are_dots_side_by_side():
    one = performance(*means_study(epsilons=(0.1,)))
    figure = plot_mean(one, where={"estimand": "map"}, labels=LABELS)
    axis = figure.axes[0]
    assert [text.get_text() for text in figure.axes[-1].get_xticklabels()] == ["usair", "yeast"]
    first = [container.lines[0].get_xdata()[0] for container in axis.containers]
    assert len(set(np.round(first, 6))) == 4
    assert np.abs(first).max() < 0.5
    assert {container.lines[0].get_linestyle() for container in axis.containers} == {"None"}


def test_any_measure_may_be_drawn_and_an_unknown_one_is_refused(means, measured):
    figure = plot_mean(measured, measure="emp_se", x="n", where={"epsilon": "2"})
    assert figure.get_supylabel().split() == ["Standard", "deviation", "of", "the", "estimate"]
    with pytest.raises(InvalidStudyError, match="of which there is no value"):
        plot_mean(means, measure="bias")


def test_the_same_figure_has_the_same_bytes(means, tmp_path):
    bytes_of = [
        [path.read_bytes() for path in save_figure(plot_mean(means), tmp_path / name)]
        for name in ("one", "two")
    ]
    assert bytes_of[0] == bytes_of[1]


def test_a_report_draws_what_the_study_is_about_and_nothing_that_needs_a_truth():
    shown = exhibits(means_material())
    assert [exhibit.kind for exhibit in shown] == ["mean"]
    assert [drawing.slice for drawing in shown[0].drawings] == [""]
    assert "Published, not private: 0.3" in shown[0].drawings[0].alt
