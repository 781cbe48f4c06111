"""Frames of performance: denominators, missing keys, estimands of cells without a fit."""

import math
import statistics
import time

import numpy as np
import pandas as pd
import pytest

from p0sim.columns import performance_columns
from p0sim.errors import InvalidParametersError, InvalidStudyError
from p0sim.performance.summarise import performance, summarise

CONTRAST = "alpha[1]-alpha[2]"


@pytest.fixture
def frames():
    """Cell a: two fits of three by paper, three by balanced. Cell b: paper fails always."""
    cells = pd.DataFrame(
        {
            "cell": ["b", "a"],
            "n": [200, 100],
            "n_rule": ["200", "100"],
            "epsilon": [np.nan, 2.0],
            "epsilon_rule": [None, "2"],
            "target_reps": [2, 3],
        }
    )
    replicates = pd.DataFrame(
        [
            ("a", "paper", 1, "ok", 0.5),
            ("a", "balanced", 1, "ok", 0.4),
            ("a", "paper", 2, "no_estimate", np.nan),
            ("a", "balanced", 2, "ok", 0.6),
            ("a", "paper", 3, "ok", 0.7),
            ("a", "balanced", 3, "ok", 0.8),
            ("b", "paper", 1, "no_estimate", np.nan),
            ("b", "paper", 2, "killed", np.nan),
        ],
        columns=["cell", "method", "rep", "status", "sup_error"],
    )
    estimates = pd.DataFrame(
        [
            ("a", "paper", 1, CONTRAST, 0.1),
            ("a", "balanced", 1, CONTRAST, 0.2),
            ("a", "balanced", 2, CONTRAST, 0.3),
            ("a", "paper", 3, CONTRAST, 0.3),
            ("a", "balanced", 3, CONTRAST, 2.5),
        ],
        columns=["cell", "method", "rep", "estimand", "estimate"],
    )
    estimates = estimates.assign(
        std_error=1.0,
        lower=estimates["estimate"] - 1.96,
        upper=estimates["estimate"] + 1.96,
        true_value=0.0,
    )
    return cells, replicates, estimates


def one(table, **keys):
    for name, value in keys.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


def test_the_columns_are_those_of_the_contract(frames):
    """But for the formulas of estimands, which a study puts beside them."""
    names = [column.name for column in performance_columns(["n", "epsilon"])]
    assert list(performance(*frames).columns) == [n for n in names if n != "estimand_rule"]


def test_cells_keep_their_order_and_a_missing_key_loses_no_rows(frames):
    table = performance(*frames)
    assert list(dict.fromkeys(table["cell"])) == ["b", "a"]
    assert table.loc[table["cell"] == "b", "epsilon"].isna().all()


def test_a_failed_replicate_stays_in_the_denominator(frames):
    table = performance(*frames)
    row = one(table, cell="a", method="paper", measure="fail_rate")
    assert (row["value"], row["n_used"], row["estimand"]) == (1 / 3, 3, "theta")
    row = one(table, cell="a", method="paper", measure="coverage")
    assert (row["n_used"], row["n_attempted"], row["n_failed"]) == (2, 3, 1)
    row = one(table, cell="a", method="paper", measure="coverage_uncond")
    assert (row["value"], row["n_used"]) == (2 / 3, 3)


def test_one_methods_failure_leaves_the_others_rows_alone(frames):
    row = one(performance(*frames), cell="a", method="balanced", measure="coverage")
    assert (row["value"], row["n_used"], row["n_failed"]) == (2 / 3, 3, 0)


def test_a_cell_where_every_fit_failed_has_its_estimands_with_missing_measures(frames):
    asked = {"a": [CONTRAST], "b": ["alpha[199]-alpha[200]"]}
    table = performance(*frames, estimands=asked)
    row = one(table, cell="b", estimand="alpha[199]-alpha[200]", measure="coverage")
    assert np.isnan([row["value"], row["mcse"], row["lower"], row["upper"]]).all()
    assert (row["n_used"], row["n_attempted"], row["n_failed"]) == (0, 2, 2)
    assert one(table, cell="b", measure="fail_rate")["value"] == 1.0
    assert np.isnan(one(table, cell="b", measure="sup_error_median")["value"])


