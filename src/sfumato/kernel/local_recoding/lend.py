"""Peel boxes once more, now with loans: a box that lacks a few rows borrows them from groups that can spare some.

A loan costs the lender's rows the difference to the dearer box, and saves the rows that would otherwise stay: by what
they cost in the solution so far (their price), discounted, since other boxes will take in some of them anyway.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel, lean
from sfumato.kernel.local_recoding.peel import FIRST, KEY, LAST, LOAD, spread


class Loans(NamedTuple):
    """What is known in between. By class: the rows that are left and how many; those that may lend and how many.

    Then the group of each row, and cost and size of each group. For the slots of a visit: what a group would save, its
    first possible lender, and its group. ``following`` is the next possible lender of the same box, ``used`` lists
    slots, ``chosen`` the lenders of a box.
    """

    left: NDArray[np.int64]
    number: NDArray[np.int64]
    able: NDArray[np.int64]
    lenders: NDArray[np.int64]
    group: NDArray[np.int64]
    cost: NDArray[np.float64]
    size: NDArray[np.int64]
    saved: NDArray[np.float64]
    head: NDArray[np.int64]
    owner: NDArray[np.int64]
    following: NDArray[np.int64]
    used: NDArray[np.int64]
    chosen: NDArray[np.int64]


def make_loans(bounds: NDArray[np.int64], slots: int) -> Loans:
    """No row has a group yet."""
    n = int(bounds[-1, LAST])
    integers = [np.zeros(n, np.int64) for _ in range(3)]
    return Loans(
        left=np.arange(n),
        number=bounds[:, LAST] - bounds[:, FIRST],
        able=np.zeros(n, np.int64),
        lenders=np.zeros(len(bounds), np.int64),
        group=np.full(n, -1, np.int64),
        cost=np.zeros(n),
        size=np.zeros(n, np.int64),
        saved=np.zeros(slots),
        head=np.zeros(slots, np.int64),
        owner=np.zeros(slots, np.int64),
        following=integers[0],
        used=integers[1],
        chosen=integers[2],
    )


@inner
def _slot(rows: Any, boxes: Any, level: int, i: int, stamp: int, mask: int, room: Any) -> Any:
    """The slot of a row's box, or the free one where it would be, and its key."""
    key = np.int64(0)
    for chunk in range(rows.codes.shape[1]):
        key += boxes.table[boxes.start[level, chunk] + rows.codes[i, chunk]]
    key = spread(key)
    slot = key & mask
    while room.slots[slot, LOAD] >= stamp and room.slots[slot, KEY] != key:
        slot = (slot + 1) & mask
    return slot, key


@lean
def _weigh(rows: Any, boxes: Any, visits: Any, visit: int, cost: float, price: Any, room: Any, loans: Any) -> Any:
    """Weigh the boxes of the rows that are left, with what they would save: (stamp, mask, slots used)."""
    here = np.int64(0)
    for at in range(visits.first[visit], visits.first[visit + 1]):
        here += loans.number[visits.classes[at]]
    mask = 16
    while mask < 2 * here:
        mask *= 2
    mask -= 1
    room.clock[0] += 1
    stamp = room.clock[0] << 32
    used, seen = 0, 0
    for at in range(visits.first[visit], visits.first[visit + 1]):
        c = visits.classes[at]
        first = rows.bounds[c, FIRST]
        for o in range(first, first + loans.number[c]):
            i = loans.left[o]
            slot, key = _slot(rows, boxes, visits.levels[visit], i, stamp, mask, room)
            if room.slots[slot, LOAD] < stamp:
                room.slots[slot, KEY], room.slots[slot, LOAD] = key, stamp
                loans.saved[slot], loans.head[slot], loans.owner[slot] = 0.0, -1, -1
                loans.used[used] = slot
                used += 1
            room.slots[slot, LOAD] += rows.weight[i]
            loans.saved[slot] += rows.weight[i] * (price[i] - cost)
            room.slot[seen] = slot
            seen += 1
    return stamp, mask, used


@lean
def _lacks(weight: int, least: int, saved: float) -> bool:
    """Whether a box of this weight looks for lenders: it has a fourth of what it needs, and something to save."""
    return weight < least and 4 * weight >= least and saved > 0


@lean
def _list_lenders(
    rows: Any, boxes: Any, visits: Any, visit: int, least: int, stamp: int, mask: int, room: Any, loans: Any
) -> None:
    """List the rows that their groups can spare, by the boxes that lack some."""
    for at in range(visits.first[visit + 1] - 1, visits.first[visit] - 1, -1):
        c = visits.classes[at]
        first = rows.bounds[c, FIRST]
        for o in range(first + loans.lenders[c] - 1, first - 1, -1):
            i = loans.able[o]
            if loans.size[loans.group[i]] - rows.weight[i] < least:
                continue
            slot, _ = _slot(rows, boxes, visits.levels[visit], i, stamp, mask, room)
            weight = room.slots[slot, LOAD] - stamp
            if _lacks(weight, least, loans.saved[slot]):
                loans.following[i] = loans.head[slot]
                loans.head[slot] = i


