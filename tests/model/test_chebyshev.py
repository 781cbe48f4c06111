"""Pieces, moments and evaluation against numpy.polynomial."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import chebyshev as numpy_chebyshev

from p0sim.model import chebyshev


def values_between(low: float, high: float, n: int, seed: int = 0) -> np.ndarray:
    """Uniform, both ends included."""
    values = np.random.default_rng(seed).uniform(low, high, n)
    values[:2] = low, high
    return values


def side_of(values: np.ndarray, pieces: int) -> tuple[chebyshev.Side, float]:
    width = np.ptp(values) * (1 + 1e-12) / pieces
    return chebyshev.sort_by_piece(values, values.min(), width, pieces), width


def in_pieces(values: np.ndarray, pieces: int) -> tuple[np.ndarray, np.ndarray]:
    """The piece of each value and its place there, straight from the definition."""
    scaled = (values - values.min()) / (np.ptp(values) * (1 + 1e-12) / pieces)
    return np.floor(scaled).astype(int), 2 * (scaled - np.floor(scaled)) - 1


@pytest.mark.parametrize("pieces", [1, 3])
def test_sorting_puts_every_node_in_its_piece(pieces):
    values = values_between(-2, 5, 50)
    side, _ = side_of(values, pieces)
    piece, local = in_pieces(values, pieces)
    np.testing.assert_array_equal(np.sort(side.order), np.arange(50))
    np.testing.assert_array_equal(np.diff(side.starts), np.bincount(piece, minlength=pieces))
    np.testing.assert_array_equal(piece[side.order], np.sort(piece))
    np.testing.assert_allclose(side.local, local[side.order], atol=1e-14)


@pytest.mark.parametrize(("n", "pieces"), [(3, 1), (64, 1), (65, 1), (10_000, 1), (10_000, 7)])
def test_moments_agree_with_numpy(n, pieces):
    """Oracle: chebvander; sizes below, at and above the lanes and the chunks."""
    values, weights = values_between(-2, 5, n), np.random.default_rng(1).normal(size=n)
    side, _ = side_of(values, pieces)
    piece, local = in_pieces(values, pieces)
    expected = np.zeros((pieces, 12))
    np.add.at(expected, piece, weights[:, None] * numpy_chebyshev.chebvander(local, 11))
    got = chebyshev.moments(side, weights, 12)
    np.testing.assert_allclose(got, expected, atol=1e-11)


@pytest.mark.parametrize("terms", [2, 4, 24])
def test_evaluation_agrees_with_numpy(terms):
    """Oracle: chebval, piece by piece."""
    values = values_between(-2, 5, 200)
    side, _ = side_of(values, 3)
    piece, local = in_pieces(values, 3)
    polynomials = np.random.default_rng(2).normal(size=(3, terms))
    expected = [numpy_chebyshev.chebval(u, polynomials[p]) for p, u in zip(piece, local)]
    got = np.empty(200)
    chebyshev.evaluate(side, polynomials, got)
    np.testing.assert_allclose(got, expected, atol=1e-11)


@pytest.mark.parametrize("q", [2, 7, 30])
@pytest.mark.parametrize("ranges", [(0.0, 1.0), (-8.0, 8.0), (0.0, 0.0)])
def test_a_layout_covers_its_parameters_and_their_room(q, ranges):
    values = values_between(*ranges, 100_000)
    layout, terms = chebyshev.lay_out(values, values - 3, q, 0.1)
    assert terms > 0
    assert chebyshev.covers(layout, values - 0.0999, values - 3 + 0.0999)
    assert not chebyshev.covers(layout, values, values + 100)
    assert not chebyshev.covers(layout, values, np.append(values, -np.inf))


@pytest.mark.parametrize("wide", [1e6, 1e300, np.inf])
def test_few_nodes_or_hopeless_ranges_are_summed_plainly(wide):
    few, many = np.linspace(0, 1, 10), np.linspace(0, 1, 2000)
    assert chebyshev.lay_out(few, few, 2, 0.0)[1] == 0
    assert chebyshev.lay_out(many, many, 2, 0.0)[1] > 0
    assert chebyshev.lay_out(np.append(many, wide), np.append(many, 0), 2, 0.0)[1] == 0


def test_the_spread_agrees_with_a_product_of_matrices():
    """Piece p of one side meets piece r of the other through C[p + r]."""
    rng = np.random.default_rng(3)
    squares, heads = rng.normal(size=(4, 6, 6)), rng.normal(size=(3, 6))
    squares += squares.transpose(0, 2, 1)
    expected = [sum(squares[p + r] @ heads[r] for r in range(3)) for p in range(2)]
    np.testing.assert_allclose(chebyshev.spread(squares, heads, 2), expected, atol=1e-12)
