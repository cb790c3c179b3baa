"""A histogram whose boundaries are dragged with the pointer or moved with the arrow keys."""

from collections.abc import Callable, Sequence

from nicegui import ui


class Boundaries(ui.element, component="static/boundaries.js"):
    """The histogram of a column with boundaries; ``moved`` is told the place of one and where it went."""

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
        self._props |= {
            "name": name,
            "edges": list(edges),
            "counts": list(counts),
            "bounds": list(bounds),
            "step": step,
        }
        self.on("moved", lambda e: moved(int(e.args["place"]), float(e.args["to"])))
