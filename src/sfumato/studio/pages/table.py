"""The table: open it, look at it, see what each column is like."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from nicegui import events, ui

from sfumato.studio.controls import on_click
from sfumato.studio.distribution import Distribution, distribution
from sfumato.studio.frame import go, next_step
from sfumato.studio.guard import UPLOADS
from sfumato.studio.job import Job
from sfumato.studio.pages.table_form import form_card
from sfumato.studio.uploads import SUFFIXES
from sfumato.studio.widgets import (
    banner,
    card,
    complain,
    explained,
    figures,
    heading,
    in_thread,
    later,
    primary,
    quiet,
    rows_table,
    text,
)
from sfumato.studio.wording import percent, sentence

if TYPE_CHECKING:
    from sfumato.publisher.column_roles import Profile

ROWS = 8
"""How many rows the preview shows."""
READING = "Reading the table …"


def render(job: Job) -> None:
    """The page."""
    if job.is_open:
        _opened(job)
    elif job.opening is not None and not job.opening.done():
        _await(job, job.opening)
    else:
        heading(
            "Open a table",
            "One row per person: patients, customers, respondents. It stays on this machine; nothing is sent anywhere.",
        )
        if job.failed:
            banner(job.failed, "bad")
        _ways(job)


def _await(job: Job, opening: "asyncio.Task[None]") -> None:
    """Say that the table is being read, and show it once it is."""
    heading("Reading the table", "Its form, its values and what each column seems to be.")
    bar = ui.element("progress").classes("progress")
    bar._props |= {"max": 1, "aria-label": "How much has been read"}

    def look() -> None:
        if job.reading:
            bar._props["value"] = job.reading
            bar.update()
        if opening.done():
            timer.cancel()
            go(job, "table")

    timer = ui.timer(0.2, look)


def _ways(job: Job) -> None:
    with card("Drop a file"):
        _uploader(job)
    with card("Or name it"):
        text("p", "A path on this machine, a policy.toml, a folder of files, or the URL of a database.", "small")
        place = ui.input("Path or URL").props("outlined dense").style("width: 100%; max-width: 44rem")
        query = ui.input("Query (databases only)").props("outlined dense").style("width: 100%; max-width: 44rem")
        query.bind_visibility_from(place, "value", lambda v: "://" in (v or ""))
        with ui.element("div").classes("actions"):
            opened = on_click(primary("Open"), partial(_open, job), place, query)
            quiet("Use the bundled example", lambda: _open_example(job))
        place.on("keydown.enter", lambda: opened.run_method("click"))


DROP = """
<div class="inside">
  <p>Drop a csv, Excel, Parquet, SPSS, Stata or SAS file here</p>
  <q-btn no-caps unelevated class="primary" label="Choose a file" @click="props.pickFiles">
    <q-uploader-add-trigger />
  </q-btn>
  <p class="small" role="status" v-if="props.isUploading">{{ props.uploadProgressLabel }} received; it is read next</p>
  <p class="small" v-else>It is kept in a private folder and removed when the studio ends.</p>
