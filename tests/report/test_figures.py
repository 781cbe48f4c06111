"""Figures: what they show, what they say when there is nothing to show, and their bytes."""

import gc
import os
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from PIL import Image

from p0sim.errors import InvalidStudyError
from p0sim.performance.quantiles import QQ_POINTS, points_summary, qq_summary, zipper_summary
from p0sim.performance.summarise import performance
from p0sim.report.consistency_figure import log_log_slope
from p0sim.report.figures import (
    plot_consistency,
    plot_coverage,
    plot_est_se,
    plot_nested,
    plot_privacy_utility,
    plot_qq,
    plot_zipper,
    save_figure,
)
from p0sim.report.style import mark_of
from tests.report.fake_study import fake_study, texts


@pytest.fixture(scope="module")
def qq(study, summaries):
    cells, _, _ = study

    def draw(**arguments):
        return plot_qq(summaries["qq"], cells, **arguments)

    return draw


@pytest.fixture(scope="module")
def drawings(growing):
    """How to draw each figure of a small study, by name; half of its cells have no estimate."""
    study = fake_study(reps=100, epsilons=("2", "log(n)/n^(1/2)"), ls=("0", "log(n)"))
    cells, replicates, estimates = study
    measured = performance(cells, replicates, estimates)
    qq, zipper, points = (
        make(estimates, cells, replicates) for make in (qq_summary, zipper_summary, points_summary)
    )
    return {
        "qq": lambda **how: plot_qq(qq, cells, **how),
        "zipper": lambda **how: plot_zipper(zipper, cells, **how),
        "est_se": lambda **how: plot_est_se(points, cells, **how),
        "coverage": lambda **how: plot_coverage(measured, **how),
        "nested": lambda **how: plot_nested(measured, nominal=0.95, **how),
        "utility": lambda **how: plot_privacy_utility(measured, **how),
        "consistency": lambda **how: plot_consistency(growing, **how),
    }


FIGURES = ("qq", "zipper", "est_se", "coverage", "nested", "utility", "consistency")


@pytest.fixture(scope="module")
def growing():
    cells, replicates, estimates = fake_study(
        sizes=(50, 100, 200, 400), epsilons=("2",), ls=("0", "log(n)")
    )
    return performance(cells, replicates, estimates)


def test_qq_panels_say_how_many_fits_stand_behind_them(qq, study):
    _, replicates, _ = study
    mine = replicates[(replicates["cell"] == "c000") & (replicates["method"] == "paper")]
    fitted = int((mine["status"] == "ok").sum())
    assert f"{fitted} of 200 fitted" in texts(qq())


def test_qq_says_what_is_held_fixed(qq):
    assert qq().get_suptitle() == r"$n$ = 100, $q$ = 2, $L$ = 0, $\alpha_{1}-\alpha_{2}$"


def test_qq_shows_the_whole_sorted_sample_when_it_is_small(study):
    cells, replicates, estimates = study
    estimates = estimates[estimates["rep"] <= QQ_POINTS]
    frame = qq_summary(estimates, cells, replicates)
    figure = plot_qq(frame, cells, cols="L", where={"method": "nonprivate", "L": "0"})
    drawn = [line.get_ydata() for line in figure.axes[0].lines if line.get_marker() == "."]
    picked = (estimates["cell"] == "c000") & (estimates["method"] == "nonprivate")
    picked &= estimates["estimand"] == "alpha[1]-alpha[2]"
    np.testing.assert_allclose(drawn[0], np.sort(estimates.loc[picked, "z"]))


def test_an_all_failed_qq_panel_says_so_in_words(qq):
    assert "no estimate in\n200 replicates" in texts(qq(cols="L"))


def test_a_qq_plot_of_nothing_but_failures_is_drawn(study):
    cells, replicates, estimates = study
    failed = replicates.assign(status="no_estimate")
    names = {cell: ["alpha[1]"] for cell in cells["cell"]}
    nothing = qq_summary(estimates[:0], cells, failed, estimands=names)
    figure = plot_qq(nothing, cells)
    assert texts(figure).count("no estimate in\n200 replicates") == 9


def test_errors_beyond_the_edge_are_triangles(study):
    cells, replicates, estimates = study
    figure = plot_qq(qq_summary(estimates.assign(z=9.0), cells, replicates), cells)
    up = [line for line in figure.axes[0].lines if line.get_marker() == "^"]
    assert (up[0].get_ydata() == 6.0).all()
    assert figure.axes[0].get_ylim()[1] > 6.0


