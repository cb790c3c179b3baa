"""Peel boxes off a table: visit them by rising cost, and make each box final that holds enough of the rows left.

A box has one node per attribute. Boxes are visited by levels: on given levels, each row lies in one box, found by
adding up one number per chunk of attributes. Rows whose boxes cost the same on all levels form a class, and a visit
names the levels and the classes that have boxes of one cost.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import kernel, lean
from sfumato.kernel.judge import YES, verdict

FIRST, LAST = range(2)
"""Columns of the bounds of a class: where its rows begin, and where those that are left end."""

KEY, LOAD = range(2)
"""Columns of a slot: the key of its box; the count that used it last, times 2^32, plus the weight of its rows."""

PART = 1 << 13
"""Rows whose boxes are weighed together: as many as fit fast memory."""

_NUMBERED = 1 << 31


class Visits(NamedTuple):
    """Visits in order: the levels of each, and its classes, at ``classes[first[v] : first[v + 1]]``."""

    levels: NDArray[np.int64]
    first: NDArray[np.int64]
    classes: NDArray[np.int64]


class BoxNumbers(NamedTuple):
    """Where rows lie: on the levels ``l``, code c of chunk i adds ``table[start[l, i] + c]`` to the key of its box."""

    start: NDArray[np.int64]
    table: NDArray[np.int64]


class PeelRows(NamedTuple):
    """The rows, class by class, those left first: codes of chunks, number, weight and counted values of each."""

    codes: NDArray[Any]
    number: NDArray[np.int64]
    weight: NDArray[np.int64]
    counted: NDArray[np.int32]
    bounds: NDArray[np.int64]


class PeelRoom(NamedTuple):
    """Working memory: slots of a hash table; for the rows of a visit: key, weight, slot, and number of a heavy box.

    ``order`` lists rows part by part or box by box, ``begin`` says where each of these begins; ``clock`` counts how
    often slots were used, and ``counts`` counts values.
    """

    slots: NDArray[np.int64]
    key: NDArray[np.int64]
    weight: NDArray[np.int32]
    slot: NDArray[np.int32]
    box: NDArray[np.int32]
    order: NDArray[np.int32]
    begin: NDArray[np.int64]
    counts: NDArray[np.int64]
    clock: NDArray[np.int64]


def make_room(n: int, values: int) -> PeelRoom:
    """Working memory for ``n`` rows and columns of up to so many values."""
    slots = 32
    while slots < 2 * n:
        slots *= 2
    return PeelRoom(
        slots=np.zeros((slots, 2), np.int64),
        key=np.zeros(n, np.int64),
        weight=np.zeros(n, np.int32),
        slot=np.zeros(n, np.int32),
        box=np.zeros(n, np.int32),
        order=np.zeros(n, np.int32),
        begin=np.zeros(2 * n + 2, np.int64),
        counts=np.zeros(max(values, 1), np.int64),
        clock=np.zeros(1, np.int64),
    )


@lean
def spread(key: int) -> int:
    """Another number for each key, every bit of which depends on all bits of the key (MurmurHash3's finalizer)."""
    h = np.uint64(key)
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    h ^= h >> np.uint64(33)
    return np.int64(h)


@lean
def _find_keys(rows: Any, boxes: Any, visits: Any, visit: int, room: Any) -> int:
    """A number for the box of each row of a visit, different for different boxes; returns how many rows there are."""
    level = visits.levels[visit]
    seen = 0
    for at in range(visits.first[visit], visits.first[visit + 1]):
        c = visits.classes[at]
        for i in range(rows.bounds[c, FIRST], rows.bounds[c, LAST]):
            key = np.int64(0)
            for chunk in range(rows.codes.shape[1]):
                key += boxes.table[boxes.start[level, chunk] + rows.codes[i, chunk]]
            room.key[seen] = spread(key)
            room.weight[seen] = rows.weight[i]
            seen += 1
    return seen


@lean
def _divide(seen: int, most: int, room: Any) -> int:
    """List the rows by parts of about ``most`` rows, boxes kept whole; returns how many bits tell parts apart."""
    bits = 0
    while (most << bits) < seen:
        bits += 1
    if bits == 0:
        return bits
    down = np.uint64(64 - bits)
    for p in range((1 << bits) + 1):
        room.begin[p] = 0
    for i in range(seen):
        room.begin[np.int64(np.uint64(room.key[i]) >> down) + 1] += 1
    for p in range(1 << bits):
        room.begin[p + 1] += room.begin[p]
    for i in range(seen):
        p = np.int64(np.uint64(room.key[i]) >> down)
        room.order[room.begin[p]] = i
        room.begin[p] += 1
    for p in range(1 << bits, 0, -1):  # each beginning has moved to the end of its part
        room.begin[p] = room.begin[p - 1]
    room.begin[0] = 0
    return bits


@lean
def _weigh_part(bits: int, first: int, last: int, least: int, heavy: int, room: Any) -> int:
    """Weigh the boxes of a part and number those that are heavy; returns how many heavy ones there are now."""
    slots = 16
    while slots < 2 * (last - first):
        slots *= 2
    room.clock[0] += 1
    stamp = room.clock[0] << 32
    most = np.int64(0)
    for o in range(first, last):
        i = np.int64(room.order[o]) if bits > 0 else np.int64(o)
        key = room.key[i]
        slot = key & (slots - 1)
        load = room.slots[slot, LOAD]
        while load >= stamp and room.slots[slot, KEY] != key:
            slot = (slot + 1) & (slots - 1)
            load = room.slots[slot, LOAD]
        if load < stamp:
            room.slots[slot, KEY] = key
            load = stamp
        load += room.weight[i]
        room.slots[slot, LOAD] = load
        room.slot[i] = slot
        most = max(most, load - stamp)
    for o in range(first, last):
        i = np.int64(room.order[o]) if bits > 0 else np.int64(o)
        room.box[i] = -1
        if most < least or room.slots[room.slot[i], LOAD] - stamp < least:
            continue
        if room.slots[room.slot[i], LOAD] - stamp < _NUMBERED:
            room.slots[room.slot[i], LOAD] = stamp + _NUMBERED
            room.slots[room.slot[i], KEY] = heavy
            heavy += 1
        room.box[i] = room.slots[room.slot[i], KEY]
    return heavy


@lean
def _settle(rows: Any, visits: Any, visit: int, room: Any, group: Any, groups: int) -> None:
    """Give the rows of each heavy box its group, and keep the others."""
    seen = 0
    for at in range(visits.first[visit], visits.first[visit + 1]):
        c = visits.classes[at]
        free = rows.bounds[c, FIRST]
        for i in range(rows.bounds[c, FIRST], rows.bounds[c, LAST]):
            box = room.box[seen]
            seen += 1
            if box >= 0:
                group[rows.number[i]] = groups + box
                continue
            if free < i:
                for chunk in range(rows.codes.shape[1]):
                    rows.codes[free, chunk] = rows.codes[i, chunk]
                for t in range(rows.counted.shape[1]):
                    rows.counted[free, t] = rows.counted[i, t]
                rows.number[free] = rows.number[i]
                rows.weight[free] = rows.weight[i]
            free += 1
        rows.bounds[c, LAST] = free


@lean
def _fits(rows: Any, first: int, last: int, sizes: Any, spec: Any, aux: Any, costly: Any, room: Any) -> bool:
    """Whether the rows ``order[first:last]`` pass all tests."""
    weight = np.int64(0)
    for o in range(first, last):
        weight += rows.weight[room.order[o]]
    good = True
    for t in range(len(spec)):
        column = spec[t, 1]
        distinct = np.int64(0)
        for o in range(first, last):
            value = rows.counted[room.order[o], column]
            distinct += room.counts[value] == 0
            room.counts[value] += rows.weight[room.order[o]]
        good = verdict(spec[t], aux[t], room.counts[: sizes[column]], weight, distinct, costly) == YES
        for o in range(first, last):
            room.counts[rows.counted[room.order[o], column]] = 0
        if not good:
            break
    return good


@lean
def _list_boxes(rows: Any, visits: Any, visit: int, seen: int, heavy: int, room: Any) -> None:
    """List the rows box by box: ``begin[h]`` is where those of heavy box ``h`` end, after those of the boxes before."""
    for h in range(heavy + 1):
        room.begin[h] = 0
    for i in range(seen):
        if room.box[i] >= 0:
            room.begin[room.box[i] + 1] += 1
    for h in range(heavy):
        room.begin[h + 1] += room.begin[h]
    seen = 0
    for at in range(visits.first[visit], visits.first[visit + 1]):
        c = visits.classes[at]
        for i in range(rows.bounds[c, FIRST], rows.bounds[c, LAST]):
            box = room.box[seen]
            seen += 1
            if box >= 0:
                room.order[room.begin[box]] = i
                room.begin[box] += 1


@lean
def _passing(rows: Any, seen: int, heavy: int, sizes: Any, spec: Any, aux: Any, costly: Any, room: Any) -> int:
    """Number the listed boxes that pass all tests; the others are heavy no more. Returns how many pass."""
    first, passing = np.int64(0), 0
    for h in range(heavy):
        last = room.begin[h]
        good = _fits(rows, first, last, sizes, spec, aux, costly, room)
        room.begin[h] = passing if good else -1
        passing += good
        first = last
    for i in range(seen):
        if room.box[i] >= 0:
            room.box[i] = room.begin[room.box[i]]
    return passing


@kernel
def peel(
    rows: Any, boxes: Any, visits: Any, begin: int, end: int, least: int, sizes: Any, spec: Any, aux: Any,
    costly: Any, tested: Any, part: int, room: Any, group: Any, groups: int,
) -> int:  # fmt: skip
    """Make the visits ``[begin, end)``; ``group`` gets the group of each row that is peeled. Returns their number.

    ``tested`` is True, or None if only the weight of a box decides: then the tests are not compiled. ``part`` is how
    many rows are weighed together, about.
    """
    for visit in range(begin, end):
        seen = _find_keys(rows, boxes, visits, visit, room)
        if seen == 0:
            continue
        bits, heavy, first = _divide(seen, part, room), 0, 0
        for p in range(1 << bits):
            last = room.begin[p + 1] if bits > 0 else seen
            heavy = _weigh_part(bits, first, last, least, heavy, room)
            first = last
        if tested is not None and heavy > 0:
            _list_boxes(rows, visits, visit, seen, heavy, room)
            heavy = _passing(rows, seen, heavy, sizes, spec, aux, costly, room)
        if heavy > 0:
            _settle(rows, visits, visit, room, group, groups)
            groups += heavy
    return groups
