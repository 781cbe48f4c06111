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

Where parameters are infinite (:mod:`p0sim.estimate.boundary`) the same holds for the others, with
V, D and u of the rows and columns that are left, who left taken as given; v_2n belongs to the last
finite beta, and 2n and 2n - 1 become the numbers of margins and of parameters left. With a ridge
all three are those of :mod:`p0sim.inference.penalised`; "S" then is its closed form without noise.

S, S^2 and what balancing leaves are all of the form diag(d) + a u u' + b (h u' + u h') with
h = D^-1 u, since S u = h + u (2n-1)/v_2n; that form gives every entry in O(1).

Where edges were flipped (:mod:`p0sim.privacy.edge_flip_law`) the margins have the covariance
Omega/rho^2, Omega being V with variances of flipped weights in place of mu'. "S" knows the network
alone as before; "exact" is V^-1 Omega V^-1/rho^2; "noise" puts S for V^-1. As Omega u holds the
omega_in of the arcs to node n, and 0 for the betas, u'Omega u = o_2n and S Omega S =
D^-1 O D^-1 + (o_2n/v_2n^2) u u' but for entries of O(1/n^2), O the diagonal of Omega and o_2n its
value for the last in-degree. Fixed arcs of infinite parameters are flipped like others, and count
in O. With a ridge, the diagonal stands for what flips add to V. (Derived here.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector, require_choice
from p0sim.errors import InvalidParametersError
from p0sim.estimate.moments import MomentFit
from p0sim.inference.penalised import LowRankCovariance, penalised_covariance, penalised_matrix
from p0sim.model.fisher import fisher_solve
from p0sim.model.p0 import P0Model
from p0sim.model.s_matrix import shift_direction
from p0sim.privacy.edge_flip import FlippedBiDegree
from p0sim.privacy.edge_flip_law import unbiased_edge_variances, unbiased_variances

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


Covariance: TypeAlias = ShiftedDiagonal | LowRankCovariance | DenseCovariance


@dataclass(frozen=True)
class Noise:
    """The noise of the margins: tau, and whether what totals differ by was shared by all of them.

    If so its covariance is tau (I - u u'/(2n)); else the last in-degree took it, and it is tau I,
    or, where tau is not the same for all, diagonal.
    """

    variance: float | FloatVector
    excess_shared: bool


NO_NOISE = Noise(0.0, True)


def covariance(fit: MomentFit, variance: str = "noise") -> Covariance:
    """Covariance of the estimated theta, its finite entries.

    Parameters
    ----------
    fit : MomentFit
    variance : {"noise", "S", "exact"}

    Returns
    -------
    ShiftedDiagonal, LowRankCovariance (ridge) or DenseCovariance
        All offer `diagonal`, `matrix` and `contrast_variances`, ordered as theta.

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
    if fit.ridge > 0:
        return _penalised(fit, _noise_of(fit), variance)
    if isinstance(fit.degrees, FlippedBiDegree):
        return _flipped(fit.model, fit.degree_variances, fit.degrees.epsilon, variance)
    return _covariance(fit.model, fit.degree_variances, _noise_of(fit), variance)


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
    noise = Noise(noise_variance, margins == "balanced")
    return _covariance(model, model.degree_variances(), noise, variance)


def flipped_covariance(model: P0Model, epsilon: float, variance: str) -> Covariance:
    """The same for a model whose edges are flipped, before any data.

    Parameters
    ----------
    model : P0Model
    epsilon : float
        Of the flips.
    variance : {"noise", "S", "exact"}

    Returns
    -------
    ShiftedDiagonal or DenseCovariance

    Examples
    --------
    >>> from p0sim.model.p0 import linear_design
    >>> flipped_covariance(linear_design(3, 0, q=2), 1.0, "noise").diagonal().round(3)
    array([18.731, 18.731, 18.731, 18.731, 18.731])
    """
    return _flipped(model, model.degree_variances(), epsilon, variance)


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
    model: P0Model, variances: Variances, noise: Noise, variance: str
) -> ShiftedDiagonal | DenseCovariance:
    require_choice(variance, "variance", VARIANCES)
    rows, columns = np.isfinite(model.alpha), np.isfinite(model.beta)
    if variance == "exact":
        require_dense(model.n)
        return _exact(model.arc_variances()[np.ix_(rows, columns)], noise)
    left = variances[0][rows], variances[1][columns]
    return _closed_form(left, noise if variance == "noise" else NO_NOISE)


def _flipped(
    model: P0Model, variances: Variances, epsilon: float, variance: str
) -> ShiftedDiagonal | DenseCovariance:
    if variance not in ("noise", "exact"):
        return _covariance(model, variances, NO_NOISE, variance)
    rows, columns = np.isfinite(model.alpha), np.isfinite(model.beta)
    if variance == "exact":
        require_dense(model.n)
        own, flipped = model.arc_variances(), unbiased_edge_variances(model, epsilon)
        block = np.ix_(rows, columns)
        errors = np.append(flipped.sum(axis=1)[rows], flipped.sum(axis=0)[columns])
        return _flipped_exact(own[block], flipped[block], errors[:-1])
    left = np.append(rows, columns)
    errors = unbiased_variances(model, variances, epsilon)[left]
    return _flipped_closed_form(np.concatenate(variances)[left], errors, rows.sum())


def _flipped_closed_form(variances: FloatVector, errors: FloatVector, rows: int) -> ShiftedDiagonal:
    """D^-1 O D^-1 + (o_2n/v_2n^2) u u', O of the unbiased margins."""
    u = shift_direction(rows, len(variances) - rows)
    shares = errors / variances**2
    return ShiftedDiagonal(shares[:-1], u, np.zeros_like(u), float(shares[-1]), 0.0)


def _flipped_exact(own: FloatMatrix, flipped: FloatMatrix, errors: FloatVector) -> DenseCovariance:
    """V^-1 Omega V^-1, whose diagonal is `errors` and whose cross block is `flipped`."""
    rows, omega = len(own), np.diag(errors)
    omega[:rows, rows:], omega[rows:, :rows] = flipped[:, :-1], flipped[:, :-1].T
    entries = fisher_solve(own, fisher_solve(own, omega).T)
    return DenseCovariance((entries + entries.T) / 2)


def _noise_of(fit: MomentFit) -> Noise:
    if isinstance(fit.degrees, FlippedBiDegree):
        added = fit.margin_variances - np.concatenate(fit.degree_variances)
        return Noise(added[:-1], False)
    return Noise(fit.noise_variance, fit.excess_shared)


def _closed_form(variances: Variances, noise: Noise) -> ShiftedDiagonal:
    row_variances, column_variances = variances
    inverse = 1 / np.concatenate([row_variances, column_variances[:-1]])
    last = 1 / column_variances[-1]
    u = shift_direction(len(row_variances), len(column_variances))
    tau, shares = noise.variance, 1 if noise.excess_shared else len(u)
    return ShiftedDiagonal(
        diagonal_part=inverse + tau * inverse**2,
        u=u,
        h=inverse * u,
        a=last + tau * shares * last**2,
        b=0.0 if noise.excess_shared else tau * last,
    )


def _exact(variances: FloatMatrix, noise: Noise) -> DenseCovariance:
    parameters = sum(variances.shape) - 1
    inverse = fisher_solve(variances, np.eye(parameters))
    inverse = (inverse + inverse.T) / 2
    added = inverse @ inverse
    if noise.excess_shared:
        shift = inverse @ shift_direction(*variances.shape)
        added -= np.outer(shift, shift) / (parameters + 1)
    return DenseCovariance(inverse + noise.variance * added)


def _penalised(fit: MomentFit, noise: Noise, variance: str) -> LowRankCovariance | DenseCovariance:
    require_choice(variance, "variance", VARIANCES)
    if variance == "exact":
        require_dense(fit.model.n)
        arcs = fit.model.arc_variances()
        return DenseCovariance(
            penalised_matrix(arcs, fit.ridge, noise.variance, noise.excess_shared)
        )
    noise = noise if variance == "noise" else NO_NOISE
    return penalised_covariance(
        fit.degree_variances, fit.ridge, noise.variance, noise.excess_shared
    )
