"""Resuming, damage, locks: what is on disk is whole, or is computed again."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from p0sim.columns import FRAMES
from p0sim.engine import store as store_module
from p0sim.engine.blocks import MARK, SIDES, Block, find_damage, read_table, table_of, write_block
from p0sim.engine.design import parse_study
from p0sim.engine.store import CELLS_FILE, STUDY_FILE, Store
from p0sim.errors import InvalidStudyError, StudyMismatchError
from tests.engine.fake import FakeExperiment, frames, run, small_study
from tests.engine.test_runner import TROUBLED, assert_same

BLOCK = Block("0f3a0f3a0f", 1, 2)


@pytest.fixture
def done(tmp_path) -> Path:
    """A finished study in blocks of two or one replicates: five for each of three cells."""
    run(tmp_path / "done", TROUBLED, block_size=2)
    return tmp_path / "done"


@pytest.fixture
def clean(tmp_path) -> dict[str, pd.DataFrame]:
    run(tmp_path / "clean", TROUBLED)
    return frames(tmp_path / "clean")


def first_block(directory: Path) -> Block:
    return next(block for block in Store(directory).blocks() if block.n_reps == 2)


def path_of(directory: Path, frame: str) -> Path:
    return directory / frame / f"{first_block(directory).name}.parquet"


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_byte(path: Path) -> None:
    payload = bytearray(path.read_bytes())
    payload[len(payload) // 3] ^= 0xFF
    path.write_bytes(bytes(payload))


@pytest.mark.parametrize(
    ("harm", "frame"),
    [
        *((harm, frame) for harm in (cut_in_half, Path.unlink) for frame in FRAMES),
        *((flip_a_byte, frame) for frame in SIDES),
    ],
)
def test_damaged_block_alone_is_computed_again(done, clean, harm, frame):
    harm(path_of(done, frame))
    summary = run(done, TROUBLED, block_size=2)
    assert summary.n_done == 2
    assert_same(frames(done), clean)


def test_damage_is_told_in_one_line_and_left_out_of_frames(done, capsys):
    block = first_block(done)
    cut_in_half(path_of(done, "estimates"))
    with pytest.warns(UserWarning, match=f"left out until the next run: {block.name}"):
        assert len(Store(done).read("replicates")) == 2 * (27 - 2)
    summary = run(done, TROUBLED, progress=True)
    expected = f"block {block.name} is computed again: estimates is damaged"
    assert summary.notes == (expected,)
    assert expected in capsys.readouterr().err


def test_deleted_blocks_are_computed_again_in_any_cut(done, clean):
    for block in Store(done).blocks()[::3]:
        (done / MARK / f"{block.name}.parquet").unlink()
    summary = run(done, TROUBLED, block_size=5)
    assert 0 < summary.n_done < 27
    assert_same(frames(done), clean)


def test_two_blocks_that_changed_places_are_not_trusted(done):
    one, two = (done / MARK / f"{block.name}.parquet" for block in Store(done).blocks()[:2])
    swap = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(swap)
    assert run(done, TROUBLED).n_done == 4


def test_any_flipped_byte_of_a_mark_is_found_or_harmless(tmp_path):
    tables = {frame: table_of(frame, []) for frame in FRAMES}
    rows = [(BLOCK.cell, "m", rep, "ok", "", 3, 1e-9, 0.25) for rep in (1, 2)]
    tables[MARK] = table_of(MARK, rows)
    for frame in FRAMES:
        (tmp_path / frame).mkdir()
    write_block(tmp_path, BLOCK, tables)
    path = tmp_path / MARK / f"{BLOCK.name}.parquet"
    payload = path.read_bytes()
    found = 0
    for i in range(0, len(payload), 3):
        path.write_bytes(payload[:i] + bytes([payload[i] ^ 0x55]) + payload[i + 1 :])
        if find_damage(tmp_path, BLOCK):
            found += 1
        else:
            assert read_table(tmp_path, MARK, BLOCK).equals(tables[MARK])
    assert found > len(payload) / 6


def test_what_a_killed_run_leaves_is_swept(done, clean):
    (done / MARK / ".0000000000-1-2.parquet.tmp").write_bytes(b"half")
    orphan = done / "estimates" / "0000000000-1-2.parquet"
    orphan.write_bytes(path_of(done, "estimates").read_bytes())
    run(done, TROUBLED)
    assert not orphan.exists()
    assert list(done.rglob("*.tmp")) == []
    assert_same(frames(done), clean)


@pytest.mark.parametrize("refused", ["estimates", MARK])
def test_full_disk_leaves_no_file_of_the_block(tmp_path, monkeypatch, refused):
    for frame in FRAMES:
        (tmp_path / frame).mkdir()
    real = Path.open

    def full(self, *args, **kwargs):
        if self.parent.name == refused:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match="No space left"):
        write_block(tmp_path, BLOCK, {frame: table_of(frame, []) for frame in FRAMES})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("experiment", "study", "message"),
    [
        (TROUBLED, small_study(seed=8), "seed is 7 there and 8 here"),
        (
            dataclasses.replace(TROUBLED, law="cauchy"),
            small_study(),
            'model.law is "normal" there and "cauchy" here',
        ),
        (
            dataclasses.replace(TROUBLED, methods=("median",)),
            small_study(),
            "methods.mean is {} there and absent here",
        ),
        (
            TROUBLED,
            parse_study(
                {
                    "study": {"name": "tiny", "experiment": "fake", "seed": 7, "reps": 9},
                    "factors": {"n": [20]},
                }
            ),
            r'factors is \["epsilon","n"\] there and \["n"\] here',
        ),
    ],
    ids=["seed", "model", "method", "factors"],
)
def test_another_study_is_refused_naming_what_differs(done, experiment, study, message):
    before = {path: path.read_bytes() for path in done.rglob("*") if path.is_file()}
    with pytest.raises(StudyMismatchError, match=message):
        run(done, experiment, study)
    assert {path: path.read_bytes() for path in done.rglob("*") if path.is_file()} == before


def test_new_level_only_adds_cells_and_a_dropped_one_deletes_nothing(done):
    before = frames(done)["replicates"]
    wider = parse_study(
        {
            "study": {"name": "tiny", "experiment": "fake", "seed": 7, "reps": 9},
            "factors": {"n": [25, 20], "epsilon": ["1", "log(n)"]},
        }
    )
    assert run(done, TROUBLED, wider).n_done == 18
    cells = Store(done).read("cells")
    assert list(cells["n"]) == [25, 25, 20, 20, 30]
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


def test_two_live_runs_of_a_directory_are_refused(done):
    code = "import sys; from tests.engine.fake import run; run(sys.argv[1])"
    with Store(done).locked():
        with pytest.raises(StudyMismatchError, match="in use by another run"):
            run(done, TROUBLED)
        other = subprocess.run(
            [sys.executable, "-c", code, str(done)], capture_output=True, text=True, check=False
        )
    assert "in use by another run" in other.stderr
    assert run(done, TROUBLED).n_done == 0


def test_directory_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StudyMismatchError, match=r"holds thesis\.tex but no study\.json"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_file_in_place_of_the_directory_is_refused(tmp_path):
    (tmp_path / "results").write_text("precious")
    with pytest.raises(StudyMismatchError, match="is a file"):
        run(tmp_path / "results")


def test_study_json_records_seed_methods_versions_and_threads(done):
    record = json.loads((done / STUDY_FILE).read_text())
    assert record["seed"] == 7
    assert record["methods"] == ["mean", "median"]
    assert record["study"]["study"]["reps"] == 9
    machine = record["machines"][0]
    assert machine["versions"]["pyarrow"] == pa.__version__
    assert machine["threads"]["limit"] == 1


def test_changed_version_is_recorded_and_told(done):
    path = done / STUDY_FILE
    record = json.loads(path.read_text())
    now = record["machines"][0]["versions"]["numpy"]
    record["machines"][0]["versions"]["numpy"] = "1.0"
    path.write_text(json.dumps(record))
    summary = run(done, TROUBLED)
    assert summary.notes == (f"versions changed since the rows already there: numpy 1.0 -> {now}",)
    assert len(Store(done).read_identity().machines) == 2
    assert run(done, TROUBLED).notes == ()


@pytest.mark.parametrize("name", [STUDY_FILE, CELLS_FILE])
def test_damaged_record_is_one_line(done, name):
    (done / name).write_bytes(b"{")
    with pytest.raises(InvalidStudyError, match=f"{name} cannot be read") as caught:
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
    names = {path.name for path in done.iterdir()} - {store_module.LOCK_FILE}
    assert names == {STUDY_FILE, CELLS_FILE, *FRAMES}
    assert not run(done, FakeExperiment(**dataclasses.asdict(TROUBLED))).n_done
