"""Nested loop plots: order of the cells, stairs, lines, what stands apart."""

import numpy as np
import pytest

from p0sim.errors import InvalidStudyError
from p0sim.performance.summarise import performance
from p0sim.report.figures import plot_nested
from tests.report.fake_study import fake_study, texts


def coverage_of(measured, method):
    rows = measured[(measured["measure"] == "coverage") & (measured["method"] == method)]
    return rows[rows["estimand"] == "alpha[1]-alpha[2]"]


def line_of(axis, series):
    """Heights over the cells of the series with this number."""
    steps = [line for line in axis.lines if line.get_drawstyle() == "steps-post"]
    return np.asarray(steps[series].get_ydata())[:-1]


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_cells_follow_in_lexicographic_order_of_the_factors(measured):
    """The fake cells are made by nested loops over n, q, L, epsilon."""
    axis = plot_nested(measured).axes[0]
    for series, method in enumerate(("nonprivate", "paper", "balanced")):
        wanted = 100 * coverage_of(measured, method)["value"].to_numpy()
        few = (coverage_of(measured, method)["n_used"] < 30).to_numpy()
        np.testing.assert_allclose(line_of(axis, series), np.where(few, np.nan, wanted))


def test_rows_in_any_order_give_the_same_lines_once_the_order_is_named(measured):
    rows = coverage_of(measured, "nonprivate")
    ordered = rows.sort_values(["epsilon_rule", "n", "L"])
    axis = plot_nested(measured, order=["epsilon", "n", "L"]).axes[0]
    by_hand = {}
    for epsilon in dict.fromkeys(rows["epsilon_rule"]):
        for n in (100, 200):
            part = ordered[(ordered["epsilon_rule"] == epsilon) & (ordered["n"] == n)]
            by_hand[epsilon, n] = part["value"].tolist()
    wanted = 100 * np.concatenate(list(by_hand.values()))
    np.testing.assert_allclose(line_of(axis, 0), wanted)


def test_stairs_say_their_levels_from_bottom_to_top(measured):
    figure = plot_nested(measured)
    said = [text.get_text() for text in figure.axes[-1].texts]
    assert said[0] == "$n$: 100, 200"
    assert said[2] == (r"$\varepsilon$: 2, $\log n / n^{1/4}$, $\log n / n^{1/2}$")
    heights = figure.axes[-1].patches[0].get_data().values
    assert len(set(np.round(heights[:12], 9))) == 1
    assert heights[12] > heights[11]


@pytest.fixture(scope="module")
def long():
    """Performance in 95 cells."""
    return performance(
        *fake_study(sizes=tuple(range(10, 200, 2)), epsilons=("2",), ls=("0",), reps=5)
    )


def test_a_factor_with_many_levels_names_the_first_and_the_last(long):
    said = plot_nested(long, width="single").axes[-1].texts[0].get_text()
    assert said == "$n$: 10, …, 198 (95 levels)"


def test_monte_carlo_intervals_are_drawn_where_there_is_room(measured, long):
    entry = "Monte Carlo standard errors up to"
    assert not any(entry in text for text in legend_of(plot_nested(measured)))
    assert any(entry in text for text in legend_of(plot_nested(long, width="single")))


def test_the_nominal_line_is_dashed_and_named(measured):
    figure = plot_nested(measured, nominal=0.95)
    assert "nominal 95 %" in legend_of(figure)
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert any((np.asarray(line.get_ydata()) == 95).all() for line in dashed)


def test_a_cell_without_estimates_has_a_cross_and_no_line(measured):
    axis = plot_nested(measured).axes[0]
    crosses = [line for line in axis.lines if line.get_marker() == "x"]
    missing = coverage_of(measured, "paper")["value"].isna().to_numpy()
    places = [np.floor(line.get_xdata()).astype(int).tolist() for line in crosses]
    assert places[1] == np.flatnonzero(missing).tolist()
    assert np.isnan(line_of(axis, 1)[missing]).all()


def test_crosses_stand_in_one_line_a_method_clear_of_each_other(measured, long):
    figure = plot_nested(measured, nominal=0.95)
    figure.draw_without_rendering()
    axis = figure.axes[0]
    crosses = [line for line in axis.lines if line.get_marker() == "x"]
    spots = [line.get_transform().transform(line.get_xydata()) for line in crosses]
    size = crosses[0].get_markersize() * figure.dpi / 72
    assert min(-np.diff([spot[0, 1] for spot in spots])) > size
    assert min(np.diff(spot[:, 0]).min() for spot in spots) > 0.95 * size
    gone = long.assign(value=long["value"].mask(long["n"] > 100))
    small = [line for line in plot_nested(gone).axes[0].lines if line.get_marker() == "x"]
    assert 0 < small[0].get_markersize() < crosses[0].get_markersize()


def test_every_line_of_crosses_begins_with_the_mark_of_its_method(measured):
    axis = plot_nested(measured).axes[0]
    keys = [line for line in axis.lines if len(line.get_xdata()) and line.get_xdata()[0] < 0]
    assert [line.get_marker() for line in keys] == ["o", "s", "^"]


def test_coverage_beside_its_level_has_a_stretched_axis_and_says_so(measured):
    axis = plot_nested(measured, nominal=0.95).axes[0]
    assert axis.get_yscale() == "function"
    assert "stretched near 100" in axis.get_ylabel().replace("\n", " ")
    assert plot_nested(measured, measure="rmse").axes[0].get_yscale() == "linear"


def test_a_hole_in_the_design_leaves_no_place(measured):
    part = measured[~((measured["n"] == 100) & (measured["L_rule"] == "0"))]
    assert len(line_of(plot_nested(part).axes[0], 0)) == 24 - 3


@pytest.mark.parametrize("measure", ["bias", "ci_width", "rmse", "fail_rate", "sup_error_median"])
def test_any_measure_is_drawn(measured, measure):
    figure = plot_nested(measured, measure=measure)
    assert np.isfinite(line_of(figure.axes[0], 0)).any()


def test_a_bar_of_a_measure_that_is_never_negative_takes_no_room_below_zero(measured):
    wide = measured.assign(lower=measured["value"] - 5)
    assert plot_nested(wide, measure="rmse").axes[0].get_ylim()[0] == 0
    assert plot_nested(wide, measure="bias").axes[0].get_ylim()[0] < 0


def test_a_method_without_the_measure_is_not_in_the_legend(measured):
    part = measured[~((measured["method"] == "nonprivate") & (measured["measure"] == "bias"))]
    assert legend_of(plot_nested(part, measure="bias"))[:2] == ["paper", "balanced"]


def test_estimands_may_be_panels(measured):
    figure = plot_nested(measured, rows="estimand", where={"n": 100})
    assert len(figure.axes) == 4
    assert r"$\alpha_{50}-\alpha_{51}$" in texts(figure)


def test_one_cell_has_no_stairs():
    frame = performance(*fake_study(sizes=(100,), epsilons=("2",), ls=("0",), reps=50))
    assert len(plot_nested(frame).axes) == 1


def test_a_factor_that_is_not_there_is_refused(measured):
    with pytest.raises(InvalidStudyError, match=r"a factor must be one of .*; got 'size'"):
        plot_nested(measured, order=["size"])
