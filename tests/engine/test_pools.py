"""A worker that dies takes one replicate with it, and no other."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager

import pandas as pd
import pytest

from p0sim.engine import pools
from p0sim.engine.options import RunOptions
from p0sim.engine.pools import FEWEST_SPREAD, open_pool, spread
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


def process_and_double(number: int) -> tuple[int, int]:
    """Which process did it, with a warning that is the same for all even numbers."""
    warnings.warn("even" if number % 2 == 0 else f"{number} is odd", stacklevel=2)
    return os.getpid(), 2 * number


def test_work_spread_over_processes_comes_in_order_with_each_warning_once():
    numbers = range(FEWEST_SPREAD)
    with pytest.warns(UserWarning) as caught:
        done = spread(process_and_double, numbers, n_jobs=2)
    assert [double for _, double in done] == [2 * number for number in numbers]
    assert os.getpid() not in {process for process, _ in done}
    odd = [f"{number} is odd" for number in numbers if number % 2]
    assert sorted(str(one.message) for one in caught) == sorted([*odd, "even"])


@pytest.mark.parametrize(("n_calls", "n_jobs"), [(FEWEST_SPREAD - 1, 2), (FEWEST_SPREAD, 1)])
def test_little_work_and_one_job_stay_in_this_process(n_calls, n_jobs):
    with pytest.warns(UserWarning):
        done = spread(process_and_double, range(n_calls), n_jobs=n_jobs)
    assert {process for process, _ in done} == {os.getpid()}


def test_a_scheduler_that_does_not_answer_leaves_no_folder(tmp_path, monkeypatch):
    """Nothing half-written: workers are there before the folder is."""

    @contextmanager
    def refused(address):
        raise InvalidStudyError(f"scheduler {address} does not answer: refused")
        yield

    monkeypatch.setattr(pools, "_connected", refused)
    with pytest.raises(InvalidStudyError, match="does not answer"):
        run(tmp_path / "new", FakeExperiment(), scheduler="tcp://127.0.0.1:9")
    assert not (tmp_path / "new").exists()
