"""Replicates for a wanted Monte Carlo error: by hand, by exact fractions and by running them."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from p0sim.columns import MEASURES
from p0sim.errors import InvalidParametersError, InvalidStudyError
from p0sim.performance.planning import parse_wanted, plan
from p0sim.performance.summarise import performance


def result(measure, value, mcse, n_used=100, n_attempted=100, **keys):
    row = {"cell": "c1", "n": 50, "method": "paper", "estimand": "alpha[1]", "measure": measure}
    numbers = {"value": value, "mcse": mcse, "n_used": n_used, "n_attempted": n_attempted}
    return row | numbers | keys


def pilot(*rows):
    return pd.DataFrame(rows)


def reps(table):
    return table["reps"].tolist()


def test_without_a_pilot_coverage_is_planned_at_its_level_and_for_the_worst_case():
    table = plan(None, {"coverage": 0.005})
    assert table["basis"].tolist() == ["at 95 % coverage", "worst case (50 %)"]
    assert reps(table) == [1900, 10000]
    assert table["cell"].tolist() == ["", ""]


def test_the_level_is_that_of_the_intervals():
    table = plan(None, {"coverage": 0.01}, level=0.9)
    assert table["basis"].tolist() == ["at 90 % coverage", "worst case (50 %)"]
    assert reps(table) == [900, 2500]


def test_the_level_of_coverage_says_nothing_about_failures():
    assert reps(plan(None, {"fail_rate": 0.01})) == [2500]


def test_floats_neither_add_nor_lose_a_replicate():
    """Oracle: the same decimals as exact fractions, for 1 500 pairs of level and error."""
    differing = 0
    for percent in range(50, 100):
        for tenths in range(1, 31):
            level, mcse = percent / 100, tenths / 1000
            share, error = Fraction(percent, 100), Fraction(tenths, 1000)
            exact = math.ceil(share * (1 - share) / error**2)
            assert reps(plan(None, {"coverage": mcse}, level))[0] == exact
            differing += math.ceil(level * (1 - level) / mcse**2) != exact
    assert differing, "the control: plain floats get some of them wrong"


def test_a_pilots_error_shrinks_with_the_root_of_the_replicates():
    """Four times the error needs sixteen times the replicates."""
    table = plan(pilot(result("bias", 0.1, 0.04)), {"bias": 0.01})
    assert reps(table) == [1600]
    assert table["basis"].tolist() == ["pilot, largest over cells"]


def test_failures_of_the_pilot_are_planned_for():
    """The error of 80 usable of 100 replicates, halved: 320 usable, so 400 of them."""
    assert reps(plan(pilot(result("bias", 0.1, 0.02, n_used=80)), {"bias": 0.01})) == [400]


def test_a_proportion_is_planned_with_two_more_of_either_kind():
    """p = (94+2)/(96+4) = 0.96: 0.96 x 0.04/0.01^2 = 384 usable, of 96 in 120: 480."""
    row = result("coverage", 94 / 96, 0.0146, n_used=96, n_attempted=120)
    assert reps(plan(pilot(row), {"coverage": 0.01})) == [480]


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_0_and_100_percent_plan_no_zero_replicates(value):
    """p = 2/100 or 98/100: 0.0196/0.005^2 = 784, where the binomial error 0 would say none."""
    row = result("coverage", value, 0.0, n_used=96, n_attempted=96)
    assert reps(plan(pilot(row), {"coverage": 0.005})) == [784]


def test_a_failure_rate_of_zero_is_planned_too():
    row = result("fail_rate", 0.0, 0.0, n_used=96, n_attempted=96, estimand="theta")
    assert reps(plan(pilot(row), {"fail_rate": 0.005})) == [784]


def test_the_most_demanding_target_is_named():
    rows = [
        result("bias", 0.1, 0.02),
        result("bias", 0.1, 0.05, cell="c2", method="balanced", estimand="beta[1]"),
        result("bias", 0.1, 0.03, cell="c3"),
        result("rmse", 0.1, 9.00, cell="c4"),
    ]
    table = plan(pilot(*rows), {"bias": 0.01})
    assert table[["cell", "method", "estimand"]].to_numpy().tolist() == [
        ["c2", "balanced", "beta[1]"]
    ]
    assert reps(table) == [2500]


def test_a_small_pilot_cell_with_a_large_error_does_not_need_more_for_being_small():
    """0.1 from 25 is as noisy as 0.05 from 100: both need 2 500 for 0.01."""
    few = result("bias", 0.1, 0.1, n_used=25, n_attempted=25)
    assert reps(plan(pilot(few), {"bias": 0.01})) == [2500]
    assert reps(plan(pilot(result("bias", 0.1, 0.05)), {"bias": 0.01})) == [2500]


def test_targets_without_an_error_are_counted_not_planned():
    rows = [
        result("coverage", 0.9, 0.03),
        result("coverage", np.nan, np.nan, n_used=0, cell="c2"),
        result("bias", 0.1, 0.02),
        result("bias", 0.1, np.nan, n_used=1, cell="c2"),
        result("bias", np.nan, np.nan, n_used=0, cell="c3"),
    ]
    table = plan(pilot(*rows), {"coverage": 0.01, "bias": 0.01})
    assert table["n_unknown"].tolist() == [1, 2]
    assert table["cell"].tolist() == ["c1", "c1"]


def test_a_pilot_that_knows_nothing_of_a_measure_is_no_pilot_for_it():
    frame = pilot(result("coverage", np.nan, np.nan, n_used=0), result("bias", 0.1, 0.02))
    assert reps(plan(frame, {"coverage": 0.005})) == [1900, 10000]
    with pytest.raises(InvalidStudyError, match="--reps 50 first"):
        plan(frame, {"rmse": 0.01})


def test_an_error_of_zero_plans_one_replicate():
    assert reps(plan(pilot(result("ci_width", 2.0, 0.0)), {"ci_width": 0.01})) == [1]


def test_every_measure_has_its_rows_in_the_order_wanted():
    frame = pilot(result("bias", 0.1, 0.02))
    table = plan(frame, {"fail_rate": 0.01, "bias": 0.01, "coverage": 0.01})
    assert table["measure"].tolist() == ["fail_rate", "bias", "coverage", "coverage"]
    assert reps(table) == [2500, 400, 475, 2500]


def test_the_planned_replicates_give_the_wanted_error():
    """Errors of SD 2 need (2/0.05)^2 = 1 600; a pilot of 400 knows that within 7 %.

    Five standard errors: a false alarm in 2 million. Control: SD 2.5 needs 2 500.
    """
    rng = np.random.default_rng(20240501)

    def planned(sd):
        noise = rng.normal(0, sd, 400)
        cells = pd.DataFrame({"cell": ["c1"], "n": [50]})
        fits = pd.DataFrame({"cell": "c1", "method": "paper", "rep": np.arange(400)})
        estimates = fits.assign(estimand="alpha[1]", estimate=noise, std_error=sd, true_value=0.0)
        estimates = estimates.assign(lower=noise - 2 * sd, upper=noise + 2 * sd)
        table = performance(cells, fits.assign(status="ok", sup_error=np.nan), estimates)
        return reps(plan(table, {"bias": 0.05}))[0]

    assert planned(2.0) == pytest.approx(1600, rel=0.35)
    assert planned(2.5) != pytest.approx(1600, rel=0.35)


def test_every_measure_with_an_error_can_be_planned_from_results():
    names = [name for name in MEASURES if name != "predicted_coverage" and "norm" not in name]
    frame = pilot(*(result(name, 0.5, 0.05) for name in names))
    assert plan(frame, dict.fromkeys(names, 0.01))["measure"].tolist() == names


def test_a_difference_of_coverage_is_planned_from_its_own_error_also_below_zero():
    frame = pilot(result("coverage_diff", -0.02, 0.02))
    assert reps(plan(frame, {"coverage_diff": 0.01})) == [400]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"coverag": 0.005}, "mcse has an unknown key 'coverag'; did you mean 'coverage'"),
        ({"predicted_coverage": 0.005}, "unknown key 'predicted_coverage'"),
        ({"normality": 0.005}, "unknown key 'normality'"),
        ({"coverage_diff": 0.005}, "mcse of coverage_diff must be planned from results"),
        ({"coverage": 0.0}, "mcse of coverage must be positive and finite; got 0.0"),
        ({"bias": -0.1}, "mcse of bias must be positive and finite; got -0.1"),
        ({"bias": math.inf}, "positive and finite; got inf"),
        ({"bias": math.nan}, "positive and finite; got nan"),
        ({"coverage": 0.5}, "must be a share below 0.5, half a percentage point .*; got 0.5"),
        ({"coverage": 1e-200}, r"mcse of coverage must need at most 1e\+15 replicates; got 1e-200"),
        ({"bias": 0.01}, "mcse of bias must be planned from results .* run p0sim run STUDY --reps"),
        ({}, "mcse must be wanted of at least one measure; got none"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_line(wanted, words):
    with pytest.raises(InvalidStudyError, match=words) as caught:
        plan(None, wanted)
    assert "\n" not in str(caught.value)


def test_an_error_out_of_reach_of_a_pilot_is_refused():
    with pytest.raises(InvalidStudyError, match="at most 1e"):
        plan(pilot(result("bias", 0.1, 0.02)), {"bias": 1e-200})


def test_a_level_outside_0_1_is_refused():
    with pytest.raises(InvalidParametersError, match="strictly between 0 and 1; got 95"):
        plan(None, {"coverage": 0.005}, level=95.0)


def test_wanted_errors_are_read_from_the_command_line():
    assert parse_wanted(["coverage=0.005", " bias = 1e-2"]) == {"coverage": 0.005, "bias": 0.01}


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["coverage"], "mcse must be MEASURE=NUMBER, such as coverage=0.005; got 'coverage'"),
        (["coverage="], "got 'coverage='"),
        (["coverage=half"], "got 'coverage=half'"),
        (["coverage=0.5%"], "got 'coverage=0.5%'"),
        (["bias=0.1", "bias=0.2"], "mcse must name each measure once; got 'bias' twice"),
    ],
)
def test_wanted_errors_that_cannot_be_read_are_refused(texts, words):
    with pytest.raises(InvalidStudyError, match=words):
        parse_wanted(texts)
