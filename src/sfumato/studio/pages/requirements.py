"""Requirements and method: what must hold for the release, in plain words, and which methods can do it."""

from collections.abc import Callable
from typing import Any

from nicegui import ui

from sfumato.errors import SfumatoError
from sfumato.publisher.compare.points import ComparisonPlan, Point
from sfumato.studio import trial
from sfumato.studio.controls import choice, fold
from sfumato.studio.frame import next_step
from sfumato.studio.job import Job
from sfumato.studio.preview_panel import PreviewPanel
from sfumato.studio.requirement_card import RequirementCard
from sfumato.studio.widgets import banner, card, complain, explained, heading, in_thread, text


def render(job: Job) -> None:
    """The page."""
    heading(
        "What must hold?",
        "Say what an outsider must not be able to do. Every promise is checked on the release itself.",
    )
    _Page(job).render()
    next_step(job, "requirements")


class _Page:
    """The requirements, the methods, and the preview of both."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.cards: list[RequirementCard] = []
        self.offered: _Methods | None = None

    def render(self) -> None:
        with ui.element("div").classes("beside"):
            with ui.element("div"):
                self.required = ui.element("div")
                self.nothing = ui.element("div")
                with card("Require more"):
                    models = trial.addable(self.job)
                    told = {"": "Choose a promise …"} | {n: f"{n}: {said}" for n, said in models.items()}
                    choice("Another promise", told, "", self._add, again=True)
                with card("The method"):
                    self.methods = ui.element("div").props("aria-live=polite")
                    with self.methods:
                        text("p", "Asking every method …", "small")
            with ui.element("aside").classes("card").props('aria-label="Preview"'):
                text("h2", "What it costs")
                self.preview = PreviewPanel(self.job)
        for _ in trial.entries(self.job):
            self._show_next()
        self._show_whether_any()
        ui.timer(0.01, self._judge, once=True)

    # -- requirements --------------------------------------------------------------------------------------------

    def _show_next(self) -> None:
        """The card of the next requirement of the policy that has none; the others stay as they are."""
        made = RequirementCard(self.job, self.cards.index, self._judge)
        self.cards.append(made)
        with self.required:
            made.render(self._remove)

    def _show_whether_any(self) -> None:
        self.nothing.clear()
        if not self.cards:
            with self.nothing:
                banner("Nothing is required yet.", "bad")

    async def _add(self, model: str) -> None:
        if not model:
            return
        try:
            trial.add_requirement(self.job, model)
        except SfumatoError as error:
            complain(explained(error))
            return
        self._show_next()
        self._show_whether_any()
        await self._judge()

    async def _remove(self, gone: RequirementCard) -> None:
        trial.remove_requirement(self.job, self.cards.index(gone))
        self.cards.remove(gone)
        gone.whole.delete()
        self._show_whether_any()
        await self._judge()

    async def _judge(self) -> None:
        """Say what is impossible, and which methods can serve."""
        version = self.job.version
        try:
            found, plan = await in_thread(_asked, self.job)
        except SfumatoError as error:
            if version == self.job.version:
                self.offered = None
                self.methods.clear()
                with self.methods:
                    banner(explained(error), "bad")
        else:
            if version == self.job.version:
                for place, each in enumerate(self.cards):
                    each.show_fault(found.get(place))
                self._show_methods(plan)
        await self.preview.refresh()

    def _show_methods(self, plan: ComparisonPlan) -> None:
        """The methods, drawn again only if they are others than before."""
        offered = _Methods(self.job, plan, self._take)
        if self.offered is None or self.offered.offer != offered.offer:
            self.offered = offered
            self.methods.clear()
            with self.methods:
                offered.render()
        with self.methods:
            ui.timer(0.01, self.offered.recommend, once=True)

    async def _take(self, point: Point | None) -> None:
        trial.take_method(self.job, point.method if point else None)
        await self._judge()


def _asked(job: Job) -> tuple[dict[int, str], ComparisonPlan]:
    return trial.impossible_of(job), trial.offers_of(job)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


class _Methods:
    """The methods to choose from: those that serve, and why the others do not."""

    def __init__(self, job: Job, plan: ComparisonPlan, take: Callable[[Point | None], Any]) -> None:
        self.job, self.plan, self.take = job, plan, take
        self.now = str(job.content.get("method", {}).get("name", ""))

    @property
    def offer(self) -> tuple[object, ...]:
        """What is offered: two offers that are equal look the same."""
        return [(p.method, p.refuted) for p in self.plan.points], self.plan.unserved

    def render(self) -> None:
        with ui.element("fieldset").classes("options"):
            text("legend", "Publish by", "unseen")
            with self._option("", "Let sfumato choose", None):
                text("span", "recommended", "chip")
                self.recommended = text("p", "Finding the one that loses least on the sample …", "small")
            for point in self.plan.points:
                self._offer(point)
        if self.plan.unserved:
            with fold(f"{len(self.plan.unserved)} methods cannot serve this"), ui.element("dl").classes("meanings"):
                for name, why in self.plan.unserved.items():
                    text("dt", name)
                    text("dd", _sentence(why))

    async def recommend(self) -> None:
        """Say which method would be chosen, which takes a trial."""
        version = self.job.version
        try:
            found = await in_thread(trial.choice_of, self.job)
            told = found.entry.reason.replace("No method was named. Chosen: ", "On the sample, this is ", 1)
        except SfumatoError as error:
            told = explained(error)
        if version != self.job.version:
            return
        self.recommended.clear()
        with self.recommended:
            text("span", told)

    def _offer(self, point: Point) -> None:
        with self._option(point.method.name, point.method.name, point):
            if point.refuted:
                text("span", "refuted for this", "chip bad")
            text("p", f"{_sentence(point.method.summary)} Guarantees: {point.method.guarantees}.", "small")
            if point.refuted:
                with fold("What has been refuted"):
                    text("p", _sentence(point.refuted), "small")

    def _option(self, value: str, label: str, point: Point | None) -> ui.element:
        with ui.element("div").classes("option") as made:
            with ui.element("label").classes("tick"):
                dot = ui.element("input")
                dot._props |= {"type": "radio", "name": "method", "value": value}
                if value == self.now:
                    dot._props["checked"] = True
                text("span", label, "name")
            dot.on("change", lambda: self.take(point))
        return made
