r"""The left sides of the moment equations: noisy sums made to agree in total.

The right sides, sums of mu over rows and over columns, have one total. Noisy out- and in-degrees
do not. Two treatments:

- ``drop_last`` (Wang et al. 2022, section 3): the last in-degree is never used; the fit implies
  sum z+ - sum_{j<n} z-_j for it.
- ``balanced`` (derived here): with delta = sum z+ - sum z-, z+_i - delta/(2n) and
  z-_j + delta/(2n), the least-squares projection of z on equal totals. It treats all 2n sums
  alike, and costs no privacy because it is computed from what was released.

Degrees of a flipped network need neither, as flips make a network. What they need is to lose the
bias of flips: with rho the chance that a pair kept its weight, (Y - (n-1)(1-rho)K/2)/rho has the
true degrees as its mean, K = q - 1. The totals of that agree exactly where rho = a/b is taken at
its binary value, as (2 b Y - (n-1)(b-a)K)/(2 a). (Derived here.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import FloatVector, require_choice
from p0sim.model.bidegree import BiDegree
from p0sim.privacy.edge_flip import FlippedBiDegree
from p0sim.privacy.noisy_bidegree import NoisyBiDegree

MARGINS = ("balanced", "drop_last")
UNBIASED = "unbiased"
EXACT_IN_FLOAT = 2**53


@dataclass(frozen=True, eq=False)
class Margins:
    """Row and column sums with equal totals, as exact rationals and as floats.

    Attributes
    ----------
    treatment : str
        "balanced" or "drop_last"; "unbiased" for flipped degrees, where both are the same.
    scaled_rows, scaled_columns : ndarray of int64 or of Python integers, shape (n,)
        The sums times `denominator`, exact.
    denominator : int
    """

    treatment: str
    scaled_rows: NDArray[Any]
    scaled_columns: NDArray[Any]
    denominator: int

    @cached_property
    def rows(self) -> FloatVector:
        """Row sums r_i, in weight units, correctly rounded; read-only, shape (n,)."""
        return _quotient(self.scaled_rows, self.denominator)

    @cached_property
    def columns(self) -> FloatVector:
        """Column sums c_j, in weight units, correctly rounded; read-only, shape (n,)."""
        return _quotient(self.scaled_columns, self.denominator)


def margins_of(
    degrees: BiDegree | NoisyBiDegree | FlippedBiDegree, margins: str = "balanced"
) -> Margins:
    """The left sides that degrees of any kind ask for.

    Parameters
    ----------
    degrees : BiDegree, NoisyBiDegree or FlippedBiDegree
    margins : {"balanced", "drop_last"}
        Of no consequence for flipped degrees.

    Returns
    -------
    Margins

    Raises
    ------
    InvalidParametersError
        If `margins` is neither word.

    Examples
    --------
    >>> m = margins_of(FlippedBiDegree([3, 1, 2], [2, 2, 2], q=3, epsilon=2))
    >>> m.treatment, m.rows.round(3)
    ('unbiased', array([3.47, 0.53, 2.  ]))
    """
    if not isinstance(degrees, FlippedBiDegree):
        return treat_margins(degrees.out_degree, degrees.in_degree, margins)
    require_choice(margins, "margins", MARGINS)
    kept, whole = degrees.keep_probability.as_integer_ratio()
    bias = (degrees.n - 1) * (whole - kept) * (degrees.q - 1)
    rows, columns = (
        2 * whole * side.astype(object) - bias for side in (degrees.out_degree, degrees.in_degree)
    )
    return Margins(UNBIASED, rows, columns, 2 * kept)


def treat_margins(
    out_degree: NDArray[Any], in_degree: NDArray[Any], margins: str = "balanced"
) -> Margins:
    """Make the totals of two degree vectors agree, exactly.

    Parameters
    ----------
    out_degree, in_degree : ndarray of int or float, shape (n,)
        Sums as released; floats are taken at their exact binary value.
    margins : {"balanced", "drop_last"}

    Returns
    -------
    Margins

    Raises
    ------
    InvalidParametersError
        If `margins` is neither word.

    Examples
    --------
    >>> m = treat_margins(np.array([3, 1, 2]), np.array([2, 2, 3]))
    >>> m.rows, m.columns
    (array([3.16666667, 1.16666667, 2.16666667]), array([1.83333333, 1.83333333, 2.83333333]))
    """
    require_choice(margins, "margins", MARGINS)
    n = len(out_degree)
    rows, columns, unit = _exact_integers(out_degree, in_degree)
    delta = rows.sum() - columns.sum()
    if margins == "balanced":
        return Margins(margins, 2 * n * rows - delta, 2 * n * columns + delta, 2 * n * unit)
    implied = columns.copy()
    implied[-1] += delta
    return Margins(margins, rows, implied, unit)


def _exact_integers(
    out_degree: NDArray[Any], in_degree: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Both vectors times one whole number that makes them whole; Python integers where needed."""
    whole, unit = np.concatenate([out_degree, in_degree]), 1
    if whole.dtype.kind == "f":
        whole, unit = _exact_reals(whole)
    largest = max(int(whole.max()), -int(whole.min()))
    # balancing makes them 2n times larger and adds the difference of the totals, 2n times at most;
    # where that and the denominator stay below 2^53, dividing rounds once
    fits = 2 * len(whole) * max(largest, unit) < EXACT_IN_FLOAT
    whole = whole.astype(np.int64 if fits else object, copy=False)
    return whole[: len(out_degree)], whole[len(out_degree) :], unit


def _exact_reals(values: FloatVector) -> tuple[NDArray[Any], int]:
    """Floats times a power of two that makes all of them whole."""
    ratios = [value.as_integer_ratio() for value in values.tolist()]
    unit = max(denominator for _, denominator in ratios)
    whole = [numerator * (unit // denominator) for numerator, denominator in ratios]
    return np.array(whole, dtype=object), unit


def _quotient(scaled: NDArray[Any], denominator: int) -> FloatVector:
    values = np.asarray(scaled / denominator, dtype=np.float64)
    values.setflags(write=False)
    return values
