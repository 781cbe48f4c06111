"""The command line as a person meets it: output, exit codes, nothing half-written."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.studies.test_study import TEXT

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
    assert done.stdout.rstrip().endswith("Report: reports/tiny/index.html")
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


def test_a_table_of_some_levels_is_the_same_from_results_and_from_their_report(finished):
    folder, _ = finished
    where = "epsilon=2,estimand=alpha[1]|alpha[1]-alpha[2]"
    options = ("--rows", "estimand", "--cols", "L", "--where", where)
    tables = [
        p0sim("table", source, *options, folder=folder)
        for source in ("results/tiny", "reports/tiny")
    ]
    assert [done.returncode for done in tables] == [0, 0], tables[0].stderr
    assert tables[0].stdout == tables[1].stdout
    assert "alpha[1]-alpha[2]" in tables[0].stdout


def test_levels_are_written_as_pairs(finished):
    folder, _ = finished
    done = p0sim("table", "results/tiny", "--where", "epsilon", folder=folder)
    assert done.returncode == 2
    assert "--where must look like n=100|200,method=paper; got 'epsilon'" in done.stderr


def test_report_is_written_where_it_is_wanted(finished):
    folder, _ = finished
    done = p0sim("report", "results/tiny", "-o", "page", folder=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "page/qq.pdf").is_file()


def test_every_kind_of_figure_is_drawn_by_name(finished):
    folder, _ = finished
    kinds = ("qq", "zipper", "coverage", "nested", "consistency", "est-se", "privacy-utility")
    for kind in kinds:
        done = p0sim("plot", "results/tiny", kind, "-o", f"drawn/{kind}", folder=folder)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [f"drawn/{kind}.pdf", f"drawn/{kind}.png"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pie"], "must be one of qq, zipper"),
        (["qq", "--width", "wide"], "must be one of single, double"),
        (["qq", "--measure", "bias"], "--measure goes with coverage"),
        (["qq", "--where", "n"], "must look like n=100"),
        (["qq", "--where", "n=7"], "n must be one of"),
        (["nested", "--measure", "bais"], "measure must be one of"),
        (["coverage", "--rows", "n", "--cols", "n"], "rows and cols must differ; got 'n' twice"),
        (["nested", "--rows", "n", "--cols", "n"], "rows and cols must differ; got 'n' twice"),
        (["consistency", "--measure", "coverage"], "an error of the whole fit"),
    ],
)
def test_a_figure_that_cannot_be_is_refused(finished, arguments, words):
    folder, _ = finished
    done = p0sim("plot", "results/tiny", *arguments, folder=folder)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A study without contrasts."""
    folder = tmp_path_factory.mktemp("bare")
    text = TEXT.replace("reps = 12", "reps = 2")
    (folder / "bare.toml").write_text(re.sub(r"contrasts = \[.*\]\n", "contrasts = []\n", text))
    assert p0sim("run", "bare.toml", "-j", 1, "--no-report", folder=folder).returncode in (0, 3)
    return folder


@pytest.mark.parametrize("kind", ["nested", "privacy-utility"])
def test_a_figure_of_any_measure_needs_no_contrasts(bare, kind):
    done = p0sim("plot", "results/tiny", kind, folder=bare)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("coverage", "error: a study must have intervals"),
        ("qq", "error: a study must have contrasts"),
    ],
)
def test_a_figure_of_intervals_says_that_there_are_none(bare, kind, words):
    done = p0sim("plot", "results/tiny", kind, folder=bare)
    assert done.returncode == 2
    assert done.stderr.startswith(words)
    assert done.stderr.count("\n") == 1


