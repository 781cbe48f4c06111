"""What the README shows works as it stands there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import p0sim as p0
from p0sim.cli import exploring, fitting, looking, plotting, releasing, running  # noqa: F401
from p0sim.cli.app import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_example_runs():
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(blocks("python")[1], "README.md", "exec"), {})
    assert "Std. Error" in shown.getvalue()


def test_the_experiment_shown_runs(tmp_path):
    (tmp_path / "erdos_renyi.py").write_text(blocks("python")[0])
    text = (ROOT / "simulations/erdos_renyi.toml").read_text()
    (tmp_path / "density.toml").write_text(text.partition("[methods")[0])
    study = p0.Study.from_toml(tmp_path / "density.toml")
    results = study.run(tmp_path / "results", reps=20, n_jobs=1, progress=False)
    assert set(results.replicates["status"]) == {"ok"}


def test_the_stopping_rule_shown_is_one(tmp_path):
    (tmp_path / "mine.toml").write_text(blocks("toml")[0] + blocks("toml")[1])
    rule = p0.Study.from_toml(tmp_path / "mine.toml").rule()
    assert rule is not None
    assert rule.checkpoints[-1] == 5000


def test_every_command_shown_exists():
    shown = set(re.findall(r"(?:`|^)p0sim (\w+)", README, re.MULTILINE))
    assert shown <= {
        command.name or command.callback.__name__ for command in app.registered_commands
    }
    assert len(shown) >= 15


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
