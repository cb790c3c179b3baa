"""Every page, in both colours and both widths, without serious findings of axe-core."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.datasets import example_folder
from sfumato.studio.steps import STEPS
from tests.studio.test_decide import opened, plain  # noqa: F401 - fixtures
from tests.studio.test_run import publish

axe_sync = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core judges the pages")


SETTLED = """() => Promise.allSettled(document.getAnimations()
    .filter(each => Number.isFinite(each.effect.getComputedTiming().endTime)).map(each => each.finished))"""
"""Waits until nothing on the page is about to change its colour or place by itself."""


def serious(page: Any) -> list[str]:
    """What axe-core finds serious or critical on a page, with the elements."""
    found = axe_sync.Axe().run(page).response["violations"]
    return [
        f"{v['id']}: {v['help']}: {[n['html'][:160] for n in v['nodes'][:3]]}"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]


def fill(page: Any, base: str, folder: Path) -> None:
    """Do what the pages of comparison and result show, and publish something to be joined."""
    people = sf.read(example_folder() / "discharges.csv", quasi=["age", "job"], sensitive="diagnosis")
    sf.publish(people, require=sf.KAnonymity(k=10), method="mondrian").write(folder / "2024")
    page.goto(f"{base}/earlier")
    page.get_by_label("Folder of a release").fill(str(folder / "2024"))
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("T2").wait_for()
    page.goto(f"{base}/compare")
    for name in ("incognito", "local-recoding", "tdr", "tdd"):
        page.get_by_label(name, exact=True).uncheck()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("heading", name="The frontier").wait_for()
    publish(page)
    page.get_by_role("heading", name="The result").wait_for()


def complete(page: Any, key: str) -> None:
    """Wait until a page shows all that it can, and open what it opens on request."""
    page.locator("h1").wait_for()
    if key == "taxonomies":
        page.get_by_label("How it is made coarser").select_option("intervals")
        page.get_by_role("slider").first.wait_for()
    elif key == "compare":
        page.locator("[data-key]").first.press("Enter")
        page.get_by_label("Its policy").wait_for()
    elif key == "earlier":
        page.get_by_role("button", name="See what the join gives away").click()
        page.get_by_role("heading", name="What the join gives away").wait_for()
    elif key == "result":
        page.get_by_text("associations").first.wait_for()
    page.locator("[aria-busy=true]").first.wait_for(state="detached")
    page.evaluate(SETTLED)


def test_pages_have_no_serious_findings(opened: Callable[..., Any], plain: Path, tmp_path: Path) -> None:  # noqa: F811
    plain.write_text(plain.read_text() + '[method]\nname = "mondrian"\n')
    page = opened("roles", plain)
    base = page.url.rsplit("/", 1)[0]
    fill(page, base, tmp_path)
    found = {}
    for width, scheme in ((1280, "light"), (820, "dark")):
        page.set_viewport_size({"width": width, "height": 1000})
        page.emulate_media(color_scheme=scheme)
        for key in [step.key for step in STEPS]:
            page.goto(f"{base}/{key}")
            complete(page, key)
            found[key, scheme] = serious(page)
            sideways = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert sideways <= 0, f"{key} scrolls sideways by {sideways} px at {width} px"
    assert {key: told for key, told in found.items() if told} == {}


def test_axe_would_find_something(opened: Callable[..., Any], plain: Path) -> None:  # noqa: F811
    page = opened("roles", plain)
    page.locator("h1").wait_for()
    page.evaluate(
        "document.querySelector('main').insertAdjacentHTML('beforeend', '<input type=text><img src=\"data:,\">')"
    )
    found = " ".join(serious(page))
    assert "label" in found
    assert "image-alt" in found
