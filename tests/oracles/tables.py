"""Tables computed by other programs, with the networks they belong to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent / "tables"


def table(name: str) -> pd.DataFrame:
    """One stored table."""
    return pd.read_csv(HERE / f"{name}.csv")


def adjacency(name: str, n: int) -> np.ndarray:
    """Adjacency of a stored edge list with ids 0..n-1."""
    edges = table(name)
    weights = np.zeros((n, n), dtype=np.int64)
    weights[edges["source"], edges["target"]] = edges["weight"]
    return weights
