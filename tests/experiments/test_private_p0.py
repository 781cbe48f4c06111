"""The main experiment against its parts done by hand, and what it refuses."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import p0sim as p0
from p0sim.errors import InvalidStudyError
from p0sim.experiments.private_p0 import PrivateP0
from p0sim.inference.covariance import model_covariance
from p0sim.privacy.discrete_laplace import discrete_laplace_variance
from p0sim.replicate import Cell, Streams
from tests.oracles.tables import table

FACTORS = ("n", "q", "L", "epsilon")
METHODS = {
    "nonprivate": {"release": False},
    "paper": {"margins": "drop_last", "variance": "S"},
    "balanced": {"margins": "balanced", "variance": "noise"},
}


def experiment(methods=METHODS, factors=FACTORS, folder=Path(), **sections):
    sections.setdefault("estimands", {"contrasts": ["alpha[1]-alpha[2]", "alpha[1]", "beta[n-1]"]})
    return PrivateP0.from_sections({"methods": methods, **sections}, factors, folder)


def cell(n=20, q=3, L=0.5, epsilon=2.0):
    factors = {"n": n, "q": q, "L": L, "epsilon": epsilon}
    return Cell("c", factors, {name: str(value) for name, value in factors.items()})


def global_states():
    return np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002


def streams(rep=1):
    return Streams(seed=5, own_key=(1, 2, 3, 4), shared_key=(1, 2, 3, 4), rep=rep)


def run(study, in_cell, rep=1):
    """Every fit of one replicate, called in file order."""
    return {name: fit() for name, fit in study.prepare(in_cell)(streams(rep)).items()}


def test_a_replicate_is_the_public_functions_in_a_row():
    """Oracle: the same draws through sample_bidegree, simulate_release, fit and contrast."""
    outcomes = run(experiment(), cell())
    model, again = p0.linear_design(20, 0.5, 3), streams()
    degrees = model.sample_bidegree(rng=again.network)
    noisy = p0.simulate_release(degrees, 2.0, rng=again.noise)
    for name, z, margins, variance in [
        ("nonprivate", degrees, "balanced", "noise"),
        ("paper", noisy, "drop_last", "S"),
        ("balanced", noisy, "balanced", "noise"),
    ]:
        fit = p0.fit(z, margins=margins)
        expected = fit.contrast(["alpha[1]-alpha[2]", "alpha[1]", "beta[19]"], variance=variance)
        rows = outcomes[name].estimates
        assert [row["estimand"] for row in rows] == expected["term"].tolist()
        for column in ("estimate", "std_error", "lower", "upper"):
            got = [row[column] for row in rows]
            np.testing.assert_allclose(got, expected[column], rtol=1e-12)
        truth = [model.alpha[0] - model.alpha[1], model.alpha[0], model.beta[18]]
        np.testing.assert_allclose([row["true_value"] for row in rows], truth, rtol=1e-12)
        z_scores = (expected["estimate"] - truth) / expected["std_error"]
        np.testing.assert_allclose([row["z"] for row in rows], z_scores, rtol=1e-9)
        sup_error = np.abs(fit.theta - model.theta).max()
        assert outcomes[name].sup_error == pytest.approx(sup_error, rel=1e-12)


def test_methods_do_not_disturb_one_another():
    """The rows of a method are the same bits alone and in company."""
    together = run(experiment(), cell())
    alone = run(experiment({"balanced": METHODS["balanced"]}), cell())
    assert alone["balanced"].estimates == together["balanced"].estimates


def test_fits_may_be_called_in_any_order():
    fits = experiment().prepare(cell())(streams())
    backwards = {name: fits[name]() for name in reversed(fits)}
    assert list(fits) == list(METHODS)
    assert repr(backwards["paper"]) == repr(run(experiment(), cell())["paper"])


def test_a_replicate_without_estimate_is_a_row_with_its_reason():
    """Strong noise on ten nodes: some margin leaves its range in most replicates."""
    noisy = cell(n=10, q=2, L=2.0, epsilon=0.2)
    outcomes = [o for rep in range(1, 11) for o in run(experiment(), noisy, rep).values()]
    failed = [o for o in outcomes if o.status == "no_estimate"]
    assert failed
    assert all(o.reason and not o.estimates and np.isnan(o.sup_error) for o in failed)


def test_predicted_coverage_is_the_formula_of_the_noise_share():
    """At L = 0 all v_ii are v = (n-1)(q^2-1)/12, so rho = tau/v by hand."""
    study = experiment()
    here = study.in_cell(cell(n=100, q=3, L=0.0, epsilon=2.0))
    lam = np.exp(-2.0 / 4)
    rho = 2 * lam / (1 - lam) ** 2 / (99 * 8 / 12)
    expected = 2 * stats.norm.cdf(stats.norm.ppf(0.975) / np.sqrt(1 + rho)) - 1
    assert here.predicted_coverage(study.specs["paper"])[0] == pytest.approx(expected, rel=1e-12)
    in_rows = {(m, e): c for m, e, c in study.predicted(cell(n=100, q=3, L=0.0, epsilon=2.0))}
    assert in_rows["paper", "alpha[1]-alpha[2]"] == pytest.approx(expected, rel=1e-12)
    for name in ("nonprivate", "balanced"):
        np.testing.assert_allclose(here.predicted_coverage(study.specs[name]), 0.95, rtol=1e-12)


def test_closed_forms_at_L_0_agree_with_an_independent_table():
    """Noise variance, interval lengths, predicted coverage and sd of alpha_1, n = 50..400."""
    rows = table("closed_form_L0")
    methods = {
        "S": {"margins": "drop_last", "variance": "S"},
        "raw": {"margins": "drop_last", "variance": "noise"},
        "balanced": {"margins": "balanced", "variance": "noise"},
    }
    study = experiment(methods, estimands={"contrasts": ["alpha[1]-alpha[2]", "alpha[1]"]})
    for _, row in rows[np.isfinite(rows["epsilon"])].iterrows():
        n, q = int(row["n"]), int(row["q"])
        powers = {"2": None, "log(n)/n^(1/4)": 0.25, "log(n)/n^(1/2)": 0.5}
        power = powers[row["epsilon_rule"]]
        epsilon = 2.0 if power is None else np.log(n) / n**power
        here = study.in_cell(cell(n=n, q=q, L=0.0, epsilon=epsilon))
        tau = discrete_laplace_variance(2 * (q - 1) / epsilon)
        assert tau == pytest.approx(row["sigma_e2"], abs=5.1e-5)
        widths, spreads = {}, {}
        for name, spec in study.specs.items():
            covariance = model_covariance(here.model, tau, spec.margins, spec.variance)
            errors = np.sqrt(here.targets.variances(covariance))
            widths[name], spreads[name] = 2 * stats.norm.ppf(0.975) * errors[0], errors[1]
        assert widths["S"] == pytest.approx(row["naive_ci_length"], abs=5.1e-5)
        assert widths["balanced"] == pytest.approx(row["corrected_ci_length"], abs=5.1e-5)
        assert spreads["S"] == pytest.approx(row["sd_alpha1_S_only"], abs=5.1e-5)
        assert spreads["raw"] == pytest.approx(row["sd_alpha1_raw"], abs=5.1e-5)
        assert spreads["balanced"] == pytest.approx(row["sd_alpha1_balanced"], abs=5.1e-5)
        predicted = 100 * here.predicted_coverage(study.specs["S"])[0]
        assert predicted == pytest.approx(row["predicted_naive_coverage_pct"], abs=0.0051)


def test_the_truth_of_a_dataset_is_its_fit():
    study = experiment(factors=("epsilon",), model={"theta": "dataset:fraternity"})
    fit = p0.fit(p0.load_network("fraternity").bidegree())
    model = study.truth.model(Cell("c", {"epsilon": 1}, {}))
    np.testing.assert_allclose(model.theta, fit.theta, rtol=1e-12)
    assert study.constants == {"n": 58, "q": 5}
    assert study.estimand_names(Cell("c", {"epsilon": 1}, {}))[2] == "beta[57]"


def test_the_truth_can_be_a_network_or_parameters_in_a_file(tmp_path):
    arcs = "source,target,weight\na,b,1\nb,c,2\nc,d,1\nd,a,2\na,c,1\nc,b,1\nd,b,1\nb,a,1\n"
    (tmp_path / "net.csv").write_text(arcs)
    fitted = experiment(
        factors=("epsilon",), folder=tmp_path, model={"theta": "network:net.csv", "q": 4}
    )
    expected = p0.fit(p0.read_network(tmp_path / "net.csv", q=4).bidegree())
    model = fitted.truth.model(Cell("c", {}, {}))
    np.testing.assert_allclose(model.theta, expected.theta, rtol=1e-12)
    (tmp_path / "theta.csv").write_text("node,alpha,beta\na,0.5,0.1\nb,0,-0.2\nc,-0.5,0\n")
    given = experiment(
        factors=("epsilon",), folder=tmp_path, model={"theta": "parameters:theta.csv", "q": 2}
    )
    np.testing.assert_array_equal(
        given.truth.model(Cell("c", {}, {})).theta, [0.5, 0.0, -0.5, 0.1, -0.2]
    )


def test_identity_knows_what_matters_and_not_the_labels(tmp_path):
    labelled = {**METHODS, "paper": {**METHODS["paper"], "label": "Wang et al."}}
    assert experiment(labelled).identity() == experiment().identity()
    marked = {**METHODS, "paper": {**METHODS["paper"], "reference": True}}
    assert experiment(marked).identity() == experiment().identity()
    pooled = experiment(measures={"pool": {"senders": "alpha[*]"}})
    assert pooled.identity() == experiment().identity()
    changed = {**METHODS, "paper": {**METHODS["paper"], "variance": "exact"}}
    assert experiment(changed).identity() != experiment().identity()


def test_identity_is_that_of_results_written_before_there_were_custom_methods():
    """A tripwire: results directories hold this; another key would make them another study."""
    written = {
        "model": {"theta": "linear"},
        "share_network_across": [],
        "estimands": {
            "contrasts": ["alpha[1]-alpha[2]", "alpha[1]", "beta[n-1]"],
            "sup_error": True,
        },
        "methods": {
            "paper": {
                "release": True,
                "margins": "drop_last",
                "variance": "S",
                "solver": "newton",
            }
        },
        "level": 0.95,
    }
    stop = {"stop": {"coverage_mcse": 0.01}}
    study = experiment({"paper": METHODS["paper"]}, measures=stop)
    assert study.identity() == written
    assert study.stop.coverage_mcse == 0.01
    assert study.content(cell()) == {
        "experiment": "private_p0",
        "model": {"theta": "linear"},
        "share_network_across": [],
    }


def test_a_null_is_no_part_of_what_is_estimated():
    table = {"contrast": "alpha[1]", "null": 0.5}
    plain = experiment(estimands={"contrasts": ["alpha[1]", "beta[1]"]})
    tested = experiment(estimands={"contrasts": [table, "beta[1]"]})
    assert tested.identity() == plain.identity()
    assert tested.content(cell()) == plain.content(cell())
    assert tested.nulls(cell()) == {"alpha[1]": 0.5, "beta[1]": 0.0}


def test_every_node_is_estimated_as_if_it_were_written_out():
    each = [f"alpha[{node}]" for node in range(1, 21)] + [f"beta[{node}]" for node in range(1, 20)]
    short = experiment(estimands={"contrasts": ["alpha[*]", "beta[*]"]})
    long = experiment(estimands={"contrasts": each})
    assert short.estimand_names(cell()) == tuple(each)
    assert run(short, cell()) == run(long, cell())


def test_a_pool_called_as_an_estimand_of_the_cell_is_refused():
    study = experiment(measures={"pool": {"alpha[1]": "alpha[*]"}})
    with pytest.raises(
        InvalidStudyError, match=r"must not be those of estimands; got 'alpha\[1\]'"
    ):
        study.require(cell())


def test_a_changed_parameter_file_is_another_study(tmp_path):
    sections = {"factors": ("epsilon",), "model": {"theta": "parameters:t.csv", "q": 2}}
    (tmp_path / "t.csv").write_text("node,alpha,beta\na,0.5,0.1\nb,0,-0.2\nc,-0.5,0\n")
    before = experiment(folder=tmp_path, **sections).identity()
    (tmp_path / "t.csv").write_text("node,alpha,beta\na,0.5,0.1\nb,0,-0.3\nc,-0.5,0\n")
    assert experiment(folder=tmp_path, **sections).identity() != before


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("p1,0.5,0.1\np1,0,-0.2\np1,-0.5,0\n", "nodes must be different; got 'p1' twice"),
        ("a,0.5,0.1\nb,0,-0.2\n,-0.5,0\n", "nodes must not be empty text"),
        ("a,0.5,0.1\nb,0,-0.2\nc,-0.5,0.3\n", "the last beta must be 0; got 0.3"),
    ],
)
def test_a_parameter_file_that_breaks_a_rule_is_refused(tmp_path, rows, words):
    (tmp_path / "t.csv").write_text(f"node,alpha,beta\n{rows}")
    sections = {"factors": ("epsilon",), "model": {"theta": "parameters:t.csv", "q": 2}}
    with pytest.raises(InvalidStudyError) as caught:
        experiment(folder=tmp_path, **sections)
    assert f"[model] theta = 'parameters:t.csv': {words}" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": {}}, "at least one method"),
        ({"methods": {"x": {"margin": "balanced"}}}, "did you mean 'margins'"),
        ({"methods": {"x": {"margins": "equal"}}}, "margins must be 'balanced' or 'drop_last'"),
        ({"model": {"theta": "dataset:monks"}}, "fraternity"),
        ({"model": {"theta": "cubic"}}, "theta must be linear"),
        ({"model": {"theta": "network:net.csv"}}, "q must be given"),
        ({"model": {"theta": "linear", "q": 3}}, "q must be given with network:"),
        ({"model": {"share_network_across": ["epsilom"]}}, "did you mean 'epsilon'"),
        ({"measures": {"level": 95}}, "level must be less than 1; got 95"),
        ({"factors": ("n", "q", "epsilon")}, "must have L"),
        ({"factors": ("n", "q", "L")}, "must have epsilon"),
        ({"factors": (*FACTORS, "m")}, "unknown key 'm'"),
        (
            {"model": {"theta": "dataset:fraternity"}},
            "[factors] must leave out n, q, L: [model] theta = 'dataset:fraternity' fixes "
            "n = 58, q = 5 and all parameters",
        ),
        (
            {"estimands": {"contrasts": ["alpah[*]"]}},
            "alone; got 'alpah[*]', did you mean 'alpha[*]'?",
        ),
    ],
)
def test_a_section_that_breaks_a_rule_is_refused_in_one_line(change, words):
    with pytest.raises(InvalidStudyError) as caught:
        experiment(**change).require(cell())
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ({"n": 2}, "n must be at least 3; got 2"),
        ({"q": 1}, "q must be at least 2; got 1"),
        ({"epsilon": 0}, "epsilon must be positive and finite; got 0"),
        ({"epsilon": -1.0}, "epsilon must be positive and finite; got -1"),
    ],
)
def test_a_factor_out_of_range_is_refused(factors, words):
    with pytest.raises(p0.P0SimError, match=words):
        experiment().require(cell(**factors))


@pytest.mark.parametrize("term", ["alpha[0]", "alpha[n+1]", "alpha[n/3]", "gamma[1]", "alpha[1"])
def test_an_estimand_that_names_nothing_is_refused(term):
    with pytest.raises(p0.P0SimError):
        experiment(estimands={"contrasts": [term]}).require(cell())


def test_parameters_beyond_floating_point_have_no_prediction_and_no_warning():
    """L = 1000: every variance underflows; warnings are errors in this suite."""
    study = experiment()
    here = study.in_cell(cell(n=20, q=2, L=1000.0))
    assert not np.isfinite(here.predicted_coverage(study.specs["paper"])[0])


MINE = """
import numpy as np
import p0sim as p0