def test_without_a_list_a_failed_cell_borrows_the_estimands_found_elsewhere(frames):
    table = performance(*frames)
    assert one(table, cell="b", estimand=CONTRAST, measure="bias")["n_used"] == 0


def test_a_method_that_lacks_an_estimand_has_a_row_for_it(frames):
    table = performance(*frames, estimands={"a": [CONTRAST, "beta[1]"]})
    row = one(table, cell="a", method="paper", estimand="beta[1]", measure="coverage_uncond")
    assert row["value"] == 0.0
    row = one(table, cell="a", method="paper", estimand="beta[1]", measure="bias")
    assert (row["n_used"], row["n_attempted"]) == (0, 3)


def test_a_study_where_nothing_was_ever_fitted_still_has_its_shares(frames):
    cells, replicates, estimates = frames
    table = performance(cells, replicates.assign(status="error", sup_error=np.nan), estimates[:0])
    assert set(table["estimand"]) == {"theta"}
    assert (table.loc[table["measure"] == "fail_rate", "value"] == 1.0).all()


def test_no_replicates_give_an_empty_frame(frames):
    cells, replicates, estimates = frames
    assert performance(cells, replicates[:0], estimates[:0]).empty


def test_row_order_of_the_input_does_not_matter_to_the_numbers(frames):
    cells, replicates, estimates = frames
    shuffled = performance(cells, replicates, estimates.sample(frac=1, random_state=3))
    keys = ["cell", "method", "estimand", "measure"]
    first = performance(*frames).set_index(keys)["value"].sort_index()
    np.testing.assert_allclose(first, shuffled.set_index(keys)["value"].sort_index(), rtol=1e-12)


def test_estimates_without_a_replicate_are_refused(frames):
    cells, replicates, estimates = frames
    with pytest.raises(InvalidStudyError, match=r"replicates must hold every fit.*'balanced'"):
        performance(cells, replicates[replicates["method"] == "paper"], estimates)


def test_replicates_of_an_unknown_cell_are_refused(frames):
    cells, replicates, estimates = frames
    with pytest.raises(InvalidStudyError, match=r"cells must list every cell.*\['a'\]"):
        performance(cells[:1], replicates, estimates)


def test_a_level_outside_0_1_is_refused(frames):
    with pytest.raises(InvalidParametersError, match=r"strictly between 0 and 1; got 1"):
        performance(*frames, level=1.0)


@pytest.mark.slow
def test_a_million_estimates_are_summarised_in_seconds():
    """Measured 3 to 5 s; 30 s says that something became quadratic."""
    rng = np.random.default_rng(1)
    cells = pd.DataFrame({"cell": [f"c{i:02d}" for i in range(50)], "n": 100})
    grid = pd.MultiIndex.from_product(
        [cells["cell"], ["paper", "balanced"], range(1, 2501)], names=["cell", "method", "rep"]
    ).to_frame(index=False)
    replicates = grid.assign(status="ok", sup_error=rng.uniform(size=len(grid)))
    estimates = pd.concat([grid.assign(estimand=f"alpha[{i}]") for i in range(1, 5)])
    noise = rng.normal(size=len(estimates))
    estimates = estimates.assign(
        estimate=noise, std_error=1.0, lower=noise - 2, upper=noise + 2, true_value=0.0
    )
    start = time.perf_counter()
    table = performance(cells, replicates, estimates)
    assert time.perf_counter() - start < 30
    assert len(table) == 50 * (2 * (4 * 19 + 3) + 4 * 6)


def test_summarise_counts_missing_estimates_as_failures():
    frame = pd.DataFrame({"b": [1.0, 2.0, np.nan, np.inf], "se": 0.5})
    table = summarise(frame, estimate="b", std_error="se", true_value=1.0)
    row = one(table, measure="fail_rate")
    assert (row["value"], row["n_attempted"], row["n_failed"]) == (0.5, 4, 2)
    assert one(table, measure="bias")["n_used"] == 2


