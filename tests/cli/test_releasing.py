"""The curator's commands: what they print, write, spend and never show."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import p0sim as p0
from p0sim.cli import releasing  # noqa: F401 (its commands join the application)
from p0sim.cli.app import app
from p0sim.errors import P0SimError
from p0sim.privacy.ledger import read_ledger

EDGES = "source,target,weight\nann,bob,2\nbob,cy,1\ncy,ann,2\n"
NODES = "ann\nbob\ncy\ndan\n"
MAIN = "from p0sim.cli.main import main; main()"
NO_NOISE = "1000000000000"


def p0sim(*arguments, folder: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-c", before + MAIN, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def call(*arguments):
    """A command in this process and folder: its output, or the error that ends it."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def options(*more, epsilon="0.5", output="out", q=3) -> list[object]:
    given = ["release", "friends.csv", "--q", q, "--nodes", "nodes.txt", "--epsilon", epsilon]
    return [*given, *more, *(("-o", output) if output else ())]


def release(*more, **given) -> str:
    """What a release that goes well prints."""
    done = call(*options(*more, **given))
    assert (done.exit_code, done.stderr) == (0, ""), done.exception or done.stderr
    return done.stdout


def refused(*more, **given) -> str:
    """The one line that a release is refused with."""
    done = call(*options(*more, **given))
    assert isinstance(done.exception, P0SimError), done.exception
    assert done.stdout == done.stderr == ""
    assert "\n" not in str(done.exception)
    return str(done.exception)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"friends.csv.ledger.lock"}


