"""V, the covariance matrix of the bi-degree, and linear systems in it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from p0sim.arrays import FloatMatrix, FloatVector


def fisher_matrix(variances: FloatMatrix) -> FloatMatrix:
    r"""Covariance matrix V of the bi-degree without the last in-degree.

    Parameters
    ----------
    variances : ndarray, shape (n, n)
        Var(a_ij), 0 on the diagonal.

    Returns
    -------
    ndarray, shape (2n - 1, 2n - 1)
        Ordered as theta: alpha_1..alpha_n, beta_1..beta_{n-1}. v_ii sums the variances of all arcs
        of a node, those to the node of the dropped beta included.

    References
    ----------
    .. [1] Wang, Zhang, Luo, Ouyang, Wang, Weighted directed networks with a differentially private
       bi-degree sequence, Comm. Statist. Theory Methods 51(2), 2022: section 3.

    Examples
    --------
    >>> fisher_matrix(0.25 * (1 - np.eye(3)))[0]
    array([0.5 , 0.  , 0.  , 0.  , 0.25])
    """
    n = len(variances)
    out_block = np.diag(variances.sum(axis=1))
    in_block = np.diag(variances.sum(axis=0)[: n - 1])
    cross = variances[:, : n - 1]
    return np.block([[out_block, cross], [cross.T, in_block]])


def fisher_solve(variances: FloatMatrix, rhs: FloatMatrix | FloatVector) -> FloatMatrix:
    r"""V^-1 rhs, by Cholesky of the Schur complement of the out block.

    Parameters
    ----------
    variances : ndarray, shape (n, n)
        Var(a_ij), positive off the diagonal, 0 on it; or a block of it, shape (a, b), whose last
        column is that of the parameter fixed at 0.
    rhs : ndarray, shape (2n - 1,) or (2n - 1, m); (a + b - 1,) or (a + b - 1, m)

    Returns
    -------
    ndarray, shape of rhs

    Raises
    ------
    numpy.linalg.LinAlgError
        If the complement is not positive definite in floating point: variances have underflowed.

    Notes
    -----
    With V = [[D, B], [B', E]], D and E diagonal, the in part solves
    (E - B' D^-1 B) y = rhs_in - B' D^-1 rhs_out and the out part is D^-1 (rhs_out - B y).

    Examples
    --------
    >>> variances = 0.25 * (1 - np.eye(3))
    >>> np.round(fisher_solve(variances, fisher_matrix(variances)[:, 0]), 12) + 0.0
    array([1., 0., 0., 0., 0.])
    """
    n = len(variances)
    cross = variances[:, :-1]
    scaled = (cross / variances.sum(axis=1)[:, None]).T
    schur = np.diag(variances.sum(axis=0)[:-1]) - scaled @ cross
    inside = cho_solve(cho_factor(schur, check_finite=False), rhs[n:] - scaled @ rhs[:n])
    outside = ((rhs[:n] - cross @ inside).T / variances.sum(axis=1)).T
    return np.concatenate([outside, inside])
