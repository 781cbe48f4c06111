"""What study.json says of a study, and whether two records are of the same one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from p0sim.engine.files import BEGUN
from p0sim.engine.streams import canonical_text
from p0sim.errors import InvalidStudyError

STUDY_FILE = BEGUN
# Differences that one line tells, and the longest value it shows.
MOST_TOLD, LONGEST_TOLD = 3, 60


@dataclass(frozen=True)
class StudyRecord:
    """What study.json holds.

    Attributes
    ----------
    seed : int
        Seed of every stream.
    identity : dict
        What must not change: experiment, factor names, and the experiment's own content.
    methods, factors : list of str
        In file order; frames follow it.
    study : dict
        The study file as last run.
    machines : list of dict
        Versions and thread settings, one entry each time they changed.
    sources : dict of str to str
        Text of each Python file by the name the study file gives it.
    folder : str
        Absolute folder of the study file.
    """

    seed: int
    identity: dict[str, Any]
    methods: list[str]
    factors: list[str]
    study: dict[str, Any] = field(default_factory=dict)
    machines: list[dict[str, Any]] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    folder: str = ""


def read_record(directory: Path) -> StudyRecord:
    """Read study.json.

    Raises
    ------
    InvalidStudyError
        If it is missing or damaged.
    """
    path = directory / STUDY_FILE
    try:
        return StudyRecord(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidStudyError(f"{directory} holds no study: {STUDY_FILE} is missing") from None
    except (OSError, ValueError, TypeError):
        raise InvalidStudyError(
            f"{path} is damaged, and with it what the rows are of; put a copy of it back, "
            "or choose another directory"
        ) from None


def encode_record(record: StudyRecord) -> bytes:
    """Bytes of study.json."""
    return json.dumps(asdict(record), indent=2, default=str, ensure_ascii=False).encode()


def differences(there: StudyRecord, here: StudyRecord) -> list[str]:
    """What makes two records two studies, one phrase each; empty for the same study.

    Examples
    --------
    >>> differences(StudyRecord(1, {"q": 2}, [], []), StudyRecord(1, {"q": 3}, [], []))
    ['q is 2 there and 3 here']
    """
    old = _flat({"seed": there.seed, **there.identity})
    new = _flat({"seed": here.seed, **here.identity})
    return [
        _differs(name, old.get(name, "absent"), new.get(name, "absent"))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]


def difference_line(there: StudyRecord, here: StudyRecord) -> str:
    """The first few differences in one line, the seed before all others; empty for one study.

    Examples
    --------
    >>> difference_line(StudyRecord(1, {"q": 2}, [], []), StudyRecord(9, {"q": 3}, [], []))
    'seed is 1 there and 9 here; q is 2 there and 3 here'
    """
    found = differences(there, here)
    left = len(found) - MOST_TOLD
    return "; ".join([*found[:MOST_TOLD], *([f"and {left} more differences"] if left > 0 else [])])


def changed_versions(old: StudyRecord, new: StudyRecord) -> str:
    """Versions that changed between the last entries in machines, as one phrase.

    Examples
    --------
    >>> old, new = ({"machines": [{"versions": {"numpy": text}}]} for text in ("2.1", "2.4"))
    >>> changed_versions(StudyRecord(1, {}, [], [], **old), StudyRecord(1, {}, [], [], **new))
    'numpy 2.1 -> 2.4'
    """
    before, now = old.machines[-1]["versions"], new.machines[-1]["versions"]
    return ", ".join(
        f"{name} {before.get(name, 'unknown')} -> {version}"
        for name, version in now.items()
        if before.get(name) != version
    )


def continued(old: StudyRecord, new: StudyRecord) -> StudyRecord:
    """Return the new record with the history and the order of the old one."""
    changed = [] if new.machines[-1] == old.machines[-1] else [new.machines[-1]]
    return replace(
        new, methods=old.methods, factors=old.factors, machines=[*old.machines, *changed]
    )


def _differs(name: str, there: str, here: str) -> str:
    section, _, file = name.partition(".")
    if section == "sources" and "absent" not in (there, here):
        return f"{file} has changed"
    if max(len(there), len(here)) > LONGEST_TOLD:
        return f"{name} differs"
    return f"{name} is {there} there and {here} here"


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Leaves of nested tables by their dotted names, as text."""
    leaves: dict[str, str] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            leaves |= _flat(value, f"{prefix}{key}.")
        else:
            leaves[f"{prefix}{key}"] = canonical_text(value)
    return leaves
