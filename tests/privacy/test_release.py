"""The real release: what it gives, what it refuses, and that only the system's chance is in it.

The law itself is tested in test_exact_laplace.py and test_audit.py.
"""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import p0sim as p0
from p0sim.privacy import release as module
from p0sim.privacy.ledger import ledger_of, read_ledger
from p0sim.privacy.release import plan_release
from p0sim.privacy.release_record import NOT_COVERED
from tests.oracles.covariance import laplace_variance
from tests.oracles.refusals import refusal

NO_NOISE = "1000000000000"
PACKAGE = Path(p0.__file__).parent
RELEASE_PATH = sorted(
    [PACKAGE / "cli" / "releasing.py", PACKAGE / "privacy" / "secure_flip.py"]
    + [PACKAGE / "durable.py"]
    + [PACKAGE / "privacy" / f"{name}.py" for name in ("ledger", "exact_epsilon")]
    + [PACKAGE / "privacy" / "exact_laplace.py", PACKAGE / "privacy" / "flipped_release.py"]
    + list((PACKAGE / "privacy").glob("release*.py"))
)
SEEDED = {"random", "rng", "seed", "default_rng", "Generator", "simulate", "standard_exponential"}


def degrees(n: int = 4, q: int = 3, **facts) -> p0.BiDegree:
    return p0.BiDegree(np.arange(n), np.arange(n)[::-1], q=q, **facts)


def network(**facts) -> p0.Network:
    return p0.Network([[0, 1, 2], [1, 0, 0], [0, 2, 0]], q=3, **facts)


def test_a_release_says_what_it_is():
    z = p0.release(degrees(nodes=["ann", "01", "α,β", "d"]), "0.5")
    assert (z.n, z.q, z.epsilon, z.epsilon_text, z.is_release) == (4, 3, 0.5, "0.5", True)
    assert z.nodes == ("ann", "01", "α,β", "d")
    assert z.mechanism == z.record.mechanism == "discrete_laplace"
    assert z.noise_variance == pytest.approx(laplace_variance(3, 0.5), rel=1e-9)
    assert repr(z) == "Release(n=4, q=3, epsilon=0.5; a release)"


@pytest.mark.parametrize(
    ("q", "epsilon", "variance"), [(2, 1, 7.835), (3, 1, 31.834), (5, "0.1", 12799.83)]
)
def test_the_noise_variance_is_the_one_worked_out(q, epsilon, variance):
    z = p0.release(degrees(q=q), epsilon)
    assert z.noise_variance == pytest.approx(variance, abs=6e-4 * variance**0.5)


def test_the_statement_names_neighbours_and_limits():
    words = p0.release(degrees(q=5), "7/3").statement
    for part in ("epsilon = 7/3", "one edge's weight, anywhere in 0..4", NOT_COVERED):
        assert part in words
    for part in ("not node privacy", "timing is out of scope"):
        assert part in NOT_COVERED


@pytest.mark.parametrize(
    ("epsilon", "text"), [("0.1", "0.1"), ("7/3", "7/3"), (2, "2"), (Fraction(1, 2), "1/2")]
)
def test_epsilon_is_exact_and_kept_as_written(epsilon, text):
    z = p0.release(degrees(), epsilon)
    assert z.epsilon_text == text
    assert Fraction(z.record.law["effective_epsilon"]) <= Fraction(text)


def test_released_values_are_raw_whole_numbers():
    """Some leave 0..(n-1)(q-1) and the totals differ, but for a chance of 1e-7."""
    z = p0.release(degrees(50), "0.00001")
    both = np.append(z.out_degree, z.in_degree)
    assert both.dtype == np.int64
    assert both.min() < 0
    assert both.max() > 98
    assert z.out_degree.sum() != z.in_degree.sum()


def test_degrees_stand_with_their_nodes():
    """A loss so large that the noise is 0."""
    z = p0.release(degrees(nodes=["d", "b", "c", "a"]), NO_NOISE)
    assert z.nodes == ("d", "b", "c", "a")
    assert z.out_degree.tolist() == [0, 1, 2, 3]
    assert z.in_degree.tolist() == [3, 2, 1, 0]


def test_a_network_is_released_like_its_degrees():
    z = p0.release(network(), NO_NOISE)
    assert z.out_degree.tolist() == [3, 1, 2]
    assert z.in_degree.tolist() == [1, 3, 2]


@pytest.mark.parametrize("bits", [24, 53])
def test_large_degrees_are_not_rounded(bits):
    """Odd numbers just above 2^24 and 2^53: a float path would lose the last 1."""
    n, q = 4099, 2**41
    sums = np.full(n, 2**bits + 1)
    z = p0.release(p0.BiDegree(sums, sums, q=q), 10**15 * 10**4)
    assert (z.out_degree == 2**bits + 1).all()
    assert (z.in_degree == 2**bits + 1).all()


