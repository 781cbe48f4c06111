"""Sums of the edge law over all arcs of each node: the equations and their slopes.

Sums over pairs i != j, there are no self-loops. They cost O(n) for a given range of the
parameters (:mod:`p0sim.model.chebyshev`), and run on one thread: at n = 1 000 000 a sum takes some
hundredths of a second, less than it would take to let another thread be of use.
"""

from __future__ import annotations

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector
from p0sim.model import pair_sums
from p0sim.model.edge_law import edge_variance


def mean_sums(alpha: FloatVector, beta: FloatVector, q: int) -> tuple[FloatVector, FloatVector]:
    """Expected out-degrees and in-degrees (model equations, Wang et al. 2022, section 2).

    Parameters
    ----------
    alpha, beta : ndarray, shape (n,)
        Out and in parameters, in any gauge.
    q : int
        Weights lie in 0..q-1.

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
    means = _sums(alpha, beta, q).means
    return _halves(means)


def variance_sums(alpha: FloatVector, beta: FloatVector, q: int) -> tuple[FloatVector, FloatVector]:
    """Variances of the out-degrees and of the in-degrees: the diagonal of V in full 2n form.

    Parameters
    ----------
    alpha, beta, q
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
    return _halves(_sums(alpha, beta, q).variances)


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
    sums = _sums(alpha, beta, q)
    return _halves(pair_sums.variance_product(_joined(x, y), q, sums))


def log_normalizer_sum(alpha: FloatVector, beta: FloatVector, q: int) -> float:
    """sum_{i != j} log sum_k exp(k x_ij), the log normaliser of the whole network.

    Examples
    --------
    >>> print(log_normalizer_sum(np.zeros(3), np.zeros(3), q=2) / np.log(2))
    6.0
    """
    return float(pair_sums.log_normalizer_sum(_joined(alpha, beta), q))


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


def _sums(alpha: FloatVector, beta: FloatVector, q: int) -> pair_sums.PairSums:
    theta = _joined(alpha, beta)
    sums: pair_sums.PairSums = pair_sums.pair_sums(theta, q, 0.0, pair_sums.no_expansion())
    return sums


def _halves(both: FloatVector) -> tuple[FloatVector, FloatVector]:
    n = len(both) // 2
    return both[:n], both[n:]
