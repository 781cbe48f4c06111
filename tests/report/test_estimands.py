"""Of thousands of estimands a report shows a few and says so."""

import numpy as np
import pandas as pd
import pytest

from p0sim.report.estimands import few_estimands, leading
from p0sim.report.figures import plot_coverage, plot_est_se, plot_qq
from p0sim.report.page import write_report
from p0sim.report.tables import paper_table
from tests.report.fake_material import material_of
from tests.report.fake_study import texts
from tests.report.test_figure_slices import bare_study
from tests.report.test_page import Reader

ONE_CELL = pd.DataFrame({"cell": ["c1"], "n": [1000], "target_reps": 5})


def material_with(names, pools=None, methods=("mine",), reps=5):
    """One cell; every estimand has the same estimates. A pool copies the rows of the first."""
    estimates, cells, replicates = bare_study(ONE_CELL, methods, reps)
    estimates = pd.concat([estimates.assign(estimand=name) for name in names], ignore_index=True)
    made = material_of(cells, replicates, estimates, labels={})
    rows = made.performance[made.performance["estimand"] == names[0]]
    pooled = [rows.assign(estimand=name) for name in pools or ()]
    made.study["measures"] = {"pool": dict.fromkeys(pools or (), "alpha[*]")}
    whole = pd.concat([made.performance, *pooled], ignore_index=True)
    return type(made)(**{**vars(made), "performance": whole})


SINGLES = [f"alpha[{i}]" for i in range(1, 400)]


def test_pools_come_before_contrasts_before_single_parameters():
    made = material_with([*SINGLES[:9], "alpha[1]-alpha[2]"], pools=["senders"])
    chosen = few_estimands(made, most=3)
    assert list(dict.fromkeys(chosen.material.performance["estimand"])) == [
        "theta", "senders", "alpha[1]-alpha[2]", "alpha[1]",
    ]  # fmt: skip
    assert chosen.n_left_out == 11 - len(chosen.shown)
    assert set(chosen.material.qq["estimand"]) == {"alpha[1]-alpha[2]", "alpha[1]", "alpha[2]"}


def test_every_cell_has_its_own_few_and_methods_keep_their_order():
    names = pd.DataFrame({"estimand": ["a", "b", "c"]})
    keys = pd.DataFrame({"cell": ["c1", "c1", "c2"], "method": ["y", "x", "y"]})
    frame = keys.merge(names, how="cross")
    frame.loc[frame["cell"] == "c2", "estimand"] = ["p", "q", "r"]
    kept = leading(frame, 2)
    assert kept["estimand"].tolist() == ["a", "b", "a", "b", "p", "q"]
    assert kept["method"].tolist() == ["y", "y", "x", "x", "y", "y"]


def test_a_report_of_hundreds_of_estimands_has_five_panels_and_says_so(tmp_path, monkeypatch):
    panels = []
    draw = plot_qq

    def counted(*arguments, **options):
        figure = draw(*arguments, **options)
        panels.append(sum(axis.axison for axis in figure.axes))
        return figure

    monkeypatch.setattr("p0sim.report.gallery.figures.plot_qq", counted)
    page = Reader(write_report(material_with(SINGLES), tmp_path).read_text("utf-8"))
    assert max(panels) <= 5
    assert "394 others are left out; p0sim plot DIR KIND --where estimand=..." in page.text
    assert "349 of 399 estimands are left out;" in page.text


def test_a_table_of_fifty_estimands_is_whole():
    assert len(paper_table(material_with(SINGLES[:49]).performance).frame) == 49


def test_a_figure_with_too_many_panels_shows_the_first_and_counts_the_others():
    made = material_with(SINGLES[:30])
    figure = plot_qq(made.qq, made.cells)
    assert len(figure.axes) == 12
    assert "18 of 30 levels of estimand left out" in figure.get_suptitle()
    chosen = plot_qq(made.qq, made.cells, where={"estimand": "alpha[30]"})
    assert "alpha_{30}" in chosen.get_suptitle()


def test_a_dozen_methods_of_one_setting_are_no_strip():
    made = material_with(["mean"], methods=[f"m{i}" for i in range(1, 12)])
    figure = plot_qq(made.qq, made.cells)
    width, height = figure.get_size_inches()
    assert height < 1.6 * width
    assert [axis.get_title() for axis in figure.axes if axis.axison] == [
        f"m{i}" for i in range(1, 12)
    ]
    assert "not in" not in texts(figure)


def test_equal_standard_errors_have_one_tick():
    made = material_with(["mean"])
    axis = plot_est_se(made.points, made.cells).axes[0]
    assert [text.get_text() for text in axis.get_yticklabels()] == ["1"]


@pytest.mark.parametrize("plot", [plot_qq, plot_est_se])
def test_a_study_without_contrasts_has_no_such_figure(plot):
    made = material_with(["mean"])
    frame = made.qq if plot is plot_qq else made.points
    with pytest.raises(ValueError, match=r"a study must have contrasts .*; got none"):
        plot(frame.iloc[:0], made.cells)


def test_the_legend_of_a_dozen_long_names_stands_below_the_axis():
    labels = {f"m{i}": f"method {i} with a long label that no axis has room for" for i in range(12)}
    made = material_with(["mean"], methods=list(labels), reps=40)
    figure = plot_coverage(made.performance, labels=labels)
    figure.draw_without_rendering()
    bottom = figure.axes[0].get_tightbbox().y0
    assert figure.legends[0].get_window_extent().y1 <= bottom
    assert np.isfinite(bottom)


def test_long_levels_of_a_factor_leave_room_for_the_panel():
    levels = [f"a level whose name is rather long {i}" for i in range(6)]
    cells = pd.DataFrame({"cell": [f"c{i}" for i in range(6)], "shape": levels, "target_reps": 40})
    estimates, cells, replicates = bare_study(cells)
    figure = plot_coverage(material_of(cells, replicates, estimates, labels={}).performance)
    figure.draw_without_rendering()
    assert figure.axes[0].get_window_extent().height > 100
    assert figure.legends[0].get_window_extent().y1 <= figure.axes[0].get_tightbbox().y0 + 1
