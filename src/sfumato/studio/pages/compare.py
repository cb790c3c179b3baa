"""Compare: what each method costs, as a picture whose points can be looked at and taken."""

from collections.abc import Callable
from typing import Any

from nicegui import background_tasks, ui

from sfumato.errors import SfumatoError
from sfumato.publisher.compare.comparison import Comparison
from sfumato.publisher.compare.points import ComparisonPlan, Point
from sfumato.report.compare_page import COLUMNS, Row, done, shown_columns
from sfumato.requirement.dial import Dial
from sfumato.studio import comparing
from sfumato.studio.comparing import Comparing
from sfumato.studio.controls import choice, entry, fold, tick
from sfumato.studio.frame import go
from sfumato.studio.job import Job
from sfumato.studio.trial import offers_of
from sfumato.studio.widgets import banner, card, complain, explained, heading, in_thread, later, primary, quiet, text

KEPT = "comparing"
_CHOSEN = (
    "(e) => { const g = e.target.closest('[data-key]'); if (g) { e.preventDefault(); emit(Number(g.dataset.key)) } }"
)
_KEYS = f"(e) => {{ if (e.key === 'Enter' || e.key === ' ') ({_CHOSEN})(e) }}"


def render(job: Job) -> None:
    """The page."""
    heading(
        "What does a choice cost?",
        "Every method trades what an adversary gains against what an analyst loses. Points further down and to the "
        "left are better; no other point beats those on the line.",
    )
    later(lambda: (offers_of(job), comparing.swept(job)), lambda found: _Page(job, *found).render())


class _Page:
    """What to compare, how far it is, and what came out."""

    def __init__(self, job: Job, plan: ComparisonPlan, dials: dict[str, Dial]) -> None:
        self.job, self.plan, self.dials = job, plan, dials
        self.methods = {p.method.name for p in plan.points if p.refuted is None} or {p.method.name for p in plan.points}
        self.word, self.values = "", ""
        if self.running is not None:
            self._resume(self.running)
        self.bar: ui.element | None = None

    def render(self) -> None:
        with card("Compare"):
            self._methods()
            with ui.element("div").classes("actions tight"):
                words = {"": "Nothing: the requirements as they are"} | {
                    w: f"Different values of {w}" for w in self.dials
                }
                choice("Vary", words, self.word, self._vary)
                self.listed = ui.element("div")
                self._list_values()
            primary("Compare", self._start)
        self.place = ui.element("div").props("aria-live=polite")
        self._show()
        ui.timer(0.5, self._tick)

    def _methods(self) -> None:
        with ui.element("fieldset").classes("options inline"):
            text("legend", "Methods that can serve the requirements")
            for p in self.plan.points:
                name = p.method.name
                told = f"{name} (refuted for this)" if p.refuted else name
                tick(told, name in self.methods, self._ticker(name))

    def _ticker(self, name: str) -> Callable[[bool], None]:
        return lambda on: self.methods.add(name) if on else self.methods.discard(name)

    def _vary(self, word: str) -> None:
        self.word = word
        if word:
            dial = self.dials[word]
            some = [dial.start * m for m in (1, 2, 4)] if dial.step >= 1 else [dial.start / 2, dial.start]
            self.values = ", ".join(f"{v:g}" for v in some)
        self._list_values()

    def _list_values(self) -> None:
        self.listed.clear()
        if self.word:
            with self.listed:
                entry(f"Values of {self.word}", self.values, lambda v: setattr(self, "values", v))

    def _resume(self, before: Comparing) -> None:
        """Begin with what was compared last."""
        self.methods = set(before.methods) & {p.method.name for p in self.plan.points} or self.methods
        for word, values in before.sweep.items():
            if word in self.dials:
                self.word, self.values = word, ", ".join(f"{v:g}" for v in values)

    @property
    def running(self) -> Comparing | None:
        found: Comparing | None = self.job.extras.get(KEPT)
        return found

    def _start(self) -> None:
        if self.running is not None and not self.running.over:
            return
        try:
            sweep = {self.word: comparing.numbers(self.values)} if self.word else {}
        except SfumatoError as error:
            complain(explained(error))
            return
        order = [p.method.name for p in self.plan.points if p.method.name in self.methods]
        self.job.extras[KEPT] = Comparing(self.job, order, sweep)
        background_tasks.create(in_thread(self.job.extras[KEPT].go), name="compare")
        self._show()

    def _tick(self) -> None:
        """Show how far it is; once it is over, what came out."""
        now = self.running
        if now is not None and self.bar is not None:
            self.bar._props["value"] = now.done
            self.bar.update()
            if now.over:
                self._show()

    def _show(self) -> None:
        self.place.clear()
        self.bar = None
        now = self.running
        if now is None:
            return
        with self.place:
            if not now.over:
                self._under_way(now)
            elif now.error is not None:
                banner(explained(now.error), "bad")
            elif now.result is not None:
                _Outcome(self.job, now, now.result).render()
            else:
                banner("The comparison was stopped.")

    def _under_way(self, now: Comparing) -> None:
        with card():
            text("p", "Each method is run and measured. The first time it is also compiled, which can take a minute.")
            self.bar = ui.element("progress").classes("progress")
            self.bar._props |= {"max": 1, "value": now.done, "aria-label": "Progress of the comparison"}
            quiet("Cancel", now.cancel)


