"""The result of a comparison: a frame of figures, a picture, the Pareto frontier and the policy of each point."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from sfumato.errors import PolicyError, nearest
from sfumato.publisher.compare.figures import NAMES, Outcome
from sfumato.publisher.compare.frontier import frontier
from sfumato.publisher.compare.points import Point
from sfumato.report.compare_page import COLUMNS, Picture, PlotAxis, Row, markdown, page, picture, small_table

PRIVACY = ("gain_worst", "linked", "gain_mean")
UTILITY = ("query_error", "loss", "correlation", "class_error")
"""The figures for each axis; by default, the first one that was measured for all points."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Methods side by side on one table. Private: it is computed from the private table.

    ``frame`` has a row per point, in the order of their numbers, which start at 1; ``unserved`` are the methods that
    cannot serve the requirements, with the reason; ``frontier`` are the numbers of the points that no other point
    beats on both axes of the picture, among the methods that are not refuted for these requirements if there are any.

    ``points`` and ``outcomes`` are what was tried and the results; ``write_policy`` gives the policy of a point;
    ``title`` is that of the picture.
    """

    points: tuple[Point, ...]
    outcomes: tuple[Outcome, ...]
    unserved: Mapping[str, str]
    write_policy: Callable[[Point], str] = field(repr=False)
    title: str = ""

    def __repr__(self) -> str:
        done = sum(o.figures is not None for o in self.outcomes)
        return f"<Comparison of {done} points, {len(self.frontier)} of them on the frontier; private>"

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per point: method, parameters, figures, whether it is refuted and on the frontier."""
        best = set(self.frontier)
        rows = [self._row(p, o) | {"frontier": p.number in best} for p, o in self._both()]
        swept = list(dict.fromkeys(name for p in self.points for name in p.swept))
        schema: dict[str, Any] = {"point": pl.Int64, "method": pl.String, "scheme": pl.String}
        schema |= dict.fromkeys(swept, pl.Float64) | {"refuted": pl.Boolean, "frontier": pl.Boolean}
        schema |= dict.fromkeys(NAMES, pl.Float64) | {"groups": pl.Int64, "rows": pl.Int64, "why": pl.String}
        return pl.DataFrame([{n: row.get(n) for n in schema} for row in rows], schema=schema)

    def _row(self, point: Point, outcome: Outcome) -> dict[str, Any]:
        figures = {} if outcome.figures is None else outcome.figures.as_dict()
        why = outcome.refused or outcome.failed or "; ".join(outcome.notes) or None
        told = {"point": point.number, "method": point.method.name, "scheme": point.method.shown_by()}
        return told | dict(point.swept) | {"refuted": point.refuted is not None, "why": why} | figures

    def _both(self) -> list[tuple[Point, Outcome]]:
        return list(zip(self.points, self.outcomes, strict=True))

    @property
    def axes(self) -> tuple[str, str]:
        """The figures of the picture: what an adversary gains, and what an analyst loses."""
        return self._first(PRIVACY), self._first(UTILITY)

    def _first(self, names: tuple[str, ...]) -> str:
        """The first figure that was measured of all points, or else of most."""
        measured = [o.figures.as_dict() for o in self.outcomes if o.figures is not None]
        return max(names, key=lambda name: sum(f[name] is not None for f in measured))

    @property
    def frontier(self) -> list[int]:
        """The numbers of the points on the frontier of the picture."""
        return self.frontier_of(*self.axes)

    def frontier_of(self, x: str, y: str) -> list[int]:
        """The numbers of the points that no other point beats on both of two figures."""
        for name in (x, y):
            if name not in NAMES:
                raise PolicyError(f"there is no figure {name!r}{nearest(name, NAMES)}")
        both = [(p, getattr(o.figures, x), getattr(o.figures, y)) for p, o in self._both() if o.figures is not None]
        known = [(p, a, b) for p, a, b in both if a is not None and b is not None]
        fair = [entry for entry in known if entry[0].refuted is None] or known
        return [fair[i][0].number for i in frontier([(a, b) for _, a, b in fair])]

    def policy(self, point: int) -> str:
        """The policy of a point as TOML; for a comparison made in Python, its requirements and method."""
        found = [p for p in self.points if p.number == point]
        if not found:
            raise PolicyError(f"there is no point {point}; the points are numbered from 1 to {len(self.points)}")
        return self.write_policy(found[0])

    def plot(self, x: str | None = None, y: str | None = None, *, chosen: bool = False) -> Picture:
        """The picture of two figures as SVG, by default what an adversary gains against what an analyst loses.

        ``chosen``: for pages on which a point can be chosen; each has the attribute data-key with its number.
        """
        across, up = x or self.axes[0], y or self.axes[1]
        return picture(self.rows(self.frontier_of(across, up)), _axis(across), _axis(up), chosen=chosen)

    def rows(self, best: list[int] | None = None) -> list[Row]:
        """The points as tables and pictures show them."""
        on = set(self.frontier if best is None else best)
        return [
            Row(
                number=p.number,
                label=p.label,
                scheme=p.method.shown_by(),
                figures={} if o.figures is None else o.figures.as_dict(),
                refuted=p.refuted,
                frontier=p.number in on,
                why=o.refused or o.failed,
                notes=o.notes,
            )
            for p, o in self._both()
        ]

    def markdown(self) -> str:
        """The table as Markdown."""
        return markdown(self.title, self.rows(), self.unserved)

    def html(self) -> str:
        """One self-contained page: the table, the picture, and what each figure means."""
        return page(self.title, self.rows(), self.unserved, self.plot(), [_axis(name) for name in self.axes])

    def _repr_html_(self) -> str:
        return small_table(self.rows()) + str(self.plot())

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "title": self.title,
            "axes": list(self.axes),
            "frontier": self.frontier,
            "points": [
                self._row(p, o) | {"settings": dict(p.method.settings()), "refuted": p.refuted, "notes": list(o.notes)}
                for p, o in self._both()
            ],
            "unserved": dict(self.unserved),
        }


def _axis(name: str) -> PlotAxis:
    return PlotAxis(name, COLUMNS[name].title if name in COLUMNS else name)
