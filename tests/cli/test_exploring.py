"""Looking before a release: explore and its marks, and the list of data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import p0sim as p0
from p0sim.cli import exploring  # noqa: F401 (its commands join the application)
from p0sim.cli.app import app
from p0sim.errors import P0SimError

MARK = "not a release: shows the network's own numbers, do not publish"


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def told(*arguments) -> str:
    done = call(*arguments)
    assert done.exit_code == 0, done.exception or done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix = p0.load_network("eies").weights.tocoo()
    columns = dict(zip(("source", "target"), (side + 1 for side in matrix.coords)))
    pd.DataFrame(columns | {"weight": matrix.data}).to_csv("net.csv", index=False)
    Path("nodes.txt").write_text("".join(f"{k}\n" for k in range(1, 33)))
    return tmp_path


def explore(*more, epsilons="0.05,4") -> str:
    given = ("--q", 5, "--nodes", "nodes.txt", "--reps", 4, "--seed", 2)
    return told("explore", "net.csv", *given, "--epsilons", epsilons, *more)


def test_explore_prints_the_numbers_of_the_frame_between_two_marks(folder):
    lines = explore().splitlines()
    assert lines[0] == lines[-1] == MARK
    assert lines[1] == "n = 32, q = 5, 4 simulated releases a row, seed 2"
    rng = np.random.Generator(np.random.PCG64(2))
    frame = p0.explore(p0.load_network("eies"), [0.05, 4.0], 4, rng=rng)
    cells = {tuple(line.split()[:2]): line.split()[2:] for line in lines[3:7]}
    for (mechanism, epsilon), rows in frame.groupby(["mechanism", "epsilon"]):
        value = rows.set_index("measure")["value"]
        shown = cells[mechanism, f"{epsilon:g}"]
        assert shown[0] == f"{100 * value['exists']:.1f}"
        error = "-" if np.isnan(value["rmse_alpha"]) else f"{value['rmse_alpha']:.3f}"
        assert shown[2] == error


def test_one_seed_one_table(folder):
    assert explore() == explore()


def test_the_figure_is_written_and_marked(folder):
    shown = explore("-o", "look")
    assert f"Written: look.pdf ({MARK})" in shown
    assert Path("look.pdf").stat().st_size > 5000
    assert Path("look.png").stat().st_size > 5000


def test_an_earlier_figure_is_not_overwritten(folder):
    Path("look.png").write_text("mine")
    done = call("explore", "net.csv", "--q", 5, "--epsilons", 1, "-o", "look")
    assert "output must be a new file; got look.png" in str(done.exception)


def test_where_nothing_can_be_fitted_no_option_of_another_command_is_named(folder):
    """One arc of the largest weight: every other one is forced to 0."""
    Path("net.csv").write_text("source,target,weight\n1,2,4\n")
    done = call("explore", "net.csv", "--q", 5, "--nodes", "nodes.txt", "--epsilons", 1)
    assert isinstance(done.exception, p0.NoEstimateError)
    assert "to go on" not in str(done.exception)


def test_a_network_without_an_estimate_of_its_own_is_said_to_have_none(folder):
    nodes = "".join(f"{k}\n" for k in range(1, 34))
    Path("nodes.txt").write_text(nodes)
    assert "The network has no estimate of its own" in explore(epsilons="8")


def test_progress_and_nothing_else_goes_to_stderr(folder):
    given = ("--q", 5, "--epsilons", "4,8", "--reps", 2)
    note, *lines = call("explore", "net.csv", *given).stderr.splitlines()
    assert note == "note: n = 32 was read off net.csv; --nodes FILE names all nodes there are"
    assert call("explore", "net.csv", *given, "--nodes", "nodes.txt").stderr.splitlines() == lines
    assert lines == [
        f"{mechanism}, epsilon {epsilon}: 2 releases simulated"
        for mechanism in ("laplace", "edge_flip")
        for epsilon in (4, 8)
    ]


@pytest.mark.parametrize(
    ("epsilons", "words"),
    [
        ("1,0", "epsilon"),
        ("1,,2", "epsilon"),
        ("1,one", "epsilon"),
        ("2,1,2", "epsilons must be one or more, each once"),
        ("1,0.0000001", "at least"),
    ],
)
def test_epsilons_out_of_range_are_refused(epsilons, words, folder):
    done = call("explore", "net.csv", "--q", 5, "--epsilons", epsilons)
    assert isinstance(done.exception, P0SimError)
    assert words in str(done.exception)
    assert done.stdout == ""


def test_help_says_that_it_is_no_release():
    shown = " ".join(told("explore", "--help").split())
    assert "Not a release: what it prints shows the network's own numbers" in shown


def test_datasets_lists_every_embedded_network():
    lines = told("datasets").splitlines()
    assert lines[0].split() == ["name", "n", "q", "arcs", "title"]
    assert [line.split()[:4] for line in lines[1:4]] == [
        ["fraternity", "58", "5", "2934"],
        ["eies", "32", "5", "759"],
        ["lazega", "71", "4", "1574"],
    ]


def test_datasets_describes_one_with_citation_and_licence():
    shown = told("datasets", "fraternity")
    joined = " ".join(shown.split())
    assert "Informant accuracy in social network data IV. Social Networks 2" in joined
    assert "licence not stated" in joined
    assert max(map(len, shown.splitlines())) <= 100


def test_an_undirected_graph_is_described_as_one():
    lines = told("datasets", "usair").splitlines()
    assert lines[0] == "usair, an undirected graph"
    facts = dict(line.split(maxsplit=1) for line in lines[1:] if not line.startswith(" "))
    assert (facts["V"], facts["E"]) == ("332", "2126")
    assert not {"q", "arcs", "n"} & set(facts)


def test_an_unknown_dataset_is_refused_with_the_nearest():
    done = call("datasets", "lazegga")
    assert "did you mean 'lazega'?" in str(done.exception)


def test_an_unknown_dataset_that_is_near_none_gets_all_names_and_no_advice():
    message = str(call("datasets", "x").exception)
    assert message.startswith("NAME must be one of fraternity, eies, lazega,")
    assert message.endswith("got 'x'")
