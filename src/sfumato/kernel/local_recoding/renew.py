"""Renew some neighbouring groups at a time: peel their rows again, with loans and noise, and keep what is cheaper.

Boxes are visited by rising cost, blurred by noise. What the new groups change falls into parts that share no group;
each part is kept if it saves something by itself, so one try may be good in one place and bad in another.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel, lean
from sfumato.kernel.local_recoding.adopt import free_group
from sfumato.kernel.local_recoding.move import Members, add, cheapest, relocate_and_dissolve
from sfumato.kernel.local_recoding.near import draw, gather, list_boxes

_ENDLESS = 1e300
_SWEEPS = 2


class Draft(NamedTuple):
    """New groups. By row: its group or -1, and the rows that a box borrows. By part: what it saves; by old and then new
    group: another one of its part.
    """

    group: NDArray[np.int64]
    borrowed: NDArray[np.int64]
    saved: NDArray[np.float64]
    part: NDArray[np.int64]


def make_draft(rows: int, groups: int) -> Draft:
    """No new groups yet."""
    both = rows + groups
    return Draft(np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(both), np.zeros(both, np.int64))


@lean
def _free_rows(box: int, near: Any, draft: Any) -> Any:
    """The weight of a box's rows that are in no group yet, and what they would save."""
    weight, saved = np.int64(0), 0.0
    for x in range(near.begin[box], near.begin[box + 1]):
        i = near.members[x]
        if draft.group[i] < 0:
            weight += near.weights[i]
            saved += near.weights[i] * (near.price[i] - near.cost[box])
    return weight, saved


@inner
def _lender(least: int, box: int, near: Any, draft: Any, t: Any) -> int:
    """The row of a box that loses least, of a new group that can spare it; or -1."""
    best, dearest = -1, -1.0
    for x in range(near.begin[box], near.begin[box + 1]):
        i = near.members[x]
        g = draft.group[i]
        if g >= 0 and t.cost[g] > dearest and t.size[g] - near.weights[i] >= least:
            best, dearest = i, t.cost[g]
    return best


@lean
def _borrow(least: int, box: int, weight: int, saved: float, near: Any, draft: Any, t: Any) -> int:
    """Take rows out of their groups for a box: how many, or -1 if there are too few or it does not pay."""
    number = 0
    while weight < least and saved > 0:
        i = _lender(least, box, near, draft, t)
        if i < 0:
            break
        g = draft.group[i]
        saved -= near.weights[i] * (near.cost[box] - t.cost[g])
        weight += near.weights[i]
        t.size[g] -= near.weights[i]
        draft.group[i] = -2 - g
        draft.borrowed[number] = i
        number += 1
    if weight >= least and saved > 0:
        return number
    for x in range(number):
        i = draft.borrowed[x]
        draft.group[i] = -2 - draft.group[i]
        t.size[draft.group[i]] += near.weights[i]
    return -1


@inner
def _take(least: int, box: int, discount: float, new: int, near: Any, draft: Any, t: Any) -> bool:
    """Make a group of the rows of a box that are free, with loans if they are too few; returns whether it pays."""
    weight, saved = _free_rows(box, near, draft)
    borrowed = 0
    if weight < least:
        if 4 * weight < least or saved <= 0:
            return False
        borrowed = _borrow(least, box, weight, discount * saved, near, draft, t)
        if borrowed < 0:
            return False
    for x in range(near.begin[box], near.begin[box + 1]):
        if draft.group[near.members[x]] == -1:
            draft.group[near.members[x]] = new
    for x in range(borrowed):
        draft.group[draft.borrowed[x]] = new
        weight += near.weights[draft.borrowed[x]]
    t.size[new], t.cost[new] = weight, near.cost[box]
    return True


@inner
def _peel(
    least: int, boxes: int, noise: float, discount: float, rows: int, near: Any, draft: Any, t: Any, state: Any
) -> int:
    """Make groups of boxes, some with loans; rows may be left. Returns the number of groups."""
    draft.group[:rows] = -1
    blurred = np.empty(boxes)
    for box in range(boxes):
        blurred[box] = near.cost[box] * (1 + noise * draw(state))
    groups = 0
    for box in np.argsort(blurred, kind="mergesort"):
        groups += _take(least, box, discount, groups, near, draft, t)
    return groups


