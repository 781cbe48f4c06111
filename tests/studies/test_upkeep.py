"""Extending, merging, exporting, stopping: the study stays what it was."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import p0sim as p0
from p0sim.errors import InvalidStudyError, StudyMismatchError
from p0sim.studies.reporting import digest
from tests.studies.test_study import TEXT

FRAMES = ("cells", "replicates", "estimates", "problems")
CUSTOM = """
[study]
name = "coin"
experiment = "coin.py:replicate"
seed = 3
reps = 30

[factors]
p = [0.1, 0.5]
"""
COIN = """
import p0sim as p0

def replicate(cell, streams):
    share = streams.network.binomial(20, cell.factors["p"]) / 20
    if share in (0, 1):
        raise p0.NoEstimateError("all alike")
    return [{"estimand": "p", "estimate": share, "std_error": (share * (1 - share) / 20) ** 0.5,
             "true_value": cell.factors["p"]}]
"""


def study(folder, text=TEXT):
    folder.mkdir(exist_ok=True)
    (folder / "tiny.toml").write_text(text)
    (folder / "coin.py").write_text(COIN)
    return p0.Study.from_toml(folder / "tiny.toml")


def assert_same(left, right):
    for name in FRAMES:
        pd.testing.assert_frame_equal(getattr(left, name), getattr(right, name), check_exact=True)


@pytest.mark.parametrize("text", [TEXT, CUSTOM], ids=["private_p0", "custom"])
def test_extending_twice_is_running_once_and_needs_no_study_file(tmp_path, text):
    whole = study(tmp_path / "a", text).run(tmp_path / "whole", reps=35, n_jobs=1, progress=False)
    study(tmp_path / "b", text).run(tmp_path / "steps", reps=12, n_jobs=1, progress=False)
    for name in ("tiny.toml", "coin.py"):
        (tmp_path / "b" / name).unlink()
    p0.extend_study(tmp_path / "steps", reps=25, n_jobs=1, progress=False)
    extended = p0.extend_study(tmp_path / "steps", reps=35, n_jobs=2, progress=False)
    assert_same(extended, whole)


def test_merged_shards_are_the_whole_and_predict_the_same(tmp_path):
    tiny, results = study(tmp_path / "a"), tmp_path / "results"
    whole = tiny.run(results / "whole", n_jobs=1, progress=False)
    shards = [results / f"{k}" for k in (1, 2, 3)]
    for number, shard in enumerate(shards, start=1):
        tiny.run(shard, shard=f"{number}/3", n_jobs=1, progress=False)
    p0.merge_studies(results / "merged", shards)
    merged = p0.open_study(results / "merged")
    assert_same(merged, whole)
    pd.testing.assert_frame_equal(merged.performance(), whole.performance())


def test_a_changed_python_file_refuses_to_mix_and_a_comment_gives_the_same_numbers(tmp_path):
    first = study(tmp_path / "a", CUSTOM).run(tmp_path / "results", n_jobs=1, progress=False)
    (tmp_path / "a" / "coin.py").write_text(COIN + "# a comment\n")
    changed = p0.Study.from_toml(tmp_path / "a" / "tiny.toml")
    with pytest.raises(StudyMismatchError, match=r"coin\.py has changed"):
        changed.run(tmp_path / "results", n_jobs=1, progress=False)
    assert_same(changed.run(tmp_path / "other", n_jobs=1, progress=False), first)


def test_export_is_every_frame_with_all_digits(tmp_path):
    results = study(tmp_path / "a").run(tmp_path / "results", n_jobs=1, progress=False)
    paths = results.export()
    frames = {"cells", "replicates", "estimates", "timings", "problems", "performance"}
    assert {path.stem for path in paths} == frames
    back = pd.read_csv(tmp_path / "results/csv/estimates.csv", dtype=str)
    # Python's float is exact; not every pandas parses so
    assert list(back["estimate"].map(float)) == list(results.estimates["estimate"])
    assert len(pd.read_csv(tmp_path / "results/csv/replicates.csv")) == len(results.replicates)


DESIGNS = """
[study]
name = "designs"
experiment = "designs.py:draw"
seed = 5
reps = 25

[factors]
n = [5, 10]
[factors.text]
design = ["ring", "a star & more"]
[[factors.exclude]]
design = "ring"
n = "5"
"""
DRAW = """
def draw(cell, streams):
    shift = {"ring": 0, "a star & more": 1}[cell.factors["design"]]
    mean = streams.network.normal(shift, size=cell.factors["n"]).mean()
    return [{"estimand": "mu", "estimate": mean, "std_error": cell.factors["n"] ** -0.5,
             "true_value": shift}]
