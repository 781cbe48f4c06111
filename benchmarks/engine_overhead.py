"""What the engine adds to a replicate: time of a run less the experiment's own work.

The experiment draws one normal number and reports it, in a study of one cell. Its own work is timed
in a plain loop beside it; both are told a replicate and worker. Run it with

    python benchmarks/engine_overhead.py [REPLICATES] [WORKERS]
"""

from __future__ import annotations

import sys
import tempfile
import time
import timeit
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import p0sim as p0

STUDY = """
[study]
name = "overhead"
experiment = "draw.py:replicate"
seed = 1
reps = {reps}

[factors]
n = [1]
"""
DRAW = """
def replicate(cell, streams):
    estimate = streams.network.normal()
    return [{"estimand": "mu", "estimate": estimate, "std_error": 1.0, "true_value": 0.0}]
"""
LOOP = 2000


def measure(reps: int, workers: int) -> tuple[float, float]:
    """Seconds a replicate and worker: of a run, and of the experiment alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "overhead.toml"
        path.write_text(STUDY.format(reps=reps))
        (Path(folder) / "draw.py").write_text(DRAW)
        study = p0.Study.from_toml(path)
        study.run(Path(folder) / "warm", n_jobs=workers, reps=100 * workers, progress=False)
        started = time.perf_counter()
        study.run(Path(folder) / "results", n_jobs=workers, progress=False)
        run = (time.perf_counter() - started) * workers / reps
        function = study.experiment.source.function()
        streams = SimpleNamespace(network=np.random.default_rng(1))
        own = min(timeit.repeat(lambda: function(study.cells[0], streams), number=LOOP)) / LOOP
    return run, own


def main(reps: int = 40_000, workers: int = 2) -> None:
    """Print both times and their difference in microseconds."""
    run, own = measure(reps, workers)
    print(f"{1e6 * run:.0f} us a replicate and worker, of which {1e6 * own:.0f} us its own work")
    print(f"overhead {1e6 * (run - own):.0f} us")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
