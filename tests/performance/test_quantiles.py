"""Summary frames of figures: sorted samples, zipped intervals, first points."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from p0sim.columns import DTYPES, SUMMARIES
from p0sim.errors import InvalidParametersError, InvalidStudyError
from p0sim.performance.quantiles import (
    points_summary,
    qq_summary,
    ranks_shown,
    zipper_summary,
)

SUMMARISE = {"qq": qq_summary, "zipper": zipper_summary, "points": points_summary}


def frames(z, *, failed=0, half=1.96, truth=0.5, std_error=0.2):
    """One cell, one method, one estimand: errors of z standard errors, then failed replicates."""
    z = np.asarray(z, dtype=float)
    rep = np.arange(1, len(z) + failed + 1)
    cells = pd.DataFrame({"cell": ["c1"], "n": [100]})
    replicates = pd.DataFrame({"cell": "c1", "method": "paper", "rep": rep})
    replicates["status"] = np.where(rep <= len(z), "ok", "no_estimate")
    estimate = truth + std_error * z
    estimates = pd.DataFrame(
        {
            "cell": "c1",
            "method": "paper",
            "rep": rep[: len(z)],
            "estimand": "alpha[1]",
            "estimate": estimate,
            "std_error": std_error,
            "lower": estimate - half * std_error,
            "upper": estimate + half * std_error,
            "true_value": truth,
            "z": z,
        }
    )
    return estimates, cells, replicates


@pytest.fixture(scope="module")
def normal():
    return np.random.default_rng(20240501).normal(size=1000)


@pytest.mark.parametrize("name", SUMMARISE)
def test_columns_are_those_of_the_description(name, normal):
    frame = SUMMARISE[name](*frames(normal, failed=3))
    assert list(frame) == [column.name for column in SUMMARIES[name]]
    numbers = {column.name: DTYPES[column.kind] for column in SUMMARIES[name][3:]}
    assert {key: str(frame[key].dtype) for key in numbers} == numbers


@pytest.mark.parametrize("name", SUMMARISE)
def test_a_target_whose_fits_all_failed_is_one_row_with_missing_numbers(name):
    estimates, cells, replicates = frames([0.1, -0.2], failed=1)
    dead = replicates.assign(method="balanced", status="error")
    frame = SUMMARISE[name](estimates, cells, pd.concat([replicates, dead]))
    row = frame[frame["method"] == "balanced"]
    assert row[["n_used", "n_attempted", "n_failed"]].values.tolist() == [[0, 3, 3]]
    assert row["estimand"].tolist() == ["alpha[1]"]
    assert row[SUMMARIES[name][3].name].isna().all()


@pytest.mark.parametrize("name", SUMMARISE)
def test_a_study_without_any_estimate_has_its_targets(name):
    estimates, cells, replicates = frames([0.1], failed=1)
    frame = SUMMARISE[name](
        estimates[:0], cells, replicates.assign(status="error"), estimands={"c1": ["a", "b"]}
    )
    assert frame["estimand"].tolist() == ["a", "b"]
    assert frame["n_used"].tolist() == [0, 0]


@pytest.mark.parametrize("name", SUMMARISE)
def test_an_estimate_without_its_replicate_is_refused(name):
    estimates, cells, replicates = frames([0.1, 0.2])
    with pytest.raises(InvalidStudyError, match="replicates must hold every fit"):
        SUMMARISE[name](estimates.assign(method="other"), cells, replicates)


@pytest.mark.parametrize("name", SUMMARISE)
def test_categorical_keys_and_the_order_of_rows_make_no_difference(name, normal):
    estimates, cells, replicates = frames(normal)
    keys = {"cell": "category", "method": "category", "estimand": "category"}
    coded = estimates.astype(keys).sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(
        SUMMARISE[name](coded, cells, replicates), SUMMARISE[name](estimates, cells, replicates)
    )


@pytest.mark.parametrize("name", SUMMARISE)
def test_cells_come_in_their_order_and_methods_as_they_first_appeared(name):
    estimates, cells, replicates = frames([0.1, 0.2])
    several = [
        (estimates.assign(cell=cell, method=method), replicates.assign(cell=cell, method=method))
        for cell, method in (("c2", "a"), ("c2", "b"), ("c1", "b"), ("c1", "a"))
    ]
    estimates, replicates = (pd.concat(parts) for parts in zip(*several))
    cells = pd.DataFrame({"cell": ["c1", "c2"]})
    frame = SUMMARISE[name](estimates, cells, replicates)
    pairs = frame[["cell", "method"]].drop_duplicates().values.tolist()
    assert pairs == [["c1", "a"], ["c1", "b"], ["c2", "a"], ["c2", "b"]]


def test_a_small_sample_is_there_in_full_beside_normal_quantiles(normal):
    frame = qq_summary(*frames(normal[:90]))
    np.testing.assert_array_equal(frame["z"], np.sort(normal[:90]))
    rank = np.arange(1, 91)
    assert frame["rank"].tolist() == rank.tolist()
    np.testing.assert_allclose(frame["expected"], stats.norm.ppf(rank / 91), atol=1e-12)


def test_the_band_of_two_points_is_the_one_worked_out_by_hand():
    """P(no point outside) = 0.95 for two uniforms: with a = sqrt(1 - eta/2) the region is a
    square of side 2 a^2 - 1 about the diagonal, so eta solves the equation below, 0.026533."""
    eta = 0.02653312
    a = np.sqrt(1 - eta / 2)
    low = 1 - a
    # u < v, u in [low, ...], v in [sqrt(eta/2), a]: twice the area above the diagonal
    s = np.sqrt(eta / 2)
    top = 1 - s
    area = (a - s) * (top - low) - max(top - s, 0) ** 2 / 2
    assert 2 * area == pytest.approx(0.95, abs=1e-4)
    frame = qq_summary(*frames([-0.5, 0.5]))
    np.testing.assert_allclose(frame["upper"], stats.norm.ppf([top, a]), atol=2e-3)
    np.testing.assert_allclose(frame["lower"], -frame["upper"][::-1], atol=1e-9)


def test_points_outside_are_counted_over_the_whole_sample(normal):
    many = np.tile(normal, 5)
    frame = qq_summary(*frames(many + 5))
    assert len(frame) <= 100
    assert set(frame["n_outside"]) == {5000}
    assert set(qq_summary(*frames(normal[:100]))["n_outside"]) == {0}


def test_another_level_has_another_band(normal):
    wide, narrow = (qq_summary(*frames(normal[:50]), level=level) for level in (0.99, 0.8))
    assert (wide["upper"] > narrow["upper"]).all()
    with pytest.raises(InvalidParametersError, match="level must"):
        qq_summary(*frames(normal), level=95)


def test_a_standard_error_of_zero_is_no_point_of_a_qq_plot():
    frame = qq_summary(*frames([0.5, np.inf, np.nan]))
    assert frame["z"].tolist() == [0.5]
    assert frame["n_used"].tolist() == [1]


def test_large_samples_are_thinned_but_keep_their_tails():
    kept = ranks_shown(100_000)
    assert len(kept) <= 100
    assert kept[:16].tolist() == list(range(16))
    assert kept[-1] == 99_999
    assert (np.diff(kept) > 0).all()


def test_intervals_are_zipped_by_abs_z(normal):
    frame = zipper_summary(*frames(normal[:80]))
    middle = (frame["lower"] + frame["upper"]) / 2
    np.testing.assert_allclose(abs(middle - 0.5) / 0.2, np.sort(np.abs(normal[:80])), atol=1e-12)
    np.testing.assert_allclose(frame["centile"], 100 * np.arange(1, 81) / 80)


def test_a_hundred_rows_stand_for_a_large_sample(normal):
    frame = zipper_summary(*frames(normal))
    ordered = np.sort(np.abs(normal))
    middle = abs((frame["lower"] + frame["upper"]) / 2 - 0.5) / 0.2
    np.testing.assert_allclose(middle, ordered[4::10], atol=1e-12)
    assert frame["centile"].tolist() == list(range(1, 101))


def test_coverage_has_its_clopper_pearson_interval(normal):
    """Oracle: quantiles of beta laws."""
    frame = zipper_summary(*frames(normal[:200]))
    hits = int((np.abs(normal[:200]) <= 1.96).sum())
    assert set(frame["coverage"]) == {hits / 200}
    np.testing.assert_allclose(
        frame[["coverage_lower", "coverage_upper"]].iloc[0],
        [stats.beta.ppf(0.025, hits, 201 - hits), stats.beta.ppf(0.975, hits + 1, 200 - hits)],
        rtol=1e-9,
    )


def test_intervals_that_miss_stand_above_all_others_whatever_their_shape():
    estimates, cells, replicates = frames(np.linspace(-3, 3, 61))
    lopsided = estimates.assign(upper=estimates["upper"] + 0.3 * (estimates["rep"] % 3))
    frame = zipper_summary(lopsided, cells, replicates)
    hit = (lopsided["lower"] <= 0.5) & (lopsided["upper"] >= 0.5)
    assert frame["covers"].tolist() == [1.0] * int(hit.sum()) + [0.0] * int((~hit).sum())


def test_endless_and_empty_intervals_have_their_place():
    estimates, cells, replicates = frames([0.0, 0.0, 0.0, 3.0])
    ends = {"lower": [-np.inf, 0.9, 0.5, 1.0], "upper": [np.inf, np.inf, 0.5, 1.0]}
    frame = zipper_summary(estimates.assign(**ends), cells, replicates)
    assert frame["covers"].tolist() == [1.0, 1.0, 0.0, 0.0]


def test_an_interval_without_an_end_or_a_truth_is_not_used():
    estimates, cells, replicates = frames([0.0, 0.1, 0.2])
    frame = zipper_summary(estimates.assign(lower=[np.nan, 0.0, 0.0]), cells, replicates)
    assert frame["n_used"].tolist() == [2, 2]
    nowhere = zipper_summary(estimates.assign(true_value=np.nan), cells, replicates)
    assert nowhere[["n_used", "n_failed"]].values.tolist() == [[0, 0]]


def test_points_are_the_first_100_fitted_replicates(normal):
    estimates, cells, replicates = frames(normal)
    gone = estimates[estimates["rep"] > 10].sample(frac=1, random_state=3)
    frame = points_summary(gone, cells, replicates)
    assert frame["rep"].tolist() == list(range(11, 111))
    np.testing.assert_array_equal(frame["estimate"], estimates["estimate"][10:110])
    assert set(frame["n_used"]) == {990}


def test_points_know_which_intervals_hold_the_truth():
    frame = points_summary(*frames([0.0, 2.5, -1.9]))
    assert frame["covers"].tolist() == [1.0, 0.0, 1.0]
