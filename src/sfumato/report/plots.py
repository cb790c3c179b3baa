"""Plots as inline SVG: no script, no outside resource, colours by the page's style sheet.

Every text that comes from data passes through ``Markup.format``, which escapes it.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sfumato.adversary.linkage import SizeBin
from sfumato.release.readme.texts import shortened as shortened
from sfumato.release.readme.texts import width_of
from sfumato.report.distributions import BeforeAfter
from sfumato.requirement.guarantee import percent as percent

Floats = NDArray[np.float64]

_WIDTH = 430
_LABEL = 162
_VALUE = 96
_PLOT_HEIGHT = 168
_LEFT = 40
_MOST_TICKS = 7


def drawn(name: str, distribution: BeforeAfter) -> Markup:
    """A histogram for numbers and dates, bars for categories."""
    how = "before and after the release" if distribution.after is not None else "as published"
    title = f"Distribution of {name}, {how}"
    if distribution.edges:
        return _histogram(title, distribution)
    return _bars(title, distribution.labels, distribution.before, distribution.after, rest=distribution.rest)


def losses(loss: Sequence[tuple[str, float]]) -> Markup:
    """One bar per quasi-identifier: the average share of its domain that a label hides."""
    values = np.array([v for _, v in loss])
    title = "Average share of the domain that the labels of each quasi-identifier hide"
    return _bars(title, [n for n, _ in loss], values, None, whole=True)


def class_sizes(before: Sequence[SizeBin], after: Sequence[SizeBin]) -> Markup:
    """The share of the rows that are in classes of each size, before and after."""
    shares = [np.array([b.rows for b in bins]) / max(sum(b.rows for b in bins), 1) for bins in (before, after)]
    top, step = _ceiling(max(float(s.max()) for s in shares))
    width = 560
    parts = [_grid(top, step, width)]
    slot = (width - _LEFT - 8) / len(before)
    for i, size in enumerate(before):
        x = _LEFT + i * slot
        for j, kind in enumerate(("before", "after")):
            share = float(shares[j][i])
            left, high = x + slot / 2 + (j - 1) * 27, share / top * _PLOT_HEIGHT
            parts.append(
                _rect(left + 1, _base() - high, 25, high, kind, f"{size.sizes} rows, {kind}: {percent(share)}")
            )
            if share:
                parts.append(_text(left + 13.5, _base() - high - 5, percent(share), "value", "middle"))
        parts.append(_text(x + slot / 2, _base() + 18, size.sizes, "tick", "middle"))
    parts.append(_text(_LEFT + (width - _LEFT) / 2, _base() + 38, "rows in the class", "axis", "middle"))
    return _svg("Rows by class size, before and after the release", parts, width, int(_base()) + 46)


def _bars(
    title: str,
    labels: Sequence[str],
    before: Floats,
    after: Floats | None,
    *,
    whole: bool = False,
    rest: bool = False,
) -> Markup:
    """Horizontal bars, one line per category, two bars if there are two shares.

    ``whole``: each bar is part of a whole, which is drawn behind it; ``rest``: the last category has no bar.
    """
    series = [before] if after is None else [before, after]
    top = 1.0 if whole else max(1e-9, *(float(s[: len(s) - rest].max(initial=0)) for s in series))
    line = 22 if after is None else 28
    left = min(_LABEL, 24 + 6.9 * max(width_of(shortened(label)) for label in labels))
    parts: list[Markup] = []
    for i, label in enumerate(labels):
        shares = [float(s[i]) for s in series]
        kinds = () if rest and i == len(labels) - 1 else ("after",) if whole else ("before", "after")
        bars = list(zip(kinds, shares, strict=False))
        if whole:
            parts.append(_rect(left, i * line + line / 2 - 3, _WIDTH - left - _VALUE, 10, "track", label))
        parts += _line(i * line, line, left, label, shares, bars, top, whole)
    return _svg(title, parts, _WIDTH, line * len(labels) + 4)


def _line(
    y: float,
    height: float,
    left: float,
    label: str,
    shares: Sequence[float],
    bars: Sequence[tuple[str, float]],
    top: float,
    whole: bool,
) -> Iterable[Markup]:
    """One category: its name, its bars and its shares."""
    room = _WIDTH - left - _VALUE
    middle = y + height / 2 + 2
    yield _text(left - 10, middle + 4, shortened(label), "label", "end", label)
    thick = 10 if len(shares) == 1 else 9
    for j, (kind, share) in enumerate(bars):
        start = middle - thick / 2 if len(shares) == 1 else middle - thick - 0.5 + j * (thick + 1)
        told = f"{label}: {percent(share)}" + (f" {kind}" if len(shares) > 1 else "")
        yield _rect(left, start, max(share / top, 0.0) * room, thick, kind, told)
    text = " → ".join(percent(share) for share in shares)
    longest = room if whole else max((share for _, share in bars), default=0.0) / top * room
    yield _text(left + longest + 6, middle + 4, text, "value", "start")


def _histogram(title: str, distribution: BeforeAfter) -> Markup:
    """Filled bars before, an outline after; missing values are set apart on the right."""
    before, after, bins = distribution.before, distribution.after, len(distribution.edges) - 1
    missing = len(before) > bins
    right = max(12.0, 3.4 * len(distribution.edges[-1]) + 8)
    slot = (_WIDTH - _LEFT - right - (46 if missing else 0)) / bins
    top, step = _ceiling(float(max(before.max(), 0.0 if after is None else after.max())))
    high = before / top * _PLOT_HEIGHT
    parts = [_grid(top, step, _WIDTH)]
    for i in range(bins):
        told = f"{distribution.labels[i]}: {percent(float(before[i]))}"
        told += "" if after is None else f" before, {percent(float(after[i]))} after"
        parts.append(_rect(_LEFT + i * slot + 0.5, _base() - high[i], max(slot - 1, 0.5), high[i], "before", told))
    if after is not None:
        parts.append(_outline(after[:bins] / top * _PLOT_HEIGHT, slot))
    if missing:
        last = None if after is None else float(after[bins])
        parts += _missing(_LEFT + bins * slot + right + 8, float(before[bins]), last, top)
    return _svg(title, [*parts, *_ticks(distribution, slot)], _WIDTH, int(_base()) + 28)


def _outline(heights: Floats, slot: float) -> Markup:
    """The outline of the bars after the release."""
    points = [f"M{_LEFT:.1f} {_base():.1f}"]
    for i, high in enumerate(heights):
        points.append(f"V{_base() - high:.1f}H{_LEFT + (i + 1) * slot:.1f}")
    return Markup('<path class="outline" d="{}V{:.1f}"/>').format("".join(points), _base())


def _missing(x: float, before: float, after: float | None, top: float) -> Iterable[Markup]:
    """The bar of the missing values."""
    high = before / top * _PLOT_HEIGHT
    yield _rect(x, _base() - high, 22, high, "before", f"missing: {percent(before)}")
    if after is not None:
        y = _base() - after / top * _PLOT_HEIGHT
        yield Markup('<path class="outline" d="M{:.1f} {:.1f}V{:.1f}h22V{:.1f}"/>').format(x, _base(), y, _base())
    yield _text(x + 11, _base() + 18, "missing", "tick", "middle")


def _ticks(distribution: BeforeAfter, slot: float) -> Iterable[Markup]:
    """Some of the edges' texts below the axis, as many as fit."""
    edges = distribution.edges
    longest = max(len(e) for e in edges)
    fit = max(2, min(_MOST_TICKS, int(slot * (len(edges) - 1) / (longest * 7 + 12))))
    every = -(-(len(edges) - 1) // (fit - 1)) if fit > 1 else len(edges)
    for i in range(0, len(edges), max(every, 1)):
        mark = "≤ " if i == 0 and distribution.open_ends[0] else ""
        yield _text(_LEFT + i * slot, _base() + 18, mark + edges[i], "tick", "middle")


def _base() -> float:
    """Where the horizontal axis lies."""
    return _PLOT_HEIGHT + 20.0


def _ceiling(most: float) -> tuple[float, float]:
    """The top of a vertical axis of shares, and the distance of its grid lines."""
    for step in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25):
        if most <= 4 * step:
            return step * max(1.0, float(np.ceil(most / step - 1e-9))), step
    return 1.0, 0.25


