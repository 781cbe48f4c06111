"""Privacy losses as exact fractions: what is read, what is refused, how it is written again."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from p0sim.errors import InvalidPrivacyError
from p0sim.privacy.exact_epsilon import exact_epsilon, exact_text
from tests.oracles.refusals import refusal


@pytest.mark.parametrize(
    ("written", "value", "text"),
    [
        ("0.1", Fraction(1, 10), "0.1"),
        ("7/3", Fraction(7, 3), "7/3"),
        ("2", Fraction(2), "2"),
        (".5", Fraction(1, 2), ".5"),
        ("0.000001", Fraction(1, 10**6), "0.000001"),
        (3, Fraction(3), "3"),
        (np.int64(3), Fraction(3), "3"),
        (Fraction(7, 3), Fraction(7, 3), "7/3"),
    ],
)
def test_decimals_and_fractions_are_read_exactly(written, value, text):
    found = exact_epsilon(written)
    assert (found.value, found.text) == (value, text)


def test_a_decimal_is_not_the_float_that_looks_like_it():
    assert exact_epsilon("0.1").value != Fraction(0.1)


@pytest.mark.parametrize(
    "bad", ["0", "-1.0", "-7/3", "nan", "inf", "-inf", "Infinity", 0, -1, Fraction(-1, 2)]
)
def test_it_must_be_positive_and_finite(bad):
    refusal(partial(exact_epsilon, bad), "epsilon must be positive and finite", f"got {bad}")


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf"), np.float64(-2.5)])
def test_a_float_that_is_no_loss_at_all_is_told_so(bad):
    refusal(partial(exact_epsilon, bad), "epsilon must be positive and finite", f"got {bad!s}")


@pytest.mark.parametrize("tiny", ["0.0000009", "1/1000001", Fraction(1, 10**7)])
def test_it_must_be_at_least_one_millionth(tiny):
    refusal(partial(exact_epsilon, tiny), "epsilon must be at least 1e-06", f"got {tiny}")


@pytest.mark.parametrize(
    "bad",
    [
        "1_0",
        "0x1",
        " 1 e3",
        "1e3",
        " 1",
        "1 ",
        "1,5",
        "",
        "half",
        "1/0",
        "0.5/2",
        "1/2/3",
        "--1",
        "١",
        "1\n",
        "+1",
        ".",
    ],
)
def test_text_of_another_form_is_refused(bad):
    refusal(partial(exact_epsilon, bad), 'epsilon must be a decimal such as "0.1"', "got '")


@pytest.mark.parametrize("bad", [0.1, np.float64(0.1), np.float32(0.1), 2.0])
def test_a_float_is_refused_with_the_text_to_write(bad):
    refusal(partial(exact_epsilon, bad), "a float is not", f'write "{bad!s}"', error=TypeError)


@pytest.mark.parametrize("bad", [True, np.True_, None, 1j, Decimal("0.1"), [1], b"1"])
def test_other_kinds_are_refused(bad):
    refusal(partial(exact_epsilon, bad), "epsilon must be text", repr(bad), error=TypeError)


def test_very_long_text_is_refused_and_cut():
    message = refusal(
        lambda: exact_epsilon("9" * 2000), "epsilon must have at most 100 characters", "got 2000"
    )
    assert len(message) < 250


@pytest.mark.parametrize("places", [60, 5_000], ids=["long", "too long for Python to write"])
@pytest.mark.parametrize("kind", [Fraction, int])
def test_a_number_that_text_could_not_say_is_refused_by_the_same_rule(kind, places):
    """1 + 10^-60 is 61 digits, a bar and 61 digits; Python itself stops at 4300 digits."""
    value = Fraction(10**places + 1, 10**places) if kind is Fraction else 10 ** (2 * places)
    message = refusal(partial(exact_epsilon, value, "budget"), "budget must have at most 100")
    assert len(message) < 250


def test_control_a_fraction_of_100_characters_is_accepted_and_reads_back():
    """50 digits, a bar and 49 digits; one digit more is one too many."""
    value = Fraction(10**49 + 1, 10**48)
    found = exact_epsilon(value)
    assert len(found.text) == 100
    assert exact_epsilon(found.text).value == value
    refusal(partial(exact_epsilon, Fraction(10**49 + 1, 10**49)), "got 101")


def test_the_name_of_the_argument_is_said():
    refusal(lambda: exact_epsilon("0", "budget"), "budget must be", error=InvalidPrivacyError)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 8), "0.125"),
        (Fraction(1, 10**6), "0.000001"),
        (Fraction(-3, 2), "-1.5"),
        (Fraction(0), "0"),
        (Fraction(10), "10"),
        (Fraction(22, 7), "22/7"),
    ],
)
def test_a_fraction_is_written_as_a_decimal_where_it_ends(value, text):
    assert exact_text(value) == text
    assert Fraction(text) == value


def test_decimals_add_up_exactly():
    """0.1 + 0.2 as floats is not 0.3."""
    total = sum((exact_epsilon(text).value for text in ("0.2", "0.3", "0.5")), Fraction(0))
    assert exact_text(total) == "1"
    assert exact_text(exact_epsilon("0.1").value + exact_epsilon("0.2").value) == "0.3"
