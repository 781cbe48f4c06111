"""Tables of numbers without a truth: what a cell says, where things stand, how many digits."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pandas as pd
import pytest

from p0sim.performance.summarise import performance
from p0sim.report.page import readme_table
from p0sim.report.precision import cell_texts, places_by_estimand
from p0sim.report.tables import MOST_TEXT, paper_table
from p0sim.report.template import CELL, CELL_OF_ERRORS, default_cell
from tests.report.fake_means import LABELS, means_study


@pytest.fixture(scope="module")
def frames():
    return means_study(epsilons=(0.1,))


@pytest.fixture(scope="module")
def means(frames):
    return performance(*frames, reference="uniform")


def changed(frames, **columns):
    cells, replicates, estimates = frames
    return performance(cells, replicates, estimates.assign(**columns), reference="uniform")


def test_the_cell_falls_back_from_coverage_to_errors_to_means(frames, measured):
    assert default_cell(measured) == CELL
    assert default_cell(changed(frames, true_value=0.1)) == CELL_OF_ERRORS
    assert default_cell(changed(frames)) == "{mean} ({mean_mcse})"
    cells, replicates, estimates = frames
    lost = replicates["rep"] == 1
    some = performance(
        cells,
        replicates.assign(status=np.where(lost, "no_estimate", "ok")),
        estimates[estimates["rep"] != 1],
    )
    assert default_cell(some) == "{mean} ({mean_mcse}) [{fail_rate}]"


def test_where_every_fit_failed_there_is_nothing_to_fall_back_to(frames):
    cells, replicates, estimates = frames
    failed = replicates.assign(status="no_estimate")
    assert default_cell(performance(cells, failed, estimates.iloc[:0])) != "{mean} ({mean_mcse})"


def test_one_number_is_a_table_of_one_line(means):
    alone = means[(means["estimand"] == "map") & (means["method"] == "uniform")]
    alone = alone[alone["cell"] == alone["cell"].iloc[0]]
    grid = paper_table(alone).grid
    assert grid.row_names == ("estimand",)
    assert len(grid.lines) == 1


def test_rows_are_datasets_and_columns_methods_within_protocols(means):
    grid = paper_table(means, labels=LABELS).grid
    assert grid.row_names == ("dataset",)
    assert [str(head) for head in grid.columns[0]] == ["protocol = CN", "sharp"]
    assert [str(column[0]) for column in grid.columns[::4]] == ["protocol = CN", "protocol = AA"]
    groups = list(dict.fromkeys(str(line.group[0]) for line in grid.lines))
    assert groups == ["MAP", "queries used", "realised epsilon, worst query"]


def test_a_cell_is_the_mean_and_its_error_of_the_rows(means, frames):
    """Oracle: the estimates of one cell, the standard library's mean and standard deviation."""
    _, _, estimates = frames
    mine = estimates[
        (estimates["cell"] == "c00")
        & (estimates["method"] == "nonprivate")
        & (estimates["estimand"] == "map")
    ]["estimate"].tolist()
    printed = paper_table(means).grid.lines[0].cells[3]
    value, error = printed.rstrip(")").split(" (")
    mcse = statistics.stdev(mine) / math.sqrt(len(mine))
    assert float(value) == pytest.approx(statistics.mean(mine), abs=0.5001e-3)
    assert float(error) == pytest.approx(mcse, abs=0.5001e-3)


def test_counts_have_no_decimals_and_what_is_missing_is_one_dash(means):
    lines = paper_table(means).grid.lines
    assert set(lines[2].cells) == {"120 (0)"}
    assert lines[4].cells[3] == "–"


def test_each_estimand_has_digits_of_its_own():
    rows = pd.DataFrame({
        "estimand": ["map", "gamma", "map", "gamma"], "value": [0.31234, 812.4, 0.2, 911.6],
        "mcse": [0.0021, 7.0, 0.0034, 5.0], "n_used": 9,
    })  # fmt: skip
    places = places_by_estimand("mean", rows)
    assert places == [3, 0, 3, 0]
    assert cell_texts("{mean}", {"mean": rows}, {"mean": places}) == [
        "0.312",
        "812",
        "0.200",
        "912",
    ]


def test_a_study_of_many_lines_shows_its_first_estimand_and_says_how_to_see_the_others():
    table = paper_table(performance(*means_study(epsilons=tuple(range(1, 31)), reps=2)))
    assert table.grid.row_names == ("dataset", "epsilon")
    assert len(table.grid.lines) == 2 * 30
    note = table.grid.note
    assert "Estimand: map." in note
    assert (
        "2 of 3 estimands are left out; --where estimand=NAME shows one of them: queries_used, "
        "realised_epsilon_worst." in note
    )


