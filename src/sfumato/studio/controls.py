"""Controls that keyboards and screen readers know by themselves: the browser's own, each with its label."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nicegui import events, ui

from sfumato.studio.fields import Act, Field
from sfumato.studio.widgets import text

LARGEST_TEXT = 900_000
"""The largest text file that is taken from the browser; its messages end at a million bytes."""
_VALUE = "(e) => emit(e.target.value)"
_MENU = "(e) => { const chosen = e.target.value; e.target.selectedIndex = 0; emit(chosen) }"


def choice(
    label: str, options: Mapping[str, str], value: str, act: Act, *, hidden: bool = False, again: bool = False
) -> ui.element:
    """A list to choose from; ``options`` are values with their words. A ``hidden`` label is only read aloud.

    With ``again``, the list returns to its first option, so that the same one can be chosen twice.
    """
    with _labelled(label, hidden):
        made = ui.element("select").classes("control")
        with made:
            for key, told in options.items():
                option = ui.element("option")
                option._text = told
                option._props["value"] = key
                if key == value:
                    option._props["selected"] = True
    return made.on("change", lambda e: act(e.args), js_handler=_MENU if again else _VALUE)


def entry(label: str, value: str, act: Act, *, hidden: bool = False, hint: str = "", kind: str = "text") -> Field:
    """A field for a text or a number; ``act`` gets what was entered once it is left or Enter is pressed."""
    with _labelled(label, hidden):
        return Field(value, act, kind=kind, hint=hint)


def tick(label: str, value: bool, act: Act, *, hidden: bool = False) -> ui.element:
    """A box to tick."""
    with ui.element("label").classes("tick"):
        made = ui.element("input")
        made._props |= {"type": "checkbox"}
        if value:
            made._props["checked"] = True
        text("span", label, "unseen" if hidden else "")
    return made.on("change", lambda e: act(bool(e.args)), js_handler="(e) => emit(e.target.checked)")


def text_file(label: str, endings: str, act: Callable[[str, str | None], Any]) -> None:
    """Choose a text file on this machine; ``act`` gets its name and its content, or no content if it is too large."""
    with ui.element("label").classes("file"):
        made = ui.element("input").classes("unseen")
        made._props |= {"type": "file", "accept": endings}
        text("span", label)
    read = (
        "async (e) => { const f = e.target.files[0]; if (!f) return; "
        f"const told = f.size > {LARGEST_TEXT} ? null : await f.text(); e.target.value = ''; emit([f.name, told]) }}"
    )
    made.on(
        "change", lambda e: act(str(e.args[0]), e.args[1] if e.args[1] is None else str(e.args[1])), js_handler=read
    )


def on_click(button: ui.button, act: Callable[..., Any], *inputs: ui.input) -> ui.button:
    """Let a click call ``act`` with what the inputs hold in the browser at that moment.

    While a page connects, NiceGUI holds each event back by a timer of its own: the click can come before the text.
    """
    held = ", ".join(f"getElement({i.id})?.inputValue ?? null" for i in inputs)

    def clicked(e: events.GenericEventArguments) -> Any:
        return act(*[(i.value if held is None else held) or "" for i, held in zip(inputs, e.args, strict=True)])

    return button.on("click", clicked, js_handler=f"() => emit([{held}])")


@contextmanager
def fold(title: str, *, opened: bool = False) -> Iterator[ui.element]:
    """A part that is shown when it is asked for."""
    with ui.element("details").classes("fold") as made:
        if opened:
            made._props["open"] = True
        text("summary", title)
        with ui.element("div").classes("inside"):
            yield made


@contextmanager
def _labelled(label: str, hidden: bool = False) -> Iterator[None]:
    with ui.element("label").classes("labelled"):
        text("span", label, "unseen" if hidden else "label")
        yield
