"""One random stream a replicate and stage, named by what the cell is, not where it stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from p0sim.errors import InvalidStudyError
from p0sim.replicate import Cell, Experiment, Streams, Words, hash_words

SEED_LIMIT = 2**128
WORD_LIMIT = 2**32
DIGITS = 12
EXACT_LIMIT = 2**53


@dataclass(frozen=True)
class StreamKeys:
    """The two hashes of a cell that its streams are named by.

    Attributes
    ----------
    own : tuple of int
        Four 32-bit words: all of the cell, for stages 2 and 3.
    shared : tuple of int
        The same without the experiment's shared factors, for stages 0 and 1.
    """

    own: Words
    shared: Words


def canonical_number(value: float) -> int | float:
    """Round a number to 12 significant digits, whole numbers as int.

    Raises
    ------
    ValueError
        If it is not finite.

    Examples
    --------
    >>> canonical_number(0.1 * 3), canonical_number(2.0)
    (0.3, 2)
    """
    if isinstance(value, int):
        return int(value)
    if not np.isfinite(value):
        raise ValueError(f"a number must be finite; got {value}")
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < EXACT_LIMIT else rounded


def canonical_text(content: object) -> str:
    """One text for equal contents: sorted keys, numbers to 12 significant digits.

    Parameters
    ----------
    content : nested dicts with text keys, lists, text, numbers, bools and None

    Raises
    ------
    TypeError
        If it holds anything else.

    Examples
    --------
    >>> canonical_text({"q": 2.0, "L": 0.1 * 3})
    '{"L":0.3,"q":2}'
    """
    return json.dumps(_canonical(content), sort_keys=True, separators=(",", ":"), allow_nan=False)


def stream_keys(cell: Cell, experiment: Experiment) -> StreamKeys:
    """Hash the data-generating content of a cell."""
    content, shared = experiment.content(cell), experiment.shared_factors
    kept = {name: value for name, value in cell.factors.items() if name not in shared}
    return StreamKeys(own=_words(content, cell.factors), shared=_words(content, kept))


def open_streams(seed: int, keys: StreamKeys, rep: int) -> Streams:
    """Return the streams of one replicate.

    Parameters
    ----------
    seed : int
        0 <= seed < 2^128; a larger one would spill into the words of the key.
    keys : StreamKeys
        Of the cell.
    rep : int
        0 <= rep < 2^32, for the same reason; 0 is a trial that is not kept.

    Raises
    ------
    InvalidStudyError
        If seed or rep is out of range.

    Examples
    --------
    >>> keys = StreamKeys((1, 2, 3, 4), (1, 2, 3, 4))
    >>> open_streams(1, keys, rep=1).noise.random() == open_streams(1, keys, rep=2).noise.random()
    False
    """
    if not 0 <= seed < SEED_LIMIT:
        raise InvalidStudyError(f"seed must lie in 0..2^128-1; got {seed}")
    if not 0 <= rep < WORD_LIMIT:
        raise InvalidStudyError(f"rep must lie in 0..2^32-1; got {rep}")
    return Streams(seed, keys.own, keys.shared, rep)


def cell_id(cell: Cell, experiment: Experiment) -> str:
    """Short content id of a cell: ten hexadecimal digits of its own hash."""
    words = stream_keys(cell, experiment).own
    return "".join(f"{word:08x}" for word in words)[:10]


def _words(content: Mapping[str, Any], factors: Mapping[str, Any]) -> Words:
    return hash_words(canonical_text({"content": content, "factors": dict(factors)}))


def _canonical(content: object) -> object:
    match content:
        case None | bool() | str():
            return content
        case int() | float():
            return canonical_number(content)
        case np.generic():
            return _canonical(content.item())
        case list() | tuple():
            return [_canonical(item) for item in content]
        case Mapping():
            return {_text_key(key): _canonical(value) for key, value in content.items()}
    raise TypeError(f"content must be JSON-able; got {type(content).__name__}")


def _text_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"keys of content must be text; got {key!r}")
    return key
