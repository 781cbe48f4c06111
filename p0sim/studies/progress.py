"""How far a study is, in words."""

from __future__ import annotations

from p0sim.columns import FITTED, STATUSES
from p0sim.engine.options import RETRIED
from p0sim.engine.progress import readable_seconds
from p0sim.errors import name_some
from p0sim.studies.results import StudyResults


def progress_lines(results: StudyResults) -> list[str]:
    """Replicates done, time left, and what to do next.

    Parameters
    ----------
    results : StudyResults
    """
    progress = results.progress()
    asked = progress["target_reps"]
    done = progress["n_done"].clip(upper=asked)
    lines = [f"{done.sum()} of {asked.sum()} replicates"]
    if 0 < done.sum() < asked.sum():
        each = progress["seconds"] / progress["n_done"]
        left = float(((asked - done) * each.fillna(each.mean())).sum())
        lines[0] += f"; the rest takes about {readable_seconds(left)} of one worker's time"
        lines.append(
            "Go on with the p0sim run it was begun with, or with "
            f"p0sim extend {results.directory} --reps {asked.max()}"
        )
    fits = progress["n_fits"]
    failing = progress["cell"][(fits > 0) & (progress[[*RETRIED]].sum(axis=1) == fits)]
    if len(failing):
        lines.append(
            f"Nothing but errors in {name_some(list(failing))}, where a run pauses: see "
            f"p0sim failures {results.directory}; --retry error tries again, --keep-going goes on"
        )
    return lines


def closing_line(results: StudyResults) -> str:
    """Failed fits by status, errors and warnings, in one line; empty where all went well.

    Parameters
    ----------
    results : StudyResults
    """
    progress = results.progress()
    counts = {status: int(progress[status].sum()) for status in STATUSES if status != FITTED}
    failed = [f"{count} {status}" for status, count in counts.items() if count]
    parts = [f"fits without an estimate: {', '.join(failed)}"] if failed else []
    if progress["n_problems"].any():
        parts.append(results.problem_line())
    return "; ".join([*parts, f"see p0sim failures {results.directory}"]) if parts else ""
