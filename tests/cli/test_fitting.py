"""The analyst's commands: what they print and write from a release alone, and how they refuse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import p0sim as p0
from p0sim.cli import fitting  # noqa: F401 (its commands join the application)
from p0sim.cli.app import app
from p0sim.errors import P0SimError
from tests.oracles import examples

MAIN = "from p0sim.cli.main import main; main()"
N, Q = 12, 3
NODES = [f"p{k}" for k in range(N - 2)] + ["ann, dr", "07"]


def p0sim(*arguments, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-c", MAIN, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def call(*arguments):
    """A command in this process and folder: its output, or the error that ends it."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def told(*arguments) -> str:
    """What a command that goes well prints."""
    done = call(*arguments)
    assert done.exit_code == 0, done.exception or done.stderr
    return done.stdout


def refused(*arguments) -> str:
    """The one line that a command is refused with; it prints nothing else."""
    done = call(*arguments)
    assert isinstance(done.exception, P0SimError), done.exception
    assert done.stdout == ""
    assert "\n" not in str(done.exception)
    return str(done.exception)


def weights() -> np.ndarray:
    rng = np.random.default_rng(1)
    return examples.network(np.zeros(N), np.zeros(N), Q, rng)


def write_degrees(path: str, out_degree, in_degree, nodes=NODES) -> None:
    frame = pd.DataFrame({"node": nodes, "out_degree": out_degree, "in_degree": in_degree})
    frame.to_csv(path, index=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Holds `rel`, a release; `plain.csv`, degrees without noise; `noisy.csv`, with."""
    monkeypatch.chdir(tmp_path)
    network = p0.as_network(weights(), Q, NODES)
    p0.release(network, "20").write("rel")
    own = network.bidegree()
    write_degrees("plain.csv", own.out_degree, own.in_degree)
    write_degrees("noisy.csv", own.out_degree + 1, own.in_degree)
    write_degrees("silent.csv", [0, 1, 2, 3], [2, 1, 2, 1], ["a", "b", "c", "d"])
    return tmp_path


def test_with_the_network_deleted_a_release_is_fitted_tested_and_made_synthetic(tmp_path):
    """Each command in a process of its own; release.json and degrees.csv are all there is."""
    edges = [(NODES[i], NODES[j], w) for (i, j), w in np.ndenumerate(weights()) if w]
    frame = pd.DataFrame(edges, columns=["source", "target", "weight"])
    frame.to_csv(tmp_path / "net.csv", index=False)
    (tmp_path / "nodes.txt").write_text("".join(f"{node}\n" for node in NODES))
    given = ("--q", Q, "--nodes", "nodes.txt", "--epsilon", "20", "-o", "rel")
    assert p0sim("release", "net.csv", *given, folder=tmp_path).returncode == 0
    for path in tmp_path.glob("*.*"):
        path.unlink()
    assert os.listdir(tmp_path) == ["rel"]

    fit = p0sim("fit", "rel", "-o", "fit.csv", "--plot", "look", folder=tmp_path)
    assert (fit.returncode, fit.stderr) == (0, "")
    for words in ("Std. Error", "discrete Laplace, epsilon = 20", "no more privacy", "Public: n"):
        assert words in fit.stdout
    exists = p0sim("existence", "rel", folder=tmp_path)
    assert (exists.returncode, exists.stdout) == (0, "an estimate exists\n")
    drawn = p0sim("synthesize", "rel", "-o", "edges.csv", "--seed", 3, folder=tmp_path)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert "post-processing" in drawn.stdout
    assert sorted(os.listdir(tmp_path)) == [
        "edges.csv", "fit.csv", "look-degrees.pdf", "look-degrees.png", "look-intervals.pdf",
        "look-intervals.png", "rel",
    ]  # fmt: skip


def test_fit_writes_the_frame_that_tidy_gives(folder):
    told("fit", "rel", "-o", "fit.csv", "--level", 0.9, "--variance", "exact")
    written = pd.read_csv("fit.csv", dtype=str).set_index("term")
    expected = p0.fit(p0.read_release("rel")).tidy(0.9, "exact").set_index("term")
    assert list(written.index) == list(expected.index)
    # every digit: as text, since readers of floats round
    assert written.map(float).to_numpy().tolist() == expected.to_numpy().tolist()


def test_fit_prints_the_summary_of_the_options_given(folder):
    shown = told("fit", "rel", "--margins", "drop_last", "--variance", "S", "--level", 0.8)
    fit = p0.fit(p0.read_release("rel"), margins="drop_last")
    assert shown == f"{fit.summary(0.8, 'S')}\n"


def test_degrees_of_a_release_are_known_by_the_record_beside_them(folder):
    """So a file of flipped edges is not taken for one with Laplace noise."""
    p0.release(p0.as_network(weights(), Q, NODES), "20", mechanism="edge_flip").write("flipped")
    for way in ("flipped", "flipped/degrees.csv"):
        assert "flipped edges (edge_flip), epsilon = 20" in told("fit", way)


def test_a_degree_file_is_fitted_with_the_noise_it_is_said_to_have(folder):
    shown = told("fit", "noisy.csv", "--q", Q, "--epsilon", "7/3")
    assert "epsilon = 2.33333" in shown
    assert "no record of a release" in shown
    z = p0.read_degrees("noisy.csv", Q, "7/3")
    assert str(p0.fit(z).summary()) in shown


def test_noise_is_never_ignored_in_silence(folder):
    message = refused("fit", "noisy.csv", "--q", Q)
    for words in ("totals", "--epsilon", "--no-noise"):
        assert words in message
    shown = told("fit", "noisy.csv", "--q", Q, "--no-noise")
    assert f"Noise: none, as was said; yet totals differ by {N}: intervals ignore it" in shown
    done = call("fit", "plain.csv", "--q", Q)
    assert "totals agree: taken as degrees without noise" in done.stderr
    assert "Noise: none\n" in done.stdout
    assert call("fit", "plain.csv", "--q", Q, "--no-noise").stderr == ""


def test_what_a_release_says_of_itself_is_not_said_otherwise(folder):
    assert "must be the release's own 3" in refused("fit", "rel", "--q", 4)
    assert "must be the release's own 20" in refused("fit", "rel", "--epsilon", 21)
    assert "got --no-noise" in refused("fit", "rel", "--no-noise")
    assert "epsilon must be a decimal" in refused("fit", "rel", "--epsilon", "")
    assert told("fit", "rel", "--q", 3, "--epsilon", "20.0") == told("fit", "rel")


@pytest.mark.parametrize("command", ["fit", "existence", "synthesize"])
def test_what_is_wrong_with_the_input_is_one_line(command, folder):
    more = ("-o", "edges.csv") if command == "synthesize" else ()
    for given, words in [
        (("nowhere", "--q", 3), "must be readable"),
        (("plain.csv",), "q must be given with a CSV"),
        (("plain.csv", "--q", 1), "q must be at least 2; got 1"),
        (("plain.csv", "--q", 3, "--epsilon", "0"), "epsilon"),
        (("plain.csv", "--q", 3, "--epsilon", "1", "--no-noise"), "must not go with --no-noise"),
        (("rel", "--margins", "both"), "margins must be one of balanced, drop_last"),
    ]:
        assert words in refused(command, *given, *more)
    assert not Path("edges.csv").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--ridge", "much"), "ridge must be 0 or a positive number"),
        (("--ridge", "-1"), "ridge must be 0 or a positive number"),
        (("--ridge", "nan"), "ridge must be 0 or a positive number"),
        (("--boundary", "open"), "boundary must be one of refuse, extend"),
        (("--level", "95"), "level must lie strictly between 0 and 1"),
        (("--variance", "s"), "variance must be one of noise, S, exact"),
        (("--plot", "no/where/x"), "folder that exists"),
        (("--plot", ""), "output must have a name; got ''"),
        (("-o", "rel"), "output must be a new file"),
        (("-o", "fit.csv.gz"), "output is CSV and must end in .csv"),
        (("--plot", "old"), "output must be a new file; got old-intervals.png"),
    ],
)
def test_an_option_out_of_range_is_refused_and_nothing_is_written(given, words, folder):
    Path("old-intervals.png").touch()
    before = sorted(os.listdir())
    assert words in refused("fit", "rel", *given)
    assert sorted(os.listdir()) == before


def test_labels_do_not_steer_the_terminal(folder):
    names = ["a\x1b[31m", "b", "c", "d"]
    write_degrees("fine.csv", [3, 4, 3, 2], [2, 3, 4, 3], names)
    write_degrees("none.csv", [0, 1, 2, 3], [2, 1, 2, 1], names)
    fit = p0sim("fit", "fine.csv", "--q", Q, folder=folder)
    lost = p0sim("fit", "none.csv", "--q", Q, folder=folder)
    why = p0sim("existence", "none.csv", "--q", Q, folder=folder)
    assert [done.returncode for done in (fit, lost, why)] == [0, 2, 1]
    for shown in (fit.stdout, lost.stderr, why.stdout):
        assert r"a\x1b[31m" in shown
        assert "\x1b" not in shown


def test_where_no_estimate_exists_the_node_and_both_ways_on_are_named(folder):
    done = p0sim("fit", "silent.csv", "--q", 3, "--no-noise", folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: out-degree of a is 0")
    assert done.stderr.endswith(
        "to go on: either --boundary extend (for little or no noise) or --ridge auto (for sparse "
        "degrees with noise)\n"
    )
    assert done.stderr.count("\n") == 1
    extended = told("fit", "silent.csv", "--q", 3, "--no-noise", "--boundary", "extend")
    assert "Forced to -inf: alpha of 1 node: a" in extended
    for ridge in ("auto", "0.5"):
        assert "Ridge: lambda" in told(
            "fit", "silent.csv", "--q", 3, "--no-noise", "--ridge", ridge
        )


def test_existence_says_no_with_exit_code_1_and_all_nodes(folder):
    done = call("existence", "silent.csv", "--q", 3, "--no-noise")
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("no estimate exists: out-degree of a is 0")
    assert lines[1] == "nodes: a"
    assert lines[2] == (
        "to go on: p0sim fit with --boundary extend (for little or no noise) or --ridge auto (for "
        "sparse degrees with noise)"
    )


@pytest.mark.parametrize("degree", [0, 6])
def test_existence_names_no_way_that_must_fail(folder, degree):
    write_degrees("ends.csv", [degree] * 4, [degree] * 4, list("abcd"))
    done = call("existence", "ends.csv", "--q", 3, "--no-noise")
    assert done.stdout.splitlines()[2] == "neither --boundary extend nor --ridge auto can go on"
    for way in (("--boundary", "extend"), ("--ridge", "auto")):
        refused("fit", "ends.csv", "--q", 3, "--no-noise", *way)


def test_totals_are_compared_in_numbers_that_do_not_wrap(folder):
    """2^63 - 1 twice against -2: both are -2 in 64 bits."""
    write_degrees("wrap.csv", [2**63 - 1, 2**63 - 1, 0], [-2, 0, 0], list("abc"))
    assert f"got {2**64 - 2}, -2" in refused("fit", "wrap.csv", "--q", 3)


def test_a_network_with_forced_nodes_is_told_to_be_too_heavy(folder):
    """Half of 40 nodes far below 0: the noise there is lost. Sums by hand."""
    nodes, degrees = [f"v{k}" for k in range(40)], [-10] * 20 + [10] * 20
    write_degrees("sparse.csv", degrees, degrees, nodes)
    given = ("--q", 2, "--epsilon", "1", "--boundary", "extend")
    lines = told("synthesize", "sparse.csv", "-o", "edges.csv", *given)
    assert "Released: 0 by out-degrees,\n0 by in-degrees" in lines
    assert "negative noise is lost. Prefer --ridge auto." in lines
    shown = told("fit", "sparse.csv", *given)
    assert "not trustworthy here" in shown


def test_a_network_without_forced_nodes_is_not(folder):
    assert "Expected total" not in told("synthesize", "rel", "-o", "edges.csv")


def test_a_synthetic_network_reads_back_with_the_labels_of_the_release(folder):
    shown = told("synthesize", "rel", "-o", "edges.csv", "--seed", 5)
    back = p0.read_network("edges.csv", q=Q, nodes=NODES)
    rng = np.random.Generator(np.random.PCG64(5))
    expected = p0.fit(p0.read_release("rel")).simulate(rng=rng)
    np.testing.assert_array_equal(back.toarray(), expected)
    assert f"{np.count_nonzero(expected)} arcs between {N} nodes, seed 5" in shown
    assert "no more privacy is spent" in shown
    assert "by the noise" in shown


def test_one_seed_one_network_and_without_a_seed_another_each_time(folder):
    seeds = ["--seed", "5"]
    texts, shown = [], []
    for name, more in [("a", seeds), ("b", seeds), ("c", []), ("d", [])]:
        shown.append(told("synthesize", "rel", "-o", name, *more))
        texts.append(Path(name).read_text())
    assert texts[0] == texts[1]
    assert len({texts[0], texts[2], texts[3]}) == 3
    seed = shown[2].splitlines()[0].rpartition("seed ")[2]
    told("synthesize", "rel", "-o", "again", "--seed", seed)
    assert Path("again").read_text() == texts[2]


def test_a_synthetic_network_is_never_written_over_a_file(folder):
    assert "which exists" in refused("synthesize", "rel", "-o", "plain.csv")
    assert call("synthesize", "rel", "-o", "x.csv", "--seed", "-1").exit_code == 2
    assert not Path("x.csv").exists()


def mean_degrees(draws: int) -> np.ndarray:
    sums = np.zeros(2 * N)
    for seed in range(draws):
        told("synthesize", "rel", "-o", f"{seed}.csv", "--seed", seed)
        drawn = p0.read_network(f"{seed}.csv", q=Q, nodes=NODES).bidegree()
        sums += np.append(drawn.out_degree, drawn.in_degree)
    return sums / draws


def test_mean_degrees_of_synthetic_networks_are_the_fitted_ones(folder):
    """100 networks, 24 degrees: within 5 standard errors (false alarm 1.4e-5). Control: degrees
    moved by half a unit of weight a node's arc are found out."""
    fit = p0.fit(p0.read_release("rel"))
    expected, variances = fit.model.expected_bidegree(), fit.model.degree_variances()
    centre = np.append(expected.out_degree, expected.in_degree)
    errors = np.sqrt(np.concatenate(variances) / 100)
    found = mean_degrees(100)
    assert (abs(found - centre) < 5 * errors).all()
    assert (abs(found - centre - 0.5 * (N - 1)) > 5 * errors).any()


def test_forced_nodes_stay_silent_in_synthetic_networks(folder):
    given = ("--q", 3, "--no-noise", "--boundary", "extend", "--seed", 1)
    told("synthesize", "silent.csv", "-o", "edges.csv", *given)
    assert "a" not in set(pd.read_csv("edges.csv")["source"])


@pytest.mark.parametrize("command", ["fit", "existence", "synthesize"])
def test_help_has_an_example(command):
    assert f"Example: p0sim {command} friends-release" in told(command, "--help")
