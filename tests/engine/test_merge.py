"""Merging copies rows: the whole is what one run would have written, or nothing is written."""

from __future__ import annotations

import errno
import math
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from p0sim.engine.blocks import MARK, Block, block_path
from p0sim.engine.index import INDEX_FILE
from p0sim.engine.merge import merge_stores
from p0sim.engine.record import STUDY_FILE
from p0sim.engine.store import Store
from p0sim.errors import CannotWriteError, InvalidStudyError, StudyMismatchError
from tests.engine.blocks_on_disk import (
    CELLS,
    RECORD,
    Rows,
    assert_same,
    cell,
    change_metadata,
    count_reads,
    cut_in_half,
    files,
    fill,
    frames,
    with_versions,
)

A_CELL = CELLS[0].id


def reps(first: int, last: int) -> Callable[[Block], bool]:
    return lambda block: first <= block.first and block.last <= last


@pytest.fixture
def clean(tmp_path):
    """One run of all in one piece."""
    fill(tmp_path / "clean", size=9)
    return frames(tmp_path / "clean")


@pytest.fixture
def shards(tmp_path) -> list[Path]:
    """Three disjoint parts in blocks of two, cut across cells and replicates."""
    paths = [tmp_path / f"shard{k}" for k in range(3)]
    for k, path in enumerate(paths):
        fill(path, mine=lambda block, k=k: (block.first // 2 + int(block.cell, 16)) % 3 == k)
    return paths


def part(path: Path, first: int, last: int, rows: Rows | None = None, **options) -> Path:
    """Replicates first..last of every cell, one a block."""
    fill(path, rows or Rows(), size=options.pop("size", 1), mine=reps(first, last), **options)
    return path


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_disjoint_shards_are_one_run_to_the_bit(tmp_path, shards, clean, order):
    assert min(len(Store(shard).blocks()) for shard in shards) > 0
    summary = merge_stores(tmp_path / "all", [shards[k] for k in order])
    assert summary.n_replicates == 27
    assert summary.notes == ()
    assert_same(frames(tmp_path / "all"), clean)
    assert fill(tmp_path / "all") == (0, ())


def test_comparison_would_see_a_shard_that_is_missing(tmp_path, shards, clean):
    """Control of the test above."""
    merge_stores(tmp_path / "all", shards[:2])
    with pytest.raises(AssertionError):
        assert_same(frames(tmp_path / "all"), clean)


def test_merging_leaves_the_sources_alone(tmp_path, shards):
    before = [files(shard) for shard in shards]
    merge_stores(tmp_path / "all", shards)
    assert [files(shard) for shard in shards] == before


def test_merged_study_has_the_tallies_of_its_parts_and_a_fresh_index(tmp_path, shards, monkeypatch):
    merge_stores(tmp_path / "all", shards)
    opened = count_reads(monkeypatch)
    merged = Store(tmp_path / "all").tallies()
    assert opened == []
    assert merged == {
        block: tally for path in shards for block, tally in Store(path).tallies().items()
    }


def test_merging_again_copies_nothing(tmp_path, shards, clean):
    merge_stores(tmp_path / "all", shards)
    before = files(tmp_path / "all")
    assert merge_stores(tmp_path / "all", shards).n_replicates == 0
    after = files(tmp_path / "all")
    assert {name: after[name] for name in after if "/" in name} == {
        name: before[name] for name in before if "/" in name
    }
    assert_same(frames(tmp_path / "all"), clean)


def test_rows_of_the_target_are_kept_and_the_rest_is_added(tmp_path, shards, clean):
    shutil.copytree(shards[0], tmp_path / "all")
    kept = {name: seen for name, seen in files(shards[0]).items() if "/" in name}
    summary = merge_stores(tmp_path / "all", shards[1:])
    assert summary.n_replicates == 27 - sum(block.n_reps for block in Store(shards[0]).blocks())
    after = files(tmp_path / "all")
    assert {name: after[name][0] for name in kept} == {name: seen[0] for name, seen in kept.items()}
    assert_same(frames(tmp_path / "all"), clean)


def test_overlapping_blocks_of_any_cut_are_sliced(tmp_path, clean):
    sources = [
        part(tmp_path / "a", 3, 5),
        part(tmp_path / "b", 1, 8, size=4),
        part(tmp_path / "c", 1, 9, size=9),
    ]
    summary = merge_stores(tmp_path / "all", sources)
    assert summary == type(summary)(27, ())
    names = [block.name for block in Store(tmp_path / "all").blocks() if block.cell == A_CELL]
    wanted = ["1-2", "3-3", "4-4", "5-5", "6-8", "9-9"]
    assert names == [f"{A_CELL}-{name}" for name in wanted]
    assert_same(frames(tmp_path / "all"), clean)
    # Half a second a replicate, whole blocks or parts of one.
    assert list(Store(tmp_path / "all").progress()["seconds"]) == [4.5] * 3


@pytest.mark.parametrize("shift", [1e-15, math.nan, "-0"], ids=["last bits", "nan", "sign of zero"])
def test_replicate_that_differs_is_noted_and_the_first_is_kept(tmp_path, clean, shift):
    key = (A_CELL, "mean", 7)
    if shift == "-0":
        wave = float(
            frames(part(tmp_path / "usual", 1, 9))["estimates"]
            .query("cell == @A_CELL and method == 'mean' and rep == 7")["estimate"]
            .iloc[0]
        )
        one, other = Rows(shift={key: -wave}), NegativeZero(shift={key: -wave})
    else:
        one, other = Rows(), Rows(shift={key: shift})
    a, b = part(tmp_path / "a", 1, 9, one), part(tmp_path / "b", 1, 9, other)
    summary = merge_stores(tmp_path / "all", [a, b])
    assert summary.notes == (
        f"replicate 7 of cell {A_CELL} differs between {a} and {b}; kept that of {a}",
    )
    assert_same(frames(tmp_path / "all"), frames(a))


class NegativeZero(Rows):
    """Its zero estimates are -0."""

    def tables(self, block):
        tables = super().tables(block)
        table = tables["estimates"]
        place = table.schema.get_field_index("estimate")
        values = table["estimate"].to_numpy().copy()
        values[values == 0] = -0.0
        return {**tables, "estimates": table.set_column(place, table.schema.field(place), [values])}


def test_many_replicates_that_differ_are_one_note_a_cell(tmp_path):
    shift = {(each.id, "mean", rep): 1.0 for each in CELLS[:2] for rep in range(1, 10)}
    a, b = part(tmp_path / "a", 1, 9), part(tmp_path / "b", 1, 8, Rows(shift=shift), size=4)
    notes = merge_stores(tmp_path / "all", [a, b]).notes
    named = "replicates 1, 2, 3, 4, 5, 6, 7, 8 of cell"
    assert sorted(notes) == sorted(
        f"{named} {each.id} differ between {a} and {b}; kept those of {a}" for each in CELLS[:2]
    )


@pytest.mark.parametrize("status", ["timeout", "killed"])
def test_fit_that_was_stopped_gives_way_to_one_that_was_not(tmp_path, clean, status):
    stopped = Rows(ends={(A_CELL, "mean", 2): status})
    a, b = part(tmp_path / "a", 1, 9, stopped, size=9), part(tmp_path / "b", 1, 9, size=3)
    for order in ([a, b], [b, a]):
        target = tmp_path / f"all-{order[0].name}"
        assert merge_stores(target, order).notes == ()
        assert_same(frames(target), clean)


def test_fit_that_was_stopped_everywhere_stays(tmp_path):
    stopped = Rows(ends={(A_CELL, "mean", 2): "killed"})
    a, b = part(tmp_path / "a", 1, 9, stopped, size=9), part(tmp_path / "b", 1, 9, stopped, size=3)
    merge_stores(tmp_path / "all", [a, b])
    assert_same(frames(tmp_path / "all"), frames(a))


def test_fit_that_was_stopped_in_the_target_is_noted_and_kept(tmp_path):
    target = part(tmp_path / "all", 1, 9, Rows(ends={(A_CELL, "mean", 2): "killed"}))
    before, b = frames(target), part(tmp_path / "b", 1, 9)
    assert merge_stores(target, [b]).notes == (
        f"replicate 2 of cell {A_CELL} differs between {target} and {b}; kept that of {target}",
    )
    assert_same(frames(target), before)


def test_error_in_one_and_not_in_the_other_is_a_difference(tmp_path):
    """Control of those above: only time-outs and killed workers are no difference."""
    failed = Rows(ends={(A_CELL, "mean", 2): "error"})
    a, b = part(tmp_path / "a", 1, 9, failed), part(tmp_path / "b", 1, 9)
    summary = merge_stores(tmp_path / "all", [a, b])
    assert len(summary.notes) == 1
    assert_same(frames(tmp_path / "all"), frames(a))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (replace(RECORD, seed=8), "seed is 8 there and 7 here"),
        (
            replace(RECORD, identity={**RECORD.identity, "model": {"law": "cauchy"}}),
            'model.law is "cauchy" there and "normal" here',
        ),
    ],
)
@pytest.mark.parametrize("as_target", [True, False])
def test_another_study_is_refused_and_nothing_written(tmp_path, shards, record, message, as_target):
    other = part(tmp_path / "other", 1, 2, record=record)
    target, sources = (other, shards) if as_target else (tmp_path / "all", [*shards, other])
    before = files(tmp_path)
    with pytest.raises(StudyMismatchError, match=f"{other} holds another study than .*: {message}"):
        merge_stores(target, sources)
    assert files(tmp_path) == before


