"""Fast sums against dense sums of q terms, row by row."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from p0sim.model import edge_sums, pair_sums
from tests.oracles import dense_sums as oracle
from tests.oracles.newton import edge_moments

# n, q, range: plain sums, one piece, several pieces, and the widest promised
CASES = [(12, 3, 2), (90, 2, 0.8), (90, 5, 1), (400, 2, 8), (500, 20, 1), (1200, 20, 8)]


def parameters(n: int, spread: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    alpha, beta = rng.uniform(-spread, spread, (2, n))
    alpha[:2], beta[:2] = (-spread, spread), (spread, -spread)
    return alpha, beta


def expands(alpha: np.ndarray, beta: np.ndarray, q: int) -> bool:
    theta = np.append(alpha, beta)
    sums = pair_sums.pair_sums(
        theta, q, pair_sums.square(len(theta) // 2), 0.0, pair_sums.no_expansion()
    )
    return len(sums.expansion.means) > 0


@pytest.mark.parametrize(("n", "q", "spread"), CASES)
def test_sums_agree_with_dense_sums_row_by_row(n, q, spread):
    """1e-10 relative in every row and column, the smallest included."""
    alpha, beta = parameters(n, spread)
    assert expands(alpha, beta, q) == (n > 12)
    got = np.concatenate(edge_sums.mean_sums(alpha, beta, q))
    np.testing.assert_allclose(got, oracle.mean_sums(alpha, beta, q), rtol=1e-10)
    got = np.concatenate(edge_sums.variance_sums(alpha, beta, q))
    np.testing.assert_allclose(got, oracle.variance_sums(alpha, beta, q), rtol=1e-10)


@pytest.mark.parametrize(("n", "q", "spread"), CASES)
def test_the_product_agrees_with_the_full_matrix(n, q, spread):
    """1e-10 of the sum of the terms' sizes, row by row."""
    alpha, beta = parameters(n, spread)
    x, y = np.random.default_rng(2).normal(size=(2, n))
    got = np.concatenate(edge_sums.variance_product(alpha, beta, q, x, y))
    expected = oracle.variance_product(alpha, beta, q, x, y)
    sizes = oracle.variance_product(alpha, beta, q, np.abs(x), np.abs(y))
    assert (np.abs(got - expected) < 1e-10 * sizes).all()


@pytest.mark.parametrize(("n", "q", "spread"), CASES[:5])
def test_the_log_normalizer_agrees_with_the_dense_sum(n, q, spread):
    alpha, beta = parameters(n, spread)
    expected = oracle.log_normalizer_sum(alpha, beta, q)
    assert edge_sums.log_normalizer_sum(alpha, beta, q) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n", "q", "spread"), CASES)
def test_centred_squares_agree_with_dense_sums(n, q, spread):
    """1e-12 of the most a sum can be, (n-1)(q-1)^2/4; oracle: means by their q terms."""
    alpha, beta = parameters(n, spread)
    mean, _ = oracle.pair_moments(alpha, beta, q)
    squares = (mean - (q - 1) / 2) ** 2
    np.fill_diagonal(squares, 0.0)
    rows, columns = edge_sums.centred_square_sums(alpha, beta, q)
    most = (n - 1) * (q - 1) ** 2 / 4
    np.testing.assert_allclose(rows, squares.sum(axis=1), rtol=0, atol=1e-12 * most)
    np.testing.assert_allclose(columns, squares.sum(axis=0), rtol=0, atol=1e-12 * most)


@pytest.mark.parametrize(("rows", "columns", "shared"), [(7, 9, 5), (300, 280, 250)])
def test_centred_squares_over_sides_of_different_length(rows, columns, shared):
    """Nodes that left one side: only the first `shared` rows and columns are the same nodes."""
    alpha, beta = parameters(300, 1.0)
    alpha, beta = alpha[:rows], beta[:columns]
    squares = (edge_moments(alpha[:, None] + beta, 3)[0] - 1) ** 2
    squares[range(shared), range(shared)] = 0.0
    got = edge_sums.centred_square_sums(alpha, beta, 3, shared)
    np.testing.assert_allclose(got[0], squares.sum(axis=1), rtol=1e-11)
    np.testing.assert_allclose(got[1], squares.sum(axis=0), rtol=1e-11)


