"""Open boxes of the lattice against finished groups, wherever that makes labels cheaper in all.

On all levels, rows are listed by box. A box takes in the rows that cost more in their groups. If these are too few, it
borrows others, those first that lose least. Its rows then become a group, as if another solution had it (see `adopt`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import kernel, lean
from sfumato.kernel.local_recoding.adopt import adopt_rows
from sfumato.kernel.local_recoding.move import relocate_and_dissolve
from sfumato.kernel.local_recoding.peel import spread

ANY, SPARED, BROKEN = range(3)
"""Whose rows a box takes: those of any group that is dearer, even if it keeps too few; only those that groups can
spare; or, besides the former, those of one more group that is broken up for it."""

_ENDLESS = 1e300


class Opening(NamedTuple):
    """Working memory. By slot of a hash table: key and cost of a box, weight and gain of the rows that would save
    something there, and its first row; ``used`` lists slots. By row: the next one of its box, and whether it is taken;
    ``chosen`` lists these. By group: the weight that it gives, and what it has inside the box.
    """

    key: NDArray[np.int64]
    cost: NDArray[np.float64]
    weight: NDArray[np.int64]
    gain: NDArray[np.float64]
    first: NDArray[np.int64]
    used: NDArray[np.int64]
    following: NDArray[np.int64]
    taken: NDArray[np.bool_]
    chosen: NDArray[np.int64]
    given: NDArray[np.int64]
    inside: NDArray[np.int64]


def make_opening(rows: int, groups: int) -> Opening:
    """No box is listed yet."""
    slots = 16
    while slots < 2 * rows:
        slots *= 2
    return Opening(
        key=np.full(slots, -1),
        cost=np.zeros(slots),
        weight=np.zeros(slots, np.int64),
        gain=np.zeros(slots),
        first=np.zeros(slots, np.int64),
        used=np.zeros(rows, np.int64),
        following=np.zeros(rows, np.int64),
        taken=np.zeros(rows, np.bool_),
        chosen=np.zeros(rows, np.int64),
        given=np.zeros(groups + 1, np.int64),
        inside=np.zeros(groups + 1, np.int64),
    )


@lean
def _slot(boxes: Any, chunks: Any, level: int, i: int, o: Any) -> Any:
    """The slot of a row's box, or the free one where it would be, and its key."""
    key = np.int64(0)
    for chunk in range(chunks.shape[1]):
        key += boxes.table[boxes.start[level, chunk] + chunks[i, chunk]]
    slot = spread(key) & (len(o.key) - 1)
    while o.key[slot] >= 0 and o.key[slot] != key:
        slot = (slot + 1) & (len(o.key) - 1)
    return slot, key


@lean
def _list_rows(
    climbs: Any, codes: Any, weights: Any, least: int, levels: Any, boxes: Any, chunks: Any, level: int, group: Any,
    m: Any, o: Any,
) -> int:  # fmt: skip
    """List the rows that could save something or be lent, by box; returns how many boxes there are."""
    used = 0
    for i in range(len(group) - 1, -1, -1):
        g = group[i]
        if m.cost[g] == 0.0 and m.size[g] - weights[i] < least:
            continue
        slot, key = _slot(boxes, chunks, level, i, o)
        if o.key[slot] < 0:
            o.key[slot], o.weight[slot], o.gain[slot], o.first[slot], o.cost[slot] = key, 0, 0.0, -1, 0.0
            for j in range(codes.shape[1]):
                o.cost[slot] += climbs.cost[j, levels[level, j], codes[i, j]]
            o.used[used] = slot
            used += 1
        o.following[i], o.first[slot] = o.first[slot], i
        if m.cost[g] > o.cost[slot]:
            o.gain[slot] += weights[i] * (m.cost[g] - o.cost[slot])
            o.weight[slot] += weights[i]
    for u in range(used):
        o.key[o.used[u]] = -1
    return used


@lean
def _take(weights: Any, i: int, slot: int, number: int, group: Any, m: Any, o: Any) -> float:
    """Choose a row; returns what it saves in the box, which may be negative."""
    o.taken[i], o.chosen[number] = True, i
    o.given[group[i]] += weights[i]
    return weights[i] * (m.cost[group[i]] - o.cost[slot])


