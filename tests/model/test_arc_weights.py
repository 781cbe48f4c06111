"""What is a whole number, in every type that a weight arrives in; what clipping does and not."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from p0sim.model.arc_weights import whole_weights
from tests.oracles.refusals import refusal


def place(k: int) -> str:
    return f"in row {k + 1}"


def column(*values) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


TWOS = [
    *(np.array([2], dtype=kind) for kind in ("i1", "u1", "u8", "i8", "f2", "f4", "f8", "O")),
    *(
        column(x)
        for x in ("2", "2.", "2.0", "+2", "02", Decimal(2), Decimal("2.00"), Fraction(4, 2))
    ),
    *(column(x) for x in (np.float32(2), np.uint8(2), Decimal("0.2E+1"))),
]
NOT_WHOLE = [
    *("", " 2", "2 ", "2,0", "1_0", "0x1", "1e0", "two", "--1", "1/1", "nan", "inf", "2.5", "٢"),
    *(0.5, 1e-9, np.nan, np.inf, -np.inf, None, pd.NA, Fraction(1, 2), 1j, b"2", (2,)),
    *(Decimal("0.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1E+999999")),
    *("9" * 5000, 10**400, 2.0**60),
]


@pytest.mark.parametrize("values", TWOS, ids=repr)
@pytest.mark.parametrize("clip", [False, True])
def test_two_is_two_in_every_type(values, clip):
    weights = whole_weights(values, 3, place, clip=clip)
    assert weights.dtype == np.int64
    assert weights.tolist() == [2]


@pytest.mark.parametrize("bad", NOT_WHOLE, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("clip", [False, True])
def test_what_is_no_whole_number_is_refused_also_when_clipping(bad, clip):
    """Clipping moves a number that is too large; it does not round, read words or fill blanks."""
    message = refusal(
        lambda: whole_weights(column(1, bad), 3, place, clip=clip), "whole number", "row 2"
    )
    assert len(message) < 200


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("bad", [0.5, np.nan, np.inf])
def test_fractions_in_float_columns_are_refused_also_when_clipping(kind, bad):
    values = np.array([1, bad], dtype=kind)
    for clip in (False, True):
        refusal(lambda clip=clip: whole_weights(values, 3, place, clip=clip), str(bad), "row 2")


LARGE = {
    "int8": np.array([-128, -1, 0, 2, 3, 127], "i1"),
    "int64": np.array([-(2**53), -1, 0, 2, 3, 2**53]),
    "uint64": np.array([0, 0, 0, 2, 3, 2**53], "u8"),
    "float": np.array([-(2.0**53), -1, -0.0, 2, 3, 2.0**53]),
    "text": column("-9007199254740992", "-1", "-0", "2", "3", "9007199254740992"),
    "numbers": column(-(2**53), Decimal(-1), 0, 2.0, Fraction(3), 2**53),
}


@pytest.mark.parametrize("kind", LARGE)
def test_clipping_moves_whole_numbers_to_the_nearer_end(kind):
    """q = 3: below 0 is 0, above 2 is 2."""
    assert whole_weights(LARGE[kind], 3, place, clip=True).tolist() == [0, 0, 0, 2, 2, 2]


@pytest.mark.parametrize(
    "beyond",
    [np.array([2**63 + 1], "u8"), np.array([2**62]), column(str(2**53 + 1)), column(2**70)],
)
def test_beyond_2_to_the_53_nothing_is_exact_any_more(beyond):
    for clip in (False, True):
        refusal(lambda clip=clip: whole_weights(beyond, 3, place, clip=clip), "weight", "row 1")


@pytest.mark.parametrize("kind", ["m8[ns]", "M8[s]"])
def test_times_are_no_weights(kind):
    for clip in (False, True):
        values = np.array([1, 2], dtype=kind)
        refusal(lambda clip=clip, v=values: whole_weights(v, 3, place, clip=clip), "whole", "row 1")


def test_the_first_of_several_is_named():
    refusal(lambda: whole_weights(column("1", "5", "-1"), 3, place), "0..q-1 = 2", "'5'", "row 2")
