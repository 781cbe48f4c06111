"""The main experiment against its parts done by hand, and what it refuses."""

from __future__ import annotations

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


def streams(rep=1):
    return Streams(seed=5, own_key=(1, 2, 3, 4), shared_key=(1, 2, 3, 4), rep=rep)


def test_a_replicate_is_the_public_functions_in_a_row():
    """Oracle: the same draws through sample_bidegree, simulate_release, fit and contrast."""
    outcomes = {o.method: o for o in experiment().prepare(cell())(streams())}
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
    together = experiment().prepare(cell())(streams())
    alone = experiment({"balanced": METHODS["balanced"]}).prepare(cell())(streams())
    assert alone[0].estimates == together[2].estimates


def test_a_replicate_without_estimate_is_a_row_with_its_reason():
    """Strong noise on ten nodes: some margin leaves its range in most replicates."""
    run = experiment().prepare(cell(n=10, q=2, L=2.0, epsilon=0.2))
    outcomes = [o for rep in range(1, 11) for o in run(streams(rep))]
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
            errors = np.sqrt(covariance.contrast_variances(here.weights))
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
    changed = {**METHODS, "paper": {**METHODS["paper"], "variance": "exact"}}
    assert experiment(changed).identity() != experiment().identity()


def test_a_changed_parameter_file_is_another_study(tmp_path):
    sections = {"factors": ("epsilon",), "model": {"theta": "parameters:t.csv", "q": 2}}
    (tmp_path / "t.csv").write_text("node,alpha,beta\na,0.5,0.1\nb,0,-0.2\nc,-0.5,0\n")
    before = experiment(folder=tmp_path, **sections).identity()
    (tmp_path / "t.csv").write_text("node,alpha,beta\na,0.5,0.1\nb,0,-0.3\nc,-0.5,0\n")
    assert experiment(folder=tmp_path, **sections).identity() != before


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
    ],
)
def test_a_section_that_breaks_a_rule_is_refused_in_one_line(change, words):
    with pytest.raises(InvalidStudyError) as caught:
        experiment(**change)
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
        experiment().in_cell(cell(**factors))


@pytest.mark.parametrize("term", ["alpha[0]", "alpha[n+1]", "alpha[n/3]", "gamma[1]", "alpha[1"])
def test_an_estimand_that_names_nothing_is_refused(term):
    with pytest.raises(p0.P0SimError):
        experiment(estimands={"contrasts": [term]}).in_cell(cell())


def test_parameters_beyond_floating_point_have_no_prediction_and_no_warning():
    """L = 1000: every variance underflows; warnings are errors in this suite."""
    study = experiment()
    here = study.in_cell(cell(n=20, q=2, L=1000.0))
    assert not np.isfinite(here.predicted_coverage(study.specs["paper"])[0])
