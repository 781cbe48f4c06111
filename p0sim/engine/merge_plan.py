"""Which block each replicate of a merge is taken from, and where two directories differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from p0sim.engine.blocks import UNREADABLE, Block, block_path, read_table
from p0sim.errors import InvalidStudyError, name_some

COMPARED = ("replicates", "estimates")
# How a fit ends by the clock or the machine: another run may well end otherwise.
STOPPED = ("timeout", "killed")

Tables: TypeAlias = Mapping[str, pa.Table]
Fits: TypeAlias = set[tuple[str, int]]


@dataclass(frozen=True)
class Holding:
    """A block where it is now.

    Attributes
    ----------
    directory : Path
        Of the study that holds it.
    block : Block
        Which replicates.
    seconds : float
        Time it took.
    """

    directory: Path
    block: Block
    seconds: float

    def tables(self, frames: Iterable[str], reps: Iterable[int]) -> dict[str, pa.Table]:
        """Rows of some of its replicates.

        Raises
        ------
        InvalidStudyError
            If a file of it is gone or damaged since it was verified.
        """
        wanted = pa.array(sorted(reps), pa.int64())
        tables = {frame: self._table(frame) for frame in frames}
        return {
            frame: table.filter(pc.is_in(table["rep"], wanted)) for frame, table in tables.items()
        }

    def _table(self, frame: str) -> pa.Table:
        try:
            table = read_table(self.directory, frame, self.block)
        except UNREADABLE:
            path = block_path(self.directory, frame, self.block)
            raise InvalidStudyError(
                f"{path} cannot be read any more; wait for any run there to end and merge again"
            ) from None
        return table.replace_schema_metadata(None)


@dataclass
class MergePlan:
    """The block that each replicate is taken from: the first added that holds it.

    Parameters
    ----------
    target : Path
        Where all are copied to; its own replicates stay, whatever others hold.

    Examples
    --------
    >>> plan = MergePlan(Path("all"))
    >>> plan.add(Holding(Path("all"), Block("0f3a", 1, 2), seconds=1.0))
    >>> plan.add(Holding(Path("shard"), Block("0f3a", 3, 4), seconds=1.0))
    >>> [piece.name for _, piece in plan.pieces()]
    ['0f3a-3-4']
    """

    target: Path
    _owners: dict[str, dict[int, Holding]] = field(default_factory=dict)
    _differing: dict[tuple[str, Path, Path], list[int]] = field(default_factory=dict)

    def add(self, new: Holding) -> None:
        """Take what is missing from a block, and compare the rest with what is there."""
        owners = self._owners.setdefault(new.block.cell, {})
        contested: dict[Holding, list[int]] = {}
        for rep in range(new.block.first, new.block.last + 1):
            owner = owners.setdefault(rep, new)
            if owner is not new:
                contested.setdefault(owner, []).append(rep)
        for owner, reps in contested.items():
            self._settle(owner, new, reps)

    def pieces(self) -> Iterator[tuple[Holding, Block]]:
        """What to copy: runs of replicates, each with the one block it is taken from."""
        for cell, owners in self._owners.items():
            for holding, reps in groupby(sorted(owners), key=owners.__getitem__):
                if holding.directory != self.target:
                    first, *rest = reps
                    yield holding, Block(cell, first, rest[-1] if rest else first)

    def notes(self) -> list[str]:
        """Replicates that differ, one line a cell and pair of directories."""
        return [_difference(*key, sorted(reps)) for key, reps in self._differing.items()]

    def _settle(self, owner: Holding, new: Holding, reps: Sequence[int]) -> None:
        ours, theirs = owner.tables(COMPARED, reps), new.tables(COMPARED, reps)
        differing = _differing_reps(ours, theirs)
        better = _reps(_stopped_fits(ours)) - _reps(_stopped_fits(theirs)) - differing
        if owner.directory == self.target:
            differing |= better
        else:
            self._owners[new.block.cell].update(dict.fromkeys(better, new))
        if differing:
            key = new.block.cell, owner.directory, new.directory
            self._differing.setdefault(key, []).extend(differing)


def _differing_reps(ours: Tables, theirs: Tables) -> set[int]:
    """Replicates with a row that differs in any bit; fits stopped on either side do not count."""
    fits: Fits = set()
    for frame in COMPARED:
        rows = _bits(pa.concat_tables([ours[frame], theirs[frame]]))
        lone = rows.drop_duplicates(keep=False)
        fits |= set(zip(lone["method"], lone["rep"], strict=True))
    return _reps(fits - _stopped_fits(ours) - _stopped_fits(theirs))


def _bits(table: pa.Table) -> pd.DataFrame:
    """Rows that are equal only if all their bits are: nan equals nan, and 0 is not -0."""
    frame: pd.DataFrame = table.to_pandas()
    floats = frame.select_dtypes("float64").columns
    return frame.assign(**{name: frame[name].to_numpy().view("int64") for name in floats})


def _stopped_fits(tables: Tables) -> Fits:
    replicates = tables["replicates"]
    stopped = replicates.filter(pc.is_in(replicates["status"], pa.array(STOPPED)))
    return set(zip(stopped["method"].to_pylist(), stopped["rep"].to_pylist(), strict=True))


def _reps(fits: Fits) -> set[int]:
    return {int(rep) for _, rep in fits}


def _difference(cell: str, kept: Path, other: Path, reps: Sequence[int]) -> str:
    if len(reps) == 1:
        return (
            f"replicate {reps[0]} of cell {cell} differs between {kept} and {other}; "
            f"kept that of {kept}"
        )
    named = name_some([str(rep) for rep in reps])
    return (
        f"replicates {named} of cell {cell} differ between {kept} and {other}; kept those of {kept}"
    )
