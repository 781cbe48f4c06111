"""Nulls, pools and the reference: changed at will, read from the newest study file."""

from __future__ import annotations

import pandas as pd

import p0sim as p0
from p0sim.studies.predictions import PREDICTION_COLUMNS, read_predictions, write_predictions
from p0sim.studies.reading import nulls_of, pools_of, reference_of

TEXT = """
[study]
name = "plain"
seed = 1
reps = 4

[factors]
n = [30, 40]
q = [2]
L = [0]

[estimands]
contrasts = ["alpha[*]"]

[methods.first]
release = false

[methods.second]
release = false
variance = "S"
"""
NULL = TEXT.replace('["alpha[*]"]', '[{contrast = "alpha[*]", null = 0.5}]')
POOL = TEXT + '\n[measures.pool]\nsenders = "alpha[*]"\n'
FORMULA = TEXT.replace('"alpha[*]"', '"alpha[1] - alpha[n/2]", "beta[2]"')
REFERENCE = TEXT + "reference = true\n"


def run(text, folder):
    (folder / "plain.toml").write_text(text)
    study = p0.Study.from_toml(folder / "plain.toml")
    return study.run(folder / "results", n_jobs=1, progress=False)


def test_without_words_all_nulls_are_0_nothing_is_pooled_and_no_method_is_marked(tmp_path):
    results = run(TEXT, tmp_path)
    assert (results.predictions["null_value"] == 0).all()
    assert nulls_of(results.predictions) == {}
    assert pools_of(results.record.study) == {}
    assert reference_of(results.record.study) is None


def test_a_finished_study_follows_a_file_that_only_shows_it_differently(tmp_path):
    before = run(TEXT, tmp_path)
    rows = before.estimates
    assert pools_of(run(POOL, tmp_path).record.study) == {"senders": "alpha[*]"}
    assert reference_of(run(REFERENCE, tmp_path).record.study) == "second"
    after = run(NULL, tmp_path)
    pd.testing.assert_frame_equal(after.estimates, rows)
    assert pools_of(after.record.study) == {}
    nulls = nulls_of(after.predictions)
    assert len(nulls) == 30 + 40
    assert set(nulls.values()) == {0.5}
    assert {cell for cell, _ in nulls} == set(after.cells["cell"])
    assert nulls_of(run(TEXT, tmp_path).predictions) == {}


def test_an_extended_study_keeps_its_nulls(tmp_path):
    run(NULL, tmp_path)
    more = p0.extend_study(tmp_path / "results", reps=5, n_jobs=1, progress=False)
    assert set(nulls_of(more.predictions).values()) == {0.5}


def test_predictions_of_older_versions_have_nulls_of_0(tmp_path):
    old = pd.DataFrame([("c", "a", "alpha[1]", 0.95)], columns=PREDICTION_COLUMNS[:4])
    write_predictions(tmp_path, old)
    assert read_predictions(tmp_path).to_dict("records") == [
        {
            "cell": "c",
            "method": "a",
            "estimand": "alpha[1]",
            "predicted_coverage": 0.95,
            "null_value": 0.0,
        }
    ]


def test_a_formula_follows_an_estimand_whose_name_changes_with_n(tmp_path):
    results = run(FORMULA, tmp_path)
    found = results.performance()
    rules = found[["n", "estimand", "estimand_rule"]].drop_duplicates()
    assert set(rules.itertuples(index=False, name=None)) == {
        (30, "alpha[1]-alpha[15]", "alpha[1]-alpha[n/2]"),
        (40, "alpha[1]-alpha[20]", "alpha[1]-alpha[n/2]"),
        (30, "beta[2]", "beta[2]"),
        (40, "beta[2]", "beta[2]"),
        (30, "theta", "theta"),
        (40, "theta", "theta"),
    }
    table = results.paper_table(["estimand"], ["n"], where={"method": "first"}).to_text()
    assert "alpha[1]-alpha[n/2]" in table and " –  " not in table.split("Cells:")[0]


def test_an_estimand_is_asked_for_by_name_or_by_formula(tmp_path):
    results = run(FORMULA, tmp_path)
    by_rule = results.paper_table(["n"], ["method"], where={"estimand": "alpha[1]-alpha[n/2]"})
    by_name = results.paper_table(["n"], ["method"], where={"estimand": "alpha[1]-alpha[15]"})
    assert by_rule.frame["n"].astype(str).unique().tolist() == ["30", "40"]
    assert by_name.frame["n"].astype(str).unique().tolist() == ["30"]


def test_names_that_stand_for_every_node_have_no_formula(tmp_path):
    found = run(TEXT, tmp_path).performance()
    assert (found["estimand_rule"] == found["estimand"]).all()
