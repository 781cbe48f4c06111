"""A missing number never drops a row from a denominator: every count here was made by hand."""

import numpy as np
import pandas as pd
import pytest

from p0sim.columns import STATUSES
from p0sim.performance.summarise import performance, summarise

NAN = np.nan
WHOLE = (-1.0, 1.0)
NONE = (NAN, NAN)
CONTRAST = "alpha[1]-alpha[2]"

# rep, status, sup_error; then estimate, std_error, interval and truth of the fits that have any
REPLICATES = [
    (1, "ok", 0.5),
    (2, "ok", 0.7),
    (3, "no_estimate", NAN),
    (4, "not_converged", NAN),
    (5, "error", NAN),
    (6, "timeout", NAN),
    (7, "killed", NAN),
    (8, "ok", 0.9),
    (9, "ok", NAN),
    (10, "ok", 1.1),
]
ESTIMATES = [
    (1, 0.0, 1.0, *WHOLE, 0.5),  # covers
    (2, 0.0, 1.0, *WHOLE, 3.0),  # misses
    (8, 0.2, NAN, *NONE, 0.0),  # an estimate without standard error
    (9, NAN, NAN, *NONE, 0.0),  # a fit without this estimand
    (10, 0.4, 2.0, *WHOLE, NAN),  # no truth
]
# measure: value where it is a plain count, n_used
BY_HAND = {
    "bias": ((-0.5 - 3.0 + 0.2) / 3, 3),
    "emp_se": (np.std([-0.5, -3.0, 0.2], ddof=1), 3),
    "mse": ((0.25 + 9.0 + 0.04) / 3, 3),
    "mae": (3.7 / 3, 3),
    "mod_se": (np.sqrt((1 + 1 + 4) / 3), 3),
    "coverage": (1 / 2, 2),
    "coverage_uncond": (1 / 10, 10),
    "coverage_uncond_upper": ((1 + 8) / 10, 10),
    # the truths moved by -1.75, the mean of the first two errors: -1.25 and 1.25
    "be_coverage": (0.0, 2),
    "ci_width": (2.0, 3),
    "reject": (0.0, 3),
    "z_mean": ((-0.5 - 3.0) / 2, 2),
    "normality_lilliefors": (NAN, 2),
    "fail_rate": (5 / 10, 10),
    "sup_error_mean": ((0.5 + 0.7 + 0.9 + 1.1) / 4, 4),
    "sup_error_median": (0.8, 4),
}


def stored(cell, method="paper"):
    """The ten replicates above as the stored frames have them."""
    replicates = pd.DataFrame(REPLICATES, columns=["rep", "status", "sup_error"])
    columns = ["rep", "estimate", "std_error", "lower", "upper", "true_value"]
    estimates = pd.DataFrame(ESTIMATES, columns=columns).assign(estimand=CONTRAST)
    return [frame.assign(cell=cell, method=method) for frame in (replicates, estimates)]


@pytest.fixture
def table():
    """Cells whose factors are missing in every way, one without a fit; two methods in c1."""
    cells = pd.DataFrame(
        {
            "cell": ["c1", "c2", "c3"],
            "epsilon": [NAN, NAN, 2.0],
            "epsilon_rule": [None, None, "2"],
            "n": pd.array([pd.NA, 100, 100], dtype="Int64"),
            "arm": pd.Categorical([None, "low", "low"]),
            "target_reps": 10,
        }
    )
    replicates, estimates = stored("c1")
    other, more = stored("c2")
    failed = replicates.assign(cell="c3", status="killed", sup_error=NAN)
    second = replicates.assign(method="balanced", status="timeout", sup_error=NAN)
    fits = pd.concat([replicates, second, other, failed], ignore_index=True)
    return performance(cells, fits, pd.concat([estimates, more], ignore_index=True))


def select(table, **keys):
    for name, value in keys.items():
        table = table[table[name] == value]
    return table.set_index("measure")


