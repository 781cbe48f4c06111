"""Any number of workers and any blocks give the same frames; nothing that goes wrong is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from p0sim.columns import FRAMES
from p0sim.engine.blocks import SUFFIX
from p0sim.engine.store import Store
from p0sim.errors import InvalidStudyError
from tests.engine.fake import FakeExperiment, frames, run, small_study

TROUBLED = FakeExperiment(raise_share=0.3, warn_share=0.4, no_estimate_share=0.3)


def assert_same(left: dict[str, pd.DataFrame], right: dict[str, pd.DataFrame]) -> None:
    for name in left:
        pd.testing.assert_frame_equal(left[name], right[name], check_exact=True)


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
        {"n_jobs": 2},
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


def test_raising_replicate_is_an_error_for_all_methods_and_one_problem_naming_the_line(clean):
    got = frames(clean)
    errors = got["replicates"].query("status == 'error'")
    assert len(errors) > 0
    assert set(errors["reason"]) == {"ArithmeticError: the draw was too unlucky"}
    assert (errors.groupby(["cell", "rep"])["method"].nunique() == 2).all()
    assert errors["n_iter"].isna().all()
    problems = got["problems"].query("kind == 'error'")
    assert len(problems) == len(errors) / 2
    source = Path(sys.modules[FakeExperiment.__module__].__file__).read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(source) if "raise ArithmeticError" in text)
    assert set(problems["where"]) == {f"fake.py:{line}"}


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
        return lambda streams: whole(streams)[1:]


def test_missing_outcome_is_an_error_row_saying_so(tmp_path):
    run(tmp_path, ForgetsAMethod())
    reasons = set(frames(tmp_path)["replicates"]["reason"])
    assert reasons == {"InvalidStudyError: outcomes must be one for each of mean, median; got mean"}


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_jobs": 0}, r"n_jobs must be -1 or in 1\.\.\d+, 8 a core; got 0"),
        ({"n_jobs": -2}, r"n_jobs must be -1 or in 1\.\.\d+, 8 a core; got -2"),
        ({"reps": 0}, "reps must be at least 1; got 0"),
        ({"block_size": -1}, "block_size must be at least 1; got -1"),
    ],
)
def test_bad_option_is_refused_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(InvalidStudyError, match=message):
        run(tmp_path / "results", **options)
    assert not (tmp_path / "results").exists()


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
