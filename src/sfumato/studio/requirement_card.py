"""A requirement in plain words, with the dials that set it. While it is shown, its fields are never drawn again."""

from collections.abc import Callable
from typing import Any

from nicegui import ui

from sfumato.errors import SfumatoError
from sfumato.requirement.base import Requirement
from sfumato.requirement.catalogue import MODELS, from_table
from sfumato.requirement.dial import choices
from sfumato.studio import trial
from sfumato.studio.controls import choice, fold
from sfumato.studio.fields import SliderField
from sfumato.studio.job import Job
from sfumato.studio.widgets import banner, card, explained, quiet, text


class RequirementCard:
    """One requirement of a job; ``place`` says where it is now, ``changed`` is awaited after every change."""

    def __init__(self, job: Job, place: Callable[["RequirementCard"], int], changed: Callable[[], Any]) -> None:
        self.job, self.place, self.changed = job, place, changed

    @property
    def entry(self) -> dict[str, Any]:
        """The requirement as the policy writes it."""
        return trial.entries(self.job)[self.place(self)]

    def render(self, remove: Callable[["RequirementCard"], Any]) -> None:
        """Show it; ``remove`` is called when it is to be required no longer."""
        with card() as self.whole:
            self.sentence = ui.element("div")
            self.numbers = ui.element("div").classes("numbers")
            self._show_dials()
            needed = from_table(self.entry)
            for word, words in choices(self._model()).items() if self._model() else ():
                now = str(getattr(needed, word))
                choice(f"{word} of {needed.model}", {w: w for w in words}, now, self._chooser(word))
            self.refused = ui.element("div")
            self.fault = ui.element("div")
            self._promise(needed)
            quiet("Remove this promise", lambda: remove(self))
            self._say(needed)

    def _model(self) -> Any:
        """The model whose parameters can be set here; None if there is none."""
        entry = self.entry
        return None if "over" in entry else MODELS.get(str(entry["model"]))

    def _show_dials(self) -> None:
        """The numbers of the requirement; drawn again only if a word of it decides which there are."""
        entry, model = self.entry, self._model()
        self.dials: dict[str, SliderField] = {}
        self.numbers.clear()
        with self.numbers:
            for word, dial in model.dials.items() if model is not None else ():
                value = entry.get(word)
                if isinstance(value, int | float):
                    ends = dial.around(value)
                    self.dials[word] = SliderField(
                        f"{word} of {entry['model']}",
                        (ends.least, ends.greatest, ends.step),
                        value,
                        self._moving(word),
                        self._setter(word),
                    )

    def _promise(self, needed: Requirement) -> None:
        promise = needed.guarantee({})
        with fold("What exactly is promised, and what is not"):
            text("p", f"{promise.name}. {promise.promise}")
            with ui.element("ul"):
                for limit in promise.limits:
                    text("li", limit)

    def _say(self, needed: Requirement) -> None:
        self.sentence.clear()
        with self.sentence:
            text("h2", needed.in_short(trial.about(self.job, needed)))

    def _moving(self, word: str) -> Callable[[float], None]:
        """Say what a value on the way would mean."""

        def moved(value: float) -> None:
            try:
                self._say(from_table({**self.entry, word: _plain(value)}))
            except SfumatoError:
                return

        return moved

    def _setter(self, word: str) -> Callable[[str], Any]:
        async def settled(typed: str) -> None:
            try:
                trial.set_parameter(self.job, self.place(self), word, _number(typed))
            except SfumatoError as error:
                self._refuse(word, error)
                return
            self._accept(word)
            await self.changed()

        return settled

    def _chooser(self, word: str) -> Callable[[str], Any]:
        async def chosen(value: str) -> None:
            trial.set_parameter(self.job, self.place(self), word, value)
            if set(self.dials) != set(self._model().dials) & set(self.entry):
                self._show_dials()
            self._accept()
            await self.changed()

        return chosen

    def _refuse(self, word: str, error: SfumatoError) -> None:
        """Explain a wrong value where it was typed; the policy keeps the right one."""
        self.dials[word].flag(wrong=True)
        self.refused.clear()
        with self.refused:
            banner(f"{explained(error)} The policy still says {word} = {self.entry[word]:g}.", "bad")
        self._say(from_table(self.entry))

    def _accept(self, *words: str) -> None:
        for word in words:
            self.dials[word].flag(wrong=False)
        if not any(dial.props["wrong"] for dial in self.dials.values()):
            self.refused.clear()
        self._say(from_table(self.entry))

    def show_fault(self, why: str | None) -> None:
        """Say that the table cannot meet it, and why; None: that it can."""
        self.fault.clear()
        if why is not None:
            with self.fault:
                model = self.entry["model"]
                banner(f"This table cannot meet it: {why.removeprefix(f'{model}: ')}.", "bad")


def _number(typed: str) -> int | float | str:
    """A number as the policy writes it; what is none is left as it is, to be refused."""
    try:
        return _plain(float(typed))
    except ValueError:
        return typed


def _plain(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(f"{value:.10g}")
