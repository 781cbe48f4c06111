"""Contrasts between any two parameters, by any labels."""

from __future__ import annotations

import numpy as np
import pytest

import p0sim as p0
from tests.oracles import covariance as oracle
from tests.oracles import examples
from tests.oracles.refusals import refusal

N, Q, EPSILON = 6, 4, 3.0
ODD_LABELS = ("a-b", "c+d", "e f", "g[1]", "0.5*h", "δ, ε")
COLUMNS = ["term", "estimate", "std_error", "statistic", "p_value", "lower", "upper"]


def fitted(nodes=None, margins: str = "balanced") -> p0.P0Results:
    out_degree, in_degree = examples.noisy_degrees(N, Q, 30.0, seed=2)
    z = p0.NoisyBiDegree(out_degree, in_degree, Q, EPSILON, nodes)
    return p0.fit(z, margins=margins)


def expected(
    fit: p0.P0Results, weights: np.ndarray, margins: str, variance: str
) -> tuple[float, float]:
    """Estimate and standard error by plain matrix algebra; weights over all alpha, beta."""
    tau = oracle.laplace_variance(Q, EPSILON)
    cov = oracle.covariance(fit.alpha, fit.beta, Q, tau, margins, variance)
    free = weights[:-1]
    return weights @ np.append(fit.alpha, fit.beta), np.sqrt(free @ cov @ free)


PAIRS = {
    "alpha[1]-alpha[2]": {0: 1, 1: -1},
    "alpha[3]+beta[1]": {2: 1, 6: 1},
    "beta[1]-beta[4]": {6: 1, 9: -1},
    "alpha[2]+beta[6]": {1: 1, 11: 1},
    "beta[2]-beta[6]": {7: 1, 11: -1},
    "alpha[5]": {4: 1},
    "beta[5]": {10: 1},
    "alpha[1]-beta[1]": {0: 1, 6: -1},
    "-alpha[1]+alpha[6]": {0: -1, 5: 1},
    "alpha[1] - alpha[2]": {0: 1, 1: -1},
    "alpha[1]+alpha[2]-alpha[3]-alpha[4]": {0: 1, 1: 1, 2: -1, 3: -1},
}


@pytest.mark.parametrize("variance", ["noise", "S", "exact"])
@pytest.mark.parametrize("margins", ["balanced", "drop_last"])
def test_contrasts_agree_with_matrix_algebra(margins, variance):
    """Oracle: l'theta and sqrt(l' C l); beta of the last node is 0 without error."""
    fit = fitted(margins=margins)
    table = fit.contrast(list(PAIRS), variance=variance)
    for row, signs in zip(table.itertuples(), PAIRS.values(), strict=True):
        weights = np.zeros(2 * N)
        weights[list(signs)] = list(signs.values())
        estimate, std_error = expected(fit, weights, margins, variance)
        assert row.estimate == pytest.approx(estimate, abs=1e-12)
        assert row.std_error == pytest.approx(std_error, rel=1e-8)


def test_beta_of_the_last_node_adds_nothing():
    """alpha_i + beta_n is alpha_i, in estimate and error."""
    table = fitted().contrast(["alpha[2]+beta[6]", "alpha[2]"])
    np.testing.assert_array_equal(table.iloc[0, 1:].astype(float), table.iloc[1, 1:].astype(float))


def test_a_contrast_is_one_row_and_a_list_one_row_each():
    fit = fitted()
    one = fit.contrast("alpha[1]-alpha[2]")
    assert list(one.columns) == COLUMNS
    assert len(one) == 1
    many = fit.contrast(["alpha[1]-alpha[2]", "beta[1]"])
    assert list(many["term"]) == ["alpha[1]-alpha[2]", "beta[1]"]
    assert one.iloc[0].to_dict() == many.iloc[0].to_dict()


