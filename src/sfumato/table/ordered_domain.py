"""Ordered domains: numbers, dates and ordinal values, where any range of neighbours is a group's label."""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.table.taxonomy import SUPPRESSED, quoted

MISSING = "(missing)"
"""The label of a missing value where missing values are a category of their own."""

_EPOCH = dt.date(1970, 1, 1)
_LAST_DAY = (dt.date.max - _EPOCH).days
_DAY = re.compile(r"\d{4,5}-\d\d-\d\d", re.ASCII)
_MOST_DECIMALS = 9
_MOST_PLACES = 340
_MISSING_POSITION = 2.0


@dataclass(frozen=True, eq=False)
class OrderedDomain:
    """Sorted values, coded by rank. A range of codes is shown as ``[low, high)``, ordinals as ``[low, high]``.

    ``values`` are numbers, days since 1970-01-01, or ranks; ``step`` is the resolution of the
    numbers, so that the upper end of an interval is open. Where ``missing`` is set, the last code
    stands for a missing value, and a range that mixes it with others shows nothing. ``lone`` says which
    values one row alone has: no label determines one of these. A range that would end at one ends at the roundest
    number or day between it and the next value outside (past that one where they are neighbours), and has an open end
    where the line ends.

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

    @classmethod
    def of_numbers(cls, values: Sequence[float] | NDArray[np.float64], *, missing: bool = False) -> "OrderedDomain":
        """The domain of sorted distinct numbers."""
        numbers = np.asarray(values, dtype=np.float64) + 0.0  # no negative zero
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
        """The same domain, whose ranges do not end at values that one row alone has, given how many have each."""
        return replace(self, lone=rows[: len(self.values)] == 1)

    @property
    def derived(self) -> bool:
        """Whether the values are those that occur in the data; the order of words was declared."""
        return self.form != "word"

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.words) + self.missing

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values as text, in code order."""
        return (*self.words, MISSING) if self.missing else self.words

    @cached_property
    def position(self) -> NDArray[np.float64]:
        """Where each code lies between the least value (0) and the greatest (1); missing lies apart.

        No two codes lie at one place, even where floating point would put them there.
        """
        if len(self.values) < 2:
            place = np.zeros(len(self.values))
        else:
            half = self.values / 2  # the range of two finite numbers may not be finite
            place = (half - half[0]) / (half[-1] - half[0])
            if (np.diff(place) <= 0).any():
                for i in range(1, len(place)):
                    place[i] = max(place[i], np.nextafter(place[i - 1], np.inf))
                place[-1] = 1.0
                for i in range(len(place) - 2, 0, -1):
                    place[i] = min(place[i], np.nextafter(place[i + 1], -np.inf))
        return np.append(place, _MISSING_POSITION) if self.missing else place

    def share(self, lo: int, hi: int) -> float:
        """The share of the line that the codes ``[lo, hi)`` hide: their normalized range, 0 for one value.

        Where one row alone has an end of the line, its distance would tell the value: the range then ends at its
        neighbour, and an interval with an open end hides the share of the values that it holds.
        """
        if self.is_open(lo, hi):
            return (hi - lo) / self.size
        first, last = int(self._is_lone(0)), len(self.values) - 1 - int(self._is_lone(-1))
        whole = float(self.position[last] - self.position[first]) if 0 <= first < last else 1.0
        return min(float(self.position[hi - 1] - self.position[lo]) / whole, 1.0)

    def _is_lone(self, code: int) -> bool:
        return self.lone is not None and len(self.lone) > 0 and bool(self.lone[code])

    def is_open(self, lo: int, hi: int) -> bool:
        """Whether the codes ``[lo, hi)`` are shown with an open end."""
        last = hi == len(self.values)
        return hi - lo > 1 and ((lo == 0 and self._is_lone(0)) or (last and self._is_lone(-1)))

    def bounds(self, lo: int, hi: int) -> tuple[float, float]:
        """The half-open interval ``[low, high)`` of numbers or days that the codes ``[lo, hi)`` stand for."""
        last = float(self.values[hi - 1])
        high = after(last, self.step)
        if not self.step and hi < len(self.values):
            high = _between(last, float(self.values[hi]))
        return float(self.values[lo]), high

    def reach(self, lo: int, hi: int) -> tuple[float, float]:
        """The half-open interval from the first of the codes ``[lo, hi)`` up to the next value beyond them.

        >>> OrderedDomain.of_numbers([20.0, 25.0, 39.0]).reach(0, 2)
        (20.0, 39.0)
        """
        low, high = self.bounds(lo, hi)
        return low, float(self.values[hi]) if hi < len(self.values) else high

    def boundary(self, code: int) -> float:
        """Where the values from a code on begin: the roundest number or day above the value before, up to its own.

        Among equally round ones it is the least, so that it does not tell the value itself.

        >>> far, near = OrderedDomain.of_numbers([20.0, 25.0, 43217.0]), OrderedDomain.of_numbers([38.0, 39.0])
        >>> far.boundary(2), near.boundary(1)
        (10000.0, 39.0)
        """
        below, value = float(self.values[code - 1]), float(self.values[code])
        return _first_day(below, value) if self.form == "date" else roundest(below, value)

    def _before(self, lo: int, *, narrow: bool) -> float | None:
        """Where a range begins that must not tell its first value: above the value before, or the one before that.

        The end is not the value itself, unless that is round: then a value further up would give the same end. That
        is so unless the range is ``narrow``: of two neighbours each is known to occur if no third fits in.
        """
        for code in (lo, lo - 1):
            if code <= 0:
                return None
            if (end := self.boundary(code)) != self.values[lo] or (self._is_round(end) and not narrow):
                break
        return end

    def _beyond(self, hi: int, *, narrow: bool) -> float | None:
        """Where a range ends that must not tell its last value: up to the next value, or the one after that."""
        if hi >= len(self.values):
            return None
        last, following = float(self.values[hi - 1]), float(self.values[hi])
        told = after(last, self.step)
        if (end := self.boundary(hi)) != told or (self._is_round(end) and not narrow):
            return end
        latest = following if self.form == "date" else roundest(last, following, greatest=True)
        if latest != told:
            return latest
        return self.boundary(hi + 1) if hi + 1 < len(self.values) else None

    def _is_round(self, end: float) -> bool:
        """Whether an end is rounder than single values are: a multiple of ten steps, the first day of a month."""
        if self.form == "date":
            return day_text(end).endswith("-01")
        return self.step > 0 and Decimal(repr(end)) % (10 * Decimal(repr(self.step))) == 0

    def interval(self, lo: int, hi: int) -> str:
        """How one of several intervals that cover the line without a gap is shown."""
        if hi > len(self.words) or self.form == "word":
            return self.label(lo, hi)
        return self._interval(self.interval_meaning(lo, hi))

    def interval_meaning(self, lo: int, hi: int) -> list[Any]:
        """What such an interval means."""
        if hi > len(self.words) or self.form == "word":
            return self.meaning(lo, hi)
        low, high = self.reach(lo, hi)
        last = len(self.values)
        return self._ends(
            low if not self._is_lone(lo) else self.boundary(lo) if lo > 0 else None,
            high if not self._is_lone(min(hi, last - 1)) else self.boundary(hi) if hi < last else None,
        )

    def label(self, lo: int, hi: int) -> str:
        """How a group shows the codes ``[lo, hi)``."""
        if hi - lo == 1:
            return self.leaves[lo]
        if hi > len(self.words):
            return SUPPRESSED
        if self.form == "word":
            return f"[{quoted(self.words[lo])}, {quoted(self.words[hi - 1])}]"
        return self._interval(self.meaning(lo, hi))

    def meaning(self, lo: int, hi: int) -> list[Any]:
        """What the label of ``[lo, hi)`` means: ``[low, high]`` of the half-open interval, or the values."""
        if self.form == "word" or hi > len(self.words):
            return list(self.leaves[lo:hi])
        low: float | None
        high: float | None
        low, high = self.bounds(lo, hi)
        if hi - lo == 1:
            return self._ends(low, high)
        narrow = hi - lo == 2 and after(float(self.values[lo]), self.step) == self.values[lo + 1]
        if self._is_lone(lo):
            low = self._before(lo, narrow=narrow)
        if self._is_lone(hi - 1):
            high = self._beyond(hi, narrow=narrow)
        return self._ends(low, high)

    def _ends(self, *ends: float | None) -> list[Any]:
        """The ends of an interval as the manifest tells them."""
        return [None if end is None else day_text(end) if self.form == "date" else end for end in ends]

    def _interval(self, ends: list[Any]) -> str:
        """How an interval with these ends is shown."""
        text = str if self.form == "date" else number_text
        low, high = (None if end is None else text(end) for end in ends)
        if low is None and high is None:
            return SUPPRESSED
        return f"[{low}, {high})" if low is not None and high is not None else open_label(low, high)


