"""Frames made elsewhere: R's exports, texts for numbers, the value that is tested."""

import io

import numpy as np
import pandas as pd
import pytest

from p0sim.errors import InvalidStudyError
from p0sim.performance.own_frames import numbers
from p0sim.performance.summarise import summarise

# write.csv(results, row.names = FALSE) of R 4.3: factors and texts quoted, logicals and NA not.
R_EXPORT = """\
"n","arm","method","rep","converged","est","se","lower","upper","theta"
50,"low","mle",1,TRUE,0.9,0.1,0.704,1.096,1
50,"low","mle",2,TRUE,1.3,0.1,1.104,1.496,1
50,"low","mle",3,FALSE,NA,NA,NA,NA,1
50,"low","firth",1,TRUE,0.95,0.1,0.754,1.146,1
50,"low","firth",2,TRUE,1.1,0.1,0.904,1.296,1
50,"low","firth",3,TRUE,1.2,0.1,1.004,1.396,1
50,NA,"mle",1,FALSE,NA,NA,NA,NA,1
50,NA,"firth",1,TRUE,-Inf,NaN,NA,NA,1
100,"high, really","mle",1,TRUE,1e0,0.05,0.902,1.098,1
"""
READINGS = {
    "as pandas reads it": {},
    "as text": {"dtype": str},
    "as text, NA too": {"dtype": str, "keep_default_na": False},
    "with factors": {"dtype": {"arm": "category", "method": "category", "rep": "Int64"}},
    "with nullable types": {"dtype_backend": "numpy_nullable"},
}


def from_r(**reading):
    return pd.read_csv(io.StringIO(R_EXPORT), **reading)


def measures(frame, by=("n", "arm")):
    return summarise(
        frame,
        estimate="est",
        std_error="se",
        true_value="theta",
        lower="lower",
        upper="upper",
        by=by,
        method="method",
        rep="rep",
    )


@pytest.mark.parametrize("reading", READINGS)
def test_an_export_of_r_is_summarised_however_it_was_read(reading):
    """Counts and values by hand."""
    table = measures(from_r(**READINGS[reading]))
    got = table[table["measure"].isin(["bias", "coverage", "bias_diff", "fail_rate"])]
    values = got[["method", "measure", "value", "n_used", "n_attempted", "n_failed"]]
    expected = [
        ("mle", "bias", 0.1, 2, 3, 1),
        ("mle", "coverage", 1 / 2, 2, 3, 1),
        ("mle", "fail_rate", 1 / 3, 3, 3, 1),
        ("firth", "bias", 0.25 / 3, 3, 3, 0),
        ("firth", "coverage", 2 / 3, 3, 3, 0),
        ("firth", "bias_diff", -0.075, 2, 3, 0),
        ("firth", "fail_rate", 0.0, 3, 3, 0),
        ("mle", "bias", np.nan, 0, 1, 1),
        ("mle", "coverage", np.nan, 0, 1, 1),
        ("mle", "fail_rate", 1.0, 1, 1, 1),
        ("firth", "bias", np.nan, 0, 1, 1),
        ("firth", "coverage", np.nan, 0, 1, 1),
        ("firth", "bias_diff", np.nan, 0, 1, 1),
        ("firth", "fail_rate", 1.0, 1, 1, 1),
        ("mle", "bias", 0.0, 1, 1, 0),
        ("mle", "coverage", 1.0, 1, 1, 0),
        ("mle", "fail_rate", 0.0, 1, 1, 0),
    ]
    assert len(values) == len(expected)
    for row, (*names, value, n_used, n_attempted, n_failed) in zip(values.values, expected):
        assert row[:2].tolist() == names
        assert row[2] == pytest.approx(value, rel=1e-9, abs=1e-15, nan_ok=True)
        assert row[3:].tolist() == [n_used, n_attempted, n_failed]


def test_a_logical_column_tells_scenarios_apart():
    table = measures(from_r(), by=["n", "arm", "converged"])
    rows = table[(table["measure"] == "fail_rate") & (table["arm"] == "low")]
    assert rows[["method", "converged", "n_attempted"]].values.tolist() == [
        ["mle", True, 3],
        ["mle", False, 1],
        ["firth", True, 3],
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["0.1", " 2e-3", "NA", "", None], [0.1, 0.002, np.nan, np.nan, np.nan]),
        ([True, False], [1.0, 0.0]),
        (pd.array([1, pd.NA], dtype="Int64"), [1.0, np.nan]),
        (pd.Categorical(["1.5", "NA"]), [1.5, np.nan]),
        ([1, "Inf", pd.NA], [1.0, np.inf, np.nan]),
    ],
)
def test_numbers_are_read_from_columns_of_any_type(values, expected):
    np.testing.assert_array_equal(numbers(pd.Series(values)), expected)


