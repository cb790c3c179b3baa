"""The pages and what they fetch, as one application behind the guard."""

import asyncio
import logging
from threading import Thread
from urllib.parse import unquote

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from nicegui import ui

from sfumato.errors import SfumatoError
from sfumato.studio import uploads
from sfumato.studio.downloads import download
from sfumato.studio.frame import TITLE, content, frame, install_style
from sfumato.studio.guard import UPLOADS, App
from sfumato.studio.job import Job
from sfumato.studio.jobs import Jobs
from sfumato.studio.steps import step_of
from sfumato.studio.widgets import banner, explained, heading, in_thread, primary

_RECONNECT = 30.0
_QUIET = 0.5
"""Seconds after the first page before more is imported."""
_REPORT = "sandbox allow-popups; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
"""A report may only be displayed."""


def application(jobs: Jobs) -> App:
    """The application that serves the windows of these jobs."""
    _hush()
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _routes(app, jobs)
    _pages(jobs)
    install_style()
    ui.run_with(
        app,
        title=TITLE,
        dark=None,
        tailwind=False,
        reconnect_timeout=_RECONNECT,
        show_welcome_message=False,
        language="en-US",
    )
    return app


def _hush() -> None:
    """Log what went wrong, but no values: messages of errors may quote them."""

    class Bare(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else record.levelname.lower()
            return f"studio: {kind} in {record.name} (details are not shown, since they may contain private data)"

    handler = logging.StreamHandler()
    handler.setFormatter(Bare())
    for name in ("nicegui", "uvicorn", "uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR)


async def _open(job: Job, given: str) -> None:
    """Open what the command line named, while the page says so."""
    async with job.lock:
        try:
            await in_thread(job.open, given)
        except Exception as error:
            job.failed = explained(error)


def _routes(app: FastAPI, jobs: Jobs) -> None:
    @app.put(UPLOADS + "{name}")
    async def upload(name: str, request: Request) -> Response:
        job = jobs.get(name)
        if job is None:
            return PlainTextResponse("This job has ended; open a new window.", 404)
        called = unquote(request.headers.get("x-file-name", ""))
        try:
            suffix = uploads.suffix_of(called)
            path = await uploads.receive(request.stream(), job.folder, suffix)
            async with job.lock:
                await in_thread(job.open_upload, path, uploads.shown_name(called))
        except (SfumatoError, OSError) as error:
            return PlainTextResponse(explained(error))  # not a status of its own: browsers log these as errors
        return PlainTextResponse("")

    @app.get("/w/{name}/files/{what}")
    async def file(name: str, what: str) -> Response:
        job = jobs.get(name)
        found = (
            await in_thread(download, job.run, job.folder, what) if job is not None and job.run is not None else None
        )
        if found is None:
            return PlainTextResponse("There is no such file.", 404)
        headers = {} if found.saved else {"content-security-policy": _REPORT}
        return FileResponse(found.path, media_type=found.kind, filename=what if found.saved else None, headers=headers)

    @app.get("/")
    async def start() -> Response:
        job = jobs.new()
        if jobs.given is not None:
            job.opening = asyncio.create_task(_open(job, jobs.given))
        return RedirectResponse(f"/w/{job.id}/table", 303)

    @app.get("/new")
    async def new() -> Response:
        return RedirectResponse(f"/w/{jobs.new().id}/table", 303)


def _warm() -> None:
    """Import what opening a table needs, once the first page has been shown."""
    import sfumato.publisher.inspection
    import sfumato.publisher.policy  # noqa: F401


def _pages(jobs: Jobs) -> None:
    warmed = False

    @ui.page("/w/{name}/{key}", title=TITLE)
    async def show(name: str, key: str) -> None:
        nonlocal warmed
        if not warmed:
            warmed = True
            asyncio.get_running_loop().call_later(_QUIET, Thread(target=_warm, daemon=True).start)
        job, step = jobs.get(name), step_of(key)
        if job is None or step is None:
            with content("alone"):
                heading("This job has ended", "The studio was restarted, or the job was closed.")
                primary("Open a table", lambda: ui.navigate.to("/"))
            return
        with frame(job, step):
            lacks = step.lacks(job)
            if lacks is not None:
                banner(lacks)
                return
            try:
                step.render(job)
            except SfumatoError as error:
                banner(explained(error), "bad")
        await asyncio.sleep(0)
