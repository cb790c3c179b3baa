"""Intervals to edit: boundaries on the histogram and the same as numbers in a table."""

from collections.abc import Callable
from typing import Any

from nicegui import ui

from sfumato.studio import generalization as form
from sfumato.studio.boundaries import Boundaries
from sfumato.studio.controls import entry
from sfumato.studio.fields import Field
from sfumato.studio.generalization import Quasi
from sfumato.studio.job import Job
from sfumato.studio.widgets import quiet, text

ChangeRunner = Callable[[Callable[[], Any], Callable[[], Any]], None]
"""Runs the first function, which may be refused, and shows the result with the second."""


class IntervalView:
    """The intervals of one quasi-identifier. A boundary that moves is moved where it stands, so that it keeps the focus
    and others keep what is typed in them."""

    def __init__(self, job: Job, quasi: Quasi, change: ChangeRunner) -> None:
        self.job, self.quasi, self.change = job, quasi, change

    @property
    def bounds(self) -> list[float]:
        """The boundaries that the policy states now."""
        return [float(b) for b in self.job.attributes[self.quasi.name]["taxonomy"]["intervals"]]

    def render(self) -> None:
        """Show the histogram, the table and what else can be done."""
        edges, counts = form.bars(self.quasi)
        text("p", "Drag a boundary, or choose one and use the arrow keys. Nothing finer than these intervals is shown.")
        step = 1.0 if all(v.is_integer() for v in self.quasi.numbers) else edges[1] - edges[0]
        self.bars = Boundaries(self.quasi.name, (edges, counts), self.bounds, step, self._move)
        with ui.element("div").classes("scroll"), ui.element("table").classes("plain"):
            with ui.element("thead"), ui.element("tr"):
                for title in ("From", "to below", "Rows", "Remove"):
                    text("th", title).props("scope=col")
            self.lines = ui.element("tbody")
        self._show_lines()
        with ui.element("div").classes("actions tight"):
            self.cut = entry("Cut at", "", self._cut, hint="a number", kind="number")
            for parts in (3, 5, 10):
                told = f"Suggest {parts} of equal size"
                quiet(told, lambda n=parts: self._take(form.suggested_bounds(self.quasi, n)))

    def _show_lines(self) -> None:
        self.fields: dict[int, Field] = {}
        self.tops: dict[int, ui.html] = {}
        self.rows: list[ui.html] = []
        self.lines.clear()
        bounds = self.bounds
        with self.lines:
            for i in range(len(bounds) - 1):
                with ui.element("tr"):
                    self._line(i, last=i + 2 == len(bounds))
        self._fill()

    def _line(self, i: int, *, last: bool) -> None:
        with ui.element("td"):
            self.fields[i] = entry(f"Boundary {i + 1}", "", self._mover(i), hidden=True, kind="number")
        with ui.element("td"):
            if last:
                self.fields[i + 1] = entry("Last boundary", "", self._mover(i + 1), hidden=True, kind="number")
            else:
                self.tops[i + 1] = ui.html("", tag="span", sanitize=False)
        with ui.element("td").classes("num"):
            self.rows.append(ui.html("", tag="span", sanitize=False))
        with ui.element("td"):
            if i > 0:
                quiet("Join with the one above", lambda: self._take([*self.bounds[:i], *self.bounds[i + 1 :]]))

    def _fill(self) -> None:
        """The numbers as they are now."""
        bounds = self.bounds
        for i, field in self.fields.items():
            field.show(f"{bounds[i]:g}")
        for i, top in self.tops.items():
            top.set_content(f"{bounds[i]:g}")
        for spot, people in zip(self.rows, form.people_between(self.quasi, bounds), strict=True):
            spot.set_content(f"{people:,}")

    def refresh(self) -> None:
        """Show what the policy states now; lines are drawn again only if there are more or fewer."""
        self.bars.take(self.bounds)
        if len(self.rows) == len(self.bounds) - 1:
            self._fill()
        else:
            self._show_lines()

    def _mover(self, place: int) -> Callable[[str], None]:
        return lambda to: self._move(place, float(to)) if to else self.refresh()

    def _move(self, place: int, to: float) -> None:
        bounds = self.bounds
        take = lambda: form.take_bounds(self.job, self.quasi, form.moved_bound(bounds, place, to, self.quasi))  # noqa: E731
        self.change(take, self.refresh)

    def _take(self, bounds: list[float]) -> None:
        self.change(lambda: form.take_bounds(self.job, self.quasi, bounds), self.refresh)

    def _cut(self, at: str) -> None:
        if at:
            self._take(sorted({*self.bounds, float(at)}))
            self.cut.show("")
