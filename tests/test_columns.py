"""The description of the frames: complete, unique, in the order of the contract."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from p0sim.columns import (
    DTYPES,
    FACTORS,
    FRAMES,
    KEYS,
    MEASURES,
    PERFORMANCE,
    PROGRESS,
    SUMMARIES,
    cell_columns,
    column_names,
    empty_frame,
    performance_columns,
)
from p0sim.report.dictionary import PREDICTIONS, columns_page
from p0sim.studies.predictions import PREDICTION_COLUMNS
from p0sim.studies.study import Study

PAGE = Path(__file__).resolve().parents[1] / "docs" / "columns.md"
STUDY = """
study = {name = "tiny", seed = 1, reps = 3}
factors = {n = [20], q = [2], L = [0]}
methods = {quiet = {release = false}}
"""


@pytest.mark.parametrize("frame", FRAMES)
def test_every_stored_frame_starts_with_its_keys(frame):
    assert column_names(frame)[:3] == KEYS


@pytest.mark.parametrize("columns", [*FRAMES.values(), PERFORMANCE, cell_columns(["n", "mine"])])
def test_columns_are_named_once_and_described(columns):
    names = [column.name for column in columns]
    assert len(set(names)) == len(names)
    assert all(column.meaning and column.kind in DTYPES for column in columns)


def test_estimates_are_in_the_order_of_the_contract():
    assert " ".join(column_names("estimates")) == (
        "cell method rep estimand estimate std_error lower upper true_value z"
    )


def test_a_factor_has_its_number_and_then_its_rule():
    names = [column.name for column in cell_columns(["q", "epsilon"])]
    assert names == ["cell", "q", "q_rule", "epsilon", "epsilon_rule", "target_reps"]


def test_performance_leaves_the_target_out():
    names = [column.name for column in performance_columns(["q"])]
    assert names[:5] == ["cell", "q", "q_rule", "method", "estimand"]
    assert "target_reps" not in names


def test_an_empty_frame_has_its_types():
    frame = empty_frame("replicates")
    assert str(frame["n_iter"].dtype) == "Int64"
    assert pd.api.types.is_float_dtype(frame["residual"])
    assert list(frame) == list(column_names("replicates"))


def p0sim(*arguments, folder="."):
    code = "from p0sim.cli.main import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout.decode()


def test_the_page_of_columns_is_what_the_command_prints_now():
    """After a change of columns: p0sim columns > docs/columns.md."""
    assert p0sim("columns") == PAGE.read_text("utf-8")


def test_the_page_has_every_frame_with_its_columns_in_order():
    frames = {
        "cells": cell_columns(FACTORS),
        **FRAMES,
        **SUMMARIES,
        "performance": PERFORMANCE,
        "progress": PROGRESS,
    }
    sections = dict(part.split("\n", 1) for part in columns_page().split("\n## ")[1:])
    for name, columns in frames.items():
        named = re.findall(r"^\| `(\w+)` +\|", sections[name], re.M)
        assert named == [column.name for column in columns]
    measures = re.findall(r"^\| `(\w+)` +\|", sections["Measures"], re.M)
    assert measures == list(MEASURES)


def test_predictions_are_described_as_they_are_stored():
    assert [column.name for column in PREDICTIONS] == PREDICTION_COLUMNS


def test_every_row_of_the_page_lines_up():
    tables = re.findall(r"(?:^\|.*\n)+", columns_page(), re.M)
    assert len(tables) > len(FRAMES) + len(SUMMARIES)
    for table in tables:
        assert len({len(line) for line in table.splitlines()}) == 1


def test_an_export_has_the_page_beside_its_frames(tmp_path):
    (tmp_path / "tiny.toml").write_text(STUDY)
    study = Study.from_toml(tmp_path / "tiny.toml")
    study.run(tmp_path / "results", n_jobs=1, progress=False)
    printed = p0sim("export", "results", "-o", "csv", folder=tmp_path).splitlines()
    assert str(Path("csv") / "columns.md") in printed
    assert (tmp_path / "csv/columns.md").read_text("utf-8") == columns_page()
    assert sorted(path.name for path in (tmp_path / "csv").iterdir()) == sorted(
        Path(line).name for line in printed
    )
