"""Joins the directories of one study, run in parts: rows are copied, never drawn or averaged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from p0sim.columns import FRAMES
from p0sim.engine.blocks import Block
from p0sim.engine.cells import Row, rows_in
from p0sim.engine.merge_plan import Holding, MergePlan
from p0sim.engine.record import StudyRecord, changed_versions, difference_line
from p0sim.engine.store import Store
from p0sim.errors import InvalidStudyError, StudyMismatchError


@dataclass(frozen=True)
class MergeSummary:
    """What a merge did.

    Attributes
    ----------
    n_replicates : int
        Replicates copied into the target.
    notes : tuple of str
        Other versions, damaged blocks and replicates that differ, one line each.
    """

    n_replicates: int
    notes: tuple[str, ...] = ()


def merge_stores(target: str | Path, sources: Sequence[str | Path]) -> MergeSummary:
    """Copy what several directories of one study hold into one.

    Parameters
    ----------
    target : str or Path
        A new directory, or one of the same study, whose rows are kept.
    sources : sequence of str or Path
        Directories of one study, each verified in full; only replicates that neither the target
        nor an earlier source holds are taken. The study file, and in a new target the order of
        methods and factors, are those of the first.

    Returns
    -------
    MergeSummary

    Raises
    ------
    InvalidStudyError
        If there is no source, one comes twice or is the target, or holds no study.
    StudyMismatchError
        If they are not all of one study, or the target is in use; names what differs.
    CannotWriteError
        If the disk refuses; merging again goes on where this stopped.

    Notes
    -----
    Nothing is written before every source has been read. A replicate that two directories hold
    with different rows is taken from the first and noted, unless the first was stopped there
    (timeout, killed) and the other was not. Never is anything computed again or averaged.

    Examples
    --------
    >>> merge_stores("all", [])
    Traceback (most recent call last):
    p0sim.errors.InvalidStudyError: sources must be at least one directory; got none
    """
    target, paths = Path(target), [Path(source) for source in sources]
    _require_distinct(target, paths)
    stores = {path: Store(path) for path in paths}
    records = {path: store.read_identity() for path, store in stores.items()}
    _require_one_study(records)
    cells = [row for store in stores.values() for row in rows_in(store.read("cells"))]
    notes = _version_notes(records) + _damage_notes(stores)
    merged = Store(target)
    with merged.locked():
        record, own_cells = _joined(merged, records)
        plan = _plan([merged, *stores.values()])
        notes += merged.lay_out(record, [*own_cells, *cells]) + plan.notes()
        n_replicates = sum(_copy(merged, holding, piece) for holding, piece in plan.pieces())
        merged.save_index()
    return MergeSummary(n_replicates, tuple(notes))


def _require_distinct(target: Path, sources: Sequence[Path]) -> None:
    if not sources:
        raise InvalidStudyError("sources must be at least one directory; got none")
    seen = {target.resolve(): f"{target}, which is the target"}
    for source in sources:
        if source.resolve() in seen:
            raise InvalidStudyError(
                f"sources must be directories of their own; got {seen[source.resolve()]}"
            )
        seen[source.resolve()] = f"{source} twice"


def _require_one_study(records: Mapping[Path, StudyRecord]) -> None:
    (first, expected), *others = records.items()
    for path, record in others:
        if differing := difference_line(record, expected):
            raise StudyMismatchError(f"{path} holds another study than {first}: {differing}")


def _version_notes(records: Mapping[Path, StudyRecord]) -> list[str]:
    (first, expected), *others = records.items()
    return [
        f"versions differ between {first} and {path}: {changed}"
        for path, record in others
        if (changed := changed_versions(expected, record))
    ]


def _damage_notes(stores: Mapping[Path, Store]) -> list[str]:
    return [
        f"block {block.name} of {path} is left out: {damage}"
        for path, store in stores.items()
        for block, damage in store.verify().items()
    ]


def _joined(merged: Store, sources: Mapping[Path, StudyRecord]) -> tuple[StudyRecord, list[Row]]:
    """Record and cells of the target to be: its own come first where it is a study."""
    first, record = next(iter(sources.items()))
    if not merged.has_study():
        return replace(record, machines=_machines(sources.values())), []
    own = merged.read_identity()
    _require_one_study({first: record, merged.directory: own})
    machines = _machines([own, *sources.values()])
    joined = replace(record, methods=own.methods, factors=own.factors, machines=machines)
    return joined, rows_in(merged.read("cells"))


def _machines(records: Iterable[StudyRecord]) -> list[dict[str, Any]]:
    machines: list[dict[str, Any]] = []
    for record in records:
        machines += [machine for machine in record.machines if machine not in machines]
    return machines


def _plan(stores: Sequence[Store]) -> MergePlan:
    """Plan of a merge of all into the first."""
    plan = MergePlan(stores[0].directory)
    for store in stores:
        for block, tally in store.tallies().items():
            plan.add(Holding(store.directory, block, tally.seconds))
    return plan


def _copy(merged: Store, holding: Holding, piece: Block) -> int:
    """Write some replicates of a block, and with them their share of its time."""
    tables = holding.tables(FRAMES, range(piece.first, piece.last + 1))
    merged.write(piece, tables, holding.seconds * piece.n_reps / holding.block.n_reps)
    return piece.n_reps