@pytest.mark.parametrize("measure", BY_HAND)
@pytest.mark.parametrize("cell", ["c1", "c2"])
def test_each_measure_uses_the_rows_that_have_what_it_needs(table, cell, measure):
    value, n_used = BY_HAND[measure]
    row = select(table, cell=cell, method="paper").loc[measure]
    assert row["value"] == pytest.approx(value, rel=1e-12, nan_ok=True)
    assert row["n_used"] == n_used


def test_the_hand_counts_are_about_every_status():
    """Control: the frame holds each status, and dropping its missing rows would change a count."""
    replicates, estimates = stored("c1")
    assert set(replicates["status"]) == set(STATUSES)
    assert len(estimates.dropna()) == 2
    assert len(replicates.dropna()) == 4


@pytest.mark.parametrize("cell", ["c1", "c2"])
def test_every_row_counts_all_that_was_attempted_and_all_that_failed(table, cell):
    rows = select(table, cell=cell, method="paper")
    assert len(rows) == 22
    assert set(rows["n_attempted"]) == {10}
    assert set(rows["n_failed"]) == {5}


@pytest.mark.parametrize(
    ("cell", "method", "n_rows"), [("c3", "paper", 22), ("c1", "balanced", 28)]
)
def test_where_no_fit_came_back_shares_are_over_all_and_the_rest_is_missing(
    table, cell, method, n_rows
):
    """The reference method is paper: balanced has its six comparisons, of no pair at all."""
    rows = select(table, cell=cell, method=method)
    shares = {"fail_rate": 1.0, "coverage_uncond": 0.0, "coverage_uncond_upper": 1.0}
    for measure, share in shares.items():
        assert (rows.loc[measure, "value"], rows.loc[measure, "n_used"]) == (share, 10)
    others = rows.drop(index=list(shares))
    assert len(others) == n_rows - 3
    assert others["value"].isna().all()
    assert set(others["n_used"]) == {0}
    assert set(rows["n_attempted"]) == set(rows["n_failed"]) == {10}


def test_cells_with_missing_factors_keep_all_their_rows(table):
    assert table["cell"].value_counts().to_dict() == {"c1": 50, "c2": 22, "c3": 22}
    keys = table.loc[table["cell"] == "c1", ["epsilon", "epsilon_rule", "n", "arm"]]
    assert keys.isna().to_numpy().all()


def test_one_status_more_moves_one_replicate_and_nothing_else():
    """Each status but ok, in turn, for replicate 2 of two."""
    cells = pd.DataFrame({"cell": ["c1"], "n": 50})
    replicates, estimates = stored("c1")
    for status in STATUSES[1:]:
        both = replicates[:2].assign(status=["ok", status])
        rows = select(performance(cells, both, estimates[:1]), cell="c1")
        assert rows.loc["fail_rate", ["value", "n_used"]].tolist() == [0.5, 2]
        assert rows.loc["coverage", ["value", "n_used"]].tolist() == [1.0, 1]
        assert rows.loc["coverage_uncond", ["value", "n_used"]].tolist() == [0.5, 2]
        assert rows.loc["coverage_uncond_upper", ["value", "n_used"]].tolist() == [1.0, 2]


