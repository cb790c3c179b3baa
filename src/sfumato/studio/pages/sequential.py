"""Earlier releases: what an adversary who has them learns by joining them with the new one."""

from collections.abc import Callable
from typing import Any

from nicegui import ui

from sfumato.adversary.sequential_join import SequentialJoin
from sfumato.errors import SfumatoError
from sfumato.report.plots import percent
from sfumato.studio import earlier
from sfumato.studio.controls import choice, on_click
from sfumato.studio.earlier import JoinFindings
from sfumato.studio.job import Job
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
    text,
)


def render(job: Job) -> None:
    """The page."""
    heading(
        "What was published before?",
        "Anyone who also has last year’s release can match its rows with the new ones. Two releases that are each "
        "safe alone can together point to one person.",
    )
    _Page(job).render()


class _Page:
    """The earlier releases, and what the join gives away."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def render(self) -> None:
        self.chosen = ui.element("div")
        self.found = ui.element("div").props("aria-live=polite")
        self._show()

    def _show(self) -> None:
        self.chosen.clear()
        with self.chosen, card("Earlier releases about the same people"):
            known = earlier.chosen(self.job)
            if known:
                with ui.element("ul").classes("lines"):
                    for number, folder in enumerate(known, 2):
                        self._line(number, folder)
            with ui.element("div").classes("actions tight"):
                place = ui.input("Folder of a release").props("outlined dense").classes("grow")
                on_click(quiet("Add"), lambda given: self._change(lambda: earlier.choose(self.job, given)), place)
            if known:
                now = earlier.regard(self.job)
                regards = lambda what: self._change(lambda: earlier.set_regard(self.job, what))  # noqa: E731
                choice("What the policy does about them", earlier.REGARDS, now, regards)
                with ui.element("div").classes("actions"):
                    primary("See what the join gives away", self._join)

    def _line(self, number: int, folder: str) -> None:
        with ui.element("li"):
            text("span", f"T{number}", "chip")
            text("span", folder)
            forget = quiet("Remove", lambda: self._change(lambda: earlier.forget(self.job, folder)))
            forget.props(f'aria-label="Remove T{number}"')

    async def _change(self, act: Callable[[], Any]) -> None:
        try:
            await in_thread(act)
        except SfumatoError as error:
            complain(explained(error))
            return
        self.found.clear()
        self._show()

    def _join(self) -> None:
        self.found.clear()
        with self.found:
            later(lambda: earlier.given_away(self.job), lambda found: _given(self.job, found), "Joining the releases …")


def _given(job: Job, found: JoinFindings) -> None:
    people = found.people
    with card("What the join gives away"):
        which = "the published release" if found.published else "what would be published now, on the whole table"
        text("p", f"T1 is {which}.", "small")
        figures(_figures(people))
        if people.pinned_down.get("T1"):
            banner(
                f"{people.pinned_down['T1']:,} people are pinned down by the join, but not by any single release.",
                "bad",
            )
        elif people.pinned_down.get("T1") == 0:
            banner("The join pins down nobody who is not already singled out by one release.", "good")
        for name, joined in found.values.items():
            if joined.confidence is not None:
                text(
                    "p",
                    f"In the join, somebody’s {name} is known with a confidence of up to {percent(joined.confidence)}.",
                )
        for name, why in found.why.items():
            text("p", f"{name}: {why}.", "small")
        for name, (here, there) in people.unmatched.items():
            text(
                "p",
                f"{here:,} people of T1 match nobody in {name}, and {there:,} people of {name} match nobody in T1.",
                "small",
            )
        text("p", f"An outsider is assumed to know {', '.join(people.x)}.", "small")


def _figures(people: SequentialJoin) -> list[tuple[str, str]]:
    out = [("rows of the join", f"{people.matches:,}"), ("groups in it", f"{people.groups:,}")]
    if people.anonymity is not None:
        out.append(("fewest people in a group of the join", f"{people.anonymity:,}"))
    pinned, alone = people.pinned_down.get("T1"), people.singled_out.get("T1")
    if pinned is not None:
        out.append(("people pinned down by the join only", f"{pinned:,}"))
    if alone is not None:
        out.append(("people singled out by T1 alone", f"{alone:,}"))
    return out
