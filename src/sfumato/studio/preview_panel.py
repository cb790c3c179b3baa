"""What the policy makes of a sample, shown next to what is being changed and updated after every change."""

from nicegui import ui

from sfumato.errors import SfumatoError
from sfumato.publisher.preview import Preview
from sfumato.report.plots import percent
from sfumato.studio.controls import fold
from sfumato.studio.job import Job
from sfumato.studio.trial import draw_another, timed_preview_of
from sfumato.studio.widgets import banner, explained, figures, in_thread, quiet, rows_table, text

_ROWS = 8


class PreviewPanel:
    """A place that shows a preview; `refresh` after every change."""

    def __init__(self, job: Job, *, whole: bool = False) -> None:
        self.job, self.whole = job, whole
        self.place = ui.element("div").props("aria-live=polite aria-busy=true")
        self._running = False
        ui.timer(0.01, self.refresh, once=True)

    async def refresh(self) -> None:
        """Try the current policy; changes made in the meantime are tried next."""
        if self._running:
            return
        self._running = True
        try:
            shown = -1
            while shown != self.job.version:
                shown = self.job.version
                await self._once()
        finally:
            self._running = False

    async def _once(self) -> None:
        self.place.props("aria-busy=true")
        with self.place:
            late = ui.timer(1.5, self._waiting, once=True)
        try:
            found: tuple[Preview, float] | Exception = await in_thread(timed_preview_of, self.job)
        except Exception as error:
            found = error
        late.cancel()
        self.place.clear()
        self.place.props("aria-busy=false")
        with self.place:
            if isinstance(found, tuple):
                self._show(*found)
            else:
                banner(explained(found), "bad")
                if not isinstance(found, SfumatoError):
                    raise found

    def _waiting(self) -> None:
        self.place.clear()
        with self.place:
            text("p", "Trying it … The first time a method is used it is compiled, which can take a minute.", "small")

    def _show(self, found: Preview, seconds: float) -> None:
        text("p", _told(found, seconds), "small")
        figures(_figures(found))
        if found.summary.kept and not found.summary.exact:
            text("h3", "What is kept of each quasi-identifier")
            _bars(found)
        if self.whole:
            _facts(found)
            text("h3", f"The first {_ROWS} rows as they would be published")
            _rows(found)
        if found.release.warnings:
            with fold(f"{len(found.release.warnings)} warning{'s' * (len(found.release.warnings) > 1)}"):
                for warning in found.release.warnings:
                    text("p", warning, "small")
        if not found.whole:
            quiet("Try another sample", self._another, icon="shuffle")

    async def _another(self) -> None:
        draw_another(self.job)
        await self.refresh()


def _told(found: Preview, seconds: float) -> str:
    if found.whole:
        on = f"all {found.rows:,} rows"
        more = ""
    else:
        on = f"a random sample, {found.rows:,} of {found.of:,} rows"
        more = " The whole table has more people to hide among, so it usually keeps more."
    return f"Tried on {on}, by {found.method}, in {seconds:.1f} seconds.{more}"


def _figures(found: Preview) -> list[tuple[str, str]]:
    gain, summary = found.gain, found.summary
    out = [("of the people were alone before", percent(found.unique_before / max(1, found.rows)))]
    if gain.linked is not None:
        out.append(("greatest chance of finding somebody’s row now", percent(gain.linked)))
    if gain.worst is not None:
        out.append(("greatest gain in certainty about somebody’s sensitive value", percent(max(0.0, gain.worst))))
    if summary.information is not None:
        out.append(("of the information kept", percent(summary.information)))
    if summary.left_out:
        out.append(("rows left out", f"{summary.left_out:,}"))
    return out


def _bars(found: Preview) -> None:
    with ui.element("div").classes("bars"):
        for name, share in found.summary.kept.items():
            with ui.element("div").classes("bar"):
                ui.element("i").style(f"width: {share:.2%}")
                text("span", name)
            text("div", percent(share), "n")


def _facts(found: Preview) -> None:
    text("h3", "In words")
    with ui.element("dl").classes("meanings"):
        for title, sentence in found.summary.facts():
            text("dt", title)
            text("dd", sentence)


def _rows(found: Preview) -> None:
    shown = found.release.tables[found.release.scheme_class.people].head(_ROWS)
    rows_table("Rows of the preview", shown.columns, shown.iter_rows())
