"""Every page, in both colours and both widths, without serious findings of axe-core."""

from collections.abc import Callable
from typing import Any

import pytest

from sfumato.studio.steps import STEPS
from tests.studio.test_decide import opened, plain  # noqa: F401 - fixtures

axe_sync = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core judges the pages")

_PAGES = [step.key for step in STEPS if step.key != "result"]


def serious(page: Any) -> list[str]:
    """What axe-core finds serious or critical on a page, with the elements."""
    found = axe_sync.Axe().run(page).response["violations"]
    return [
        f"{v['id']}: {v['help']}: {[n['html'][:160] for n in v['nodes'][:3]]}"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (820, "dark")])
def test_pages_have_no_serious_findings(opened: Callable[..., Any], plain: Any, width: int, scheme: str) -> None:  # noqa: F811
    page = opened("roles", plain, width=width, color_scheme=scheme)
    found = {}
    for key in _PAGES:
        page.goto(page.url.rsplit("/", 1)[0] + f"/{key}")
        page.locator("h1").wait_for()
        page.locator("[aria-busy=true]").first.wait_for(state="detached")
        if key == "taxonomies":
            page.get_by_label("How it is made coarser").select_option("intervals")
            page.get_by_role("slider").first.wait_for()
        page.wait_for_timeout(300)
        found[key] = serious(page)
        sideways = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert sideways <= 0, f"{key} scrolls sideways by {sideways} px at {width} px"
    assert {key: told for key, told in found.items() if told} == {}


def test_axe_would_find_something(opened: Callable[..., Any], plain: Any) -> None:  # noqa: F811
    page = opened("roles", plain)
    page.locator("h1").wait_for()
    page.evaluate(
        "document.querySelector('main').insertAdjacentHTML('beforeend', '<input type=text><img src=\"data:,\">')"
    )
    found = " ".join(serious(page))
    assert "label" in found
    assert "image-alt" in found
