"""Experiments of the user's own: from rows of dicts to outcomes, and what is refused."""

from __future__ import annotations

import math
import pickle
import random
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import p0sim as p0
from p0sim.errors import InvalidStudyError
from p0sim.experiments.custom import CustomExperiment
from p0sim.experiments.registry import load_experiment
from p0sim.replicate import Cell, Streams

SIMULATIONS = Path(__file__).parents[2] / "simulations"
MEAN = """
def replicate(cell, streams):
    x = streams.network.normal(cell.factors["mu"], 1, size=25)
    return [{"estimand": "mu", "estimate": x.mean(), "std_error": 0.2, "true_value": 1}]
"""


def experiment(text=MEAN, methods=(), **sections):
    sections["methods"] = {name: {} for name in methods}
    sources = {"mine.py": text}
    return CustomExperiment.from_sections(sections, ("mu",), Path(), "mine.py:replicate", sources)


def returning(rows, methods=(), **sections):
    """An experiment whose function returns what it is told."""
    text = f"from math import inf, nan\ndef replicate(cell, streams):\n    return {rows!r}\n"
    return experiment(text, methods, **sections)


def cell(**factors):
    return Cell("c", factors or {"mu": 1}, {})


def global_states():
    return np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002


def streams(rep=1):
    return Streams(seed=5, own_key=(1, 2, 3, 4), shared_key=(1, 2, 3, 4), rep=rep)


def run(study, in_cell=None, rep=1):
    fits = study.prepare(in_cell or cell())(streams(rep))
    return {name: fit() for name, fit in fits.items()}


def test_a_row_is_the_formulas_of_a_normal_mean():
    """Oracle: the same 25 draws, and scipy's normal interval."""
    row = run(experiment(measures={"level": 0.9}))["replicate"].estimates[0]
    mean = streams().network.normal(1, 1, size=25).mean()
    lower, upper = stats.norm.interval(0.9, mean, 0.2)
    expected = {"estimate": mean, "std_error": 0.2, "lower": lower, "upper": upper}
    expected |= {"true_value": 1.0, "z": (mean - 1) / 0.2}
    assert row.pop("estimand") == "mu"
    assert row == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("stage", "generator"),
    [
        ("truth", lambda s: s.truth),
        ("network", lambda s: s.network),
        ("noise", lambda s: s.noise),
        ("other", lambda s: s.other("")),
    ],
)
def test_the_function_is_given_the_generators_of_its_replicate(stage, generator):
    text = (
        "def replicate(cell, streams):\n"
        f"    return [{{'estimand': 'x', 'estimate': streams.{stage}.random()}}]\n"
    )
    outcome = run(experiment(text), rep=3)["replicate"]
    assert outcome.estimates[0]["estimate"] == generator(streams(3)).random()


def test_global_random_state_is_left_alone():
    before = global_states()
    run(experiment())
    assert global_states() == before


def test_a_row_may_bring_its_own_interval_and_no_standard_error():
    row = {"estimand": "p", "estimate": 0.5, "lower": 0.25, "upper": np.inf}
    got = run(returning([row]))["replicate"].estimates[0]
    assert (got["lower"], got["upper"]) == (0.25, math.inf)
    assert all(math.isnan(got[name]) for name in ("std_error", "true_value", "z"))


def test_rows_go_to_the_method_they_name():
    rows = [
        {"method": "b", "estimand": "x", "estimate": 2},
        {"method": "a", "estimand": "x", "estimate": 1},
        {"method": "b", "estimand": "y", "estimate": 3},
    ]
    outcomes = run(returning(rows, ["a", "b", "c"]))
    assert list(outcomes) == ["a", "b", "c"]
    assert [row["estimate"] for row in outcomes["b"].estimates] == [2.0, 3.0]
    assert [row["estimate"] for row in outcomes["a"].estimates] == [1.0]
    assert (outcomes["c"].status, outcomes["c"].reason) == ("no_estimate", "no rows")


def test_order_of_methods_makes_no_difference():
    rows = [{"method": name, "estimand": "x", "estimate": 1} for name in "ab"]
    one, two = run(returning(rows, "ab")), run(returning(rows, "ba"))
    assert repr(one["a"]) == repr(two["a"])


def test_rows_may_be_yielded():
    text = "def replicate(cell, streams):\n    yield {'estimand': 'x', 'estimate': 1}\n"
    assert run(experiment(text))["replicate"].status == "ok"


