"""Requirements and method: what must hold of the release in plain words, and which methods can do it."""

from collections.abc import Callable
from typing import Any

from nicegui import ui

from sfumato.errors import SfumatoError
from sfumato.publisher.compare.points import Plan, Point
from sfumato.requirement.base import Requirement
from sfumato.requirement.catalogue import MODELS, from_table
from sfumato.requirement.dial import choices
from sfumato.studio import trial
from sfumato.studio.controls import choice, fold, slider
from sfumato.studio.frame import next_step
from sfumato.studio.job import Job
from sfumato.studio.preview_panel import PreviewPanel
from sfumato.studio.widgets import banner, beside, card, complain, explained, heading, quiet, text


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
        self.sentences: dict[int, ui.element] = {}
        self.faults: dict[int, ui.element] = {}

    def render(self) -> None:
        with ui.element("div").classes("beside"):
            with ui.element("div"):
                self.required = ui.element("div")
                with card("Require more"):
                    models = trial.addable(self.job)
                    told = {"": "Choose a promise …"} | {n: f"{n}: {said}" for n, said in models.items()}
                    choice("Another promise", told, "", self._add)
                with card("The method"):
                    self.methods = ui.element("div").props("aria-live=polite")
                    with self.methods:
                        text("p", "Asking every method …", "small")
            with ui.element("aside").classes("card").props('aria-label="Preview"'):
                text("h2", "What it costs")
                self.preview = PreviewPanel(self.job)
        self._show_required()
        ui.timer(0.01, self._judge, once=True)

    # -- requirements --------------------------------------------------------------------------------------------

    def _show_required(self) -> None:
        self.required.clear()
        self.sentences, self.faults = {}, {}
        with self.required:
            for place, entry in enumerate(trial.entries(self.job)):
                with card():
                    self._requirement(place, entry)
            if not trial.entries(self.job):
                banner("Nothing is required yet.", "bad")

    def _requirement(self, place: int, entry: dict[str, Any]) -> None:
        needed = from_table(entry)
        self.sentences[place] = ui.element("div")
        self._say(place, needed)
        model = MODELS.get(needed.model) if "over" not in entry else None
        for word, dial in (model.dials if model is not None else {}).items():
            value = entry.get(word)
            if isinstance(value, int | float):
                ends = dial.around(value)
                label = f"{word} of {needed.model}"
                moved, act = self._moving(place, word), self._setter(place, word)
                slider(label, (ends.least, ends.greatest, ends.step), value, moved, act)
        for word, words in (choices(model) if model is not None else {}).items():
            now = str(getattr(needed, word))
            choice(f"{word} of {needed.model}", {w: w for w in words}, now, self._chooser(place, word))
        self.faults[place] = ui.element("div")
        promise = needed.guarantee({})
        with fold("What exactly is promised, and what is not"):
            text("p", f"{promise.name}. {promise.promise}")
            with ui.element("ul"):
                for limit in promise.limits:
                    text("li", limit)
        quiet("Remove this promise", lambda: self._change(lambda: trial.remove_requirement(self.job, place), anew=True))

    def _say(self, place: int, needed: Requirement) -> None:
        said = self.sentences[place]
        said.clear()
        with said:
            text("h2", needed.in_short(trial.about(self.job, needed)))

    def _moving(self, place: int, word: str) -> Callable[[float], None]:
        """Say what a value on the way would mean."""

        def moved(value: float) -> None:
            try:
                self._say(place, from_table({**trial.entries(self.job)[place], word: _plain(value)}))
            except SfumatoError:
                return

        return moved

    def _setter(self, place: int, word: str) -> Callable[[float], Any]:
        return lambda value: self._change(lambda: trial.set_parameter(self.job, place, word, _plain(value)), place)

    def _chooser(self, place: int, word: str) -> Callable[[str], Any]:
        return lambda value: self._change(lambda: trial.set_parameter(self.job, place, word, value), anew=True)

    async def _add(self, model: str) -> None:
        if model:
            await self._change(lambda: trial.add_requirement(self.job, model), anew=True)

    async def _change(self, act: Callable[[], None], place: int | None = None, *, anew: bool = False) -> None:
        """Change the policy, then judge and try it; a wrong value changes nothing and is explained."""
        try:
            act()
        except SfumatoError as error:
            complain(explained(error))
            anew = True
        if anew:
            self._show_required()
        elif place is not None:
            self._say(place, from_table(trial.entries(self.job)[place]))
        await self._judge()

    async def _judge(self) -> None:
        """Say what is impossible, and which methods can serve."""
        version = self.job.version
        try:
            found, plan = await beside(_asked, self.job)
        except SfumatoError as error:
            self.methods.clear()
            with self.methods:
                banner(explained(error), "bad")
        else:
            if version == self.job.version:
                self._show_faults(found)
                self.methods.clear()
                with self.methods:
                    _Methods(self.job, plan, self._take).render()
        await self.preview.refresh()

    def _show_faults(self, found: dict[int, str]) -> None:
        for place, spot in self.faults.items():
            spot.clear()
            if place in found:
                with spot:
                    model = trial.entries(self.job)[place]["model"]
                    banner(f"This table cannot meet it: {found[place].removeprefix(f'{model}: ')}.", "bad")

    async def _take(self, point: Point | None) -> None:
        await self._change(lambda: trial.take_method(self.job, point.method if point else None))


def _asked(job: Job) -> tuple[dict[int, str], Plan]:
    return trial.impossible_of(job), trial.offers_of(job)


def _plain(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(f"{value:.10g}")


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


class _Methods:
    """The methods to choose from: those that serve, and why the others do not."""

    def __init__(self, job: Job, plan: Plan, take: Callable[[Point | None], Any]) -> None:
        self.job, self.plan, self.take = job, plan, take
        self.now = str(job.content.get("method", {}).get("name", ""))

    def render(self) -> None:
        with ui.element("fieldset").classes("options"):
            text("legend", "Publish by", "unseen")
            with self._option("", "Let sfumato choose", None):
                text("span", "recommended", "chip")
                self.recommended = text("p", "Finding the one that loses least on the sample …", "small")
                ui.timer(0.01, self._recommend, once=True)
            for point in self.plan.points:
                self._offer(point)
        if self.plan.unserved:
            with fold(f"{len(self.plan.unserved)} methods cannot serve this"), ui.element("dl").classes("meanings"):
                for name, why in self.plan.unserved.items():
                    text("dt", name)
                    text("dd", _sentence(why))

    async def _recommend(self) -> None:
        try:
            found = await beside(trial.choice_of, self.job)
            told = found.entry.reason.replace("No method was named. Chosen: ", "On the sample, this is ", 1)
        except SfumatoError as error:
            told = explained(error)
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