@lean
def _largest(weights: Any, least: int, slot: int, group: Any, m: Any, o: Any) -> int:
    """The group, of those that keep enough, that has the most rows in the box besides the chosen ones; or -1."""
    largest, most = -1, 0
    i = o.first[slot]
    while i >= 0:
        g = group[i]
        if not o.taken[i] and m.cost[g] > 0.0 and m.size[g] - o.given[g] >= least:
            o.inside[g] += weights[i]
            if o.inside[g] > most:
                largest, most = g, o.inside[g]
        i = o.following[i]
    i = o.first[slot]
    while i >= 0:
        o.inside[group[i]] = 0
        i = o.following[i]
    return largest


@lean
def _lender(weights: Any, least: int, slot: int, way: int, broken: int, group: Any, m: Any, o: Any) -> int:
    """The next row to borrow: of a group that is broken up anyway, else the one that loses least; or -1."""
    best, lowest = -1, _ENDLESS
    i = o.first[slot]
    while i >= 0:
        g = group[i]
        if not o.taken[i]:
            left = m.size[g] - o.given[g]
            free = way != SPARED and (g == broken or left < least)
            loss = -1.0 if free else o.cost[slot] - m.cost[g]
            if loss < lowest and (free or left - weights[i] >= least):
                best, lowest = i, loss
        i = o.following[i]
    return best


@lean
def _takers(weights: Any, least: int, slot: int, way: int, group: Any, m: Any, o: Any) -> Any:
    """Choose the rows that save something: (how many, their weight, what they save)."""
    number, weight, saved = 0, np.int64(0), 0.0
    i = o.first[slot]
    while i >= 0:
        g = group[i]
        if m.cost[g] > o.cost[slot] and (way != SPARED or m.size[g] - o.given[g] - weights[i] >= least):
            saved += _take(weights, i, slot, number, group, m, o)
            weight += weights[i]
            number += 1
        i = o.following[i]
    return number, weight, saved


@lean
def _choose(weights: Any, least: int, slack: float, slot: int, way: int, group: Any, m: Any, o: Any) -> int:
    """Choose rows for a box: how many, or 0 if there are too few or they save nothing even at best."""
    number, weight, saved = _takers(weights, least, slot, way, group, m, o)
    broken = -1
    if way == BROKEN and weight < least:
        broken = _largest(weights, least, slot, group, m, o)
    while weight < least and saved > slack:
        i = _lender(weights, least, slot, way, broken, group, m, o)
        if i < 0:
            break
        saved += _take(weights, i, slot, number, group, m, o)
        weight += weights[i]
        number += 1
    for t in range(number):
        o.taken[o.chosen[t]] = False
        o.given[group[o.chosen[t]]] = 0
    return number if weight >= least and saved > slack else 0


@lean
def _open(
    climbs: Any, codes: Any, weights: Any, least: int, slack: float, slot: int, group: Any, m: Any, change: Any, o: Any
) -> bool:  # fmt: skip
    """Open a box in the first way that saves something; returns whether there is one."""
    for way in range(3):
        number = _choose(weights, least, slack, slot, way, group, m, o)
        if number > 0 and adopt_rows(
            climbs, codes, weights, least, slack, o.chosen[:number], group, m, change
        ):  # fmt: skip
            return True
    return False


@kernel
def reopen(
    climbs: Any, codes: Any, weights: Any, least: int, slack: float, sweeps: int, order: Any, levels: Any, boxes: Any,
    chunks: Any, share: int, before: int, group: Any, m: Any, change: Any, o: Any,
) -> int:  # fmt: skip
    """Try the boxes on the levels ``order``, then moves, in so many sweeps, if some were opened.

    A box is tried if the rows that save something there are at least 1/``share`` of what it needs. Returns how many
    boxes were opened, with those that were opened ``before``.
    """
    opened = before
    for level in order:
        used = _list_rows(climbs, codes, weights, least, levels, boxes, chunks, level, group, m, o)
        for u in range(used):
            slot = o.used[u]
            if o.gain[slot] > slack and share * o.weight[slot] >= least:
                opened += _open(climbs, codes, weights, least, slack, slot, group, m, change, o)
    if opened > 0 and sweeps > 0:
        relocate_and_dissolve(climbs, codes, weights, least, slack, sweeps, group, m)
    return opened
