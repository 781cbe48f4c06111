"""Rows of the frames from what came of a replicate: outcomes, failures, warnings."""

from __future__ import annotations

import sysconfig
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from p0sim.columns import FRAMES
from p0sim.replicate import ESTIMATE_FIELDS, Outcome

PACKAGE_FOLDER = Path(__file__).parents[1]
FOREIGN_FOLDERS = (sysconfig.get_path("stdlib"), "<", "site-packages")
LONGEST_MESSAGE = 500
MOST_WARNINGS = 10

Key: TypeAlias = tuple[str, str, int]
Rows: TypeAlias = dict[str, list[tuple[Any, ...]]]


def no_rows() -> Rows:
    """Every frame, empty."""
    return {frame: [] for frame in FRAMES}


def fit_rows(key: Key, outcome: Outcome) -> Rows:
    """Rows of one fit: how it ended, and its estimates.

    Parameters
    ----------
    key : tuple
        Cell, method and replicate.
    outcome : Outcome
        What the method made of the data.
    """
    n_iter = int(outcome.n_iter) if outcome.n_iter >= 0 else None
    sizes = float(outcome.residual), float(outcome.sup_error)
    estimates = []
    for estimate in outcome.estimates:
        estimand, *numbers = (estimate[name] for name in ESTIMATE_FIELDS)
        estimates.append((*key, estimand, *map(float, numbers)))
    return {
        "replicates": [(*key, outcome.status, outcome.reason, n_iter, *sizes)],
        "estimates": estimates,
    }


def error_rows(key: Key, error: BaseException) -> list[tuple[Any, ...]]:
    """One row that names the error and its place."""
    return [(*key, "error", said_by(error), _raised_at(error))]


def warning_rows(key: Key, caught: Sequence[warnings.WarningMessage]) -> list[tuple[Any, ...]]:
    """One row a text and place, a few a fit: the same however replicates are blocked."""
    seen = {
        (_one_line(f"{each.category.__name__}: {each.message}"), _place(each.filename, each.lineno))
        for each in caught
    }
    first = sorted(seen)[:MOST_WARNINGS]
    return [(*key, "warning", message, where) for message, where in first]


def said_by(error: BaseException) -> str:
    r"""Kind and text of an error on one line.

    Examples
    --------
    >>> said_by(ValueError("too\nlarge"))
    'ValueError: too large'
    """
    # Its own text may raise as well; this one is safe.
    text = str(traceback.TracebackException.from_exception(error))
    return _one_line(f"{type(error).__name__}: {text}")


def _raised_at(error: BaseException) -> str:
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
