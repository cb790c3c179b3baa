"""Labels that are ranges of numbers or dates, cut into pieces for which a condition is true or false as a whole."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.analyst.condition import PossibleValues
from sfumato.analyst.shares import MOST_CELLS, Bools, even_shares, likely_distribution, mixed, narrower
from sfumato.release.label_meaning import Interval
from sfumato.table.distortion import Floats
from sfumato.table.ordered_domain import MISSING, after, common_step, day_text, number_text

_MOST_GRID = 100_000


class _Parts(NamedTuple):
    """The intervals of some labels: those of label ``label[i]`` are ``low[k], high[k]`` from k = ``first[i]`` on."""

    label: NDArray[np.int64]
    first: NDArray[np.int64]
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Ranges:
    """Labels with the half-open ranges where their rows are assumed to be (``spans``) and where they certainly are
    (``stated``: open ends are infinite, and a label that hides everything has none); ``rows`` people show each label.

    Values are assumed to be multiples of the power of ten that all ends are multiples of; that they are is certain only
    for days, or if a label is a single value.

    >>> both = {"[20, 24)": [(20.0, 24.0)], "[24, 30)": [(24.0, 30.0)]}
    >>> ages = Ranges(both, both, np.array([8.0, 2.0]), days=False)
    >>> values, weights, possible = ages.spread(ages.cuts([(">=", 22.0)]))
    >>> values.texts, weights.round(3).tolist()
    (('20', '22', '24'), [[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])
    """

    spans: Mapping[str, Sequence[Interval]]
    stated: Mapping[str, Sequence[Interval]]
    rows: Floats
    days: bool

    @cached_property
    def known(self) -> Floats:
        """Where the ranges begin and end; if fewer than two ends are stated, one step around these, or around 0."""
        found = {x for span in self.spans.values() for interval in span for x in interval}
        if len(found) < 2:
            stated = {x for span in self.stated.values() for interval in span for x in interval if np.isfinite(x)}
            found |= {x + d for x in stated or {0.0} for d in (-1.0, 0.0, 1.0)}
        return np.array(sorted(found))

    @cached_property
    def step(self) -> float:
        """What values are assumed to be multiples of; 0 if there is no such number."""
        ends = [x for span in self.stated.values() for interval in span for x in interval if np.isfinite(x)]
        return 1.0 if self.days else common_step(np.array(ends)) if ends else common_step(self.known)

    @cached_property
    def certain_step(self) -> bool:
        """Whether values are certainly multiples of the step: the range of a single value ends one step after it."""
        if self.days or not self.step:
            return self.days
        single = ((label, span[0]) for label, span in self.spans.items() if len(span) == 1)
        return any(label == number_text(low) and high == after(low, self.step) for label, (low, high) in single)

    def grid(self) -> list[float]:
        """Every step if ends are close together, otherwise the ends of the ranges."""
        known = self.known
        steps = (known[-1] - known[0]) / self.step if self.step == 1 else np.inf
        near = steps <= _MOST_GRID and steps * len(self.spans) <= MOST_CELLS
        return list(np.arange(known[0], known[-1])) if near else known.tolist()

    def cuts(self, asked: Iterable[tuple[str, float]]) -> list[float]:
        """Where comparisons with some numbers change from true to false."""
        found = set()
        for op, x in asked:
            if op in (">=", "<", "=", "!="):
                found.add(x)
            if op in (">", "<=", "=", "!="):
                found.add(self._next(x))
        return sorted(found)

    def _next(self, x: float) -> float:
        following = float(np.nextafter(x, np.inf))
        on = self.certain_step and self._multiple(np.array(following)) > self._multiple(np.array(x))
        return after(x, self.step) if on else following

    def measure(self, left: Floats, right: Floats) -> Floats:
        """How many multiples of the step lie in ``[left, right)``, or its width; 0 if it is not finite."""
        finite = np.isfinite(left) & np.isfinite(right)
        a, b = np.where(finite, left, 0.0), np.where(finite, right, 0.0)
        if self.step:
            a, b = self._multiple(a), self._multiple(b)
        return np.asarray(np.maximum(b - a, 0.0), np.float64)

    def _multiple(self, x: Floats) -> Floats:
        """The number of the first multiple of the step that is not below x."""
        near = np.round(x / self.step)
        return np.asarray(near + (np.round(near * self.step, round(-math.log10(self.step))) < x), np.float64)

    @cached_property
    def density(self) -> Floats:
        """How likely people are in the pieces between the ends of ranges, then how likely a value is missing."""
        covers = self._covers(self.known[:-1], self.known[1:], self.assumed)
        if covers.size > MOST_CELLS:
            return self._weighed(self.known[:-1], self.known[1:])
        return likely_distribution(covers, self._weighed(self.known[:-1], self.known[1:]), self.rows)

    @cached_property
    def narrower(self) -> Floats | None:
        """Which labels cover which others (`shares.narrower`)."""
        return narrower(self._covers(self.known[:-1], self.known[1:], self.certain))

    def _weighed(self, left: Floats, right: Floats) -> Floats:
        weight = self.measure(left, right)
        return np.append(np.where(weight > 0, weight, 1e-9), float(MISSING in self.spans))

    def _covers(self, left: Floats, right: Floats, parts: "_Parts") -> Bools:
        """Which pieces, and at last the missing value, each label covers: pieces x labels."""
        met = np.minimum(right[:, None], parts.high) > np.maximum(left[:, None], parts.low)
        covers = np.zeros((len(left) + 1, len(self.spans)), np.bool_)
        if len(parts.first):
            covers[:-1, parts.label] = np.logical_or.reduceat(met, parts.first, axis=1)
        covers[-1] = [label == MISSING or not self.stated[label] for label in self.spans]
        return covers

    @cached_property
    def assumed(self) -> "_Parts":
        """Where people are assumed to be."""
        return self._parts(self.spans)

    @cached_property
    def certain(self) -> "_Parts":
        """Where people certainly are."""
        return self._parts(self.stated)

    def _parts(self, spans: Mapping[str, Sequence[Interval]]) -> "_Parts":
        labels: list[int] = []
        first: list[int] = []
        ends: list[Interval] = []
        for j, (label, span) in enumerate(spans.items()):
            if label == MISSING:
                continue
            labels.append(j)
            first.append(len(ends))
            ends += list(span or self.stated[label] or [(-np.inf, np.inf)])
        low, high = np.array(ends, np.float64).reshape(-1, 2).T
        return _Parts(np.array(labels, np.int64), np.array(first, np.int64), low, high)

    def spread(self, cuts: Iterable[float]) -> tuple[PossibleValues, Floats, Bools]:
        """The pieces between cuts, each identified by its start; the share of each label in each piece, and whether
        a row with that label can be there."""
        edges = np.unique([*self.known, *cuts])
        left, right = np.append(-np.inf, edges), np.append(edges, np.inf)
        covers, possible = self._covers(left, right, self.assumed), self._covers(left, right, self.certain)
        measure = self.measure(left, right)
        inside = (left >= self.known[0]) & (right <= self.known[-1])
        covers[:-1] &= inside[:, None]
        if self.certain_step:
            possible[:-1] &= ((measure > 0) | ~np.isfinite(left) | ~np.isfinite(right))[:, None]
        even = even_shares(covers, np.append(measure * inside, 0.0))
        weights = mixed(even, even_shares(covers, self._likely(left, right, inside)))
        kept = np.asarray(possible.any(axis=1))
        return self._values(left, right, kept), weights[kept], possible[kept]

    def _likely(self, left: Floats, right: Floats, inside: Bools) -> Floats:
        """How likely people are in each piece, and how likely a value is missing."""
        known = self.known
        piece = np.clip(np.searchsorted(known, left, side="right") - 1, 0, len(known) - 2)
        whole = self.measure(known[piece], known[piece + 1])
        part = np.divide(self.measure(left, right), whole, out=np.zeros(len(left)), where=whole > 0)
        part = np.where((whole == 0) & (left == known[piece]), 1.0, part) * inside
        return np.append(self.density[piece] * part, self.density[-1])

    def _values(self, left: Floats, right: Floats, kept: Bools) -> PossibleValues:
        text = day_text if self.days else number_text
        names = [text(float(x)) for x in left[1:]]
        texts = [f"< {text(float(right[0]))}", *names[:-1], f">= {names[-1]}", MISSING]
        listed = np.array([False, *[True] * (len(left) - 2), False, MISSING in self.spans])
        numbers = np.append(left, np.nan)
        shown = tuple(t for t, k in zip(texts, kept, strict=True) if k)
        return PossibleValues(shown, numbers[kept], days=self.days, listed=listed[kept])
