r"""Randomised response on the weight of every ordered pair: its law, and what flips do to sums.

A pair keeps its weight a with probability rho; otherwise a uniform draw from 0..q-1 replaces it
(the draw may be a again). Hence P(y | a) is rho + (1-rho)/q for y = a and (1-rho)/q for every other
y, whatever a was, and the two differ by the factor 1 + q rho/(1-rho). With

    rho = (e^epsilon - 1)/(e^epsilon + q - 1),    1 - rho = q/(e^epsilon + q - 1),

q rho/(1-rho) = e^epsilon - 1, so the factor is e^epsilon, no less: the largest rho that costs
epsilon. Two networks that differ in one pair have that pair's factor and no other between the
probabilities of any flipped network, and so between those of anything computed from it, its
degrees too.

With mu and mu' the mean and variance of a under the model, y has, given a, the mean
rho a + (1-rho)(q-1)/2. Its variance is that of a choice between two laws: rho times the one's, plus
1-rho times the other's, plus rho (1-rho) times the squared distance of their means,

    omega = rho mu' + (1-rho)(q^2-1)/12 + rho (1-rho)(mu - (q-1)/2)^2,

a sum of terms that are not negative, so that nothing cancels. Derived here; the randomised response
itself is Warner's (J. Amer. Statist. Assoc. 60, 1965).
"""

from __future__ import annotations

from math import exp, expm1

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector, require_q
from p0sim.model.edge_law import edge_mean
from p0sim.model.edge_sums import centred_square_sums
from p0sim.model.extended import ExtendedP0Model
from p0sim.model.p0 import P0Model
from p0sim.privacy.noisy_bidegree import require_epsilon


def keep_probability(epsilon: float, q: int) -> float:
    """rho, the chance that a pair keeps its own weight.

    Parameters
    ----------
    epsilon : float
        Privacy loss for one edge's weight; positive and finite.
    q : int
        Weights lie in 0..q-1.

    Returns
    -------
    float
        (e^epsilon - 1)/(e^epsilon + q - 1), between 0 and 1.

    Raises
    ------
    InvalidPrivacyError
        If epsilon is not positive and finite.

    Examples
    --------
    >>> round(keep_probability(1.0, q=2), 6)
    0.462117
    """
    return -expm1(-require_epsilon(epsilon)) / _spread(epsilon, q)


def replace_probability(epsilon: float, q: int) -> float:
    """1 - rho, with all its digits however large epsilon is.

    Examples
    --------
    >>> print(f"{replace_probability(100.0, q=2):.3e}")
    7.440e-44
    """
    return q * exp(-require_epsilon(epsilon)) / _spread(epsilon, q)


def flipped_law(weight: int, epsilon: float, q: int) -> FloatVector:
    """P(y | a): the law of a flipped weight.

    Parameters
    ----------
    weight : int
        a, in 0..q-1.
    epsilon, q
        As for :func:`keep_probability`.

    Returns
    -------
    ndarray, shape (q,)

    Examples
    --------
    >>> flipped_law(0, epsilon=1.0, q=2)
    array([0.73105858, 0.26894142])
    """
    law = np.full(q, replace_probability(epsilon, q) / q)
    law[weight] += keep_probability(epsilon, q)
    return law


def unbiased_edge_variances(model: P0Model, epsilon: float) -> FloatMatrix:
    """Variance omega/rho^2 of every unbiased weight under a model; 0 on the diagonal.

    Parameters
    ----------
    model : P0Model
        Or an ExtendedP0Model: an arc that is fixed at 0 or q - 1 may still be flipped.
    epsilon : float

    Returns
    -------
    ndarray, shape (n, n)
        Of (y - (1-rho)(q-1)/2)/rho, y the flipped weight; in squared weight units.

    Examples
    --------
    >>> from p0sim.model.p0 import linear_design
    >>> unbiased_edge_variances(linear_design(3, 0, q=2), epsilon=1.0)[0].round(3)
    array([0.   , 1.171, 1.171])
    """
    half, fixed = (model.q - 1) / 2, (np.isinf(model.alpha), np.isinf(model.beta))
    finite = (np.where(np.isinf(side), 0.0, side) for side in (model.alpha, model.beta))
    squares = (edge_mean(np.add.outer(*finite), model.q) - half) ** 2
    squares[fixed[0]], squares[:, fixed[1]] = half**2, half**2
    np.fill_diagonal(squares, 0.0)
    omega = _omega(model.arc_variances(), squares, 1 - np.eye(model.n), epsilon, model.q)
    unbiased: FloatMatrix = omega / keep_probability(epsilon, model.q) ** 2
    return unbiased


def unbiased_variances(
    model: P0Model, degree_variances: tuple[FloatVector, FloatVector], epsilon: float
) -> FloatVector:
    """Variances of the unbiased margins of a flipped network, sums of omega over rho^2, in O(n).

    Parameters
    ----------
    model : P0Model
        An extended one too.
    degree_variances : two ndarrays, shape (n,)
        Of the out-degrees and of the in-degrees without flips, as
        :meth:`p0sim.P0Model.degree_variances` gives them.
    epsilon : float

    Returns
    -------
    ndarray, shape (2n,)
        Rows, then columns, in squared weight units.

    Examples
    --------
    >>> from p0sim.model.p0 import linear_design
    >>> model = linear_design(3, 0, q=2)
    >>> unbiased_variances(model, model.degree_variances(), epsilon=1.0).round(3)
    array([2.341, 2.341, 2.341, 2.341, 2.341, 2.341])
    """
    own, squares = np.concatenate(degree_variances), np.concatenate(_squares(model))
    omega = _omega(own, squares, model.n - 1, epsilon, model.q)
    variances: FloatVector = omega / keep_probability(epsilon, model.q) ** 2
    return variances


def _squares(model: P0Model) -> tuple[FloatVector, FloatVector]:
    """Row and column sums of (mu - (q-1)/2)^2; a fixed arc has (q-1)^2/4."""
    if not isinstance(model, ExtendedP0Model):
        return centred_square_sums(model.alpha, model.beta, model.q)
    rows, columns, shared = model.block
    free = centred_square_sums(model.alpha[rows], model.beta[columns], model.q, shared)
    whole = np.full((2, model.n), (model.n - 1) * (model.q - 1) ** 2 / 4)
    for side, own, others, sums in zip(whole, (rows, columns), (columns, rows), free, strict=True):
        partners = len(others) - (np.arange(len(own)) < shared)
        side[own] += sums - partners * (model.q - 1) ** 2 / 4
    return whole[0], whole[1]


def _omega(
    variances: FloatMatrix,
    squares: FloatMatrix,
    pairs: FloatMatrix | int,
    epsilon: float,
    q: int,
) -> FloatMatrix:
    """The formula at the top for single pairs, or for sums over some number of pairs."""
    keep, replace = keep_probability(epsilon, q), replace_probability(epsilon, q)
    uniform = (float(q) ** 2 - 1) / 12
    omega: FloatMatrix = keep * variances + replace * (uniform * pairs + keep * squares)
    return omega


def _spread(epsilon: float, q: int) -> float:
    """(e^epsilon + q - 1)/e^epsilon, which cannot overflow."""
    return 1 + (require_q(q) - 1) * exp(-epsilon)
