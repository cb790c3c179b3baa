"""Ordered domains: numbers, dates and ordinal values, where any range of neighbours is a group's label."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.domain import AxisData, BoxLabel, BoxLabels, Integers, Interval, Meaning, NumberScale
from sfumato.table.line_ends import box_labels, cut_ends, group_ends, interval_label, sample_ends
from sfumato.table.names import MISSING as MISSING
from sfumato.table.names import SUPPRESSED, quoted
from sfumato.table.numbers import after as after
from sfumato.table.numbers import common_step as common_step
from sfumato.table.numbers import day_number as day_number
from sfumato.table.numbers import day_text as day_text
from sfumato.table.numbers import is_day as is_day
from sfumato.table.numbers import number_between
from sfumato.table.numbers import number_of as number_of
from sfumato.table.numbers import number_text as number_text
from sfumato.table.numbers import open_label as open_label
from sfumato.table.numbers import roundest as roundest

_MISSING_POSITION = 2.0

_EVERYTHING = -1
"""The node above all values of a line."""


class _Listed(NamedTuple):
    """The values of a line, their positions, and whether only one row has each; nothing if that is not known."""

    values: list[float]
    position: list[float]
    lone: list[bool]


@dataclass(frozen=True, eq=False)
class OrderedDomain:
    """Sorted values, coded by rank. A range of codes is shown as ``[low, high)``, ordinals as ``[low, high]``.

    ``values`` are numbers, days since 1970-01-01, or ranks; ``step`` is the resolution of the
    numbers, so that the upper end of an interval is open. Where ``missing`` is set, the last code
    is a missing value, and a range that mixes it with others shows nothing. ``lone`` marks
    the values that only one row has: no label determines one of these. A range that would end at one ends at the
    roundest number or day between it and the next value outside (past that one if they are neighbours), and has an
    open end at the ends of the line.

    >>> OrderedDomain.of_numbers([20.0, 25.0, 39.0]).label(0, 3)
    '[20, 40)'
    >>> OrderedDomain.of_words(["low", "medium", "high"]).label(1, 3)
    '[medium, high]'
    >>> ages = OrderedDomain.of_numbers([20.0, 33.0, 48.0, 117.0]).sparing(np.array([2, 1, 2, 1]))
    >>> ages.label(0, 2), ages.label(1, 3), ages.label(2, 4)
    ('[20, 40)', '[30, 49)', '>= 48')
    >>> OrderedDomain.of_numbers([56.0, 57.0, 58.0, 63.0]).sparing(np.array([2, 1, 2, 2])).label(0, 2)
    '[56, 60)'
    """

    form: Literal["number", "date", "word"]
    values: NDArray[np.float64]
    words: tuple[str, ...]
    step: float
    missing: bool = False
    lone: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        return f"OrderedDomain({len(self.values):,} {self.form}s{', or missing' if self.missing else ''})"

    @classmethod
    def of_numbers(cls, values: Sequence[float] | NDArray[np.float64], *, missing: bool = False) -> "OrderedDomain":
        """The domain of sorted distinct numbers."""
        numbers = np.asarray(values, dtype=np.float64) + 0.0  # turns -0.0 into 0.0
        return cls("number", numbers, tuple(number_text(v) for v in numbers), common_step(numbers), missing)

    @classmethod
    def of_days(cls, values: Sequence[float] | NDArray[np.float64], *, missing: bool = False) -> "OrderedDomain":
        """The domain of sorted distinct days since 1970-01-01."""
        days = np.asarray(values, dtype=np.float64)
        return cls("date", days, tuple(day_text(v) for v in days), 1.0, missing)

    @classmethod
    def of_words(cls, words: Sequence[str], *, missing: bool = False) -> "OrderedDomain":
        """The domain of ordinal values in the given order."""
        return cls("word", np.arange(len(words), dtype=np.float64), tuple(words), 1.0, missing)

    def sparing(self, rows: NDArray[np.int64]) -> "OrderedDomain":
        """The same domain, with ranges that do not end at values of a single row, given the rows of each."""
        return replace(self, lone=rows[: len(self.values)] == 1)

    @property
    def derived(self) -> bool:
        """Whether the values were found in the data; the order of words is declared."""
        return self.form != "word"

    @property
    def ordered(self) -> Literal[True]:
        """Any range of neighbours is a label."""
        return True

    @property
    def measured(self) -> bool:
        """Whether the values are numbers or days."""
        return self.form != "word"

    @property
    def hierarchical(self) -> Literal[False]:
        """A line has no tree."""
        return False

    @property
    def shown_or_suppressed(self) -> Literal[False]:
        """A line has ranges between a single value and nothing."""
        return False

    @property
    def missing_apart(self) -> bool:
        """Whether the last code is a missing value."""
        return self.missing

    @property
    def intervals(self) -> None:
        """A line has no intervals of its own."""
        return

    @property
    def children(self) -> tuple[()]:
        """A line has no nodes."""
        return ()

    @property
    def height(self) -> NDArray[np.int32]:
        """A line has no nodes."""
        return np.zeros(0, np.int32)

    @property
    def named_ranges(self) -> dict[str, tuple[int, int]]:
        """A line has no nodes, so no names other than its values."""
        return {}

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number or day of each value; NaN for a missing value and for words that are not numbers."""
        if self.measured:
            return np.append(self.values, [np.nan] * self.missing)
        found = (number_of(word) for word in self.leaves)
        return np.array([np.nan if number is None else number for number in found])

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.words) + self.missing

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The values as text, in code order."""
        return (*self.words, MISSING) if self.missing else self.words

    @cached_property
    def position(self) -> NDArray[np.float64]:
        """Where each code lies between the least value (0) and the greatest (1); missing values lie apart.

        No two codes share a position, even where floating point would round them to the same one.
        """
        if len(self.values) < 2:
            place = np.zeros(len(self.values))
        else:
            huge = max(abs(self.values[0]), abs(self.values[-1])) > sys.float_info.max / 2
            values = self.values / 2 if huge else self.values  # or else the difference of the two might overflow
            place = (values - values[0]) / (values[-1] - values[0])
            if (np.diff(place) <= 0).any():
                for i in range(1, len(place)):
                    place[i] = max(place[i], np.nextafter(place[i - 1], np.inf))
                place[-1] = 1.0
                for i in range(len(place) - 2, 0, -1):
                    place[i] = min(place[i], np.nextafter(place[i + 1], -np.inf))
        return np.append(place, _MISSING_POSITION) if self.missing else place

    def share(self, lo: int, hi: int) -> float:
        """The share of the line that the codes ``[lo, hi)`` hide: their normalized range, 0 for one value.

        If only one row has an end of the line, its distance would reveal the value: the range then ends at its
        neighbour, and an interval with an open end hides the share of the values that it contains.
        """
        if self.is_open(lo, hi):
            return (hi - lo) / self.size
        return min((self._listed.position[hi - 1] - self._listed.position[lo]) / self.whole, 1.0)

    @cached_property
    def _listed(self) -> "_Listed":
        """What labels are made of, as lists: thousands of labels ask for one value each, where arrays are slow."""
        return _Listed(self.values.tolist(), self.position.tolist(), [] if self.lone is None else self.lone.tolist())

    @cached_property
    def whole(self) -> float:
        """The range of the line, without an end that only one row has."""
        first, last = int(self.is_lone(0)), len(self.values) - 1 - int(self.is_lone(-1))
        return float(self.position[last] - self.position[first]) if 0 <= first < last else 1.0

    def is_lone(self, code: int) -> bool:
        """Whether only one row has a value, as far as that is known."""
        return bool(self._listed.lone) and self._listed.lone[code]

    def is_open(self, lo: int, hi: int) -> bool:
        """Whether the codes ``[lo, hi)`` are shown with an open end."""
        last = hi == len(self.values)
        return hi - lo > 1 and ((lo == 0 and self.is_lone(0)) or (last and self.is_lone(-1)))

    def bounds(self, lo: int, hi: int) -> tuple[float, float]:
        """The half-open interval ``[low, high)`` of numbers or days that the codes ``[lo, hi)`` stand for."""
        values = self._listed.values
        last = values[hi - 1]
        high = after(last, self.step)
        if not self.step and hi < len(values):
            high = number_between(last, values[hi])
        return values[lo], high

    def label(self, lo: int, hi: int) -> str:
        """How a group shows the codes ``[lo, hi)``."""
        if hi - lo == 1:
            return self.leaves[lo]
        if hi > len(self.words):
            return SUPPRESSED
        if self.form == "word":
            return f"[{quoted(self.words[lo])}, {quoted(self.words[hi - 1])}]"
        return interval_label(group_ends(self, lo, hi))

    def meaning(self, lo: int, hi: int) -> list[str | float | None]:
        """What the label of ``[lo, hi)`` means: ``[low, high]`` of the half-open interval, or the values."""
        return group_ends(self, lo, hi) if self._is_interval(hi) else list(self.leaves[lo:hi])

    def _is_interval(self, hi: int) -> bool:
        """Whether codes up to ``hi`` are numbers or days, with no missing value among them."""
        return self.measured and hi <= len(self.words)

    def axis(self, *, sets: bool) -> AxisData:
        """The position of each code."""
        return AxisData(size=self.size, position=self.position)

    def levels(self) -> list[Integers]:
        """The values, then everything as one node."""
        values = np.arange(self.size, dtype=np.int64)
        return [values, np.full(self.size, _EVERYTHING)] if self.size > 1 else [values]

    def node_label(self, node: int) -> BoxLabel:
        """A value, or nothing at all."""
        return BoxLabel(SUPPRESSED, None, 1.0) if node == _EVERYTHING else self.value(node)

    def value(self, code: int) -> BoxLabel:
        """How a single value is shown."""
        return BoxLabel(self.leaves[code], self.meaning(code, code + 1), 0.0)

    def box(self, lo: int, hi: int, node: int, mask: int) -> BoxLabel:
        """How the codes from ``lo`` to ``hi`` are shown."""
        if lo < hi and self._is_interval(hi + 1):
            meaning = group_ends(self, lo, hi + 1)
            label = interval_label(meaning)
        else:
            label, meaning = self.label(lo, hi + 1), self.meaning(lo, hi + 1)
        return BoxLabel(label, None if label == SUPPRESSED else meaning, self.share(lo, hi + 1))

    def boxes(self, boxes: Integers) -> BoxLabels:
        """How many ranges of codes are shown."""
        return box_labels(self, *boxes[:2])

    def box_codes(self, lo: int, hi: int, node: int, mask: int) -> tuple[int, ...]:
        """The codes from ``lo`` to ``hi``; all of them if a range mixes a missing value with others."""
        mixed = hi >= len(self.words) and lo < hi
        return tuple(range(self.size) if mixed else range(lo, hi + 1))

    def cut_label(self, lo: int, hi: int, node: int) -> BoxLabel:
        """How one of several intervals that cover the line without gaps is shown."""
        if not self._is_interval(hi):
            return self.box(lo, hi - 1, -1, 0)
        ends = cut_ends(self, lo, hi)
        label = interval_label(ends)
        return BoxLabel(label, None if label == SUPPRESSED else ends, self.share(lo, hi))

    def range_label(self, lo: int, hi: int) -> tuple[str, Meaning]:
        """How the codes ``[lo, hi)`` of a sample are shown.

        An interval ends at a round number between two neighbouring values, and is open if it contains the least or the
        greatest value, so that nobody's own value can be read from it.

        >>> ages = OrderedDomain.of_numbers([20.0, 25.0, 39.0, 44.0])
        >>> ages.range_label(0, 2), ages.range_label(1, 2)
        (('< 30', [None, 30.0]), ('[21, 30)', [21.0, 30.0]))
        """
        if hi - lo == self.size or (hi > len(self.words) and hi - lo > 1):
            return SUPPRESSED, None
        if not self._is_interval(hi):
            return self.label(lo, hi), self.meaning(lo, hi)
        ends = sample_ends(self, lo, hi)
        return open_label(None, None) if ends == [None, None] else interval_label(ends), ends

    def codes_between(self, low: float, high: float) -> Integers:
        """The codes of the numbers or days in ``[low, high)``."""
        if self.measured:
            return np.arange(*np.searchsorted(self.values, (low, high)))
        return np.flatnonzero((self.numbers >= low) & (self.numbers < high))

    def codes_of_values(self, values: Sequence[str]) -> list[int]:
        """The code of each value; -1 if it has none."""
        code = {leaf: i for i, leaf in enumerate(self.leaves)}
        return [code.get(value, -1) for value in values]

    def span(self) -> Interval:
        """From the least value to just above the greatest."""
        return self.bounds(0, len(self.values))

    def intervals_of(self, names: Sequence[str]) -> list[Interval]:
        """The interval of the first of these values; the whole line if it is not in the domain."""
        (code,) = self.codes_of_values(names[:1])
        return [self.span() if code < 0 else self.bounds(code, code + 1)]

    def scale(self) -> NumberScale | None:
        """The numbers or days, if there are any."""
        if not self.measured or not len(self.values):
            return None
        return NumberScale(self.values, self.step, self.form == "date")

    def declared(self) -> list[str | float] | None:
        """The words; numbers and days were found in the data, so they are not public."""
        return None if self.measured else list(self.leaves)

    def public_tree(self) -> None:
        """A line has no tree."""
        return

    def typed_values(self) -> pl.Series | None:
        """Days as dates, numbers as numbers, whole ones as integers; None for words."""
        if not self.measured:
            return None
        numbers = pl.Series([*self.values, None][: self.size], dtype=pl.Float64)
        if self.form == "date":
            return numbers.cast(pl.Int32).cast(pl.Date)
        return numbers.cast(pl.Int64) if self.step == 1.0 else numbers

    def with_missing(self) -> "OrderedDomain":
        """The same line with the category ``(missing)`` after it."""
        if self.measured:
            return replace(self, missing=True)
        return OrderedDomain.of_words([w for w in self.words if w != MISSING], missing=True)

    def observed(self, kept: NDArray[np.bool_]) -> "OrderedDomain":
        """The line of the kept values; words stay, since their order was declared."""
        missing = bool(self.missing and kept[-1])
        if not self.measured:
            return replace(self, missing=missing)
        there = self.values[np.flatnonzero(kept[: len(self.words)])]
        return (OrderedDomain.of_days if self.form == "date" else OrderedDomain.of_numbers)(there, missing=missing)
