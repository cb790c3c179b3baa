"""Count the groups of a join from partitions, without its rows.

The first side has rows (distinct vectors with a weight) in *cells*, each with the *key* of what it is matched by. The
other sides are one *stack* of entries; a bit per entry says which keys it matches. A group of the join is a cell
together with one number ``x`` of the stack.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel

BY_KEY, BY_VALUE, BY_SHARE = 0, 1, 2
"""What is counted of a group: rows of the first side by their weight, distinct values, or shares of marked rows; the
first two together with the distinct units of the stack."""

MODE, LIMIT = 0, 1
"""Entries of ``way``: what is counted, and the least count that is allowed."""

NOTHING = np.int64(1) << 62
_SMALL = np.int64(1) << 31
_FACTOR = np.uint64(0x03F79D71B4CB0A89)
_PLACE = np.zeros(64, np.int64)
for _bit in range(64):
    _PLACE[((1 << _bit) * 0x03F79D71B4CB0A89 % (1 << 64)) >> 58] = _bit


class StackArrays(NamedTuple):
    """The entries of the other sides: group number, unit, how much the unit or the entry counts, and how much of it
    is held by each marked value; ``keys`` has the bits of the entries that match each key."""

    x: NDArray[Any]
    unit: NDArray[Any]
    weight: NDArray[Any]
    held: NDArray[Any]
    keys: NDArray[Any]


class JoinRows(NamedTuple):
    """The rows of the first side: key, value and weight; ``marks`` number the marked values from 1, 0 for others."""

    key: NDArray[Any]
    value: NDArray[Any]
    weight: NDArray[Any]
    marks: NDArray[Any]


class Way(NamedTuple):
    """How groups are judged: `way`, the limits of the marked values, and which of these the first side holds."""

    way: NDArray[Any]
    limits: NDArray[Any]
    own: NDArray[Any]


class JoinRoom(NamedTuple):
    """Work space: counts per group number, what they hold, the numbers touched; stamps of units and keys; the clock and
    how many numbers are touched. Keys are counted in slots, one per part and key: people, what they hold, and the
    slots touched."""

    tally: NDArray[Any]
    held: NDArray[Any]
    touched: NDArray[Any]
    stamp: NDArray[Any]
    seen: NDArray[Any]
    people: NDArray[Any]
    marked: NDArray[Any]
    slots: NDArray[Any]
    clock: NDArray[Any]


def make_room(groups: int, units: int, keys: int, marks: int, parts: int = 1) -> JoinRoom:
    """Work space for so many group numbers, units, keys, marked values, and parts that are counted at a time."""
    return JoinRoom(
        np.zeros(groups, np.int64),
        np.zeros((groups, marks), np.int64),
        np.zeros(groups, np.int32),
        np.zeros(units, np.int64),
        np.zeros(keys, np.int64),
        np.zeros(parts * keys, np.int64),
        np.zeros((parts * keys, marks), np.int64),
        np.zeros(parts * keys, np.int64),
        np.zeros(2, np.int64),
    )


@inner
def lowest(word: Any) -> int:
    """The place of the lowest bit that is set."""
    return _PLACE[np.int64(((word & (~word + np.uint64(1))) * _FACTOR) >> np.uint64(58))]


@inner
def exceeds(a: int, b: int, c: int, d: int) -> bool:
    """Whether a/b > c/d, by continued fractions where a product would not fit."""
    while True:
        if a < _SMALL and b < _SMALL and c < _SMALL and d < _SMALL:
            return a * d > c * b
        whole, other = a // b, c // d
        if whole != other:
            return whole > other
        a, c = a - whole * b, c - other * d
        if c == 0:
            return a > 0
        if a == 0:
            return False
        a, b, c, d = d, c, b, a


@inner
def _touch(room: JoinRoom, x: int) -> None:
    if room.tally[x] == 0:
        room.touched[room.clock[1]] = x
        room.clock[1] += 1


@inner
def _count_units(stack: StackArrays, room: JoinRoom, bits: Any, key: int, people: int) -> None:
    """Add the units that a key matches and that are not counted since the clock was set."""
    for word in range(len(bits)):
        left = bits[word] & stack.keys[key, word]
        while left:
            h = word * 64 + lowest(left)
            left &= left - np.uint64(1)
            if room.stamp[stack.unit[h]] != room.clock[0]:
                room.stamp[stack.unit[h]] = room.clock[0]
                _touch(room, stack.x[h])
                room.tally[stack.x[h]] += people * stack.weight[h]


@inner
def _count_shares(stack: StackArrays, room: JoinRoom, bits: Any, key: int, slot: int, own: Any) -> None:
    """Add the pairs of people and entries that a key matches, and how many of them hold each marked value."""
    people = room.people[slot]
    for word in range(len(bits)):
        left = bits[word] & stack.keys[key, word]
        while left:
            h = word * 64 + lowest(left)
            left &= left - np.uint64(1)
            x, weight = stack.x[h], stack.weight[h]
            _touch(room, x)
            room.tally[x] += people * weight
            for t in range(len(own)):
                room.held[x, t] += room.marked[slot, t] * weight if own[t] else people * stack.held[h, t]


@inner
def add_row(rows: JoinRows, room: JoinRoom, row: int, slot: int, number: int) -> int:
    """Count a row in a slot; returns how many slots are touched."""
    if room.people[slot] == 0:
        room.slots[number] = slot
        number += 1
    room.people[slot] += rows.weight[row]
    for a in range(len(rows.marks)):
        mark = rows.marks[a, row]
        if mark > 0:
            room.marked[slot, mark - 1] += rows.weight[row]
    return number


@inner
def spread(stack: StackArrays, way: Way, room: JoinRoom, slots: Any, bits: Any) -> None:
    """Count the groups of the people in some slots, and clear these."""
    room.clock[1] = 0
    keys = len(room.seen)
    for slot in slots:
        key = slot % keys
        if way.way[MODE] == BY_SHARE:
            _count_shares(stack, room, bits, key, slot, way.own)
        else:
            room.clock[0] += 1
            _count_units(stack, room, bits, key, room.people[slot])
        room.people[slot] = 0
        for t in range(len(way.own)):
            room.marked[slot, t] = 0


@inner
def _by_value(stack: StackArrays, rows: JoinRows, room: JoinRoom, order: Any, bits: Any) -> None:
    """Count the distinct pairs of a value and a unit; equal values are adjacent in the order."""
    room.clock[0] += 1
    for i in range(len(order)):
        if i > 0 and rows.value[order[i]] != rows.value[order[i - 1]]:
            room.clock[0] += 1
        key = rows.key[order[i]]
        if room.seen[key] != room.clock[0]:
            room.seen[key] = room.clock[0]
            _count_units(stack, room, bits, key, 1)


@inner
def fill(stack: StackArrays, way: Way, rows: JoinRows, room: JoinRoom, order: Any, bits: Any) -> None:
    """Count the groups of some rows of one cell; ``bits`` are the entries that may match at all."""
    if way.way[MODE] == BY_VALUE:
        room.clock[1] = 0
        _by_value(stack, rows, room, order, bits)
        return
    number = 0
    for row in order:
        number = add_row(rows, room, row, rows.key[row], number)
    spread(stack, way, room, room.slots[:number], bits)


@inner
def close(way: Way, room: JoinRoom, worst: Any) -> int:
    """Judge the counted groups and clear them; returns how many fail.

    ``worst`` keeps the least count, or the greatest share of each marked value, as a pair.
    """
    failing = 0
    for i in range(room.clock[1]):
        x = room.touched[i]
        total, good = room.tally[x], True
        room.tally[x] = 0
        if way.way[MODE] != BY_SHARE:
            good = total >= way.way[LIMIT]
            if total < worst[0, 0]:
                worst[0, 0] = total
        for t in range(len(way.own)):
            held = room.held[x, t]
            room.held[x, t] = 0
            if exceeds(held, total, way.limits[t, 0], way.limits[t, 1]):
                good = False
            if exceeds(held, total, worst[t, 0], worst[t, 1]):
                worst[t, 0] = held
                worst[t, 1] = total
        if not good:
            failing += 1
    return failing


@kernel
def measure(
    stack: StackArrays,
    way: Way,
    rows: JoinRows,
    room: JoinRoom,
    order: Any,
    ends: Any,
    bits: Any,
    times: Any,
    worst: Any,
) -> Any:
    """Judge the groups of all cells, given the rows in the order of the cells and where each begins.

    Returns the number of groups, where a group number counts so many ``times``, and how many of those judged fail.
    """
    out = np.zeros(2, np.int64)
    for cell in range(len(ends) - 1):
        fill(stack, way, rows, room, order[ends[cell] : ends[cell + 1]], bits)
        for i in range(room.clock[1]):
            out[0] += times[room.touched[i]]
        out[1] += close(way, room, worst)
    return out


@inner
def _look_alone(stack: StackArrays, room: JoinRoom, bits: Any, slot: int, row: int) -> None:
    """Add the people of a slot to each group that they are in, and note one of their rows."""
    for word in range(len(bits)):
        left = bits[word] & stack.keys[slot, word]
        while left:
            x = stack.x[word * 64 + lowest(left)]
            left &= left - np.uint64(1)
            if room.stamp[x] != room.clock[0]:
                room.stamp[x] = room.clock[0]
                _touch(room, x)
                room.tally[x] += room.people[slot]
                room.held[x, 0] = row


@kernel
def find_alone(
    stack: StackArrays, rows: JoinRows, room: JoinRoom, order: Any, ends: Any, bits: Any, last: Any, out: Any
) -> None:
    """Mark the rows of one person who is alone in a group; stamps are by group number, ``last`` is work space."""
    for cell in range(len(ends) - 1):
        room.clock[1] = 0
        number = 0
        for row in order[ends[cell] : ends[cell + 1]]:
            number = add_row(rows, room, row, rows.key[row], number)
            last[rows.key[row]] = row
        for i in range(number):
            slot = room.slots[i]
            room.clock[0] += 1
            _look_alone(stack, room, bits, slot, last[slot])
            room.people[slot] = 0
        for i in range(room.clock[1]):
            x = room.touched[i]
            if room.tally[x] == 1:
                out[room.held[x, 0]] = True
            room.tally[x] = 0


@kernel
def set_bits(start: Any, other: Any, begins: Any, entries: Any, labels: Any, out: Any) -> None:
    """Set the bit of every entry whose label is consistent with a label, for each of some labels.

    The labels of the other side that are consistent with label ``i`` are ``other[start[i]:start[i + 1]]``, and the
    entries that have label ``j`` of that side are ``entries[begins[j]:begins[j + 1]]``.
    """
    for i in range(len(labels)):
        for j in range(start[labels[i]], start[labels[i] + 1]):
            for at in range(begins[other[j]], begins[other[j] + 1]):
                h = entries[at]
                out[i, h >> 6] |= np.uint64(1) << np.uint64(h & 63)