def test_noise_that_could_leave_64_bits_is_refused_before_anything(tmp_path):
    """(n-1)(q-1) is 2^62 less 2^42, and the scale 2^42."""
    n = 2**21
    d = p0.BiDegree(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), q=2**41)
    call = partial(p0.release, d, 1, ledger=tmp_path / "ledger")
    refusal(call, "(n-1)(q-1) + the reach of the noise must be below 2^62")
    assert not list(tmp_path.iterdir())


def test_the_scale_comes_from_q_and_not_from_the_weights_in_use():
    """q = 5 with weights 3 and 4 only: 8/epsilon."""
    weights = np.array([[0, 3, 4], [4, 0, 3], [3, 3, 0]])
    assert p0.release(p0.Network(weights, q=5), 1).scale == 8


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "1_0", "0x1", " 1 e3", "0.0000009", 0])
def test_a_wrong_epsilon_is_refused_and_nothing_spent(tmp_path, bad):
    refusal(partial(p0.release, degrees(), bad, ledger=tmp_path / "l"), "epsilon must be", f"{bad}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("bad", [0.1, True, None])
def test_an_epsilon_of_another_kind_is_refused(bad):
    refusal(partial(p0.release, degrees(), bad), "epsilon must be", repr(bad), error=TypeError)


def test_nodes_read_off_the_edges_are_refused():
    """Their number tells of the edges: the only edge of a node changes the output's length."""
    for given in (degrees(nodes_given=False), network(nodes_given=False)):
        refusal(partial(p0.release, given, 1), "nodes must be given for a release")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: p0.linear_design(n=4, L=0, q=2).expected_bidegree(), "whole numbers"),
        (lambda: p0.NoisyBiDegree([1, 2, 3], [3, 2, 1], 3, 1.0), "it carries noise already"),
        (lambda: p0.release(degrees(), 1), "it carries noise already"),
        (lambda: np.zeros((3, 3)), "must be a Network or a BiDegree; got ndarray"),
        (lambda: ([1, 2, 3], [3, 2, 1]), "must be a Network or a BiDegree; got tuple"),
    ],
)
def test_what_is_no_network_or_its_degrees_is_refused(make, words):
    refusal(partial(p0.release, make(), 1), words, error=TypeError)


def test_an_unknown_mechanism_is_refused():
    call = partial(p0.release, degrees(), 1, mechanism="gaussian")
    refusal(call, "mechanism must be one of laplace, edge_flip; got 'gaussian'")
    call = partial(p0.release, degrees(), 1, mechanism=["a"])
    refusal(call, "mechanism must be one of laplace, edge_flip; got ['a']")


def test_edge_flip_needs_the_edges():
    call = partial(p0.release, degrees(), 1, mechanism="edge_flip")
    refusal(call, "edge_flip needs a Network", error=TypeError)


def test_edge_flip_releases_the_degrees_of_a_network_and_comes_back(tmp_path):
    y = p0.release(network(nodes=["a", "b", "c"]), "50", mechanism="edge_flip")
    assert (y.is_release, y.mechanism, y.record.mechanism) == (True, "edge_flip", "edge_flip")
    assert repr(y) == "FlippedRelease(n=3, q=3, epsilon=50; a release)"
    assert y.out_degree.tolist() == [3, 1, 2]
    y.write(tmp_path / "out")
    back = p0.read_release(tmp_path / "out")
    assert type(back) is type(y)
    assert (back.record, back.nodes) == (y.record, y.nodes)
    np.testing.assert_array_equal(back.in_degree, y.in_degree)


def test_a_network_from_a_file_enters_its_own_ledger(tmp_path):
    (tmp_path / "friends.csv").write_text("source,target,weight\na,b,1\nb,c,2\n")
    net = p0.read_network(tmp_path / "friends.csv", q=3, nodes=["a", "b", "c"])
    path = ledger_of(tmp_path / "friends.csv")
    z = p0.release(net, "0.2", budget="1")
    p0.release(net.bidegree(), "0.3", ledger=path)
    p0.release(net, "1/2", mechanism="edge_flip")
    assert z.record.ledger == "kept by the curator"
    assert read_ledger(path).spent == 1
    assert [entry["mechanism"] for entry in read_ledger(path).entries][2] == "edge_flip"
    refusal(partial(p0.release, net, "0.000001"), "epsilon must be at most 0,")
    refusal(partial(p0.release, net, 1, ledger=tmp_path / "other"), "ledger must be")
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".lock") == [
        "friends.csv",
        "friends.csv.ledger",
    ]


def test_a_degree_file_without_noise_has_its_own_ledger_too(tmp_path):
    path = tmp_path / "degrees.csv"
    path.write_text("node,out_degree,in_degree\na,3,1\nb,1,3\nc,2,2\n")
    z = p0.release(p0.read_degrees(path, q=3), "0.5")
    assert z.record.ledger == "kept by the curator"
    assert read_ledger(ledger_of(path)).spent == Fraction(1, 2)


