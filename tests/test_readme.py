"""What the README shows works as it stands there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import p0sim as p0
from tests.docs.pages import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_example_runs():
    (example,) = blocks("python")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(example, "README.md", "exec"), {})
    assert "Std. Error" in shown.getvalue()
    assert "alpha[3]+beta[58]" in shown.getvalue()


def test_every_command_shown_exists():
    shown = set(re.findall(r"(?:`|/bin/)p0sim (\w+)", README))
    assert {"run"} <= shown
    assert shown <= {
        command.name or command.callback.__name__ for command in app.registered_commands
    }


@pytest.mark.parametrize("target", re.findall(r"^make (\w+)|`make (\w+)`", README, re.MULTILINE))
def test_every_target_shown_is_in_the_makefile(target):
    assert re.search(rf"^{''.join(target)}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "simulations").glob("*.toml")), ids=lambda p: p.name
)
def test_every_study_file_of_the_repository_is_accepted(path):
    assert p0.Study.from_toml(path).name == path.stem


def test_it_is_one_screen():
    assert len(README.splitlines()) <= 60


def test_every_local_link_leads_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
