"""A comparison of methods for people: a table for the terminal and for Markdown, a picture, and a page with both."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from sfumato.release.readme.templates import template
from sfumato.report.scatter import Picture as Picture
from sfumato.report.scatter import PlotAxis as PlotAxis
from sfumato.report.scatter import Spot, scatter
from sfumato.report.style import style

PRIVATE = "Private: these figures are computed from the private table. Do not hand them over."


class FigureColumn(NamedTuple):
    """A figure: its title in pictures, its short title in tables, and what it means."""

    title: str
    short: str
    meaning: str


COLUMNS: dict[str, FigureColumn] = {
    "gain_worst": FigureColumn(
        "worst-case gain of an adversary",
        "gain, worst",
        "by how much the confidence of an adversary who knows people's quasi-identifiers in a person's sensitive "
        "value exceeds that value's share in the table, for the person about whom the most is learned. The "
        "adversary does not exploit how the algorithm made its choices",
    ),
    "gain_mean": FigureColumn("average gain of an adversary", "gain, mean", "the same, on average over all people"),
    "linked": FigureColumn(
        "greatest probability of being found",
        "found",
        "the greatest probability with which an adversary who knows a person's quasi-identifiers picks their row",
    ),
    "query_error": FigureColumn(
        "error of count queries",
        "queries",
        "the median relative error of 1,000 random count queries on up to three quasi-identifiers and the sensitive "
        "attribute, relative to at least 0.1% of the rows",
    ),
    "class_error": FigureColumn(
        "classification error",
        "class",
        "the share of held-out rows that a decision tree trained on the published rows misclassifies",
    ),
    "correlation": FigureColumn(
        "change of correlations",
        "correl.",
        "the average change of Cramér's V over all pairs of attributes, as an analyst estimates it from the release",
    ),
    "loss": FigureColumn(
        "information loss",
        "loss",
        "the average share of an attribute's domain that its labels hide (randomized releases: the share of values "
        "that are expected to change; bucketized ones show quasi-identifiers exactly, so 0)",
    ),
    "seconds": FigureColumn(
        "run time", "seconds", "the time to make the release on this machine, not counting the compilation of kernels"
    ),
}
"""The figures of a comparison, in the order of the table."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A point as tables and pictures show it."""

    number: int
    label: str
    scheme: str
    figures: Mapping[str, Any]
    refuted: str | None
    frontier: bool
    why: str | None = None
    notes: Sequence[str] = field(default=())

    @property
    def marks(self) -> str:
        """How the point is marked: on the frontier, or by a refuted method."""
        return " ".join(mark for mark, on in (("best", self.frontier), ("refuted", self.refuted is not None)) if on)

    def cell(self, name: str) -> str:
        """A figure as text."""
        value = self.figures.get(name)
        if value is None:
            return "–"
        return f"{value:.2f}" if name == "seconds" else share(value)


def share(value: float) -> str:
    """A share in percent, which may be below 0 or above 100.

    >>> share(0.1234), share(-0.02), share(1.5)
    ('12.3%', '-2%', '150%')
    """
    return f"{round(100 * value, 1) + 0.0:g}%"


def shown_columns(rows: Sequence[Row]) -> list[str]:
    """The figures that were measured of at least one point."""
    return [name for name in COLUMNS if any(row.figures.get(name) is not None for row in rows)]


def cells(rows: Sequence[Row]) -> list[list[str]]:
    """The table, its head first."""
    names = shown_columns(rows)
    head = ["", "method", "scheme", *(COLUMNS[name].short for name in names), ""]
    return [head, *([str(r.number), r.label, r.scheme, *(r.cell(n) for n in names), r.marks] for r in done(rows))]


def done(rows: Sequence[Row]) -> list[Row]:
    """The points that have figures."""
    return [row for row in rows if row.figures]


def lines(rows: Sequence[Row], unserved: Mapping[str, str]) -> list[str]:
    """The table for a terminal, and below it what could not be compared."""
    table = cells(rows)
    width = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    left = {1, 2, len(width) - 1}
    out = [
        "  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(line, width, strict=True)))
        for line in table
    ]
    return [*(line.rstrip() for line in out), *(f"{name}: {why}" for name, why in absent(rows, unserved))]


