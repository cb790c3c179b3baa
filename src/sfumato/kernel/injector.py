"""Form groups by picking rows that can take every value of their group, from the fullest buckets of equal values."""

from typing import Any

import numpy as np

from sfumato.kernel.hilb.anatomy import fullest
from sfumato.kernel.jit import inner, kernel


@inner
def _barred(barred: Any, row: int, wanted: Any) -> int:
    """How many of the wanted values a row cannot take."""
    number = 0
    for word in range(barred.shape[1]):
        both = barred[row, word] & wanted[word]
        while both:
            both &= both - np.uint64(1)  # clears the lowest bit that is set
            number += 1
    return number


@inner
def _bit(value: int) -> Any:
    return np.uint64(1) << np.uint64(value % 64)


@inner
def _best(rows: Any, begin: int, end: int, tries: int, barred: Any, wanted: Any) -> tuple[int, int]:
    """Which of the last rows of a bucket can take most of the wanted values, and how many it cannot take."""
    best, least = end - 1, 1 << 30
    for at in range(end - 1, max(begin, end - tries) - 1, -1):
        number = _barred(barred, rows[at], wanted)
        if number < least:
            best, least = at, number
            if number == 0:
                break
    return best, least


@inner
def _room(groups: int, values: Any, value: int, row: int, barred: Any, draw: Any) -> int:
    """A group that lacks the value, drawn, preferably one whose values the row can take; -1: none."""
    found = -1
    for step in range(groups):
        g = np.int64((draw + np.uint64(step)) % np.uint64(groups))
        if not values[g, value // 64] & _bit(value):
            if _barred(barred, row, values[g]) == 0:
                return g
            if found < 0:
                found = g
    return found


@inner
def _choose(
    rows: Any,
    first: Any,
    value: Any,
    left: Any,
    total: int,
    barred: Any,
    tries: int,
    top: Any,
    picked: Any,
    wanted: Any,
) -> None:
    """Pick one bucket after the other, the fullest first: those that must be picked, then those that fit, then any."""
    never = np.zeros(barred.shape[1], np.uint64)
    number, l = 0, len(picked)
    for turn in range(3):  # 0: buckets that must be picked; 1: those with a row that fits; 2: any
        for b in top:
            if number == l or left[b] == 0:
                break
            must = left[b] >= total // l  # as many rows as groups to come, each of which takes at most one of them
            if wanted[value[b] // 64] & _bit(value[b]) or must != (turn == 0):
                continue
            end = first[b] + left[b]
            wanted[value[b] // 64] |= _bit(value[b])
            at, clash = _best(rows, first[b], end, tries, barred, wanted)
            if turn == 1 and (clash > 0 or never[value[b] // 64] & _bit(value[b])):
                wanted[value[b] // 64] ^= _bit(value[b])
                continue
            rows[at], rows[end - 1] = rows[end - 1], rows[at]
            for word in range(len(never)):
                never[word] |= barred[rows[end - 1], word]
            picked[number] = b
            number += 1


@kernel
def fit(rows: Any, first: Any, value: Any, barred: Any, l: int, tries: int, draws: Any, values: Any, out: Any) -> int:
    """Anatomy over one table: bucket b has the rows ``rows[first[b] : first[b + 1]]``, all of ``value[b]``.

    A group takes one row from each of l buckets: from those so full that they must be reduced, else from those with a
    row that fits, else from the fullest. ``barred[row]`` are the values that a row cannot take, as bits; of ``tries``
    rows of a bucket, the one that can take most of the group's values is picked. ``values[group]`` gets the values of
    each group.
    Returns how many groups there are, or -1 if a value is too frequent.
    """
    left = np.empty(len(value), np.int64)
    filled, groups, used, total = len(value), 0, 0, len(rows)
    for b in range(len(value)):
        left[b] = first[b + 1] - first[b]
    picked = np.zeros(l, np.int64)
    while filled >= l:
        top = np.zeros(min(filled, 4 * l + 16), np.int64)
        fullest(left, 0, len(value), top)
        _choose(rows, first, value, left, total, barred, tries, top, picked, values[groups])
        for b in picked:
            left[b] -= 1
            out[rows[first[b] + left[b]]] = groups
            filled -= left[b] == 0
        total -= l
        groups += 1
    for b in range(len(value)):  # rows that are left over join a group that lacks their value
        if left[b] > 0:
            place = -1
            if left[b] == 1:
                place = _room(groups, values, value[b], rows[first[b]], barred, draws[used])
                used += 1
            if place < 0:
                return -1
            values[place, value[b] // 64] |= _bit(value[b])
            out[rows[first[b]]] = place
    return groups