def test_summarise_counts_a_replicate_that_one_method_lacks():
    frame = pd.DataFrame({"m": ["x", "x", "x", "y"], "r": [1, 2, 3, 2], "b": [1.0, 2.0, 3.0, 4.0]})
    table = summarise(frame, estimate="b", method="m", rep="r")
    assert one(table, m="y", measure="fail_rate")["value"] == pytest.approx(2 / 3)
    assert one(table, m="x", measure="fail_rate")["value"] == 0.0


def test_summarise_keeps_missing_keys():
    frame = pd.DataFrame({"eps": [np.nan, np.nan, 2.0], "arm": [None, "t", "t"], "b": 1.0})
    table = summarise(frame, estimate="b", by=["eps", "arm"])
    assert len(table[["eps", "arm"]].drop_duplicates()) == 3


def test_summarise_leaves_out_what_nothing_was_given_for():
    frame = pd.DataFrame({"b": [1.0, 2.0]})
    assert list(summarise(frame, estimate="b")["measure"]) == ["mean", "emp_se", "fail_rate"]


def test_summarise_without_a_truth_gives_the_mean_and_how_sure_it_is():
    """Oracle: the five numbers and the standard library's statistics."""
    values = [0.31, 0.29, 0.36, 0.33, 0.30]
    frame = pd.DataFrame({"map": [*values, None], "graph": "yeast"})
    table = summarise(frame, estimate="map", by=["graph"])
    mean = one(table, measure="mean")
    assert mean["value"] == pytest.approx(statistics.mean(values), rel=1e-12)
    mcse = statistics.stdev(values) / math.sqrt(5)
    assert mean["mcse"] == pytest.approx(mcse, rel=1e-12)
    assert one(table, measure="emp_se")["value"] == pytest.approx(mcse * math.sqrt(5), rel=1e-12)
    assert (mean["n_used"], mean["n_attempted"], mean["n_failed"]) == (5, 6, 1)


def test_what_has_no_truth_is_never_compared_with_0():
    """Where the column of truths is there and empty; the mean and its spread are left."""
    frame = pd.DataFrame({"b": [1.0, 2.0, 4.0], "se": 1.0, "t": math.nan})
    table = summarise(frame, estimate="b", std_error="se", true_value="t").set_index("measure")
    known = table.index[table["value"].notna()]
    assert list(known) == [
        "mean", "emp_se", "mod_se", "rel_err_se", "ci_width", "reject", "fail_rate"
    ]  # fmt: skip
    assert table.loc["mean", "value"] == pytest.approx(7 / 3, rel=1e-12)
    others = ["bias", "mse", "rmse", "mae", "coverage", "coverage_uncond", "coverage_uncond_upper"]
    assert set(table.loc[others, "n_used"]) == {0}


def test_summarise_gives_all_measures_for_a_frame_where_everything_failed():
    frame = pd.DataFrame({"b": [np.nan, np.nan], "se": [np.nan, np.nan]})
    table = summarise(frame, estimate="b", std_error="se", true_value=0.0)
    assert np.isnan(one(table, measure="coverage")["value"])
    assert one(table, measure="coverage_uncond")["value"] == 0.0


def test_summarise_uses_own_intervals():
    frame = pd.DataFrame({"b": [0.0, 1.0], "lo": [-1.0, 0.5], "hi": [1.0, 2.0]})
    table = summarise(frame, estimate="b", true_value=0.0, lower="lo", upper="hi")
    assert one(table, measure="coverage")["value"] == 0.5
    assert one(table, measure="ci_width")["value"] == 1.75


def test_summarise_takes_the_truth_from_a_column():
    frame = pd.DataFrame({"b": [1.0, 2.0], "t": [0.5, 2.5]})
    assert one(summarise(frame, estimate="b", true_value="t"), measure="bias")["value"] == 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"estimate": "beta_hat"}, r"columns must be among .*; got beta_hat"),
        ({"estimate": "b", "by": ["value"]}, r"by and method must not name .*; got value"),
        ({"estimate": "b", "rep": "r"}, r"one row a method; got .* twice"),
    ],
)
def test_summarise_refuses(arguments, words):
    frame = pd.DataFrame({"b": [1.0, 2.0], "value": 1, "r": [1, 1]})
    with pytest.raises(InvalidStudyError, match=words):
        summarise(frame, **arguments)