def _grid(top: float, step: float, width: int) -> Markup:
    """Grid lines with their shares at the left, and the axis."""
    parts = []
    for i in range(round(top / step) + 1):
        y = _base() - i * step / top * _PLOT_HEIGHT
        parts.append(
            Markup('<line class="{}" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(
                "grid" if i else "base", _LEFT, width - 4, y, y
            )
        )
        parts.append(_text(_LEFT - 6, y + 4, f"{100 * i * step:.3g}%", "tick", "end"))
    return Markup("").join(parts)


def _rect(x: float, y: float, width: float, height: float, kind: str, told: str) -> Markup:
    return Markup(
        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>'
    ).format(kind, x, y, width, height, told)


def _text(x: float, y: float, words: str, kind: str, anchor: str, full: str = "") -> Markup:
    more = Markup("<title>{}</title>").format(full) if full and full != words else ""
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}{}</text>').format(
        kind, x, y, anchor, words, more
    )


def _svg(title: str, parts: Iterable[Markup], width: int, height: int) -> Markup:
    """The picture; its title describes it for screen readers."""
    head = Markup('<svg role="img" viewBox="0 0 {0} {1}" width="{0}" height="{1}"><title>{2}</title>')
    return head.format(width, height, title) + Markup("").join(parts) + Markup("</svg>")