def test_texts_are_read_to_the_last_digit():
    values = np.random.default_rng(1).normal(size=200)
    assert numbers(pd.Series([repr(float(v)) for v in values])).tolist() == values.tolist()


def test_a_column_without_numbers_is_refused_by_its_name():
    frame = from_r(dtype=str).assign(se="0,1")
    with pytest.raises(InvalidStudyError, match=r"column se must hold numbers; got '0,1'"):
        measures(frame)


def test_the_null_value_is_what_is_asked_for():
    frame = pd.DataFrame({"b": [0.0, 1.0, 2.0, 3.0], "se": 0.25})
    for null, share in ((0.0, 3 / 4), (2.4, 3 / 4), (1.5, 2 / 4 + 2 / 4), (9, 1.0)):
        table = summarise(frame, estimate="b", std_error="se", null=null).set_index("measure")
        assert table.loc["reject", "value"] == share


def test_a_fit_that_ran_away_counts_without_a_warning():
    """1e200 squared is no float; leaving it out would make the mse look fine."""
    frame = pd.DataFrame({"b": [1e200, -1e200, 0.1, np.nan], "se": [0.0, 1.0, 1.0, 1.0]})
    table = summarise(frame, estimate="b", std_error="se", true_value=0.0).set_index("measure")
    assert table.loc["mse", "value"] == np.inf
    assert np.isnan(table.loc["mse", ["mcse", "lower", "upper"]].astype(float)).all()
    assert table.loc[["mse", "rmse", "mae", "coverage"], "n_used"].tolist() == [3, 3, 3, 3]
    assert table.loc["coverage", "value"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("b", [[1e200], [1e200, 1e200], [1.0, 1e200, 2.0], [1e308] * 3])
def test_what_is_beyond_the_floats_has_no_error_rather_than_a_small_one(b):
    """Control: [3, 3] is known to be 9 without an error."""
    keys = {"estimate": "b", "true_value": 0.0}
    table = summarise(pd.DataFrame({"b": b, "se": 1.0}), std_error="se", **keys)
    beyond = table[np.isinf(table["value"])]
    assert {"mse", "rmse"} <= set(beyond["measure"])
    assert beyond["mcse"].isna().all()
    plain = summarise(pd.DataFrame({"b": [3.0, 3.0]}), **keys).set_index("measure")
    assert plain.loc["mse", ["value", "mcse"]].tolist() == [9.0, 0.0]


def test_a_method_that_ran_away_stays_among_the_pairs_and_in_the_pool():
    frame = pd.DataFrame(
        {
            "m": ["a", "a", "a", "b", "b", "b"],
            "r": [1, 2, 3, 1, 2, 3],
            "k": 1,
            "b": [1.0, 2.0, 3.0, 1.0, 1e200, 2.0],
        }
    )
    keys = {"by": ["k"], "method": "m", "rep": "r", "pool": ["k"]}
    table = summarise(frame, estimate="b", true_value=0.0, **keys)
    table = table[(table["m"] == "b") & table["measure"].isin(["mse", "mse_diff"])]
    assert table["value"].tolist() == [np.inf] * 3
    assert table["n_used"].tolist() == [3] * 3
    assert table["mcse"].isna().all()


def test_no_rows_give_a_frame_without_rows():
    frame = pd.DataFrame({"b": [0.1], "m": ["a"], "r": [1], "k": [1]})[:0]
    keys = {"by": ["k"], "method": "m", "rep": "r", "pool": ["k"]}
    assert summarise(frame, estimate="b", true_value=0.0, **keys).empty


def test_one_row_has_values_without_errors():
    frame = pd.DataFrame({"b": [1.5], "se": [1.0]})
    table = summarise(frame, estimate="b", std_error="se", true_value=1.0).set_index("measure")
    known = table["value"].notna()
    assert set(table.index[~known]) == {
        "emp_se",
        "rel_err_se",
        "z_sd",
        "normality_anderson",
        "normality_lilliefors",
    }
    assert table.loc[["bias", "mse", "mae", "ci_width"], "mcse"].isna().all()
    assert set(table["n_used"]) == {1}


def test_pairs_of_scenarios_without_a_key_are_found():
    frame = pd.DataFrame(
        {
            "eps": [np.nan, np.nan, np.nan, np.nan, 1.0],
            "m": ["a", "a", "b", "b", "b"],
            "r": [1, 2, 1, 2, 1],
            "b": [1.0, 2.0, 4.0, 5.0, 7.0],
        }
    )
    table = summarise(frame, estimate="b", true_value=0, by=["eps"], method="m", rep="r")
    rows = table[table["measure"] == "bias_diff"]
    assert rows["value"].fillna(-1).tolist() == [3.0, -1.0]
    assert rows["n_used"].tolist() == [2, 0]
