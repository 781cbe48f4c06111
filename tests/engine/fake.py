"""A tiny experiment for the engine's tests: the mean of n normals, by mean and by median."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from p0sim.engine.design import StudyFile, build_cells, parse_study
from p0sim.engine.runner import RunSummary, run_study
from p0sim.engine.store import Store
from p0sim.replicate import Cell, Outcome, Streams

RESULT_FRAMES = ("replicates", "estimates", "problems", "cells")
NAN = math.nan


@dataclass(frozen=True)
class FakeExperiment:
    """Raises in a share of replicates, warns in others, has no estimate in some."""

    methods: tuple[str, ...] = ("mean", "median")
    shared_factors: frozenset[str] = frozenset()
    law: str = "normal"
    raise_share: float = 0.0
    warn_share: float = 0.0
    no_estimate_share: float = 0.0
    seconds: float = 0.0

    def content(self, cell: Cell) -> dict[str, Any]:
        return {"law": self.law}

    def identity(self) -> dict[str, Any]:
        return {"model": {"law": self.law}, "methods": {name: {} for name in self.methods}}

    def cost(self, cell: Cell) -> float:
        return self.seconds or 1e-4 * float(cell.factors.get("n", 1))

    def prepare(self, cell: Cell) -> Callable[[Streams], list[Outcome]]:
        return FakeReplicate(self, cell)


@dataclass(frozen=True)
class FakeReplicate:
    experiment: FakeExperiment
    cell: Cell

    def __call__(self, streams: Streams) -> list[Outcome]:
        experiment = self.experiment
        time.sleep(experiment.seconds)
        luck = streams.truth.random(3)
        if luck[0] < experiment.warn_share:
            for _ in range(3):
                warnings.warn("an unlucky draw", RuntimeWarning, stacklevel=1)
        if luck[1] < experiment.raise_share:
            raise ArithmeticError("the draw\nwas too unlucky")
        data = streams.network.normal(size=int(self.cell.factors["n"]))
        square = np.outer(data, data) + streams.noise.normal(size=(data.size, data.size))
        largest = float(np.linalg.svd(square @ square.T, compute_uv=False)[0])
        no_estimate = luck[2] < experiment.no_estimate_share
        return [self._outcome(method, data, largest, streams, no_estimate) for method in ORDER]

    def _outcome(
        self, method: str, data: np.ndarray, largest: float, streams: Streams, no_estimate: bool
    ) -> Outcome:
        if no_estimate and method == "median":
            return Outcome(method, "no_estimate", reason="unlucky", seconds=0.1)
        estimate = float(getattr(np, method)(data)) + 1e-9 * streams.other(method).random()
        row = {"estimate": estimate, "std_error": 0.1, "lower": NAN, "upper": NAN}
        rows = [
            {"estimand": name, **row, "true_value": 0.0, "z": estimate / 0.1}
            for name in ("mu", "again")
        ]
        return Outcome(method, "ok", "", 3, largest, abs(estimate), 0.1, tuple(rows))


ORDER = ("median", "mean")  # not the order of the file: the engine must sort


def small_study(**study: Any) -> StudyFile:
    """Three cells of a grid with a hole."""
    return parse_study(
        {
            "study": {"name": "tiny", "experiment": "fake", "seed": 7, "reps": 9, **study},
            "factors": {
                "n": [20, 30],
                "epsilon": ["1", "log(n)"],
                "exclude": [{"n": 30, "epsilon": 1}],
            },
        }
    )


def run(
    directory: Any,
    experiment: FakeExperiment | None = None,
    study: StudyFile | None = None,
    **options: Any,
) -> RunSummary:
    experiment, study = experiment or FakeExperiment(), study or small_study()
    options = {"n_jobs": 1, "progress": False, **options}
    return run_study(study, experiment, build_cells(study, experiment), directory, **options)


def frames(directory: Any) -> dict[str, Any]:
    """All frames but the timings, freshly read."""
    store = Store(directory)
    return {name: store.read(name) for name in RESULT_FRAMES}
