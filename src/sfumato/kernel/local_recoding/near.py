"""Neighbouring groups, and all boxes that could be groups of their rows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, lean
from sfumato.kernel.local_recoding.peel import spread

MOST_BOXES = 50_000
_ENDLESS = 1e300


class NeighbourhoodLimits(NamedTuple):
    """Of a neighbourhood: the most rows and groups, and the most rows times combinations of levels.

    Then how often it is peeled, how much noise blurs costs at most, and how close to the cost before the new groups
    must come for moves to be tried.
    """

    rows: int
    groups: int
    work: int
    peels: int
    noise: float
    close: float


class Neighbourhood(NamedTuple):
    """A neighbourhood. ``distance`` of each group; the groups that are near, their rows, and for each of these codes,
    weight, price (what it costs now) and group (by place in ``groups``). Per attribute the highest level, and one more
    for counting. A hash table for the boxes of some levels. The boxes: cost, first of their ``members``, and these.
    """

    distance: NDArray[np.float64]
    groups: NDArray[np.int64]
    rows: NDArray[np.int64]
    codes: NDArray[np.int64]
    weights: NDArray[np.int64]
    price: NDArray[np.float64]
    former: NDArray[np.int64]
    top: NDArray[np.int64]
    levels: NDArray[np.int64]
    key: NDArray[np.int64]
    weight: NDArray[np.int64]
    first: NDArray[np.int64]
    following: NDArray[np.int64]
    used: NDArray[np.int64]
    cost: NDArray[np.float64]
    begin: NDArray[np.int64]
    members: NDArray[np.int64]


def make_near(groups: int, attributes: int, limits: NeighbourhoodLimits) -> Neighbourhood:
    """Nothing is near yet."""
    slots = 16
    while slots < 2 * limits.rows:
        slots *= 2
    by_row = [np.zeros(limits.rows, np.int64) for _ in range(5)]
    return Neighbourhood(
        distance=np.zeros(groups),
        groups=np.zeros(limits.groups, np.int64),
        rows=by_row[0],
        codes=np.zeros((limits.rows, attributes), np.int64),
        weights=by_row[1],
        price=np.zeros(limits.rows),
        former=by_row[2],
        top=np.zeros(attributes, np.int64),
        levels=np.zeros(attributes, np.int64),
        key=np.full(slots, -1),
        weight=np.zeros(slots, np.int64),
        first=np.zeros(slots, np.int64),
        following=by_row[3],
        used=by_row[4],
        cost=np.zeros(MOST_BOXES),
        begin=np.zeros(MOST_BOXES + 1, np.int64),
        members=np.zeros(20 * MOST_BOXES, np.int64),
    )


@lean
def draw(state: Any) -> float:
    """A number from 0 to 1 that looks random, the next one each time (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    h = state[0]
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    h = h ^ (h >> np.uint64(31))
    return np.float64(h >> np.uint64(11)) / 9007199254740992.0


@lean
def _measure(climbs: Any, centre: int, blur: float, m: Any, state: Any, near: Any) -> None:
    """The distance of a group is what the box around it and the centre costs, blurred; labels of cost 0 are far."""
    for g in range(len(near.distance)):
        near.distance[g] = _ENDLESS
        if m.size[g] == 0 or m.cost[g] == 0.0:
            continue
        cost = 0.0
        for j in range(m.level.shape[1]):
            level = max(m.level[g, j], m.level[centre, j])
            while climbs.node[j, level, m.code[g, j]] != climbs.node[j, level, m.code[centre, j]]:
                level += 1
            cost += climbs.cost[j, level, m.code[g, j]]
        near.distance[g] = cost * (1 + blur * draw(state))
    near.distance[centre] = -1.0


@inner
def _room_for(climbs: Any, g: int, rows: int, limits: Any, m: Any, near: Any) -> bool:
    """Whether one more group keeps to the limits; then the highest levels are raised so that they hold it."""
    at = m.first[g]
    while at >= 0:
        rows, at = rows + 1, m.following[at]
    work = rows
    for j in range(len(near.top)):
        code = near.codes[0, j] if near.top[j] >= 0 else m.code[g, j]
        level = max(near.top[j], m.level[g, j])
        while climbs.node[j, level, code] != climbs.node[j, level, m.code[g, j]]:
            level += 1
        near.levels[j] = level
        work *= level + 1
    if rows > limits.rows or work > limits.work:
        return False
    near.top[:] = near.levels
    return True


@inner
def gather(
    climbs: Any, codes: Any, weights: Any, centre: int, blur: float, limits: Any, m: Any, state: Any, near: Any
) -> Any:  # fmt: skip
    """List the groups around a centre and their rows, as many as the limits allow: (rows, groups)."""
    _measure(climbs, centre, blur, m, state, near)
    near.top[:] = -1
    rows, groups = 0, 0
    while groups < limits.groups:
        g = np.argmin(near.distance)
        if near.distance[g] >= _ENDLESS or not _room_for(climbs, g, rows, limits, m, near):
            break
        near.distance[g] = _ENDLESS
        at = m.first[g]
        while at >= 0:
            near.rows[rows], near.weights[rows], near.price[rows] = at, weights[at], m.cost[g]
            near.former[rows] = groups
            near.codes[rows] = codes[at]
            rows, at = rows + 1, m.following[at]
        near.groups[groups] = g
        groups += 1
    return rows, groups


@inner
def _list_rows(climbs: Any, strides: Any, rows: int, near: Any) -> int:
    """List the rows by their boxes on some levels; returns how many boxes there are."""
    used, mask = 0, len(near.key) - 1
    for i in range(rows):
        key = np.int64(0)
        for j in range(len(strides)):
            key += climbs.node[j, near.levels[j], near.codes[i, j]] * strides[j]
        slot = spread(key) & mask
        while near.key[slot] != -1 and near.key[slot] != key:
            slot = (slot + 1) & mask
        if near.key[slot] == -1:
            near.key[slot], near.weight[slot], near.first[slot], near.used[used] = key, 0, -1, slot
            used += 1
        near.weight[slot] += near.weights[i]
        near.following[i], near.first[slot] = near.first[slot], i
    for u in range(used):
        near.key[near.used[u]] = -1
    return used


@lean
def _is_tight(climbs: Any, slot: int, near: Any) -> bool:
    """Whether no lower level of any attribute would hold the same rows."""
    first = near.first[slot]
    for j in range(len(near.levels)):
        if near.levels[j] == 0:
            continue
        below = climbs.node[j, near.levels[j] - 1]
        i = near.following[first]
        while i >= 0 and below[near.codes[i, j]] == below[near.codes[first, j]]:
            i = near.following[i]
        if i < 0:
            return False
    return True


@lean
def _keep_box(climbs: Any, slot: int, rows: int, dearest: float, boxes: int, near: Any) -> int:
    """Keep a box, if it is cheaper than the dearest group and no narrower one holds its rows; returns their number."""
    at, cost = near.begin[boxes], 0.0
    for j in range(len(near.levels)):
        cost += climbs.cost[j, near.levels[j], near.codes[near.first[slot], j]]
    if cost >= dearest or boxes == len(near.cost) or at + rows > len(near.members) or not _is_tight(climbs, slot, near):
        return boxes
    i = near.first[slot]
    while i >= 0:
        near.members[at] = i
        at, i = at + 1, near.following[i]
    near.cost[boxes], near.begin[boxes + 1] = cost, at
    return boxes + 1


@inner
def list_boxes(climbs: Any, strides: Any, least: int, rows: int, near: Any) -> int:
    """List all boxes that hold enough rows and are cheaper than the dearest group; returns how many there are."""
    boxes, dearest = 0, near.price[:rows].max()
    near.levels[:] = 0
    j = 0
    while j < len(near.levels):
        for u in range(_list_rows(climbs, strides, rows, near)):
            if near.weight[near.used[u]] >= least:
                boxes = _keep_box(climbs, near.used[u], rows, dearest, boxes, near)
        j = 0
        while j < len(near.levels) and near.levels[j] == near.top[j]:
            near.levels[j] = 0
            j += 1
        if j < len(near.levels):
            near.levels[j] += 1
    return boxes
