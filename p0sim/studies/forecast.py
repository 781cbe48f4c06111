"""What a study will take: time, memory and disk, from one replicate of each cell."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from p0sim.columns import STATUSES
from p0sim.engine.options import RETRIED
from p0sim.engine.trial import Trial, try_cells
from p0sim.studies.study import Study

SEED = 1  # any will do where the file has none: nothing of a trial is kept


@dataclass(frozen=True, eq=False)
class Forecast:
    """What was learnt from replicate 0 of each cell.

    Attributes
    ----------
    cells : DataFrame
        One row a cell: its factors, reps, seconds a replicate, and fits by status.
    failures : DataFrame
        Rows of replicates that ended in an error, a time-out or a crash.
    worker_seconds : float
        Time of all replicates on one worker.
    worker_bytes : int
        Largest memory of a worker; 0 where the system does not tell.
    disk_bytes : int
        Size of all frames.
    """

    cells: pd.DataFrame
    failures: pd.DataFrame
    worker_seconds: float
    worker_bytes: int
    disk_bytes: int


def forecast(study: Study, reps: int | None = None, timeout: float | None = None) -> Forecast:
    """Run replicate 0 of each cell in a worker process, and reckon from there.

    Parameters
    ----------
    study : Study
    reps : int, optional
        Replicates a cell, in place of the file's.
    timeout : float, optional
        Seconds a replicate may take.
    """
    rule = study.rule()
    wanted = reps or (rule.checkpoints[-1] if rule else study.file.study.reps)
    seed = study.file.study.seed
    trials = try_cells(study.experiment, study.cells, SEED if seed is None else seed, timeout)
    rows = pd.concat([trial.frames["replicates"] for trial in trials], ignore_index=True)
    return Forecast(
        cells=pd.DataFrame([_row(trial, wanted) for trial in trials]),
        failures=rows[rows["status"].isin(RETRIED)].reset_index(drop=True),
        worker_seconds=wanted * sum(trial.seconds for trial in trials),
        worker_bytes=max(trial.peak_bytes for trial in trials),
        disk_bytes=wanted * sum(trial.n_bytes for trial in trials),
    )


def _row(trial: Trial, reps: int) -> dict[str, object]:
    counts = trial.frames["replicates"]["status"].value_counts()
    statuses = {status: counts[status] for status in STATUSES if status in counts}
    return {
        "cell": trial.cell.id,
        **trial.cell.factors,
        "reps": reps,
        "seconds": trial.seconds,
        **statuses,
    }
