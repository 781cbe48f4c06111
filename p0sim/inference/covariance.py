r"""Three covariances of the estimate, with V taken at the estimate.

Let u = (1_n, -1_{n-1}), D the diagonal of V, v_2n the variance of the last in-degree and tau the
variance of the noise of one degree.

- ``S`` (Wang et al. 2022, equation 6): S = D^-1 + u u'/v_2n. It knows the network alone.
- ``noise`` (derived here; the common shift as in Yan 2021): the estimate's first-order error is
  V^-1 (d - E d + e), where e is the noise that reaches the equations. With drop_last its
  covariance is tau I, which adds tau S^2. With balanced margins it is tau (I - u u'/(2n)), which
  adds tau (D^-2 + u u'/v_2n^2): the projection takes the common shift down from (2n-1) shares of
  noise to one.
- ``exact``: V^-1 + tau V^-1 J V^-1 with that same J = I or I - u u'/(2n), no approximation of V^-1.

S, S^2 and what balancing leaves are all of the form diag(d) + a u u' + b (h u' + u h') with
h = D^-1 u, since S u = h + u (2n-1)/v_2n; that form gives every entry in O(1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector, require_choice
from p0sim.errors import InvalidParametersError
from p0sim.estimate.moments import MomentFit
from p0sim.model.edge_sums import edge_variances
from p0sim.model.fisher import fisher_solve
from p0sim.model.p0 import P0Model
from p0sim.model.s_matrix import shift_direction

VARIANCES = ("noise", "S", "exact")
LARGEST_DENSE = 4000

Variances: TypeAlias = tuple[FloatVector, FloatVector]


@dataclass(frozen=True, eq=False)
class ShiftedDiagonal:
    """diag(d) + a u u' + b (h u' + u h'), the form of S and of what noise adds to it.

    Attributes
    ----------
    diagonal_part, h : ndarray, shape (2n - 1,)
    u : ndarray, shape (2n - 1,)
    a, b : float
    """

    diagonal_part: FloatVector
    u: FloatVector
    h: FloatVector
    a: float
    b: float

    def diagonal(self) -> FloatVector:
        """Variances of the parameters, shape (2n - 1,)."""
        return self.diagonal_part + self.a * self.u**2 + 2 * self.b * self.u * self.h

    def matrix(self) -> FloatMatrix:
        """The dense covariance, shape (2n - 1, 2n - 1)."""
        mixed = np.outer(self.h, self.u)
        return (
            np.diag(self.diagonal_part)
            + self.a * np.outer(self.u, self.u)
            + self.b * (mixed + mixed.T)
        )

    def contrast_variances(self, weights: FloatMatrix) -> FloatVector:
        """Variances of linear contrasts; weights of shape (contrasts, 2n - 1)."""
        along = weights @ self.u
        return (
            weights**2 @ self.diagonal_part
            + self.a * along**2
            + 2 * self.b * along * (weights @ self.h)
        )


@dataclass(frozen=True, eq=False)
class DenseCovariance:
    """A covariance held entry by entry, shape (2n - 1, 2n - 1)."""

    entries: FloatMatrix

    def diagonal(self) -> FloatVector:
        """Variances of the parameters, shape (2n - 1,)."""
        return self.entries.diagonal().copy()

    def matrix(self) -> FloatMatrix:
        """The covariance itself."""
        return self.entries

    def contrast_variances(self, weights: FloatMatrix) -> FloatVector:
        """Variances of linear contrasts; weights of shape (contrasts, 2n - 1)."""
        variances: FloatVector = np.einsum("ki,ij,kj->k", weights, self.entries, weights)
        return variances


Covariance: TypeAlias = ShiftedDiagonal | DenseCovariance


def covariance(fit: MomentFit, variance: str = "noise") -> Covariance:
    """Covariance of the estimated theta.

    Parameters
    ----------
    fit : MomentFit
    variance : {"noise", "S", "exact"}

    Returns
    -------
    ShiftedDiagonal or DenseCovariance
        Both offer `diagonal`, `matrix` and `contrast_variances`, ordered as theta.

    Raises
    ------
    InvalidParametersError
        If `variance` is none of the three words.

    References
    ----------
    .. [1] Wang et al. 2022, equation (6); the other two are derived at the top of this module.

    Examples
    --------
    >>> from p0sim.estimate.moments import fit_moments
    >>> from p0sim.model.bidegree import BiDegree
    >>> fit = fit_moments(BiDegree([3, 3, 3], [3, 3, 3], q=4))
    >>> covariance(fit, "S").diagonal()
    array([0.8, 0.8, 0.8, 0.8, 0.8])
    """
    return _covariance(
        fit.model, fit.degree_variances, fit.noise_variance, fit.margins.treatment, variance
    )


def model_covariance(
    model: P0Model, noise_variance: float, margins: str, variance: str
) -> Covariance:
    """The same for a model and noise of a given variance, before any data.

    Parameters
    ----------
    model : P0Model
    noise_variance : float
        tau, 0 without noise.
    margins : {"balanced", "drop_last"}
    variance : {"noise", "S", "exact"}

    Returns
    -------
    ShiftedDiagonal or DenseCovariance

    Examples
    --------
    >>> from p0sim.model.p0 import linear_design
    >>> model_covariance(linear_design(3, 0, q=2), 0.0, "balanced", "S").diagonal()
    array([4., 4., 4., 4., 4.])
    """
    return _covariance(model, model.degree_variances(), noise_variance, margins, variance)


def require_dense(n: int) -> None:
    """Refuse what needs more memory than a desktop has.

    Raises
    ------
    InvalidParametersError
        If n is above 4000: the exact covariance fills (2n - 1)^2 numbers, and needs some of them
        several times.
    """
    if n > LARGEST_DENSE:
        raise InvalidParametersError(
            f"variance exact needs n x n arrays, for n up to {LARGEST_DENSE}; got n = {n}: "
            "use noise, whose error falls as 1/n"
        )


def _covariance(
    model: P0Model, variances: Variances, noise_variance: float, margins: str, variance: str
) -> Covariance:
    require_choice(variance, "variance", VARIANCES)
    if variance == "exact":
        return _exact(model, noise_variance, margins)
    return _closed_form(variances, noise_variance if variance == "noise" else 0.0, margins)


def _closed_form(variances: Variances, tau: float, margins: str) -> ShiftedDiagonal:
    row_variances, column_variances = variances
    inverse = 1 / np.concatenate([row_variances, column_variances[:-1]])
    last = 1 / column_variances[-1]
    u = shift_direction(len(row_variances))
    drop_last = margins == "drop_last"
    shares = len(u) if drop_last else 1
    return ShiftedDiagonal(
        diagonal_part=inverse + tau * inverse**2,
        u=u,
        h=inverse * u,
        a=last + tau * shares * last**2,
        b=tau * last if drop_last else 0.0,
    )


def _exact(model: P0Model, tau: float, margins: str) -> DenseCovariance:
    require_dense(model.n)
    variances = edge_variances(model.alpha, model.beta, model.q)
    inverse = fisher_solve(variances, np.eye(2 * model.n - 1))
    inverse = (inverse + inverse.T) / 2
    added = inverse @ inverse
    if margins == "balanced":
        shift = inverse @ shift_direction(model.n)
        added -= np.outer(shift, shift) / (2 * model.n)
    return DenseCovariance(inverse + tau * added)
