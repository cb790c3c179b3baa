"""Draw the picture of each method's page from the release that its example makes: ``make pictures``.

Both axes are in the order of the values, one step per value, so that every label is a box. Grey dots are the people of
the private table (all invented), boxes and coloured dots are what the release shows.
"""

import sys
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import sfumato as sf
from docs.tools.blocks import DOCS, method_page
from docs.tools.run import example
from sfumato.method.catalogue import METHODS
from sfumato.release.label_meaning import parse_label
from sfumato.release.labels import Meanings
from sfumato.table.encode import Column, Role

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888", "#dd7722")
GROUP = "#8a5a44"
WIDTH, HEIGHT, LEFT, TOP, LEGEND = 480, 300, 46, 12, 150


class Box(NamedTuple):
    """A group as it is shown: its ranges on both axes and the number of each sensitive value."""

    x: tuple[float, float]
    y: tuple[float, float]
    values: tuple[tuple[str, int], ...]
    size: int


def picture(table: sf.Microdata, release: sf.Release) -> str:
    """The SVG of a release of a table with two quasi-identifiers or more; the first two are drawn."""
    if release.scheme_class.randomizes:
        return _bars(table, release)
    if release.scheme_class.separates:
        return _stars(table, release)
    return _boxes(table, release)


def _boxes(table: sf.Microdata, release: sf.Release) -> str:
    """The groups as boxes over the people."""
    plane = _Plane(table)
    parts = [plane.axes(), *plane.people()]
    parts += [plane.box(box) for box in _groups(table, release)]
    return _svg([*parts, *plane.legend(release)])


def _stars(table: sf.Microdata, release: sf.Release) -> str:
    """The people where they are, joined to the middle of their group, which holds the group's values."""
    plane = _Plane(table)
    people, held = release.tables["quasi"], release.tables["sensitive"]
    places = [_places(people[name], column) for name, column in zip(plane.names, plane.columns, strict=True)]
    parts = [plane.axes(), *plane.people()]
    for group in sorted(people["group"].unique()):
        rows = np.flatnonzero((people["group"] == group).to_numpy())
        points = [plane.point(places[0][i], places[1][i]) for i in rows]
        middle = (sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points))
        parts += [_line(*point, *middle) for point in points]
        counted = held.filter(pl.col("group") == group)
        values = [v for v, n in _tally(counted, plane.sensitive) for _ in range(n)]
        parts += plane.dots(values, *middle)
    return _svg([*parts, *plane.legend(release)])


def _bars(table: sf.Microdata, release: sf.Release) -> str:
    """How often each sensitive value is true, published, and estimated from what was published."""
    name = max(release.description.matrices, key=lambda n: table[n].size)
    column, analyst = table[name], sf.Analyst(release)
    truth = np.bincount(column.codes, minlength=column.size)
    shown = dict(release.tables["data"][name].cast(pl.String).value_counts().rows())
    answers = [analyst.count(f"\"{name}\" = '{value}'").estimate for value in column.domain.leaves]
    top, slot = max([*truth, *shown.values(), *answers]) * 1.1, WIDTH / column.size
    parts = [
        _text(LEFT + WIDTH / 2, TOP + HEIGHT + 34, f"{name}, in the table, as published, and reconstructed", "middle")
    ]
    for i, value in enumerate(column.domain.leaves):
        for j, count in enumerate((truth[i], shown.get(value, 0), answers[i])):
            high = max(float(count), 0.0) / top * HEIGHT
            colour = ("#bbbbbb", COLOURS[1], COLOURS[0])[j]
            parts.append(
                _rect(LEFT + i * slot + 6 + j * slot / 4, TOP + HEIGHT - high, slot / 4 - 2, high, colour, 1.0)
            )
        parts.append(_text(LEFT + (i + 0.45) * slot, TOP + HEIGHT + 15, value[: max(3, int(slot / 6))], "middle"))
    legend = (("in the table", "#bbbbbb"), ("published", COLOURS[1]), ("reconstructed", COLOURS[0]))
    for i, (words, colour) in enumerate(legend):
        parts.append(_rect(LEFT + WIDTH + 14, TOP + i * 18, 10, 10, colour, 1.0))
        parts.append(_text(LEFT + WIDTH + 30, TOP + 9 + i * 18, words))
    return _svg(parts)