def test_a_network_from_memory_has_the_ledger_it_is_given(tmp_path):
    z = p0.release(degrees(), "0.5", ledger=tmp_path / "l", budget="0.6")
    assert z.record.ledger == "kept by the curator"
    assert read_ledger(tmp_path / "l").left == Fraction(1, 10)
    assert p0.release(degrees(), "0.5").record.ledger == "none"


def test_a_budget_without_a_ledger_is_refused():
    refusal(partial(p0.release, degrees(), 1, budget=2), "budget must go with a ledger")


@pytest.mark.parametrize("budget", ["0", "x", "-1"])
def test_a_wrong_budget_is_refused(tmp_path, budget):
    call = partial(p0.release, degrees(), 1, ledger=tmp_path / "l", budget=budget)
    refusal(call, "budget must be")
    assert not list(tmp_path.iterdir())


def test_a_plan_spends_nothing(tmp_path):
    plan_release(degrees(), "0.5", ledger=tmp_path / "l", budget="0.6")
    assert not list(tmp_path.iterdir())
    p0.release(degrees(), "0.5", ledger=tmp_path / "l", budget="0.6")
    call = partial(plan_release, degrees(), "0.5", ledger=tmp_path / "l")
    refusal(call, "epsilon must be at most 0.1")


def test_reading_a_release_costs_nothing(tmp_path):
    p0.release(degrees(), "0.5", ledger=tmp_path / "l").write(tmp_path / "out")
    before = (tmp_path / "l").read_bytes()
    p0.read_release(tmp_path / "out")
    assert (tmp_path / "l").read_bytes() == before


def test_the_entry_is_on_disk_before_the_draw(tmp_path):
    """What is in the ledger at the moment of the draw."""
    seen = []
    plan = plan_release(degrees(), "0.5", ledger=tmp_path / "l")
    make = plan.draw.make

    def spied():
        seen.append(read_ledger(tmp_path / "l").spent)
        return make()

    object.__setattr__(plan.draw, "make", spied)
    plan.carry_out()
    assert seen == [Fraction(1, 2)]


def test_a_draw_that_fails_counts_as_spent(tmp_path):
    plan = plan_release(degrees(), "0.5", ledger=tmp_path / "l")

    def fails():
        raise KeyboardInterrupt

    object.__setattr__(plan.draw, "make", fails)
    with pytest.raises(KeyboardInterrupt):
        plan.carry_out()
    assert read_ledger(tmp_path / "l").spent == Fraction(1, 2)


def test_a_clipped_network_says_so_but_not_how_often():
    assert p0.release(network(clipped=True), 1).record.clip is True
    assert p0.release(network(), 1).record.clip is False


def test_a_release_can_be_pickled():
    z = p0.release(degrees(nodes=["a", "b", "c", "d"]), "1/3")
    back = pickle.loads(pickle.dumps(z))
    np.testing.assert_array_equal(back.out_degree, z.out_degree)
    assert (back.nodes, back.scale, back.record) == (z.nodes, z.scale, z.record)


def test_there_is_no_seed_argument_anywhere():
    for function in (p0.release, p0.read_release, plan_release, module.Release.write):
        assert not {"rng", "seed", "random_state"} & set(inspect.signature(function).parameters)


def names_in(source: str) -> set[str]:
    """Every name, attribute and imported part in a source."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.ImportFrom):
            found |= {*(node.module or "").split("."), *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {part for alias in node.names for part in alias.name.split(".")}
    return found


@pytest.mark.parametrize("path", RELEASE_PATH, ids=lambda path: path.name)
def test_no_seeded_generator_is_on_the_release_path(path):
    assert not names_in(path.read_text("utf-8")) & SEEDED


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from numpy.random import default_rng",
        "np.random.laplace()",
        "draw(seed)",
        "def f(*, rng): pass",
        "from p0sim.privacy.simulate import simulate_release",
    ],
)
def test_control_a_seeded_generator_would_be_found(source):
    assert names_in(source) & SEEDED


def test_fresh_processes_give_different_releases():
    """40 values at epsilon 1/10 are never the same by chance."""
    code = (
        "import p0sim as p0; z = p0.release(p0.BiDegree([0] * 20, [0] * 20, q=3), '0.1'); "
        "print(z.out_degree.tolist(), z.in_degree.tolist())"
    )
    command = [sys.executable, "-c", code]
    outputs = {subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2)}
    assert len(outputs) == 2


def test_without_opendp_everything_else_works_and_a_release_says_what_is_missing():
    code = (
        "import sys; sys.modules['opendp'] = None\n"
        "import numpy as np, p0sim as p0\n"
        "d = p0.BiDegree([3, 1, 2], [2, 2, 2], q=3)\n"
        "p0.fit(d)\n"
        "p0.simulate_release(d, 9, rng=np.random.default_rng(1))\n"
        "p0.release(p0.Network([[0, 1, 1], [1, 0, 0], [0, 1, 0]], 2), 1, mechanism='edge_flip')\n"
        "try:\n    p0.release(d, 1)\nexcept p0.P0SimError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "a release needs OpenDP, which is not installed: install the extra release, "
        "pip install -e '.[release]'\n"
    )
