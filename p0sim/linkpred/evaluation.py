"""How good ordered lists are: average precision, and two means of it over queries.

Hits are an array of bool, shape (..., queries, k): whether the recommendation at each place is
relevant. Places beyond the end of a shorter list hold no hit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from p0sim.errors import InvalidParametersError

FIRST_QUERIES = 300

FloatArray = NDArray[np.float64]


def average_precision(hits: ArrayLike, n_relevant: ArrayLike) -> FloatArray:
    """Sum of the precisions at the hits over min(k, number of relevant candidates).

    Parameters
    ----------
    hits : array_like of bool, shape (..., k)
    n_relevant : array_like of int, shape (...)
        Relevant candidates of the query, in the list or not; positive.

    Returns
    -------
    ndarray, shape (...)
        1 where a list could not be better, 0 where it has no hit.

    Raises
    ------
    InvalidParametersError
        If a query has fewer relevant candidates than hits, or none.

    Examples
    --------
    >>> average_precision([True, False, True], 4).round(4)
    np.float64(0.5556)
    """
    found, relevant = np.asarray(hits, dtype=bool), np.asarray(n_relevant)
    if (relevant < np.maximum(found.sum(axis=-1), 1)).any():
        raise InvalidParametersError("n_relevant must be positive and at least the number of hits")
    best: FloatArray = _precision_sum(found) / np.minimum(found.shape[-1], relevant)
    return best


def map_standard(hits: ArrayLike, n_relevant: ArrayLike) -> FloatArray:
    """Mean average precision over the queries that have a relevant candidate.

    Parameters
    ----------
    hits : array_like of bool, shape (..., queries, k)
    n_relevant : array_like of int, shape (queries,)

    Returns
    -------
    ndarray, shape (...)
        nan where no query has a relevant candidate.

    Examples
    --------
    >>> map_standard([[True, False], [False, False], [False, False]], [1, 3, 0])
    np.float64(0.5)
    """
    found, relevant = np.asarray(hits, dtype=bool), np.asarray(n_relevant)
    used = relevant > 0
    if not used.any():
        return np.full(found.shape[:-2], np.nan)[()]
    mean: FloatArray = average_precision(found[..., used, :], relevant[used]).mean(axis=-1)
    return mean


def map_reference(hits: ArrayLike) -> FloatArray:
    """What the study of De and Chakrabarti computed under the name of mean average precision.

    Parameters
    ----------
    hits : array_like of bool, shape (..., queries, k)
        Of all queries in order, of which at most the first 300 count.

    Returns
    -------
    ndarray, shape (...)
        Sums of precisions divided by the number of hits, averaged over the queries that have a
        hit; nan where none has. On the same queries it is never below :func:`map_standard`, as
        both divisors are at most those there.

    Examples
    --------
    >>> map_reference([[True, False], [False, False], [False, False]])
    np.float64(1.0)
    """
    found = np.asarray(hits, dtype=bool)[..., :FIRST_QUERIES, :]
    n_hits = found.sum(axis=-1)
    precision = _precision_sum(found) / np.maximum(n_hits, 1)
    with_hits = (n_hits > 0).sum(axis=-1)
    mean: FloatArray = np.where(
        with_hits > 0, precision.sum(axis=-1) / np.maximum(with_hits, 1), np.nan
    )
    return mean[()]


def _precision_sum(found: NDArray[np.bool_]) -> FloatArray:
    precision = np.cumsum(found, axis=-1) / np.arange(1, found.shape[-1] + 1)
    total: FloatArray = (precision * found).sum(axis=-1)
    return total