def test_intervals_and_p_values_are_normal_ones():
    """1.959964 standard errors at 95 %, 1.644854 at 90 %; p = 2 (1 - Phi(|z|))."""
    fit = fitted()
    for level, quantile in ((0.95, 1.959963984540054), (0.9, 1.6448536269514722)):
        row = fit.contrast("alpha[1]-alpha[2]", level=level).iloc[0]
        assert row["lower"] == pytest.approx(
            row["estimate"] - quantile * row["std_error"], rel=1e-12
        )
        assert row["upper"] == pytest.approx(
            row["estimate"] + quantile * row["std_error"], rel=1e-12
        )
        assert row["statistic"] == pytest.approx(row["estimate"] / row["std_error"], rel=1e-12)
    from math import erfc, sqrt

    assert row["p_value"] == pytest.approx(erfc(abs(row["statistic"]) / sqrt(2)), rel=1e-10)


def test_odd_labels_work_as_they_are():
    """Signs, blanks, brackets and stars inside a label, every pair of nodes."""
    plain, odd = fitted(), fitted(nodes=ODD_LABELS)
    for i in range(N):
        for j in range(N):
            if i == j:
                continue
            one = plain.contrast(f"alpha[{i + 1}]+beta[{j + 1}]").iloc[0, 1:]
            other = odd.contrast(f"alpha[{ODD_LABELS[i]}]+beta[{ODD_LABELS[j]}]").iloc[0, 1:]
            np.testing.assert_array_equal(one.astype(float), other.astype(float))


def test_labels_that_look_alike_stay_apart():
    fit = fitted(nodes=["1", "01", "1.0", " 1", "10", "001"])
    table = fit.contrast([f"alpha[{node}]" for node in fit.nodes])
    np.testing.assert_array_equal(table["estimate"], fit.alpha)


@pytest.mark.parametrize("unknown", ["alpha[7]-alpha[1]", "beta[0]", "alpha[01]-alpha[2]"])
def test_unknown_nodes_are_named(unknown):
    refusal(lambda: fitted().contrast(unknown), "contrast", unknown)


@pytest.mark.parametrize(
    "nonsense",
    ["", "gamma[1]", "alpha[1]alpha[2]", "alpha[1]*alpha[2]", "alpha", "alpha[1]-", "1", "alpha[]"],
)
def test_what_is_no_contrast_is_refused(nonsense):
    refusal(lambda: fitted().contrast(nonsense), "contrast", repr(nonsense)[1:-1])


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("alpah[1]", "alpah"),
        ("alpah[1]-alpha[2]", "alpah"),
        ("alpha[1]-alpah[2]", "alpah"),
        ("alpha[1]-2*alpah[2]-alpha[3]", "alpah"),
        ("Alpha[1]+beta[2]", "Alpha"),
    ],
)
def test_a_misspelt_parameter_is_named_with_what_was_meant(text, got):
    refusal(
        lambda: fitted().contrast(text),
        f"contrast must name parameters alpha or beta; got {got!r} in {text!r}",
        "did you mean 'alpha'?",
    )


@pytest.mark.parametrize("text", ["alpha[1]*alpha[2]", "alpha[1]/beta[2]", "alpha[1]beta[2]"])
def test_what_is_no_sum_is_not_taken_for_a_node(text):
    refusal(lambda: fitted().contrast(text), "contrast must be a sum such as", repr(text))


def test_a_node_with_brackets_is_still_a_node():
    fit = fitted(ODD_LABELS)
    assert fit.contrast("alpha[g[1]]")["term"].tolist() == ["alpha[g[1]]"]
    refusal(lambda: fit.contrast("alpha[g[2]]"), "must name known nodes; got 'g[2]'")


@pytest.mark.parametrize("empty", ["beta[6]", "alpha[1]-alpha[1]"])
def test_contrasts_without_a_free_parameter_are_refused(empty):
    """beta of the last node is 0 by the model: there is nothing to estimate."""
    refusal(lambda: fitted().contrast(empty), "contrast", empty)


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, np.nan])
def test_levels_lie_between_zero_and_one(level):
    refusal(lambda: fitted().contrast("alpha[1]", level=level), "level must", "got")
