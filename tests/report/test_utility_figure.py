"""Privacy against utility: the measure, and how often it is conditional on existence."""

import numpy as np
import pytest

from p0sim.errors import InvalidStudyError
from p0sim.performance.summarise import performance
from p0sim.report.figures import plot_nested, plot_privacy_utility
from tests.report.fake_study import fake_study, texts


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def series(axis, number):
    """x and y of the line with this number."""
    line = axis.containers[number].lines[0]
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def test_the_measure_stands_against_epsilon_in_ascending_order(measured):
    axis = plot_privacy_utility(measured, where={"L": "0"}).axes[0]
    rows = measured[
        (measured["measure"] == "rmse") & (measured["cell"].isin(["c000", "c001", "c002"]))
    ]
    rows = rows[(rows["method"] == "paper") & (rows["estimand"] == "alpha[1]-alpha[2]")]
    x, y = series(axis, 1)
    ordered = rows.sort_values("epsilon")
    np.testing.assert_allclose(x, ordered["epsilon"])
    np.testing.assert_allclose(y, ordered["value"])
    assert axis.get_xscale() == "log"


def test_the_strip_below_shows_the_share_without_an_estimate(measured, study):
    _, replicates, _ = study
    strip = plot_privacy_utility(measured, where={"n": 100, "L": "log(log(n))"}).axes[1]
    mine = replicates[(replicates["cell"] == "c003") & (replicates["method"] == "paper")]
    share = 100 * (mine["status"] != "ok").mean()
    x, y = series(strip, 1)
    assert y[np.argmax(x == 2.0)] == pytest.approx(share)
    assert strip.get_ylabel() == "No estimate\n(%)"


def test_a_panel_whose_fits_all_failed_says_so_above_a_strip_of_100_percent(measured):
    figure = plot_privacy_utility(measured, where={"n": 100, "L": "log(n)"})
    assert "no estimate in\nany replicate" in texts(figure)
    assert (series(figure.axes[1], 0)[1] == 100).all()


def test_every_panel_has_its_strip(measured):
    figure = plot_privacy_utility(measured)
    assert len(figure.axes) == 2 * 4 * 2


def test_points_on_few_estimates_are_not_joined(measured):
    few = measured["epsilon_rule"] == "2"
    scarce = measured.assign(n_used=measured["n_used"].mask(few, 5))
    figure = plot_privacy_utility(scarce, where={"L": "0"})
    x, y = series(figure.axes[0], 0)
    assert np.isnan(y[x == 2.0]).all()
    assert "fewer than 30 estimates" in legend_of(figure)


@pytest.mark.parametrize("measure", ["ci_width", "coverage", "sup_error_median", "bias", "z_sd"])
def test_any_measure_is_drawn(measured, measure):
    assert len(plot_privacy_utility(measured, measure=measure).axes[0].containers) == 3


def test_values_of_different_orders_of_magnitude_have_a_log_axis(measured):
    wide = measured.assign(value=measured["value"] ** 4)
    assert plot_privacy_utility(wide, measure="sup_error_mean").axes[0].get_yscale() == "log"
    assert plot_privacy_utility(measured, measure="coverage").axes[0].get_yscale() == "linear"


def test_one_epsilon_is_a_point():
    frame = performance(*fake_study(sizes=(100,), epsilons=("2",), ls=("0",), reps=50))
    x, _ = series(plot_privacy_utility(frame).axes[0], 0)
    assert x.tolist() == [2.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p.drop(columns=["epsilon", "epsilon_rule"]), "must have the factor epsilon"),
        (lambda p: p.assign(epsilon="low"), "epsilon must be a number above 0 .*; got low"),
        (lambda p: p.assign(epsilon=-1.0), "epsilon must be a number above 0 .*; got -1"),
        (lambda p: p[p["measure"] == "bias"], "measure must be one of bias; got 'rmse'"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused(measured, change, words):
    with pytest.raises(InvalidStudyError, match=words):
        plot_privacy_utility(change(measured), measure="rmse")


@pytest.mark.parametrize("plot", [plot_privacy_utility, plot_nested])
def test_a_study_without_contrasts_shows_its_largest_errors(measured, plot):
    figure = plot(measured[measured["estimand"] == "theta"])
    labels = " ".join(axis.get_ylabel() for axis in figure.axes).replace("\n", " ")
    assert "Median largest error over θ" in labels