def test_fits_without_a_standard_error_are_not_called_failed(study):
    cells, replicates, estimates = study
    bare = estimates["z"].where(estimates["method"] != "paper")
    figure = plot_qq(qq_summary(estimates.assign(z=bare), cells, replicates), cells)
    assert "no standardised error in\n200 replicates" in texts(figure)


def test_the_slope_of_an_exact_power_law_is_found():
    x = np.array([50.0, 100.0, 200.0, 400.0])
    slope = log_log_slope(x, 3 * x**-0.5)
    np.testing.assert_allclose([slope.slope, slope.lower, slope.upper], -0.5, atol=1e-9)


def test_the_slopes_interval_is_the_t_interval_of_least_squares():
    """Oracle: the textbook formulas, t quantile 4.302653 on 2 degrees of freedom."""
    x = np.array([50.0, 100.0, 200.0, 400.0])
    y = np.array([1.0, 0.8, 0.5, 0.42])
    a, b = np.log(x), np.log(y)
    centred = a - a.mean()
    slope = (centred @ b) / (centred @ centred)
    left = b - b.mean() - slope * centred
    half = 4.302653 * np.sqrt(left @ left / 2 / (centred @ centred))
    got = log_log_slope(x, y)
    np.testing.assert_allclose([got.lower, got.upper], [slope - half, slope + half], rtol=1e-6)


def test_two_sizes_have_no_slope():
    assert log_log_slope(np.array([50.0, 100.0, 100.0]), np.array([1.0, 2.0, 2.1])) is None


def test_two_sizes_are_shown_without_slopes_and_with_crosses_where_nothing_is(measured):
    gone = (measured["n"] == 100) & (measured["method"] == "paper")
    figure = plot_consistency(measured.assign(value=measured["value"].mask(gone)))
    assert all(axis.get_legend() is None for axis in figure.axes)
    said = " ".join(legend_of(figure.legends[0]))
    assert "paper" in said and "no estimate" in said and "0." not in said
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [[100.0]]


def test_a_method_with_too_few_sizes_says_so(growing):
    gone = (growing["n"] > 100) & (growing["method"] == "paper")
    part = growing.assign(value=growing["value"].mask(gone))
    legend = legend_of(plot_consistency(part, where={"L": "0"}).axes[0].get_legend())
    assert "paper: fewer than 3 n" in legend


def test_the_name_of_a_measure_says_that_it_needs_an_estimate_where_some_have_none(measured):
    def labels(frame):
        figure = plot_privacy_utility(frame)
        return [axis.get_ylabel().replace("\n", " ") for axis in figure.axes]

    assert "Root mean squared error, given an estimate" in labels(measured)
    assert "Root mean squared error" in labels(measured.assign(n_failed=0))


def test_normal_quantiles_are_named_in_one_piece_under_four_columns(study):
    cells, replicates, estimates = study
    figure = plot_qq(qq_summary(estimates, cells, replicates), cells, cols="L")
    assert {axis.get_xlabel() for axis in figure.axes[-4:]} == {"Quantile of $N(0, 1)$"}


def test_consistency_names_every_method_with_its_slope(growing):
    figure = plot_consistency(growing, where={"L": "0"})
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert [entry.split(":")[0] for entry in legend[:3]] == ["nonprivate", "paper", "balanced"]
    assert legend[3].startswith(r"$\sqrt{\log n / n}$: −0.4")
    assert all("[−" in entry for entry in legend[:3])


def test_consistency_says_where_every_fit_failed(growing):
    assert "no estimate in\nany replicate" in texts(plot_consistency(growing))


def test_a_method_that_always_failed_is_named_in_the_legend(growing):
    dead = (growing["method"] == "paper") & (growing["measure"] == "sup_error_median")
    gone = growing.assign(value=growing["value"].mask(dead))
    figure = plot_consistency(gone, where={"L": "0"})
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert "paper: no estimate" in legend


def test_coverage_has_its_nominal_line_and_intervals(measured):
    figure = plot_coverage(measured, nominal=0.9)
    nominal = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert any((np.asarray(line.get_ydata()) == 90.0).all() for line in nominal)
    assert len(figure.axes[0].containers) == 3


def test_without_other_factors_every_estimand_has_its_panel(measured):
    figure = plot_coverage(measured, where={"n": 100, "L": "0"})
    assert figure.axes[0].get_title() == r"$\alpha_{1}-\alpha_{2}$"
    assert len(figure.axes) == 3


