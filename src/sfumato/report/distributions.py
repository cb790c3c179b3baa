"""Distributions before and after: what the table contains, and what an analyst would conclude from the labels.

The analyst spreads each label evenly over what it covers: the values below a node, or the interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Integers, totals
from sfumato.release.label_meaning import Interval, LabelMeaning, parse_label
from sfumato.release.labels import Meanings
from sfumato.report.scale import Scale, date_scale, number_scale
from sfumato.table.checks import is_opaque
from sfumato.table.domain import Meaning
from sfumato.table.encode import Column
from sfumato.table.ordered_domain import MISSING

Floats = NDArray[np.float64]
Labels = Mapping[str, float]

_MOST_BARS = 12
_MOST_ORDERED = 16
_LARGEST = 1e300


@dataclass(frozen=True)
class BeforeAfter:
    """The share of the rows in each bin or category, before and after; ``after`` is None if nothing changed.

    A histogram has ``edges``, one more than bins, and may have a last category for missing values; if its ends are
    open, the first and last bins include everything beyond. ``rest``: the last category stands for all others.
    ``apart`` is the share of rows that are misplaced, over all bins or values: the total variation distance.
    """

    labels: tuple[str, ...]
    before: Floats
    after: Floats | None
    apart: float = 0.0
    edges: tuple[str, ...] = ()
    open_ends: tuple[bool, bool] = (False, False)
    rest: bool = False


class _Pieces(NamedTuple):
    """Half-open intervals with the rows that lie in each, and how many rows are missing."""

    low: Floats
    high: Floats
    weight: Floats
    missing: float


def before_after(
    column: Column, nodes: Mapping[str, Meaning], labels: Labels, weights: Integers | None = None
) -> BeforeAfter:
    """A coded column against the labels of the release, each with its number of rows; ``nodes`` explains them."""
    counts = totals(Counted(column.codes, column.size), weights).astype(np.float64)
    covered = _Covered(column, nodes)
    domain = column.domain
    scale = domain.scale()
    if scale is not None:
        return _histogram(scale.values, scale.step, scale.dated, counts, covered.pieces(labels))
    ordered = domain.ordered or domain.measured
    return _categories(domain.leaves, counts, covered.spread(labels), ordered=ordered)


class _Covered:
    """What the labels of one attribute cover, according to the manifest or, where it is silent, the taxonomy."""

    def __init__(self, column: Column, nodes: Mapping[str, Meaning]) -> None:
        self.domain = column.domain
        self.nodes = nodes
        self.meanings = Meanings(column.domain)

    def _told(self, label: str) -> LabelMeaning:
        """A label that the manifest does not explain is a value."""
        return parse_label(label, self.nodes[label]) if label in self.nodes else LabelMeaning(None, (label,))

    def spread(self, labels: Labels) -> Floats:
        """Rows for each value of the domain, every label's rows divided evenly over what it covers, or over all."""
        found = np.zeros(self.domain.size)
        for label, rows in labels.items():
            codes = self.meanings.codes(self._told(label), partly=True)
            found[codes if len(codes) else slice(None)] += rows / (len(codes) or self.domain.size)
        return found

    def pieces(self, labels: Labels) -> _Pieces:
        """The intervals of numbers or days that the labels stand for; unknown ones are spread over the whole range."""
        known = [(self._told(label), rows) for label, rows in labels.items() if label != MISSING]
        found = [(*self._within(t.interval), rows) for t, rows in known if t.interval]
        found += [piece for t, rows in known if not t.interval for piece in self._parts(t.names, rows)]
        low, high, weight = np.array(found, np.float64).reshape(-1, 3).T
        return _Pieces(low, high, weight, labels.get(MISSING, 0))

    def _within(self, interval: Interval) -> Interval:
        """An open interval reaches as far as there are values."""
        if np.isfinite(interval).all():
            return interval
        least, most = self.domain.span()
        return max(interval[0], least), min(interval[1], most)

    def _parts(self, names: Sequence[str], rows: float) -> list[tuple[float, float, float]]:
        """A value itself, or the intervals of a set of nodes, by their widths; else the whole range of values."""
        found = self.domain.intervals_of(names)
        width = sum(high - low for low, high in found)
        return [(a, b, rows * ((b - a) / width if width else 1 / len(found))) for a, b in found]


