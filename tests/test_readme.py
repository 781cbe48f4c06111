"""What the README shows works as it stands there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import p0sim as p0

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_example_runs():
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(blocks("python")[0], "README.md", "exec"), {})
    assert "Std. Error" in shown.getvalue()


def test_the_study_runs_to_its_table_and_page(tmp_path):
    """As it stands there, with fewer replicates."""
    path = tmp_path / "mine.toml"
    path.write_text(blocks("toml")[0])
    results = p0.Study.from_toml(path).run(tmp_path / "results", reps=3, progress=False)
    assert len(results.cells) == 8
    assert "alpha[1]-alpha[2]" in results.paper_table().to_text()
    assert results.write_report(tmp_path / "report").is_file()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "simulations").glob("*.toml")), ids=lambda p: p.name
)
def test_every_study_file_of_the_repository_is_accepted(path):
    assert p0.Study.from_toml(path).name == path.stem


def test_every_local_link_leads_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
