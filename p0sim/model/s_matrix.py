"""S, the closed-form approximation of V^-1."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector, frozen


@lru_cache(maxsize=2)
def shift_direction(n: int, columns: int | None = None) -> FloatVector:
    """u = (1_n, -1_{n-1}): the change of theta when beta_n moves and the arcs' law stays.

    With `columns` given there are so many betas, the one that is 0 included.
    """
    return frozen(np.concatenate([np.ones(n), -np.ones((columns or n) - 1)]))


def s_matrix(row_variances: FloatVector, column_variances: FloatVector) -> FloatMatrix:
    r"""S = diag(1/v_ii) + u u'/v_2n, the paper's approximation of V^-1.

    Parameters
    ----------
    row_variances, column_variances : ndarray, shape (n,)
        Variances of the out-degrees and of the in-degrees; the last in-degree's is v_2n.

    Returns
    -------
    ndarray, shape (2n - 1, 2n - 1)
        Entries differ from those of V^-1 by O(1/n^2); sums over many parameters do not.

    References
    ----------
    .. [1] Wang et al. 2022 (see :func:`~p0sim.model.fisher.fisher_matrix`), equation (6).

    Examples
    --------
    >>> s_matrix(np.full(3, 0.5), np.full(3, 0.5))[0]
    array([ 4.,  2.,  2., -2., -2.])
    """
    u = shift_direction(len(row_variances))
    diagonal = np.concatenate([row_variances, column_variances[:-1]])
    s: FloatMatrix = np.diag(1 / diagonal) + np.outer(u, u) / column_variances[-1]
    return s