</div>
"""


def _uploader(job: Job) -> None:
    up = ui.element("q-uploader").classes("drop").props("flat auto-upload send-raw method=PUT")
    up.add_slot("header", DROP)
    up.props["url"] = f"{UPLOADS}{job.id}"
    up.props["accept"] = ",".join(SUFFIXES)
    up.props[":headers"] = "files => [{name: 'X-File-Name', value: encodeURIComponent(files[0].name)}]"

    def uploaded(e: events.GenericEventArguments) -> None:
        up.run_method("reset")
        if isinstance(e.args, str) and not e.args:
            go(job, "table")
        else:
            complain(e.args if isinstance(e.args, str) else "The file could not be received.")

    up.on("uploaded", uploaded, js_handler="(e) => emit(e.xhr.responseText)")
    up.on("failed", uploaded, js_handler="(e) => emit(e.xhr && e.xhr.responseText || null)")
    up.on("rejected", lambda: complain("This kind of file cannot be read."))


async def _open(job: Job, given: str, query: str = "") -> None:
    if job.lock.locked():
        return
    note = ui.notification(READING, spinner=True, timeout=None)
    far = ui.timer(0.25, lambda: setattr(note, "message", f"{READING} {job.reading:.0%}" if job.reading else READING))
    try:
        async with job.lock:
            await in_thread(job.open, given, query=query or None)
    except Exception as error:
        complain(explained(error))
        return
    finally:
        far.cancel()
        note.dismiss()
    go(job, "table")


async def _open_example(job: Job) -> None:
    from sfumato.datasets import example_folder

    await _open(job, str(example_folder() / "policy.toml"))


def _opened(job: Job) -> None:
    frame = job.frame
    if frame is None:
        return
    heading("The table", "Is this what you expect? Check the columns before you go on.")
    missing = sum(frame.null_count().row(0)) if frame.width else 0
    cells = max(1, frame.height * frame.width)
    figures(
        [
            ("rows", f"{frame.height:,}"),
            ("columns", f"{frame.width:,}"),
            ("cells without a value", percent(missing / cells)),
        ]
    )
    for note in job.proposal.warnings if job.proposal else ():
        banner(sentence(note))
    with card(f"The first {min(ROWS, frame.height)} rows"):
        _preview(job)
    form_card(job)
    text("h2", "The columns")
    later(lambda: [(p, distribution(p)) for p in job.profiles()], _columns, "Counting the values of each column …")
    next_step(job, "table")


def _preview(job: Job) -> None:
    if job.frame is None:
        return
    head = job.frame.head(ROWS)
    rows_table("First rows", head.columns, head.iter_rows())


def _columns(found: "list[tuple[Profile, Distribution]]") -> None:
    with ui.element("div").classes("cards"):
        for seen, spread in found:
            with ui.element("section").classes("card"):
                text("h3", seen.name)
                with ui.element("div").classes("facts"):
                    for fact in _facts(seen, spread):
                        text("span", fact)
                _plot(seen, spread)


def _facts(seen: "Profile", spread: Distribution) -> list[str]:
    rows = max(1, seen.rows)
    told = [f"{seen.distinct:,} value{'s' * (seen.distinct != 1)}"]
    if seen.nulls:
        told.append(f"{percent(seen.nulls / rows)} missing")
    if seen.distinct == seen.rows:
        told.append("a different value in every row")
    elif spread.alone:
        told.append(f"{spread.alone:,} in one row only")
    return told


def _plot(seen: "Profile", spread: Distribution) -> None:
    if seen.distinct == seen.rows > 1 and not spread.ordered:
        text("p", f"such as {', '.join(spread.labels[:3])}", "small")
        return
    if spread.ordered:
        top, width = max(1, *spread.rows), 100 / len(spread.rows)
        bars = "".join(
            f'<rect x="{i * width + 0.4:.2f}" y="{40 - high:.2f}" width="{width - 0.8:.2f}" height="{high:.2f}"/>'
            for i, high in enumerate(n / top * 40 for n in spread.rows)
        )
        with ui.element("div").props("role=img") as made:
            made.props["aria-label"] = f"Distribution of {seen.name} from {spread.labels[0]} to {spread.labels[1]}"
            ui.html(f'<svg class="spark" viewBox="0 0 100 40" preserveAspectRatio="none">{bars}</svg>', sanitize=False)
        with ui.element("div").classes("facts").style("justify-content: space-between"):
            text("span", spread.labels[0])
            text("span", spread.labels[1])
        return
    with ui.element("div").classes("bars"):
        for label, n in zip(spread.labels, spread.rows, strict=True):
            share = n / max(1, seen.rows)
            with ui.element("div").classes("bar").props(f'title="{n:,} rows"'):
                ui.element("i").style(f"width: {share:.2%}")
                text("span", label or "(empty)")
            text("div", percent(share), "n")
    if spread.others:
        text("p", f"and {spread.others:,} more", "small")
