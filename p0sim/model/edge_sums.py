"""Sums of the edge law over all arcs of each node: the equations and their slopes.

Sums over pairs i != j, there are no self-loops. They cost O(n) for a given range of the
parameters (:mod:`p0sim.model.chebyshev`), and run on one thread: at n = 1 000 000 a sum takes some
hundredths of a second, less than it would take to let another thread be of use.

Where nodes have left one side for good (:mod:`p0sim.model.extended`), the sides differ in length:
the first `shared` rows and columns are then the same nodes, and all others are different.
"""

from __future__ import annotations

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector
from p0sim.model import pair_sums
from p0sim.model.edge_law import edge_variance


def mean_sums(
    alpha: FloatVector, beta: FloatVector, q: int, shared: int | None = None
) -> tuple[FloatVector, FloatVector]:
    """Expected out-degrees and in-degrees (model equations, Wang et al. 2022, section 2).

    Parameters
    ----------
    alpha, beta : ndarray, shape (n,)
        Out and in parameters, in any gauge.
    q : int
        Weights lie in 0..q-1.
    shared : int, optional
        How many nodes, the first of both sides, are rows and columns; by default all.

    Returns
    -------
    rows, columns : ndarray, shape (n,)
        sum_{j != i} mu(alpha_i + beta_j), and sum_{i != j} mu(alpha_i + beta_j), each to a
        relative 1e-10 or better.

    Examples
    --------
    >>> mean_sums(np.zeros(4), np.zeros(4), q=3)[0]
    array([3., 3., 3., 3.])
    """
    return _sides(_sums(alpha, beta, q, shared).means, len(alpha))


def variance_sums(
    alpha: FloatVector, beta: FloatVector, q: int, shared: int | None = None
) -> tuple[FloatVector, FloatVector]:
    """Variances of the out-degrees and of the in-degrees: the diagonal of V in full 2n form.

    Parameters
    ----------
    alpha, beta, q, shared
        As for :func:`mean_sums`.

    Returns
    -------
    rows, columns : ndarray, shape (n,)
        Each to a relative 1e-10 or better.

    Examples
    --------
    >>> variance_sums(np.zeros(3), np.zeros(3), q=2)[1]
    array([0.5, 0.5, 0.5])
    """
    return _sides(_sums(alpha, beta, q, shared).variances, len(alpha))


def centred_square_sums(
    alpha: FloatVector, beta: FloatVector, q: int, shared: int | None = None
) -> tuple[FloatVector, FloatVector]:
    """How far the means of each node's arcs are from that of a uniform weight, squared and summed.

    Parameters
    ----------
    alpha, beta, q, shared
        As for :func:`mean_sums`.

    Returns
    -------
    rows, columns : ndarray, shape (n,)
        sum_{j != i} (mu(alpha_i + beta_j) - (q-1)/2)^2, and the same sum over i != j; to 1e-12 of
        (n-1)(q-1)^2/4, the most they can be, or better.

    Examples
    --------
    >>> centred_square_sums(np.full(3, 50.0), np.zeros(3), q=3)[0]
    array([2., 2., 2.])
    """
    pairs = pair_sums.Pairs(len(alpha), len(alpha) if shared is None else shared)
    return _sides(pair_sums.centred_square_sums(_joined(alpha, beta), q, pairs), len(alpha))


def variance_product(
    alpha: FloatVector, beta: FloatVector, q: int, x: FloatVector, y: FloatVector
) -> tuple[FloatVector, FloatVector]:
    """V times a vector, in full 2n form.

    Parameters
    ----------
    alpha, beta, q
        As for :func:`mean_sums`.
    x, y : ndarray, shape (n,)
        Changes of alpha and of beta.

    Returns
    -------
    rows, columns : ndarray, shape (n,)
        sum_{j != i} mu'(alpha_i + beta_j) (x_i + y_j), and the same sum over i != j.

    Examples
    --------
    >>> variance_product(np.zeros(3), np.zeros(3), 2, np.array([1.0, 0.0, 0.0]), np.zeros(3))
    (array([0.5, 0. , 0. ]), array([0.  , 0.25, 0.25]))
    """
    sums = _sums(alpha, beta, q, None)
    return _sides(pair_sums.variance_product(_joined(x, y), q, sums), len(alpha))


def log_normalizer_sum(
    alpha: FloatVector, beta: FloatVector, q: int, shared: int | None = None
) -> float:
    """sum_{i != j} log sum_k exp(k x_ij), the log normaliser of the whole network.

    Parameters
    ----------
    alpha, beta, q, shared
        As for :func:`mean_sums`.

    Examples
    --------
    >>> print(log_normalizer_sum(np.zeros(3), np.zeros(3), q=2) / np.log(2))
    6.0
    """
    pairs = pair_sums.Pairs(len(alpha), len(alpha) if shared is None else shared)
    return float(pair_sums.log_normalizer_sum(_joined(alpha, beta), q, pairs))


def edge_variances(alpha: FloatVector, beta: FloatVector, q: int) -> FloatMatrix:
    """Var(a_ij) for every ordered pair, 0 on the diagonal; shape (n, n).

    Examples
    --------
    >>> edge_variances(np.zeros(3), np.zeros(3), q=2)[0]
    array([0.  , 0.25, 0.25])
    """
    variances = edge_variance(np.add.outer(alpha, beta), q)
    np.fill_diagonal(variances, 0.0)
    return variances


def _joined(rows: FloatVector, columns: FloatVector) -> FloatVector:
    return np.concatenate([rows, columns], dtype=np.float64)


def _sums(alpha: FloatVector, beta: FloatVector, q: int, shared: int | None) -> pair_sums.PairSums:
    pairs = pair_sums.Pairs(len(alpha), len(alpha) if shared is None else shared)
    sums: pair_sums.PairSums = pair_sums.pair_sums(
        _joined(alpha, beta), q, pairs, 0.0, pair_sums.no_expansion()
    )
    return sums


def _sides(both: FloatVector, n: int) -> tuple[FloatVector, FloatVector]:
    return both[:n], both[n:]
