"""Contrasts of one cell: every node's parameter, nulls, values and variances."""

from __future__ import annotations

import numpy as np
import pytest

import p0sim as p0
from p0sim.errors import InvalidStudyError
from p0sim.experiments.sections import ContrastSection
from p0sim.experiments.targets import Targets, fill_contrasts
from p0sim.inference.covariance import model_covariance

TERMS = ["alpha[2]", "alpha[1]-alpha[2]", "beta[4]", "2*alpha[3]", "alpha[1]+beta[5]", "alpha[1]"]


def entries(*texts, null=0.0):
    return [ContrastSection(contrast=text, null=null) for text in texts]


def weights_by_hand():
    """The rows of TERMS over theta = alpha_1..alpha_5, beta_1..beta_4; beta_5 is 0."""
    rows = np.zeros((6, 9))
    rows[0, 1] = 1
    rows[1, [0, 1]] = 1, -1
    rows[2, 8] = 1
    rows[3, 2] = 2
    rows[4, 0] = 1
    rows[5, 0] = 1
    return rows


def test_alpha_of_every_node_has_n_and_beta_one_less():
    assert list(fill_contrasts(entries("alpha[*]"), {"n": 3})) == [
        "alpha[1]",
        "alpha[2]",
        "alpha[3]",
    ]
    assert list(fill_contrasts(entries(" beta[ * ] "), {"n": 3})) == ["beta[1]", "beta[2]"]


def test_positions_are_filled_and_blanks_left_out():
    filled = fill_contrasts(entries("alpha[n/2] - alpha[n]"), {"n": 6})
    assert list(filled) == ["alpha[3]-alpha[6]"]


def test_a_null_is_that_of_every_node_it_is_given_for():
    given = entries("alpha[1]-alpha[2]") + entries("beta[*]", null=-0.5)
    assert fill_contrasts(given, {"n": 3}) == {
        "alpha[1]-alpha[2]": 0.0,
        "beta[1]": -0.5,
        "beta[2]": -0.5,
    }


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["alpha[*]", "alpha[2]"], r"contrasts must differ; got alpha\[2\] twice"),
        (["alpha[*]-alpha[1]"], r"must hold \[\*\] in alpha\[\*\] or beta\[\*\] alone; got 'alpha"),
        (["gamma[*]"], r"must hold \[\*\] in alpha\[\*\] or beta\[\*\] alone; got 'gamma"),
        (["alpha[2*]"], r"'2\*' is not a formula"),
    ],
)
def test_contrasts_that_break_a_rule_are_refused(texts, words):
    with pytest.raises(InvalidStudyError, match=words):
        fill_contrasts(entries(*texts), {"n": 5})


def test_values_are_weighted_sums_whether_looked_up_or_multiplied_out():
    theta = np.array([0.3, -0.2, 0.7, 1.1, -0.4, 0.25, -1.5, 0.6, 0.9])
    got = Targets.of(TERMS, [str(node) for node in range(1, 6)]).values(theta)
    np.testing.assert_array_equal(got, weights_by_hand() @ theta)


@pytest.mark.parametrize("variance", ["S", "noise", "exact"])
@pytest.mark.parametrize("margins", ["balanced", "drop_last"])
def test_variances_are_quadratic_forms_of_the_whole_covariance(variance, margins):
    """Oracle: w' C w with the dense matrix."""
    covariance = model_covariance(p0.linear_design(5, 0.5, 3), 4.0, margins, variance)
    targets = Targets.of(TERMS, [str(node) for node in range(1, 6)])
    rows = weights_by_hand()
    expected = np.diag(rows @ covariance.matrix() @ rows.T)
    np.testing.assert_allclose(targets.variances(covariance), expected, rtol=1e-12)


def test_a_thousand_single_parameters_need_no_rows_of_weights():
    targets = Targets.of([f"alpha[{i}]" for i in range(1, 1001)], list(map(str, range(1, 1001))))
    assert targets.weights.shape == (0, 1999)


def test_the_parameter_that_is_0_by_the_model_is_refused():
    with pytest.raises(p0.P0SimError, match=r"must hold a free parameter; got 'beta\[3\]'"):
        Targets.of(["beta[3]"], ["1", "2", "3"])
