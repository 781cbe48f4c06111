"""Crashes: of a worker, of the whole run at any moment, of a replicate that listens to nobody."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from p0sim.engine.blocks import SUFFIX
from p0sim.engine.limits import GRACE_SECONDS
from p0sim.engine.store import Store
from tests.engine.fake import FakeExperiment, assert_same, frames, run

pytestmark = pytest.mark.slow

REPS, BLOCK_SIZE, N_JOBS = 60, 5, 2
TROUBLED = FakeExperiment(
    raise_share=0.1, fit_raise_share=0.2, warn_share=0.3, no_estimate_share=0.2, seconds=0.01
)
COMMAND = f"""
import sys
from tests.faults.test_crashes import TROUBLED, run
run(sys.argv[1], TROUBLED, reps={REPS}, n_jobs={N_JOBS}, block_size={BLOCK_SIZE})
"""


def marks(directory: Path) -> set[str]:
    return {path.name for path in (directory / "replicates").glob(f"*{SUFFIX}")}


def test_twenty_runs_killed_at_random_moments_end_equal_to_the_clean_run(tmp_path):
    """SIGKILL reaches the run alone, as the system's memory killer would; seed 5 fixes the moments.

    Nothing that had its mark is lost, nothing half written is read, and each time the work of one
    block a worker is lost at most.
    """
    run(tmp_path / "clean", TROUBLED, reps=REPS)
    moments, directory, deaths = random.Random(5), tmp_path / "killed", 0
    while deaths < 20:
        before = marks(directory)
        process = subprocess.Popen([sys.executable, "-c", COMMAND, str(directory)])
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(moments.uniform(1.0, 4.0))
        process.kill()
        killed = process.wait() == -signal.SIGKILL
        assert before <= marks(directory)
        Store(directory).verify()
        if not killed:
            # Done too soon: take some blocks away, so that there is something left to kill.
            for name in moments.sample(sorted(marks(directory)), 12):
                (directory / "replicates" / name).unlink()
            continue
        deaths += 1
    summary = run(directory, TROUBLED, reps=REPS)
    assert summary.n_done + summary.n_resumed == 3 * REPS
    assert_same(frames(directory), frames(tmp_path / "clean"))


def test_a_hard_exit_at_replicate_40_is_one_killed_row_and_all_others_are_done(tmp_path):
    run(tmp_path / "clean", TROUBLED, reps=REPS)
    experiment = dataclasses.replace(TROUBLED, exit_at=(40,))
    run(tmp_path / "killed", experiment, reps=REPS, n_jobs=2)
    got = frames(tmp_path / "killed")["replicates"]
    clean = frames(tmp_path / "clean")["replicates"]
    killed = got[got["status"] == "killed"]
    assert list(killed["rep"]) == [40, 40]
    assert killed["cell"].nunique() == 1
    others = got.drop(killed.index)
    assert others.reset_index(drop=True).equals(clean.drop(killed.index).reset_index(drop=True))


class NeverListens(FakeExperiment):
    """Replicate 3 of one cell sits where no signal is heard."""

    def prepare(self, cell):
        whole = super().prepare(cell)

        def simulate(streams):
            if streams.rep == 3 and cell.factors["n"] == 30:
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
                signal.sigtimedwait([signal.SIGUSR1], 600)
            return whole(streams)

        return simulate


def test_a_replicate_that_does_not_listen_ends_with_its_process_as_a_timeout(tmp_path):
    started = time.monotonic()
    run(tmp_path, NeverListens(), reps=4, n_jobs=2, block_size=4, timeout=0.5)
    assert time.monotonic() - started < 20 * GRACE_SECONDS
    rows = frames(tmp_path)["replicates"]
    over = rows[rows["status"] == "timeout"]
    assert set(over["rep"]) == {3}
    assert len(over) == 2
    assert set(rows.drop(over.index)["status"]) == {"ok"}


def test_workers_of_a_killed_run_do_not_go_on(tmp_path):
    """They look up between two replicates whether the run is still there."""
    command = COMMAND.replace("block_size=5", "block_size=60")
    process = subprocess.Popen(
        [sys.executable, "-c", command, str(tmp_path / "killed")], start_new_session=True
    )
    time.sleep(4)
    process.kill()
    process.wait()
    for _ in range(100):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a worker outlived its run by ten seconds")
