"""p0sim recommend: the list, the statement, what is spent, and refusals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from typer.testing import CliRunner

from p0sim.cli import recommending  # noqa: F401 (its command joins the application)
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
    assert (done.exit_code, done.stderr) == (0, ""), done.exception
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
        (("--mechanism", "none"), {}, "rng must be given"),
        (("--mechanism", "gaussian"), {}, "delta must be given"),
        (("--protocol", "CRW"), {}, "sensitivity must be given for CRW"),
        (("--calibration", "exact"), {}, "calibration exact must go with"),
        (("--epsilon", "-1"), {}, "epsilon must be positive and finite; got -1"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_spent(folder, more, given, words):
    done = call(*more, **given)
    assert isinstance(done.exception, P0SimError)
    assert words in str(done.exception)
    assert "\n" not in str(done.exception)
    assert {path.name for path in folder.iterdir()} == {"friends.csv"}


def test_a_directed_file_is_symmetrised_only_on_request(folder):
    with (folder / "friends.csv").open("a") as file:
        file.write("bob,ann\n")
    assert isinstance(call().exception, P0SimError)
    assert call("--symmetrise").exit_code == 0


def test_isolated_nodes_come_from_the_list_of_nodes(folder):
    (folder / "nodes.txt").write_text("ann\nbob\ncy\ndan\neve\nfay\ngus\n")
    done = call("--nodes", "nodes.txt", k=4)
    assert sorted(done.stdout.splitlines()[:4]) == ["dan", "eve", "fay", "gus"]


def test_help_shows_an_example_and_no_seed():
    said = CliRunner().invoke(app, ["recommend", "--help"]).stdout
    assert "Example: p0sim recommend" in said
    assert "seed" not in said
