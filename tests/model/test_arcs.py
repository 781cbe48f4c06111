"""Labels of arcs as text, and what is said about pairs and sums."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from p0sim.model.arcs import Arcs, distinct_ends, objects, summed
from tests.oracles.refusals import refusal


def place(k: int) -> str:
    return f"at {k}"


def arcs(source, target) -> Arcs:
    return Arcs(np.asarray(source), np.asarray(target), np.ones(len(source)), place)


def test_equal_values_with_different_text_are_different_labels():
    """1, 1.0 and "1.0": equal or not as numbers, the text decides."""
    mixed = objects([1, 1.0, "1", "1.0", True])
    sources, _, found = distinct_ends(arcs(mixed, objects("abcde")))
    assert [found[k] for k in sources] == ["1", "1.0", "1", "1.0", "True"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64, object])
def test_whole_numbers_are_labels(dtype):
    sources, targets, found = distinct_ends(
        arcs(np.array([5, 100], dtype), np.array([100, 7], dtype))
    )
    assert [found[k] for k in sources] == ["5", "100"]
    assert [found[k] for k in targets] == ["100", "7"]


def test_text_and_numbers_that_read_alike_are_one_label():
    _, _, found = distinct_ends(arcs([1, 2], objects(["2", "3"])))
    assert sorted(found) == ["1", "2", "3"]


@pytest.mark.parametrize("kind", [np.float64, "datetime64[D]", bool])
def test_other_kinds_of_ids_are_refused(kind):
    """A column of whole numbers with a gap becomes 1.0, 2.0 in pandas: not the ids of the file."""
    refusal(
        lambda: distinct_ends(arcs(np.array([1, 0], dtype=kind), objects("ab"))), "text or whole"
    )


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, ""])
def test_missing_ids_are_named_with_their_place(missing):
    refusal(lambda: distinct_ends(arcs(objects(["a", missing]), objects("bc"))), "label", "at 1")
    refusal(lambda: distinct_ends(arcs(np.array([1.0, np.nan]), objects("bc"))), "nan", "at 1")


def test_sums_that_pass_every_integer_are_refused_not_wrapped():
    """2**23 rows of weight 2**41 - 1 for one pair sum to 2**64 - 2**23: as int64 it is negative."""
    rows = 2**23
    i, j = np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.int64)
    weight = np.full(rows, 2**41 - 1)
    refusal(lambda: summed(i, j, weight, 2**41, 3, place, clip=False), "at most q-1", "at 0")
    assert summed(i, j, weight, 2**41, 3, place, clip=True)[2].tolist() == [2**41 - 1]
