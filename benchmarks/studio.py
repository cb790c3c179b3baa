"""The studio: how long a change of a role takes until it is known who is unique, and how long the first page takes.

What the library takes is measured in this process. What somebody sees is measured in Chromium, where there is one with
Playwright: from the choice in the list until the new sentence is on the page.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.measure import Line
from benchmarks.start import more as more

ROWS = 1_000_000
_CHANGES = (
    *(("stay", "quasi"), ("admitted", "identifier"), ("readmitted", "quasi"), ("stay", "insensitive")),
    *(("admitted", "quasi"), ("zip", "drop"), ("readmitted", "insensitive"), ("stay", "quasi"), ("zip", "quasi")),
)
"""Roles that change one after the other; each leads to another set of quasi-identifiers."""
_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
_ALONE = "(document.querySelector('[aria-label=\"Who is unique\"]')?.innerText ?? '')"


def lines() -> list[Line]:
    """All rows of the table. A bar in seconds is shown as a floor that must not be exceeded."""
    from sfumato.datasets import hospital

    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "people.parquet"
        hospital(rows=ROWS).write_parquet(table)
        return [*_counted(table), *_seen(table)]


def _counted(table: Path) -> Iterator[Line]:
    """What the library takes for each change, and for the slowest of them."""
    from sfumato.studio.job import Job
    from sfumato.studio.people import alone_now, people_of

    job = Job("bench", table.parent)
    job.open(str(table))
    alone_now(job)
    people_of(job).prepare()
    walls, spent = [], []
    for name, role in _CHANGES:
        begin, before = time.perf_counter(), time.process_time()
        job.set_attribute(name, role=role)
        alone_now(job)
        walls.append(time.perf_counter() - begin)
        spent.append(time.process_time() - before)
    told = f"CPU time {statistics.median(spent):.2f} s"
    yield Line("a role changes: who is alone, counted", ROWS, statistics.median(walls), "bar", 1.0, 0.5, told)
    told = f"CPU time {max(spent):.2f} s"
    yield Line("the slowest of nine changes", ROWS, max(walls), "bar", 1.0, 1.0, told)


def _seen(table: Path) -> Iterator[Line]:
    """What somebody sees in the browser; nothing where there is none."""
    if _CHROMIUM is None or find_spec("playwright") is None:
        return
    with _browser() as browser:
        walls = _changed_roles(browser, table)
        yield Line("a role changes, seen in the browser", ROWS, statistics.median(walls), "bar", 1.0, 1.0)
        yield Line("the slowest of nine, in the browser", ROWS, max(walls), "bar", 1.0, 1.0)
        first = [_first_page(browser, table.parent) for _ in range(6)][1:]
        yield Line("from the command to its first page", 0, statistics.median(first), "bar", 1.5, 1.0)


@contextmanager
def _browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=_CHROMIUM, args=_FLAGS)
        yield started
        started.close()


@contextmanager
def _studio(folder: Path, *arguments: str) -> Iterator[str]:
    """A studio that runs, by its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato", "studio", "--no-browser", *arguments],
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        lines = iter(process.stdout or ())
        yield next(line.strip() for line in lines if line.startswith("http"))
    finally:
        process.terminate()
        process.wait(60)


def _changed_roles(browser: Any, table: Path) -> list[float]:
    """Seconds from each choice of a role until the page says anew who is unique."""
    walls = []
    with _studio(table.parent, str(table)) as address:
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.goto(address)
        page.get_by_role("heading", name="The columns").wait_for()
        page.goto(page.url.replace("/table", "/roles"))
        page.wait_for_function(f"() => {_ALONE}.includes('of 1,000,000')")
        page.wait_for_timeout(5000)  # until all columns are coded
        for name, role in _CHANGES:
            before = page.evaluate(_ALONE)
            begin = time.perf_counter()
            page.get_by_label(f"Role of {name}").select_option(role)
            page.wait_for_function(f"before => ![before, ''].includes({_ALONE})", arg=before, polling=10)
            walls.append(time.perf_counter() - begin)
        page.close()
    return walls


def _first_page(browser: Any, folder: Path) -> float:
    begin = time.perf_counter()
    with _studio(folder) as address:
        page = browser.new_page()
        page.goto(address, wait_until="commit")
        page.locator("h1").wait_for()
        took = time.perf_counter() - begin
        page.close()
    return took
