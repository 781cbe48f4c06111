r"""Covariance of the ridge estimate, about the parameters it estimates: those of the penalty too.

With lambda the penalty and M centring each side, the estimate's first-order error is H^-1 e, where
H = V + lambda M and e is what the treated margins deviate by, of covariance Sigma = V + tau J. So

    Cov = H^-1 Sigma H^-1,

in the gauge beta_n = 0 with the last row and column of H and Sigma left out: H, Sigma and the
equations all vanish along the common shift. J is the noise that reaches the equations,
I - u u'/(2n) where its excess was shared by all margins and I where the last in-degree took it.

It is the variance of the estimate, not its distance from the truth: the target is the maximiser of
the penalised expected log-likelihood, and a larger penalty makes intervals narrow about a target
that is further off.

Closed form. As for S, the block between alpha and beta is taken as ``v_i. v_.j/T``, T the sum of
all edge variances; the penalty's own blocks are -lambda/n times ones. H is then a diagonal plus a
matrix of rank 4, its inverse one more (Woodbury), and Cov is a diagonal plus a matrix of rank 11.
Unlike S it knows the common level, whose variance the penalty does not lower. (Derived here;
tests measure its error: it falls as 1/n.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve

from p0sim.arrays import FloatMatrix, FloatVector
from p0sim.model.fisher import fisher_matrix
from p0sim.model.s_matrix import shift_direction


@dataclass(frozen=True, eq=False)
class LowRankCovariance:
    """diag(d) + F C F' with few columns in F.

    Attributes
    ----------
    diagonal_part : ndarray, shape (2n - 1,)
    factors : ndarray, shape (2n - 1, r)
    core : ndarray, shape (r, r)
    """

    diagonal_part: FloatVector
    factors: FloatMatrix
    core: FloatMatrix

    def diagonal(self) -> FloatVector:
        """Variances of the parameters, shape (2n - 1,)."""
        added: FloatVector = np.einsum("ij,jk,ik->i", self.factors, self.core, self.factors)
        return self.diagonal_part + added

    def matrix(self) -> FloatMatrix:
        """The dense covariance, shape (2n - 1, 2n - 1)."""
        added: FloatMatrix = self.factors @ self.core @ self.factors.T
        return np.diag(self.diagonal_part) + (added + added.T) / 2

    def contrast_variances(self, weights: FloatMatrix) -> FloatVector:
        """Variances of linear contrasts; weights of shape (contrasts, 2n - 1)."""
        along = weights @ self.factors
        added: FloatVector = np.einsum("ij,jk,ik->i", along, self.core, along)
        return weights**2 @ self.diagonal_part + added


def penalised_covariance(
    degree_variances: tuple[FloatVector, FloatVector],
    ridge: float,
    noise_variance: float | FloatVector = 0.0,
    excess_shared: bool = True,
) -> LowRankCovariance:
    """The closed form at the top of this module, in O(n).

    Parameters
    ----------
    degree_variances : two ndarrays, shape (n,)
        Of the out-degrees and of the in-degrees under the model.
    ridge : float
        lambda, positive.
    noise_variance : float or ndarray, shape (2n - 1,)
        tau; one number a parameter only where the excess was not shared.
    excess_shared : bool
        Whether noise reaches the equations through balanced margins.

    Returns
    -------
    LowRankCovariance

    Examples
    --------
    >>> sides = np.full(4, 3.0), np.full(4, 3.0)
    >>> penalised_covariance(sides, ridge=1.0).contrast_variances(np.eye(7)[:1] - np.eye(7)[1])
    array([0.375])
    """
    rows, columns = degree_variances
    n, values, u = len(rows), np.concatenate(degree_variances)[:-1], shift_direction(len(rows))
    crossed, ones = _sides(rows, columns), _sides(np.ones(n), np.ones(n))
    cross = np.array([[0, 1], [1, 0]]) / rows.sum()
    curvature = _LowRank(
        values + ridge, np.hstack([crossed, ones]), block_diag(cross, -ridge / n * np.eye(2))
    )
    shared = -noise_variance / (2 * n) if excess_shared else 0.0
    error = _LowRank(
        values + noise_variance, np.column_stack([crossed, u]), block_diag(cross, np.array(shared))
    )
    return _sandwich(curvature.inverse(), error)


def penalised_matrix(
    arc_variances: FloatMatrix,
    ridge: float,
    noise_variance: float | FloatVector = 0.0,
    excess_shared: bool = True,
) -> FloatMatrix:
    """H^-1 Sigma H^-1 entry by entry, shape (2n - 1, 2n - 1).

    Parameters
    ----------
    arc_variances : ndarray, shape (n, n)
        Var(a_ij), 0 on the diagonal.
    ridge, noise_variance, excess_shared
        As for :func:`penalised_covariance`.

    Examples
    --------
    >>> penalised_matrix(1.0 - np.eye(3), ridge=1e-9)[0].round(6)
    array([ 0.833333,  0.166667,  0.5     , -0.333333, -0.666667])
    """
    n = len(arc_variances)
    information = fisher_matrix(arc_variances)
    sides = _sides(np.ones(n), np.ones(n))
    error = information + noise_variance * np.eye(2 * n - 1)
    if excess_shared:
        u = shift_direction(n)
        error -= noise_variance / (2 * n) * np.outer(u, u)
    curvature = information + ridge * (np.eye(2 * n - 1) - sides @ sides.T / n)
    factor = cho_factor(curvature, overwrite_a=True, check_finite=False)
    half = cho_solve(factor, error, overwrite_b=True, check_finite=False)
    covariance: FloatMatrix = cho_solve(factor, half.T, overwrite_b=True, check_finite=False)
    return (covariance + covariance.T) / 2


@dataclass(frozen=True, eq=False)
class _LowRank:
    """diag(d) + F C F', with what a sandwich of two of them needs."""

    diagonal: FloatVector
    factors: FloatMatrix
    core: FloatMatrix

    def inverse(self) -> _LowRank:
        """Woodbury: E - E F (C^-1 + F' E F)^-1 F' E, E = diag(1/d)."""
        spread = self.factors / self.diagonal[:, None]
        middle = np.linalg.inv(np.linalg.inv(self.core) + self.factors.T @ spread)
        return _LowRank(1 / self.diagonal, spread, np.negative(middle, dtype=np.float64))

    def times(self, columns: FloatMatrix) -> FloatMatrix:
        """The product with a few columns."""
        product: FloatMatrix = self.diagonal[:, None] * columns
        return product + self.factors @ (self.core @ (self.factors.T @ columns))


def _sandwich(outer: _LowRank, inner: _LowRank) -> LowRankCovariance:
    """A B A for A = E + F C F', B = D + Q P Q': E D E, then F, E D F and A Q with their cores."""
    weighted = inner.diagonal[:, None] * outer.factors
    twice = outer.core @ (outer.factors.T @ weighted) @ outer.core
    core = np.block([[twice, outer.core], [outer.core, np.zeros_like(twice)]])
    scaled, image = outer.diagonal[:, None] * weighted, outer.times(inner.factors)
    return LowRankCovariance(
        outer.diagonal**2 * inner.diagonal,
        np.hstack([outer.factors, scaled, image]),
        block_diag(core, inner.core),
    )


def _sides(rows: FloatVector, columns: FloatVector) -> FloatMatrix:
    """Two columns: (rows, 0) and (0, columns without the last)."""
    n = len(rows)
    both = np.zeros((2 * n - 1, 2))
    both[:n, 0], both[n:, 1] = rows, columns[:-1]
    return both