def test_coverage_marks_cells_without_a_fit(measured):
    figure = plot_coverage(measured, x="L")
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [round(float(line.get_xdata()[0])) for line in crosses] == [3, 3, 3]


def test_crosses_of_methods_differ_in_mark_and_do_not_hide_each_other(measured):
    """In print without colours, shapes tell the methods apart; all of them fail at L = log(n)."""
    figure = plot_coverage(measured, x="L")
    figure.draw_without_rendering()
    axis = figure.axes[0]
    below = [line for line in axis.lines if not line.get_clip_on()]
    assert [line.get_marker() for line in below] == ["o", "x", "s", "x", "^", "x"]
    heights = [line.get_transform().transform(line.get_xydata())[0, 1] for line in below]
    assert heights[0] == heights[1] and heights[2] == heights[3] and heights[4] == heights[5]
    points = -np.diff(heights[::2]) * 72 / figure.dpi
    assert points.min() > below[1].get_markersize()


def test_a_panel_without_any_estimate_has_words_alone(measured):
    figure = plot_coverage(measured, x="epsilon", cols="L", where={"n": 100})
    empty = [axis for axis in figure.axes if axis.texts and not axis.lines]
    assert "no estimate in\nany replicate" in [text.get_text() for text in empty[0].texts]
    entries = legend_of(figure.legends[0])
    assert not any("no estimate" in entry for entry in entries)


def test_five_panels_of_coverage_stand_in_two_rows_and_each_column_has_its_axis(measured):
    part = measured[measured["L_rule"] == "0"]
    five = pd.concat([part.assign(group=name, group_rule=name) for name in "abcde"])
    one = {"n": 100, "estimand": "alpha[1]-alpha[2]"}
    figure = plot_coverage(five, x="epsilon", cols="group", where=one)
    shown = [axis for axis in figure.axes if axis.axison]
    assert len(shown) == 5
    assert [axis.get_title() for axis in shown] == [f"group = {name}" for name in "abcde"]
    assert [axis.get_xlabel() != "" for axis in shown] == [False, False, True, True, True]
    labelled = [any(tick.label1.get_visible() for tick in axis.xaxis.majorTicks) for axis in shown]
    assert labelled == [False, False, True, True, True]


def test_the_axis_of_coverage_is_stretched_and_says_so(measured):
    figure = plot_coverage(measured)
    assert "stretched near 100" in figure.get_supylabel().replace("\n", " ")
    places = figure.axes[0].transData.transform([(0, 85.0), (0, 95.0), (0, 100.0)])[:, 1]
    # equal steps, by hand: 15, 5 and 0 misses stand at log(4), log(2) and log(1)
    assert np.diff(places)[0] == pytest.approx(np.diff(places)[1])


def test_a_hole_in_the_design_says_so(measured):
    part = measured[~((measured["n"] == 100) & (measured["L_rule"] == "0"))]
    assert "not in\nthe design" in texts(plot_coverage(part))


def test_labels_take_the_place_of_names(measured):
    figure = plot_coverage(measured, labels={"balanced": "cost $5 & more_or_less"})
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert r"cost \$5 & more_or_less" in labels


def without_contrasts(plot):
    return lambda p: plot(p[p["estimand"] == "theta"])