@inner
def _entered(climbs: Any, rows: int, groups: int, near: Any, draft: Any, t: Any) -> Any:
    """The members of the new groups; rows that are left join where they cost least."""
    t = Members(t.level[: groups + 1], t.code[: groups + 1], t.cost[: groups + 1], t.size[: groups + 1],
                t.first[: groups + 1], t.following[:rows])  # fmt: skip
    t.size[:], t.first[:], t.cost[:] = 0, -1, 0.0
    for i in range(rows):
        if draft.group[i] >= 0:
            add(climbs, near.codes, near.weights, i, draft.group[i], draft.group, t)
    for i in range(rows):
        if draft.group[i] < 0:
            target, _ = cheapest(climbs, near.codes, near.weights, i, -1, _ENDLESS, t)
            add(climbs, near.codes, near.weights, i, target, draft.group, t)
    return t


@lean
def _root(part: Any, x: int) -> int:
    """The first group of a part."""
    while part[x] != x:
        part[x] = part[part[x]]
        x = part[x]
    return x


@lean
def _compare(rows: int, olds: int, news: int, near: Any, m: Any, draft: Any, t: Any) -> float:
    """Find the parts and what each saves; returns what the best one saves."""
    for x in range(olds + news):
        draft.part[x], draft.saved[x] = x, 0.0
    for i in range(rows):
        a, b = _root(draft.part, near.former[i]), _root(draft.part, olds + draft.group[i])
        draft.part[max(a, b)] = min(a, b)
    most = 0.0
    for x in range(olds + news):
        root = _root(draft.part, x)
        if x < olds:
            draft.saved[root] += m.cost[near.groups[x]] * m.size[near.groups[x]]
        else:
            draft.saved[root] -= t.cost[x - olds] * t.size[x - olds]
    for x in range(olds):
        most = max(most, draft.saved[x] if draft.part[x] == x else 0.0)
    return most


@lean
def _replace(
    climbs: Any, codes: Any, weights: Any, slack: float, olds: int, news: int, near: Any, group: Any, m: Any,
    draft: Any, t: Any,
) -> None:  # fmt: skip
    """Put the new groups in the place of the old ones, in the parts that save something."""
    for x in range(olds):
        if draft.saved[_root(draft.part, x)] > slack:
            g = near.groups[x]
            m.size[g], m.first[g], m.cost[g] = 0, -1, 0.0
    for x in range(news):
        if t.size[x] == 0 or draft.saved[_root(draft.part, olds + x)] <= slack:
            continue
        g, i = free_group(m), t.first[x]
        while i >= 0:
            add(climbs, codes, weights, near.rows[i], g, group, m)
            i = t.following[i]


@inner
def _total(m: Any) -> float:
    """What all groups cost."""
    return (m.cost[:-1] * m.size[:-1]).sum()


@inner
def _try(
    climbs: Any, codes: Any, weights: Any, least: int, slack: float, boxes: int, rows: int, olds: int, noise: float,
    limits: Any, near: Any, group: Any, m: Any, draft: Any, room: Any, state: Any,
) -> bool:  # fmt: skip
    """Peel the rows of a neighbourhood once; returns whether something was renewed."""
    before = (near.price[:rows] * near.weights[:rows]).sum()
    news = _peel(least, boxes, noise, 0.3 + 0.7 * draw(state), rows, near, draft, room, state)
    if news == 0:
        return False
    t = _entered(climbs, rows, news, near, draft, room)
    if _total(t) < limits.close * before:
        relocate_and_dissolve(
            climbs, near.codes[:rows], near.weights, least, slack, _SWEEPS, draft.group[:rows], t
        )  # fmt: skip
    if _compare(rows, olds, news, near, m, draft, t) <= slack:
        return False
    _replace(climbs, codes, weights, slack, olds, news, near, group, m, draft, t)
    return True


@kernel
def renew(
    climbs: Any, codes: Any, weights: Any, least: int, slack: float, tries: int, limits: Any, strides: Any,
    group: Any, m: Any, near: Any, draft: Any, room: Any, state: Any,
) -> int:  # fmt: skip
    """Try so many neighbourhoods, each until something is renewed, at first without noise; returns how many were."""
    renewed = 0
    for _ in range(tries):
        centre = int(draw(state) * (len(m.size) - 1))
        if m.size[centre] == 0 or m.cost[centre] == 0.0:
            continue
        rows, olds = gather(climbs, codes, weights, centre, 0.4, limits, m, state, near)
        boxes = list_boxes(climbs, strides, least, rows, near) if olds > 1 else 0
        for peel in range(limits.peels if boxes > 0 else 0):
            noise = limits.noise * draw(state) if peel > 0 else 0.0
            if _try(
                climbs, codes, weights, least, slack, boxes, rows, olds, noise, limits, near, group, m, draft, room,
                state,
            ):  # fmt: skip
                renewed += 1
                break
    return renewed
