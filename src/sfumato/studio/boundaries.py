"""A histogram whose boundaries are dragged with the pointer or moved with the arrow keys."""

from collections.abc import Callable, Sequence

from nicegui import events, ui


class Boundaries(ui.element, component="static/boundaries.js"):
    """The histogram of a column with boundaries; ``moved`` is called with the index of one and where it went."""

    def __init__(
        self,
        name: str,
        bars: tuple[Sequence[float], Sequence[int]],
        bounds: Sequence[float],
        step: float,
        moved: Callable[[int, float], None],
    ) -> None:
        super().__init__()
        edges, counts = bars
        self.shown = list(bounds)
        self._props |= {
            "name": name,
            "edges": list(edges),
            "counts": list(counts),
            "bounds": list(bounds),
            "step": step,
        }

        def heard(e: events.GenericEventArguments) -> None:
            place, to = int(e.args["place"]), float(e.args["to"])
            self.shown = [*self.shown[:place], to, *self.shown[place + 1 :]]
            moved(place, to)

        self.on("moved", heard)

    def take(self, bounds: Sequence[float]) -> None:
        """Show these boundaries unless the browser does already: it may be ahead of what was heard from it."""
        if self.shown != list(bounds):
            self.shown = self._props["bounds"] = list(bounds)
            self.update()
