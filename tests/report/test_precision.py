"""Decimals follow the Monte Carlo standard error."""

import numpy as np
import pandas as pd
import pytest

from p0sim.report.precision import decimals, most_decimals, places_of, printed, printed_mcse


def rows(value, mcse, n_used):
    return pd.DataFrame({"value": value, "mcse": mcse, "n_used": n_used})


@pytest.mark.parametrize(
    ("mcse", "places"), [(0.78, 1), (0.1, 1), (0.099, 2), (0.004, 2), (1.6, 0), (30.0, 0)]
)
def test_the_last_decimal_is_the_first_significant_digit_of_the_mcse(mcse, places):
    assert decimals(np.array([mcse])) == [places]


def test_one_table_has_one_number_of_decimals_but_for_far_coarser_cells():
    assert decimals(np.array([0.7, 0.8, 0.9, 25.0, np.nan])) == [1, 1, 1, 0, 1]


def test_a_measure_without_monte_carlo_error_has_one_decimal():
    """A prediction: its digits say nothing of the replicates."""
    assert decimals(np.array([np.nan])) == [1]


def test_a_share_of_one_has_no_zero_error_in_print():
    """Oracle: x = n = 96 gives p = 98/100 and sqrt(0.98 x 0.02/100) = 0.014."""
    got = printed_mcse("coverage", rows([1.0], [0.0], [96]))
    np.testing.assert_allclose(got, [1.4])


def test_measures_that_are_no_shares_keep_their_unit():
    np.testing.assert_allclose(printed_mcse("ci_width", rows([1.0], [0.02], [96])), [0.02])


@pytest.mark.parametrize(
    ("measure", "value", "places", "text"),
    [
        ("coverage", float("nan"), 1, "–"),
        ("coverage", 0.0, 1, "0"),
        ("coverage", 0.9996, 1, "99.96"),
        ("fail_rate", 0.004, 0, "0.4"),
        ("ci_width", 0.0, 2, "0.00"),
        ("bias", -0.0004, 2, "0.00"),
        ("bias_diff", 0.0213, 2, "+0.02"),
        ("bias_diff", -0.0213, 2, "-0.02"),
        ("bias_diff", 0.0004, 2, "0.00"),
        ("coverage_diff", 0.0004, 1, "0.0"),
        ("coverage_diff", 1.0, 1, "+100.0"),
        ("normality", 0.0004, 4, "<0.001"),
        ("normality", 0.0, 3, "<0.001"),
        ("normality", 0.0512, 3, "0.051"),
        ("normality_lilliefors", float("nan"), 3, "–"),
    ],
)
def test_only_an_exact_share_is_printed_as_0_or_100(measure, value, places, text):
    assert printed(measure, value, places) == text


@pytest.mark.parametrize(
    ("measure", "values", "most"),
    [
        ("ci_width", [0.0412, 0.05, 0.03], 3),
        ("ci_width", [1.4, np.nan], 2),
        ("bias", [-0.00007], 4),
        ("bias", [0.0], 2),
        ("ci_width", [np.nan], 2),
        ("coverage", [0.01], 2),
        ("rel_err_se", [0.01], 2),
        ("a measure of ones own", [0.0412], 3),
    ],
)
def test_only_small_numbers_have_more_than_two_decimals(measure, values, most):
    assert most_decimals(measure, np.array(values)) == most


@pytest.mark.parametrize(("mcse", "places"), [(0.0001, 3), (0.002, 3), (0.01, 2), (0.3, 1)])
def test_small_numbers_have_no_more_decimals_than_their_mcse_allows(mcse, places):
    assert places_of("ci_width", rows([0.0412], [mcse], [100])) == [places]


def test_the_error_of_a_difference_of_shares_is_in_points():
    """A difference of 0 with error 0 is no binomial share."""
    got = printed_mcse("coverage_diff", rows([0.02, 0.0], [0.012, 0.0], [100, 100]))
    np.testing.assert_allclose(got, [1.2, 0.0])


def test_p_values_have_three_decimals_and_tiny_ones_a_digit():
    p_values = rows([0.2, 0.00034, 0.0, np.nan], np.nan, [100] * 4)
    assert places_of("normality", p_values) == [3, 4, 3, 3]
