"""A real scheduler with two worker processes, one of which is killed while it works."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from p0sim.engine.blocks import SUFFIX
from tests.engine.fake import FakeExperiment, assert_same, frames, run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TROUBLED = FakeExperiment(
    raise_share=0.1, fit_raise_share=0.2, warn_share=0.3, no_estimate_share=0.2, seconds=0.02
)


def start(*arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


@pytest.fixture
def cluster(tmp_path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Address of the scheduler, and its workers."""
    from distributed import Client

    file = str(tmp_path / "scheduler.json")
    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file)
    worker = ("worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny")
    workers = [start(*worker), start(*worker)]
    try:
        with Client(scheduler_file=file, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            address = client.scheduler.address
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def test_frames_of_a_cluster_that_lost_a_worker_are_those_of_one_machine(tmp_path, cluster):
    address, workers = cluster
    directory = tmp_path / "cluster"

    def kill_when_busy() -> None:
        while len(list((directory / "replicates").glob(f"*{SUFFIX}"))) < 5:
            time.sleep(0.05)
        workers[0].kill()

    killer = threading.Thread(target=kill_when_busy)
    killer.start()
    summary = run(directory, TROUBLED, reps=60, block_size=4, scheduler=address, n_jobs=2)
    killer.join()
    assert workers[0].wait() != 0
    assert summary.n_done == 180
    run(tmp_path / "one", TROUBLED, reps=60)
    assert_same(frames(directory), frames(tmp_path / "one"))