def with_an_opposite_pair() -> tuple[np.ndarray, np.ndarray]:
    """mu(x_11) = (q-1)/2, all other terms of row 1 about e^-24."""
    alpha, beta = parameters(600, 1)
    alpha[0], beta[0] = -24.0, 24.0
    return alpha, beta


@pytest.mark.parametrize("q", [2, 4])
def test_a_row_smaller_than_its_own_diagonal_term_keeps_its_digits(q):
    """It is summed again without that term."""
    alpha, beta = with_an_opposite_pair()
    assert expands(alpha, beta, q)
    means, variances = (
        np.concatenate(sums(alpha, beta, q))
        for sums in (edge_sums.mean_sums, edge_sums.variance_sums)
    )
    assert means[0] < 1e-7
    np.testing.assert_allclose(means, oracle.mean_sums(alpha, beta, q), rtol=1e-10)
    np.testing.assert_allclose(variances, oracle.variance_sums(alpha, beta, q), rtol=1e-10)
    x, y = np.random.default_rng(2).uniform(size=(2, 600))
    got = np.concatenate(edge_sums.variance_product(alpha, beta, q, x, y))
    expected = oracle.variance_product(alpha, beta, q, x, y)
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_control_taking_the_diagonal_term_away_would_lose_them():
    """The sum over all pairs, less mu'(0) = 1/4, in the case above: 1e-10 is missed."""
    _, variance = oracle.pair_moments(*with_an_opposite_pair(), 2)
    rest = variance[0].sum()
    assert abs(((rest + 0.25) - 0.25) / rest - 1) > 1e-10


def test_products_without_kept_variances_agree():
    """Beyond n = 4096 plain sums keep no n x n array: every term is computed again."""
    alpha, beta = parameters(12, 2)
    theta, x = np.append(alpha, beta), np.random.default_rng(2).normal(size=24)
    sums = pair_sums.pair_sums(theta, 3, pair_sums.square(12), 0.0, pair_sums.no_expansion())
    bare = sums._replace(kept=np.zeros((0, 0)))
    got = pair_sums.variance_product(x, 3, bare)
    np.testing.assert_allclose(got, oracle.variance_product(alpha, beta, 3, x[:12], x[12:]))


def test_an_expansion_serves_again_while_it_covers():
    """Moved within its room: the same arrays; moved out: new ones. Right either way."""
    alpha, beta = parameters(90, 1)
    first = pair_sums.pair_sums(
        np.append(alpha, beta), 3, pair_sums.square(len(alpha)), 0.2, pair_sums.no_expansion()
    )
    for move, same in ((0.19, True), (0.21, False)):
        theta = np.append(alpha + move, beta)
        sums = pair_sums.pair_sums(theta, 3, first.pairs, 0.2, first.expansion)
        assert (sums.expansion.layout == first.expansion.layout) == same
        np.testing.assert_allclose(sums.means, oracle.mean_sums(alpha + move, beta, 3), rtol=1e-12)


def test_read_only_and_strided_parameters_are_accepted():
    alpha, beta = parameters(90, 1)
    strided, frozen = np.repeat(alpha, 2)[::2], beta.copy()
    frozen.flags.writeable = False
    for one, other in zip(
        edge_sums.mean_sums(alpha, beta, 3), edge_sums.mean_sums(strided, frozen, 3)
    ):
        np.testing.assert_array_equal(one, other)


def test_threads_at_once_get_the_same_bits():
    """Kernels keep no state and let other threads run."""
    alpha, beta = parameters(20_000, 2)
    alone = edge_sums.mean_sums(alpha, beta, 3)
    with ThreadPoolExecutor(4) as pool:
        for rows, columns in pool.map(lambda _: edge_sums.mean_sums(alpha, beta, 3), range(8)):
            np.testing.assert_array_equal(rows, alone[0])
            np.testing.assert_array_equal(columns, alone[1])
