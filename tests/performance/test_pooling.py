"""Pools of estimands: averages inside a replicate by hand, patterns, holes."""

import math

import numpy as np
import pandas as pd
import pytest

from p0sim.errors import InvalidStudyError
from p0sim.performance.pooling import POOLED_MEASURES, members
from p0sim.performance.summarise import performance, summarise

NAN = np.nan
CELLS = pd.DataFrame({"cell": ["c1"], "n": [100]})
POOL = {"senders": "alpha[*]"}


def frames(estimates, reps=3, methods=("paper",)):
    """Estimates as (method, rep, estimand, estimate, half width); truth 0."""
    keys = pd.MultiIndex.from_product([methods, range(1, reps + 1)], names=["method", "rep"])
    fits = keys.to_frame(index=False).assign(cell="c1", status="ok", sup_error=0.5)
    names = ["method", "rep", "estimand", "estimate", "half"]
    rows = pd.DataFrame(estimates, columns=names).assign(cell="c1", std_error=1.0, true_value=0.0)
    ends = {"lower": rows["estimate"] - rows["half"], "upper": rows["estimate"] + rows["half"]}
    return CELLS, fits, rows.assign(**ends)


def pick(table, estimand, method="paper"):
    found = table[(table["method"] == method) & (table["estimand"] == estimand)]
    return found.set_index("measure")


def test_pooled_measures_are_means_of_the_replicates_means():
    """By hand: errors (0, 2), (1), (-1, 4) of three replicates, half-widths 1; beta is not in."""
    rows = [
        ("paper", 1, "alpha[1]", 0.0, 1.0),
        ("paper", 1, "alpha[2]", 2.0, 1.0),
        ("paper", 2, "alpha[2]", 1.0, 1.0),
        ("paper", 3, "alpha[1]", -1.0, 1.0),
        ("paper", 3, "alpha[2]", 4.0, 2.0),
        ("paper", 3, "beta[1]", 99.0, 50.0),
    ]
    got = pick(performance(*frames(rows), pools=POOL), "senders")
    by_hand = {
        "bias": [1.0, 1.0, 1.5],
        "mse": [2.0, 1.0, 8.5],
        "mae": [1.0, 1.0, 2.5],
        "coverage": [0.5, 1.0, 0.5],
        "ci_width": [2.0, 2.0, 3.0],
        "reject": [0.5, 0.0, 0.5],
    }
    assert got.index.tolist() == list(by_hand) == list(POOLED_MEASURES)
    for name, means in by_hand.items():
        assert got.loc[name, "value"] == pytest.approx(np.mean(means), rel=1e-12)
        assert got.loc[name, "mcse"] == pytest.approx(np.std(means, ddof=1) / math.sqrt(3))
    assert set(got["n_used"]) == {3}


def test_a_pool_of_one_estimand_has_the_measures_of_it():
    rng = np.random.default_rng(3)
    rows = [("paper", r, "alpha[1]", e, 1.0) for r, e in enumerate(rng.normal(size=40), 1)]
    table = performance(*frames(rows, 40), pools=POOL)
    pooled, own = pick(table, "senders"), pick(table, "alpha[1]").loc[list(POOLED_MEASURES)]
    counts = ["n_used", "n_attempted", "n_failed"]
    pd.testing.assert_frame_equal(pooled[["value", *counts]], own[["value", *counts]])
    numbers = ["bias", "mse", "mae", "ci_width"]
    pd.testing.assert_series_equal(pooled.loc[numbers, "mcse"], own.loc[numbers, "mcse"])
    # SD with divisor n - 1, where the binomial error has n
    share = own.loc["coverage", "mcse"] * math.sqrt(40 / 39)
    assert pooled.loc["coverage", "mcse"] == pytest.approx(share, rel=1e-12)


def test_the_interval_of_a_pooled_share_stays_within_0_and_1():
    """All of 20 nodes covered in each of 10 replicates: ten trials, not two hundred."""
    rows = [("paper", r, f"alpha[{i}]", 0.0, 1.0) for r in range(1, 11) for i in range(1, 21)]
    got = pick(performance(*frames(rows, 10), pools=POOL), "senders").loc["coverage"]
    assert got[["value", "mcse"]].tolist() == [1.0, 0.0]
    assert round(got["lower"], 4) == 0.6915
    assert got["upper"] == 1.0


def test_failed_replicates_and_methods_stay_in_the_counts():
    """Paper has two replicates of three; balanced has none at all."""
    cells, fits, estimates = frames(
        [("paper", 1, "alpha[1]", 0.5, 1.0), ("paper", 3, "alpha[2]", 1.5, 1.0)],
        methods=("paper", "balanced"),
    )
    lost = (fits["rep"] == 2) | (fits["method"] == "balanced")
    fits["status"] = fits["status"].mask(lost, "no_estimate")
    table = performance(cells, fits, estimates, pools=POOL)
    counts = ["n_used", "n_attempted", "n_failed"]
    assert pick(table, "senders").loc["coverage", ["value", *counts]].tolist() == [0.5, 2, 3, 1]
    none = pick(table, "senders", "balanced")
    assert none[["value", "mcse", "lower", "upper"]].isna().to_numpy().all()
    assert none.loc["bias", counts].tolist() == [0, 3, 3]