KEYS = {
    "float": np.array([NAN, NAN, 2.0, 2.0, NAN]),
    "object": np.array([None, NAN, "x", "x", None], dtype=object),
    "Int64": pd.array([pd.NA, pd.NA, 2, 2, pd.NA], dtype="Int64"),
    "category": pd.Categorical([None, None, "x", "x", None], categories=["x", "never seen"]),
    "datetime": pd.to_datetime([None, None, "2024-05-01", "2024-05-01", None]),
    "boolean": pd.array([None, None, True, True, None], dtype="boolean"),
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_missing_key_of_any_type_is_one_key(kind):
    """Three rows without a key, one of them without an estimate: 1 of 3 failed, not 1 of 0."""
    frame = pd.DataFrame({"key": KEYS[kind], "b": [1.0, 2.0, 3.0, 4.0, NAN]})
    table = summarise(frame, estimate="b", true_value=1.0, by=["key"])
    rows = table[table["measure"] == "fail_rate"]
    assert rows["key"].isna().tolist() == [True, False]
    assert rows[["n_attempted", "n_failed", "n_used"]].to_numpy().tolist() == [[3, 1, 3], [2, 0, 2]]
    assert len(frame.groupby("key", observed=True)) == 1, "the control: pandas drops them"


def test_missing_keys_in_several_columns_do_not_merge_groups():
    frame = pd.DataFrame(
        {
            "epsilon": [NAN, NAN, 2.0, 2.0, NAN],
            "arm": [None, "t", None, "t", None],
            "b": [1.0, 2.0, NAN, 4.0, 5.0],
        }
    )
    table = summarise(frame, estimate="b", true_value=0.0, by=["epsilon", "arm"])
    bias = table[table["measure"] == "bias"]
    assert bias["value"].fillna(-1).tolist() == [3.0, 2.0, -1.0, 4.0]
    assert bias[["n_used", "n_attempted", "n_failed"]].to_numpy().tolist() == [
        [2, 2, 0],
        [1, 1, 0],
        [0, 1, 1],
        [1, 1, 0],
    ]


def test_a_missing_key_does_not_hide_a_replicate_that_a_method_lacks():
    frame = pd.DataFrame(
        {
            "epsilon": [NAN, NAN, NAN, NAN, 2.0],
            "m": ["x", "x", "x", "y", "y"],
            "r": [1, 2, 3, 2, 1],
            "b": [1.0, NAN, 3.0, 4.0, 5.0],
        }
    )
    table = summarise(frame, estimate="b", by=["epsilon"], method="m", rep="r")
    rows = table[table["measure"] == "fail_rate"]
    assert rows["m"].tolist() == ["x", "y", "y"]
    assert rows["n_attempted"].tolist() == [3, 3, 1]
    assert rows["n_failed"].tolist() == [1, 2, 0]


def test_anybodys_frame_counts_as_the_stored_frames_do():
    """The same ten replicates, failed ones as rows without an estimate."""
    replicates, estimates = stored("c1")
    frame = replicates.merge(estimates, on=["cell", "method", "rep"], how="left")
    table = summarise(
        frame,
        std_error="std_error",
        true_value="true_value",
        lower="lower",
        upper="upper",
        by=["cell"],
        method="method",
    ).set_index("measure")
    for measure in set(BY_HAND) & set(table.index) - {"fail_rate"}:
        value, n_used = BY_HAND[measure]
        assert table.loc[measure, "value"] == pytest.approx(value, rel=1e-12, nan_ok=True)
        assert table.loc[measure, "n_used"] == n_used
    assert set(table["n_attempted"]) == {10}
    # Replicate 9 too: without statuses, no estimate is a failure.
    assert set(table["n_failed"]) == {6}


@pytest.mark.parametrize("missing", [None, NAN, pd.NA])
def test_any_sort_of_missing_number_is_missing(missing):
    frame = pd.DataFrame({"b": pd.Series([1.0, missing, 3.0], dtype=object), "se": 1.0})
    table = summarise(frame, estimate="b", std_error="se", true_value=0.0).set_index("measure")
    assert table.loc["bias", ["value", "n_used", "n_attempted", "n_failed"]].tolist() == [
        2,
        2,
        3,
        1,
    ]
    assert table.loc["coverage_uncond", "value"] == pytest.approx(1 / 3)
    assert table.loc["coverage_uncond_upper", "value"] == pytest.approx(2 / 3)


GOOD = pd.DataFrame({"b": [1.0, 2.0], "se": 0.1, "lo": [0.9, 1.5], "hi": [1.1, 2.5], "t": 1.0})
COLUMNS = {
    "estimate": "b",
    "std_error": "se",
    "lower": "lo",
    "upper": "hi",
    "true_value": "t",
}
OVER_ALL = {"fail_rate", "coverage_uncond", "coverage_uncond_upper"}


@pytest.mark.parametrize("estimate", [np.inf, -np.inf, NAN, None])
@pytest.mark.parametrize("columns", [set(COLUMNS), {"estimate", "std_error", "true_value"}])
def test_a_row_without_a_finite_estimate_is_in_no_conditional_measure(estimate, columns):
    """Each is what the two other rows alone give, whatever else the third row has."""
    bad = pd.DataFrame({"b": [estimate], "se": 9.0, "lo": -9.0, "hi": 9.0, "t": 1.0})
    frame = pd.concat([GOOD, bad.astype({"b": float})], ignore_index=True)
    sources = {name: COLUMNS[name] for name in columns}
    got, expected = (summarise(rows, **sources).set_index("measure") for rows in (frame, GOOD))
    same = [name for name in expected.index if name not in OVER_ALL]
    names = ["value", "mcse", "lower", "upper", "n_used"]
    pd.testing.assert_frame_equal(got.loc[same, names], expected.loc[same, names])
    assert set(got.loc[same, "n_used"]) == {2}
    counts = got.loc[["coverage_uncond", "fail_rate"], ["n_used", "n_attempted", "n_failed"]]
    assert counts.to_numpy().tolist() == [[3, 3, 1]] * 2


def test_standard_errors_without_any_estimate_say_nothing():
    frame = GOOD.assign(b=NAN)
    table = summarise(frame, **COLUMNS).set_index("measure")
    rest = table.drop(index=list(OVER_ALL))
    assert rest[["value", "mcse"]].isna().to_numpy().all()
    assert set(rest["n_used"]) == {0}
    assert table.loc[["coverage_uncond", "coverage_uncond_upper"], "value"].tolist() == [0.0, 1.0]


def test_a_failed_row_has_no_part_in_pairs_and_pools():
    """By hand: replicate 2 of y has an interval without an estimate."""
    frame = pd.DataFrame(
        {
            "k": 1,
            "m": ["x", "x", "y", "y"],
            "r": [1, 2, 1, 2],
            "b": [1.0, 1.0, 2.0, np.inf],
            "lo": [0.0, 0.0, 0.0, -50.0],
            "hi": [2.0, 2.0, 4.0, 50.0],
        }
    )
    keys = {"by": ["k"], "method": "m", "rep": "r", "pool": ["k"]}
    table = summarise(frame, estimate="b", true_value=1.0, lower="lo", upper="hi", **keys)
    rows = table[(table["m"] == "y") & table["measure"].isin(["ci_width", "ci_width_diff", "bias"])]
    found = rows[["measure", "value", "n_used"]].values.tolist()
    assert found == [
        ["bias", 1.0, 1],
        ["ci_width", 4.0, 1],
        ["ci_width_diff", 2.0, 1],
        ["bias", 1.0, 1],
        ["ci_width", 4.0, 1],
    ]


@pytest.mark.parametrize("estimate", [np.inf, NAN])
def test_stored_estimates_that_are_no_numbers_are_left_out_as_well(estimate):
    cells = pd.DataFrame({"cell": ["c1"], "n": 50})
    replicates, _ = stored("c1")
    estimates = pd.DataFrame(
        {
            "cell": "c1",
            "method": "paper",
            "rep": [1, 2, 8],
            "estimand": CONTRAST,
            "estimate": [0.0, 1.0, estimate],
            "std_error": [1.0, 1.0, 7.0],
            "lower": [-1.0, 0.0, -9.0],
            "upper": [1.0, 2.0, 9.0],
            "true_value": 0.0,
        }
    )
    table = select(performance(cells, replicates, estimates), estimand=CONTRAST)
    names = ["mod_se", "ci_width", "coverage", "reject", "z_mean", "mse"]
    assert table.loc[names, "value"].tolist() == [1.0, 2.0, 1.0, 0.0, 0.5, 0.5]
    assert set(table.loc[names, "n_used"]) == {2}
