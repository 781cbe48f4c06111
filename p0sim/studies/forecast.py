"""What a study will take: time, memory and disk, from one replicate of each cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pandas as pd

from p0sim.columns import STATUSES
from p0sim.engine.options import RETRIED
from p0sim.engine.progress import readable_seconds
from p0sim.engine.trial import Trial, try_cells
from p0sim.studies.study import Study

PATIENCE = 5.0  # seconds of silence that nobody takes for a fault
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


def forecast(
    study: Study,
    reps: int | None = None,
    timeout: float | None = None,
    tell: Callable[[str], None] | None = None,
) -> Forecast:
    """Run replicate 0 of each cell in a worker process, and reckon from there.

    Parameters
    ----------
    study : Study
    reps : int, optional
        Replicates a cell, in place of the file's.
    timeout : float, optional
        Seconds a replicate may take.
    tell : callable, optional
        Takes a line at once where this takes long, and one for each cell as it is tried.
    """
    rule = study.rule()
    wanted = reps or (rule.checkpoints[-1] if rule else study.file.study.reps)
    seed = study.file.study.seed
    quick_first = sorted(study.cells, key=study.experiment.cost)
    tried = try_cells(study.experiment, quick_first, SEED if seed is None else seed, timeout)
    trials = _in_order(study, _told(study, tried, tell) if tell else tried)
    rows = pd.concat([trial.frames["replicates"] for trial in trials], ignore_index=True)
    return Forecast(
        cells=pd.DataFrame([_row(trial, wanted) for trial in trials]),
        failures=rows[rows["status"].isin(RETRIED)].reset_index(drop=True),
        worker_seconds=wanted * sum(trial.seconds for trial in trials),
        worker_bytes=max(trial.peak_bytes for trial in trials),
        disk_bytes=wanted * sum(trial.n_bytes for trial in trials),
    )


def _told(study: Study, tried: Iterable[Trial], tell: Callable[[str], None]) -> Iterator[Trial]:
    """The trials, each with a line that says what it took, where silence would be long."""
    guess, n_cells = sum(map(study.experiment.cost, study.cells)), len(study.cells)
    if guess < PATIENCE:
        yield from tried
        return
    about = "" if math.isnan(guess) else f", by a first guess {readable_seconds(guess)}"
    tell(f"trying replicate 0 of {n_cells} cell{'s' * (n_cells > 1)}{about}")
    for number, trial in enumerate(tried, start=1):
        memory = f", {trial.peak_bytes / 2**20:.0f} MiB of memory" if trial.peak_bytes else ""
        tell(f"{number} of {n_cells}: {readable_seconds(trial.seconds)} a replicate{memory}")
        yield trial


def _in_order(study: Study, tried: Iterable[Trial]) -> list[Trial]:
    trials = {trial.cell.id: trial for trial in tried}
    return [trials[cell.id] for cell in study.cells]


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