def test_one_replicate_has_no_error_and_a_missing_number_no_part():
    rows = [("paper", 1, "alpha[1]", 0.5, NAN), ("paper", 1, "alpha[2]", 1.5, 1.0)]
    got = pick(performance(*frames(rows, 1), pools=POOL), "senders")
    assert got.loc["bias", "value"] == 1.0
    assert got.loc["coverage", ["value", "n_used"]].tolist() == [0.0, 1]
    assert got["mcse"].isna().all()


def test_pools_stand_between_the_estimands_and_the_whole_fit():
    table = performance(*frames([("paper", 1, "alpha[1]", 0.5, 1.0)], 1), pools=POOL)
    assert list(dict.fromkeys(table["estimand"])) == ["alpha[1]", "senders", "theta"]


def test_a_pattern_that_matches_nothing_has_no_rows():
    table = performance(*frames([("paper", 1, "alpha[1]", 0.5, 1.0)]), pools={"x": "beta[*]"})
    assert "x" not in set(table["estimand"])


def test_pools_of_a_study_without_any_estimate_have_the_estimands_asked_for():
    cells, fits, estimates = frames([("paper", 1, "alpha[1]", 0.5, 1.0)])
    asked = {"c1": ["alpha[1]", "alpha[2]"]}
    table = performance(cells, fits, estimates[:0], estimands=asked, pools=POOL)
    assert pick(table, "senders")["n_used"].tolist() == [0] * len(POOLED_MEASURES)


@pytest.mark.parametrize("name", ["theta", "alpha[1]"])
def test_the_name_of_a_pool_must_not_be_taken(name):
    with pytest.raises(InvalidStudyError, match=r"pools must have names of their own; got "):
        performance(*frames([("paper", 1, "alpha[1]", 0.5, 1.0)]), pools={name: "alpha[*]"})


ESTIMANDS = ["alpha[1]", "alpha[20]", "beta[1]", "alpha[1]-alpha[2]", "0.5*alpha[1]", "mean_3"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("alpha[*]", ["alpha[1]", "alpha[20]"]),
        ("alpha[ * ]", ["alpha[1]", "alpha[20]"]),
        ("*[1]", ["alpha[1]", "beta[1]"]),
        ("alpha[*]-alpha[*]", ["alpha[1]-alpha[2]"]),
        ("0.5*alpha[*]", ["0.5*alpha[1]"]),
        ("mean_*", ["mean_3"]),
        ("alpha[1]", ["alpha[1]"]),
        ("alpha", []),
        ("*", ["mean_3"]),
        ("alpha[.]", []),
    ],
)
def test_a_star_stands_for_anything_but_brackets_and_operators(pattern, expected):
    assert members(pattern, ESTIMANDS) == expected


def own(node=(1, 2)):
    """Two scenarios, two nodes, two replicates; one estimate missing."""
    grid = pd.MultiIndex.from_product([[50, 100], node, [1, 2]], names=["n", "node", "r"])
    return grid.to_frame(index=False).assign(e=[1.0, 2.0, 3.0, NAN, 0.0, 0.0, NAN, NAN], se=1.0)


def test_summarise_pools_over_columns_of_by():
    """By hand: n = 50 has (1+3)/2 and 2; n = 100 has 0 and 0 of one node alone."""
    table = summarise(
        own(),
        estimate="e",
        std_error="se",
        true_value=0.0,
        by=["n", "node"],
        rep="r",
        pool=["node"],
    )
    pooled = table[table["node"].isna()]
    assert pooled["measure"].tolist() == 2 * list(POOLED_MEASURES)
    bias = pooled[pooled["measure"] == "bias"]
    assert bias[["n", "value", "mcse", "n_used", "n_attempted", "n_failed"]].values.tolist() == [
        [50, 2.0, 0.0, 2, 2, 0],
        [100, 0.0, 0.0, 2, 2, 0],
    ]
    assert table["node"].dropna().astype(int).unique().tolist() == [1, 2]
    assert str(table["node"].dtype) == "Int64"
    assert len(table) == len(pooled) + 4 * table["measure"][:-12].nunique()


def test_a_replicate_without_any_estimate_of_the_pool_failed():
    frame = own()
    frame.loc[(frame["n"] == 100) & (frame["r"] == 2), "e"] = NAN
    table = summarise(frame, estimate="e", by=["n", "node"], rep="r", true_value=0, pool=["node"])
    row = table[table["node"].isna() & (table["n"] == 100)].iloc[0]
    assert row[["n_used", "n_attempted", "n_failed"]].tolist() == [1, 2, 1]


def test_columns_of_text_are_pooled_over_too():
    frame = own(node=("ann", "bob"))
    table = summarise(frame, estimate="e", by=["n", "node"], rep="r", true_value=0, pool=["node"])
    assert table["node"].isna().sum() == 2 * 3
    assert set(table["node"].dropna()) == {"ann", "bob"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"by": ["n", "node"], "pool": ["node"]}, r"pool must come with rep; got node alone"),
        ({"by": ["n"], "pool": ["node"], "rep": "r"}, r"pool must name columns of by; got node"),
    ],
)
def test_summarise_refuses_pools_it_cannot_make(arguments, words):
    with pytest.raises(InvalidStudyError, match=words):
        summarise(own(), estimate="e", **arguments)
