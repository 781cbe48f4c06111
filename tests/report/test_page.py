"""A report as files: complete, escaped, self-contained, the same when drawn again."""

from __future__ import annotations

import base64
import io
import re
import shutil
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from PIL import Image

from p0sim.engine.pools import spread
from p0sim.report.freshness import is_current
from p0sim.report.material import FILES, RECORD
from p0sim.report.page import DATA, TABLES, write_page, write_report
from tests.report.fake_material import HOSTILE, fake_material, material_of, two_problems
from tests.report.fake_study import fake_study
from tests.report.test_material import word_study

VOID = {"meta", "link", "img", "br", "col", "hr", "input"}
SMALL = {"sizes": (100,), "ls": ("0", "log(n)"), "epsilons": ("2",)}
WHOLE = {"sizes": (100, 200), "ls": ("0", "log(n)"), "epsilons": ("2", "log(n)/n^(1/2)")}


class Reader(HTMLParser):
    """Elements, their attributes and texts; what is left open or closed twice is a fault."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.elements, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        self.faults += [f"{tag} left open" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"{tag} closed where it was not open")

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def links(self):
        """Everything an element points to."""
        return [
            attrs[name] for _, attrs in self.elements for name in ("href", "src") if attrs.get(name)
        ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report of two cells, one without any estimate, with hostile names, errors and warnings."""
    folder = tmp_path_factory.mktemp("page") / "report"
    write_report(fake_material(problems=two_problems(), **SMALL), folder)
    return folder


@pytest.fixture(scope="module")
def page(folder):
    return Reader((folder / "index.html").read_text("utf-8"))


@pytest.fixture
def undrawn(monkeypatch):
    """For tests of texts alone: figures take seconds."""
    monkeypatch.setattr("p0sim.report.page.exhibits", lambda material: [])


def written(material, folder):
    return Reader(write_report(material, folder).read_text("utf-8"))


def test_every_element_is_closed_where_it_was_opened(page):
    assert page.faults == []


