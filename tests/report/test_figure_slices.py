"""Which settings a report must hold fixed to show everything; studies of every shape."""

import numpy as np
import pandas as pd
import pytest

from p0sim.errors import InvalidStudyError
from p0sim.performance.quantiles import points_summary, qq_summary, zipper_summary
from p0sim.performance.summarise import performance
from p0sim.report.figures import (
    plot_coverage,
    plot_est_se,
    plot_nested,
    plot_qq,
    plot_zipper,
    save_figure,
    slices,
    with_factors,
)
from p0sim.report.selection import select


def test_slices_show_every_target_once(study, summaries):
    cells, _, _ = study
    targets = with_factors(summaries["qq"], cells)
    found = [select(targets, where) for where in slices(targets, inside=("method", "epsilon"))]
    together = pd.concat(found)
    assert len(together) == len(targets) == len(together.drop_duplicates())
    assert all(len(part) == 3 * 3 for part in found)


def test_each_slice_draws_a_figure_whose_title_names_it(study, summaries):
    cells, _, _ = study
    targets = with_factors(summaries["qq"], cells)
    where = slices(targets, inside=("method", "epsilon"))[5]
    assert where == {"n": "100", "L": "log(log(n))", "estimand": "alpha[99]-alpha[100]"}
    figure = plot_qq(summaries["qq"], cells, cols="epsilon", where=where)
    assert figure.get_suptitle() == (
        r"$n$ = 100, $q$ = 2, $L$ = $\log\log n$, $\alpha_{99}-\alpha_{100}$"
    )


def test_holes_in_the_design_are_no_slices(measured):
    rows = measured[measured["measure"] == "coverage"]
    part = rows[~((rows["n"] == 100) & (rows["L_rule"] == "0"))]
    inside = ("method", "epsilon", "estimand")
    assert {"n": "100", "L": "0"} not in slices(part, inside)
    assert len(slices(part, inside)) == 7


def test_nothing_to_hold_fixed_is_one_slice(measured):
    rows = measured[measured["measure"] == "fail_rate"]
    assert slices(rows, inside=("method", "epsilon", "n", "L")) == [{}]


def test_an_unknown_factor_is_refused(measured):
    with pytest.raises(InvalidStudyError, match=r"a factor must be one of .*; got 'eps'"):
        slices(measured, inside=("eps",))


def test_a_rule_that_looks_like_the_number_of_another_means_the_rule():
    frame = pd.DataFrame({"L": [2.0, 2.0], "L_rule": ["2", "log(n)"], "method": "paper"})
    assert select(frame, {"L": "2"})["L_rule"].tolist() == ["2"]
    assert select(frame, {"L": "log(n)"})["L_rule"].tolist() == ["log(n)"]


def bare_study(cells, methods=("mine",), reps=40):
    """A custom study: standard normal errors in any cells."""
    rng = np.random.default_rng(1)
    rows = [
        pd.DataFrame({"cell": cell, "method": method, "rep": np.arange(1, reps + 1)})
        for cell in cells["cell"]
        for method in methods
    ]
    replicates = pd.concat(rows, ignore_index=True).assign(status="ok", sup_error=np.nan)
    z = rng.normal(size=len(replicates))
    estimates = replicates[["cell", "method", "rep"]].assign(
        estimand="mean", estimate=z, std_error=1.0, lower=z - 2, upper=z + 2, true_value=0.0, z=z
    )
    return estimates, cells, replicates


SHAPES = {
    "one cell, no factor": pd.DataFrame({"cell": ["c1"], "target_reps": 40}),
    "words": pd.DataFrame({"cell": ["c1", "c2"], "shape": ["flat", "steep"], "target_reps": 40}),
    "names of columns": pd.DataFrame(
        {"cell": ["c1", "c2"], "row": [1, 2], "z": [3, 3], "rank": [1, 1]}
    ),
    "a missing level": pd.DataFrame({"cell": ["c1", "c2"], "size": [1.0, np.nan]}),
    "words that cost $5": pd.DataFrame({"cell": ["c1", "c2"], "a_b": ["$5 & 50 %", "x^2"]}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_studies_of_every_shape_are_drawn(shape, tmp_path):
    estimates, cells, replicates = bare_study(SHAPES[shape])
    measured = performance(cells, replicates, estimates)
    figures = [
        plot_qq(qq_summary(estimates, cells, replicates), cells),
        plot_zipper(zipper_summary(estimates, cells, replicates), cells),
        plot_est_se(points_summary(estimates, cells, replicates), cells),
        plot_coverage(measured),
        plot_nested(measured),
    ]
    for figure in figures:
        save_figure(figure, tmp_path / "figure")


def test_panels_may_be_a_factor_called_row():
    estimates, cells, replicates = bare_study(SHAPES["names of columns"])
    figure = plot_qq(qq_summary(estimates, cells, replicates), cells)
    assert [axis.get_title() for axis in figure.axes] == ["row = 1", "row = 2"]
