"""A picture of points by two figures as inline SVG: no script, no outside resource, readable on its own."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

WIDTH, HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 24, 18, 52
_LETTER, _LINE = 6.4, 13.0

_STYLE = Markup(
    "<style>"
    ".cmp text{font:11.5px system-ui,sans-serif;fill:currentColor}"
    ".cmp .muted{opacity:.7}.cmp .grid{stroke:currentColor;opacity:.14}.cmp .base{stroke:currentColor;opacity:.5}"
    ".cmp .dot{fill:var(--after,#1d5c78);stroke:var(--after,#1d5c78);stroke-width:1.6}"
    ".cmp .hollow{fill:none;stroke:var(--bad,#a3211a);stroke-dasharray:2.5 2}"
    ".cmp .front{fill:none;stroke:var(--after,#1d5c78);stroke-width:1.4;opacity:.55}"
    ".cmp .ring{fill:none;stroke:var(--after,#1d5c78);stroke-width:1.6}"
    "</style>"
)


class PlotAxis(NamedTuple):
    """A figure and what it is called."""

    name: str
    title: str


class Spot(NamedTuple):
    """A point of the picture."""

    x: float
    y: float
    label: str
    told: str
    refuted: bool
    frontier: bool
    key: str = ""
    """What reports the chosen point, in a picture with points to choose from."""


class Picture(str):
    """An SVG picture that a notebook shows."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    _repr_html_ = _repr_svg_


@dataclass(frozen=True)
class _Scale:
    """From figures to places on the paper."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float) -> "_Scale":
        low, high = min([0.0, *values]), max([*values, 0.0])
        if high - low < 1e-9:
            high = low + 1.0
        step = _step(high - low)
        return cls(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, end)

    def place(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        step = _step(self.high - self.low)
        return [self.low + i * step for i in range(round((self.high - self.low) / step) + 1)]


def _step(span: float) -> float:
    """The distance of grid lines: three to nine of them.

    >>> [_step(span) for span in (1.0, 0.37, 3.0, 9.5)]
    [0.2, 0.05, 0.5, 2.0]
    """
    power = 10.0 ** math.floor(math.log10(span))
    return next(step for step in (0.1 * power, 0.2 * power, 0.5 * power, power, 2 * power) if span / step <= 8)


def scatter(spots: Sequence[Spot], across: PlotAxis, up: PlotAxis) -> Picture:
    """The points, those on the frontier joined by a line; refuted methods are hollow."""
    x = _Scale.of([s.x for s in spots], _LEFT, WIDTH - _RIGHT)
    y = _Scale.of([s.y for s in spots], HEIGHT - _BOTTOM, _TOP)
    parts = [*_grid(x, y, across, up), _front([s for s in spots if s.frontier], x, y)]
    taken: list[_Box] = []
    for s in spots:
        taken.append(_Box(x.place(s.x) - 5, y.place(s.y) - 5, x.place(s.x) + 5, y.place(s.y) + 5))
    for s in sorted(spots, key=lambda s: (not s.frontier, s.refuted)):
        parts += _spot(s, x.place(s.x), y.place(s.y), taken)
    title = f"{up.title} against {across.title}, one point per method and setting"
    head = Markup(
        '<svg class="cmp" role="{3}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}"><title>{2}</title>'
    )
    role = "group" if any(s.key for s in spots) else "img"
    return Picture(head.format(WIDTH, HEIGHT, title, role) + _STYLE + Markup("").join(parts) + Markup("</svg>"))


def _grid(x: _Scale, y: _Scale, across: PlotAxis, up: PlotAxis) -> Iterable[Markup]:
    line = Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>')
    for value in x.ticks():
        at = x.place(value)
        yield line.format("base" if value == x.low else "grid", at, at, _TOP, HEIGHT - _BOTTOM)
        yield _text(at, HEIGHT - _BOTTOM + 17, _share(value), "middle", "muted")
    for value in y.ticks():
        at = y.place(value)
        yield line.format("base" if value == y.low else "grid", _LEFT, WIDTH - _RIGHT, at, at)
        yield _text(_LEFT - 7, at + 4, _share(value), "end", "muted")
    yield _text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 12, f"{across.title} (less is safer)", "middle")
    middle = (HEIGHT - _BOTTOM + _TOP) / 2
    yield Markup(
        '<text text-anchor="middle" transform="translate(14 {:.1f}) rotate(-90)">{} (less is better)</text>'
    ).format(middle, up.title)


def _share(value: float) -> str:
    return f"{100 * value:.3g}%"


def _front(spots: Sequence[Spot], x: _Scale, y: _Scale) -> Markup:
    """The frontier as stairs: what lies above and to the right of it is beaten."""
    if len(spots) < 2:
        return Markup("")
    ordered = sorted(spots, key=lambda s: (s.x, -s.y))
    path = f"M{x.place(ordered[0].x):.1f} {y.place(ordered[0].y):.1f}"
    path += "".join(f"H{x.place(s.x):.1f}V{y.place(s.y):.1f}" for s in ordered[1:])
    return Markup('<path class="front" d="{}"/>').format(path)


class _Box(NamedTuple):
    """A place on the paper that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def _spot(s: Spot, x: float, y: float, taken: list[_Box]) -> Iterable[Markup]:
    if s.key:
        yield Markup('<g class="spot" role="button" tabindex="0" data-key="{}" aria-label="{}">').format(s.key, s.told)
        yield Markup('<circle cx="{:.1f}" cy="{:.1f}" r="12" fill="transparent"/>').format(x, y)
    if s.frontier:
        yield Markup('<circle class="ring" cx="{:.1f}" cy="{:.1f}" r="7.5"/>').format(x, y)
    kind = "dot hollow" if s.refuted else "dot"
    dot = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4"><title>{}</title></circle>')
    yield dot.format(kind, x, y, s.told)
    yield from _label(s, x, y, taken)
    if s.key:
        yield Markup("</g>")


def _label(s: Spot, x: float, y: float, taken: list[_Box]) -> Iterable[Markup]:
    """The label where there is room for it."""
    for words in (s.label, s.label.split(" ", 1)[0]):  # the whole label, or its number where there is no room
        for anchor, left, base in _places(x, y, len(words) * _LETTER):
            box = _Box(left, base - _LINE + 3, left + len(words) * _LETTER, base + 3)
            inside = box.left > _LEFT and box.right < WIDTH - 2 and box.top > 0 and box.bottom < HEIGHT - _BOTTOM
            if inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                at = {"start": left, "end": box.right, "middle": (left + box.right) / 2}[anchor]
                yield _text(at, base, words, anchor)
                return


def _places(x: float, y: float, width: float) -> list[tuple[str, float, float]]:
    """Where a label may stand: its anchor, its left end and its base line."""
    sides = [("start", x + 10, y - 5), ("end", x - 10 - width, y + 4)]
    return [*sides, ("middle", x - width / 2, y - 11), ("middle", x - width / 2, y + 20)]


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(kind, x, y, anchor, words)
