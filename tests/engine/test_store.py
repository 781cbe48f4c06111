"""Resuming, damage, locks, full disks: what is on disk is whole, or is computed again."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from p0sim.columns import FRAMES, STATUSES
from p0sim.engine.blocks import (
    MARK,
    SIDES,
    Block,
    read_table,
    verify_block,
    write_block,
)
from p0sim.engine.cells import CELLS_FILE
from p0sim.engine.design import parse_study
from p0sim.engine.index import INDEX_FILE
from p0sim.engine.lock import LOCK_FILE
from p0sim.engine.record import STUDY_FILE
from p0sim.engine.store import Store
from p0sim.engine.tally import tally_of
from p0sim.errors import CannotWriteError, InvalidStudyError, P0SimError, StudyMismatchError
from tests.engine.blocks_on_disk import (
    CELLS,
    RECORD,
    USUAL,
    Rows,
    assert_same,
    cell,
    change_metadata,
    cut_in_half,
    files,
    fill,
    flip_a_byte,
    frames,
    with_versions,
)

BLOCK = Block("0f3a0f3a0f", 1, 2)


@pytest.fixture
def done(tmp_path) -> Path:
    """A finished study in blocks of two or one replicates: five for each of three cells."""
    fill(tmp_path / "done")
    return tmp_path / "done"


@pytest.fixture
def clean(tmp_path) -> dict[str, pd.DataFrame]:
    fill(tmp_path / "clean", size=9)
    return frames(tmp_path / "clean")


def first_block(directory: Path) -> Block:
    return next(block for block in Store(directory).blocks() if block.n_reps == 2)


def path_of(directory: Path, frame: str) -> Path:
    return directory / frame / f"{first_block(directory).name}.parquet"


@pytest.mark.parametrize(
    ("harm", "frame"),
    [
        *((harm, frame) for harm in (cut_in_half, Path.unlink) for frame in FRAMES),
        *((flip_a_byte, frame) for frame in SIDES),
    ],
)
def test_damaged_block_alone_is_computed_again(done, clean, harm, frame):
    harm(path_of(done, frame))
    n_done, _ = fill(done, size=1)
    assert n_done == 2
    assert_same(frames(done), clean)


@pytest.mark.parametrize("last", [1, 4, 9, 20])
def test_one_cell_up_to_a_replicate_is_a_part_of_the_frame(done, last):
    whole = Store(done).read("estimates")
    expected = whole[(whole["cell"] == CELLS[1].id) & (whole["rep"] <= last)]
    got = Store(done).read_cell("estimates", CELLS[1].id, last)
    pd.testing.assert_frame_equal(got, expected.reset_index(drop=True), check_exact=True)


def test_damage_is_told_in_one_line_and_left_out_of_frames(done):
    block = first_block(done)
    cut_in_half(path_of(done, "estimates"))
    with pytest.warns(UserWarning, match=f"left out until the next run: {block.name}"):
        assert len(Store(done).read("replicates")) == 2 * (27 - 2)
    with pytest.warns(UserWarning, match=f"left out until the next run: {block.name}"):
        assert Store(done).progress()["n_done"].sum() == 27 - 2
    assert fill(done)[1] == (f"block {block.name} is computed again: estimates is damaged",)


def test_deleted_blocks_are_computed_again_in_any_cut(done, clean):
    for block in Store(done).blocks()[::3]:
        (done / MARK / f"{block.name}.parquet").unlink()
    n_done, _ = fill(done, size=5)
    assert 0 < n_done < 27
    assert_same(frames(done), clean)


def test_two_blocks_that_changed_places_are_not_trusted(done):
    one, two = (done / MARK / f"{block.name}.parquet" for block in Store(done).blocks()[:2])
    swap = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(swap)
    assert fill(done)[0] == 4


def test_any_flipped_byte_of_a_mark_is_found_or_harmless(tmp_path):
    tables = USUAL.tables(BLOCK)
    tally = tally_of(tables, 1.0)
    for frame in FRAMES:
        (tmp_path / frame).mkdir()
    write_block(tmp_path, BLOCK, tables, tally)
    path = tmp_path / MARK / f"{BLOCK.name}.parquet"
    payload = path.read_bytes()
    found = 0
    for i in range(0, len(payload), 3):
        path.write_bytes(payload[:i] + bytes([payload[i] ^ 0x55]) + payload[i + 1 :])
        verdict = verify_block(tmp_path, BLOCK)
        if verdict.damage:
            found += 1
        else:
            assert verdict.tally.counts == tally.counts
            read = read_table(tmp_path, MARK, BLOCK).to_pandas()
            pd.testing.assert_frame_equal(read, tables[MARK].to_pandas(), check_exact=True)
    assert found > len(payload) / 6


def test_what_a_killed_run_leaves_is_swept(done, clean):
    (done / MARK / ".0000000000-1-2.parquet.tmp").write_bytes(b"half")
    (done / f".{STUDY_FILE}.tmp").write_bytes(b"half")
    orphan = done / "estimates" / "0000000000-1-2.parquet"
    orphan.write_bytes(path_of(done, "estimates").read_bytes())
    fill(done)
    assert not orphan.exists()
    assert list(done.rglob("*.tmp")) == []
    assert_same(frames(done), clean)


def refuse(monkeypatch, owner: object, name: str, call: int, error: int = errno.ENOSPC) -> Counter:
    """Let one call of a function fail, counted from 0, and count the calls."""
    real, calls = getattr(owner, name), Counter()

    def refusing(*args, **kwargs):
        calls[name] += 1
        if calls[name] == call + 1:
            raise OSError(error, os.strerror(error))
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, refusing)
    return calls


# Of a block four files are synced, then each is renamed and its folder synced.
FULL = [*((os, "fsync", i) for i in range(8)), *((Path, "replace", i) for i in range(4))]


@pytest.mark.parametrize(("owner", "name", "call"), FULL)
def test_full_disk_leaves_no_file_of_the_block(tmp_path, monkeypatch, owner, name, call):
    fill(tmp_path, cells=CELLS[:1])
    before, clean = files(tmp_path), frames(tmp_path)
    block = Block("77aa", 1, 2)
    refuse(monkeypatch, owner, name, call)
    with Store(tmp_path).locked(), pytest.raises(CannotWriteError) as caught:
        Store(tmp_path).write(block, USUAL.tables(block), 1.0)
    monkeypatch.undo()
    assert str(caught.value) == (
        f"{tmp_path} cannot be written: No space left on device; finished blocks are kept: "
        "free some space and run the same command again"
    )
    assert files(tmp_path) == before
    assert_same(frames(tmp_path), clean)


@pytest.mark.parametrize(("owner", "name"), [(os, "fsync"), (Path, "replace")])
def test_the_refused_calls_above_are_all_there_are(tmp_path, monkeypatch, owner, name):
    """Control of the test above: one call later nothing fails."""
    fill(tmp_path, cells=CELLS[:1])
    calls = refuse(monkeypatch, owner, name, 99)
    Store(tmp_path).write(Block("77aa", 1, 2), USUAL.tables(Block("77aa", 1, 2)), 1.0)
    assert calls[name] == sum(name == other for _, other, _ in FULL)


# Two files, cells.parquet and study.json.
@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [*((os, "fsync", i) for i in range(4)), *((Path, "replace", i) for i in range(2))],
)
def test_full_disk_at_the_start_leaves_no_study(tmp_path, monkeypatch, owner, name, call):
    refuse(monkeypatch, owner, name, call)
    with pytest.raises(CannotWriteError, match="No space left on device"):
        fill(tmp_path)
    monkeypatch.undo()
    assert files(tmp_path) == {}
    assert fill(tmp_path)[0] == 27


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [*((os, "fsync", i) for i in range(4)), *((Path, "replace", i) for i in range(2))],
)
def test_full_disk_on_resume_keeps_the_study(done, clean, monkeypatch, owner, name, call):
    refuse(monkeypatch, owner, name, call)
    with pytest.raises(CannotWriteError):
        fill(done)
    monkeypatch.undo()
    assert_same(frames(done), clean)


def test_read_only_directory_is_one_line_of_advice(tmp_path, monkeypatch):
    refuse(monkeypatch, Path, "mkdir", 0, errno.EROFS)
    with pytest.raises(P0SimError) as caught:
        fill(tmp_path / "new")
    assert str(caught.value) == (
        f"{tmp_path / 'new'} cannot be written: Read-only file system; "
        "make it writable and run the same command again"
    )
    assert isinstance(caught.value, OSError)


def test_a_folder_that_can_never_be_is_not_to_be_made_writable(tmp_path):
    (tmp_path / "results").write_text("mine")
    with pytest.raises(P0SimError) as caught:
        fill(tmp_path / "results" / "new")
    assert str(caught.value) == (
        f"{tmp_path / 'results' / 'new'} cannot be written: Not a directory; choose another folder"
    )


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (replace(RECORD, seed=8), "seed is 7 there and 8 here"),
        (
            replace(RECORD, identity={**RECORD.identity, "model": {"law": "cauchy"}}),
            'model.law is "normal" there and "cauchy" here',
        ),
        (
            replace(RECORD, identity={**RECORD.identity, "methods": {"median": {}}}),
            "methods.mean is {} there and absent here",
        ),
        (
            replace(RECORD, identity={**RECORD.identity, "factors": ["n"]}),
            r'factors is \["epsilon","n"\] there and \["n"\] here',
        ),
    ],
    ids=["seed", "model", "method", "factors"],
)
def test_another_study_is_refused_naming_what_differs(done, record, message):
    before = files(done)
    with pytest.raises(StudyMismatchError, match=message):
        fill(done, record=record)
    assert files(done) == before


def test_new_level_only_adds_cells_and_a_dropped_one_deletes_nothing(done):
    before = frames(done)["replicates"]
    wider = (cell(3, 25, "1"), cell(4, 25, "log(n)"), *CELLS[:2])
    assert fill(done, cells=wider)[0] == 18
    assert list(Store(done).read("cells")["n"]) == [25, 25, 20, 20, 30]
    after = frames(done)["replicates"]
    kept = after[after["cell"].isin(before["cell"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, before)


def test_cells_hold_value_and_rule_of_every_factor(done):
    cells = Store(done).read("cells")
    assert list(cells.columns) == ["cell", "n", "n_rule", "epsilon", "epsilon_rule", "target_reps"]
    assert list(cells["epsilon_rule"]) == ["1", "log(n)", "log(n)"]
    # log 20 and log 30 from a table
    assert list(cells["epsilon"].round(6)) == [1.0, 2.995732, 3.401197]
    assert set(cells["target_reps"]) == {9}
    assert cells["n"].dtype == "int64"


def test_targets_are_raised_and_never_lowered(done):
    ids = [each.id for each in CELLS]
    store = Store(done)
    store.set_targets({ids[0]: 20, ids[1]: 3})
    assert store.targets() == dict(zip(ids, (20, 9, 9), strict=True))
    before = Store(done).read("cells").drop(columns="target_reps")
    pd.testing.assert_frame_equal(before, frames(done)["cells"].drop(columns="target_reps"))
    fill(done, cells=tuple(replace(each, target_reps=2) for each in CELLS))
    assert list(Store(done).targets().values()) == [20, 9, 9]


def test_target_of_an_unknown_cell_is_refused(done):
    with pytest.raises(InvalidStudyError, match=r"targets must be of cells in .*; got 'beef'"):
        Store(done).set_targets({"beef": 3})


def test_progress_counts_what_the_frames_hold(tmp_path):
    ends = {(CELLS[0].id, "mean", 2): "timeout", (CELLS[2].id, "median", 7): "killed"}
    fill(tmp_path, Rows(ends), mine=lambda block: block.first < 7 or block.cell != CELLS[1].id)
    progress, got = Store(tmp_path).progress(), frames(tmp_path)
    columns = [*got["cells"], "n_done", "n_fits", *STATUSES, "n_problems", "seconds"]
    assert list(progress.columns) == columns
    pd.testing.assert_frame_equal(progress[[*got["cells"]]], got["cells"])
    for row in progress.to_dict("records"):
        fits = got["replicates"].query("cell == @row['cell']")
        assert row["n_done"] == fits["rep"].nunique()
        assert row["n_fits"] == len(fits)
        assert [row[status] for status in STATUSES] == [
            int((fits["status"] == status).sum()) for status in STATUSES
        ]
        assert row["n_problems"] == int((got["problems"]["cell"] == row["cell"]).sum())
        assert row["seconds"] == 0.5 * row["n_done"]
    assert list(progress["n_done"]) == [9, 6, 9]
    assert progress["timeout"].sum() == progress["killed"].sum() == 1


def test_progress_of_a_study_without_blocks_is_zeros_of_the_same_kinds(done, tmp_path):
    fill(tmp_path / "new", mine=lambda block: False)
    empty = Store(tmp_path / "new").progress()
    pd.testing.assert_series_equal(empty.dtypes, Store(done).progress().dtypes)
    assert (empty[["n_done", "n_fits", *STATUSES, "n_problems", "seconds"]] == 0).all(axis=None)


# One odd replicate a block of two: the first cell has one timed out, the others one killed each.
ODD = Rows(
    {
        (CELLS[0].id, "mean", 2): "timeout",
        (CELLS[1].id, "median", 7): "killed",
        (CELLS[2].id, "mean", 1): "killed",
    }
)


@pytest.mark.parametrize(
    ("statuses", "removed"), [(["timeout"], 2), (["killed"], 4), (["killed", "timeout"], 6)]
)
def test_blocks_with_a_status_are_removed_whole(tmp_path, statuses, removed):
    fill(tmp_path, ODD)
    store = Store(tmp_path)
    assert store.remove_with(statuses) == removed
    for each in (store, Store(tmp_path)):
        assert each.progress()["n_done"].sum() == 27 - removed
        assert not each.read("replicates")["status"].isin(statuses).any()
    assert fill(tmp_path)[0] == removed


def test_what_was_removed_is_computed_again_to_the_bit(tmp_path, clean):
    fill(tmp_path / "odd", ODD)
    with pytest.raises(AssertionError):
        assert_same(frames(tmp_path / "odd"), clean)
    Store(tmp_path / "odd").remove_with(["killed", "timeout"])
    fill(tmp_path / "odd")
    assert_same(frames(tmp_path / "odd"), clean)


@pytest.mark.parametrize("call", range(4))
def test_removal_that_stops_half_way_leaves_no_half_block(tmp_path, clean, monkeypatch, call):
    fill(tmp_path / "odd", ODD)
    refuse(monkeypatch, Path, "unlink", call, errno.EROFS)
    with pytest.raises(CannotWriteError, match="Read-only file system"):
        Store(tmp_path / "odd").remove_with(["timeout"])
    monkeypatch.undo()
    assert Store(tmp_path / "odd").progress()["n_done"].sum() == (27 if call == 0 else 25)
    Store(tmp_path / "odd").remove_with(["killed", "timeout"])
    fill(tmp_path / "odd")
    assert_same(frames(tmp_path / "odd"), clean)


def test_removing_what_never_came_removes_nothing(done):
    before = files(done)
    assert Store(done).remove_with(["killed"]) == 0
    assert files(done) == before


def test_blocks_without_a_tally_are_counted_from_their_tables(done, clean):
    """As version 0.1.0 wrote them."""
    expected = Store(done).tallies()
    for block in expected:
        change_metadata(done, block, tally=None)
    assert Store(done).tallies() == expected
    assert_same(frames(done), clean)


@pytest.mark.parametrize(
    "tally",
    [
        {"seconds": 1.0, "counts": {"mean": {"ok": 2}}, "n_problems": 0},
        {"seconds": 1.0},
        {"seconds": "x", "counts": {}, "n_problems": 0},
        [],
    ],
)
def test_wrong_tally_is_damage(done, tally):
    block = first_block(done)
    change_metadata(done, block, tally=tally)
    assert f"block {block.name} is computed again: replicates" in fill(done)[1][0]


TAKE = "import sys; from p0sim.engine.store import Store\nwith Store(sys.argv[1]).locked(): pass"


def test_two_live_runs_of_a_directory_are_refused(done):
    take = [sys.executable, "-c", TAKE, str(done)]
    with Store(done).locked():
        with pytest.raises(StudyMismatchError, match="in use by another run"):
            fill(done)
        other = subprocess.run(take, capture_output=True, text=True, check=False)
    assert "in use by another run" in other.stderr
    assert subprocess.run(take, capture_output=True, check=False).returncode == 0
    assert fill(done)[0] == 0


def test_directory_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StudyMismatchError, match=r"holds thesis\.tex but no study\.json"):
        fill(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_file_in_place_of_the_directory_is_refused(tmp_path):
    (tmp_path / "results").write_text("precious")
    with pytest.raises(StudyMismatchError, match="is a file"):
        fill(tmp_path / "results")


def test_rows_without_their_record_are_refused(done):
    """They may be of another seed."""
    (done / STUDY_FILE).unlink()
    with pytest.raises(StudyMismatchError, match=r"holds estimates but no study\.json"):
        fill(done, record=replace(RECORD, seed=8))


def test_what_a_run_killed_at_its_start_leaves_is_no_obstacle(done, clean):
    for path in [
        done / STUDY_FILE,
        *(path for frame in FRAMES for path in (done / frame).iterdir()),
    ]:
        path.unlink()
    (done / f".{STUDY_FILE}.tmp").write_bytes(b"half")
    assert {path.name for path in done.iterdir()} >= {LOCK_FILE, INDEX_FILE, CELLS_FILE, *FRAMES}
    assert fill(done)[0] == 27
    assert_same(frames(done), clean)


def test_study_json_holds_the_record_as_given(done):
    record = replace(RECORD, sources={"mine.py": "def fit(): ...\n"}, folder="/home/ann/study")
    fill(done, record=record)
    assert Store(done).read_identity() == record
    assert json.loads((done / STUDY_FILE).read_text())["sources"] == record.sources


def test_study_json_of_the_first_version_opens(done):
    path = done / STUDY_FILE
    record = json.loads(path.read_text())
    del record["sources"], record["folder"]
    path.write_text(json.dumps(record))
    assert Store(done).read_identity() == RECORD
    assert fill(done) == (0, ())


def test_changed_version_is_recorded_and_told(done):
    newer = with_versions(RECORD, numpy="2.5")
    told = "versions changed since the rows already there: numpy 2.4 -> 2.5"
    assert fill(done, record=newer) == (0, (told,))
    assert Store(done).read_identity().machines == [*RECORD.machines, *newer.machines]
    assert fill(done, record=newer) == (0, ())


@pytest.mark.parametrize("package", ["numpy", "p0sim"])
def test_strict_version_refuses_a_changed_one_and_writes_nothing(done, package):
    newer, before = with_versions(RECORD, **{package: "9.9"}), files(done)
    store = Store(done)
    with store.locked(), pytest.raises(StudyMismatchError, match=rf"{package} \S+ -> 9\.9; "):
        store.begin(newer, CELLS, strict_version=True)
    assert files(done) == before
    with store.locked():
        assert store.begin(RECORD, CELLS, strict_version=True) == []


@pytest.mark.parametrize("name", [STUDY_FILE, CELLS_FILE])
def test_damaged_record_is_one_line(done, name):
    (done / name).write_bytes(b"{")
    with pytest.raises(InvalidStudyError, match=f"{name} is damaged") as caught:
        Store(done).read("replicates")
    assert "\n" not in str(caught.value)


def test_study_without_a_finished_block_has_empty_frames_of_the_right_kinds(done):
    full = frames(done)
    for path in (done / MARK).iterdir():
        path.unlink()
    for name, frame in frames(done).items():
        pd.testing.assert_series_equal(frame.dtypes, full[name].dtypes)
    assert len(Store(done).read("timings")) == 0


def test_nan_level_cannot_reach_a_cell():
    with pytest.raises(InvalidStudyError, match=r"\[factors\] n must hold finite numbers"):
        parse_study({"study": {"name": "x", "reps": 1}, "factors": {"n": [float("nan")]}})


def test_nothing_but_the_contract_is_in_the_directory(done):
    names = {path.name for path in done.iterdir()} - {LOCK_FILE}
    assert names == {STUDY_FILE, CELLS_FILE, INDEX_FILE, *FRAMES}
    assert fill(done)[0] == 0
