r"""The left sides of the moment equations: noisy sums made to agree in total.

The right sides, sums of mu over rows and over columns, have one total. Noisy out- and in-degrees
do not. Two treatments:

- ``drop_last`` (Wang et al. 2022, section 3): the last in-degree is never used; the fit implies
  sum z+ - sum_{j<n} z-_j for it.
- ``balanced`` (derived here): with delta = sum z+ - sum z-, z+_i - delta/(2n) and
  z-_j + delta/(2n), the least-squares projection of z on equal totals. It treats all 2n sums
  alike, and costs no privacy because it is computed from what was released.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import FloatVector, require_choice

MARGINS = ("balanced", "drop_last")
INT64_ROOM = 2**62


@dataclass(frozen=True, eq=False)
class Margins:
    """Row and column sums with equal totals, as exact rationals and as floats.

    Attributes
    ----------
    treatment : str
        "balanced" or "drop_last".
    scaled_rows, scaled_columns : ndarray of int64 or of Python integers, shape (n,)
        The sums times `denominator`, exact.
    denominator : int
    """

    treatment: str
    scaled_rows: NDArray[Any]
    scaled_columns: NDArray[Any]
    denominator: int

    @property
    def rows(self) -> FloatVector:
        """Row sums r_i, in weight units; shape (n,)."""
        return np.asarray(self.scaled_rows / self.denominator, dtype=np.float64)

    @property
    def columns(self) -> FloatVector:
        """Column sums c_j, in weight units; shape (n,)."""
        return np.asarray(self.scaled_columns / self.denominator, dtype=np.float64)


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
    last = np.zeros_like(columns)
    last[-1] = delta
    return Margins(margins, rows, columns + last, unit)


def _exact_integers(
    out_degree: NDArray[Any], in_degree: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Both vectors times one whole number that makes them whole; Python integers where needed."""
    both = np.concatenate([out_degree, in_degree])
    if both.dtype.kind == "f":
        ratios = [Fraction(value) for value in both.tolist()]
        unit = lcm(*(ratio.denominator for ratio in ratios))
        whole = np.array([int(ratio * unit) for ratio in ratios], dtype=object)
    else:
        unit, whole = 1, both.astype(np.int64)
        # balancing multiplies by 2n and sums 2n terms
        if float(np.abs(both).max()) * len(both) ** 2 >= INT64_ROOM:
            whole = whole.astype(object)
    return whole[: len(out_degree)], whole[len(out_degree) :], unit