def test_a_truncated_file_of_a_report_is_told_in_one_line(finished):
    folder, _ = finished
    copy = shutil.copytree(folder / "reports/tiny", folder / "cut")
    cut = copy / "qq.csv.gz"
    cut.write_bytes(cut.read_bytes()[:-30])
    done = p0sim("report", "cut", folder=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cut/qq.csv.gz is damaged: ")
    assert done.stderr.count("\n") == 1


def test_a_smoke_run_has_a_folder_of_its_own(finished):
    folder, _ = finished
    done = p0sim("run", "tiny.toml", "--reps", 3, "-j", 1, "--no-report", folder=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "results/tiny-reps3").is_dir()


def test_a_run_without_a_report_ends_with_the_same_table(finished):
    folder, whole = finished
    done = p0sim("run", "tiny.toml", "-j", 1, "--no-report", folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == whole.stdout.partition("Report:")[0].strip()
    assert not (folder / "reports/tiny-reps3").exists()


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
    done = p0sim("run", "none.toml", "-j", 1, "--no-report", folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "–" in done.stdout
    assert "no replicate" in done.stderr


def test_check_forecasts_and_writes_nothing(tmp_path):
    (tmp_path / "tiny.toml").write_text(TEXT)
    done = p0sim("check", "tiny.toml", "-j", 2, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "96 replicates: about" in done.stdout
    assert "MiB a worker" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"]


BROKEN = """
def replicate(cell, streams):
    if cell.factors["n"] == 2:
        raise ValueError("two is one too many")
    return [{"estimand": "mu", "estimate": streams.network.normal()}]
"""
BROKEN_STUDY = """
study = {name = "broken", experiment = "broken.py:replicate", seed = 1, reps = 30}
factors = {n = [1, 2]}
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    (folder / "broken.toml").write_text(BROKEN_STUDY)
    (folder / "broken.py").write_text(BROKEN)
    return folder, p0sim("run", "broken.toml", "-j", 2, "--no-report", folder=folder)


def test_check_shows_what_fails_before_anything_is_run(broken):
    folder, _ = broken
    done = p0sim("check", "broken.toml", folder=folder)
    assert done.returncode == 3
    assert "ValueError: two is one too many" in done.stderr


def test_a_cell_that_only_fails_is_paused_and_told_at_the_end(broken):
    folder, done = broken
    assert done.returncode == 0
    assert "paused, since the first 20 replicates all ended in error" in done.stderr
    assert "problems: 20 errors (ValueError: two is one too many)" in done.stderr
    assert p0sim("run", "broken.toml", "--strict", "--no-report", folder=folder).returncode == 3


def test_status_and_failures_say_what_to_do(broken):
    folder, _ = broken
    status = p0sim("status", "results/broken", folder=folder).stdout
    assert "50 of 60 replicates" in status
    assert "Nothing but errors in " in status
    failures = p0sim("failures", "results/broken", folder=folder).stdout
    assert "ValueError: two is one too many" in failures
    assert "broken.py:4" in failures
    command = failures.splitlines()[-1].partition(": p0sim ")[2].split()
    again = p0sim(*command, folder=folder)
    assert again.returncode == 0, again.stderr
    assert "comes out as stored, to the last bit" in again.stderr


CRASH = """
import os, time

def replicate(cell, streams):
    print("on standard output")
    if streams.streams.rep == 3:
        os._exit(3) if cell.factors["n"] == 1 else time.sleep(60)
    return [{"estimand": "mu", "estimate": streams.network.normal()}]
"""


def test_a_replicate_that_killed_or_slept_is_told_and_can_be_looked_at_safely(tmp_path):
    (tmp_path / "crash.toml").write_text(BROKEN_STUDY.replace("broken", "crash"))
    (tmp_path / "crash.py").write_text(CRASH)
    done = p0sim(
        "run", "crash.toml", "-j", 1, "--reps", 4, "--timeout", "1s", "--no-report", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "fits without an estimate: 1 timeout, 1 killed; see p0sim failures" in done.stderr
    assert "on standard output" not in done.stdout
    where = ("repro", "results/crash-reps4", "--rep", 3, "--cell")
    killed = p0sim(*where, "n=1", folder=tmp_path)
    assert killed.returncode == 0
    assert "its worker process died" in killed.stdout
    assert "not compared" in killed.stderr
    assert "timeout must be given" in p0sim(*where, "n=2", folder=tmp_path).stderr
    slept = p0sim(*where, "n=2", "--timeout", "1s", folder=tmp_path)
    assert "took longer than 1 s" in slept.stdout


def test_a_shard_without_work_is_no_failure(tmp_path):
    (tmp_path / "broken.toml").write_text(BROKEN_STUDY)
    (tmp_path / "broken.py").write_text(BROKEN)
    done = [
        p0sim(
            "run", "broken.toml", "--reps", 1, "--shard", f"{k}/3", "--no-report", folder=tmp_path
        )
        for k in (1, 2, 3)
    ]
    assert {each.returncode for each in done} == {0}
    assert any("nothing of the study falls to this shard" in each.stderr for each in done)


def test_the_debugger_stops_where_it_raised(broken):
    folder, _ = broken
    arguments = ("repro", "results/broken", "--cell", "n=2", "--rep", "3", "--pdb")
    code = "from p0sim.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder, input="p cell.factors\nq\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "{'n': 2}" in done.stdout
    assert "raise ValueError" in done.stdout


def test_time_that_is_up_is_exit_code_4_and_the_same_command_goes_on(tmp_path):
    (tmp_path / "tiny.toml").write_text(TEXT)
    options = ("run", "tiny.toml", "-j", 1, "--block-size", 1, "--no-report")
    done = p0sim(*options, "--max-time", "0.1s", folder=tmp_path)
    assert done.returncode == 4
    assert "Resume with: p0sim run tiny.toml -j 1" in done.stderr
    assert p0sim(*options, folder=tmp_path).returncode == 0


def test_shards_have_folders_of_their_own_and_merge(tmp_path):
    (tmp_path / "tiny.toml").write_text(TEXT)
    for shard in ("1/2", "2/2"):
        done = p0sim("run", "tiny.toml", "-j", 1, "--shard", shard, "--no-report", folder=tmp_path)
        assert done.returncode in (0, 3), done.stderr
    merged = p0sim(
        "merge", "results/tiny", "results/tiny-1of2", "results/tiny-2of2", folder=tmp_path
    )
    assert "96 replicates merged into results/tiny" in merged.stdout
    again = p0sim("run", "tiny.toml", "--no-report", folder=tmp_path)
    assert "nothing to compute" in again.stderr


def test_extend_plan_and_export_do_what_they_say(finished):
    folder, _ = finished
    done = p0sim("extend", "results/tiny", "--reps", 14, "-j", 1, "--no-report", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "96 of 112 replicates are already there" in done.stderr
    planned = p0sim("plan", "tiny.toml", "--mcse", "coverage=0.005", folder=folder)
    assert "1900" in planned.stdout
    assert "10000" in planned.stdout
    exported = p0sim("export", "results/tiny", "--csv", "-o", "csv", folder=folder)
    assert exported.stdout.splitlines()[0] == "csv/cells.csv"
    assert (folder / "csv/performance.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "tiny.toml", "--shard", "4/3"), "shard must be k/K"),
        (("run", "tiny.toml", "--max-time", "soon"), "a duration must be written like"),
        (("run", "tiny.toml", "--retry", "no_estimate"), "retry must be one of"),
        (("run", "tiny.toml", "--backend", "ray"), "backend must be one of loky, threading"),
        (("run", "tiny.toml", "-j", "0"), "n_jobs (-j) must be -1"),
        (("plan", "tiny.toml", "--mcse", "coverage"), "mcse"),
        (("plan", "tiny.toml", "--mcse", "covrage=0.1"), "did you mean 'coverage'"),
        (("status", "nowhere"), "holds no study"),
        (("extend", "nowhere", "--reps", "5"), "holds no study"),
        (("merge", "out", "nowhere"), "holds no study"),
        (("repro", "nowhere", "--cell", "a", "--rep", "1"), "holds no study"),
    ],
)
def test_bad_options_are_one_line_and_exit_code_2(arguments, words, tmp_path):
    (tmp_path / "tiny.toml").write_text(TEXT)
    done = p0sim(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"]


COMMANDS = ("check", "plan", "run", "extend", "repro", "status", "failures", "table", "report",
            "plot", "export", "columns", "merge")  # fmt: skip


def test_help_shows_an_example_for_every_command(tmp_path):
    for command in COMMANDS:
        done = p0sim(command, "--help", folder=tmp_path)
        assert done.returncode == 0
        assert f"Example: p0sim {command}" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["fit"], "error: missing argument 'RELEASE'; see p0sim fit --help\n"),
        (["fit", "x", "--nope"], "error: no such option"),
        (["release", "x.csv", "--q", "many"], "error: invalid value for '--q': "),
        (
            ["release", "x.csv", "--q", "3", "--nodes", "x.txt", "--epsilon", "1"],
            "error: -o must name a new folder, unless --check is given; see p0sim",
        ),
        (["nothing"], "error: no such command 'nothing'; see p0sim --help\n"),
    ],
)
def test_a_command_that_cannot_be_understood_is_one_line(given, said, tmp_path):
    done = p0sim(*given, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


def test_no_command_at_all_shows_them_all(tmp_path):
    done = p0sim(folder=tmp_path)
    assert "release" in done.stdout + done.stderr


def test_the_help_lists_every_command_once_in_the_order_of_the_work(tmp_path):
    """Oracle: the commands that modules add to the application."""
    shown = p0sim("--help", folder=tmp_path).stdout
    listed = re.findall(r"^  ([a-z]+)  ", shown.split("Networks and releases:")[1], re.MULTILINE)
    code = "from p0sim.cli.main import main; import p0sim.cli.main as m, sys\n"
    code += "import p0sim.cli.app as a; a.run_app = lambda: None; main()\n"
    code += "print(*(c.callback.__name__ for c in a.app.registered_commands))"
    added = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert sorted(listed) == sorted(added.stdout.split())
    order = ["explore", "release", "fit", "check", "run", "status", "table", "report"]
    assert [name for name in listed if name in order] == order


@pytest.mark.parametrize(
    ("output", "stem"), [("f/pu.png", "f/pu"), ("f/pu.PDF", "f/pu"), ("f/n0.5", "f/n0.5")]
)
def test_a_figure_named_with_its_suffix_has_one_suffix(finished, output, stem):
    folder, _ = finished
    done = p0sim("plot", "results/tiny", "coverage", "-o", output, folder=folder)
    assert done.stdout.splitlines() == [f"{stem}.pdf", f"{stem}.png"]


def test_a_figure_that_cannot_be_written_is_named(finished):
    folder, _ = finished
    done = p0sim("plot", "results/tiny", "coverage", "-o", "tiny.toml/q", folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: output tiny.toml/q cannot be written: ")


def test_an_empty_list_of_rows_is_no_traceback(finished):
    folder, _ = finished
    one = ("--where", "n=12,L=0,epsilon=2,method=paper,estimand=alpha[1]")
    done = p0sim("table", "results/tiny", "--rows", "", *one, folder=folder)
    assert done.returncode == 0, done.stderr
    assert "coverage (ci_width) [fail_rate]" in done.stdout


def test_a_form_of_a_table_is_refused_by_the_name_of_its_option(finished):
    folder, _ = finished
    done = p0sim("table", "results/tiny", "--format", "latx", folder=folder)
    assert "--format must be one of text, markdown, latex" in done.stderr
    assert "got 'latx', did you mean 'latex'?" in done.stderr


def test_a_measure_that_is_misspelt_is_told_the_near_one_alone(finished):
    folder, _ = finished
    done = p0sim("table", "results/tiny", "--cell", "{rejct}", folder=folder)
    assert done.stderr.endswith("names; got 'rejct', did you mean 'reject'?\n")


def test_what_a_share_of_failures_is_of_is_said(broken):
    folder, _ = broken
    told = p0sim("failures", "results/broken", folder=folder).stdout
    assert "share: of all fits of the method in all cells; by cell: p0sim status" in told


@pytest.mark.parametrize("report", [("reports",), ("reports", "tiny")])
def test_a_report_that_cannot_be_is_told_before_the_run(tmp_path, report):
    (tmp_path / "tiny.toml").write_text(TEXT)
    place = tmp_path.joinpath(*report)
    place.parent.mkdir(exist_ok=True)
    place.write_text("a file")
    done = p0sim("run", "tiny.toml", "-j", 1, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: the report, unless --no-report is given, needs the folder"
    )
    assert not (tmp_path / "results").exists()


def test_an_output_that_can_never_be_has_no_finished_blocks(tmp_path):
    (tmp_path / "tiny.toml").write_text(TEXT)
    (tmp_path / "results").write_text("a file")
    for output in ((), ("-o", "tiny.toml/x")):
        done = p0sim("run", "tiny.toml", "-j", 1, *output, folder=tmp_path)
        assert done.returncode == 2
        assert "cannot be written: Not a directory; choose another folder" in done.stderr
        assert "finished blocks" not in done.stderr


CALM = """
def replicate(cell, streams):
    return [{"estimand": "mu", "estimate": streams.network.normal()}]
"""


def test_check_says_at_once_what_it_does_where_nobody_knows_how_long_it_takes(tmp_path):
    (tmp_path / "own.py").write_text(CALM)
    (tmp_path / "own.toml").write_text(BROKEN_STUDY.replace("broken", "own"))
    done = p0sim("check", "own.toml", "-j", 1, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    first, *each = done.stderr.splitlines()
    assert first == "trying replicate 0 of 2 cells"
    assert [line.split(":")[0] for line in each] == ["1 of 2", "2 of 2"]
    assert all(line.endswith("MiB of memory") for line in each)
