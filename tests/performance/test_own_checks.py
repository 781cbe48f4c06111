"""What is refused of anybody's frame: one line that names the argument, the rule and the value."""

import numpy as np
import pandas as pd
import pytest

from p0sim.errors import InvalidStudyError
from p0sim.performance.own_frames import OwnFrame
from p0sim.performance.summarise import summarise

NAN = np.nan
FRAME = pd.DataFrame(
    {
        "m": ["x", "x", "y"],
        "r": [1, 2, 1],
        "b": [1.0, 2.0, 3.0],
        "se": 0.5,
        "lo": [0.0, 1.0, 2.0],
        "hi": [2.0, 3.0, 4.0],
    }
)
ALL = {"estimate": "b", "std_error": "se", "lower": "lo", "upper": "hi", "method": "m", "rep": "r"}


def twice(name):
    return pd.concat([FRAME, FRAME[[name]]], axis=1)


def test_the_frame_itself_is_not_refused():
    """Control: what the frames below differ from."""
    assert len(summarise(FRAME, **ALL)) > 0


@pytest.mark.parametrize("frame", [{"b": [1.0]}, [1.0], None, FRAME["b"]])
def test_anything_but_a_data_frame_is_refused(frame):
    with pytest.raises(TypeError, match=r"^frame must be a pandas DataFrame; got \w+$"):
        summarise(frame, estimate="b")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (twice("b"), "columns must have names of their own; got b twice"),
        (twice("m"), "columns must have names of their own; got m twice"),
        (FRAME.assign(b=[1j, 2, 3]), "column b must hold numbers; got 1j"),
        (
            FRAME.assign(b=pd.Series([np.complex64(1), 2, 3], dtype=object)),
            "column b must hold numbers; got",
        ),
        (FRAME.assign(se=[0.5, -0.1, 0.5]), "std_error must not be negative; got -0.1 at index 1"),
        (FRAME.assign(lo=[0, 1, 5]), "lower must be at most upper; got 5.0 and 4.0 at index 2"),
        (FRAME.assign(r=[1, NAN, 1]), "rep must not be missing; got nan at index 1"),
        (FRAME.assign(r=["1", "2", None]), "rep must not be missing; got "),
        (FRAME.assign(r=["1", "NA", "1"]), "rep must not be missing; got 'NA' at index 1"),
        (
            FRAME.assign(r=pd.array([pd.NA, 2, 1], dtype="Int64")).set_axis([7, 8, 9]),
            "rep must not be missing; got <NA> at index 7",
        ),
    ],
)
def test_a_frame_that_cannot_be_is_refused_in_one_line(frame, words):
    with pytest.raises(InvalidStudyError) as caught:
        summarise(frame, **ALL)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "column"),
    [
        ({"by": ["m"], "method": "m"}, "m"),
        ({"by": ["m", "m"]}, "m"),
        ({"method": "m", "rep": "m"}, "m"),
        ({"by": ["r"], "rep": "r"}, "r"),
    ],
)
def test_keys_that_are_one_column_are_refused(arguments, column):
    words = rf"^by, method and rep must name different columns; got {column} twice$"
    with pytest.raises(InvalidStudyError, match=words):
        summarise(FRAME, estimate="b", **arguments)


def test_a_column_that_nobody_asked_for_may_be_there_twice():
    frame = pd.concat([FRAME, pd.DataFrame([[1, 2]] * 3, columns=["note", "note"])], axis=1)
    pd.testing.assert_frame_equal(summarise(frame, **ALL), summarise(FRAME, **ALL))


def test_an_interval_may_have_no_length_or_no_end():
    frame = FRAME.assign(se=0.0, lo=[-np.inf, 1.0, 2.0], hi=[np.inf, 1.0, NAN])
    table = summarise(frame, **ALL)
    assert table.loc[table["measure"] == "reject", "n_used"].tolist() == [2, 0]


def test_the_numbers_are_looked_at_before_anything_is_computed():
    sources = dict.fromkeys(("estimate", "lower", "upper", "true_value")) | {"std_error": "se"}
    with pytest.raises(InvalidStudyError, match="std_error must not be negative"):
        OwnFrame(FRAME.assign(se=-1.0), sources, [], None, None, 0.95, 0.0)
