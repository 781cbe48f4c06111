"""What a study file says of how its results are read: nulls, pools, formulas, the reference.

None of it changes a row: it may be edited at any time, and the newest file holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pandas as pd

from p0sim.columns import RULE_SUFFIX
from p0sim.errors import InvalidStudyError
from p0sim.formulas import fill_positions


def nulls_of(predictions: pd.DataFrame) -> dict[tuple[str, str], float]:
    """What each estimand of each cell is tested against.

    Parameters
    ----------
    predictions : DataFrame
        Columns cell, estimand and null_value, one row a cell, method and estimand.

    Returns
    -------
    dict of (cell, estimand) to float
        Those that are not 0: 0 goes without saying.

    Examples
    --------
    >>> kept = pd.DataFrame({"cell": ["c1", "c1"], "method": ["a", "b"], "estimand": "alpha[1]",
    ...     "null_value": 0.5})
    >>> nulls_of(kept)
    {('c1', 'alpha[1]'): 0.5}
    """
    given = predictions[predictions["null_value"] != 0]
    keys = zip(given["cell"], given["estimand"], strict=True)
    return dict(zip(keys, given["null_value"].astype(float), strict=True))


def pools_of(study: Mapping[str, Any]) -> dict[str, str]:
    """Name and pattern of each pool, from the document of a study file.

    Examples
    --------
    >>> pools_of({"measures": {"pool": {"senders": "alpha[*]"}}})
    {'senders': 'alpha[*]'}
    """
    return dict(study.get("measures", {}).get("pool", {}))


def reference_of(study: Mapping[str, Any]) -> str | None:
    """Name of the method others are compared with; None where the file marks none.

    Examples
    --------
    >>> reference_of({"methods": {"paper": {}, "balanced": {"reference": True}}})
    'balanced'
    """
    methods = study.get("methods", {})
    return next((name for name, table in methods.items() if table.get("reference")), None)


def with_rules(
    measured: pd.DataFrame, study: Mapping[str, Any], cells: pd.DataFrame
) -> pd.DataFrame:
    """Put every estimand as the study file has it beside its name: alpha[n/2] beside alpha[50].

    The name changes with n, the rule does not, so that a table or figure can follow it.

    Parameters
    ----------
    measured : DataFrame
        Columns cell and estimand.
    study : mapping
        The document of the study file.
    cells : DataFrame

    Returns
    -------
    DataFrame
        With estimand_rule after estimand; the name itself where the file has no formula for it.

    Examples
    --------
    >>> study = {"estimands": {"contrasts": ["alpha[n/2]"]}}
    >>> cells = pd.DataFrame({"cell": ["c1", "c2"], "n": [100, 200]})
    >>> measured = pd.DataFrame({"cell": ["c1", "c2"], "estimand": ["alpha[50]", "alpha[100]"]})
    >>> with_rules(measured, study, cells)["estimand_rule"].tolist()
    ['alpha[n/2]', 'alpha[n/2]']
    """
    rules = dict(_rules(study, cells))
    pairs = zip(measured["cell"].astype(str), measured["estimand"].astype(str), strict=True)
    written = [rules.get(pair, pair[1]) for pair in pairs]
    with_them = measured.copy()
    after = list(measured.columns).index("estimand") + 1
    with_them.insert(after, "estimand" + RULE_SUFFIX, written)
    return with_them


def _rules(study: Mapping[str, Any], cells: pd.DataFrame) -> Iterator[tuple[tuple[str, str], str]]:
    """Cell, name and formula of each contrast whose positions the factors of its cell decide."""
    contrasts = study.get("estimands", {}).get("contrasts", [])
    texts = [entry if isinstance(entry, str) else entry["contrast"] for entry in contrasts]
    numbers = cells.select_dtypes("number")
    for cell, row in zip(cells["cell"], numbers.itertuples(index=False, name=None), strict=True):
        factors = dict(zip(numbers.columns, row, strict=True))
        for rule in ("".join(text.split()) for text in texts):
            # [*] is no formula, and a given network has no factor n
            with suppress(InvalidStudyError, KeyError):
                yield (str(cell), fill_positions(rule, factors)), rule