@lean
def _give_back(rows: Any, chosen: int, loans: Any) -> int:
    """Undo the choice of lenders; returns 0, how many are chosen then."""
    for t in range(chosen):
        i = loans.chosen[t]
        loans.group[i] = -1 - loans.group[i]
        loans.size[loans.group[i]] += rows.weight[i]
    return 0


@inner
def _borrow(rows: Any, slot: int, cost: float, least: int, weight: int, saved: float, loans: Any) -> int:
    """Choose lenders of a box, those that lose least first: how many, or 0 if there are too few or it does not pay."""
    chosen = 0
    while weight < least:
        best, dearest = np.int64(-1), -1.0
        i = loans.head[slot]
        while i >= 0:
            g = loans.group[i]
            if loans.cost[g] > dearest and loans.size[g] - rows.weight[i] >= least:
                best, dearest = i, loans.cost[g]
            i = loans.following[i]
        # all that is still lacking costs at least what this lender loses per row
        if best < 0 or saved <= (least - weight) * (cost - dearest):
            return _give_back(rows, chosen, loans)
        saved -= rows.weight[best] * (cost - dearest)
        loans.size[loans.group[best]] -= rows.weight[best]
        loans.group[best] = -1 - loans.group[best]  # not to be chosen twice
        loans.chosen[chosen] = best
        weight += rows.weight[best]
        chosen += 1
        if loans.head[slot] == best:
            loans.head[slot] = loans.following[best]
        else:
            i = loans.head[slot]
            while loans.following[i] != best:
                i = loans.following[i]
            loans.following[i] = loans.following[best]
    return chosen if saved > 0 else _give_back(rows, chosen, loans)


@lean
def _make_groups(
    rows: Any, cost: float, least: int, discount: float, stamp: int, used: int, room: Any, loans: Any, groups: int
) -> int:
    """A group for each box that is heavy, or that gets what it lacks; returns how many groups there are."""
    for u in range(used):
        slot = loans.used[u]
        weight = room.slots[slot, LOAD] - stamp
        chosen = 0
        if weight < least:
            if loans.head[slot] < 0:
                continue
            chosen = _borrow(rows, slot, cost, least, weight, discount * loans.saved[slot], loans)
            if chosen == 0:
                continue
        for t in range(chosen):
            loans.group[loans.chosen[t]] = groups
            weight += rows.weight[loans.chosen[t]]
        loans.owner[slot] = groups
        loans.cost[groups], loans.size[groups] = cost, weight
        groups += 1
    return groups


@inner
def _settle(rows: Any, visits: Any, visit: int, least: int, room: Any, loans: Any) -> None:
    """Rows whose box has a group are left no more, and may lend if the group can spare them."""
    seen = 0
    for at in range(visits.first[visit], visits.first[visit + 1]):
        c = visits.classes[at]
        free = rows.bounds[c, FIRST]
        for o in range(free, free + loans.number[c]):
            i = loans.left[o]
            owner = loans.owner[room.slot[seen]]
            seen += 1
            if owner >= 0:
                loans.group[i] = owner
                if loans.size[owner] - rows.weight[i] >= least:
                    loans.able[rows.bounds[c, FIRST] + loans.lenders[c]] = i
                    loans.lenders[c] += 1
            else:
                loans.left[free] = i
                free += 1
        loans.number[c] = free - rows.bounds[c, FIRST]


@kernel
def lend(
    rows: Any, boxes: Any, visits: Any, costs: Any, begin: int, end: int, least: int, price: Any, discount: float,
    room: Any, loans: Any, groups: int,
) -> int:  # fmt: skip
    """Make the visits ``[begin, end)`` with loans; returns how many groups there are. All boxes of a visit cost the
    same.
    """
    for visit in range(begin, end):
        stamp, mask, used = _weigh(rows, boxes, visits, visit, costs[visit], price, room, loans)
        heavy, lacking = False, False
        for u in range(used):
            slot = loans.used[u]
            weight = room.slots[slot, LOAD] - stamp
            heavy |= weight >= least
            lacking |= _lacks(weight, least, loans.saved[slot])
        if lacking:
            _list_lenders(rows, boxes, visits, visit, least, stamp, mask, room, loans)
        if heavy or lacking:
            before = groups
            groups = _make_groups(rows, costs[visit], least, discount, stamp, used, room, loans, groups)
            if groups > before:
                _settle(rows, visits, visit, least, room, loans)
    return groups
