"""Matrices of objects, whose entries have to be looked at one by one."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd

import p0sim as p0
from tests.oracles.refusals import refusal


def test_objects_are_read_as_numbers():
    matrix = [[0, Decimal(1), "2"], [1.0, 0, 0], [0, "0.0", 0]]
    assert p0.bidegree(np.array(matrix, dtype=object), q=3).out_degree.tolist() == [3, 1, 0]


def test_a_bad_entry_of_an_object_matrix_is_named_by_its_nodes():
    """q = 3: the rule says 0..2 and not the largest number there is."""
    for bad in (None, pd.NA, 0.5, "x", 3):
        matrix = np.zeros((3, 3), dtype=object)
        matrix[1, 2] = bad
        refusal(lambda matrix=matrix: p0.bidegree(matrix, q=3), "0..q-1 = 2", "from 2 to 3")


def test_a_frame_of_nullable_integers_is_read():
    frame = pd.DataFrame([[0, 1, 2], [0, 0, 0], [0, 0, 0]], dtype="Int64")
    assert p0.bidegree(frame, q=3).out_degree.tolist() == [3, 0, 0]
    frame.iloc[0, 1] = pd.NA
    refusal(lambda: p0.bidegree(frame, q=3), "<NA>", "from 0 to 1")


def test_text_and_complex_matrices_are_refused():
    for dtype in (str, complex):
        refusal(lambda dtype=dtype: p0.bidegree(np.zeros((3, 3), dtype=dtype), q=3), "numbers")