def degrees(folder: Path) -> list[list[str]]:
    return list(csv.reader((folder / "degrees.csv").read_text("utf-8").splitlines()))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "friends.csv").write_text(EDGES)
    (tmp_path / "nodes.txt").write_text(NODES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_release_writes_a_folder_and_ends_with_the_statement_and_the_next_command(folder):
    done = p0sim(*options(), folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "out: degrees.csv and release.json, discrete_laplace, n = 4, q = 3"
    assert "epsilon = 0.5 for one edge's weight, anywhere in 0..2" in done.stdout
    assert "not node privacy" in done.stdout
    assert lines[-1] == "Next: p0sim fit out"
    assert names(folder) == {"friends.csv", "nodes.txt", "friends.csv.ledger", "out"}
    assert names(folder / "out") == {"degrees.csv", "release.json"}


def test_reading_a_release_needs_the_release_only(folder):
    release()
    (folder / "friends.csv").unlink()
    (folder / "nodes.txt").unlink()
    assert p0.read_release("out").nodes == ("ann", "bob", "cy", "dan")


def test_the_degrees_are_those_of_the_network_in_the_order_of_the_node_list(folder):
    """Worked out by hand; a loss so large that the noise is 0."""
    (folder / "nodes.txt").write_text("dan\ncy\nbob\nann\n")
    release(epsilon=NO_NOISE)
    assert degrees(folder / "out")[1:] == [
        ["dan", "0", "0"],
        ["cy", "2", "1"],
        ["bob", "1", "2"],
        ["ann", "2", "2"],
    ]


def test_rows_in_another_order_and_weights_written_1_0_are_the_same_network(folder):
    header, *rows = EDGES.splitlines()
    release(epsilon=NO_NOISE)
    (folder / "friends.csv").write_text("\n".join([header, *[f"{r}.0" for r in rows[::-1]]]) + "\n")
    release(epsilon=NO_NOISE, output="again")
    assert degrees(folder / "again") == degrees(folder / "out")


def test_ledger_shows_what_was_spent_and_what_is_left(folder):
    release("--budget", "1", epsilon="0.2", output="a")
    release("--mechanism", "edge_flip", epsilon="0.3", output="b")
    release(epsilon="1/2", output="c")
    done = call("ledger", "friends.csv")
    *table, spent, budget, left = done.stdout.splitlines()
    assert [line.split()[-6:] for line in table] == [
        ["mechanism", "q", "n", "epsilon", "total", "output"],
        ["discrete_laplace", "3", "4", "0.2", "0.2", "a"],
        ["edge_flip", "3", "4", "0.3", "0.5", "b"],
        ["discrete_laplace", "3", "4", "1/2", "1", "c"],
    ]
    assert spent == "spent: 1 (basic composition: epsilons add up)"
    assert (budget, left) == ("budget: 1", "left: 0")


def test_ledger_shows_a_line_that_was_cut_off(folder):
    release(epsilon="0.2")
    path = folder / "friends.csv.ledger"
    path.write_text(path.read_text()[:-60])
    done = call("ledger", "friends.csv")
    assert done.stdout.splitlines()[1].split() == ["-", "-", "-", "-", "0.2", "0.2", "-"]


def test_over_budget_is_refused_before_anything(folder):
    release("--budget", "1", epsilon="0.7", output="a")
    before = (folder / "friends.csv.ledger").read_bytes()
    done = p0sim(*options(epsilon="0.4"), folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: epsilon must be at most 0.3, what is left of the budget 1; got 0.4\n"
    )
    assert (folder / "friends.csv.ledger").read_bytes() == before
    assert "out" not in names(folder)


def test_ledger_of_a_network_that_was_never_released(folder):
    assert call("ledger", "friends.csv").stdout.splitlines() == [
        "spent: 0 (basic composition: epsilons add up)",
        "budget: none was set",
    ]
    assert names(folder) == {"friends.csv", "nodes.txt"}
    assert "nowhere.csv" in str(call("ledger", "nowhere.csv").exception)
    for place in ("/", ".", ""):
        assert "network must be a file" in str(call("ledger", place).exception)


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux only")
@pytest.mark.parametrize(("name", "shown"), [("a\udcff", r"a\udcff"), ("a\nb", r"a\nb")])
def test_a_name_that_cannot_be_printed_is_no_traceback_after_the_draw(folder, name, shown):
    """A byte that is no UTF-8, and a line end; the ledger shows either on one line."""
    done = p0sim(*options(output=name), folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert p0.read_release(folder / name).n == 4
    table = p0sim("ledger", "friends.csv", folder=folder).stdout.splitlines()
    assert table[1].split()[-1] == shown


@pytest.mark.parametrize("output", ["out", None])
def test_check_spends_and_writes_nothing(folder, output):
    assert "nothing was drawn, spent or written" in release("--check", "--budget", 1, output=output)
    assert names(folder) == {"friends.csv", "nodes.txt"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": "0"}, "epsilon must be positive and finite; got 0"),
        ({"epsilon": "-1"}, "epsilon must be positive and finite; got -1"),
        ({"epsilon": "nan"}, "epsilon must be positive and finite; got nan"),
        ({"epsilon": "1_0"}, "epsilon must be a decimal"),
        ({"epsilon": "1e-3"}, 'a decimal such as "0.1", no exponent, or'),
        ({"epsilon": "0.0000001"}, "epsilon must be at least 1e-06"),
        ({"q": 1}, "q must be at least 2; got 1"),
        ({"q": 2}, "row 2"),
        ({"output": "taken"}, "output must be a new folder; got taken"),
        ({"output": "no/such/place"}, "output must stand in a folder that exists"),
    ],
)
@pytest.mark.parametrize("check", [(), ("--check",)])
def test_what_is_wrong_is_one_line_and_nothing_is_spent(folder, given, words, check):
    (folder / "taken").mkdir()
    assert words in refused(*check, **given)
    assert names(folder) == {"friends.csv", "nodes.txt", "taken"}


@pytest.mark.parametrize(
    "row",
    ["ann,cy,3", "ann,cy,-1", "ann,cy,0.5", "ann,cy,1_0", "ann,bob,1", "ann,ann,1", "ann,eve,1"],
)
def test_errors_in_the_data_name_their_row(folder, row):
    (folder / "friends.csv").write_text(EDGES + row + "\n")
    assert re.search(r"rows? .*\b5\b", refused())
    assert names(folder) == {"friends.csv", "nodes.txt"}


def test_errors_in_the_data_go_to_the_curator_only(folder):
    (folder / "friends.csv").write_text(EDGES + "ann,cy,3\n")
    done = p0sim(*options(), folder=folder)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "row 5" in done.stderr


@pytest.mark.parametrize("weight", ["0", "2"])
def test_weights_at_both_ends_are_accepted(folder, weight):
    (folder / "friends.csv").write_text(EDGES + f"ann,cy,{weight}\n")
    release("--check")


def test_clip_is_recorded_without_a_count(folder):
    (folder / "friends.csv").write_text(EDGES + "ann,cy,9\n")
    said = release("--clip", epsilon=NO_NOISE)
    assert degrees(folder / "out")[1] == ["ann", "4", "2"]
    (folder / "friends.csv").write_text(EDGES)
    assert release("--clip", epsilon=NO_NOISE, output="two").replace("two", "out") == said
    records = [(folder / name / "release.json").read_bytes() for name in ("out", "two")]
    assert records[0] == records[1]
    assert json.loads(records[0])["clip"] is True


def test_weights_are_added_up_before_they_are_clipped(folder):
    """5 and -4 are 1; clipped one by one they would be 2."""
    (folder / "friends.csv").write_text(EDGES + "ann,cy,5\nann,cy,-4\n")
    release("--clip", "--sum-duplicates", epsilon=NO_NOISE)
    assert degrees(folder / "out")[1] == ["ann", "3", "2"]


def test_q_is_written_as_a_whole_number(folder):
    done = call(*options(q="3.5"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--q" in done.stderr


def test_sum_duplicates_adds_up_when_asked(folder):
    (folder / "friends.csv").write_text(EDGES + "bob,cy,1\n")
    refused()
    release("--sum-duplicates", epsilon=NO_NOISE)
    assert degrees(folder / "out")[2] == ["bob", "2", "2"]


@pytest.mark.parametrize("left_out", ["--q", "--nodes", "--epsilon", "-o"])
def test_q_nodes_epsilon_and_a_folder_must_be_given(folder, left_out):
    given = options()
    place = given.index(left_out)
    done = call(*given[:place], *given[place + 2 :])
    assert (done.exit_code, done.stdout) == (2, "")
    assert left_out in done.stderr
    assert names(folder) == {"friends.csv", "nodes.txt"}


@pytest.mark.parametrize("command", ["release", "ledger"])
def test_help_shows_an_example_and_no_seed(command):
    said = call(command, "--help").stdout
    assert "Example: p0sim" in said
    assert "seed" not in said


def test_two_releases_differ(folder):
    release(epsilon="0.01", output="a")
    release(epsilon="0.01", output="b")
    assert degrees(folder / "a") != degrees(folder / "b")


NEIGHBOURS = {
    "another weight": EDGES.replace("ann,bob,2", "ann,bob,1"),
    "no such edge": EDGES.replace("cy,ann,2\n", ""),
    "one edge more": EDGES + "dan,bob,2\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["laplace", "edge_flip"])
def test_neighbours_give_the_same_bytes_but_for_released_values(folder, mechanism):
    """Output, errors, exit codes, folder names, record, labels; the ledger but for its dates."""
    base = told_about(folder / "base", EDGES, mechanism)
    for name, edges in NEIGHBOURS.items():
        assert told_about(folder / name, edges, mechanism) == base
    assert [code for code, *_ in base[0]] == [0, 0, 2, 0]


def told_about(place: Path, edges: str, mechanism: str) -> tuple:
    place.mkdir()
    (place / "friends.csv").write_text(edges)
    (place / "nodes.txt").write_text(NODES)
    commands = [
        options("--mechanism", mechanism, "--budget", "1"),
        options("--mechanism", mechanism, "--check", output=None),
        options("--mechanism", mechanism, epsilon="0.6", output="more"),
        ["ledger", "friends.csv"],
    ]
    runs = [p0sim(*command, folder=place) for command in commands]
    said = [(run.returncode, undated(run.stdout), run.stderr) for run in runs]
    files = sorted(str(path.relative_to(place)) for path in place.rglob("*"))
    labels = [row[0] for row in degrees(place / "out")]
    record = (place / "out/release.json").read_bytes()
    return said, files, labels, record, undated((place / "friends.csv.ledger").read_text())


def undated(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d[ T][\d:+]+", "WHEN", text)


# Sums of these weights stand nowhere but in the network itself.
WEIGHTS = {
    ("ann", "bob"): 718281828,
    ("ann", "cy"): 141421356,
    ("bob", "cy"): 271828183,
    ("cy", "dan"): 577215664,
    ("dan", "ann"): 161803398,
}


@pytest.fixture
def secret(folder):
    rows = [f"{i},{j},{w}" for (i, j), w in WEIGHTS.items()]
    (folder / "friends.csv").write_text("\n".join(["source,target,weight", *rows]) + "\n")
    return folder


def true_degrees() -> set[bytes]:
    ends = {node for pair in WEIGHTS for node in pair}
    sums = [sum(w for pair, w in WEIGHTS.items() if pair[k] == v) for v in ends for k in (0, 1)]
    return {str(total).encode() for total in sums}


def holders_of_true_degrees(folder: Path) -> list[str]:
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and path.name != "friends.csv"
        if any(total in path.read_bytes() for total in true_degrees())
    ]


def test_no_file_but_the_network_holds_a_true_degree(secret):
    said = release(q=2**30)
    assert holders_of_true_degrees(secret) == []
    assert not any(total.decode() in said for total in true_degrees())


def test_control_a_true_degree_would_be_found(secret):
    release(epsilon="1" + "0" * 18, q=2**30)
    assert len(holders_of_true_degrees(secret)) == 1


KILLED = """
import os, signal
from p0sim.privacy.exact_laplace import ExactLaplace
ExactLaplace.add_to = lambda *_: os.kill(os.getpid(), signal.{name})
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_release_killed_at_the_draw_counts_as_spent_and_leaves_no_degree(secret, name):
    given = options("--budget", "1", epsilon="0.75", q=2**30)
    done = p0sim(*given, folder=secret, before=KILLED.format(name=name))
    assert done.returncode == (-signal.SIGKILL if name == "SIGKILL" else 130)
    assert done.stderr == (
        "" if name == "SIGKILL" else "interrupted; epsilon 0.75 counts as spent\n"
    )
    assert not (secret / "out").exists()
    assert holders_of_true_degrees(secret) == []
    assert read_ledger(secret / "friends.csv.ledger").spent == Fraction(3, 4)
    assert "what is left of the budget 1; got 0.75" in refused(epsilon="0.75", q=2**30)
    release(epsilon="0.25", q=2**30)
    assert names(secret / "out") == {"degrees.csv", "release.json"}


FULL = """
from p0sim.privacy import release_files
def full(path, text):
    raise OSError(28, "No space left on device")
release_files.write_synced = full
"""


def test_a_disk_that_is_full_after_the_draw_says_what_is_spent(folder):
    done = p0sim(*options(), folder=folder, before=FULL)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: out cannot be written: No space left on device; epsilon 0.5 counts as spent\n"
    )
    assert read_ledger(folder / "friends.csv.ledger").spent == Fraction(1, 2)
    assert "out" not in names(folder)


@pytest.mark.parametrize("command", ["release", "ledger"])
def test_help_says_that_another_name_is_another_ledger(command):
    said = " ".join(call(command, "--help").stdout.split())
    assert "hard link" in said


@pytest.mark.slow
def test_a_real_kill_in_the_middle_of_a_long_draw_counts_as_spent(folder):
    """Half a million nodes draw for seconds; the kill comes as soon as the entry is there."""
    (folder / "nodes.txt").write_text("".join(f"{i}\n" for i in range(500_000)))
    (folder / "friends.csv").write_text("source,target,weight\n0,1,2\n")
    running = subprocess.Popen([sys.executable, "-c", MAIN, *map(str, options())], cwd=folder)
    path = folder / "friends.csv.ledger"
    limit = time.monotonic() + 120
    while not (path.exists() and path.read_bytes().endswith(b"}\n")):
        assert time.monotonic() < limit
        time.sleep(0.005)
    running.kill()
    assert running.wait() == -signal.SIGKILL
    assert not (folder / "out").exists()
    assert read_ledger(path).spent == Fraction(1, 2)


@pytest.mark.slow
def test_commands_that_race_never_overspend(folder):
    """Six releases at 0.3 under a budget of 1 started at once: three are made."""
    given = options("--budget", "1", epsilon="0.3", output=None)
    command = [sys.executable, "-c", MAIN, *map(str, given)]
    racers = [
        subprocess.Popen([*command, "-o", f"out{k}"], cwd=folder, stderr=subprocess.DEVNULL)
        for k in range(6)
    ]
    codes = [racer.wait() for racer in racers]
    assert sorted(codes) == [0, 0, 0, 2, 2, 2]
    assert read_ledger(folder / "friends.csv.ledger").spent == Fraction(9, 10)
    made = [k for k in range(6) if (folder / f"out{k}").is_dir()]
    assert made == [k for k in range(6) if codes[k] == 0]


def test_check_finds_a_place_that_cannot_be_written(folder, monkeypatch):
    """Root may write anywhere: what the system would say to somebody else is put in its place."""
    (folder / "place").mkdir()
    shut = [folder / "place", Path("place")]
    monkeypatch.setattr(os, "access", lambda place, mode: place not in shut)
    assert "place/out cannot be written: place is read-only" in refused(
        "--check", output="place/out"
    )
    shut.append(folder)
    assert "friends.csv.ledger cannot be written" in refused("--check", output=None)
    assert names(folder) == {"friends.csv", "nodes.txt", "place"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_release_that_cannot_be_printed_is_said_to_be_finished_and_spent(folder):
    command = [sys.executable, "-c", MAIN, *map(str, options())]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == (
        "error: cannot print: No space left on device; the release is finished in out, "
        "epsilon 0.5 counts as spent\n"
    )
    assert p0.read_release(folder / "out").n == 4


LATE = """
import os, signal
from p0sim.privacy import release_files
put = release_files._put_in_place
def late(*given):
    put(*given)
    os.kill(os.getpid(), signal.SIGINT)
release_files._put_in_place = late
"""


def test_an_interrupt_after_the_end_says_that_the_release_is_finished(folder):
    done = p0sim(*options(), folder=folder, before=LATE)
    assert done.returncode == 130
    assert done.stderr == (
        "interrupted; the release is finished in out, epsilon 0.5 counts as spent\n"
    )
    assert p0.read_release(folder / "out").n == 4


def test_the_next_command_is_one_that_can_be_typed(folder):
    assert release(output="-odd name").splitlines()[-1] == "Next: p0sim fit './-odd name'"


def test_a_ledger_written_by_hand_does_not_steer_the_terminal(folder):
    (folder / "friends.csv.ledger").write_text(
        '{"epsilon": "1", "when": "\\u001b[31mred", "mechanism": "\\u001b[0m"}\n'
    )
    shown = call("ledger", "friends.csv").stdout
    assert "\x1b" not in shown
    assert r"\x1b[31mred" in shown


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_costs_nothing(folder):
    (folder / "place").mkdir(mode=0o500)
    assert "place/out cannot be written" in refused(output="place/out")
    assert "friends.csv.ledger" not in names(folder)


def test_without_opendp_a_release_says_what_is_missing(folder):
    before = "import sys; sys.modules['opendp'] = None; "
    done = p0sim(*options(), folder=folder, before=before)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: a release needs OpenDP, which is not installed: install the extra release, "
        "pip install -e '.[release]'\n"
    )
    assert names(folder) == {"friends.csv", "nodes.txt"}
