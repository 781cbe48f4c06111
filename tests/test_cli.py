"""The command line as a person meets it: output, exit codes, nothing half-written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_studies import TEXT

BAD = [
    ("reps = 12", "rep = 12"),
    ("n = [12, 16]", "n = [2]"),
    ("q = [2]", "q = [1]"),
    ('"2", ', "0, "),
    ('"log(log(n))"', '"n.real"'),
]


def p0sim(*arguments, folder: Path) -> subprocess.CompletedProcess[str]:
    code = "from p0sim.cli.main import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "tiny.toml").write_text(TEXT)
    return folder, p0sim("run", "tiny.toml", "-j", 2, folder=folder)


def test_run_ends_with_the_table_and_the_report(finished):
    folder, done = finished
    assert done.returncode == 0, done.stderr
    assert "alpha[1]-alpha[2]" in done.stdout
    assert "no-estimate share" in done.stdout
    assert done.stdout.rstrip().endswith("Report: reports/tiny/README.md")
    assert (folder / "results/tiny/study.json").is_file()
    assert (folder / "reports/tiny/table.tex").is_file()
    assert "replicates" in done.stderr
    assert "Traceback" not in done.stderr


def test_table_prints_the_layout_asked_for(finished):
    folder, _ = finished
    done = p0sim(
        *("table", "results/tiny", "--rows", "n,estimand", "--cols", "epsilon,L"),
        *("--cell", "{bias}", "--format", "latex"),
        folder=folder,
    )
    assert done.returncode == 0, done.stderr
    assert r"\toprule" in done.stdout


def test_report_is_written_where_it_is_wanted(finished):
    folder, _ = finished
    done = p0sim("report", "results/tiny", "-o", "page", folder=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "page/qq.pdf").is_file()


def test_a_smoke_run_has_a_folder_of_its_own(finished):
    folder, _ = finished
    done = p0sim("run", "tiny.toml", "--reps", 3, "-j", 1, folder=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "results/tiny-reps3").is_dir()


@pytest.mark.parametrize(("old", "new"), BAD)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(old, new, tmp_path):
    (tmp_path / "bad.toml").write_text(TEXT.replace(old, new))
    done = p0sim("run", "bad.toml", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ")
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "missing.toml"),
        ("table", "nowhere"),
        ("report", "nowhere"),
        ("run",),
        ("nonsense",),
        ("run", "missing.toml", "-j", "many"),
    ],
)
def test_a_wrong_call_is_exit_code_2_without_traceback(arguments, tmp_path):
    done = p0sim(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_study_without_any_estimate_is_exit_code_3(tmp_path):
    """L = 40: every margin sits at its end, with or without noise."""
    text = TEXT.replace('L = ["0", "log(log(n))"]', "L = [40]").replace("reps = 12", "reps = 2")
    (tmp_path / "none.toml").write_text(text)
    done = p0sim("run", "none.toml", "-j", 1, folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "–" in done.stdout
    assert "no replicate" in done.stderr


def test_help_shows_an_example_for_every_command(tmp_path):
    for command in ("run", "table", "report"):
        done = p0sim(command, "--help", folder=tmp_path)
        assert done.returncode == 0
        assert f"Example: p0sim {command}" in " ".join(done.stdout.split())
