"""The run: publish in a process of its own, see its stages, cancel it."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from nicegui import background_tasks, ui

from sfumato.errors import SfumatoError
from sfumato.studio.controls import on_click
from sfumato.studio.frame import go, next_step
from sfumato.studio.job import Job
from sfumato.studio.run import StudioRun
from sfumato.studio.steps import step_of
from sfumato.studio.widgets import banner, card, complain, explained, heading, primary, quiet, text

if TYPE_CHECKING:
    from sfumato.publisher.policy import Policy

_PAUSE = 0.25


def render(job: Job) -> None:
    """The page."""
    heading("Run", "The whole table is published, judged and attacked. Nothing is written unless all of it holds.")
    if job.run is not None and job.run.state == "running":
        _watch(job, job.run)
        return
    if job.run is not None:
        if job.run.state == "published" and not job.run.seen:  # it was faster than this page
            go(job, "result")
        _ended(job, job.run)
    _ask(job)
    next_step(job, "run")


def _ask(job: Job) -> None:
    """What would be run, and where it would be written."""
    try:
        policy = job.policy()
    except SfumatoError as error:
        banner(explained(error), "bad")
        _where(job, error)
        return
    with card("What will be done"):
        _summary(job, policy)
    with card("Where"):
        title = ui.input("Title of the release (public)", value=policy.title).props("outlined dense")
        title.style("width: 100%; max-width: 44rem")
        title.on("blur", lambda: job.set_section("title", title.value or ""))
        out = ui.input("Folder to write to (optional)").props("outlined dense").style("width: 100%; max-width: 44rem")
        text("p", "Without a folder, the release is kept here until the studio ends; download it as a zip.", "small")
        with ui.element("div").classes("actions"):
            on_click(primary("Publish"), partial(_start, job), title, out)


_PLACES = {"attributes": "roles", "require": "requirements", "method": "requirements", "data": "table"}
"""The pages on which parts of the policy are decided."""


def _where(job: Job, error: SfumatoError) -> None:
    """Link to the page where the part of the policy that an error is about is decided."""
    step = step_of(_PLACES.get((error.field or "").partition(".")[0], ""))
    if step is not None:
        quiet(f"Go to {step.title}", lambda: go(job, step.key))


def _summary(job: Job, policy: "Policy") -> None:
    with ui.element("ul"):
        rows = job.frame.height if job.frame is not None else 0
        text("li", f"{rows:,} rows of {job.origin.name if job.origin else ''}")
        for needed in policy.requirements:
            text("li", f"{needed.model}: {needed.words()}")
        text("li", f"by {policy.named.name}" if policy.named else "by the method that loses least among the safe ones")


async def _start(job: Job, title: str, out: str) -> None:
    if title != job.content.get("title", ""):
        job.set_section("title", title)
    try:
        run = job.start(out)
    except SfumatoError as error:
        complain(explained(error))
        return
    background_tasks.create(run.go(), name="run")
    await asyncio.sleep(0)
    go(job, "run")


def _watch(job: Job, run: StudioRun) -> None:
    """The stages as they come; when the run has ended, the page that says so."""
    with card():
        with ui.element("div").style("display: flex; gap: 1rem; align-items: baseline"):
            text("h2", "Running")
            clock = ui.label().classes("small")
            far = ui.label().classes("small")
        bar = ui.linear_progress(value=0, show_value=False, color=None).props('rounded aria-label="Progress"')
        bar.classes("runbar")
        stages = ui.element("ol").classes("stages").props("aria-live=polite")
        with ui.element("div").classes("actions"):
            stop = quiet("Cancel", lambda: _cancel(run, stop))
    shown: list[tuple[str, bool]] | None = None

    def refresh() -> None:
        nonlocal shown
        if run.state != "running":
            timer.cancel()
            go(job, "result" if run.state == "published" else "run")
            return
        clock.text = f"{run.seconds:.0f} s" + (" (compiling kernels, only the first time)" if run.compiling else "")
        last = run.stages[-1] if run.stages else None
        bar.props(remove="indeterminate") if last and last.done else bar.props("indeterminate")
        bar.value = float(last.done) if last else 0
        far.text = last.far(run.seconds) if last else ""
        now = [(s.words, s.ended is not None) for s in run.stages]
        if now != shown:
            shown = now
            stages.clear()
            with stages:
                _stage_lines(run)

    timer = ui.timer(_PAUSE, refresh)
    refresh()


async def _cancel(run: StudioRun, stop: ui.button) -> None:
    stop.disable()
    stop.text = "Cancelling …"
    await run.cancel()


def _stage_lines(run: StudioRun) -> None:
    if not run.stages and run.state == "running":
        with ui.element("li").classes("now"):
            text("span", "Starting a process for this run")
    for stage in run.stages:
        with ui.element("li").classes("over" if stage.ended is not None else "now"):
            text("span", stage.words)
            if stage.ended is not None:
                text("span", f"{stage.ended - stage.began:.1f} s", "small")


def _ended(job: Job, run: StudioRun) -> None:
    """How the last run ended."""
    if run.state == "published":
        banner(f"Published in {run.seconds:.1f} seconds.", "good")
        if run.version != job.version:
            banner("The policy has changed since then. Publish again to use what it says now.")
    elif run.state == "cancelled":
        banner(f"Cancelled after {run.seconds:.1f} seconds. Nothing was written.")
    else:
        banner(run.error, "bad")
        if run.infeasible:
            banner(
                "No release of this table can meet the requirement. Ask for less, or remove what makes it impossible."
            )
    with ui.expansion("Stages of the last run").props("dense"), ui.element("ol").classes("stages"):
        _stage_lines(run)
