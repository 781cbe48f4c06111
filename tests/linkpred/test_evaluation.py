"""Average precision and its two means, by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from p0sim.errors import InvalidParametersError
from p0sim.linkpred.evaluation import average_precision, map_reference, map_standard


@pytest.mark.parametrize(
    ("hits", "n_relevant", "expected"),
    [
        ([1, 0, 0], 1, 1),
        ([0, 0, 1], 1, 1 / 3),
        ([1, 0, 1], 2, (1 + 2 / 3) / 2),
        ([1, 0, 1], 5, (1 + 2 / 3) / 3),
        ([1, 1, 1], 7, 1),
        ([0, 0, 0], 4, 0),
    ],
)
def test_average_precision_divides_by_what_a_list_could_hold(hits, n_relevant, expected):
    assert average_precision(hits, n_relevant) == pytest.approx(expected, rel=1e-15)


def test_average_precision_of_a_uniform_order_has_its_expectation():
    """All orders of 5 candidates, 2 relevant, 3 places; the expectation is derived by places.

    A place holds a hit with probability R/m, and given that, each of the k - 1 before it holds one
    with probability (R-1)/(m-1).
    """
    orders = np.array(list(permutations([True, True, False, False, False])))[:, :3]
    derived = sum(2 / 5 * (1 + (k - 1) * 1 / 4) / k for k in (1, 2, 3)) / 2
    mean = average_precision(orders, np.full(len(orders), 2)).mean()
    assert mean == pytest.approx(derived, rel=1e-12)


HITS = [[[1, 0], [0, 1], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0], [0, 0]]]
RELEVANT = [2, 1, 3, 0]


def test_the_standard_mean_counts_queries_without_hits_and_leaves_out_the_hopeless():
    by_hand = [(1 / 2 + 1 / 2 + 0) / 3, 0]
    np.testing.assert_allclose(map_standard(HITS, RELEVANT), by_hand, rtol=1e-15)
    assert np.isnan(map_standard([[0, 0]], [0]))


def test_the_reference_mean_divides_by_hits_and_by_queries_with_hits():
    means = map_reference(HITS)
    assert means[0] == pytest.approx((1 + 1 / 2) / 2, rel=1e-15)
    assert np.isnan(means[1])


def test_the_reference_mean_stops_after_three_hundred_queries():
    hits = np.zeros((301, 2), dtype=bool)
    hits[:299, 1], hits[299:, 0] = True, True
    assert map_reference(hits) == pytest.approx((299 * 0.5 + 1) / 300, rel=1e-12)


def test_the_reference_mean_is_never_below_the_standard_one():
    rng = np.random.default_rng(5)
    hits = rng.random((200, 30, 6)) < 0.2
    relevant = np.maximum(hits.sum(axis=-1).max(axis=0), rng.integers(1, 9, 30))
    reference = map_reference(hits)
    assert (reference >= map_standard(hits, relevant)).all()


def test_more_hits_than_relevant_candidates_are_refused():
    with pytest.raises(InvalidParametersError, match="n_relevant must be positive"):
        average_precision([1, 1], 1)


def test_the_published_mean_may_be_below_the_standard_one_where_the_first_300_have_less():
    """On the same queries it is not: a list with its hit in second place scores 1/2 either way."""
    poor, good = [False, True], [True, False]
    hits, relevant = [poor] * 300 + [good] * 300, [1] * 600
    assert map_reference(hits) == 0.5 < map_standard(hits, relevant) == 0.75
    assert map_reference(hits[:300]) >= map_standard(hits[:300], relevant[:300])
