"""Any number of workers and any blocks give the same frames; nothing that goes wrong is lost."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from p0sim.columns import FRAMES
from p0sim.engine.blocks import SUFFIX
from p0sim.engine.design import StudyFile, build_cells, parse_study
from p0sim.engine.merge import merge_stores
from p0sim.engine.options import Shard
from p0sim.engine.rounds import StoppingRule
from p0sim.engine.store import Store
from p0sim.errors import InvalidStudyError
from tests.engine.fake import FakeExperiment, assert_same, frames, run, small_study

TROUBLED = FakeExperiment(
    raise_share=0.2, fit_raise_share=0.2, warn_share=0.4, no_estimate_share=0.3
)


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("clean")
    run(directory, TROUBLED)
    return directory


@pytest.mark.parametrize(
    "options",
    [
        {"n_jobs": 1, "block_size": 1},
        {"n_jobs": 1, "block_size": 4},
        {"n_jobs": 2, "block_size": 2},
        {"n_jobs": 4},
        {"n_jobs": 3, "backend": "threading", "block_size": 1},
    ],
    ids=str,
)
def test_workers_and_blocks_never_change_a_bit(clean, tmp_path, options):
    run(tmp_path, TROUBLED, **options)
    assert_same(frames(tmp_path), frames(clean))


def test_comparison_would_see_another_seed(clean, tmp_path):
    """Control of the test above."""
    run(tmp_path, TROUBLED, study=small_study(seed=8))
    with pytest.raises(AssertionError):
        assert_same(frames(tmp_path), frames(clean))


def test_frames_have_the_columns_and_kinds_of_the_contract(clean):
    got = {name: Store(clean).read(name) for name in FRAMES}
    assert {name: tuple(frame.columns) for name, frame in got.items()} == {
        name: tuple(column.name for column in columns) for name, columns in FRAMES.items()
    }
    assert got["replicates"]["rep"].dtype == "int64"
    assert got["replicates"]["n_iter"].dtype == "Int64"
    assert got["estimates"]["lower"].dtype == "float64"
    assert pd.api.types.is_string_dtype(got["replicates"]["status"].dtype)


def test_every_replicate_has_one_row_a_method_whatever_happens(clean):
    replicates, cells = frames(clean)["replicates"], frames(clean)["cells"]
    keys = pd.MultiIndex.from_product([cells["cell"], ["mean", "median"], range(1, 10)])
    assert list(replicates[["cell", "method", "rep"]].itertuples(index=False, name=None)) == list(
        keys
    )


def line_of(text: str) -> str:
    source = Path(sys.modules[FakeExperiment.__module__].__file__).read_text().splitlines()
    return f"fake.py:{1 + next(i for i, line in enumerate(source) if text in line)}"


def test_raising_draw_is_an_error_for_all_methods_and_one_problem_naming_the_line(clean):
    got = frames(clean)
    reason = "ArithmeticError: the draw was too unlucky"  # noqa: F841 (queries see it)
    errors = got["replicates"].query("reason == @reason")
    assert len(errors) > 0
    assert set(errors["status"]) == {"error"}
    assert (errors.groupby(["cell", "rep"])["method"].nunique() == 2).all()
    assert errors["n_iter"].isna().all()
    problems = got["problems"].query("message == @reason")
    assert len(problems) == len(errors) / 2
    assert set(problems["method"]) == {""}
    assert set(problems["where"]) == {line_of("raise ArithmeticError")}


def test_raising_fit_is_an_error_of_its_method_alone(clean):
    got = frames(clean)
    reason = "ZeroDivisionError: no mean today"  # noqa: F841 (queries see it)
    errors = got["replicates"].query("reason == @reason")
    assert len(errors) > 0
    assert set(errors["method"]) == {"mean"}
    beside = got["replicates"].merge(errors[["cell", "rep"]]).query("method == 'median'")
    assert set(beside["status"]) <= {"ok", "no_estimate"}
    assert len(beside) == len(errors)
    problems = got["problems"].query("message == @reason")
    assert list(problems["method"]) == ["mean"] * len(errors)
    assert set(problems["where"]) == {line_of("raise ZeroDivisionError")}


def test_the_order_of_methods_changes_no_row(clean, tmp_path):
    run(tmp_path, dataclasses.replace(TROUBLED, methods=("median", "mean")))
    keys = ["cell", "method", "rep"]
    for name in ("replicates", "estimates"):
        one, other = (frames(where)[name] for where in (clean, tmp_path))
        more = [*keys, "estimand"] if name == "estimates" else keys
        pd.testing.assert_frame_equal(
            one.sort_values(more, ignore_index=True),
            other.sort_values(more, ignore_index=True),
            check_exact=True,
        )


def test_seconds_are_those_of_the_fit(tmp_path):
    run(tmp_path, FakeExperiment(seconds=0.02, raise_share=0.3), reps=3)
    timings = Store(tmp_path).read("timings").merge(Store(tmp_path).read("replicates"))
    fitted = timings["status"] == "ok"
    assert timings["seconds"][fitted].between(0, 0.02).all()
    assert timings["seconds"][~fitted].isna().all()


def test_warning_is_one_problem_a_replicate_however_often_it_was_said(clean):
    problems = frames(clean)["problems"].query("kind == 'warning'")
    assert set(problems["message"]) == {"RuntimeWarning: an unlucky draw"}
    assert not problems.duplicated(["cell", "rep"]).any()
    assert len(problems) > 0


def test_no_estimate_leaves_the_other_method_alone_and_has_no_estimates(clean):
    got = frames(clean)
    failed = got["replicates"].query("status == 'no_estimate'")
    assert set(failed["method"]) == {"median"}
    keys = set(failed[["cell", "rep"]].itertuples(index=False, name=None))
    estimates = got["estimates"]
    beside = estimates[[key in keys for key in zip(estimates["cell"], estimates["rep"])]]
    assert set(beside["method"]) == {"mean"}


class RaisesInPrepare(FakeExperiment):
    def prepare(self, cell):
        if cell.factors["n"] == 20:
            raise MemoryError("too large")
        return super().prepare(cell)


def test_failing_preparation_is_an_error_row_for_each_replicate_of_that_cell(tmp_path):
    run(tmp_path, RaisesInPrepare())
    got = frames(tmp_path)
    merged = got["replicates"].merge(got["cells"], on="cell")
    assert set(merged.query("n == 20")["status"]) == {"error"}
    assert set(merged.query("n == 30")["status"]) == {"ok"}


class ForgetsAMethod(FakeExperiment):
    def prepare(self, cell):
        whole = super().prepare(cell)
        return lambda streams: {"mean": whole(streams)["mean"]}


def test_missing_fit_is_an_error_row_saying_so(tmp_path):
    run(tmp_path, ForgetsAMethod())
    reasons = set(frames(tmp_path)["replicates"]["reason"])
    assert reasons == {"InvalidStudyError: fits must be one for each of mean, median; got mean"}


class Leaves(FakeExperiment):
    def prepare(self, cell):
        return lambda streams: sys.exit("no more")


def test_an_experiment_that_calls_exit_speaks_for_its_replicate_only(tmp_path):
    run(tmp_path, Leaves(), reps=2)
    assert set(frames(tmp_path)["replicates"]["reason"]) == {"SystemExit: no more"}


def test_finished_study_computes_nothing(clean):
    summary = run(clean, TROUBLED)
    assert (summary.n_done, summary.n_resumed, summary.n_problems) == (0, 27, 0)


def test_more_replicates_extend_and_fewer_never_delete(clean, tmp_path):
    run(tmp_path, TROUBLED, reps=4)
    assert run(tmp_path, TROUBLED, reps=9, block_size=2).n_resumed == 12
    assert_same(frames(tmp_path), frames(clean))
    assert run(tmp_path, TROUBLED, reps=2).n_done == 0
    assert_same(frames(tmp_path), frames(clean))


@pytest.mark.parametrize("shared", [frozenset(), frozenset({"epsilon"})])
def test_shared_factor_means_the_same_networks_and_new_noise(tmp_path, shared):
    run(tmp_path, FakeExperiment(shared_factors=shared))
    got = frames(tmp_path)
    rows = got["replicates"].merge(got["cells"], on="cell").query("n == 20 and method == 'mean'")
    wide = rows.pivot(index="rep", columns="epsilon_rule", values=["sup_error", "residual"])
    same_network = np.isclose(*wide["sup_error"].to_numpy().T, rtol=0, atol=1e-8)
    assert same_network.all() == bool(shared)
    assert not np.isclose(*wide["residual"].to_numpy().T).any()


def test_global_random_state_is_neither_read_nor_touched(tmp_path):
    """Legacy calls on purpose: the global state is set, watched and must make no difference."""
    np.random.seed(3)  # noqa: NPY002
    random.seed(3)
    before = repr(np.random.get_state()), random.getstate()  # noqa: NPY002
    run(tmp_path / "one")
    assert (repr(np.random.get_state()), random.getstate()) == before  # noqa: NPY002
    np.random.seed(4)  # noqa: NPY002
    run(tmp_path / "two")
    assert_same(frames(tmp_path / "one"), frames(tmp_path / "two"))


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class RaisesOddThings(FakeExperiment):
    def prepare(self, cell):
        def raising(error):
            raise error

        odd = {"mean": partial(raising, Unspeakable()), "median": partial(raising, SystemExit(3))}
        return lambda streams: odd


def test_an_error_that_cannot_even_be_said_is_a_row(tmp_path):
    run(tmp_path, RaisesOddThings(), reps=1)
    reasons = frames(tmp_path)["replicates"].groupby("method")["reason"].first()
    assert reasons["mean"] == "Unspeakable: <exception str() failed>"
    assert reasons["median"] == "SystemExit: 3"


class Interrupts(FakeExperiment):
    def prepare(self, cell):
        def interrupt():
            raise KeyboardInterrupt

        return lambda streams: dict.fromkeys(self.methods, interrupt)


def test_an_interrupt_that_a_replicate_raises_in_a_worker_is_its_own(tmp_path):
    """Workers do not hear Ctrl-C; in this process it cannot be told apart, and ends the run."""
    run(tmp_path / "a", Interrupts(), reps=2, n_jobs=1, backend="loky")
    assert set(frames(tmp_path / "a")["replicates"]["status"]) == {"error"}
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b", Interrupts(), reps=2)


def test_a_lost_table_of_cells_is_written_anew(clean, tmp_path):
    run(tmp_path, TROUBLED)
    (tmp_path / "cells.parquet").unlink()
    with pytest.raises(InvalidStudyError, match=r"cells\.parquet is missing; p0sim run"):
        Store(tmp_path).read("cells")
    assert "cells.parquet is missing" in run(tmp_path, TROUBLED).notes[0]
    assert_same(frames(tmp_path), frames(clean))


class CostUnknown(FakeExperiment):
    def cost(self, cell):
        return np.nan


def test_the_first_replicate_shapes_the_blocks_where_the_cost_is_unknown(tmp_path):
    run(tmp_path, CostUnknown(), reps=20)
    sizes = [block.n_reps for block in Store(tmp_path).blocks()]
    assert sorted(sizes)[:3] == [1, 1, 1]
    assert len(sizes) < 20


def shuffled(study: StudyFile) -> StudyFile:
    """The same grid, its factors and levels written in another order."""
    document = dict(study.document)
    levels = {name: list(reversed(study.factors[name])) for name in reversed(study.factors)}
    document["factors"] = {**levels, "exclude": list(study.excluded)}
    return parse_study(document)


def test_a_shuffled_grid_gives_the_same_rows(clean, tmp_path):
    run(tmp_path, TROUBLED, study=shuffled(small_study()))
    assert list(frames(tmp_path)["cells"]["cell"]) != list(frames(clean)["cells"]["cell"])
    for name in ("replicates", "estimates", "problems"):
        one, other = (
            frames(where)[name].sort_values("cell", kind="stable", ignore_index=True)
            for where in (clean, tmp_path)
        )
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_three_shards_merged_are_the_whole(tmp_path):
    """Two chunks and a bit a cell, so that every shard has something."""
    study = small_study(reps=45)
    run(tmp_path / "whole", TROUBLED, study=study)
    shards = [tmp_path / f"shard{k}" for k in (1, 2, 3)]
    for number, shard in enumerate(shards, start=1):
        assert run(shard, TROUBLED, study=study, shard=Shard(number, 3)).n_done > 0
    merge_stores(tmp_path / "merged", shards)
    assert_same(frames(tmp_path / "merged"), frames(tmp_path / "whole"))


def test_a_shard_needs_a_seed_and_has_no_stopping_rule(tmp_path):
    study = small_study()
    unseeded = dataclasses.replace(study, study=study.study.model_copy(update={"seed": None}))
    with pytest.raises(InvalidStudyError, match=r"a shard needs \[study\] seed"):
        run(tmp_path / "a", study=unseeded, shard=Shard(1, 2))
    with pytest.raises(InvalidStudyError, match=r"a shard cannot tell when \[measures.stop\]"):
        run(tmp_path / "a", shard=Shard(1, 2), rule=StoppingRule((5, 10), bool))
    assert not (tmp_path / "a").exists()


class AlwaysRaises(FakeExperiment):
    def prepare(self, cell):
        if cell.factors["n"] == 20:
            raise ArithmeticError("no luck")
        return super().prepare(cell)


@pytest.mark.parametrize("block_size", [1, 7, 50])
def test_a_cell_that_only_fails_is_paused_after_twenty_and_says_so(tmp_path, block_size):
    summary = run(tmp_path, AlwaysRaises(), reps=50, block_size=block_size, n_jobs=2)
    counts = frames(tmp_path)["replicates"].groupby("cell")["rep"].max()
    assert sorted(counts) == [20, 20, 50]
    assert set(summary.paused) == set(counts[counts == 20].index)
    assert "paused, since the first 20 replicates all ended in error" in summary.notes[-1]
    assert run(tmp_path, AlwaysRaises(), reps=50).n_done == 0
    assert run(tmp_path, AlwaysRaises(), reps=50, keep_going=True).n_done == 60


def test_no_estimate_never_pauses(tmp_path):
    experiment = FakeExperiment(methods=("median",), no_estimate_share=1.0)
    assert run(tmp_path, experiment, reps=50).paused == ()
    assert len(frames(tmp_path)["replicates"]) == 150


def test_time_allowed_stops_the_run_and_the_next_goes_on(clean, tmp_path):
    slow = dataclasses.replace(TROUBLED, seconds=0.02)
    summary = run(tmp_path, slow, block_size=1, max_time=0.1)
    assert summary.stopped
    assert 0 < summary.n_done < 27
    assert not run(tmp_path, slow).stopped
    assert_same(frames(tmp_path), frames(clean))


class OftenStuck(FakeExperiment):
    """Every third replicate of the first cell never ends."""

    def prepare(self, cell):
        whole = super().prepare(cell)

        def simulate(streams):
            fits = whole(streams)
            if streams.rep % 3 == 0:
                fits["median"] = lambda: time.sleep(60)
            return fits

        return simulate


def test_a_fit_over_its_time_is_a_row_and_leaves_the_one_before_alone(tmp_path):
    run(tmp_path, OftenStuck(), reps=6, timeout=0.2)
    rows = frames(tmp_path)["replicates"]
    over = rows.query("status == 'timeout'")
    assert set(over["rep"]) == {3, 6}
    assert set(over["method"]) == {"median"}
    assert set(over["reason"]) == {"took longer than 0.2 s"}
    assert set(rows.drop(over.index)["status"]) == {"ok"}


def test_retry_computes_blocks_with_such_rows_again(clean, tmp_path):
    run(tmp_path, OftenStuck(), timeout=0.2, block_size=2, study=small_study(reps=4))
    stuck = frames(tmp_path)["replicates"].query("status == 'timeout'")["cell"].nunique()
    summary = run(tmp_path, FakeExperiment(), reps=4, retry=("timeout",))
    assert summary.n_done == 2 * stuck == 6
    assert "6 replicates are computed again" in summary.notes[-1]
    run(tmp_path / "fresh", FakeExperiment(), reps=4)
    assert_same(frames(tmp_path), frames(tmp_path / "fresh"))


def test_a_rule_runs_each_cell_to_the_checkpoint_where_it_is_met(tmp_path):
    looked = []

    def is_met(estimates: pd.DataFrame) -> bool:
        cell = estimates["cell"].iloc[0]
        looked.append((cell, int(estimates["rep"].max())))
        return estimates["rep"].max() >= wanted.get(cell, 1000)

    first, second, _ = (cell.id for cell in build_cells(small_study(), FakeExperiment()))
    wanted = {first: 10, second: 20}
    rule = StoppingRule((10, 20, 30, 35), is_met)
    summary = run(tmp_path, rule=rule, block_size=4)
    counts = frames(tmp_path)["replicates"].groupby("cell", sort=False)["rep"].max()
    assert list(counts) == [10, 20, 35]
    assert list(frames(tmp_path)["cells"]["target_reps"]) == [10, 20, 35]
    assert summary.n_done == 65
    decisions, looked[:] = list(looked), []
    assert run(tmp_path, rule=rule).n_done == 0
    assert looked == decisions
    assert run(tmp_path, rule=rule, reps=36).n_done == 26 + 16 + 1


def test_drawn_seed_is_told_stored_and_used_again(tmp_path, capsys):
    study = small_study()
    drawn = study.study.model_copy(update={"seed": None})
    object.__setattr__(study, "study", drawn)
    first = run(tmp_path, study=study, reps=3, progress=True)
    assert f"drew {first.seed}" in capsys.readouterr().err
    assert run(tmp_path, study=study, reps=5).seed == first.seed


INTERRUPTED = """
import sys
from tests.engine.fake import FakeExperiment, run
try:
    run(sys.argv[1], FakeExperiment(seconds=float(sys.argv[3])), reps=100, n_jobs=int(sys.argv[2]),
        block_size=2)
except KeyboardInterrupt:
    sys.exit(130)
"""


def ends_within_seconds(group: int) -> bool:
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("whole_group", [True, False])
def test_ctrl_c_stops_within_seconds_leaves_no_child_and_resumes(tmp_path, n_jobs, whole_group):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "results"), str(n_jobs), "0.05"]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)
    for _ in range(300):
        time.sleep(0.1)
        if len(list((tmp_path / "results" / "replicates").glob(f"*{SUFFIX}"))) >= 2:
            break
    send = os.killpg if whole_group else os.kill
    sent = time.monotonic()
    send(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - sent < 5
    assert ends_within_seconds(process.pid)
    assert "Traceback" not in said
    assert list((tmp_path / "results").rglob("*.tmp")) == []
    summary = run(tmp_path / "results", reps=3)
    assert summary.n_done + summary.n_resumed == 9
