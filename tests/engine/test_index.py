"""A fresh index spares reading; a stale, damaged or missing one costs time and nothing else."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from p0sim.columns import FRAMES
from p0sim.engine import index as index_module
from p0sim.engine import store as store_module
from p0sim.engine.blocks import MARK, SIDES, Block, Verdict, block_path, remove_block
from p0sim.engine.index import INDEX_FILE
from p0sim.engine.store import Store
from p0sim.errors import InvalidStudyError
from tests.engine.blocks_on_disk import (
    CELLS,
    USUAL,
    assert_same,
    count_reads,
    cut_in_half,
    files,
    fill,
    frames,
)


@pytest.fixture
def done(tmp_path) -> Path:
    fill(tmp_path / "done")
    return tmp_path / "done"


def rot(path: Path) -> None:
    """Other bytes under the same size and time of change."""
    status = path.stat()
    path.write_bytes(b"\xff" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_no_block_is_read_where_the_index_is_fresh(done, monkeypatch):
    opened = count_reads(monkeypatch)
    store = Store(done)
    assert len(store.blocks()) == len(store.tallies()) == 15
    assert store.progress()["n_done"].sum() == 27
    assert opened == []


def test_every_file_of_every_block_is_read_where_there_is_no_index(done, monkeypatch):
    """Control of the test above."""
    (done / INDEX_FILE).unlink()
    opened = count_reads(monkeypatch)
    assert Store(done).progress()["n_done"].sum() == 27
    assert len(opened) == len(set(opened)) == 4 * 15


def test_index_says_what_the_blocks_say(done):
    with_index = Store(done).tallies(), Store(done).progress()
    (done / INDEX_FILE).unlink()
    assert Store(done).tallies() == with_index[0]
    assert Store(done).progress().equals(with_index[1])


def test_blocks_written_after_the_index_was_read_are_in_the_next_one(done, monkeypatch):
    store = Store(done)
    assert len(store.blocks()) == 15
    block = Block(CELLS[0].id, 10, 12)
    store.write(block, USUAL.tables(block), 1.5)
    store.save_index()
    opened = count_reads(monkeypatch)
    assert Store(done).tallies()[block].seconds == 1.5
    assert opened == []


@pytest.mark.parametrize("frame", FRAMES)
def test_touched_block_alone_is_read_again(done, monkeypatch, frame):
    block = Store(done).blocks()[3]
    os.utime(block_path(done, frame, block), ns=(0, 10**18))
    opened = count_reads(monkeypatch)
    assert len(Store(done).blocks()) == 15
    assert set(opened) == {block_path(done, each, block) for each in FRAMES}


@pytest.mark.parametrize("frame", FRAMES)
def test_block_cut_to_half_its_bytes_is_found_whatever_its_time(done, frame):
    path = block_path(done, frame, Store(done).blocks()[3])
    before = path.stat()
    cut_in_half(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(Store(done).blocks()) == 14


@pytest.mark.parametrize("frame", [MARK, "estimates"])
def test_block_replaced_by_another_of_its_size_is_found(done, frame):
    one, other = (block_path(done, frame, block) for block in Store(done).blocks()[:2])
    shutil.copy(other, one)
    assert len(Store(done).blocks()) == 14


@pytest.mark.parametrize("frame", SIDES)
def test_missing_file_is_found(done, frame):
    block_path(done, frame, Store(done).blocks()[3]).unlink()
    assert len(Store(done).blocks()) == 14


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"format": 1}',
        b'{"format": 1, "blocks": {"af3a-1-2": {}}}',
        b"\xff",
    ],
)
def test_damaged_index_means_reading_all(done, monkeypatch, payload):
    expected = Store(done).tallies()
    (done / INDEX_FILE).write_bytes(payload)
    opened = count_reads(monkeypatch)
    assert Store(done).tallies() == expected
    assert len(opened) == 4 * 15


@pytest.mark.parametrize(
    "change",
    [
        lambda content: {**content, "format": 0},
        lambda content: {"blocks": content["blocks"]},
        lambda content: _each(content, lambda kept: {**kept, "files": kept["files"][:3]}),
        lambda content: _each(content, lambda kept: {**kept, "files": [[0, 0]] * 4}),
        lambda content: _each(content, lambda kept: {**kept, "tally": {}}),
        lambda content: _each(content, lambda kept: {**kept, "files": [None] * 4}),
    ],
)
def test_index_of_another_form_means_reading_all(done, monkeypatch, change):
    content = json.loads((done / INDEX_FILE).read_bytes())
    (done / INDEX_FILE).write_text(json.dumps(change(content)))
    opened = count_reads(monkeypatch)
    assert Store(done).progress()["n_done"].sum() == 27
    assert len(opened) == 4 * 15


def _each(content, change):
    return {**content, "blocks": {name: change(kept) for name, kept in content["blocks"].items()}}


def test_index_of_blocks_that_are_gone_brings_none_back(done):
    block = Store(done).blocks()[3]
    remove_block(done, block)
    assert block not in Store(done).blocks()


def test_full_disk_spares_the_run_and_the_old_index(done, monkeypatch):
    before = (done / INDEX_FILE).read_bytes()
    store = Store(done)
    block = Block(CELLS[0].id, 10, 12)
    store.write(block, USUAL.tables(block), 1.5)

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    store.save_index()
    assert (done / INDEX_FILE).read_bytes() == before
    assert list(done.glob("*.tmp")) == list(done.glob(".*.tmp")) == []
    assert block in Store(done).blocks()


@pytest.mark.parametrize("frame", FRAMES)
def test_rotten_block_that_was_trusted_is_left_out_when_read_and_computed_again(done, frame):
    clean = frames(done)
    block = Store(done).blocks()[2]
    rot(block_path(done, frame, block))
    store = Store(done)
    assert store.progress()["n_done"].sum() == 27, "trusted: the control of what follows"
    with pytest.warns(UserWarning, match=f"left out until the next run: {block.name}") as told:
        read = store.read(frame)
    assert len(told) == 1
    gone = (clean[frame]["cell"] == block.cell) & clean[frame]["rep"].isin(
        [block.first, block.last]
    )
    assert len(read) == len(clean[frame]) - gone.sum() < len(clean[frame])
    assert not (done / INDEX_FILE).exists()
    assert fill(done)[0] == block.n_reps
    assert_same(frames(done), clean)


def test_rotten_block_on_a_read_only_disk_is_left_out_too(done, monkeypatch):
    block = Store(done).blocks()[3]
    rot(block_path(done, "estimates", block))

    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.warns(UserWarning, match="left out until the next run"):
        assert len(Store(done).read("estimates")) > 0
    assert (done / INDEX_FILE).exists()


@pytest.mark.parametrize("indexed", [True, False])
def test_reading_writes_nothing(done, indexed):
    if not indexed:
        (done / INDEX_FILE).unlink()
    cut_in_half(block_path(done, "timings", Store(done).blocks()[0]))
    before = files(done)
    with pytest.warns(UserWarning, match="left out"):
        frames(done)
    with pytest.warns(UserWarning, match="left out"):
        Store(done).progress()
    assert files(done) == before


def test_halves_that_a_running_process_is_writing_are_no_blocks(done):
    block = Store(done).blocks()[3]
    for frame in FRAMES:
        half = block_path(done, frame, Block("77aa", 1, 2))
        shutil.copy(block_path(done, frame, block), half.with_name(f".{half.name}.tmp"))
    shutil.copy(
        block_path(done, "estimates", block), block_path(done, "estimates", Block("77aa", 1, 2))
    )
    assert len(Store(done).blocks()) == 15
    assert Store(done).progress()["n_done"].sum() == 27


def test_block_that_vanishes_while_it_is_verified_is_no_damage(done, monkeypatch):
    (done / INDEX_FILE).unlink()
    real, gone = index_module.verify_block, Store(done).blocks()[3]

    def verify_too_late(directory, block):
        if block == gone:
            remove_block(directory, block)
        return real(directory, block)

    monkeypatch.setattr(index_module, "verify_block", verify_too_late)
    assert Store(done).progress()["n_done"].sum() == 25


def test_block_that_is_replaced_while_it_is_verified_is_verified_again(done, monkeypatch):
    (done / INDEX_FILE).unlink()
    real, changed, calls = index_module.verify_block, Store(done).blocks()[3], []

    def verify_between(directory, block):
        if block == changed and not calls:
            calls.append(block)
            os.utime(block_path(directory, MARK, block), ns=(0, 10**18))
            return Verdict("half of the old one and half of the new")
        return real(directory, block)

    monkeypatch.setattr(index_module, "verify_block", verify_between)
    assert Store(done).progress()["n_done"].sum() == 27
    assert calls


def test_blocks_that_go_on_vanishing_are_one_line_of_advice(done, monkeypatch):
    def vanished(*args):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(store_module, "read_table", vanished)
    with pytest.raises(InvalidStudyError, match="cannot be read while a run changes it; try again"):
        Store(done).read("replicates")


def test_block_that_vanishes_before_it_is_read_is_left_out_without_a_warning(done):
    store = Store(done)
    gone = store.blocks()[3]
    remove_block(done, gone)
    assert len(store.read("replicates")) == 2 * 25


WRITER = """
import sys
from pathlib import Path
from tests.engine.blocks_on_disk import *
odd = Rows({(each.id, "mean", 1): "killed" for each in CELLS})
while True:
    fill(Path(sys.argv[1]), odd, size=1)
    Store(sys.argv[1]).remove_with(["killed", "error"])
