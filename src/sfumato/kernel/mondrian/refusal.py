"""What a refused cut costs a group, and how close a cut is to failing.

How close is counted in exchanges: the least number of times that two rows on different sides would have to exchange
their counted codes before a side fails. A refusal has a price in whole units. A group bears the prices of those cuts,
refused in it or in the groups it was cut from, that would part some of its rows; the others can tell nothing about
who of the group has what.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import lean
from sfumato.kernel.mondrian.partition import FIRST, LAST

ONE = 1 << 20
"""What ``Rules.levels`` are multiples of."""

NEVER = np.int64(1) << 40
"""More exchanges than any table allows: the cut cannot fail."""

LEFT_SIDE, RIGHT_SIDE = range(2)

AXIS, FROM, TO, PRICE, NEXT = range(5)
"""Columns of the ledger of refused cuts: the axis, the codes ``[from, to)`` that were to be split off, the price, and
the refusal before it on the way from the root, -1 if it is the first."""


class Rules(NamedTuple):
    """What is spent, and what must hold then.

    ``levels[c, e]``: after ``e`` units a side must weigh at least this many times ONE as much as each code of counted
    column ``c``. ``refusals[i]``: a random word below it refuses a cut whose price times distance is ``i``.
    ``numbers``: the least weight of a side, the greatest price of a refusal, the price times distance at which a cut is
    refused rarely enough, the units that each axis on which a group differs has cost it, and whether a group spends
    its last units on cuts that are likely to be refused. ``prefer``: by axis.
    """

    levels: NDArray[np.int64]
    refusals: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    prefer: NDArray[np.float64]


LEAST, DEAREST, ENOUGH, PER_AXIS, RISKS = range(5)


@lean
def borne(ledger: Any, last: int, measures: Any, j: int, lo: int, hi: int) -> int:
    """The prices of the refusals up to ``last`` that would part rows, on axis ``j`` with codes ``[lo, hi]`` only.

    Elsewhere the ends of an axis are those of the group; ends that are in the wrong order stand for a single code. A
    cut that takes out the middle of an axis counts even if no row lies there.
    """
    units = np.int64(0)
    while last >= 0:
        axis, a, b = ledger[last, AXIS], ledger[last, FROM], ledger[last, TO]
        first, final = (lo, hi) if axis == j else (np.int64(measures[FIRST, axis]), np.int64(measures[LAST, axis]))
        if first < final and first < b and final >= a and (first < a or final >= b):
            units += ledger[last, PRICE]
        last = ledger[last, NEXT]
    return units


@lean
def most_frequent(sizes: Any, c: int, s: Any) -> int:
    """The weight of the most frequent code of a counted column in the group."""
    most = np.int64(0)
    for v in range(sizes[c]):
        most = max(most, s.sides[1, c, v])
    return most


@lean
def budget(levels: Any, sizes: Any, s: Any) -> int:
    """The most units that the group's own counts allow to spend; -1 if none."""
    low, total = levels.shape[1] - 1, s.sums[1, -1]
    for c in range(len(levels)):
        most, high = most_frequent(sizes, c, s), low + 1
        low = -1
        while low + 1 < high:  # levels rise with what is spent
            middle = (low + high) // 2
            if most * levels[c, middle] <= total * ONE:
                low = middle
            else:
                high = middle
    return low


@lean
def price_of(rules: Any, sizes: Any, weights: Any, units: Any, s: Any) -> int:
    """The least price at which a cut with sides of these weights, like the group, is refused rarely.

    0 if no side can fail, wherever the rows of the group stand; more than any budget if it is too close to failing.
    """
    able, distance = 0, 1e18
    for c in range(len(rules.levels)):
        most = most_frequent(sizes, c, s)
        for side in range(2):
            level = rules.levels[c, units[side]]
            able += most > weights[side] * ONE // level
            distance = min(distance, weights[side] * (ONE / level - most / s.sums[1, -1]))
    if able == 0:
        return np.int64(0)
    if distance * rules.levels.shape[1] <= rules.numbers[ENOUGH]:
        return np.int64(rules.levels.shape[1])
    return max(np.int64(np.ceil(rules.numbers[ENOUGH] / distance)), np.int64(1))


@lean
def count_left(rows: Any, weights: Any, counted: Any, start: int, end: int, j: int, a: int, b: int, s: Any) -> None:
    """Count the rows with codes ``[a, b)`` on axis ``j`` on the left side."""
    s.sums[0, -1] = 0
    for i in range(start, end):
        code = np.int64(rows[i, j])
        if code >= a and code < b:
            s.sums[0, -1] += weights[i]
            for c in range(counted.shape[1]):
                s.sides[0, c, counted[i, c]] += weights[i]


@lean
def distance_of(levels: Any, sizes: Any, units: Any, s: Any) -> int:
    """How many exchanges between the sides make one of them fail: at most 0 if one does, NEVER if none can.

    A code that the whole group has no more often than a side may hold cannot make that side fail.
    """
    least = NEVER
    for side in range(2):
        weight = s.sums[0, -1] if side == LEFT_SIDE else s.sums[1, -1] - s.sums[0, -1]
        for c in range(len(levels)):
            room = weight * ONE // levels[c, units[side]]
            for v in range(sizes[c]):
                if s.sides[1, c, v] > room:
                    inside = s.sides[0, c, v] if side == LEFT_SIDE else s.sides[1, c, v] - s.sides[0, c, v]
                    least = min(least, room + 1 - inside)
    return least


@lean
def is_refused(rules: Any, sizes: Any, units: Any, price: int, words: Any, used: Any, s: Any) -> bool:
    """Whether the cut whose left side is counted is refused; ``words`` holds random words and what they were below."""
    distance = distance_of(rules.levels, sizes, units, s)
    for c in range(len(rules.levels)):
        for v in range(sizes[c]):
            s.sides[0, c, v] = 0
    if distance == NEVER:
        return False
    if distance <= 0:
        return True
    limit = rules.refusals[min(price * distance, np.int64(len(rules.refusals) - 1))]
    word = words[0, used[0]]
    words[1, used[0]] = limit
    used[0] += 1
    return word < limit
