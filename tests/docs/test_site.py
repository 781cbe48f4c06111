"""The site: it builds without a warning, and no page is left out."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

import p0sim as p0
from p0sim.cli.plotting import KINDS
from tests.docs.pages import app
from tests.report.test_page_in_browser import FOUND

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

from mathml_layout import laid_out  # noqa: E402 (beside conf.py, as Sphinx finds it)

TOCTREE = re.compile(r"^```\{toctree\}\n((?:.*\n)*?)```$", re.MULTILINE)
NEEDED = ("sphinx", "pydata_sphinx_theme", "myst_parser", "numpydoc")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
needs_docs = pytest.mark.skipif(
    bool(MISSING), reason=f"extra docs is not installed: {', '.join(MISSING)}"
)
# Folders of the site, and whether lines of up to 100 characters stand there unbroken.
PARTS = {"": True, "howto/": True, "api/": False}
# What is wider than the room it has; a frame that scrolls is around a table.
CUT = """([parts, whole]) => [...document.querySelectorAll(parts)].filter(part => {
    const lines = part.tagName === 'PRE' ? part.innerText.split('\\n') : [];
    if (whole && lines.length && lines.every(line => line.length <= 100))
        part.style.whiteSpace = 'pre';
    const frame = part.closest('.pst-scrollable-table-container') || part;
    return frame.scrollWidth > frame.clientWidth + 3;
}).map(part => part.innerText)"""


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


def test_every_module_that_a_page_names_is_one_and_is_on_the_site():
    shown = re.findall(r"^   (p0sim\.[\w.]+)$", (DOCS / "rooms.md").read_text(), re.MULTILINE)
    pages = "".join(path.read_text() for path in DOCS.glob("**/*.md"))
    assert set(re.findall(r"\{mod\}`(p0sim\.[\w.]+)`", pages)) <= set(shown)
    for module in shown:
        assert importlib.util.find_spec(module) is not None, module


def test_every_kind_of_figure_is_in_the_table_of_figures():
    text = (DOCS / "howto/figures.md").read_text()
    table = text[text.index("| kind | shows |") :].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE) == list(KINDS)


BARS = "<math><mo>|</mo><mi>d</mi><mo>|</mo></math>"


def test_a_prime_is_raised_and_is_no_apostrophe():
    found = laid_out("<math><mi>f</mi><mo>'</mo><mo>(</mo><mi>x</mi><mo>)</mo></math>")
    assert "<msup><mi>f</mi><mo>\N{PRIME}</mo></msup><mo>(</mo>" in found


def test_bars_open_and_close_and_are_of_one_height():
    forms = re.findall(r'<mo form="(\w+)" stretchy="false"', laid_out(BARS))
    assert forms == ["prefix", "postfix"]


@pytest.mark.parametrize(("after", "space"), [("<mi>u</mi>", "0.1667em"), ("<mo>(</mo>", "0")])
def test_the_name_of_a_function_is_set_off_from_letters_but_not_from_a_bracket(after, space):
    found = laid_out(f"<math><mi>k</mi><mi>deg</mi><mo>&ApplyFunction;</mo>{after}</math>")
    assert '<mi>k</mi><mspace width="0.1667em" /><mi>deg</mi>' in found
    assert f'rspace="{space}"' in found


@needs_docs
def test_what_is_printed_after_a_command_is_no_command():
    """A comment of LaTeX begins with a percent sign, the prompt of some shells for root."""
    from prompts import ConsoleLexer
    from pygments.token import Generic

    text = "$ p0sim table a\n% needs booktabs\n# none\n\\par $n$ & 'x \\\\\n"
    found = list(ConsoleLexer().get_tokens(text))
    assert [word for kind, word in found if kind is Generic.Prompt] == ["$ "]
    assert "".join(word for kind, word in found if kind is Generic.Output) == text[16:]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """As `make docs` builds it, from a copy; what leads nowhere or is no formula is an error."""
    made, folder = shutil.ignore_patterns("_build", "api"), tmp_path_factory.mktemp("site")
    source = shutil.copytree(DOCS, folder / "docs", ignore=made)
    command = [sys.executable, "-m", "sphinx", "-W", "-q", source, folder / "html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.slow
@needs_docs
def test_the_site_builds_without_a_warning(site):
    page = (site / "theory.html").read_text()
    assert page.count("<math") > 100
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=.https?:", page)
    assert "\N{LEFT DOUBLE QUOTATION MARK}" not in (site / "api/p0sim.fit.html").read_text()


@pytest.mark.slow
@needs_docs
def test_a_reference_that_leads_nowhere_ends_the_build(tmp_path):
    """Control: the same settings, one dead reference."""
    shutil.copytree(DOCS / "_ext", tmp_path / "_ext")
    shutil.copy(DOCS / "conf.py", tmp_path)
    (tmp_path / "index.md").write_text("# A page\n\n{mod}`p0sim.no_such_room`\n")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-D", "html_static_path="]
    command += ["-D", "templates_path=", tmp_path, tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "p0sim.no_such_room" in done.stderr


def every_page(site: Path) -> list[tuple[Path, bool]]:
    return [(path, whole) for part, whole in PARTS.items() for path in site.glob(f"{part}*.html")]


@pytest.mark.slow
@needs_docs
@pytest.mark.skipif(FOUND is None, reason="no browser is installed")
def test_nothing_is_cut_on_a_desk_and_no_page_scrolls_sideways_on_a_telephone(site):
    """Code may scroll inside itself on a telephone; tables of the reference may not."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=FOUND, args=["--no-sandbox"])
        page, cut = browser.new_page(), {}
        for width, parts in ((1280, "h1, pre, div.math, table"), (375, "html, h1, .autosummary")):
            page.set_viewport_size({"width": width, "height": 900})
            for path, whole in every_page(site):
                page.goto(path.as_uri())
                if found := page.evaluate(CUT, [parts, whole]):
                    cut[width, path.stem] = found
        browser.close()
    assert cut == {}
