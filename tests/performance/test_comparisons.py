"""Methods compared on common replicates: merges by pandas, sums by hand, holes of every kind."""

import math

import numpy as np
import pandas as pd
import pytest

from p0sim.errors import InvalidStudyError
from p0sim.performance.comparisons import PAIRED_MEASURES, partners
from p0sim.performance.summarise import performance, summarise

NAN = np.nan
CELLS = pd.DataFrame({"cell": ["c1"], "n": [100]})


def fits(methods, reps):
    keys = pd.MultiIndex.from_product([methods, range(1, reps + 1)], names=["method", "rep"])
    return keys.to_frame(index=False).assign(cell="c1", status="ok", sup_error=0.5)


def rows(method, reps, estimate, half=1.0, truth=0.0, estimand="alpha[1]"):
    estimate = np.asarray(estimate, dtype=float)
    frame = pd.DataFrame({"rep": reps, "estimate": estimate, "std_error": 1.0, "true_value": truth})
    return frame.assign(
        cell="c1",
        method=method,
        estimand=estimand,
        lower=estimate - np.asarray(half),
        upper=estimate + np.asarray(half),
    )


def pick(table, method, estimand="alpha[1]"):
    found = table[(table["method"] == method) & (table["estimand"] == estimand)]
    return found.set_index("measure")


def test_comparisons_of_five_pairs_equal_the_formulas_written_out():
    """Oracle: the pairs listed by hand, Morris et al. (2019), Table 6, and sums over pairs."""
    a = {1: 0.5, 2: -1.5, 3: 0.2, 4: 2.0, 5: -0.4, 7: 9.0}
    b = {1: 0.1, 2: -0.9, 3: 0.6, 4: 1.1, 5: -0.2, 6: 9.0}
    table = performance(
        CELLS,
        fits(["paper", "balanced"], 7),
        pd.concat([rows("paper", [*a], [*a.values()]), rows("balanced", [*b], [*b.values()], 0.8)]),
    )
    got = pick(table, "balanced")
    e_a, e_b = (np.array([e[r] for r in range(1, 6)]) for e in (a, b))
    gaps = {
        "mean_diff": e_b - e_a,
        "bias_diff": e_b - e_a,
        "mse_diff": e_b**2 - e_a**2,
        "coverage_diff": (abs(e_b) <= 0.8) * 1.0 - (abs(e_a) <= 1.0) * 1.0,
        "ci_width_diff": np.full(5, -0.4),
    }
    for name, gap in gaps.items():
        value, mcse = got.loc[name, ["value", "mcse"]]
        assert value == pytest.approx(np.mean(gap), rel=1e-12, abs=1e-15)
        assert mcse == pytest.approx(np.std(gap, ddof=1) / math.sqrt(5), rel=1e-12, abs=1e-15)
    u_a, u_b = (e_a - e_a.mean()) ** 2, (e_b - e_b.mean()) ** 2
    q = np.var(e_a, ddof=1) / np.var(e_b, ddof=1)
    assert got.loc["rel_prec", "value"] == pytest.approx(100 * (q - 1), rel=1e-12)
    misfit = math.sqrt(sum((x - q * y) ** 2 for x, y in zip(u_a, u_b)))
    assert got.loc["rel_prec", "mcse"] == pytest.approx(100 * misfit / sum(u_b), rel=1e-12)
    assert set(got.loc[list(PAIRED_MEASURES), "n_used"]) == {5}
    assert set(got["n_attempted"]) == {7}


def test_the_reference_method_is_not_compared_with_itself():
    estimates = pd.concat([rows(m, range(1, 5), [0.1, 0.4, -1, 3]) for m in ("a", "b", "c")])
    for reference, others in ((None, {"b", "c"}), ("b", {"a", "c"})):
        table = performance(CELLS, fits(["a", "b", "c"], 4), estimates, reference=reference)
        paired = table[table["measure"].isin(list(PAIRED_MEASURES))]
        assert set(paired["method"]) == others
        assert len(paired) == 6 * 2


def test_swapping_method_and_reference_turns_differences_round():
    rng = np.random.default_rng(1)
    estimates = pd.concat([rows(m, range(1, 51), rng.normal(size=50)) for m in ("a", "b")])
    one = pick(performance(CELLS, fits(["a", "b"], 50), estimates, reference="a"), "b")
    two = pick(performance(CELLS, fits(["a", "b"], 50), estimates, reference="b"), "a")
    for name in ("bias_diff", "mse_diff", "coverage_diff", "ci_width_diff"):
        assert one.loc[name, "value"] == pytest.approx(-two.loc[name, "value"], abs=1e-15)
        assert one.loc[name, "mcse"] == pytest.approx(two.loc[name, "mcse"], rel=1e-12)
    product = (1 + one.loc["rel_prec", "value"] / 100) * (1 + two.loc["rel_prec", "value"] / 100)
    assert product == pytest.approx(1, rel=1e-12)


def test_pairs_are_those_of_a_merge_by_pandas():
    """Two cells, three estimands, holes anywhere, rows in any order, keys missing too."""
    rng = np.random.default_rng(2)
    names = {"cell": ["x", None], "estimand": list("uvw"), "rep": range(40), "method": ["a", "b"]}
    grid = pd.MultiIndex.from_product(names.values(), names=names).to_frame(index=False)
    frame = grid.sample(frac=0.7, random_state=3).reset_index(drop=True)
    frame = frame.assign(row=np.arange(len(frame)), e=rng.normal(size=len(frame)))
    by = ["cell", "estimand", "rep"]
    got = partners(frame, by, (frame["method"] == "a").to_numpy())
    merged = frame.merge(frame[frame["method"] == "a"], on=by, how="left", suffixes=("", "_a"))
    expected = merged.sort_values("row")["row_a"].fillna(-1).astype(int)
    assert got.tolist() == expected.tolist()
    assert 0 < (got < 0).sum() < len(got)