def test_two_quite_different_studies_are_told_apart_in_a_short_line(tmp_path, shards):
    terms = [f"alpha[{k}]" for k in range(1, 40)]
    model = {f"key{k}": "other" for k in range(20)}
    strange = {**RECORD.identity, "estimands": {"contrasts": terms}, "model": model}
    other = part(tmp_path / "other", 1, 2, record=replace(RECORD, seed=8, identity=strange))
    with pytest.raises(StudyMismatchError) as caught:
        merge_stores(tmp_path / "all", [*shards, other])
    told = str(caught.value).replace(str(tmp_path), "")
    assert ": seed is 8 there and 7 here; " in told
    assert re.search(r"; and \d+ more differences$", told)
    assert len(told) < 300


def test_source_that_is_no_study_is_refused_and_nothing_written(tmp_path, shards):
    before = files(tmp_path)
    with pytest.raises(InvalidStudyError, match="nowhere holds no study"):
        merge_stores(tmp_path / "all", [*shards, tmp_path / "nowhere"])
    (shards[2] / "cells.parquet").write_bytes(b"half")
    with pytest.raises(InvalidStudyError, match=r"cells\.parquet is damaged"):
        merge_stores(tmp_path / "all", shards)
    assert files(tmp_path).keys() == before.keys()
    assert not (tmp_path / "all").exists()


