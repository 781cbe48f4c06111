r"""The law of one edge weight: truncated geometric on 0..q-1 with log-odds x per unit.

P(a = k) = exp(k x) / sum_m exp(m x), k = 0..q-1 (Wang et al. 2022, section 2). Every function here
is elementwise in x, costs O(1) in q, and keeps its relative accuracy for any q >= 2 and any x.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike, NDArray
from scipy.special import zeta

TERMS = 10
_TWICE_K = 2 * np.arange(1, TERMS + 1)
# B_2k/(2k)! = 2 (-1)^(k+1) zeta(2k)/(2 pi)^2k; tabulated Bernoulli numbers are less accurate
_MEAN_SERIES = -2 * (-1.0) ** (_TWICE_K // 2) * zeta(_TWICE_K) / (2 * np.pi) ** _TWICE_K
_VARIANCE_SERIES = _MEAN_SERIES * (_TWICE_K - 1)


def edge_mean(x: ArrayLike, q: int) -> NDArray[np.float64]:
    r"""Expected weight mu(x) of an edge with log-odds x.

    Parameters
    ----------
    x : array_like
        alpha_i + beta_j, log-odds of one more unit of weight.
    q : int
        Weights lie in 0..q-1.

    Returns
    -------
    ndarray, shape of x
        In weight units, between 0 and q - 1.

    Notes
    -----
    :math:`\mu(x)=q/(1-e^{-qx})-1/(1-e^{-x})` loses all digits near 0 and overflows far out. With
    :math:`t=e^{-|x|}`, :math:`\mu(-|x|)=t/(1-t)-q\,t^q/(1-t^q)` where :math:`q|x|\ge 1`; below that
    the series :math:`(q-1)/2+\sum_k B_{2k}(q^{2k}-1)\,x^{2k-1}/(2k)!`, the B being Bernoulli's
    numbers; and :math:`\mu(x)=q-1-\mu(-x)`. Derived here; relative error about 1e-14 for every q.

    Examples
    --------
    >>> edge_mean([0.0, 40.0, -40.0], q=3)
    array([1.00000000e+00, 2.00000000e+00, 4.24835426e-18])
    """
    x, size, near = _split(x, q)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        lower = np.asarray(1 / np.expm1(size) - q / np.expm1(q * size))
    if near.any():
        s, qs = size[near], q * size[near]
        rise = q * qs * polyval(qs**2, _MEAN_SERIES) - s * polyval(s**2, _MEAN_SERIES)
        lower[near] = (q - 1) / 2 - rise
    return np.where(x > 0, q - 1 - lower, lower)


def edge_variance(x: ArrayLike, q: int) -> NDArray[np.float64]:
    r"""Variance mu'(x) of an edge weight; also the slope of the mean.

    Parameters
    ----------
    x : array_like
        alpha_i + beta_j.
    q : int
        Weights lie in 0..q-1.

    Returns
    -------
    ndarray, shape of x
        In squared weight units, at most (q^2 - 1)/12, even in x.

    Notes
    -----
    :math:`\mu'(x)=1/(4\sinh^2(x/2))-q^2/(4\sinh^2(qx/2))`, written with
    :math:`t/(1-t)^2=1/(4\sinh^2(x/2))`; the Bernoulli series, differentiated term by term, where
    :math:`q|x|<1` (derived here).

    Examples
    --------
    >>> edge_variance([0.0, 40.0], q=3)
    array([6.66666667e-01, 4.24835426e-18])
    """
    x, size, near = _split(x, q)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        far = _inverse_sinh_square(size) - float(q) ** 2 * _inverse_sinh_square(q * size)
    variance = np.asarray(far)
    if near.any():
        s, qs = size[near], q * size[near]
        variance[near] = float(q) ** 2 * polyval(qs**2, _VARIANCE_SERIES) - polyval(
            s**2, _VARIANCE_SERIES
        )
    return variance


def edge_log_normalizer(x: ArrayLike, q: int) -> NDArray[np.float64]:
    r"""log sum_{k<q} exp(k x), the log normaliser of one edge.

    Parameters
    ----------
    x : array_like
        alpha_i + beta_j.
    q : int
        Weights lie in 0..q-1.

    Returns
    -------
    ndarray, shape of x

    Notes
    -----
    With :math:`t=e^{-|x|}`:
    :math:`(q-1)\max(x,0)+\mathrm{log1p}\bigl(t(1-t^{q-1})/(1-t)\bigr)`. The sum of the terms after
    the largest one stands inside log1p, so a value near 0 keeps its digits (derived here).

    Examples
    --------
    >>> edge_log_normalizer([0.0, -40.0], q=2)
    array([6.93147181e-01, 4.24835426e-18])
    """
    x, size, _ = _split(x, q)
    with np.errstate(invalid="ignore"):
        ratio = np.expm1(-(q - 1) * size) / np.expm1(-size)
    ratio = np.where(size > 0, ratio, q - 1.0)
    return (q - 1) * np.maximum(x, 0.0) + np.log1p(np.exp(-size) * ratio)


def _split(
    x: ArrayLike, q: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    values = np.asarray(x, dtype=np.float64)
    size = np.abs(values)
    return values, size, q * size < 1


def _inverse_sinh_square(size: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/(4 sinh^2(size/2)) without overflow."""
    result: NDArray[np.float64] = np.exp(-size) / np.expm1(-size) ** 2
    return result
