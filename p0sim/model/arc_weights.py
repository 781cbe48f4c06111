"""Weights as people write them, read as whole numbers in 0..q-1 and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import IntVector
from p0sim.errors import InvalidNetworkError
from p0sim.validation import shown

WHOLE_NUMBER = re.compile(r"([+-]?[0-9]+)(\.0*)?")

# Beyond it neighbouring whole numbers share one float: a sum is no longer known exactly.
LARGEST_WEIGHT = 2**53
# A float holds it exactly, unlike -2**53 - 1.
NOT_WHOLE = -(2**54)


def whole_weights(
    values: NDArray[Any], q: int, place: Callable[[int], str], *, clip: bool = False
) -> IntVector:
    """Weights as int64, each a whole number in 0..q-1; text such as "1" or "1.0" will do.

    With `clip` a whole number outside is moved to the nearer end; anything else is still refused.

    Raises
    ------
    InvalidNetworkError
        Naming the first value that is not, and its place.
    """
    if clip:
        return whole_numbers(values, place).clip(0, q - 1)
    whole = _integers(values)
    _refuse((whole < 0) | (whole > q - 1), f"in 0..q-1 = {q - 1}", values, place)
    return whole


def whole_numbers(values: NDArray[Any], place: Callable[[int], str]) -> IntVector:
    """Weights as int64 whatever their range, as long as they are exact: up to 2^53 in size.

    Raises
    ------
    InvalidNetworkError
        Naming the first value that is no such number, and its place.
    """
    whole = _integers(values)
    _refuse(abs(whole) > LARGEST_WEIGHT, "of at most 2^53 in size", values, place)
    return whole


def written(value: object) -> str:
    """A cell in an error message: text in quotes, a number as it is, both cut when long.

    Examples
    --------
    >>> written(np.int64(7)), written("7")
    ('7', "'7'")
    """
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    return shown(value.item() if isinstance(value, np.generic) else value)


def _refuse(
    wrong: NDArray[np.bool_], rule: str, values: NDArray[Any], place: Callable[[int], str]
) -> None:
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InvalidNetworkError(
            f"weight must be a whole number {rule}; got {written(values[k])} {place(k)}"
        )


def _integers(values: NDArray[Any]) -> IntVector:
    """Values as int64; beyond 2^53 in size where they were no whole numbers."""
    kind = values.dtype.kind
    if kind in "bi":
        return values.astype(np.int64)
    if kind == "u":
        return np.minimum(values.astype(np.uint64), LARGEST_WEIGHT + 1).astype(np.int64)
    if kind == "f":
        return _integers_of_floats(values.astype(np.float64))
    if kind in "mM":
        # numpy would count the nanoseconds
        return np.full(values.shape, NOT_WHOLE)
    return _integers_of_objects(values.astype(object))


def _integers_of_floats(values: NDArray[np.float64]) -> IntVector:
    # a comparison with nan is false, so nan and inf are no whole numbers
    whole = (np.abs(values) <= LARGEST_WEIGHT) & (values == np.round(values))
    return np.where(whole, values, NOT_WHOLE).astype(np.int64)


def _integers_of_objects(values: NDArray[Any]) -> IntVector:
    import pandas as pd

    if pd.api.types.infer_dtype(values, skipna=False) != "string":
        return np.array([_integer(value) for value in values], dtype=np.int64)
    codes, texts = pd.factorize(values)
    return np.array([_integer(text) for text in texts], dtype=np.int64)[codes]


def _integer(value: object) -> int:
    if isinstance(value, Decimal) and value.is_finite():
        return _integer_of_number(value)
    if isinstance(value, Real):
        return _integer_of_number(value)
    match = WHOLE_NUMBER.fullmatch(str(value))
    digits = match[1] if match else ""
    return max(NOT_WHOLE, min(int(digits), -NOT_WHOLE)) if 0 < len(digits) < 100 else NOT_WHOLE


def _integer_of_number(value: Any) -> int:
    return int(value) if abs(value) <= LARGEST_WEIGHT and value == int(value) else NOT_WHOLE
