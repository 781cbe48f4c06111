"""The worst cut of every size: the one-pass kernel against the formula, k by k."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from p0sim.estimate.cuts import smallest_tight_size
from tests.oracles import existence as oracle

Margins = tuple[np.ndarray, np.ndarray, int]


def weights_with_a_cut(rng: np.random.Generator, n: int, top: int) -> np.ndarray:
    """Random weights in 0..top; mostly with a tight cut (I, J), or one that is nearly tight."""
    weights = rng.integers(0, top + 1, (n, n))
    if rng.random() < 0.8:
        senders, receivers = rng.random((2, n)) < rng.uniform(0.1, 0.9, (2, 1))
        weights[np.ix_(senders, ~receivers)] = top
        weights[np.ix_(~senders, receivers)] = 0
    np.fill_diagonal(weights, 0)
    return weights


def random_margins(rng: np.random.Generator, n: int) -> Margins:
    """Sums of such weights in a unit of 1 or 1/(2n), some moved a little, none at an end."""
    unit, top = int(rng.choice([1, 2 * n])), int(rng.integers(1, 20))
    while True:
        weights = weights_with_a_cut(rng, n, top) * unit
        sides = weights.sum(axis=1), weights.sum(axis=0)
        moved = rng.choice(n, 2, replace=False)
        if rng.random() < 0.5:
            sides[rng.integers(2)][moved] += np.array([1, -1]) * rng.integers(1, 2 * unit)
        both = np.concatenate(sides)
        if both.min() > 0 and both.max() < (n - 1) * top * unit:
            return *sides, top * unit


@pytest.mark.parametrize(("sizes", "count"), [((3, 12), 4000), ((13, 60), 400), ((200, 300), 25)])
def test_agrees_with_the_formula(sizes, count):
    """Tight cuts of all sizes, ties everywhere, one unit to either side of a cut."""
    rng, sizes_found = np.random.default_rng(sizes[0]), Counter()
    for _ in range(count):
        margins = random_margins(rng, int(rng.integers(sizes[0], sizes[1] + 1)))
        expected = oracle.smallest_tight_size(*margins)
        assert smallest_tight_size(*margins) == expected, margins
        sizes_found[expected] += 1
    assert count / 8 < sizes_found[None] < 7 * count / 8
    assert len(sizes_found) > min(8, count / 5)


def test_whole_numbers_of_any_size_are_exact():
    """A larger unit changes nothing, in int64 nor in Python's integers: one digit to many."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        n = int(rng.integers(3, 40))
        rows, columns, top = random_margins(rng, n)
        expected = oracle.smallest_tight_size(rows, columns, top)
        room = 2**63 // (n * top) - 1
        assert smallest_tight_size(rows * room, columns * room, top * room) == expected
        for factor in (3**30, 5**35, 7**55):
            large = rows.astype(object) * factor, columns.astype(object) * factor
            assert smallest_tight_size(*large, top * factor) == expected


@pytest.mark.parametrize(("inside", "tight"), [(0, True), (1, False)])
@pytest.mark.parametrize("unit", [1, 2**35])
def test_two_blocks_are_on_a_cut_by_hand(unit, inside, tight):
    """The first half of 10^5 nodes gives 9 to each of the second and gets 0; 4 within the halves.

    That cut is tight. One unit, be it 2^-35, that leaves a sender for another makes it slack by
    one; any other cut meets arcs within a half, and is slack by thousands.
    """
    half, top = 50_000, 9 * unit
    within, across = 4 * unit * (half - 1), top * half
    rows = np.repeat([within + across, within], half)
    columns = rows[::-1].copy()
    rows[[7, -7]] += np.array([-1, 1]) * inside
    assert smallest_tight_size(rows, columns, top) == (half if tight else None)


def test_the_order_of_nodes_does_not_matter():
    rng = np.random.default_rng(2)
    for _ in range(200):
        rows, columns, top = random_margins(rng, 9)
        order = rng.permutation(9)
        one = smallest_tight_size(rows, columns, top)
        assert smallest_tight_size(rows[order], columns[order], top) == one


def test_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(3)
    cases = [random_margins(rng, 200) for _ in range(40)]
    alone = [smallest_tight_size(*case) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda case: smallest_tight_size(*case), cases)) == alone
