"""Rows of estimates against the formulas written out."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from p0sim.errors import NoEstimateError, NotConvergedError
from p0sim.experiments.estimates import Estimate, failed, outcome_of


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_interval_and_z_are_those_of_a_normal_estimate(level):
    """Oracle: the standard library's normal quantile."""
    row = Estimate("mu", 1.5, 0.25, true_value=1.0).row(level)
    half = NormalDist().inv_cdf((1 + level) / 2) * 0.25
    assert row["lower"] == pytest.approx(1.5 - half, rel=1e-12)
    assert row["upper"] == pytest.approx(1.5 + half, rel=1e-12)
    assert (row["estimate"], row["std_error"], row["true_value"], row["z"]) == (1.5, 0.25, 1.0, 2.0)


def test_an_interval_of_its_own_is_kept():
    row = Estimate("p", 0.0, None, true_value=0.1, bounds=(0.0, 0.3)).row(0.95)
    assert (row["lower"], row["upper"]) == (0.0, 0.3)
    assert math.isnan(row["std_error"]) and math.isnan(row["z"])


def test_a_standard_error_of_0_is_an_interval_without_length():
    """Wald's interval at an observed share of 0: it exists and does not cover."""
    outcome = outcome_of([Estimate("p", 0.0, 0.0, true_value=0.1)], 0.95)
    row = outcome.estimates[0]
    assert (outcome.status, row["lower"], row["upper"]) == ("ok", 0.0, 0.0)
    assert math.isnan(row["z"])


def test_one_number_that_is_none_takes_the_whole_fit():
    good = Estimate("a", 1.0, 1.0, true_value=0.0)
    for bad, reason in [
        (Estimate("b", math.nan, 1.0, 0.0), "estimate of b is nan"),
        (Estimate("b", 0.0, math.inf, 0.0), "std_error of b is inf"),
        (Estimate("b", 0.0, 1.0, 0.0, (math.nan, 1.0)), "interval of b is nan to 1.0"),
    ]:
        outcome = outcome_of([good, bad], 0.95)
        assert (outcome.status, outcome.reason) == ("no_estimate", reason)
        assert outcome.estimates == ()


def test_the_two_errors_that_are_data_keep_what_they_say():
    assert failed(NoEstimateError("two\nlines")).reason == "two lines"
    assert failed(NoEstimateError("")).reason == "no reason given"
    stopped = failed(NotConvergedError(np.zeros(3), 0.25))
    assert (stopped.status, stopped.residual) == ("not_converged", 0.25)
