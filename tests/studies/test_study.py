"""From a study file to frames, tables, figures and a page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import p0sim as p0
from p0sim.columns import column_names, performance_columns
from p0sim.studies.reporting import make_report, material_of, table_of

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
    assert page.name == "index.html"
    names = {path.name for path in page.parent.iterdir()}
    tables = {"table.md", "table.tex", "table.csv", "table.txt"}
    kinds = ("qq", "zipper", "coverage", "nested", "consistency", "privacy-utility", "est-se")
    figures = {f"{kind}.{suffix}" for kind in kinds for suffix in ("png", "pdf")}
    assert {"index.html", "README.md", "report.json"} | tables | figures <= names
    text = page.read_text()
    assert "Theory predicts under-coverage" in text or "targets with at least 200 fits" in text
    assert r"Paper \& co\_\%" in (page.parent / "table.tex").read_text()


def test_a_report_is_drawn_again_from_its_own_files(results, tmp_path):
    """Without the results; every file comes out the same."""
    folder = results.write_report(tmp_path / "report").parent
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.glob("*.p*"):
        path.unlink()
    assert make_report(folder) == folder / "index.html"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_report_is_the_same_bytes_when_rebuilt(results, tmp_path):
    first, second = (results.write_report(tmp_path / name).parent for name in ("a", "b"))
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("reps = 12", "rep = 12", "did you mean 'reps'"),
        ("n = [12, 16]", "n = [2]", "[factors] n must be at least 3; got 2"),
        ("q = [2]", "q = [1]", "[factors] q must be at least 2; got 1"),
        ('"2", ', "-1, ", "[factors] epsilon must be positive and finite; got -1"),
        ('"2", ', "nan, ", "epsilon must hold finite numbers"),
        ('"2", ', "inf, ", "epsilon must hold finite numbers"),
        ('"log(log(n))"', "\"__import__('os')\"", "is not a formula"),
        ('"log(log(n))"', '"log(m)"', "'m' at position 5 is not known"),
        ('margins = "drop_last"', 'margins = "none"', "'balanced' or 'drop_last'"),
        (
            '"alpha[1]"]',
            '"alpha[1]-alpah[2]"]',
            "[estimands] contrast must name parameters alpha or beta; got 'alpah' in "
            "'alpha[1]-alpah[2]', did you mean 'alpha'?",
        ),
        ("n = [12, 16]", "n = [12, 12]", "[factors] n must not repeat a level; got 12 twice"),
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


def run_text(text, folder, **options):
    (folder / "study.toml").write_text(text)
    study = p0.Study.from_toml(folder / "study.toml")
    return study.run(folder / "results", n_jobs=1, progress=False, **options)


ALL_FIT = """
[study]
name = "plain"
seed = 1
reps = 10

[factors]
n = [30]
q = [2]
L = [0]

[estimands]
contrasts = ["alpha[1]"]