@pytest.mark.parametrize("verb", ["return", "yield"])
def test_no_estimate_is_that_of_every_method(verb):
    text = (
        "import p0sim\n"
        "def replicate(cell, streams):\n"
        "    if cell.factors['mu'] == 1:\n"
        "        raise p0sim.NoEstimateError('an empty graph')\n"
        f"    {verb} []\n"
    )
    outcomes = run(experiment(text, ["a", "b"]))
    got = {name: (o.status, o.reason) for name, o in outcomes.items()}
    assert got == dict.fromkeys("ab", ("no_estimate", "an empty graph"))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"estimate": np.nan}, "estimate of x is nan"),
        ({"estimate": 1, "std_error": np.nan}, "std_error of x is nan"),
        ({"estimate": 1, "lower": np.nan, "upper": 2}, "interval of x is nan to 2.0"),
    ],
)
def test_a_number_that_is_none_is_no_estimate(values, reason):
    outcome = run(returning([{"estimand": "x", **values}]))["replicate"]
    assert (outcome.status, outcome.reason) == ("no_estimate", reason)


X = {"estimand": "x", "estimate": 1}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (None, "mine.py:replicate must return a list of dicts; got None"),
        (X, "mine.py:replicate must return a list of dicts; got {"),
        ([1], "mine.py:replicate must return a list of dicts; got 1 in it"),
        ([{**X, "estimat": 1}], "unknown key 'estimat'; did you mean 'estimate'"),
        ([{**X, "z": 1}], "a row of mine.py:replicate has an unknown key 'z'"),
        ([{"estimate": 1}], "estimand must be text; got None"),
        ([{"estimand": "x"}], "estimate of x must be a number; got None"),
        ([{"estimand": "x", "estimate": "1"}], "estimate of x must be a number; got '1'"),
        ([{**X, "true_value": "1"}], "true_value of x must be a number; got '1'"),
        ([{**X, "lower": 1}], "interval of x must have both lower and upper; got 1.0, None"),
        ([{**X, "lower": 2, "upper": 1}], "must not have lower above upper; got 2.0, 1.0"),
        ([{**X, "estimand": "theta"}], "estimand must not be 'theta'"),
        ([X, X], "must return each estimand once; got x twice"),
        (
            [{**X, "method": "mean"}],
            "method must be one of replicate, as the tables [methods.NAME]",
        ),
    ],
)
def test_an_answer_of_another_form_is_told_in_one_line(rows, words):
    with pytest.raises(InvalidStudyError) as caught:
        run(returning(rows))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_of_several_methods_must_name_theirs():
    with pytest.raises(InvalidStudyError, match="a row must name its method, one of a, b; got"):
        run(returning([X], ["a", "b"]))


def test_a_bad_row_of_one_method_leaves_the_others_alone():
    rows = [{"method": "a", "estimand": "x"}, {"method": "b", **X}]
    fits = returning(rows, ["a", "b"]).prepare(cell())(streams())
    with pytest.raises(InvalidStudyError, match="estimate of x"):
        fits["a"]()
    assert fits["b"]().status == "ok"


def test_a_function_that_breaks_breaks_the_whole_replicate():
    text = "def replicate(cell, streams):\n    return 1 / 0\n"
    simulate = experiment(text).prepare(cell())
    with pytest.raises(ZeroDivisionError):
        simulate(streams())


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"model": {"theta": "linear"}}, "[model] must be left out beside experiment = 'mine.py:"),
        ({"estimands": {"contrasts": []}}, "[estimands] must be left out beside experiment"),
        ({"methods": {"a": {"release": True}}}, "[methods.a] has an unknown key 'release'"),
        ({"methods": {"a": {}, "b": {"label": "a"}}}, "labels must differ"),
        ({"measures": {"level": 2}}, "[measures] level must be less than 1; got 2"),
    ],
)
def test_tables_that_mean_nothing_here_are_refused(sections, words):
    with pytest.raises(InvalidStudyError) as caught:
        CustomExperiment.from_sections(
            sections, ("mu",), Path(), "mine.py:replicate", {"mine.py": MEAN}
        )
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_comment_keeps_the_streams_and_changes_the_identity():
    before, after = experiment(), experiment(MEAN + "# why 25\n")
    assert before.content(cell()) == after.content(cell()) == {"experiment": "replicate"}
    assert before.identity() != after.identity()
    assert run(before) == run(after)


