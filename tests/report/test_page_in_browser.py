"""The page in a browser: what a reader sees on a telephone and on a desk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from p0sim.report.page import write_report
from tests.report.fake_material import fake_material, two_problems

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FOUND = next((path for path in map(shutil.which, BROWSERS) if path), None)
WIDTHS = (375, 1280)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(FOUND is None, reason=f"none of {', '.join(BROWSERS)} is installed"),
]
# Every question is put to the page as a reader has it: laid out, images decoded.
IMAGES = """images => images.map(image => ({alt: image.alt, width: image.naturalWidth}))"""
LINKS = """() => [...document.querySelectorAll('a[href]')].map(link => link.getAttribute('href'))"""
HEADINGS = """headings => headings.map(heading => Number(heading.tagName[1]))"""
SIZES = """() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"""


@dataclass
class Seen:
    """What a page asked for and complained of while it was open."""

    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # the sandbox refuses to work for root
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as play:
        chromium = play.chromium.launch(
            executable_path=FOUND, args=["--no-sandbox"] if root else []
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    """Of a study with holes, hostile names, errors, warnings and several slices."""
    grid = {"sizes": (100, 200), "ls": ("0", "log(n)"), "epsilons": ("2", "log(n)/n^(1/2)")}
    material = fake_material(problems=two_problems(), **grid)
    return write_report(material, tmp_path_factory.mktemp("browser") / "report")


def faults_of(browser: Browser, path: Path, width: int) -> list[str]:
    """Everything wrong with a page at a width; empty where it is as it should be."""
    seen = Seen()
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", lambda message: seen.messages.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: seen.messages.append(f"error: {error}"))
    page.goto(path.as_uri(), wait_until="load")
    scroll, client = page.evaluate(SIZES)
    images = page.eval_on_selector_all("img", IMAGES)
    levels = page.eval_on_selector_all("h1, h2, h3, h4, h5, h6", HEADINGS)
    links = page.evaluate(LINKS)
    lost = [link for link in links if not resolves(page, path, link)]
    page.close()
    outside = [url for url in seen.requests if not url.startswith("data:") and url != path.as_uri()]
    return [
        *(text for text in seen.messages if text.startswith(("error", "warning"))),
        *(f"asks for {url}" for url in outside),
        *([f"{scroll} pixels wide in {client}"] if scroll > client else []),
        *(f"image without words: {image}" for image in images if not image["alt"].strip()),
        *(f"image not shown: {image['alt']}" for image in images if image["width"] == 0),
        *(f"link leads nowhere: {link}" for link in lost),
        *([f"headings out of order: {levels}"] if not in_order(levels) else []),
    ]


def resolves(page, path: Path, link: str) -> bool:
    """Whether a link leads to an element of the page or to a file beside it."""
    if link.startswith("#"):
        return page.evaluate("id => document.getElementById(id) !== null", link[1:])
    return (path.parent / link).is_file()


def in_order(levels: list[int]) -> bool:
    """One title first, and no level left out on the way down."""
    steps = pairwise(levels)
    return levels[:1] == [1] and levels.count(1) == 1 and all(b - a <= 1 for a, b in steps)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_has_no_fault(width, browser, page_file):
    assert faults_of(browser, page_file, width) == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<img src="http://127.0.0.1:9/x.png" alt="outside">', "asks for http://127.0.0.1:9/x.png"),
        ('<div style="width: 2000px">wide</div>', "pixels wide in"),
        ('<img src="data:image/png;base64,x" alt="broken">', "image not shown: broken"),
        ('<img src="data:," alt="">', "image without words"),
        ('<a href="#nowhere">x</a>', "link leads nowhere: #nowhere"),
        ("<h3>x</h3>", "headings out of order"),
        ("<script>console.warn('x')</script>", "warning: x"),
        ("<script>throw new Error('x')</script>", "error"),
    ],
)
def test_a_page_with_a_fault_is_flagged(body, words, browser, tmp_path):
    path = tmp_path / "page.html"
    head = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>x</title></head>'
    path.write_text(f"{head}<body><h1>x</h1>{body}</body></html>", encoding="utf-8")
    assert any(words in fault for fault in faults_of(browser, path, 1280))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_without_a_fault_is_not_flagged(width, browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text('<!DOCTYPE html><html lang="en"><body><h1>x</h1></body></html>')
    assert faults_of(browser, path, width) == []


def test_all_figures_are_printed_those_of_other_slices_too(browser, page_file):
    """In print every image has a place: none is hidden in a part that is closed."""
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    shown = page.eval_on_selector_all(
        "img", "images => images.map(image => image.getBoundingClientRect().height > 0)"
    )
    closed = page.locator("details:not([open])").count()
    page.close()
    assert closed > 0
    assert all(shown)