class _Outcome:
    """The picture, the table, and the point that was chosen."""

    def __init__(self, job: Job, now: Comparing, found: Comparison) -> None:
        self.job, self.now, self.found = job, now, found

    def render(self) -> None:
        if self.now.version != self.job.version:
            banner("The policy has changed since then; compare again to see what it costs now.")
        of = self.job.frame.height if self.job.frame is not None else 0
        on = "all rows" if self.now.rows == of else f"a random sample, {self.now.rows:,} of {of:,} rows"
        with card("The frontier"):
            text(
                "p", f"Measured on {on}. Choose a point to see its policy. Hollow points are refuted methods.", "small"
            )
            drawing = ui.html(str(self.found.plot(chosen=True)), sanitize=False).classes("picture")
            drawing.on("click", lambda e: self._choose(e.args), js_handler=_CHOSEN)
            drawing.on("keydown", lambda e: self._choose(e.args), js_handler=_KEYS)
            self.chosen = ui.element("div").props("aria-live=polite")
        self._table()

    def _table(self) -> None:
        rows = self.found.rows()
        names = shown_columns(rows)
        with card("All points"):
            with (
                ui.element("div").classes("scroll").props('tabindex=0 role=region aria-label="All points"'),
                ui.element("table").classes("plain"),
            ):
                with ui.element("thead"), ui.element("tr"):
                    for title in ("", "Method", *(COLUMNS[n].short for n in names), ""):
                        text("th" if title else "td", title, "num" if title not in ("", "Method") else "")
                with ui.element("tbody"):
                    for row in done(rows):
                        self._row(row, names)
            for row in rows:
                if row.why:
                    text("p", f"{row.label}: {row.why}.", "small")
            with fold("What the figures mean"), ui.element("dl").classes("meanings"):
                for n in names:
                    text("dt", COLUMNS[n].short)
                    text("dd", f"{COLUMNS[n].meaning}.")

    def _row(self, row: Row, names: list[str]) -> None:
        with ui.element("tr"):
            text("td", str(row.number))
            with ui.element("td"):
                text("span", row.label)
                if row.marks:
                    text("span", row.marks, "chip bad" if row.refuted else "chip")
            for n in names:
                text("td", row.cell(n), "num")
            with ui.element("td"):
                act = quiet("See", lambda: self._choose(row.number))
                act.props(f'aria-label="See point {row.number}"')

    def _choose(self, number: Any) -> None:
        """Show the policy of a point."""
        point = comparing.point_of(self.found, int(number))
        self.chosen.clear()
        with self.chosen:
            text("h3", f"Point {point.number}: {point.label}")
            if point.refuted:
                banner(f"{point.refuted[:1].upper()}{point.refuted[1:]}.")
            try:
                text("pre", comparing.shown_sections(self.job, point), "policy").props(
                    'tabindex=0 aria-label="Its policy"'
                )
            except SfumatoError as error:
                banner(explained(error), "bad")
                return
            primary("Use this policy", lambda: self._take(point))

    def _take(self, point: Point) -> None:
        try:
            comparing.take(self.job, point)
        except SfumatoError as error:
            complain(explained(error))
            return
        go(self.job, "requirements")
