"""A tiny experiment for the engine's tests: the mean of n normals, by mean and by median."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from p0sim.engine.design import StudyFile, build_cells, parse_study
from p0sim.engine.options import RunOptions
from p0sim.engine.rounds import StoppingRule
from p0sim.engine.runner import RunSummary, run_study
from p0sim.engine.store import Store
from p0sim.replicate import Cell, Fit, Outcome, Simulate, Streams

RESULT_FRAMES = ("replicates", "estimates", "problems", "cells")
NAN = math.nan


@dataclass(frozen=True)
class FakeExperiment:
    """Raises in a share of draws or of fits, warns in others, has no estimate in some."""

    methods: tuple[str, ...] = ("mean", "median")
    shared_factors: frozenset[str] = frozenset()
    sources: Mapping[str, str] = field(default_factory=dict)
    law: str = "normal"
    raise_share: float = 0.0
    warn_share: float = 0.0
    no_estimate_share: float = 0.0
    fit_raise_share: float = 0.0
    exit_at: tuple[int, ...] = ()
    seconds: float = 0.0

    def content(self, cell: Cell) -> dict[str, Any]:
        return {"law": self.law}

    def identity(self) -> dict[str, Any]:
        return {"model": {"law": self.law}, "methods": {name: {} for name in self.methods}}

    def cost(self, cell: Cell) -> float:
        return self.seconds or 1e-4 * float(cell.factors.get("n", 1))

    def prepare(self, cell: Cell) -> Simulate:
        return FakeReplicate(self, cell)


@dataclass(frozen=True)
class FakeReplicate:
    experiment: FakeExperiment
    cell: Cell

    def __call__(self, streams: Streams) -> dict[str, Fit]:
        experiment = self.experiment
        time.sleep(experiment.seconds)
        if streams.rep in experiment.exit_at and self.cell.factors["n"] == 30:
            os._exit(1)  # as a crash in a library would
        luck = streams.truth.random(4)
        if luck[0] < experiment.warn_share:
            for _ in range(3):
                warnings.warn("an unlucky draw", RuntimeWarning, stacklevel=1)
        if luck[1] < experiment.raise_share:
            raise ArithmeticError("the draw\nwas too unlucky")
        data = streams.network.normal(size=int(self.cell.factors["n"]))
        square = np.outer(data, data) + streams.noise.normal(size=(data.size, data.size))
        largest = float(np.linalg.svd(square @ square.T, compute_uv=False)[0])
        fit = partial(self._outcome, data=data, largest=largest, streams=streams, luck=luck)
        return {name: partial(fit, name) for name in ORDER if name in experiment.methods}

    def _outcome(
        self, method: str, data: np.ndarray, largest: float, streams: Streams, luck: np.ndarray
    ) -> Outcome:
        if luck[2] < self.experiment.no_estimate_share and method == "median":
            return Outcome("no_estimate", reason="unlucky")
        if luck[3] < self.experiment.fit_raise_share and method == "mean":
            raise ZeroDivisionError("no mean today")
        estimate = float(getattr(np, method)(data)) + 1e-9 * streams.other(method).random()
        row = {"estimate": estimate, "std_error": 0.1, "lower": NAN, "upper": NAN}
        rows = [
            {"estimand": name, **row, "true_value": 0.0, "z": estimate / 0.1}
            for name in ("mu", "again")
        ]
        return Outcome("ok", "", 3, largest, abs(estimate), tuple(rows))


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
    rule: StoppingRule | None = None,
    **options: Any,
) -> RunSummary:
    """Run in this process, unless the options say otherwise."""
    experiment, study = experiment or FakeExperiment(), study or small_study()
    if options.keys().isdisjoint({"n_jobs", "backend"}):
        options |= {"n_jobs": 1, "backend": "threading"}
    checked = RunOptions(**{"progress": False, **options})
    cells = build_cells(study, experiment)
    return run_study(study, experiment, cells, directory, checked, rule)


def assert_same(left: dict[str, Any], right: dict[str, Any]) -> None:
    """Equal to the last bit, frame by frame."""
    for name in left:
        pd.testing.assert_frame_equal(left[name], right[name], check_exact=True)


def frames(directory: Any) -> dict[str, Any]:
    """All frames but the timings, freshly read."""
    store = Store(directory)
    return {name: store.read(name) for name in RESULT_FRAMES}
