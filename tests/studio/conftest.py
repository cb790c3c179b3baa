"""A studio per test module, and windows in Chromium that watch what the page does."""

import shutil
from collections.abc import Callable, Iterator

import pytest

from tests.studio.live import PATIENCE, Studio, is_foreign, running

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One studio for all tests of a module."""
    with running(tmp_path_factory.mktemp("studio")) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Debian's Chromium, driven by Playwright."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here: the studio's pages are not tried out in a browser")
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright drives the browser")
    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE * 1000)
        yield started
        started.close()


@pytest.fixture
def window(browser, studio) -> Iterator[Callable[..., object]]:
    """Open windows of the studio; a console error or a request that leaves the machine fails the test.

    ``window()`` opens the address with the token; ``window(url)`` another one. Each has cookies of its own unless
    ``context`` is that of another window.
    """
    contexts, wrong = [], []

    def opened(url: str | None = None, *, context=None, width: int = 1280, height: int = 900, **options):
        if context is None:
            context = browser.new_context(viewport={"width": width, "height": height}, **options)
            contexts.append(context)
            context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        page.on("console", lambda m: wrong.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("pageerror", lambda e: wrong.append(f"page error: {e}"))
        page.on("request", lambda r: wrong.append(f"request: {r.url}") if is_foreign(r.url, studio) else None)
        page.on("websocket", lambda w: wrong.append(f"websocket: {w.url}") if is_foreign(w.url, studio) else None)
        page.goto(url or studio.url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []
