"""Entries of square matrices, dense or sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from p0sim.arrays import IntVector, require_n
from p0sim.errors import InvalidNetworkError


class Entries(NamedTuple):
    """Rows, columns and values of what may be arcs; entries left out are 0."""

    i: IntVector
    j: IntVector
    value: NDArray[Any]
    n: int


def matrix_entries(weights: Any) -> Entries:
    """Entries of a square matrix, as they are.

    Raises
    ------
    InvalidNetworkError
        If it is not square, n < 3, an entry is masked, or it does not hold numbers.
    """
    is_sparse = sparse.issparse(weights)
    matrix: Any = weights if is_sparse else _dense(weights)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidNetworkError(f"network must be a square matrix; got shape {matrix.shape}")
    n = require_n(matrix.shape[0], InvalidNetworkError)
    if is_sparse:
        entries: Any = sparse.coo_array(matrix)
        i, j = (end.astype(np.int64) for end in entries.coords)
        return Entries(i, j, entries.data, n)
    i, j = (end.astype(np.int64) for end in np.nonzero(_may_be_arc(matrix)))
    return Entries(i, j, matrix[i, j], n)


def _may_be_arc(matrix: NDArray[Any]) -> NDArray[np.bool_]:
    """Objects are looked at one by one later: even whether they are 0 may not be plain."""
    return np.ones(matrix.shape, dtype=bool) if matrix.dtype.kind == "O" else matrix != 0


def _dense(weights: Any) -> NDArray[Any]:
    if np.ma.is_masked(weights):
        raise InvalidNetworkError("network must have no masked entry; fill them in or leave them 0")
    try:
        array = np.asarray(weights)
    except ValueError:
        raise InvalidNetworkError("network must be a square matrix; got ragged rows") from None
    if array.dtype.kind not in "biufO":
        raise InvalidNetworkError(f"network must hold numbers; got dtype {array.dtype}")
    return array
