"""From a table to its release: the whole way, two windows at a time, a reload in the middle, cancel, and the end."""

import io
import os
import signal
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.datasets import example_folder
from tests.studio.live import PATIENCE, Studio, await_that, running
from tests.studio.test_table import MESSY


def publish(page: Any, out: Path | None = None) -> None:
    page.get_by_role("link", name="Run").click()
    if out is not None:
        page.get_by_label("Folder to write to").fill(str(out))
    page.get_by_role("button", name="Publish").click()
    begun = page.get_by_role("button", name="Cancel")
    begun.or_(page.get_by_role("heading", name="The result")).or_(page.get_by_role("alert")).first.wait_for()


def downloaded(page: Any, name: str) -> zipfile.ZipFile:
    with page.expect_download() as waiting:
        page.get_by_role("link", name=name).click()
    return zipfile.ZipFile(io.BytesIO(Path(waiting.value.path()).read_bytes()))


def test_two_windows_publish_side_by_side(window: Callable[..., Any], tmp_path: Path, studio: Studio) -> None:
    file = tmp_path / "Kranke <i> 2025.csv"
    file.write_bytes(MESSY.encode("cp1252"))
    one, two = window(), window()
    one.get_by_role("button", name="Use the bundled example").click()
    one.get_by_role("heading", name="The columns").wait_for()
    two.locator("input[type=file]").set_input_files(file)
    two.get_by_role("heading", name="The columns").wait_for()
    publish(one)
    publish(two)
    one.reload()  # in the middle
    for page, rows in ((one, "4,000"), (two, "100")):
        page.get_by_role("heading", name="The result").wait_for()
        page.get_by_text(f"{rows} rows published by").wait_for()
        assert page.get_by_text("✗ not met").count() == 0
        page.get_by_text("associations").first.wait_for()
        page.get_by_role("region", name="Released rows").wait_for()
    check_release(downloaded(one, "Download the release"), tmp_path / "one")
    check_everything(downloaded(two, "Download release and private part"))
    with one.context.expect_page() as opened:
        one.get_by_role("link", name="Open the report").click()
    report = opened.value
    report.get_by_role("heading", name="Discharges 2025").first.wait_for()
    assert not any("Adeyemi" in line or "Kranke" in line for line in studio.printed)


def check_release(archive: zipfile.ZipFile, folder: Path) -> None:
    """The zip holds the public part alone, and its claims hold."""
    assert all(name.startswith("release/") for name in archive.namelist())
    archive.extractall(folder)
    sf.load(folder / "release").check()


def check_everything(archive: zipfile.ZipFile) -> None:
    """The private part calls the upload by its name, not by where it was kept."""
    policy = archive.read("private/policy.toml").decode()
    assert tomllib.loads(policy)["data"]["source"] == "Kranke <i> 2025.csv"
    for name in ("policy.toml", "report.md", "log.txt"):
        assert "sfumato-studio-" not in archive.read(f"private/{name}").decode(), name


def test_an_infeasible_requirement_is_explained(window: Callable[..., Any], tmp_path: Path) -> None:
    text = (example_folder() / "policy.toml").read_text().replace("k = 5", "k = 5000")
    (tmp_path / "policy.toml").write_text(text)
    for name in ("discharges.csv", "zip.csv", "job.json", "diagnosis.json"):
        (tmp_path / name).write_bytes((example_folder() / name).read_bytes())
    page = window()
    page.get_by_label("Path or URL").fill(str(tmp_path / "policy.toml"))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("heading", name="The columns").wait_for()
    publish(page, tmp_path / "out")
    page.get_by_text("No release of this table can meet the requirement").wait_for()
    assert page.get_by_text("5000").count() >= 1
    assert not (tmp_path / "out").exists()


CLICK_FIRST = """
let clicked = false, connected = false;
addEventListener("click", () => { clicked = true; }, true);
Object.defineProperty(window, "did_handshake", { get: () => connected && clicked, set: (v) => { connected = v; } });
"""
"""Events before a click wait for their timers, as while a page connects; that of the click does not."""


def test_a_click_takes_what_its_page_shows(window: Callable[..., Any], tmp_path: Path) -> None:
    page = window()
    page.add_init_script(CLICK_FIRST)
    page.goto(page.url)
    page.get_by_label("Path or URL").fill(str(example_folder() / "policy.toml"))
    page.wait_for_function("() => window.socket?.connected")
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("heading", name="The columns").wait_for()
    page.get_by_role("link", name="Run").click()
    page.get_by_label("Title of the release").fill("A later title")
    page.get_by_label("Folder to write to").fill(str(tmp_path / "out"))
    page.wait_for_function("() => window.socket?.connected")
    page.get_by_role("button", name="Publish").click()
    page.get_by_text("rows published by").wait_for()
    assert "A later title" in (tmp_path / "out" / "release" / "README.html").read_text()


HOLD = """
import sys, time
if "sfumato.studio.worker" in sys.orig_argv:
    from sfumato.release.files import stages
    stages.reached = lambda stage: stage != "private written" or time.sleep(3600)
"""


@pytest.fixture
def held(tmp_path: Path, browser: Any, request: pytest.FixtureRequest) -> Iterator[tuple[Studio, Any, Path]]:
    """A studio whose run stands still while there is a draft of the release, its page, and the folder of the draft."""
    (tmp_path / "hold").mkdir()
    (tmp_path / "hold" / "sitecustomize.py").write_text(getattr(request, "param", HOLD))
    path = os.pathsep.join([str(tmp_path / "hold"), *filter(None, [os.environ.get("PYTHONPATH")])])
    place = tmp_path / "place"
    with running(tmp_path / "temporary", str(example_folder() / "policy.toml"), PYTHONPATH=path) as studio:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        page.goto(studio.url)
        publish(page, place / "out")
        await_that(lambda: any(place.glob(".out.*.draft/new/private/*")) if place.exists() else False, page)
        yield studio, page, place
        context.close()


def workers(studio: Studio) -> list[str]:
    """The processes of runs that this studio started, by what their environment says."""
    mark = f"TMPDIR={studio.folder}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:
            continue
        if b"sfumato.studio.worker" in command and mark in environment.split(b"\0"):
            found.append(process.name)
    return found


def test_cancel_leaves_nothing(held: tuple[Studio, Any, Path]) -> None:
    studio, page, place = held
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled after").wait_for()
    assert list(place.iterdir()) == []
    assert workers(studio) == []
    page.get_by_role("button", name="Publish").wait_for()


STUBBORN = """
import sys, time
if "sfumato.studio.worker" in sys.orig_argv:
    import signal
    from sfumato.release.files import stages
    def stay(stage):
        if stage == "private written":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(3600)
    stages.reached = stay
"""


@pytest.mark.parametrize("held", [STUBBORN], indirect=True)
def test_a_run_that_does_not_end_by_itself_leaves_nothing_either(held: tuple[Studio, Any, Path]) -> None:
    test_cancel_leaves_nothing(held)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_the_studio_in_the_middle_of_a_run_leaves_no_draft(
    held: tuple[Studio, Any, Path], number: signal.Signals
) -> None:
    studio, _, place = held
    (worker,) = workers(studio)
    studio.process.send_signal(number)
    studio.process.wait(PATIENCE)
    await_that(lambda: not Path("/proc", worker).exists() or not workers(studio))
    await_that(lambda: list(place.iterdir()) == [])
    left = list(studio.folder.iterdir())
    assert len(left) == (number == signal.SIGKILL)
    if left:  # the next studio removes it
        with running(studio.folder):
            assert not left[0].exists()
    assert list(studio.folder.iterdir()) == []
