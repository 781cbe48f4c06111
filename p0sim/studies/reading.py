"""What a study file says of how its results are read: nulls, pools, the method of reference.

None of it changes a row: it may be edited at any time, and the newest file holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd


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
