"""Why fits failed and what went wrong, alike ones counted together.

Texts that differ in their numbers only, or in how many they list, are of one kind: "out-degree of 3
is 0" and "out-degree of 7 is -1, in-degree of 2 is 0" say the same. A group with one text shows it,
any other the pattern of the kind: # for the numbers that differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import shorten

import numpy as np
import pandas as pd

from p0sim.arrays import IntVector
from p0sim.columns import FITTED
from p0sim.performance.samples import factorize, group_codes

MESSAGE_SHOWN = 100

# The look-ahead does nothing but halve the time of long texts.
_NUMBER = r"(?=[-+\din])(?:0x[0-9a-fA-F]+|[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\b(?:inf|nan)\b)"
# A list counts as one number, whatever its length, also one such as
# "3 is 0, out-degree of 5 is -1, in-degree of 2 is 0 and 4 more".
_ITEM = rf", (?:[\w-]+ of {_NUMBER} is )?{_NUMBER}"
NUMBERS = re.compile(rf"({_NUMBER}(?:{_ITEM})*(?: and {_NUMBER} more)?)")


def group_failures(replicates: pd.DataFrame) -> pd.DataFrame:
    """Failed fits by method, status and kind of reason.

    Parameters
    ----------
    replicates : DataFrame
        As described in `p0sim.columns`.

    Returns
    -------
    DataFrame
        method, status, reason, count, share (of all fits of the method),
        cells (how many it happened in), cell and rep of the first in the
        order of the frame. Most frequent first, ties by reason.

    Examples
    --------
    >>> replicates = pd.DataFrame({"cell": "c1", "method": "paper", "rep": [1, 2, 3, 4],
    ...     "status": ["no_estimate", "ok", "no_estimate", "ok"],
    ...     "reason": ["out-degree of 3 is 0", "", "out-degree of 7 is 0", ""]})
    >>> print(group_failures(replicates).to_string(index=False))
    method      status               reason  count  share  cells cell  rep
     paper no_estimate out-degree of # is 0      2    0.5      1   c1    1
    """
    failed = replicates[replicates["status"] != FITTED]
    groups = grouped(failed, ["method", "status"], "reason")
    attempted = groups["method"].map(replicates["method"].value_counts())
    groups.insert(4, "share", groups["count"] / attempted.astype(np.float64))
    return groups


def group_problems(problems: pd.DataFrame) -> pd.DataFrame:
    """Errors and warnings by kind, place and kind of message.

    Parameters
    ----------
    problems : DataFrame
        As described in `p0sim.columns`.

    Returns
    -------
    DataFrame
        kind, where, message, count, cells (how many it happened in), cell and
        rep of the first in the order of the frame. Most frequent first, ties
        by message.

    Examples
    --------
    >>> problems = pd.DataFrame({"cell": "c1", "method": "paper", "rep": [4, 9],
    ...     "kind": "error", "where": "mine.py:12", "message": ["ValueError: x is 3"] * 2})
    >>> print(group_problems(problems).to_string(index=False))
     kind            message      where  count  cells cell  rep
    error ValueError: x is 3 mine.py:12      2      1   c1    4
    """
    groups = grouped(problems, ["kind", "where"], "message")
    return groups[["kind", "message", "where", *groups.columns[3:]]]


def problem_line(problems: pd.DataFrame) -> str:
    """All problems in one line, errors before warnings; empty where there are none.

    Examples
    --------
    >>> problems = pd.DataFrame({"cell": "c1", "rep": [1, 2, 3],
    ...     "kind": ["warning", "error", "error"],
    ...     "message": ["RuntimeWarning: overflow", "ValueError: no 1", "ValueError: no 2"]})
    >>> problem_line(problems)
    'problems: 2 errors (ValueError: no #), 1 warning (RuntimeWarning: overflow)'
    """
    groups = grouped(problems, ["kind"], "message")
    parts = [phrase(str(kind), rows) for kind, rows in groups.groupby("kind")]
    return f"problems: {', '.join(parts)}" if parts else ""


def phrase(kind: str, groups: pd.DataFrame) -> str:
    """Problems of one kind: how many, the most frequent message, how many others."""
    total, others = int(groups["count"].sum()), len(groups) - 1
    example = shorten(groups["message"].iloc[0], MESSAGE_SHOWN, placeholder=" ...")
    more = f" and {others} other kind{'s' * (others > 1)}" if others else ""
    return f"{total} {kind}{'s' * (total > 1)} ({example}{more})"


def grouped(rows: pd.DataFrame, keys: list[str], text: str) -> pd.DataFrame:
    """One row a group of equal keys and texts of one kind: counts, and where it came first."""
    text_code, levels = factorize(rows[text])
    texts = ["" if pd.isna(level) else str(level) for level in levels]
    kind_of_text, patterns = kinds(texts)
    kind = kind_of_text[text_code]
    codes, first = group_codes(rows[keys].assign(kind=kind), [*keys, "kind"])
    one_text = n_distinct(codes, text_code) == 1
    groups = rows.iloc[first].reset_index(drop=True)[[*keys, "cell", "rep"]]
    shown = [
        texts[text_code[row]] if one else patterns[kind[row]]
        for row, one in zip(first.tolist(), one_text.tolist(), strict=True)
    ]
    groups.insert(len(keys), text, pd.Series(shown, dtype="str"))
    groups.insert(len(keys) + 1, "count", np.bincount(codes, minlength=len(first)))
    groups.insert(len(keys) + 2, "cells", n_distinct(codes, factorize(rows["cell"])[0]))
    order = groups.assign(count=-groups["count"]).sort_values(["count", text, *keys])
    return groups.loc[order.index].reset_index(drop=True)


def kinds(texts: Sequence[str]) -> tuple[IntVector, list[str]]:
    """The kind of each text, and the pattern of each kind: # for the numbers that differ.

    Examples
    --------
    >>> kinds(["out-degree of 3 is 0", "no luck", "out-degree of 7 is 0"])[1]
    ['out-degree of # is 0', 'no luck']
    """
    numbers: dict[tuple[str, ...], int] = {}
    patterns: list[list[str]] = []
    codes = []
    for text in texts:
        # words and numbers in turn
        pieces = NUMBERS.split(text)
        code = numbers.setdefault(tuple(pieces[::2]), len(numbers))
        if code == len(patterns):
            patterns.append(pieces)
        elif patterns[code] != pieces:
            pairs = zip(patterns[code], pieces, strict=True)
            patterns[code] = [old if old == new else "#" for old, new in pairs]
        codes.append(code)
    return np.array(codes, dtype=np.int64), ["".join(pieces) for pieces in patterns]


def n_distinct(codes: IntVector, values: IntVector) -> IntVector:
    """How many different values each group has."""
    width = values.max(initial=0) + 1
    pairs = np.unique(codes * width + values)
    return np.bincount(pairs // width).astype(np.int64)
