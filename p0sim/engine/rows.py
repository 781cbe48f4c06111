"""Rows of the frames from what one replicate did: outcomes, an error, warnings."""

from __future__ import annotations

import sysconfig
import traceback
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from p0sim.columns import FRAMES
from p0sim.errors import InvalidStudyError
from p0sim.replicate import ESTIMATE_FIELDS, Outcome

PACKAGE_FOLDER = Path(__file__).parents[1]
FOREIGN_FOLDERS = (sysconfig.get_path("stdlib"), "<", "site-packages")
LONGEST_MESSAGE = 500
MOST_WARNINGS = 10

Rows: TypeAlias = dict[str, list[tuple[Any, ...]]]


def no_rows() -> Rows:
    """Every frame, empty."""
    return {frame: [] for frame in FRAMES}


def outcome_rows(cell: str, methods: Sequence[str], rep: int, outcomes: Iterable[Outcome]) -> Rows:
    """Rows of a replicate that ran to its end.

    Raises
    ------
    InvalidStudyError
        If the outcomes are not one for each method.
    """
    outcomes = list(outcomes)
    got = [outcome.method for outcome in outcomes]
    if sorted(got) != sorted(methods):
        raise InvalidStudyError(
            f"outcomes must be one for each of {', '.join(methods)}; got {', '.join(got)}"
        )
    rows = no_rows()
    for outcome in sorted(outcomes, key=lambda outcome: methods.index(outcome.method)):
        _add_outcome(rows, (cell, outcome.method, rep), outcome)
    return rows


def _add_outcome(rows: Rows, key: tuple[str, str, int], outcome: Outcome) -> None:
    n_iter = int(outcome.n_iter) if outcome.n_iter >= 0 else None
    sizes = float(outcome.residual), float(outcome.sup_error)
    rows["replicates"].append((*key, outcome.status, outcome.reason, n_iter, *sizes))
    rows["timings"].append((*key, float(outcome.seconds)))
    for estimate in outcome.estimates:
        estimand, *numbers = (estimate[name] for name in ESTIMATE_FIELDS)
        rows["estimates"].append((*key, estimand, *map(float, numbers)))


def error_rows(cell: str, methods: Sequence[str], rep: int, error: Exception) -> Rows:
    """Rows of a replicate that raised: no method has anything, and the place is named."""
    message = _one_line(f"{type(error).__name__}: {error}")
    outcomes = [Outcome(method, "error", reason=message) for method in methods]
    rows = outcome_rows(cell, methods, rep, outcomes)
    rows["problems"].append((cell, "", rep, "error", message, _raised_at(error)))
    return rows


def warning_rows(
    cell: str, rep: int, caught: Sequence[warnings.WarningMessage]
) -> list[tuple[Any, ...]]:
    """One row a text and place, a few a replicate: the same however replicates are blocked."""
    seen = {
        (_one_line(f"{each.category.__name__}: {each.message}"), _place(each.filename, each.lineno))
        for each in caught
    }
    first = sorted(seen)[:MOST_WARNINGS]
    return [(cell, "", rep, "warning", message, where) for message, where in first]


def _raised_at(error: Exception) -> str:
    """File and line of the last frame that is neither Python's own nor a library's."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(frame.filename)]
    last = (own or frames)[-1]
    return _place(last.filename, last.lineno or 0)


def _is_own(filename: str) -> bool:
    if Path(filename).is_relative_to(PACKAGE_FOLDER):
        return True
    return not any(part in filename for part in FOREIGN_FOLDERS)


def _place(filename: str, line: int) -> str:
    path = Path(filename)
    if path.is_relative_to(PACKAGE_FOLDER):
        return f"{path.relative_to(PACKAGE_FOLDER.parent).as_posix()}:{line}"
    return f"{path.name}:{line}"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 3]}..."