def test_where_one_method_failed_always_comparisons_are_missing_and_others_stay():
    estimates = rows("a", range(1, 5), [0.1, 0.4, -1, 3])
    for reference, other in (("a", "b"), ("b", "a")):
        table = performance(CELLS, fits(["a", "b"], 4), estimates, reference=reference)
        paired = pick(table, other).loc[list(PAIRED_MEASURES)]
        assert paired[["value", "mcse", "lower", "upper"]].isna().to_numpy().all()
        assert set(paired["n_used"]) == {0}
        assert set(paired["n_attempted"]) == {4}
        assert pick(table, "a").loc["bias", "n_used"] == 4


def test_one_pair_has_differences_without_error_and_no_precision():
    estimates = pd.concat([rows("a", [1, 2], [0.5, 1.0]), rows("b", [2, 3], [0.75, 0.1])])
    got = pick(performance(CELLS, fits(["a", "b"], 3), estimates), "b")
    assert got.loc["bias_diff", "value"] == -0.25
    assert math.isnan(got.loc["bias_diff", "mcse"])
    assert got.loc["rel_prec", ["value", "mcse"]].isna().all()
    assert got.loc["rel_prec", "n_used"] == 1


def test_two_pairs_have_a_precision_of_unknown_error():
    estimates = pd.concat([rows("a", [1, 2], [0.0, 4.0]), rows("b", [1, 2], [1.0, 3.0])])
    got = pick(performance(CELLS, fits(["a", "b"], 2), estimates), "b")
    assert got.loc["rel_prec", "value"] == pytest.approx(300)
    assert math.isnan(got.loc["rel_prec", "mcse"])


def test_a_pair_needs_what_its_measure_needs_on_both_sides():
    """Replicate 2 of a has no interval, replicate 3 of b no truth."""
    a = rows("a", [1, 2, 3], [0.0, 1.0, 2.0])
    a.loc[1, ["lower", "upper"]] = NAN
    b = rows("b", [1, 2, 3], [0.5, 1.0, 2.0])
    b.loc[2, "true_value"] = NAN
    got = pick(performance(CELLS, fits(["a", "b"], 3), pd.concat([a, b])), "b")
    used = {"bias_diff": 2, "mse_diff": 2, "coverage_diff": 1, "ci_width_diff": 2, "rel_prec": 2}
    assert got.loc[list(used), "n_used"].to_dict() == used


def test_estimands_and_cells_are_not_mixed():
    first = pd.concat([rows("a", [1, 2, 3], [0, 1, 5]), rows("b", [1, 2, 3], [1, 3, 2])])
    second = pd.concat(
        [rows(m, [1, 2], [k, k + 1], estimand="beta[1]") for k, m in enumerate(["a", "b"])]
    )
    together = performance(CELLS, fits(["a", "b"], 3), pd.concat([first, second]))
    alone = performance(CELLS, fits(["a", "b"], 3), first)
    pd.testing.assert_frame_equal(pick(together, "b"), pick(alone, "b"))
    assert pick(together, "b", "beta[1]").loc["bias_diff", ["value", "n_used"]].tolist() == [1, 2]


def test_one_method_has_no_comparisons():
    table = performance(CELLS, fits(["a"], 3), rows("a", [1, 2, 3], [0, 1, 5]))
    assert not table["measure"].isin(list(PAIRED_MEASURES)).any()


def test_a_reference_that_is_no_method_is_refused():
    with pytest.raises(InvalidStudyError, match=r"reference must be one of a, b; got 'paper'"):
        performance(CELLS, fits(["a", "b"], 3), rows("a", [1], [0]), reference="paper")


def test_summarise_compares_once_method_and_rep_are_given():
    """By hand: replicates 2 and 3 are common; b is 0.5 and -1.0 away from a there."""
    frame = pd.DataFrame(
        {"m": ["a", "a", "a", "b", "b", "b"], "r": [1, 2, 3, 2, 3, 4], "e": [9, 1, 2, 1.5, 1, 7]}
    )
    table = summarise(frame, estimate="e", true_value=0.0, method="m", rep="r")
    got = table[table["measure"] == "bias_diff"]
    assert got[["m", "value", "n_used", "n_attempted", "n_failed"]].values.tolist() == [
        ["b", -0.25, 2, 4, 1]
    ]
    other = summarise(frame, estimate="e", true_value=0.0, method="m", rep="r", reference="b")
    assert other.loc[other["measure"] == "bias_diff", ["m", "value"]].values.tolist() == [
        ["a", 0.25]
    ]
    for given in ({"method": "m"}, {}):
        measures = set(summarise(frame.drop(columns="r"), estimate="e", **given)["measure"])
        assert not measures & set(PAIRED_MEASURES)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"reference": "a"}, r"reference must come with method and rep; got 'a' alone"),
        ({"method": "m", "reference": "a"}, r"reference must come with method and rep; got 'a'"),
        ({"method": "m", "rep": "r", "reference": "x"}, r"reference must be one of a, b; got 'x'"),
    ],
)
def test_summarise_refuses_a_reference_it_cannot_use(arguments, words):
    frame = pd.DataFrame({"m": ["a", "b"], "r": [1, 1], "e": [0.1, 0.2]})
    with pytest.raises(InvalidStudyError, match=words):
        summarise(frame, estimate="e", **arguments)