[methods.quiet]
release = false
"""


def test_a_study_without_aims_in_which_every_fit_succeeds_has_a_page(tmp_path):
    results = run_text(ALL_FIT, tmp_path)
    assert (results.replicates["status"] == "ok").all()
    page = results.write_report(tmp_path / "report").read_text()
    assert "1 cell, 10 replicates" in page
    assert "heavy-tailed" not in page


def test_a_study_without_contrasts_has_a_table_of_largest_errors(tmp_path):
    text = ALL_FIT.replace('contrasts = ["alpha[1]"]', "").replace("[30]", "[30, 40, 60]")
    results = run_text(text, tmp_path)
    assert "median largest error" in results.paper_table().to_text()
    page = results.write_report(tmp_path / "report")
    assert (page.parent / "consistency.png").is_file()
    assert "under-cover" not in page.read_text()


def test_an_unfinished_study_says_so_on_its_page(tmp_path):
    """A lost mark file is a block that is not there."""
    results = run_text(ALL_FIT, tmp_path, block_size=4)
    sorted((results.directory / "replicates").glob("*.parquet"))[0].unlink()
    page = p0.open_study(results.directory).write_report(tmp_path / "report").read_text()
    assert "Unfinished: 6 of 10 replicates" in page


def test_the_table_of_an_unfinished_study_says_so_in_every_form(tmp_path):
    """Papers take the table, not the page: what is not there yet must stand in its note."""
    text = ALL_FIT.replace("n = [30]", "n = [30, 40]")
    study = run_text(text, tmp_path)
    large = study.cells["cell"].iloc[1]
    for path in study.directory.glob(f"*/{large}*"):
        path.unlink()
    cut = p0.open_study(study.directory)
    said = "Unfinished: 10 of 20 replicates are there; 1 cell has none and is not shown."
    table = cut.paper_table()
    forms = (table.to_text(10_000), table.to_latex(), table.to_markdown(), table.to_html())
    assert all(said in form for form in forms)
    report = cut.write_report(tmp_path / "report").parent
    for name in ("table.tex", "table.md", "README.md", "index.html"):
        assert said in (report / name).read_text("utf-8")
    assert said in table_of(report).grid.note
    assert said in table_of(study.directory).grid.note
    assert "Unfinished" not in study.paper_table(note="Mine.").grid.note
    (tmp_path / "report").rename(tmp_path / "kept")
    whole = run_text(text, tmp_path)
    assert "Unfinished" not in whole.paper_table().grid.note


def test_copies_across_shared_factors_count_once(results):
    """Eight cells, four of them distinct without noise: 12 replicates in each."""
    assert results.copies == {"nonprivate": ["epsilon"]}
    quiet = results.replicates[results.replicates["method"] == "nonprivate"]
    failed = (quiet["status"] == "no_estimate").sum()
    assert failed % 2 == 0
    counted = material_of(results, "").failures
    assert counted["count"][counted["method"] == "nonprivate"].sum() == failed // 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"alpha[1]"]', '"alpha[n]", "alpha[30]"]', "alpha[30] twice"),
        ("release = false", 'release = false\n[methods.loud]\nlabel = "noisy"', "have epsilon"),
        ("release = false", 'release = false\nlabel = " "', "labels must differ"),
        ("[methods.quiet]", '[model]\nshare_network_across = ["n"]\n[methods.quiet]', "'n'"),
        ("n = [30]", "n = [1000000000]", "at most 1000000"),
        ("L = [0]", 'L = ["0x10"]', "'0x10'"),
    ],
)
def test_what_could_only_go_wrong_later_is_refused_at_once(old, new, words, tmp_path):
    assert old in ALL_FIT
    with pytest.raises(p0.P0SimError) as caught:
        run_text(ALL_FIT.replace(old, new), tmp_path)
    assert words in str(caught.value)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("pattern", ["gamma*", "alpha[*", "beta[*]", "alpha[*]-alpha[99]"])
def test_a_pool_of_no_estimand_is_refused_in_one_line(pattern, tmp_path):
    path = tmp_path / "pool.toml"
    path.write_text(f'{TEXT}\n[measures.pool]\nfirst = "alpha[1]"\nsenders = "{pattern}"\n')
    with pytest.raises(p0.InvalidStudyError) as caught:
        p0.Study.from_toml(path)
    expected = f"[measures.pool] senders must match an estimand; got {pattern!r}"
    assert str(caught.value) == expected


def test_a_pool_without_any_contrast_is_refused(tmp_path):
    path = tmp_path / "pool.toml"
    text = TEXT.replace("contrasts = [", "contrasts = []\n# [")
    path.write_text(f'{text}\n[measures.pool]\nsenders = "alpha[*]"\n')
    with pytest.raises(p0.InvalidStudyError, match=r"senders must match an estimand"):
        p0.Study.from_toml(path)


def test_a_pool_may_have_estimands_in_one_cell_alone(tmp_path):
    """alpha[15]-alpha[16] is one of n = 16."""
    path = tmp_path / "pool.toml"
    path.write_text(f'{TEXT}\n[measures.pool]\nlast = "alpha[*]-alpha[16]"\n')
    assert len(p0.Study.from_toml(path).cells) == 8


def test_a_custom_experiment_may_have_any_pool(tmp_path):
    (tmp_path / "mine.py").write_text("def replicate(cell, streams):\n    return []\n")
    path = tmp_path / "pool.toml"
    path.write_text(
        "study = {name = 'mine', experiment = 'mine.py:replicate', seed = 1, reps = 5}\n"
        "factors = {mu = [1]}\n"
        "measures = {pool = {senders = 'gamma*'}}\n"
    )
    assert len(p0.Study.from_toml(path).cells) == 1


def test_too_many_workers_are_refused(tmp_path):
    (tmp_path / "study.toml").write_text(ALL_FIT)
    study = p0.Study.from_toml(tmp_path / "study.toml")
    with pytest.raises(p0.InvalidStudyError, match=r"n_jobs \(-j\) must be -1 or in"):
        study.run(tmp_path / "results", n_jobs=9999, progress=False)
    with pytest.raises(TypeError, match="n_jobs must be a whole number; got '2'"):
        study.run(tmp_path / "results", n_jobs="2", progress=False)
    assert not (tmp_path / "results").exists()


def test_a_study_without_a_finished_block_is_refused_and_leaves_no_page(tmp_path):
    results = run_text(ALL_FIT, tmp_path)
    for path in (results.directory / "replicates").iterdir():
        path.unlink()
    with pytest.raises(p0.InvalidStudyError, match="at least one finished block"):
        p0.open_study(results.directory).write_report(tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_a_study_cut_short_before_its_predictions_can_be_looked_at(tmp_path):
    """Predictions are written at the end of a run; a table and a page do not need them."""
    results = run_text(ALL_FIT, tmp_path)
    (results.directory / "predictions.parquet").unlink()
    cut = p0.open_study(results.directory)
    assert "alpha[1]" in cut.paper_table().to_text()
    assert cut.write_report(tmp_path / "report").is_file()
