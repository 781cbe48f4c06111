"""Shards and copies of one study, put together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from p0sim.engine.merge import MergeSummary, merge_stores
from p0sim.studies.predictions import write_predictions
from p0sim.studies.results import open_study


def merge_studies(directory: str | Path, others: Sequence[str | Path]) -> MergeSummary:
    """Merge results of one study; rows are put together, never averages.

    Parameters
    ----------
    directory : str or Path
        Where they go: new, or results of the same study.
    others : sequence of str or Path
        Results directories; they are left as they are.

    Returns
    -------
    MergeSummary
        Replicates added, and what the user should know.

    Raises
    ------
    P0SimError
        If they are not all of one study with one seed; nothing is written then.
    """
    directory, sources = Path(directory), [Path(other) for other in others]
    summary = merge_stores(directory, sources)
    frames = [open_study(each).predictions for each in (directory, *sources)]
    known = [frame for frame in frames if len(frame)]
    if known:
        united = pd.concat(known, ignore_index=True)
        keys = ["cell", "method", "estimand"]
        write_predictions(directory, united.drop_duplicates(keys))
    return summary
