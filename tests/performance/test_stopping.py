"""Stopping on precision: hand-computed errors, and the cases that must go on."""

import math

import numpy as np
import pandas as pd
import pytest

from p0sim.performance.stopping import checkpoints, coverage_is_precise


def intervals(n, covering, method="paper", estimand="alpha[1]"):
    """n intervals around 0, the first `covering` of which hold their truth."""
    truth = np.where(np.arange(n) < covering, 0.0, 9.0)
    frame = pd.DataFrame({"rep": np.arange(1, n + 1), "lower": -1.0, "upper": 1.0})
    return frame.assign(method=method, estimand=estimand, estimate=0.0, true_value=truth)


def precise(frame, mcse, min_reps=1, methods=("paper",)):
    return coverage_is_precise(frame, methods, mcse, min_reps)


@pytest.mark.parametrize(
    ("n", "covering", "mcse"),
    [
        # p = 50/100: sqrt(0.25/100)
        (96, 48, 0.05),
        # p = 98/100 and 2/100: sqrt(0.0196/100), where the binomial form says 0
        (96, 96, 0.014),
        (96, 0, 0.014),
        # p = 360/400 = 0.9: sqrt(0.09/400)
        (396, 358, 0.015),
    ],
)
def test_the_error_is_the_one_computed_by_hand(n, covering, mcse):
    frame = intervals(n, covering)
    assert precise(frame, mcse * 1.000001)
    assert not precise(frame, mcse * 0.999999)


@pytest.mark.parametrize("covering", [0, 20])
def test_0_and_100_percent_do_not_stop_at_once(covering):
    """p = 2/24 or 22/24 has the error 0.0564 although all 20 intervals agree."""
    assert not precise(intervals(20, covering), 0.05)
    assert precise(intervals(20, covering), 0.06)


def test_the_value_itself_plays_no_part():
    """10 % coverage is as precise as 90 %, and no less welcome."""
    assert precise(intervals(396, 38), 0.0151) == precise(intervals(396, 358), 0.0151) is True


def test_fewer_usable_rows_than_the_least_are_not_enough():
    frame = intervals(100, 95)
    assert precise(frame, 0.4, min_reps=100)
    assert not precise(frame, 0.4, min_reps=101)


@pytest.mark.parametrize("column", ["lower", "upper", "true_value"])
def test_a_row_without_an_interval_or_a_truth_does_not_count(column):
    frame = intervals(100, 95)
    frame.loc[7, column] = np.nan
    assert not precise(frame, 0.4, min_reps=100)
    assert precise(frame, 0.4, min_reps=99)


def test_missing_intervals_make_nothing_precise_however_many():
    frame = pd.concat([intervals(96, 48), intervals(9999, 9999).assign(lower=np.nan)])
    assert precise(frame, 0.0501)
    assert not precise(frame, 0.0499)


def test_one_imprecise_method_keeps_the_cell_running():
    frame = pd.concat([intervals(900, 450), intervals(96, 48, method="balanced")])
    assert not precise(frame, 0.04, methods=("paper", "balanced"))
    assert precise(frame, 0.04, methods=("paper",))
    assert precise(frame, 0.06, methods=("paper", "balanced"))


def test_one_imprecise_estimand_keeps_the_cell_running():
    frame = pd.concat([intervals(900, 450), intervals(96, 48, estimand="beta[1]")])
    assert not precise(frame, 0.04)
    assert precise(frame, 0.06)


def test_methods_and_estimands_do_not_lend_each_other_rows():
    """Together 96 rows, but 48 for each: sqrt(0.25/52) = 0.069."""
    apart = [("a", "alpha[1]"), ("a", "beta[1]"), ("b", "alpha[1]"), ("b", "beta[1]")]
    frame = pd.concat([intervals(48, 24, *names) for names in apart])
    assert not precise(frame, 0.069, methods=("a", "b"))
    assert precise(frame, math.sqrt(0.25 / 52) * 1.000001, methods=("a", "b"))


def test_a_method_that_never_gave_an_interval_is_not_precise():
    assert not precise(intervals(900, 450), 0.4, methods=("paper", "failing"))
    no_intervals = intervals(900, 450, method="failing").assign(lower=np.nan, upper=np.nan)
    both = pd.concat([intervals(900, 450), no_intervals])
    assert not precise(both, 0.4, methods=("paper", "failing"))


def test_a_method_that_lacks_an_estimand_is_not_precise():
    frame = pd.concat([intervals(900, 450), intervals(900, 450, estimand="beta[1]")])
    other = intervals(900, 450, method="other")
    assert precise(frame, 0.4)
    assert not precise(pd.concat([frame, other]), 0.4, methods=("paper", "other"))


def test_no_rows_are_not_precise():
    assert precise(intervals(0, 0), 0.4, min_reps=0) is False


def test_the_order_of_rows_and_their_index_do_not_matter():
    frame = pd.concat([intervals(96, 48), intervals(96, 90, method="balanced")])
    for seed in range(5):
        mixed = frame.sample(frac=1, random_state=seed)
        assert precise(mixed, 0.0501, methods=("balanced", "paper"))
        assert not precise(mixed, 0.0499, methods=("balanced", "paper"))


def test_a_missing_truth_of_another_type_is_missing_too():
    frame = intervals(100, 95)
    frame["true_value"] = frame["true_value"].astype(object)
    frame.loc[3, "true_value"] = None
    assert not precise(frame, 0.4, min_reps=100)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((500, 1000, 250), (500, 750, 1000)),
        ((500, 1100, 250), (500, 750, 1000, 1100)),
        ((500, 500, 250), (500,)),
        ((500, 501, 250), (500, 501)),
        ((500, 100, 250), (100,)),
        ((1, 4, 1), (1, 2, 3, 4)),
    ],
)
def test_checkpoints_end_with_the_most_replicates(arguments, expected):
    assert checkpoints(*arguments) == expected
