"""What epsilon is in a study of lists: numbers of its own rows, in words and in a table."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from p0sim.report.calibration_note import calibration_note, private_lines
from p0sim.report.quantities import QUANTITIES
from tests.report.fake_material import fake_material
from tests.report.fake_means import means_material

MAP = QUANTITIES["link_prediction"][0]


@pytest.fixture(scope="module")
def material():
    return means_material()


@pytest.fixture(scope="module")
def note(material):
    return calibration_note(material)


def test_other_studies_have_none():
    assert calibration_note(fake_material()) is None
    assert calibration_note(means_material(reference="sharp")) is None


def test_lines_are_averages_over_data_of_the_rows_of_the_study(material):
    """Oracle: the four cells of one epsilon, read off the frame."""
    lines = private_lines(material, MAP).set_index(["method", "epsilon"])
    frame = material.performance
    mine = frame[
        (frame["method"] == "sharp") & (frame["epsilon"] == 1) & (frame["estimand"] == "map")
    ]
    assert len(mine[mine["measure"] == "mean"]) == 4
    line = lines.loc[("sharp", 1.0)]
    for column, measure in (("value", "mean"), ("gap", "mean_diff")):
        assert line[column] == pytest.approx(mine.loc[mine["measure"] == measure, "value"].mean())
    assert line["mcse"] == pytest.approx(mine.loc[mine["measure"] == "mean", "mcse"].mean())
    assert (line["least"], line["most"]) == pytest.approx((0.1, 0.1))
    assert set(lines.index.get_level_values("method")) == {"sharp", "published"}


def test_what_is_realised_stands_beside_what_is_claimed(note):
    assert note.table.grid.columns[0][0].level == "epsilon claimed"
    cells = {(line.labels[0], line.cells[0]): line.cells[1] for line in note.table.grid.lines}
    assert cells["sharp", "10"] == "1"
    assert cells["Published, not private", "0.1"] == "50"
    assert "Realised of the claimed epsilon: sharp, 10 %." in note.sentences


def test_lists_that_say_more_than_a_uniform_draw_are_told_from_those_that_do_not(material, note):
    said = " ".join(note.sentences)
    frame = material.performance
    drawn = frame[
        (frame["method"] == "uniform") & (frame["epsilon"] == 0.1) & (frame["estimand"] == "map")
    ]
    told = float(re.search(r"uniform draw has a mean MAP of ([\d.]+) \(", said)[1])
    expected = drawn.loc[drawn["measure"] == "mean", "value"].mean()
    assert told == pytest.approx(expected, abs=0.5001e-3)
    silent = material.performance.assign()
    gap = (silent["method"] == "sharp") & (silent["measure"] == "mean_diff")
    silent.loc[gap, "value"] = 0.001
    flat = " ".join(calibration_note(replace(material, performance=silent)).sentences)
    assert "Not told from a uniform draw by that mean: sharp, +0.001" in flat


def test_a_sensitivity_by_hand_is_called_not_private_with_what_it_realises(note):
    said = " ".join(note.sentences)
    assert "realised at a claimed epsilon of 0.1: Published, not private, 50." in said
    assert "not private at the epsilon stated" in said


def test_methods_by_hand_are_not_among_those_compared(note):
    assert not any("Published" in text for text in note.sentences[:-1])


def test_without_an_error_nothing_is_told_apart_and_no_sentence_breaks(material):
    """As after one replicate. No winner is named by counting cells, here or elsewhere."""
    single = material.performance.assign(mcse=math.nan)
    note = calibration_note(replace(material, performance=single))
    said = " ".join(note.sentences)
    assert "Without a Monte Carlo standard error no method can be told from it." in said
    assert "over the cells" not in said and "highest" not in said
    assert {line.cells[-1] for line in note.table.grid.lines} == {"–"}
