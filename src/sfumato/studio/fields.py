"""Fields that keep their content in the browser while somebody types: no change of the page overwrites it."""

from collections.abc import Callable
from typing import Any

from nicegui import ui

Act = Callable[[Any], Any]


class _Kept(ui.element):
    """A field with a content that the server may replace, unless the user is typing another one."""

    def __init__(self, content: str, settled: Act) -> None:
        super().__init__()
        self._props |= {"content": content, "turn": 0}
        self.on("settled", lambda e: settled(str(e.args)))

    def show(self, content: str) -> None:
        """Replace the content, whatever was settled on before."""
        self._props |= {"content": content, "turn": self._props["turn"] + 1}
        self.update()


class Field(_Kept, component="static/field.js"):
    """A field for a text or a number; ``settled`` gets what was entered once it is left or Enter is pressed."""

    def __init__(self, content: str, settled: Act, *, kind: str = "text", hint: str = "") -> None:
        super().__init__(content, settled)
        self.classes("control")
        self._props |= {"type": kind, "placeholder": hint, "autocomplete": "off"}
        if kind == "number":
            self._props["step"] = "any"


class SliderField(_Kept, component="static/dial.js"):
    """A slider with its number next to it; ``ends`` are least, greatest and step.

    ``moved`` is called with every value on the way, ``settled`` with the final one, as it was typed.
    """

    def __init__(self, label: str, ends: tuple[float, float, float], value: float, moved: Act, settled: Act) -> None:
        super().__init__(f"{value:g}", settled)
        least, greatest, step = ends
        self._props |= {"label": label, "least": least, "greatest": greatest, "step": step, "wrong": False}
        self.on("moved", lambda e: moved(float(e.args)), throttle=0.08)

    def flag(self, *, wrong: bool) -> None:
        """Say whether the number in it was refused."""
        if self._props["wrong"] != wrong:
            self._props["wrong"] = wrong
            self.update()
