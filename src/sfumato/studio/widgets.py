"""Pieces that pages are made of. All text from data goes in as text, never as HTML."""

import asyncio
import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from nicegui import ui

from sfumato.studio.wording import explained as explained

T = TypeVar("T")


def text(tag: str, content: str, classes: str = "") -> ui.element:
    """An element with a text, such as a paragraph; the text is escaped."""
    with ui.element(tag).classes(classes) as made:
        ui.html(html.escape(content), tag="span", sanitize=False)
    return made


def heading(title: str, lead: str = "") -> None:
    """The title of a page and what it is for."""
    text("h1", title)
    if lead:
        text("p", lead, "lead")


@contextmanager
def card(title: str = "") -> Iterator[ui.element]:
    """A framed part of a page."""
    with ui.element("section").classes("card") as made:
        if title:
            text("h2", title)
        yield made


def banner(message: str, kind: str = "") -> ui.element:
    """A message that stands out; ``kind`` is empty (a note), good or bad. A bad one is announced."""
    with ui.element("div").classes(f"banner {kind}").props(f"role={'alert' if kind == 'bad' else 'status'}") as made:
        text("p", message)
    return made


def figures(pairs: Sequence[tuple[str, str]]) -> None:
    """Large numbers, each with what it is."""
    with ui.element("dl").classes("figures"):
        for name, value in pairs:
            with ui.element("div"):
                text("dt", name)
                text("dd", value)


def cell_text(value: Any) -> str:
    """A value as a person writes it: a whole number without a decimal point."""
    from sfumato.table.numbers import number_text

    return number_text(value) if isinstance(value, float) else str(value)


def rows_table(label: str, names: Sequence[str], rows: Iterable[Sequence[Any]], missing: str = "missing") -> None:
    """Some rows of a table, to be scrolled by the keyboard too; ``label`` says what they are."""
    around = ui.element("div").classes("scroll").props("tabindex=0 role=region")
    around.props["aria-label"] = label
    with around, ui.element("table").classes("plain"):
        with ui.element("thead"), ui.element("tr"):
            for name in names:
                text("th", name).props("scope=col")
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for value in row:
                        text("td", missing if value is None else cell_text(value)[:80], "none" if value is None else "")


def primary(label: str, action: Callable[..., Any] | None = None) -> ui.button:
    """The button for what comes next."""
    return ui.button(label, on_click=action, color=None).props("unelevated no-caps").classes("primary")


def quiet(label: str, action: Callable[..., Any] | None = None, icon: str | None = None) -> ui.button:
    """Any other button."""
    return ui.button(label, on_click=action, icon=icon, color=None).props("flat no-caps").classes("quiet")


def complain(message: str) -> None:
    """A message about something that did not work, which stays until it is closed."""
    ui.notify(message, type="negative", position="top", multi_line=True, close_button="Close", timeout=0)


async def in_thread(work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Run something that takes long in a thread, so that all windows stay responsive."""
    return await asyncio.to_thread(work, *arguments, **named)


def later(work: Callable[[], T], show: Callable[[T], None], waiting: str = "One moment …") -> ui.element:
    """A place that says that it waits, and then shows what the work gave, or why there is nothing."""
    place = ui.element("div").props("aria-live=polite aria-busy=true")
    with place:
        text("p", waiting, "small")

    async def fill() -> None:
        try:
            found = await in_thread(work)
        except Exception as error:
            with _emptied(place):
                banner(explained(error), "bad")
            return
        with _emptied(place):
            show(found)

    ui.timer(0.01, fill, once=True)
    return place


def _emptied(place: ui.element) -> ui.element:
    place.clear()
    place.props("aria-busy=false")
    return place