"""


def test_status_beside_a_running_process_never_fails_or_warns(done):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(done)], stderr=subprocess.PIPE)
    seen = set()
    try:
        end = time.monotonic() + 3
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            while time.monotonic() < end:
                seen.add(int(Store(done).progress()["n_done"].sum()))
                (done / INDEX_FILE).unlink(missing_ok=True)
                assert writer.poll() is None, writer.stderr.read()
    finally:
        writer.kill()
        writer.communicate()
    assert len(seen) > 1, "the writer was seen at work: the control"


@pytest.mark.slow
def test_progress_of_a_million_replicates(tmp_path, monkeypatch):
    """4000 blocks of 250 replicates; prints the times, which depend on the machine."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    cells = tuple(_large(cell) for cell in CELLS[:2])
    fill(tmp_path, cells=cells, size=250)
    for name in ("fresh index", "no index"):
        started = time.perf_counter()
        progress = Store(tmp_path).progress()
        print(f"{name}: {time.perf_counter() - started:.2f} s")
        assert list(progress["n_done"]) == [500_000, 500_000]
        assert list(progress["n_fits"]) == [1_000_000, 1_000_000]
        (tmp_path / INDEX_FILE).unlink(missing_ok=True)


def _large(cell):
    return type(cell)(cell.id, cell.factors, cell.rules, 500_000)