def test_identity_knows_function_methods_level_and_text_but_not_when_to_stop():
    plain = experiment()
    stopping = experiment(measures={"stop": {"coverage_mcse": 0.01}})
    assert stopping.stop.min_reps == 500
    assert plain.identity() == stopping.identity()
    assert plain.identity() != experiment(measures={"level": 0.9}).identity()
    assert plain.identity() != experiment(methods=["a"]).identity()
    assert plain.identity()["sources"].keys() == {"mine.py"}


def test_what_is_not_known_is_said_so():
    study = experiment()
    assert math.isnan(study.cost(cell()))
    assert study.predicted(cell()) == []
    assert (study.shared_factors, study.constants) == (frozenset(), {})
    assert study.require(cell()) is None


def test_an_experiment_pickles_small_and_before_its_file_was_run():
    study = experiment()
    sent = pickle.dumps(study)
    assert len(sent) < len(MEAN) + 1500
    assert run(pickle.loads(sent)) == run(study)


def example(name):
    document = tomllib.loads((SIMULATIONS / f"{name}.toml").read_text("utf-8"))
    reference = document["study"].get("experiment", "private_p0")
    sections = {key: document.get(key, {}) for key in ("model", "estimands", "methods", "measures")}
    return load_experiment(reference, sections, document["factors"], SIMULATIONS)


def density_coverage(n, p, epsilon, noise_counted):
    """Exact coverage: binomial edges, Laplace noise, the interval as its formula reads."""
    pairs = n * (n - 1) // 2
    noise = np.linspace(-25, 25, 4001) / epsilon
    mass = stats.laplace.pdf(noise, scale=1 / epsilon)
    edges = np.arange(pairs + 1)
    density = (edges[:, None] + noise) / pairs
    valid = (density > 0) & (density < 1)
    variance = np.where(valid, density * (1 - density), 0) / pairs
    variance += noise_counted * 2 / (epsilon * pairs) ** 2
    inside = valid & (np.abs(density - p) <= stats.norm.ppf(0.975) * np.sqrt(variance))
    weight = stats.binom.pmf(edges, pairs, p)[:, None] * (mass / mass.sum())
    return (weight * inside).sum() / (weight * valid).sum()


def test_the_example_of_a_random_graph_covers_as_it_must():
    """2000 seeded replicates, false alarm 1e-6 (4.9 SE); the other method is the control."""
    study, here = example("erdos_renyi"), cell(n=20, p=0.3, epsilon=0.2)
    simulate, covered = study.prepare(here), {"naive": [], "noise_aware": []}
    for rep in range(1, 2001):
        for name, fit in simulate(streams(rep)).items():
            covered[name] += [r["lower"] <= r["true_value"] <= r["upper"] for r in fit().estimates]
    exact = {name: density_coverage(20, 0.3, 0.2, name == "noise_aware") for name in covered}
    for name, other in [("naive", "noise_aware"), ("noise_aware", "naive")]:
        error = 4.9 * np.sqrt(exact[name] * (1 - exact[name]) / len(covered[name]))
        assert abs(np.mean(covered[name]) - exact[name]) < error
        assert abs(np.mean(covered[name]) - exact[other]) > error


def test_the_example_of_an_own_estimator_is_the_log_odds_of_shares():
    """By hand: shares 3/4 and 1/4 of n - 1 = 8 others, no noise: log 3 - log(1/3)."""
    study = example("own_estimator")
    data = p0.BiDegree([6, 2, 4, 4, 4, 4, 4, 4, 2], [4, 4, 4, 4, 4, 4, 4, 4, 2], q=2)
    log_odds = study.calls["log_odds"].function()
    noise_free = type("Data", (), {"out_degree": data.out_degree, "n": 9, "noise_variance": 0})
    estimate, std_error = log_odds(noise_free, None)["alpha[1]-alpha[2]"]
    assert estimate == pytest.approx(2 * math.log(3))
    assert std_error == pytest.approx(math.sqrt(1 / 6 + 1 / 2 + 1 / 2 + 1 / 6))
    noisy = type("Data", (), {"out_degree": data.out_degree, "n": 9, "noise_variance": 3})
    # tau moves the variance of a share by tau/64, its log-odds by (16/3)^2 of that, twice
    added = log_odds(noisy, None)["alpha[1]-alpha[2]"][1] ** 2 - std_error**2
    assert added == pytest.approx(2 * 3 / 64 * (16 / 3) ** 2)


@pytest.mark.parametrize("name", ["erdos_renyi", "own_estimator"])
def test_examples_are_short_enough_to_copy(name):
    assert len((SIMULATIONS / f"{name}.py").read_text("utf-8").splitlines()) <= 30
