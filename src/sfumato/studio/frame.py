"""What all pages have: the bar at the top, the steps at the side, and the policy that has been made so far."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

from nicegui import ui

from sfumato.studio.controls import choice
from sfumato.studio.job import Job
from sfumato.studio.steps import STEPS, PageStep, after
from sfumato.studio.widgets import primary, quiet, text

TITLE = "sfumato studio"
"""The title of every page: a file name may be private."""


def install_style() -> None:
    """Make the style sheets part of every page."""
    for name in ("studio.css", "editors.css"):
        sheet = files("sfumato.studio").joinpath(f"static/{name}").read_text(encoding="utf-8")
        ui.add_head_html(f"<style>{sheet}</style>", shared=True)


@contextmanager
def frame(job: Job, here: PageStep) -> Iterator[None]:
    """The frame of a page; what is made inside is its content."""
    dark = ui.dark_mode(value=job.extras.get("dark"))
    with ui.element("a").props('href="#content"').classes("skip"):
        ui.label("Skip to the content")
    with ui.element("header").classes("topbar"):
        _bar(job, dark)
    with ui.element("div").classes("shell"):
        with ui.element("nav").classes("rail").props('aria-label="Steps"'):
            _rail(job, here)
        with content():
            yield


@contextmanager
def content(classes: str = "") -> Iterator[None]:
    """The main part of a page. NiceGUI makes all of the page a main element, which would then contain the bar."""
    around = ui.context.client.content.parent_slot
    if around is not None:
        around.parent.props("role=none")
    with ui.element("div").props("id=content role=main tabindex=-1").classes(f"content {classes}"):
        yield


_COLOURS = {"": "System colours", "light": "Light", "dark": "Dark"}


def _bar(job: Job, dark: ui.dark_mode) -> None:
    with ui.element("a").classes("brand").props('href="/new" aria-label="sfumato studio: new job"'):
        ui.html("sfumato <span>studio</span>", sanitize=False)
    text("div", job.origin.name if job.origin else "No table is open", "doc")
    now = {None: "", False: "light", True: "dark"}[job.extras.get("dark")]
    choice("Colours", _COLOURS, now, lambda colours: _colour(job, dark, colours), hidden=True)
    if job.is_open:
        quiet("Policy", lambda: show_policy(job), icon="description").props('aria-label="Show the policy"')


def _colour(job: Job, dark: ui.dark_mode, colours: str) -> None:
    job.extras["dark"] = {"": None, "light": False, "dark": True}[colours]
    dark.set_value(job.extras["dark"])


def _rail(job: Job, here: PageStep) -> None:
    way = [step for step in STEPS if not step.beside]
    with ui.element("ol"):
        for number, step in enumerate(way, 1):
            _line(job, step, here, str(number))
    others = [step for step in STEPS if step.beside]
    if others:
        text("h2", "More")
        with ui.element("ol"):
            for step in others:
                _line(job, step, here, "")


def _line(job: Job, step: PageStep, here: PageStep, number: str) -> None:
    lacks = step.lacks(job)
    with ui.element("li"):
        if lacks is not None:
            line = ui.element("span").classes("off").props(f'title="{lacks}" aria-disabled=true')
        else:
            current = " aria-current=page" if step is here else ""
            line = ui.element("a").props(f'href="/w/{job.id}/{step.key}"{current}')
        with line:
            if number:
                text("span", number, "num")
            text("span", step.title)


def next_step(job: Job, here: str) -> None:
    """The button that leads to the following page, if there is one."""
    following = after(here)
    if following is not None and following.lacks(job) is None:
        with ui.element("div").classes("actions"):
            primary(f"Next: {following.title}", lambda: go(job, following.key))


def go(job: Job, key: str) -> None:
    """Lead the window to another page of its job."""
    ui.navigate.to(f"/w/{job.id}/{key}")


def show_policy(job: Job) -> None:
    """A window with the current policy, to copy or to keep."""
    told = job.shown_policy()
    with ui.dialog() as dialog, ui.card().style("width: 56rem; max-width: 92vw; padding: 1.6rem"):
        text("h2", "The policy so far")
        text("p", "Everything you decide is in this file. `sfumato publish policy.toml` makes the same release.")
        text("pre", told, "policy").props('tabindex=0 aria-label="Policy"')
        with ui.element("div").classes("actions"):
            primary("Download", lambda: ui.download.content(told.encode(), "policy.toml", "application/toml"))
            quiet("Copy", lambda: ui.clipboard.write(told))
            quiet("Close", dialog.close)
    dialog.on("hide", dialog.delete)
    dialog.open()