def fit(data, rng):
    ours = p0.fit(data).contrast(["alpha[1]-alpha[2]", "alpha[1]", "beta[19]"])
    return dict(zip(ours["term"], zip(ours["estimate"], ours["std_error"])))


def draws(data, rng):
    return {name: (rng.normal(), 1) for name in ("alpha[1]-alpha[2]", "alpha[1]", "beta[19]")}


def writes(data, rng):
    data.out_degree[0] = 0


def looks(data, rng):
    raise p0.NoEstimateError(f"{type(data).__name__} {data.out_degree[0]}")


def stops(data, rng):
    raise p0.NotConvergedError(np.zeros(3), 0.5)


def breaks(data, rng):
    return 1 / 0


def answers(data, rng):
    return ANSWER
"""
NAMES = ("alpha[1]-alpha[2]", "alpha[1]", "beta[19]")
GOOD = {name: (0.5, 0.25) for name in NAMES}


def mine(methods, answer=GOOD, **sections):
    """A study with methods of MINE, whose `answers` gives what it is told."""
    text = MINE.replace("ANSWER", repr(answer)).replace("nan", "np.nan").replace("inf", "np.inf")
    sections.setdefault("estimands", {"contrasts": ["alpha[1]-alpha[2]", "alpha[1]", "beta[n-1]"]})
    sources = {"mine.py": text}
    return PrivateP0.from_sections(
        {"methods": methods, **sections}, FACTORS, Path(), "private_p0", sources
    )


def call(name, **more):
    return {"call": f"mine.py:{name}", **more}


def test_a_custom_method_that_calls_ours_has_our_rows():
    outcomes = run(mine({"balanced": {}, "mine": call("fit")}), cell())
    ours, theirs = outcomes["balanced"], outcomes["mine"]
    assert theirs.status == "ok" and np.isnan(theirs.sup_error) and theirs.n_iter == -1
    for row, expected in zip(theirs.estimates, ours.estimates, strict=True):
        assert row["estimand"] == expected["estimand"]
        for name in ("estimate", "std_error", "lower", "upper", "true_value", "z"):
            assert row[name] == pytest.approx(expected[name], rel=1e-9)


def test_custom_methods_see_the_data_of_their_release_and_of_ours():
    """Oracle: the same draws through sample_bidegree and simulate_release."""
    study = mine({"noisy": call("looks"), "plain": call("looks", release=False)})
    outcomes, again = run(study, cell()), streams()
    degrees = p0.linear_design(20, 0.5, 3).sample_bidegree(rng=again.network)
    noisy = p0.simulate_release(degrees, 2.0, rng=again.noise)
    assert outcomes["noisy"].reason == f"NoisyBiDegree {noisy.out_degree[0]}"
    assert outcomes["plain"].reason == f"BiDegree {degrees.out_degree[0]}"
    assert {outcome.status for outcome in outcomes.values()} == {"no_estimate"}


def test_each_custom_method_draws_from_a_stream_of_its_own_name():
    methods = {"one": call("draws"), "two": call("draws"), "balanced": {}}
    outcomes = run(mine(methods), cell())
    backwards = run(mine(dict(reversed(methods.items()))), cell())
    alone = run(mine({"two": methods["two"]}), cell())
    for name in methods:
        assert outcomes[name].estimates == backwards[name].estimates
    assert alone["two"].estimates == outcomes["two"].estimates
    expected = streams().other("two").normal()
    assert outcomes["two"].estimates[0]["estimate"] == expected
    assert outcomes["one"].estimates[0]["estimate"] != expected


def test_custom_methods_leave_global_random_state_alone():
    before = global_states()
    run(mine({"one": call("draws"), "balanced": {}}), cell())
    assert global_states() == before


def test_a_method_that_breaks_leaves_the_others_alone():
    fits = mine({"breaks": call("breaks"), "writes": call("writes"), "balanced": {}}).prepare(
        cell()
    )(streams())
    with pytest.raises(ZeroDivisionError):
        fits["breaks"]()
    with pytest.raises(ValueError, match="read-only"):
        fits["writes"]()
    expected = run(experiment({"balanced": METHODS["balanced"]}), cell())["balanced"]
    assert fits["balanced"]().estimates == expected.estimates


def test_a_custom_method_that_stops_short_did_not_converge():
    outcome = run(mine({"mine": call("stops")}), cell())["mine"]
    assert (outcome.status, outcome.residual) == ("not_converged", 0.5)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ((float("nan"), 1.0), "estimate of alpha[1] is nan"),
        ((float("-inf"), 1.0), "estimate of alpha[1] is -inf"),
        ((1.0, float("nan")), "std_error of alpha[1] is nan"),
        ((1.0, -1.0), "std_error of alpha[1] is -1.0"),
    ],
)
def test_a_number_that_is_none_is_no_estimate(entry, reason):
    outcome = run(mine({"mine": call("answers")}, {**GOOD, "alpha[1]": entry}), cell())["mine"]
    assert (outcome.status, outcome.reason, outcome.estimates) == ("no_estimate", reason, ())


def test_an_estimate_without_standard_error_has_no_interval():
    study = mine({"mine": call("answers")}, {**GOOD, "alpha[1]": (1.0, None)})
    row = run(study, cell())["mine"].estimates[1]
    assert row["estimate"] == 1.0
    assert all(np.isnan(row[name]) for name in ("std_error", "lower", "upper", "z"))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"alpha[1]": (1, 1)}, "[methods.mine] must return every estimand; alpha[1]-alpha[2]"),
        ({**GOOD, "alpha[2]": (1, 1)}, "[methods.mine] has an unknown key 'alpha[2]'; did you"),
        ({**GOOD, "alpha[1]": 1.0}, "[methods.mine] alpha[1] must be (estimate, std_error)"),
        ({**GOOD, "alpha[1]": (1.0,)}, "[methods.mine] alpha[1] must be (estimate, std_error)"),
        ({**GOOD, "alpha[1]": ("1", 1)}, "[methods.mine] alpha[1]: estimate must be a number"),
        ({**GOOD, "alpha[1]": (1, "1")}, "[methods.mine] alpha[1]: std_error must be a number"),
        ({**GOOD, "alpha[1]": (True, 1)}, "[methods.mine] alpha[1]: estimate must be a number"),
        ([1, 2], "[methods.mine] must return a dict of estimand to (estimate, std_error)"),
        (None, "[methods.mine] must return a dict"),
    ],
)
def test_an_answer_of_another_form_is_told_in_one_line(answer, words):
    fit = mine({"mine": call("answers")}, answer).prepare(cell())(streams())["mine"]
    with pytest.raises(InvalidStudyError) as caught:
        fit()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (call("fit", margins="balanced"), "[methods.x] margins must not stand beside call"),
        (call("fit", variance="S"), "[methods.x] variance must not stand beside call"),
        (call("fit", solver="newton"), "[methods.x] solver must not stand beside call"),
        (call("fit", releas=True), "did you mean 'release'"),
        ({"cal": "mine.py:fit"}, "did you mean 'call'"),
        ({"call": 3}, "[methods.x] call must be a valid string; got 3"),
        (call("fitt"), "[methods.x] call: mine.py has no function 'fitt'; did you mean 'fit'"),
    ],
)
def test_a_custom_method_that_cannot_be_is_refused_before_anything_runs(table, words):
    with pytest.raises(InvalidStudyError) as caught:
        mine({"x": table})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_custom_method_needs_contrasts():
    with pytest.raises(InvalidStudyError, match=r"\[methods.x\] call must have .* contrasts"):
        mine({"x": call("fit")}, estimands={})


def test_a_custom_method_is_known_by_its_text_and_nothing_is_predicted_for_it():
    study = mine({"x": call("fit", label="Mine"), "balanced": {}})
    other = mine({"x": call("fit"), "balanced": {}}, answer=GOOD | {"alpha[1]": (0, 1)})
    assert study.identity()["methods"]["x"] == {"call": "mine.py:fit", "release": True}
    assert study.identity() != other.identity()
    assert study.content(cell()) == other.content(cell()) == experiment().content(cell())
    known = {method for method, _, coverage in study.predicted(cell()) if not np.isnan(coverage)}
    assert known == {"balanced"}
    assert study.sources == {"mine.py": study.calls["x"].text}


def test_a_study_with_custom_methods_pickles():
    study = mine({"x": call("draws"), "balanced": {}})
    again = pickle.loads(pickle.dumps(study))
    assert run(again, cell())["x"].estimates == run(study, cell())["x"].estimates
