"""Every page does what it shows: files are written, blocks are run, outputs compared."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import p0sim as p0
from tests.docs.pages import Page, blocks_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
FOLDERS = (".", "howto")
PAGES = sorted(
    path for folder in FOLDERS for path in (DOCS / folder).glob("*.md") if path.name != "columns.md"
)
WITH_CODE = [path for path in PAGES if any(block.is_run for block in blocks_of(path.read_text()))]
# studies on all cores, with their reports
SLOW = {
    "figures",
    "input-output",
    "linkpred",
    "long-studies",
    "own-experiment",
    "own-truth",
    "study-file",
    "tutorial",
}
# clones, installs, R, other machines
NOT_RUN_AT_MOST = 8


def marked(path: Path):
    marks = [pytest.mark.slow] if path.stem in SLOW else []
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("path", [marked(path) for path in WITH_CODE])
def test_a_page_does_what_it_shows(path, tmp_path, monkeypatch):
    """release.md draws real noise: its network is too far from its ends for an estimate to fail.

    The chance that any of its 100 noisy degrees leaves its range is 1e-8, by the law of the noise.
    """
    monkeypatch.chdir(tmp_path)
    Page(path).run()
    plt.close("all")


def run(text, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "page.md").write_text(text)
    Page(folder / "page.md").run()


@pytest.mark.parametrize(
    ("shown", "printed"),
    [("1 3\n", "1 2"), ("1 2\n3\n", "1 2"), ("...3\n", "1 2"), ("\n", "1 2")],
    ids=["another number", "a line more", "another end", "nothing"],
)
def test_an_output_that_is_not_printed_fails(shown, printed, tmp_path, monkeypatch):
    page = f'```python\nprint("{printed}")\n```\n\n```output\n{shown}```\n'
    with pytest.raises(AssertionError, match=r"page\.md:5"):
        run(page, tmp_path, monkeypatch)


def test_dots_stand_for_what_differs_between_machines(tmp_path, monkeypatch):
    run('```python\nprint("0.31 s", 2)\n```\n```output\n... s 2\n```\n', tmp_path, monkeypatch)


def test_a_command_that_prints_something_else_fails(tmp_path, monkeypatch):
    with pytest.raises(AssertionError, match=r"page\.md:1"):
        run("```console\n$ p0sim --version\np0sim 0.0.0\n```\n", tmp_path, monkeypatch)


@pytest.mark.parametrize("shown", ["", "...\n"])
def test_a_command_that_fails_unsaid_fails(shown, tmp_path, monkeypatch):
    with pytest.raises(AssertionError, match="holds no study"):
        run(f"```console\n$ p0sim status nowhere\n{shown}```\n", tmp_path, monkeypatch)


def test_a_command_may_show_its_error(tmp_path, monkeypatch):
    shown = "error: nowhere holds no study: study.json is missing"
    run(f"```console\n$ p0sim status nowhere\n{shown}\n```\n", tmp_path, monkeypatch)


def test_a_caption_names_the_file_that_a_block_becomes(tmp_path, monkeypatch):
    page = "```{code-block} text\n:caption: nodes.txt\n\nann\nbob\n```\n"
    run(page, tmp_path, monkeypatch)
    assert (tmp_path / "nodes.txt").read_text() == "ann\nbob\n"


def test_a_block_that_is_not_run_says_so(tmp_path, monkeypatch):
    left = "```{code-block} r\n:class: not-run\n\nlibrary(VGAM)\n```\n"
    run(left, tmp_path, monkeypatch)
    with pytest.raises(AssertionError, match="what to do with this block"):
        run("```r\nlibrary(VGAM)\n```\n", tmp_path, monkeypatch)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_glm_of_the_guide_for_r_users_is_our_fit(tmp_path):
    """12 nodes: sorted as text the last one would be 9, and all coefficients another set."""
    design = p0.P0Model(np.linspace(-0.5, 0.5, 12), np.zeros(12), q=2)
    weights = design.sample(rng=np.random.default_rng(1))
    arcs = [(i, j, weights[i, j]) for i in range(12) for j in range(12) if i != j]
    frame = pd.DataFrame(arcs, columns=["source", "target", "weight"])
    frame[["source", "target"]] += 1
    frame.to_csv(tmp_path / "edges.csv", index=False)
    (guide,) = (b.text for b in blocks_of((DOCS / "r-users.md").read_text()) if "<- glm(" in b.text)
    shown = 'write.csv(data.frame(b = coef(fit)), "coefficients.csv")\n'
    # what comes next needs VGAM
    (tmp_path / "guide.R").write_text(guide.partition("# weights 0..q-1")[0] + shown)
    subprocess.run(["Rscript", "guide.R"], cwd=tmp_path, check=True, capture_output=True)
    found = pd.read_csv(tmp_path / "coefficients.csv", index_col=0)["b"]
    fit = p0.fit(p0.bidegree(frame, q=2))
    names = [f"source{k}" for k in range(1, 13)] + [f"target{k}" for k in range(1, 12)]
    np.testing.assert_allclose(found[names], fit.params, atol=1e-6)


def test_few_blocks_are_not_run():
    left = [block for path in PAGES for block in blocks_of(path.read_text()) if not block.is_run]
    assert len(left) <= NOT_RUN_AT_MOST
    assert {block.kind for block in left} <= {"console", "r", "toml"}


def test_every_fence_of_a_page_is_read():
    """As many as there are lines with three backticks, halved."""
    for path in PAGES:
        text = path.read_text()
        directives = re.findall(r"^```\{(?!code-block)", text, re.MULTILINE)
        fences = re.findall(r"^```", text, re.MULTILINE)
        assert 2 * (len(blocks_of(text)) + len(directives)) == len(fences), path.name


def test_the_tutorial_takes_three_commands_and_one_short_file():
    """What the issue that asked for it promises: installing, running, the table."""
    blocks = blocks_of((DOCS / "tutorial.md").read_text())
    files = [block for block in blocks if block.caption]
    commands = [line for block in blocks for line in block.text.splitlines() if line[:2] == "$ "]
    assert [block.caption for block in files] == ["mine.toml"]
    assert len(files[0].text.splitlines()) <= 30
    assert [command.split()[1:3] for command in commands[:3]] == [
        ["make", "install"],
        [".venv/bin/p0sim", "run"],
        [".venv/bin/p0sim", "table"],
    ]


def test_every_number_of_the_findings_is_printed_by_the_command_beside_it(monkeypatch):
    monkeypatch.chdir(DOCS.parent)
    Page(Path("reports/README.md")).run()
