"""A worker that dies takes one replicate with it, and no other."""

from __future__ import annotations

import pandas as pd
import pytest

from p0sim.engine.options import RunOptions
from p0sim.engine.pools import open_pool
from p0sim.errors import InvalidStudyError
from tests.engine.fake import FakeExperiment, assert_same, frames, run


def without(got: dict[str, pd.DataFrame], cell: str, reps: list[int]) -> dict[str, pd.DataFrame]:
    """Frames without some replicates of a cell; the cells frame has none."""
    return {
        name: frame[~((frame["cell"] == cell) & frame["rep"].isin(reps))].reset_index(drop=True)
        for name, frame in got.items()
        if name != "cells"
    }


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_replicate_that_kills_its_worker_is_one_row_a_method_and_all_others_are_done(
    tmp_path, n_jobs
):
    """Replicate 8 of the cell with n = 30 ends its process; the others are as in a clean run."""
    run(tmp_path / "clean", reps=12)
    run(tmp_path / "killed", FakeExperiment(exit_at=(8,)), reps=12, n_jobs=n_jobs, block_size=6)
    clean, got = frames(tmp_path / "clean"), frames(tmp_path / "killed")
    killed = got["replicates"].query("status == 'killed'")
    assert list(killed["rep"]) == [8, 8]
    assert list(killed["method"]) == ["mean", "median"]
    assert killed["reason"].str.startswith("its worker process died").all()
    cell = killed["cell"].iloc[0]
    assert_same(without(got, cell, [8]), without(clean, cell, [8]))


def test_a_scheduler_that_does_not_answer_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("p0sim.engine.pools.CONNECT_SECONDS", 0.2)
    options = RunOptions(scheduler="tcp://127.0.0.1:1")
    with (
        pytest.raises(InvalidStudyError, match=r"scheduler tcp://127\.0\.0\.1:1 does not answer"),
        open_pool(options, note=print),
    ):
        pytest.fail("there are no workers")
