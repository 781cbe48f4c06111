"""JSON that says each thing once: readers would differ on which of two values holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from p0sim.errors import InvalidPrivacyError
from p0sim.validation import shown


def read_json(text: str, place: str) -> Any:
    """What a text of JSON holds.

    Parameters
    ----------
    text : str
    place : str
        Where it stands, as messages call it.

    Returns
    -------
    dict, list, str, number, bool or None

    Raises
    ------
    InvalidPrivacyError
        If a key of an object stands twice.
    ValueError, RecursionError
        If it is no JSON.

    Examples
    --------
    >>> read_json('{"epsilon": "1", "epsilon": "2"}', "line 2")
    Traceback (most recent call last):
    p0sim.errors.InvalidPrivacyError: 'epsilon' must stand once in line 2; got it twice
    """

    def once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, value in pairs:
            if name in fields:
                raise InvalidPrivacyError(f"{shown(name)} must stand once in {place}; got it twice")
            fields[name] = value
        return fields

    return json.loads(text, object_pairs_hook=once_each)