"""


def test_levels_may_be_words_from_the_file_to_the_report(tmp_path):
    (tmp_path / "designs.py").write_text(DRAW)
    (tmp_path / "designs.toml").write_text(DESIGNS)
    tiny = p0.Study.from_toml(tmp_path / "designs.toml")
    results = tiny.run(tmp_path / "r", n_jobs=1, progress=False)
    assert list(results.cells["design"]) == ["a star & more", "ring", "a star & more"]
    assert (results.replicates["status"] == "ok").all()
    assert "a star & more" in results.paper_table(rows=["design"], cols=["n"]).to_text()
    assert r"a star \& more" in results.paper_table(rows=["design"], cols=["n"]).to_latex()
    assert results.write_report(tmp_path / "page").is_file()
    again = p0.extend_study(tmp_path / "r", reps=26, n_jobs=1, progress=False)
    assert len(again.replicates) == 3 * 26


def test_damaged_predictions_are_worked_out_again(tmp_path):
    tiny = study(tmp_path / "a")
    before = tiny.run(tmp_path / "r", n_jobs=1, progress=False).performance()
    (tmp_path / "r/predictions.parquet").write_bytes(b"half")
    pd.testing.assert_frame_equal(before, p0.open_study(tmp_path / "r").performance())
    after = tiny.run(tmp_path / "r", n_jobs=1, progress=False).performance()
    pd.testing.assert_frame_equal(before, after)


POOLED = """
[study]
name = "pooled"
seed = 1
reps = 30

[factors]
n = [12]
q = [2]
L = [0]
epsilon = [2]

[estimands]
contrasts = ["alpha[*]", { contrast = "alpha[1]-alpha[2]", null = 0.5 }]

[methods.first]
margins = "drop_last"

[methods.second]
reference = true

[measures.pool]
senders = "alpha[*]"
"""


def test_nulls_pools_and_the_reference_reach_the_measures(tmp_path):
    """Oracle: the same numbers by hand from the frame of estimates."""
    (tmp_path / "pooled.toml").write_text(POOLED)
    results = p0.Study.from_toml(tmp_path / "pooled.toml").run(
        tmp_path / "r", n_jobs=1, progress=False
    )
    table = results.performance().set_index(["method", "estimand", "measure"])["value"]
    rows = results.estimates[results.estimates["method"] == "first"]
    single = rows[rows["estimand"].str.fullmatch(r"alpha\[\d+\]")]
    width = (single["upper"] - single["lower"]).groupby(single["rep"]).mean().mean()
    np.testing.assert_allclose(table["first", "senders", "ci_width"], width)
    contrast = rows[rows["estimand"] == "alpha[1]-alpha[2]"]
    rejected = (contrast["lower"] > 0.5) | (contrast["upper"] < 0.5)
    assert table["first", "alpha[1]-alpha[2]", "reject"] == rejected.mean()
    assert ("first", "alpha[1]", "rel_prec") in table
    assert ("second", "alpha[1]", "rel_prec") not in table


def test_a_digest_knows_the_replicates_and_not_the_blocks(tmp_path):
    """Control: fewer replicates are other results."""
    tiny = study(tmp_path / "a", CUSTOM)
    options = {"n_jobs": 1, "progress": False}
    digests = [
        digest(tiny.run(tmp_path / str(size), block_size=size, **options)) for size in (1, 7, 30)
    ]
    assert len(set(digests)) == 1
    assert digest(tiny.run(tmp_path / "fewer", reps=29, **options)) not in digests


STOP = """
[measures.stop]
coverage_mcse = 0.05
min_reps = 20
max_reps = 90
check_every = 10
"""


def test_cells_stop_at_the_first_checkpoint_that_is_precise_enough(tmp_path):
    """Oracle: the rule worked out again from the rows, by hand."""
    results = study(tmp_path / "a", CUSTOM + STOP).run(tmp_path / "r", n_jobs=2, progress=False)
    targets = dict(zip(results.cells["cell"], results.cells["target_reps"]))
    for cell, rows in results.estimates.groupby("cell"):
        covers = (rows["lower"] <= rows["true_value"]) & (rows["true_value"] <= rows["upper"])

        def mcse(reps, rows=rows, covers=covers):
            used = rows["rep"] <= reps
            n, x = used.sum(), covers[used].sum()
            share = (x + 2) / (n + 4)
            return np.sqrt(share * (1 - share) / (n + 4)) if n >= 20 else np.inf

        precise = [reps for reps in range(20, 91, 10) if mcse(reps) <= 0.05]
        assert targets[cell] == (precise[0] if precise else 90)
    assert len(set(targets.values())) > 1
    assert (results.progress()["n_done"] == results.cells["target_reps"]).all()


def test_a_rule_that_needs_more_than_the_file_allows_is_refused(tmp_path):
    with pytest.raises(InvalidStudyError, match=r"min_reps must be at most .* = 30; got 50"):
        study(tmp_path / "a", CUSTOM + STOP.replace("20", "50").replace("max_reps = 90\n", ""))


def test_a_report_is_let_be_until_its_results_change(tmp_path):
    results = study(tmp_path / "a", CUSTOM).run(tmp_path / "r", n_jobs=1, progress=False)
    page = results.write_report(tmp_path / "page")
    record = json.loads(page.with_name("report.json").read_text())
    assert {path.name for path in page.parent.iterdir()} == {*record["files"], "report.json"}
    page.write_text("edited")
    assert p0.open_study(tmp_path / "r").write_report(tmp_path / "page").read_text() == "edited"
    page.with_name("table.tex").unlink()
    results.write_report(tmp_path / "page")
    assert page.read_text() != "edited"
    page.write_text("edited")
    p0.extend_study(tmp_path / "r", reps=31, n_jobs=1, progress=False).write_report(page.parent)
    assert page.read_text() != "edited"