def test_no_source_a_source_twice_and_the_target_as_source_are_refused(tmp_path, shards):
    with pytest.raises(InvalidStudyError, match="at least one directory; got none"):
        merge_stores(tmp_path / "all", [])
    with pytest.raises(InvalidStudyError, match="shard0 twice"):
        merge_stores(tmp_path / "all", [shards[0], shards[1], shards[1] / ".." / "shard0"])
    with pytest.raises(InvalidStudyError, match="shard0, which is the target"):
        merge_stores(shards[0] / "." / "", [shards[1], shards[0]])


def test_target_that_holds_something_else_or_is_in_use_is_refused(tmp_path, shards):
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "thesis.tex").write_text("precious")
    with pytest.raises(StudyMismatchError, match=r"holds thesis\.tex"):
        merge_stores(tmp_path / "all", shards)
    with Store(shards[0]).locked(), pytest.raises(StudyMismatchError, match="in use"):
        merge_stores(shards[0], shards[1:])


def test_damaged_block_of_a_source_is_left_out_with_a_note(tmp_path, shards, clean):
    block = Store(shards[1]).blocks()[0]
    path = block_path(shards[1], "estimates", block)
    before = path.stat()
    path.write_bytes(b"\xff" * before.st_size)
    # As the index knows it: sources are read in full whatever it says.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    summary = merge_stores(tmp_path / "all", shards)
    expected = f"block {block.name} of {shards[1]} is left out: estimates is damaged"
    assert summary == type(summary)(27 - block.n_reps, (expected,))
    assert fill(tmp_path / "all") == (block.n_reps, ())
    assert_same(frames(tmp_path / "all"), clean)


