"""Which columns are an edge list, and when the others are in the way."""

from __future__ import annotations

import pytest

from p0sim.model.edge_columns import edge_columns
from tests.oracles.refusals import refusal


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["source", "target"], (0, 1, None)),
        (["WEIGHT", " Target ", "Source"], (2, 1, 0)),
        (["", "source", "target", "weight", "year"], (1, 2, 3)),
        # row numbers that pandas saved beside the columns
        (["", "source", "target"], (1, 2, None)),
        (["source", "target", "__index_level_0__"], (0, 1, None)),
        (["from", "to", "weight"], None),
        ([0, 1, 2], None),
    ],
)
def test_columns_are_found_by_name(names, found):
    assert edge_columns(names) == found


@pytest.mark.parametrize("other", ["count", "wieght", "weights", "year", "w"])
def test_another_column_where_the_weight_should_be_is_refused(other):
    refusal(lambda: edge_columns(["source", "target", other]), repr(other), "no weight")


def test_a_column_that_stands_twice_is_refused():
    refusal(lambda: edge_columns(["source", "target", "Weight", "weight"]), "weight", "once", "2")
