"""The site: it builds without a warning, and no page is left out."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import p0sim as p0
from tests.docs.pages import app

DOCS = Path(__file__).resolve().parents[2] / "docs"
TOCTREE = re.compile(r"^```\{toctree\}\n((?:.*\n)*?)```$", re.MULTILINE)
NEEDED = ("sphinx", "pydata_sphinx_theme", "myst_parser", "numpydoc")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]


def entries(page: Path) -> set[Path]:
    """Pages that a page's toctree names."""
    lines = [line for tree in TOCTREE.findall(page.read_text()) for line in tree.splitlines()]
    names = [line.partition("<")[2].rstrip(">") or line for line in lines if line]
    return {page.parent / f"{name}.md" for name in names if not name.startswith(":")}


def test_every_page_is_reached_from_the_first():
    reached, seen = {DOCS / "index.md"}, set()
    while new := reached - seen:
        seen |= new
        reached |= {entry for page in new for entry in entries(page)}
    assert reached == {*DOCS.glob("*.md"), *(DOCS / "howto").glob("*.md")}


def test_every_public_name_has_its_page():
    shown = set(re.findall(r"^   (\w+)$", (DOCS / "api.md").read_text(), re.MULTILINE))
    assert shown == set(p0.__all__) - {"__version__"}


def test_every_command_is_in_the_table_of_commands():
    shown = re.findall(r"^\| `p0sim (\w+)", (DOCS / "commands.md").read_text(), re.MULTILINE)
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(shown) == known
    assert len(shown) == len(known)


def test_every_room_shown_is_one():
    text = (DOCS / "rooms.md").read_text() + (DOCS / "theory.md").read_text()
    named = set(re.findall(r"^   (p0sim\.[\w.]+)$|\{mod\}`(p0sim\.[\w.]+)`", text, re.MULTILINE))
    for module in {first or second for first, second in named}:
        assert importlib.util.find_spec(module) is not None, module


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"extra docs is not installed: {', '.join(MISSING)}")
def test_the_site_builds_without_a_warning(tmp_path):
    """As `make docs` does, from a copy; what docutils cannot make a formula of is an error too."""
    made = shutil.ignore_patterns("_build", "api")
    source = shutil.copytree(DOCS, tmp_path / "docs", ignore=made)
    command = [sys.executable, "-m", "sphinx", "-W", "-q", source, tmp_path / "site"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site/theory.html").read_text()
    assert page.count("<math") > 100
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=.https?:", page)
