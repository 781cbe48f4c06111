"""What a bi-degree accepts, keeps and refuses."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import p0sim as p0
from tests.oracles.refusals import refusal


def test_sums_are_rows_out_and_columns_in():
    """By hand: a -> b has weight 1, b -> a weight 2; reading them as undirected mixes them."""
    degrees = p0.bidegree([[0, 1, 0], [2, 0, 0], [0, 0, 0]], q=3, nodes=["a", "b", "c"])
    np.testing.assert_array_equal(degrees.out_degree, [1, 2, 0])
    np.testing.assert_array_equal(degrees.in_degree, [2, 1, 0])
    assert degrees.nodes == ("a", "b", "c")
    assert degrees.q == 3


def test_totals_agree_before_noise():
    """Every arc leaves one node and reaches one."""
    weights = np.random.default_rng(0).integers(0, 4, (30, 30))
    np.fill_diagonal(weights, 0)
    degrees = p0.bidegree(weights, q=4)
    assert degrees.out_degree.sum() == degrees.in_degree.sum() == weights.sum()


def test_degrees_are_read_only_copies():
    out_degree = np.array([1, 1, 0])
    degrees = p0.BiDegree(out_degree, [0, 1, 1], q=2)
    out_degree[0] = 0
    assert degrees.out_degree[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        degrees.in_degree[0] = 1


def test_whole_degrees_stay_integers():
    """int64 for counts of any integer kind, so that a release shows no 3.0."""
    for dtype in (np.uint8, np.int32, np.int64, np.uint64):
        degrees = p0.BiDegree(np.array([2, 1, 0], dtype), np.array([0, 1, 2], dtype), q=3)
        assert degrees.out_degree.dtype == np.int64


def test_large_degrees_stay_exact():
    """2**53 + 1 is not a float; weights up to 2**40 on 9000 nodes reach beyond it."""
    q, n = 2**40 + 1, 9000
    top = (n - 1) * 2**40
    degrees = p0.BiDegree(np.full(n, top - 1), np.full(n, top - 1), q=q)
    assert int(degrees.out_degree[0]) == top - 1


def test_default_labels_count_from_one():
    assert p0.BiDegree([1, 1, 1], [1, 1, 1], q=2).nodes == ("1", "2", "3")


def test_labels_are_shared_and_outlive_pickling():
    """One tuple for all records of a study cell, checked once; a wrong number is still refused."""
    degrees = p0.BiDegree([1, 1, 1], [1, 1, 1], q=2, nodes=["a", "b", "c"])
    assert p0.BiDegree([1, 1, 1], [1, 1, 1], q=2, nodes=degrees.nodes).nodes is degrees.nodes
    assert pickle.loads(pickle.dumps(degrees.nodes)) == ("a", "b", "c")
    refusal(lambda: p0.BiDegree([1] * 4, [1] * 4, q=3, nodes=degrees.nodes), "nodes", "3 labels")


@pytest.mark.parametrize("bad", [-1, 5])
def test_degrees_must_be_possible(bad):
    """n = 3, q = 3: between 0 and 4."""
    refusal(lambda: p0.BiDegree([1, bad, 1], [1, 1, 1], q=3), "out_degree", "4", f"got {bad}")
    refusal(lambda: p0.BiDegree([1, 1, 1], [1, bad, 1], q=3), "in_degree", "4", f"got {bad}")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_degrees_must_be_finite(bad):
    refusal(lambda: p0.BiDegree([1.0, bad, 1.0], [1, 1, 1], q=3), "out_degree must be finite")


def test_lengths_must_agree():
    refusal(lambda: p0.BiDegree([1, 1, 1], [1, 1, 1, 0], q=3), "out_degree", "in_degree", "3, 4")


def test_labels_must_be_as_many_and_different():
    refusal(lambda: p0.BiDegree([1, 1, 1], [1, 1, 1], q=3, nodes=["a", "b"]), "nodes", "2")
    refusal(lambda: p0.BiDegree([1, 1, 1], [1, 1, 1], q=3, nodes=["a", "b", "a"]), "nodes", "'a'")


def test_two_nodes_and_one_level_are_refused():
    refusal(lambda: p0.BiDegree([1, 1], [1, 1], q=3), "n must be at least 3", "got 2")
    refusal(lambda: p0.BiDegree([1, 1, 1], [1, 1, 1], q=1), "q must be at least 2", "got 1")


@pytest.mark.parametrize(
    ("degrees", "message"),
    [
        ([1, 2, [3]], "out_degree must be an array of numbers; got nested lists"),
        (np.array([2**63 + 5, 2, 3], dtype="u8"), r"out_degree must be below 2\^63"),
    ],
)
def test_what_no_vector_of_int64_can_hold_is_refused(degrees, message):
    with pytest.raises(p0.InvalidNetworkError, match=message):
        p0.BiDegree(degrees, [2, 2, 2], q=3)


def test_where_degrees_come_from_is_kept_and_not_shown():
    """Degrees of their own are public in their number; those of an edge list may not be."""
    plain = p0.BiDegree([1, 1, 0], [0, 1, 1], q=2)
    assert (plain.source, plain.nodes_given, plain.clipped) == (None, True, False)
    path = Path("friends.csv")
    noted = p0.BiDegree([1, 1, 0], [0, 1, 1], q=2, source=path, nodes_given=False, clipped=True)
    back = pickle.loads(pickle.dumps(noted))
    assert (back.source, back.nodes_given, back.clipped) == (path, False, True)
    assert repr(noted) == repr(plain)