def test_damaged_block_of_the_target_is_filled_from_a_source(tmp_path, shards, clean):
    merge_stores(tmp_path / "all", shards)
    block = Store(shards[1]).blocks()[0]
    cut_in_half(block_path(tmp_path / "all", MARK, block))
    assert merge_stores(tmp_path / "all", shards).n_replicates == block.n_reps
    assert_same(frames(tmp_path / "all"), clean)


def test_cells_are_united_with_the_most_replicates_asked_for(tmp_path):
    more = replace(CELLS[1], target_reps=12)
    a = part(tmp_path / "a", 1, 2, cells=CELLS[:2])
    b = part(tmp_path / "b", 1, 2, cells=(cell(3, 25, "1"), more))
    merge_stores(tmp_path / "all", [a, b])
    targets = Store(tmp_path / "all").targets()
    assert list(targets.items()) == [(CELLS[0].id, 9), (more.id, 12), ("3f3a", 9)]


def test_cells_of_an_existing_target_stay_first(tmp_path):
    target = part(tmp_path / "all", 1, 2, cells=CELLS[1:])
    merge_stores(target, [part(tmp_path / "b", 3, 4)])
    assert list(Store(target).targets()) == [CELLS[1].id, CELLS[2].id, CELLS[0].id]


def test_record_is_that_of_the_first_with_the_machines_of_all(tmp_path):
    records = [
        replace(RECORD, folder="/a", sources={"m.py": "1"}),
        replace(with_versions(RECORD, numpy="2.5"), folder="/b", methods=RECORD.methods[::-1]),
    ]
    a, b = (
        part(tmp_path / name, 1, 2, record=record)
        for name, record in zip("ab", records, strict=True)
    )
    summary = merge_stores(tmp_path / "all", [a, b])
    merged = Store(tmp_path / "all").read_identity()
    assert merged == replace(records[0], machines=[*records[0].machines, *records[1].machines])
    assert summary.notes == (f"versions differ between {a} and {b}: numpy 2.4 -> 2.5",)


def test_order_of_methods_of_an_existing_target_stays(tmp_path):
    turned = replace(RECORD, methods=RECORD.methods[::-1])
    target, b = part(tmp_path / "all", 1, 2, record=turned), part(tmp_path / "b", 3, 4)
    merge_stores(target, [b])
    assert list(Store(target).read("replicates")["method"].unique()) == turned.methods


def test_shards_of_the_first_version_merge(tmp_path, shards, clean):
    """Their marks hold no tally."""
    for block in Store(shards[0]).blocks():
        change_metadata(shards[0], block, tally=None)
    merge_stores(tmp_path / "all", shards)
    assert_same(frames(tmp_path / "all"), clean)


def test_full_disk_half_way_is_one_line_and_merging_again_goes_on(
    tmp_path, shards, clean, monkeypatch
):
    real, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) > 60:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWriteError, match="all cannot be written: No space left on device"):
        merge_stores(tmp_path / "all", shards)
    monkeypatch.undo()
    n_done = sum(block.n_reps for block in Store(tmp_path / "all").blocks())
    assert 0 < n_done < 27
    assert merge_stores(tmp_path / "all", shards).n_replicates == 27 - n_done
    assert_same(frames(tmp_path / "all"), clean)


def test_source_that_changes_meanwhile_is_one_line(tmp_path, shards, monkeypatch):
    real = Store.lay_out

    def lay_out_too_late(self, *args):
        for path in shards[2].glob("estimates/*.parquet"):
            path.unlink()
        return real(self, *args)

    monkeypatch.setattr(Store, "lay_out", lay_out_too_late)
    with pytest.raises(InvalidStudyError, match="cannot be read any more; wait for any run there"):
        merge_stores(tmp_path / "all", shards)


def test_merged_directory_holds_what_a_study_holds(tmp_path, shards):
    merge_stores(tmp_path / "all", shards)
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert names == {path.name for path in shards[0].iterdir()}
    assert {STUDY_FILE, INDEX_FILE} <= names
    assert np.all(Store(tmp_path / "all").progress()["n_done"] == 9)
