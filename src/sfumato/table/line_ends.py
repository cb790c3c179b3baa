"""Where the labels of numbers and days begin and end, so that no end reveals a value that only one row has."""

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from sfumato.table.domain import BoxLabels, Integers, Meaning
from sfumato.table.names import SUPPRESSED
from sfumato.table.numbers import after, day_text, first_day, number_text, open_label, roundest

if TYPE_CHECKING:
    from sfumato.table.ordered_domain import OrderedDomain

End = float | str | None
"""A number or a day as the manifest states it; None if it is not stated."""


def group_ends(line: "OrderedDomain", lo: int, hi: int) -> list[End]:
    """The ends of the codes ``[lo, hi)`` of a group."""
    low: float | None
    high: float | None
    low, high = line.bounds(lo, hi)
    if hi - lo == 1:
        return _told(line, low, high)
    narrow = hi - lo == 2 and after(float(line.values[lo]), line.step) == line.values[lo + 1]
    if line.is_lone(lo):
        low = _before(line, lo, narrow=narrow)
    if line.is_lone(hi - 1):
        high = _beyond(line, hi, narrow=narrow)
    return _told(line, low, high)


def cut_ends(line: "OrderedDomain", lo: int, hi: int) -> list[End]:
    """The ends of the codes ``[lo, hi)`` of a cut, where each part reaches up to the first value of the next."""
    low, high = line.bounds(lo, hi)
    last = len(line.values)
    reach = float(line.values[hi]) if hi < last else high
    return _told(
        line,
        low if not line.is_lone(lo) else boundary(line, lo) if lo > 0 else None,
        reach if not line.is_lone(min(hi, last - 1)) else boundary(line, hi) if hi < last else None,
    )


def sample_ends(line: "OrderedDomain", lo: int, hi: int) -> list[End]:
    """The ends of the codes ``[lo, hi)`` of a sample: round, and open at the ends of the line."""
    return _told(line, *(None if code in (0, len(line.values)) else boundary(line, code) for code in (lo, hi)))


def box_labels(line: "OrderedDomain", lo: Integers, hi: Integers) -> BoxLabels:
    """Many ranges of codes, from ``lo`` to ``hi``, each as `OrderedDomain.box` shows it.

    Unless only one row has it, an end depends on one code, so that each is found and written once.
    """
    plain = (hi < len(line.values)) & line.measured
    if line.lone is not None:
        lone = np.append(line.lone, True)  # the last one is for a missing value
        plain &= (lo == hi) | ~(lone[lo] | lone[hi])
    begins = {code: _written(line, line.bounds(code, code + 1)[0]) for code in np.unique(lo[plain]).tolist()}
    ends = {code: _written(line, line.bounds(code, code + 1)[1]) for code in np.unique(hi[plain]).tolist()}
    shares = (line.position[hi] - line.position[lo]) / line.whole  # at most 1 between ends that are not lone
    labels: list[str] = []
    meanings: list[Meaning] = []
    for i, (first, last, is_plain) in enumerate(zip(lo.tolist(), hi.tolist(), plain.tolist(), strict=True)):
        if is_plain:
            (low, low_text), (high, high_text) = begins[first], ends[last]
            labels.append(f"[{low_text}, {high_text})" if first < last else line.leaves[first])
            meanings.append([low, high])
        else:
            label, meaning, shares[i] = line.box(first, last, -1, 0)
            labels.append(label)
            meanings.append(meaning)
    return BoxLabels(labels, meanings, shares)


def interval_label(ends: list[End]) -> str:
    """How an interval with these ends is shown; one with neither end stated hides everything."""
    low, high = (None if end is None else end if isinstance(end, str) else number_text(end) for end in ends)
    if low is None and high is None:
        return SUPPRESSED
    return f"[{low}, {high})" if low is not None and high is not None else open_label(low, high)


def _told(line: "OrderedDomain", *ends: float | None) -> list[End]:
    return [None if end is None else day_text(end) if line.form == "date" else end for end in ends]


def _written(line: "OrderedDomain", end: float) -> tuple[End, str]:
    """An end as the manifest states it, and as a label does."""
    (told,) = _told(line, end)
    return told, told if isinstance(told, str) else number_text(end)


def boundary(line: "OrderedDomain", code: int) -> float:
    """Where the values from a code on begin: the roundest number or day above the value before, up to its own.

    Among equally round ones it is the smallest, so that it does not reveal the value itself.

    >>> from sfumato.table.ordered_domain import OrderedDomain
    >>> far, near = OrderedDomain.of_numbers([20.0, 25.0, 43217.0]), OrderedDomain.of_numbers([38.0, 39.0])
    >>> boundary(far, 2), boundary(near, 1)
    (10000.0, 39.0)
    """
    below, value = float(line.values[code - 1]), float(line.values[code])
    return first_day(below, value) if line.form == "date" else roundest(below, value)


def _before(line: "OrderedDomain", lo: int, *, narrow: bool) -> float | None:
    """Where a range that must not reveal its first value begins: above the previous value, or the one before that.

    The end is not the value itself unless that is round: then a larger value would give the same end. This does not
    hold if the range is ``narrow``: of two neighbours, each is known to occur if no third value fits between them.
    """
    for code in (lo, lo - 1):
        if code <= 0:
            return None
        if (end := boundary(line, code)) != line.values[lo] or (_is_round(line, end) and not narrow):
            break
    return end


def _beyond(line: "OrderedDomain", hi: int, *, narrow: bool) -> float | None:
    """Where a range that must not reveal its last value ends: up to the next value, or the one after that."""
    if hi >= len(line.values):
        return None
    last, following = float(line.values[hi - 1]), float(line.values[hi])
    told = after(last, line.step)
    if (end := boundary(line, hi)) != told or (_is_round(line, end) and not narrow):
        return end
    latest = following if line.form == "date" else roundest(last, following, greatest=True)
    if latest != told:
        return latest
    return boundary(line, hi + 1) if hi + 1 < len(line.values) else None


def _is_round(line: "OrderedDomain", end: float) -> bool:
    """Whether an end is rounder than single values are: a multiple of ten steps, the first day of a month."""
    if line.form == "date":
        return day_text(end).endswith("-01")
    return line.step > 0 and Decimal(repr(end)) % (10 * Decimal(repr(line.step))) == 0
