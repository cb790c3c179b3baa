"""The pictures of the studio in the docs: the pages of the bundled example in Chromium. Run from the top folder."""

import tempfile
from pathlib import Path
from typing import Any

from docs.tools.blocks import DOCS
from sfumato.datasets import example_folder
from tests.studio.conftest import CHROMIUM, FLAGS
from tests.studio.live import running

PAGES = ("roles", "requirements")
_PATIENCE = 120_000
_SETTLED = (
    "() => !document.querySelector('[aria-busy=true]') && !/(Counting|Trying|moment) …/.test(document.body.innerText)"
)


def shoot(page: Any, name: str, folder: Path) -> None:
    """A picture of what a window shows, once it has settled."""
    page.wait_for_load_state("networkidle")
    page.wait_for_function(_SETTLED, timeout=_PATIENCE)
    page.wait_for_timeout(600)
    page.screenshot(path=folder / f"studio-{name}.png")


def pictures(folder: Path = DOCS / "pictures", pages: tuple[str, ...] = PAGES, **options: Any) -> None:
    """Take a picture of each of these pages, and of the result."""
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory() as temporary,
        running(Path(temporary), str(example_folder() / "policy.toml")) as studio,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(**({"viewport": {"width": 1180, "height": 760}} | options))
        page.set_default_timeout(_PATIENCE)
        page.goto(studio.url)
        page.get_by_role("heading", name="The columns").wait_for()
        for key in pages:
            page.goto(page.url.rpartition("/")[0] + f"/{key}")
            shoot(page, key, folder)
        page.goto(page.url.rpartition("/")[0] + "/run")
        page.get_by_role("button", name="Publish").click()
        page.get_by_role("heading", name="The result").wait_for()
        page.get_by_text("change of associations").first.wait_for()
        shoot(page, "result", folder)


if __name__ == "__main__":
    pictures()