def open_label(low: str | None, high: str | None) -> str:
    """The label of an interval that is open to one side; one that is open to both is all that is known.

    >>> open_label("65", None), open_label(None, "20"), open_label(None, None)
    ('>= 65', '< 20', '(known)')
    """
    return f">= {low}" if low is not None else f"< {high}" if high is not None else "(known)"


def number_text(value: float) -> str:
    """A number as a person writes it.

    >>> number_text(40.0), number_text(2.5), number_text(1e300)
    ('40', '2.5', '1e+300')
    """
    if abs(value) >= 1e16:
        return repr(float(value))
    return str(np.format_float_positional(value + 0.0, trim="-"))


def day_text(days: float) -> str:
    if days > _LAST_DAY:
        return "10000-01-01"
    return (_EPOCH + dt.timedelta(days=int(days))).isoformat()


def is_day(value: object) -> bool:
    """Whether a value is text in the shape of a date."""
    return isinstance(value, str) and _DAY.fullmatch(value) is not None


def number_of(text: str) -> float | None:
    """The number that a text is; None where it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def day_number(text: str) -> float | None:
    """A date as its day since 1970-01-01, also the one after the last; None where the text is none.

    >>> day_number("1970-01-03"), day_number("10000-01-01"), day_number("2001-02-30")
    (2.0, 2932897.0, None)
    """
    if not is_day(text):
        return None
    try:
        if len(text) == len("2000-01-01"):
            return float(dt.date.fromisoformat(text).toordinal() - _EPOCH.toordinal())
        return float(np.datetime64(text, "D").astype(np.int64))  # years beyond the calendar
    except ValueError:
        return None


def common_step(values: NDArray[np.float64]) -> float:
    """The power of ten that all values are multiples of, or 0 where there is none down to 1e-9."""
    for decimals in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(values, decimals), values):
            return float(10.0**-decimals)
    return 0.0


def after(value: float, step: float) -> float:
    """The next multiple of the step, or without a step a short number just above the value.

    >>> after(0.2, 0.1), after(39.0, 1.0)
    (0.3, 40.0)
    """
    if not step:
        return _between(value, np.inf)
    high = float(Decimal(repr(value)) + Decimal(repr(step)))
    return high if high > value else float(np.nextafter(value, np.inf))


def roundest(below: float, limit: float, greatest: bool = False) -> float:
    """The least number of the fewest digits above ``below``, up to ``limit``; or the greatest of these.

    >>> roundest(25.0, 39.0), roundest(43217.0, 43305.0), roundest(-7.5, 3.0), roundest(0.31, 0.32)
    (30.0, 43300.0, 0.0, 0.32)
    >>> roundest(25.0, 48.0, greatest=True), roundest(56.0, 58.0, greatest=True)
    (40.0, 58.0)
    """
    if below < 0 <= limit:
        return 0.0
    exact, wide = Decimal(repr(limit if greatest else below)), Context(prec=400)
    for exponent in range(Decimal(repr(limit - below)).adjusted() + 1, -_MOST_PLACES, -1):
        unit = Decimal(1).scaleb(exponent)
        floor = wide.divide(exact, unit).to_integral_value(rounding=ROUND_FLOOR)
        found = float(wide.multiply(wide.add(floor, Decimal(0 if greatest else 1)), unit))
        if below < found <= limit:
            return found
    return limit


def _first_day(below: float, limit: float) -> float:
    """The first day of a year, else of a month, after one day and up to another; else the next day."""
    if limit > _LAST_DAY:
        return limit
    day = _EPOCH + dt.timedelta(days=int(limit))
    for first in (day.replace(month=1, day=1), day.replace(day=1)):
        if (found := float((first - _EPOCH).days)) > below:
            return found
    return below + 1


def _between(value: float, limit: float) -> float:
    """The shortest number above ``value`` and below ``limit``, of six digits or more; ``limit`` if there is none."""
    for digits in range(6, 18):
        exact = Decimal(value)
        unit = Decimal(1).scaleb((exact.adjusted() if exact else -6) - digits + 1)
        wide = Context(prec=400)
        floor = wide.divide(exact, unit).to_integral_value(rounding=ROUND_FLOOR)
        high = float(wide.multiply(wide.add(floor, Decimal(1)), unit))
        if value < high < limit:
            return high
    return limit if np.isfinite(limit) else float(np.nextafter(value, np.inf))
