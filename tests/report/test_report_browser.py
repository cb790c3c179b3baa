"""The report in a real browser: nothing fetched, no error, nothing wider than the window, fit for paper."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.report.report import write_report

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 300_000
"""Milliseconds that something may take on a loaded machine."""
SECTIONS = [
    *("required", "risk", "combinations", "lost", "distributions", "roles", "made", "guarantees", "approval"),
]
CLIPPED = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter(text => {
        const box = text.getBoundingClientRect();
        return box.right > frame.right + 1 || box.left < frame.left - 1;
    }).map(text => text.textContent);
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE)
        yield running
        running.close()


@pytest.fixture(scope="module", params=["example", "odd", "joined"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    published = request.getfixturevalue(request.param)
    return write_report(
        tmp_path_factory.mktemp("report") / "report.html",
        release=published.release,
        table=published.table,
        policy_text=published.policy,
        warnings=["A warning."],
    )


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The opened report, with everything that it asked for or complained of."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    opened.asked, opened.troubles = [], []
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.on("console", lambda message: opened.troubles.append(message.text))
    opened.on("pageerror", lambda error: opened.troubles.append(str(error)))
    opened.on("dialog", lambda dialog: opened.troubles.append(dialog.message))
    opened.goto(report.as_uri())
    yield opened
    context.close()


def test_it_opens_offline_and_without_complaint(page: Any, report: Path) -> None:
    page.wait_for_load_state("networkidle")
    assert page.asked == [report.as_uri()]
    assert page.troubles == []
    assert page.title().endswith(": private report")
    assert page.locator("h1").count() == 1
    assert page.get_by_text("PRIVATE: do not hand over").first.is_visible()
    for name in SECTIONS:
        assert page.locator(f"section h2#{name}").is_visible()
    assert page.locator("section h2#earlier").count() == page.get_by_text("T2: ").count()
    assert page.locator("script, img, iframe").count() == 0


@pytest.mark.parametrize("width", [1280, 800, 390])
def test_nothing_is_wider_than_the_window(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_labels_stay_inside_their_plots(page: Any) -> None:
    assert page.evaluate(CLIPPED) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_the_paper(page: Any, scheme: str) -> None:
    """The contrast of body and muted text is at least 4.5 : 1 (WCAG AA)."""
    page.emulate_media(color_scheme=scheme)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for selector in ("body", ".over", "caption", "nav a", ".met"):
        ink = page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).color")
        assert _contrast(ink, paper) >= 4.5, selector


def _contrast(first: str, second: str) -> float:
    """The contrast ratio of two opaque colours, as the WCAG define it."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    shares = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("which", ["example", "odd", "joined"])
def test_the_page_for_the_recipient(which: str, browser: Any, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """README.html fetches nothing, complains of nothing, and fits a wide and a narrow window."""
    request.getfixturevalue(which).release.write(tmp_path / "release")
    place = (tmp_path / "release" / "README.html").as_uri()
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    page, asked, troubles = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    for event in ("console", "pageerror", "dialog"):
        page.on(event, lambda trouble: troubles.append(str(trouble)))
    page.goto(place)
    for width in (1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (asked, troubles) == ([place], [])
    for name in ("columns", "answers", "loading", "promised", "files"):
        assert page.locator(f"section h2#{name}").is_visible()
    assert page.locator("script, img, iframe").count() == 0
    context.close()


def test_it_prints_on_a4(page: Any, tmp_path: Path) -> None:
    """On paper the navigation is gone, and the page is A4 in points."""
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    paper = page.pdf(prefer_css_page_size=True, print_background=True)
    assert paper.startswith(b"%PDF")
    assert b"/MediaBox [0 0 594.9" in paper or b"/MediaBox [0 0 595" in paper