def without_sup_errors(plot):
    return lambda p: plot(p.assign(value=p["value"].mask(p["measure"] == "sup_error_median")))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: plot_coverage(p, measure="covrage"), r"measure must be one of"),
        (lambda p: plot_coverage(p, x="size"), r"a factor must be one of"),
        (lambda p: plot_consistency(p.drop(columns=["n", "n_rule"])), r"must have the factor n"),
        (lambda p: plot_coverage(p, where={"n": 5}), r"n must be one of 100, 200; got '5'"),
        (lambda p: plot_consistency(p.assign(n="big")), r"n must be a number above 1 to show"),
        (
            lambda p: plot_consistency(p.assign(value=-1.0)),
            r"sup_error_median must be positive to show rates",
        ),
        (lambda p: plot_consistency(p, measure="rmse"), r"an error of the whole fit.*got 'rmse'"),
        (
            lambda p: plot_coverage(p, rows="n", cols="n"),
            r"rows and cols must differ; got 'n' twice",
        ),
        (lambda p: plot_coverage(p, x="L", cols="L"), r"rows, cols and x must differ; got 'L'"),
        (lambda p: plot_nested(p, rows="n", cols="n"), r"rows and cols must differ; got 'n' twice"),
        (lambda p: plot_consistency(p, rows="n"), r"must differ; got 'n' twice"),
        (lambda p: plot_privacy_utility(p, cols="epsilon"), r"must differ; got 'epsilon' twice"),
        (
            without_sup_errors(plot_consistency),
            r"got 'sup_error_median', of which there is no value",
        ),
        (without_contrasts(plot_coverage), r"a study must have intervals.*; got none"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused(measured, call, words):
    with pytest.raises(InvalidStudyError, match=words):
        call(measured)


def is_on(page, box):
    """Whether a box is on the page, but for a fiftieth of an inch."""
    room = page.padded(0.02 if page.width < 20 else 2)
    return room.x0 <= box.x0 <= box.x1 <= room.x1 and room.y0 <= box.y0 <= box.y1 <= room.y1


@pytest.mark.parametrize("width", ["single", "double"])
@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_saved_at_print_size_with_nothing_cut(drawings, name, width, tmp_path):
    """At 200 dots an inch; a layout that fails because panels are too small is a warning."""
    figure = drawings[name](width=width)
    _, png = save_figure(figure, tmp_path / name)
    millimetres = {"single": 85, "double": 180}[width]
    with Image.open(png) as image:
        assert image.size[0] == pytest.approx(millimetres / 25.4 * 200, abs=2)
    figure.draw_without_rendering()
    assert is_on(figure.bbox_inches, figure.get_tightbbox())
    words = [text for text in figure.findobj(mpl.text.Text) if text.get_text()]
    assert min(text.get_fontsize() for text in words) >= 6
    inside = [text for axis in figure.axes for text in axis.texts if text.get_text()]
    assert all(is_on(figure.bbox, text.get_window_extent()) for text in inside)


@pytest.mark.parametrize("name", FIGURES)
def test_saving_again_gives_the_same_bytes_without_dates(drawings, name, tmp_path):
    first = save_figure(drawings[name](), tmp_path / "eps=0.5")
    second = save_figure(drawings[name](), tmp_path / "again")
    assert first[0].name == "eps=0.5.pdf"
    for one, other in zip(first, second):
        assert one.read_bytes() == other.read_bytes()
    pdf = first[0].read_bytes()
    assert b"Date" not in pdf
    assert b"/FontType 42" in pdf or b"/CIDFontType2" in pdf
    assert b"/Type3" not in pdf


def test_nothing_global_is_changed(drawings, tmp_path):
    before = mpl.rcParams.copy()
    for name in ("zipper", "nested"):
        save_figure(drawings[name](), tmp_path / "figure")
    assert dict(mpl.rcParams) == dict(before)
    assert pyplot.get_fignums() == []


def test_a_matplotlibrc_of_the_readers_makes_no_difference(drawings, tmp_path):
    own = {"axes.grid": True, "axes.unicode_minus": False, "lines.linewidth": 9, "font.size": 30}
    plain = save_figure(drawings["nested"](), tmp_path / "plain")
    with mpl.rc_context(own):
        styled = save_figure(drawings["nested"](), tmp_path / "styled")
    assert plain[1].read_bytes() == styled[1].read_bytes()


def test_minus_signs_are_minus_signs(drawings):
    figure = drawings["zipper"]()
    figure.draw_without_rendering()
    ticks = [text.get_text() for text in figure.axes[-1].get_xticklabels()]
    assert any(text.startswith("−") for text in ticks)


def test_letters_that_the_font_lacks_are_one_warning(measured, tmp_path):
    with pytest.warns(UserWarning, match="yph") as said:
        figure = plot_coverage(measured, labels={"paper": "中文字", "L": "字"})
        save_figure(figure, tmp_path / "letters")
    # libraries may tell each other of coming changes meanwhile
    assert len([one for one in said if "eprecat" not in str(one.message)]) == 1


@pytest.mark.slow
def test_two_hundred_figures_leave_nothing_behind(drawings, tmp_path):
    """Objects alive after 200 figures are those after 20. Control: figures that are kept."""
    one = {"where": {"epsilon": "2", "L": "0", "n": 100, "method": "paper"}, "rows": None}

    def alive(count, kept):
        for _ in range(count):
            figure = drawings["qq"](**one)
            save_figure(figure, tmp_path / "figure")
            kept.append(figure)
            del kept[:-1]
        gc.collect()
        return len(gc.get_objects())

    first = alive(20, [])
    assert abs(alive(180, []) - first) < 500
    figures = [drawings["qq"](**one) for _ in range(3)]
    gc.collect()
    assert len(figures) == 3 and len(gc.get_objects()) - first > 500


def test_figures_are_saved_whatever_backend_is_asked_for(tmp_path):
    code = (
        "from matplotlib.figure import Figure\n"
        "from p0sim.report.figures import save_figure\n"
        "figure = Figure(); figure.subplots().plot([1, 2]); save_figure(figure, 'x')\n"
    )
    environment = {**os.environ, "MPLBACKEND": "TkAgg", "PYTHONPATH": os.getcwd()}
    environment.pop("DISPLAY", None)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "x.png").stat().st_size > 0


