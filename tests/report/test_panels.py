"""Panels: at most four columns, whatever the factors; titles that are true in every panel."""

import pandas as pd
import pytest

from p0sim.report.lists_text import OF_DRAWS
from p0sim.report.panels import MOST_ABREAST, lay_out
from p0sim.report.selection import ONLY_AT


def panels_of(n_rows, n_cols):
    """Factors a over the rows and b over the columns, one row of the frame each pair."""
    pairs = [(f"a{i}", f"b{j}") for i in range(n_rows) for j in range(n_cols)]
    frame = pd.DataFrame(pairs, columns=["a", "b"]).assign(method="paper")
    return lay_out(frame, "a", "b", None, None, inside=("method",)).abreast()


def places(panels):
    """The pair of levels shown in every place of the grid."""
    pairs = panels.frame["a"] + panels.frame["b"]
    return dict(zip(zip(panels.row_of, panels.col_of, strict=True), pairs, strict=True))


@pytest.mark.parametrize(
    ("size", "grid"),
    [
        ((3, 4), (3, 4)),
        ((4, 7), (7, 4)),
        ((3, 5), (5, 3)),
        ((2, 7), (4, 4)),
        ((5, 7), (10, 4)),
        ((1, 5), (2, 3)),
        ((5, 1), (2, 3)),
        ((1, 4), (1, 4)),
        ((4, 1), (4, 1)),
    ],
)
def test_no_figure_has_more_than_four_columns_and_none_loses_a_panel(size, grid):
    panels = panels_of(*size)
    assert (len(panels.rows), len(panels.cols)) == grid
    assert len(panels.cols) <= MOST_ABREAST
    shown = places(panels)
    assert len(set(shown.values())) == len(shown) == size[0] * size[1]
    assert {row for row, _ in shown} == set(panels.rows)


def test_few_rows_of_many_columns_turn_and_keep_their_titles():
    panels = panels_of(4, 7)
    assert panels.rows == [f"b{j}" for j in range(7)]
    assert panels.titles["col", "a2"] == "a = a2"
    assert panels.titles["row", "b5"] == "b = b5"
    assert places(panels)["b5", "a2"] == "a2b5"


def test_panels_that_go_on_below_name_both_levels_and_start_each_row_anew():
    panels = panels_of(2, 7)
    titles = {panels.above[place]: pair for place, pair in places(panels).items()}
    assert titles == {
        f"b = b{j}, a = a{i}": f"a{i}b{j}" for i in range(2) for j in range(7)
    }  # fmt: skip
    assert places(panels)[panels.rows[2], "0"] == "a1b0"


def lists(**columns):
    return pd.DataFrame({"calibration": "sharp", "method": "private", **columns})


def fixed(frame, **how):
    return lay_out(frame, None, "mechanism", None, None, inside=("method",), **how).fixed


def test_a_title_does_not_give_a_calibration_to_mechanisms_that_refuse_one():
    both = lists(mechanism=["dplp", "laplace", "gaussian", "exponential"])
    assert fixed(both) == ("calibration = sharp (dplp, exponential)",)
    assert fixed(lists(mechanism=["dplp", "exponential"])) == ("calibration = sharp",)
    assert fixed(lists(mechanism=["laplace", "gaussian"])) == ("calibration = sharp (not used)",)


def test_the_mechanisms_with_a_calibration_are_those_whose_calibrations_are_described():
    assert ONLY_AT["calibration"] == ("mechanism", tuple(OF_DRAWS))