def test_the_control_of_that_is_flagged():
    assert Reader("<p><b>x</p>").faults


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A report of eight cells with every kind of figure, some of them in several slices."""
    folder = tmp_path_factory.mktemp("whole") / "report"
    write_report(fake_material(**WHOLE), folder)
    return folder


@pytest.mark.slow
def test_the_folder_holds_tables_figures_numbers_and_pages(whole):
    names = {path.name for path in whole.iterdir()}
    kinds = ("coverage", "nested", "qq", "zipper", "est-se", "consistency", "privacy-utility")
    figures = {f"{kind}.{suffix}" for kind in kinds for suffix in ("pdf", "png")}
    pages = {"index.html", "README.md", "report.json"}
    assert names == {*TABLES, *FILES, *figures, RECORD, *pages}
    assert set(DATA) == set(FILES)


@pytest.mark.slow
def test_further_slices_stand_in_parts_that_open(whole):
    """QQ plots have epsilon across: the other three settings of n and L are folded away."""
    page = Reader((whole / "index.html").read_text("utf-8"))
    assert [tag for tag, _ in page.elements].count("details") == 3
    assert "n = 200, L = log(n)" in page.text


@pytest.mark.slow
def test_a_report_drawn_again_from_its_folder_by_two_processes_is_the_same_bytes(whole, tmp_path):
    for name in (*FILES, RECORD):
        shutil.copy(whole / name, tmp_path)
    write_page(tmp_path, partial(spread, n_jobs=2))
    for path in whole.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_every_link_is_in_the_page_or_in_the_folder(folder, page):
    ids = {attrs.get("id") for _, attrs in page.elements}
    for link in page.links():
        if link.startswith("#"):
            assert link[1:] in ids
        elif not link.startswith("data:"):
            assert (folder / link).is_file(), link


def test_nothing_outside_is_asked_for_and_nothing_runs(folder, page):
    assert not {"script", "iframe", "object", "form"} & {tag for tag, _ in page.elements}
    text = (folder / "index.html").read_text("utf-8")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|\son[a-z]+=", without_images(text))


def without_images(text):
    return re.sub(r'"data:[^"]*"', '""', text)


def test_captions_say_what_holds_in_this_study(page):
    """One size, and half of the cells have no estimate."""
    assert "Estimates are judged on the data sets that have one." in page.text
    assert "least-squares slopes" not in page.text


def test_every_image_is_a_png_and_says_what_it_shows(page):
    images = [attrs for tag, attrs in page.elements if tag == "img"]
    assert len(images) >= 4
    for attrs in images:
        coded = attrs["src"].removeprefix("data:image/png;base64,")
        with Image.open(io.BytesIO(base64.b64decode(coded, validate=True))) as image:
            assert image.size == (int(attrs["width"]), int(attrs["height"]))
        assert len(attrs["alt"]) > 40


def test_headings_go_down_by_one_and_the_first_is_the_title(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_table_has_a_caption_and_every_heading_cell_a_scope(page):
    tags = [tag for tag, _ in page.elements]
    assert tags.count("caption") == tags.count("table") >= 3
    assert all(attrs.get("scope") for tag, attrs in page.elements if tag == "th")


def test_names_with_special_characters_are_text(folder, page):
    assert HOSTILE in page.text
    assert "<script>alert(1)</script>" in page.text
    readme = (folder / "README.md").read_text("utf-8")
    assert HOSTILE not in readme
    assert r"\<b\>5%\</b\>\_\&{x}#1\$y\$\|\\\`c\`\*d\*" in readme


def test_a_report_is_current_until_a_file_or_its_results_change(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert is_current(copy, "0f3a")
    assert not is_current(copy, "0f3b")
    (copy / "index.html").unlink()
    assert not is_current(copy, "0f3a")


def test_the_text_speaks_of_aims_mechanisms_estimands_methods_and_measures_in_that_order(page):
    titles = ("Aims", "Data-generating mechanisms", "Estimands", "Methods", "Performance measures")
    assert re.search(f"What was done {' .+? '.join(titles)} .+? Results", page.text)
    for words in (
        "The factor was L (largest parameter of the linear design: 0, log(n)): 2 cells.",
        "Fixed: n = 100, q = 2, epsilon = 2.",
        "Cells that differ in epsilon alone shared their networks",
        "the last in-degree left out",
        "never redrawn",
        "60 replicates",
        "20240501",
        "Morris, White and Crowther (2019)",
        "Python 3.11.7, p0sim 0.1.0 and numpy 2.4.6",
    ):
        assert words in page.text, words


def test_failures_and_problems_are_counted_by_reason(page):
    material = fake_material(**SMALL)
    first = material.failures.iloc[0]
    share = f"{100 * first['share']:.1f}"
    words = f"{first['status']} out-degree of 3 is 0 {first['count']} {share} {first['cells']}"
    assert words in page.text
    assert "error" in page.text
    assert "mine.py:12" in page.text


def test_the_page_names_what_makes_it_again(page):
    assert "p0sim run fake.toml p0sim report results/fake" in page.text
    assert "0f3a" in page.text


def test_an_unfinished_study_says_so(tmp_path, undrawn):
    material = fake_material(reps=5, sizes=(100,), ls=("0",), epsilons=("2",))
    done = written(material, tmp_path / "done")
    cut = written(replace(material, done=3), tmp_path / "cut")
    assert "Unfinished: 3 of 5 replicates are there." in cut.text
    assert "Every cell was to have 5 replicates; 3 are there in all." in cut.text
    assert "5 replicates each asked for" in cut.text
    assert "Unfinished" not in done.text and "asked for" not in done.text
    assert "Unfinished: 3 of 5" in (tmp_path / "cut/README.md").read_text("utf-8")


def test_a_study_of_one_cell_has_a_page(tmp_path):
    material = fake_material(sizes=(100,), ls=("0",), epsilons=("2",))
    page = written(material, tmp_path)
    assert "1 cell, 60 replicates each" in page.text
    assert "One setting was studied. Fixed: n = 100, q = 2, L = 0, epsilon = 2." in page.text
    assert not (tmp_path / "nested.png").exists()


def test_a_study_in_which_every_fit_failed_has_a_page(tmp_path):
    material = fake_material(sizes=(100,), ls=("log(n)",))
    page = written(material, tmp_path)
    assert "No replicate has an estimate: there is nothing to draw." in page.text
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert page.faults == []
    assert "100.0" in page.text


def test_a_study_without_contrasts_has_a_page(tmp_path):
    cells, replicates, estimates = fake_study(reps=60, ls=("0",), epsilons=("2",))
    page = written(material_of(cells, replicates, estimates.iloc[:0]), tmp_path)
    assert "median largest error" in page.text
    assert (tmp_path / "consistency.pdf").is_file()
    assert not (tmp_path / "qq.pdf").exists()
    assert "Comparison with theory" not in page.text
    assert "The study has no contrasts" in page.text
    assert "No replicate has an estimate" not in page.text


def test_a_single_cell_without_contrasts_says_that_the_table_says_it_all(tmp_path):
    cells, replicates, estimates = fake_study(reps=60, sizes=(100,), ls=("0",), epsilons=("2",))
    page = written(material_of(cells, replicates, estimates.iloc[:0]), tmp_path)
    assert "Nothing but whole fits was measured, and no factor varies" in page.text
    assert "No replicate has an estimate" not in page.text


def test_largest_errors_take_the_place_of_coverage_in_a_study_without_contrasts(tmp_path):
    cells, replicates, estimates = fake_study(reps=60, sizes=(100,), ls=("0",))
    written(material_of(cells, replicates, estimates.iloc[:0]), tmp_path)
    assert (tmp_path / "privacy-utility.png").is_file()


def test_an_experiment_of_ones_own_has_a_page(tmp_path):
    """Its levels are words, its methods unknown."""
    identity = {"experiment": "mine.py:<draw>", "methods": {"mine": {}}, "level": 0.95}
    changes = {"identity": identity, "copies": {}, "labels": {}}
    page = written(material_of(*word_study(), **changes), tmp_path)
    assert "a call of mine.py:<draw>, which simulates a data set" in page.text
    assert "design (5, NA)" in page.text
    assert "p0 model" not in page.text
    assert page.faults == []


def test_a_study_whose_fits_all_succeed_says_none_failed(tmp_path, undrawn):
    page = written(material_of(*word_study(), labels={}), tmp_path)
    assert "None: every fit has an estimate." in page.text
    assert "None were recorded." in page.text