def test_marks_of_many_series_stay_apart():
    marks = [mark_of(series) for series in range(16)]
    assert len({(mark.marker, mark.filled) for mark in marks}) == 16


def test_series_differ_in_marker_and_line_not_in_colour_alone(measured):
    assert len(plot_coverage(measured).legends[0].legend_handles) == 3 + 1
    assert len({mark_of(series).marker for series in range(8)}) == 8
    assert len({mark_of(series).linestyle for series in range(4)}) == 4


def qq_of(study):
    cells, replicates, estimates = study
    return plot_qq(qq_summary(estimates, cells, replicates), cells)


def test_categorical_keys_make_no_difference(study):
    cells, replicates, estimates = study
    keys = {"cell": "category", "method": "category"}
    coded = performance(cells, replicates.astype(keys), estimates.astype(keys))
    pd.testing.assert_frame_equal(performance(cells, replicates, estimates), coded)
    coded = qq_summary(estimates, cells, replicates).astype(keys)
    assert texts(plot_qq(coded, cells)) == texts(qq_of(study))


def on_few(frame, where, used=5):
    """The frame as if these rows rested on few estimates and were 0."""
    hit = where & frame["value"].notna()
    low = frame["value"].where(~hit, 0.01)
    return frame.assign(n_used=frame["n_used"].mask(hit, used), value=low)


def joined(axis):
    """Finite points of every line that joins points."""
    lines = [line for line in axis.lines if line.get_linestyle() not in {"None", "none", ""}]
    return [np.asarray(line.get_ydata())[np.isfinite(line.get_ydata())] for line in lines]


def legend_of(legend):
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize(("used", "apart"), [(29, True), (30, False)])
def test_no_line_plunges_to_a_coverage_of_few_estimates(measured, used, apart):
    figure = plot_coverage(on_few(measured, measured["L_rule"] == "sqrt(log(n))", used), x="L")
    assert bool(min(ys.min() for ys in joined(figure.axes[0])) > 50) is apart
    small = [line for line in figure.axes[0].lines if line.get_markersize() == 2.5]
    assert [float(line.get_ydata()[0]) for line in small if line.get_marker() in "os^"] == (
        [1.0] * 3 if apart else []
    )
    assert ("fewer than 30 estimates" in legend_of(figure.legends[0])) is apart


def test_no_line_skips_over_a_point_on_few_estimates(measured):
    figure = plot_coverage(on_few(measured, measured["L_rule"] == "log(log(n))"), x="L")
    line = figure.axes[0].containers[0].lines[0]
    assert np.isnan(line.get_ydata()).tolist() == [False, True, False, True]


def test_coverage_of_nothing_but_few_estimates_is_drawn(measured, tmp_path):
    save_figure(plot_coverage(measured.assign(n_used=3), x="L"), tmp_path / "few")
    save_figure(plot_consistency(measured.assign(n_used=3)), tmp_path / "rates")


def test_rates_leave_points_on_few_estimates_out(growing):
    part = growing[growing["L_rule"] == "0"]
    whole = plot_consistency(part[part["n"] < 400])
    figure = plot_consistency(on_few(part, part["n"] == 400))
    wanted, got = (legend_of(made.axes[0].get_legend()) for made in (whole, figure))
    assert got[:3] == wanted[:3]
    assert got[-1] == "fewer than 30 estimates"
    assert plot_consistency(on_few(part, part["n"] > 0)) is not None


def test_the_cross_of_no_estimate_stands_below_the_axis(measured):
    figure = plot_coverage(measured, x="L")
    figure.draw_without_rendering()
    axis = figure.axes[0]
    crosses = [line for line in axis.lines if line.get_marker() == "x"]
    heights = [line.get_transform().transform(line.get_xydata())[0, 1] for line in crosses]
    assert max(heights) < axis.get_window_extent().y0
    assert not any(line.get_clip_on() for line in crosses)
