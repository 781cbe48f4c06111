"""Sums of the edge law over all arcs of each node: the equations and their slopes.

Plain n x n arrays, the diagonal set to 0: there are no self-loops.
"""

from __future__ import annotations

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector
from p0sim.model.edge_law import edge_log_normalizer, edge_mean, edge_variance


def log_odds(alpha: FloatVector, beta: FloatVector) -> FloatMatrix:
    """x_ij = alpha_i + beta_j for every ordered pair, the diagonal included; shape (n, n)."""
    return np.add.outer(alpha, beta)


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
        sum_{j != i} mu(alpha_i + beta_j), and sum_{i != j} mu(alpha_i + beta_j).

    Examples
    --------
    >>> mean_sums(np.zeros(4), np.zeros(4), q=3)[0]
    array([3., 3., 3., 3.])
    """
    means = off_diagonal(edge_mean(log_odds(alpha, beta), q))
    return means.sum(axis=1), means.sum(axis=0)


def edge_variances(alpha: FloatVector, beta: FloatVector, q: int) -> FloatMatrix:
    """Var(a_ij) for every ordered pair, 0 on the diagonal; shape (n, n).

    Examples
    --------
    >>> edge_variances(np.zeros(3), np.zeros(3), q=2)[0]
    array([0.  , 0.25, 0.25])
    """
    return off_diagonal(edge_variance(log_odds(alpha, beta), q))


def variance_sums(alpha: FloatVector, beta: FloatVector, q: int) -> tuple[FloatVector, FloatVector]:
    """Variances of the out-degrees and of the in-degrees: the diagonal of V in full 2n form.

    Parameters
    ----------
    alpha, beta, q
        As for :func:`mean_sums`.

    Returns
    -------
    rows, columns : ndarray, shape (n,)

    Examples
    --------
    >>> variance_sums(np.zeros(3), np.zeros(3), q=2)[1]
    array([0.5, 0.5, 0.5])
    """
    variances = edge_variances(alpha, beta, q)
    return variances.sum(axis=1), variances.sum(axis=0)


def log_normalizer_sum(alpha: FloatVector, beta: FloatVector, q: int) -> float:
    """sum_{i != j} log sum_k exp(k x_ij), the log normaliser of the whole network."""
    return float(off_diagonal(edge_log_normalizer(log_odds(alpha, beta), q)).sum())


def off_diagonal(square: FloatMatrix) -> FloatMatrix:
    """The same matrix, its diagonal set to 0 in place."""
    np.fill_diagonal(square, 0.0)
    return square
