"""What is known of a study before any data, kept beside its results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa

from p0sim.engine.blocks import encode
from p0sim.engine.files import write_whole, writing

PREDICTIONS = "predictions.parquet"
PREDICTION_COLUMNS = ["cell", "method", "estimand", "predicted_coverage", "null_value"]


def write_predictions(directory: Path, predictions: pd.DataFrame) -> None:
    """Keep what is known before any data beside the results."""
    table = pa.Table.from_pandas(predictions, preserve_index=False)
    with writing(directory):
        write_whole({directory / PREDICTIONS: encode(table)})


def read_predictions(directory: Path) -> pd.DataFrame | None:
    """What was kept; None where it is missing or damaged: a run works it out again."""
    try:
        kept = pd.read_parquet(directory / PREDICTIONS)
    except (OSError, pa.ArrowException):
        return None
    # Files of older versions have no nulls: all of them were 0.
    return kept if "null_value" in kept else kept.assign(null_value=0.0)