class _Plane:
    """The plane of the first two quasi-identifiers."""

    def __init__(self, table: sf.Microdata) -> None:
        self.columns: list[Column] = table.quasi[:2]
        self.names = [c.name for c in self.columns]
        self.sensitive = (table.sensitive or table.with_role(Role.CLASS))[0].name
        column = table[self.sensitive]
        self.colour = {v: COLOURS[i % len(COLOURS)] for i, v in enumerate(column.domain.leaves)}

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A place in codes as one on the page."""
        wide, high = (c.size for c in self.columns)
        return LEFT + (x + 0.5) / wide * WIDTH, TOP + HEIGHT - (y + 0.5) / high * HEIGHT

    def axes(self) -> str:
        frame = f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>'
        along = _text(LEFT + WIDTH / 2, TOP + HEIGHT + 34, self.names[0], "middle")
        up = f'<text x="12" y="{TOP + HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 12 {TOP + HEIGHT / 2})">'
        return frame + along + f"{up}{escape(self.names[1])}</text>" + "".join(self._ticks())

    def _ticks(self) -> Iterable[str]:
        for code, anchor in ((0, "start"), (self.columns[0].size - 1, "end")):
            x, _ = self.point(code, 0)
            yield _text(x, TOP + HEIGHT + 15, self.columns[0].domain.leaves[code], anchor)

    def people(self) -> Iterable[str]:
        for x, y in zip(*(c.codes.astype(int).tolist() for c in self.columns), strict=True):
            across, down = self.point(x, y)
            yield f'<circle cx="{across:.1f}" cy="{down:.1f}" r="2" fill="#bbb"/>'

    def box(self, box: Box) -> str:
        """A group with its values in its middle; of a sample also how many people it stands for."""
        (x1, y2), (x2, y1) = self.point(box.x[0] - 0.5, box.y[0] - 0.5), self.point(box.x[1] - 0.5, box.y[1] - 0.5)
        values = [value for value, count in box.values for _ in range(count)]
        row = max(1, min(6, int((x2 - x1) / 8)))
        dots = "".join(self.dots(values, (x1 + x2) / 2, (y1 + y2) / 2, row))
        told = _text((x1 + x2) / 2 + 8, (y1 + y2) / 2 + 4, f"G = {box.size}") if box.size != len(values) else ""
        return _rect(x1 + 1, y1 + 1, x2 - x1 - 2, y2 - y1 - 2, GROUP, 0.08) + dots + told

    def dots(self, values: Sequence[str], x: float, y: float, row: int = 6) -> list[str]:
        """The values of a group as dots around a place, so many in a row."""
        out = []
        for i, value in enumerate(values):
            across = x + (i % row - (min(len(values), row) - 1) / 2) * 8
            down = y + (i // row - ((len(values) - 1) // row) / 2) * 8
            colour = self.colour.get(value, "#000")
            out.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3.2" fill="{colour}" stroke="#fff"/>')
        return out

    def legend(self, release: sf.Release) -> Iterable[str]:
        yield f'<circle cx="{LEFT + WIDTH + 19}" cy="{TOP + 5}" r="2" fill="#bbb"/>'
        yield _text(LEFT + WIDTH + 30, TOP + 9, "people, private")
        for i, (value, colour) in enumerate(self.colour.items(), 1):
            yield f'<circle cx="{LEFT + WIDTH + 19}" cy="{TOP + 5 + i * 18}" r="3.2" fill="{colour}"/>'
            yield _text(LEFT + WIDTH + 30, TOP + 9 + i * 18, value)
        yield _text(LEFT + WIDTH + 14, TOP + 9 + (len(self.colour) + 2) * 18, release.description.method.name)


def _groups(table: sf.Microdata, release: sf.Release) -> list[Box]:
    """The groups that a table of labels shows, in the order of their boxes."""
    plane, data = _Plane(table), release.tables["data"]
    spans = [_spans(release, data[name], column) for name, column in zip(plane.names, plane.columns, strict=True)]
    shown = data.with_columns(pl.Series("@x", spans[0]), pl.Series("@y", spans[1]))
    found = []
    for (x, y), rows in shown.group_by(["@x", "@y"]):
        size = int(rows["G"].sum()) if release.sampled else rows.height
        found.append(Box(tuple(x), tuple(y), tuple(_tally(rows, plane.sensitive)), size))
    return sorted(found)


def _spans(release: sf.Release, shown: pl.Series, column: Column) -> list[tuple[float, float]]:
    """From where to where the label of each row reaches, in codes."""
    entry = release.description.attributes[column.name]
    nodes: Any = getattr(entry, "nodes", {})
    meanings = Meanings(column.domain)
    known = {}
    for label in shown.cast(pl.String).unique():
        codes = meanings.codes(parse_label(label, nodes.get(label)), partly=True)
        known[label] = (float(codes[0]), float(codes[-1]) + 1.0) if len(codes) else (0.0, float(column.size))
    return [known[label] for label in shown.cast(pl.String)]


def _places(shown: pl.Series, column: Column) -> list[int]:
    """The codes of values that are shown as they are."""
    code = {leaf: i for i, leaf in enumerate(column.domain.leaves)}
    return [code[str(value)] for value in shown.cast(pl.String)]


def _tally(rows: pl.DataFrame, name: str) -> list[tuple[str, int]]:
    """How often each value occurs, in the order of the values."""
    if "count" in rows.columns:
        return sorted(zip(rows[name].cast(pl.String), rows["count"], strict=True))
    return sorted(rows[name].cast(pl.String).value_counts().rows())


def _rect(x: float, y: float, width: float, height: float, colour: str, opacity: float) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{max(height, 1):.1f}"'
    return f'<rect {place} fill="{colour}" fill-opacity="{opacity}" stroke="{colour}"/>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{GROUP}" stroke-width=".7"/>'


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(parts: Iterable[str]) -> str:
    wide, high = LEFT + WIDTH + LEGEND, TOP + HEIGHT + 44
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
    style = 'font-family="sans-serif" font-size="11" fill="#555">'
    back = f'<rect width="{wide}" height="{high}" fill="#fff"/>'
    return head + style + back + "\n".join(parts) + "</svg>\n"


def picture_file(page: Path) -> Path:
    """Where the picture of a page is."""
    return DOCS / "pictures" / f"{page.stem}.svg"


def main(names: Sequence[str]) -> None:
    """Draw the pictures of some methods, or of all that have a page."""
    for name in names or METHODS:
        page = method_page(name)
        if page.is_file():
            found = example(page)
            picture_file(page).write_text(picture(found["table"], found["release"]), encoding="utf-8")
            print(f"{picture_file(page).relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main(sys.argv[1:])