def absent(rows: Sequence[Row], unserved: Mapping[str, str]) -> list[tuple[str, str]]:
    """Who is not in the table, and why."""
    failed = [(f"{row.number} {row.label}", row.why or "") for row in rows if not row.figures]
    return [*failed, *unserved.items()]


def markdown(title: str, rows: Sequence[Row], unserved: Mapping[str, str]) -> str:
    """The table as Markdown, with what each figure means."""
    head, *body = ([_escaped(cell) for cell in line] for line in cells(rows))
    names = shown_columns(rows)
    align = ["---:", "---", "---", *("---:" for _ in names), "---"]
    table = [f"| {' | '.join(line)} |" for line in (head, align, *body)]
    meaning = [f"- {COLUMNS[name].short}: {COLUMNS[name].meaning}." for name in names]
    marks = ["- best: on the Pareto frontier of the picture. refuted: see below."]
    known = {row.label.split(",")[0]: row.refuted for row in rows if row.refuted}
    against = [f"- {_escaped(name)}: {_escaped(why)}" for name, why in known.items() if why]
    gone = [f"- {_escaped(name)}: {_escaped(why)}" for name, why in absent(rows, unserved)]
    parts = [f"# Comparison of methods{f': {_escaped(title)}' if title else ''}", f"**{PRIVATE}**", "\n".join(table)]
    parts += ["\n".join([*meaning, *marks])]
    parts += ["## Refuted for these requirements\n\n" + "\n".join(against)] if against else []
    parts += ["## Not compared\n\n" + "\n".join(gone)] if gone else []
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return "".join(f"\\{c}" if c in "\\`*_|<>[]#" else c for c in plain)


def picture(rows: Sequence[Row], across: PlotAxis, up: PlotAxis, *, chosen: bool = False) -> Picture:
    """The points that have both figures; ``chosen``: each can be chosen, by its number as the key."""
    spots = []
    for row in done(rows):
        x, y = row.figures.get(across.name), row.figures.get(up.name)
        if x is not None and y is not None:
            told = f"{row.number} {row.label}: {across.title} {share(x)}, {up.title} {share(y)}"
            told += f" ({row.marks})" if row.marks else ""
            refuted, key = row.refuted is not None, str(row.number) if chosen else ""
            spots.append(Spot(x, y, f"{row.number} {row.label}", told, refuted, row.frontier, key))
    return scatter(spots, across, up)


def small_table(rows: Sequence[Row]) -> str:
    """The table as HTML for a notebook."""
    head, *body = cells(rows)
    cell, line = Markup("<{0}>{1}</{0}>"), Markup("<tr>{}</tr>")
    out = [line.format(Markup("").join(cell.format("th", text) for text in head))]
    out += [line.format(Markup("").join(cell.format("td", text) for text in row)) for row in body]
    return Markup("<table>{}</table>").format(Markup("").join(out))


def page(
    title: str,
    rows: Sequence[Row],
    unserved: Mapping[str, str],
    plot: Picture,
    axes: Sequence[PlotAxis],
    made: dt.datetime | None = None,
) -> str:
    """One self-contained page that opens offline."""
    names = shown_columns(rows)
    return _template().render(
        title=title or "Comparison of methods",
        head=[COLUMNS[name].short for name in names],
        names=names,
        rows=done(rows),
        meanings=[(COLUMNS[name].short, COLUMNS[name].meaning) for name in names],
        absent=absent(rows, unserved),
        refuted={row.label.split(",")[0]: row.refuted for row in done(rows) if row.refuted},
        notes=[(row.number, note) for row in rows for note in row.notes],
        plot=Markup(plot),  # built from escaped parts only
        axes=axes,
        made=(made or dt.datetime.now(dt.UTC)).strftime("%d %B %Y, %H:%M UTC"),
        style=style(),
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return template(environment, "sfumato.report", "compare.html.j2")
