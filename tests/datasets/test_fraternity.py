"""The embedded fraternity network: its published size, its sums, its source."""

from __future__ import annotations

import numpy as np
import pytest

import p0sim as p0
from tests.oracles.refusals import refusal


def test_fraternity_has_every_ordered_pair():
    """58 members, recall 1..5 on all 3306 pairs, minus 1: weights 0..4, q = 5.

    The sums of the recall table: total 9770, out-degrees 115..259, in-degrees 105..223; each loses
    57 (the total 3306).
    """
    network = p0.load_network("fraternity")
    degrees = network.bidegree()
    assert (network.n, network.q) == (58, 5)
    weights = network.toarray()
    assert (weights.min(), weights.max()) == (0, 4)
    assert weights.sum() == degrees.out_degree.sum() == 9770 - 3306
    assert (degrees.out_degree.min(), degrees.out_degree.max()) == (115 - 57, 259 - 57)
    assert (degrees.in_degree.min(), degrees.in_degree.max()) == (105 - 57, 223 - 57)
    np.testing.assert_array_equal(np.diag(weights), 0)


def test_fraternity_can_be_fitted_with_both_treatments():
    degrees = p0.load_network("fraternity").bidegree()
    for margins in ("balanced", "drop_last"):
        assert p0.existence(degrees, margins=margins).exists


def test_unknown_names_are_refused():
    refusal(lambda: p0.load_network("fraternty"), "fraternity", "'fraternty'")


@pytest.mark.parametrize("name", ["fraternity"])
def test_labels_are_different_and_in_order(name):
    nodes = p0.load_network(name).nodes
    assert len(set(nodes)) == 58
    assert list(nodes) == sorted(nodes, key=int)
