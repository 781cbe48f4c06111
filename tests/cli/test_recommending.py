"""p0sim recommend: the list, the statement, what is spent, and refusals."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from p0sim.cli import recommending, releasing  # noqa: F401 (their commands join)
from p0sim.cli.app import app
from p0sim.errors import P0SimError
from p0sim.privacy.ledger import read_ledger

EDGES = "source,target\nann,bob\nann,cy\nbob,dan\ncy,dan\ncy,eve\neve,fay\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "friends.csv").write_text(EDGES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*more, node="ann", k=2):
    given = ["recommend", "friends.csv", "--node", node, "-k", k, *more]
    return CliRunner().invoke(app, [str(argument) for argument in given])


def test_the_list_is_followed_by_the_statement_and_entered_in_the_ledger(folder):
    done = call("--epsilon", "1000000000", "--protocol", "CN", k=3)
    assert done.exit_code == 0, done.exception
    assert done.stderr == (
        "note: the nodes in friends.csv were taken as public; --nodes FILE names all there are\n"
    )
    lines = done.stdout.splitlines()
    assert lines[:3] == ["dan", "eve", "fay"]
    assert lines[3] == "Privacy: epsilon = 1000000000 for one edge that is not at ann"
    assert lines[-1] == "Drawn exactly, from the operating system's randomness."
    assert read_ledger(folder / "friends.csv.ledger").spent == 10**9


def test_a_budget_binds(folder):
    call("--epsilon", "0.7", "--budget", "1")
    done = call("--epsilon", "0.4")
    assert str(done.exception) == (
        "epsilon must be at most 0.3, what is left of the budget 1; got 0.4"
    )
    assert read_ledger(folder / "friends.csv.ledger").spent == Fraction(7, 10)


@pytest.mark.parametrize(
    ("more", "given", "words"),
    [
        ((), {"k": 4}, "k must be at most 3, the number of candidates; got 4"),
        ((), {"node": "zoe"}, "node must be in the graph; got 'zoe'"),
        (("--mechanism", "none"), {}, "one of dplp, exponential, laplace, gaussian, which"),
        (("--mechanism", "laplace", "--calibration", "exact"), {}, "must be left out for laplace"),
        (("--mechanism", "gaussian"), {}, "delta must be given"),
        (("--protocol", "CRW"), {}, "--protocol must be one of CN, JC, AA, of proved"),
        (("--calibration", "exact"), {}, "calibration exact must go with"),
        (("--epsilon", "-1"), {}, "epsilon must be positive and finite; got -1"),
        (("--epsilon", "1e-3"), {}, "epsilon must be a decimal such as"),
        (("--epsilon", "1/0"), {}, "epsilon must be a decimal such as"),
        (("--epsilon", "9" * 400), {}, "epsilon must have at most 100 characters"),
        (("--protocol", "n2v"), {}, "--protocol must be one of CN, JC, AA, of proved"),
        (("--mechanism", "uniform"), {}, "mechanism must be one of dplp"),
        (("--mechanism", "gaussian", "--delta", "1"), {}, "delta must lie strictly between 0"),
        ((), {"k": 0}, "k must be at least 1; got 0"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_spent(folder, more, given, words):
    done = call(*more, **given)
    assert isinstance(done.exception, P0SimError)
    assert words in str(done.exception)
    assert "\n" not in str(done.exception)
    assert {path.name for path in folder.iterdir()} == {"friends.csv"}


def test_a_graph_inside_the_package_is_known_by_its_name(folder):
    told = ["recommend", "usair", "--node", "1", "-k", "2"]
    done = CliRunner().invoke(app, told)
    assert done.exit_code == 0, done.exception
    assert done.stderr == ""
    assert "You must keep count of what is spent." in done.stdout
    assert {path.name for path in folder.iterdir()} == {"friends.csv"}
    assert CliRunner().invoke(app, [*told, "--symmetrise"]).exit_code == 2
    (folder / "usair").write_text(EDGES)
    assert "must end in" in str(CliRunner().invoke(app, told).exception)


def test_a_directed_file_is_symmetrised_only_on_request(folder):
    with (folder / "friends.csv").open("a") as file:
        file.write("bob,ann\n")
    assert "--symmetrise" in str(call().exception)
    assert isinstance(call().exception, P0SimError)
    assert call("--symmetrise").exit_code == 0


def test_isolated_nodes_come_from_the_list_of_nodes(folder):
    (folder / "nodes.txt").write_text("ann\nbob\ncy\ndan\neve\nfay\ngus\n")
    done = call("--nodes", "nodes.txt", k=4)
    assert done.stderr == ""
    assert sorted(done.stdout.splitlines()[:4]) == ["dan", "eve", "fay", "gus"]


def test_help_shows_an_example_and_no_seed():
    said = CliRunner().invoke(app, ["recommend", "--help"]).stdout
    assert "Example: p0sim recommend" in said
    assert "seed" not in said


def test_there_is_no_way_to_seed_a_list(folder):
    """Case 25: two lists in two calls differ; a false alarm has a chance below 1e-5."""
    (folder / "nodes.txt").write_text("".join(f"n{k}\n" for k in range(100)) + "ann\nbob\n")
    (folder / "friends.csv").write_text("source,target\nann,bob\n")
    assert call("--seed", "1").exit_code == 2
    one, other = (call("--nodes", "nodes.txt", "--epsilon", "0.1", k=3).stdout for _ in range(2))
    assert one.splitlines()[:3] != other.splitlines()[:3]


def test_the_ledger_shows_lists_beside_releases_within_80_columns(folder):
    (folder / "nodes.txt").write_text("ann\nbob\ncy\ndan\neve\nfay\n")
    told = [
        "release", "friends.csv", "--q", "2", "--nodes", "nodes.txt", "--epsilon", "0.2", "-o",
        "a-folder-with-a-long-name-for-the-release",
    ]  # fmt: skip
    assert CliRunner().invoke(app, told).exit_code == 0
    call("--epsilon", "1/2", "--mechanism", "exponential")
    call("--epsilon", "0.1", "--mechanism", "gaussian", "--delta", "1e-5", node="eve")
    call("--epsilon", "0.1", "--mechanism", "gaussian", "--delta", "2e-5", node="eve")
    lines = CliRunner().invoke(app, ["ledger", "friends.csv"]).stdout.splitlines()
    cells = [line.split()[2:] for line in lines[1:5]]
    assert lines[0].split() == [
        "when", "mechanism", "q", "n", "epsilon", "delta", "total", "output",
    ]  # fmt: skip
    assert cells[0][:-1] == ["discrete_laplace", "2", "6", "0.2", "-", "0.2"]
    assert cells[0][-1].startswith("..")
    assert cells[0][-1].endswith("release")
    assert cells[1] == ["recommend_exponential", "-", "6", "1/2", "-", "0.7", "for", "ann"]
    assert cells[2] == ["recommend_gaussian", "-", "6", "0.1", "1e-05", "0.8", "for", "eve"]
    assert lines[5:] == [
        "spent: 0.9 (basic composition: epsilons add up)",
        "delta: 3e-05 (deltas add up)",
        "budget: none was set",
    ]
    assert max(map(len, lines)) <= 80


@pytest.mark.slow
def test_processes_that_race_never_spend_what_is_left_twice(folder):
    """Six at once, with enough for three."""
    command = [
        sys.executable, "-c", "from p0sim.cli.main import main; main()", "recommend",
        "friends.csv", "--node", "ann", "-k", "2", "--epsilon", "0.3", "--budget", "1",
    ]  # fmt: skip
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    done = [(process.communicate(), process.returncode) for process in running]
    assert sorted(code for _, code in done) == [0, 0, 0, 2, 2, 2]
    for (shown, said), code in done:
        assert (shown == "") == (code == 2)
        assert code == 0 or said.startswith("error: epsilon must be at most 0.1, what is left")
    assert read_ledger(folder / "friends.csv.ledger").spent == Fraction(9, 10)