def test_further_estimands_are_shown_while_the_text_is_short(means):
    """The control has a line more an estimand, and cannot show all of them."""
    assert "left out" not in paper_table(means).grid.note
    longer = paper_table(performance(*means_study(epsilons=tuple(range(1, 5)), reps=2)))
    assert "1 of 3 estimands are left out" in longer.grid.note
    assert longer.to_text().count("\n") < MOST_TEXT


def test_an_estimand_that_is_asked_for_has_the_layout_of_the_first(means):
    grid = paper_table(means, where={"estimand": "queries_used"}, labels=LABELS).grid
    assert grid.row_names == ("dataset",)
    assert [str(head) for head in grid.columns[0]] == ["protocol = CN", "sharp"]
    assert "Estimand: queries used." in grid.note and "left out" not in grid.note


def texts(values, errors):
    rows = pd.DataFrame({"estimand": "map", "value": values, "mcse": errors, "n_used": 9})
    measured = {"mean": rows, "mean_mcse": rows.assign(value=rows["mcse"])}
    places = {name: places_by_estimand(name, found) for name, found in measured.items()}
    return cell_texts("{mean} ({mean_mcse})", measured, places)


def test_an_error_is_0_in_print_only_if_it_is_0():
    assert texts([0.0712, 0.31, 0.2], [0.0004, 0.02, 0.03]) == [
        "0.0712 (0.0004)", "0.31 (0.02)", "0.20 (0.03)",
    ]  # fmt: skip
    assert texts([2.9e-5, 0.31], [0.0, 0.02]) == ["0.000029 (0)", "0.31 (0.02)"]
    assert texts([2.91e-9, 0.31], [0.0, 0.02])[0] == "2.9e-09 (0)"


def test_numbers_without_errors_have_three_digits_and_huge_ones_powers_of_ten():
    assert texts([0.07123, 46.51], [np.nan, np.nan]) == ["0.0712 (–)", "46.5 (–)"]
    assert texts([3.6044e12, 8931.8], [2e10, 3.0]) == ["3.6044e+12 (2e+10)", "8932 (3)"]


def test_an_error_of_rounding_alone_is_0(frames):
    cells, replicates, estimates = frames
    same = estimates.assign(
        estimate=estimates["estimate"].where(estimates["estimand"] != "map", 0.1)
    )
    printed = paper_table(performance(cells, replicates, same)).grid.lines[0].cells[0]
    assert printed == "0.10 (0)" or printed == "0.100 (0)"


def test_what_needs_a_truth_is_a_dash_and_the_note_says_why(means):
    table = paper_table(means, cell="{bias} [{fail_rate}]").grid
    assert {cell for line in table.lines for cell in line.cells} == {"– [0]"}
    assert "– for bias also where an estimate has no true value or no interval" in table.note
    assert "true value" not in paper_table(means).grid.note


def test_a_note_on_a_study_with_truths_speaks_of_none(measured):
    assert "true value" not in paper_table(measured).grid.note


def test_the_error_of_any_measure_can_be_printed(means, measured):
    grid = paper_table(means, cell="{mean_diff} ({mean_diff_mcse})").grid
    names = [str(column[-1]) for column in grid.columns]
    cell = grid.lines[0].cells[names.index("nonprivate")]
    assert cell.startswith("+0.4") and cell.endswith(")")
    shares = paper_table(measured, cell="{coverage} ({coverage_mcse})", where={"n": 100})
    row = measured[measured["measure"] == "coverage"].iloc[0]
    assert shares.frame["coverage_mcse_pct"].iloc[0] == pytest.approx(100 * row["mcse"], abs=0.5)


def test_a_wide_table_is_a_block_of_text_for_code_hosts_and_a_narrow_one_a_pipe_table(means):
    narrow = paper_table(means, where={"protocol": "CN"})
    assert len(narrow.grid.columns) == 4
    assert readme_table(narrow).startswith("| dataset |")
    wide = paper_table(performance(*means_study(protocols=("CN", "AA", "JC"), reps=2)))
    lines = readme_table(wide).splitlines()
    assert (lines[0], lines[-1]) == ("```text", "```")
    assert not any("|" in line for line in lines)
    assert max(map(len, lines)) <= 100