def _histogram(values: Floats, step: float, dates: bool, counts: Floats, after: _Pieces) -> BeforeAfter:
    """Numbers or days in bins; the codes after the values count the missing ones."""
    rows, known = counts.sum(), counts[: len(values)]
    reach = float(after.low.min(initial=np.inf)), float(after.high.max(initial=-np.inf))
    scale = date_scale(values) if dates else number_scale(values, known, step, *reach)
    first = np.append(scale.count(values, known), counts[len(values) :].sum()) / rows
    second = np.append(_spread(scale, after), after.missing) / max(after.weight.sum() + after.missing, 1)
    labels = (*(f"[{a}, {b})" for a, b in zip(scale.texts, scale.texts[1:], strict=False)), MISSING)
    keep = slice(None) if first[-1] or second[-1] else slice(-1)
    apart = _apart(first, second)
    shown = second[keep] if apart else None
    return BeforeAfter(labels[keep], first[keep], shown, apart, scale.texts, scale.open_ends)


def _apart(before: Floats, after: Floats) -> float:
    """Half the sum of the differences; 0 if only rounding differs."""
    distance = float(np.abs(before - after).sum() / 2)
    return distance if distance > 1e-9 else 0.0


def _spread(scale: Scale, pieces: _Pieces) -> Floats:
    """The rows that fall into each bin if each interval's rows are spread evenly over it."""
    below = np.array([_below(edge, pieces) for edge in scale.edges])
    below[0], below[-1] = 0.0, pieces.weight.sum()
    return np.diff(below)


def _below(edge: float, pieces: _Pieces) -> float:
    """How many rows lie below a number."""
    width = pieces.high - pieces.low
    inside = np.divide(edge - pieces.low, width, out=(pieces.low < edge).astype(np.float64), where=width > 0)
    return float((np.clip(inside, 0.0, 1.0) * pieces.weight).sum())


def _categories(leaves: Sequence[str], counts: Floats, spread: Floats, *, ordered: bool) -> BeforeAfter:
    """The most frequent categories, and the others together; ordinals keep their order where they are few."""
    before, after = counts / max(counts.sum(), 1), spread / max(spread.sum(), 1)
    apart = _apart(before, after)
    if ordered and len(leaves) <= _MOST_ORDERED:
        return BeforeAfter(tuple(leaves), before, after if apart else None, apart)
    order = np.argsort(-before, kind="stable")
    top = order if len(order) <= _MOST_BARS + 1 else order[:_MOST_BARS]
    labels = [leaves[i] for i in top]
    first, second = before[top], after[top]
    if rest := len(order) - len(top):
        labels.append(f"{rest:,} others")
        first, second = np.append(first, 1 - first.sum()), np.append(second, 1 - second.sum())
    shown = np.maximum(second, 0) if apart else None
    return BeforeAfter(tuple(labels), np.maximum(first, 0), shown, apart, rest=rest > 0)


def plain(tally: pl.DataFrame) -> BeforeAfter | None:
    """A column that is published unchanged, by its values and how many rows have each (`Engine.tally`).

    None for a type that has no distribution to draw.
    """
    values, rows = tally["value"], tally["rows"]
    if is_opaque(values.dtype):
        return None
    if values.dtype == pl.Datetime:
        values = values.cast(pl.Date)
    if values.dtype.is_numeric() or values.dtype == pl.Date:
        days = values.dtype == pl.Date
        numbers = (values.to_physical() if days else values).cast(pl.Float64).fill_null(np.nan).to_numpy()
        known = np.flatnonzero(np.isfinite(numbers))
        order = known[np.argsort(numbers[known])]
        if len(order) and max(-numbers[order[0]], numbers[order[-1]]) < _LARGEST:
            counts = rows.to_numpy().astype(np.float64)
            return _as_it_is(numbers[order], counts[order], counts.sum() - counts[order].sum(), dates=days)
    words = values.cast(pl.String, strict=False).fill_null(MISSING)
    table = pl.DataFrame({"word": words, "rows": rows}).sort("rows", "word", descending=[True, False])
    counts = table["rows"].to_numpy().astype(np.float64)
    return _categories(table["word"].to_list(), counts, counts, ordered=False)


def _as_it_is(values: Floats, rows: Floats, missing: float, *, dates: bool) -> BeforeAfter:
    step = 0.0 if (values % 1).any() else 1.0
    nothing = _Pieces(np.empty(0), np.empty(0), np.empty(0), 0.0)
    return replace(_histogram(values, step, dates, np.append(rows, missing), nothing), after=None, apart=0.0)
