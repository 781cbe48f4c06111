"""A disk that is full, or must not be written, in the middle of a run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from p0sim.engine.store import Store
from p0sim.errors import CannotWriteError
from tests.engine.fake import FakeExperiment, assert_same, frames, run

pytestmark = pytest.mark.slow

REPS = 200


def mounted(folder: Path, options: str) -> bool:
    folder.mkdir(exist_ok=True)
    if sys.platform != "linux":
        return False
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A disk of 600 KiB."""
    folder = tmp_path / "disk"
    if not mounted(folder, "size=600k"):
        pytest.skip("mounting a small disk takes Linux and the rights to do so")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def final_names(directory: Path) -> dict[str, set[str]]:
    return {
        frame: {path.name for path in (directory / frame).iterdir()}
        for frame in ("replicates", "estimates", "timings", "problems")
    }


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_full_disk_leaves_whole_blocks_only_says_what_to_do_and_resumes(
    small_disk, tmp_path, n_jobs
):
    directory = small_disk / "results"
    with pytest.raises(CannotWriteError, match=r"No space left on device.*free some space"):
        run(directory, reps=REPS, block_size=2, n_jobs=n_jobs)
    names = final_names(directory)
    assert names["replicates"]
    assert all(found == names["replicates"] for found in names.values())
    assert all(damage == "" for damage in Store(directory).verify().values())
    moved = tmp_path / "larger"
    shutil.copytree(directory, moved)
    assert run(moved, reps=REPS).n_resumed > 0
    run(tmp_path / "clean", reps=REPS)
    assert_same(frames(moved), frames(tmp_path / "clean"))


class TurnsReadOnly(FakeExperiment):
    """Makes the folder of the marks read-only while the first block runs."""

    def prepare(self, cell):
        folder = Path(self.law)
        if not os.path.ismount(folder):
            for options in (
                ["--bind", str(folder), str(folder)],
                ["-o", "remount,bind,ro", folder],
            ):
                subprocess.run(["mount", *options], check=True)
        return super().prepare(cell)


def test_a_disk_made_read_only_mid_run_is_one_error_and_keeps_what_is_there(small_disk):
    directory = small_disk / "results"
    experiment = TurnsReadOnly(law=str(directory / "replicates"))
    run(directory, FakeExperiment(law=experiment.law), reps=4)
    before = final_names(directory)
    try:
        with pytest.raises(CannotWriteError, match="Read-only file system"):
            run(directory, experiment, reps=8)
        assert final_names(directory) == before
        assert len(frames(directory)["replicates"]) == 3 * 2 * 4
    finally:
        subprocess.run(["umount", experiment.law], check=True)
