"""From a study file to frames, tables, figures and a page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import p0sim as p0
from p0sim.columns import column_names, performance_columns

TEXT = """
[study]
name = "tiny"
aims = "A study of seconds"
seed = 11
reps = 12

[factors]
n = [12, 16]
q = [2]
L = ["0", "log(log(n))"]
epsilon = ["2", "log(n)/n^(1/2)"]

[model]
share_network_across = ["epsilon"]

[estimands]
contrasts = ["alpha[1]-alpha[2]", "alpha[n-1]-alpha[n]", "alpha[1]"]

[methods.nonprivate]
release = false

[methods.paper]
margins = "drop_last"
variance = "S"
label = "Paper & co_%"

[methods.balanced]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "tiny.toml"
    path.write_text(TEXT)
    return p0.Study.from_toml(path)


@pytest.fixture(scope="module")
def results(study, tmp_path_factory):
    directory = tmp_path_factory.mktemp("results") / "tiny"
    return study.run(directory, n_jobs=1, progress=False)


def test_every_replicate_and_method_is_a_row(results):
    assert tuple(results.replicates.columns) == column_names("replicates")
    counts = results.replicates.groupby(["cell", "method"]).size()
    assert len(results.cells) == 8
    assert (counts == 12).all()
    assert len(counts) == 24
    fitted = (results.replicates["status"] == "ok").sum()
    assert len(results.estimates) == 3 * fitted
    assert tuple(results.estimates.columns) == column_names("estimates")


def test_frames_are_the_same_bits_for_one_and_two_workers(study, results, tmp_path):
    """Timings apart; the control is another seed, which must differ."""
    two = study.run(tmp_path / "two", n_jobs=2, progress=False, block_size=5)
    for frame in ("cells", "replicates", "estimates", "problems"):
        pd.testing.assert_frame_equal(
            getattr(results, frame), getattr(two, frame), check_exact=True
        )
    path = tmp_path / "other.toml"
    path.write_text(TEXT.replace("seed = 11", "seed = 12"))
    other = p0.Study.from_toml(path).run(tmp_path / "other", n_jobs=1, progress=False)
    assert not other.estimates["estimate"].equals(results.estimates["estimate"])


def test_networks_are_shared_across_epsilon_and_the_noise_is_not(results):
    wide = results.estimates.merge(results.cells[["cell", "n", "L_rule", "epsilon_rule"]])
    keys = ["n", "L_rule", "method", "rep", "estimand"]
    pairs = wide.pivot_table(index=keys, columns="epsilon_rule", values="estimate").dropna()
    same = np.isclose(pairs.iloc[:, 0], pairs.iloc[:, 1], rtol=0, atol=0)
    methods = pairs.index.get_level_values("method")
    assert same[methods == "nonprivate"].all()
    assert not same[methods == "balanced"].any()


def test_a_finished_study_is_not_run_again(study, results):
    before = results.timings
    again = study.run(results.directory, n_jobs=1, progress=False)
    pd.testing.assert_frame_equal(again.timings, before)


def test_another_seed_does_not_mix_with_old_rows(results, tmp_path):
    path = tmp_path / "other.toml"
    path.write_text(TEXT.replace("seed = 11", "seed = 12"))
    with pytest.raises(p0.StudyMismatchError, match=r"seed.*11.*12"):
        p0.Study.from_toml(path).run(results.directory, progress=False)


def test_performance_is_tidy_and_holds_the_prediction(results):
    performance = results.performance()
    expected = [column.name for column in performance_columns(["n", "q", "L", "epsilon"])]
    assert list(performance.columns) == expected
    predicted = performance[performance["measure"] == "predicted_coverage"]
    assert len(predicted) == 8 * 3 * 3
    assert (predicted["n_attempted"] == 12).all()
    quiet = predicted[predicted["method"] != "paper"]
    np.testing.assert_allclose(quiet["value"], 0.95, rtol=1e-12)


def test_open_study_reads_what_was_run(results):
    opened = p0.open_study(results.directory)
    pd.testing.assert_frame_equal(opened.estimates, results.estimates)
    assert opened.name == "tiny"
    assert opened.labels == {"paper": "Paper & co_%"}


def test_the_report_holds_tables_figures_and_theory(results, tmp_path):
    page = results.write_report(tmp_path / "report")
    names = {path.name for path in page.parent.iterdir()}
    tables = {"table.md", "table.tex", "table.csv", "performance.csv"}
    figures = {f"{f}.{e}" for f in ("qq", "coverage", "consistency") for e in ("png", "pdf")}
    assert names == {"README.md"} | tables | figures
    text = page.read_text()
    assert "Theory predicts under-coverage" in text or "targets with at least 200 fits" in text
    assert r"Paper \& co\_\%" in (page.parent / "table.tex").read_text()


def test_the_report_is_the_same_bytes_when_rebuilt(results, tmp_path):
    first, second = (results.write_report(tmp_path / name).parent for name in ("a", "b"))
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("reps = 12", "rep = 12", "did you mean 'reps'"),
        ("n = [12, 16]", "n = [2]", "n must be at least 3; got 2"),
        ("q = [2]", "q = [1]", "q must be at least 2; got 1"),
        ('"2", ', "-1, ", "epsilon must be positive and finite; got -1"),
        ('"2", ', "nan, ", "epsilon must hold finite numbers"),
        ('"2", ', "inf, ", "epsilon must hold finite numbers"),
        ('"log(log(n))"', "\"__import__('os')\"", "is not a formula"),
        ('"log(log(n))"', '"log(m)"', "'m' at position 5 is not known"),
        ('margins = "drop_last"', 'margins = "none"', "'balanced' or 'drop_last'"),
        ("[methods.balanced]", "[method.balanced]", "did you mean 'methods'"),
        ('aims = "A study of seconds"', 'experiment = "private"', "'private_p0'"),
    ],
)
def test_a_study_file_that_breaks_a_rule_is_refused_in_one_line(old, new, words, tmp_path):
    assert old in TEXT
    path = tmp_path / "bad.toml"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(p0.P0SimError) as caught:
        p0.Study.from_toml(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
