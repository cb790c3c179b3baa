"""Move rows between finished groups, and dissolve groups, wherever that makes labels cheaper in all.

A group shows one node per attribute: the level on which its codes meet, and one of these codes. A row that joins raises
the levels until the nodes agree.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel, lean
from sfumato.kernel.local_recoding.chain import shift_along_chains, unlink

_ENDLESS = 1e300
_MOST_FITTING = 20_000_000


class Climbs(NamedTuple):
    """By attribute, level and code: the number of the node, and what it costs; attributes with fewer are padded."""

    node: NDArray[np.int64]
    cost: NDArray[np.float64]


class Members(NamedTuple):
    """By group: level and code of each attribute, cost, size, and its first row; by row: the next one of its group."""

    level: NDArray[np.int64]
    code: NDArray[np.int64]
    cost: NDArray[np.float64]
    size: NDArray[np.int64]
    first: NDArray[np.int64]
    following: NDArray[np.int64]


def make_members(rows: int, groups: int, attributes: int) -> Members:
    """Groups without rows."""
    return Members(
        level=np.zeros((groups + 1, attributes), np.int64),  # the last one is a draft
        code=np.zeros((groups + 1, attributes), np.int64),
        cost=np.zeros(groups + 1),
        size=np.zeros(groups + 1, np.int64),
        first=np.full(groups + 1, -1),
        following=np.full(rows, -1),
    )


@lean
def widen(climbs: Any, codes: Any, i: int, g: int, m: Any) -> None:
    """Let the box of a group, which may have none yet, take in a row's codes."""
    m.cost[g] = 0.0
    for j in range(codes.shape[1]):
        if m.size[g] == 0:
            m.level[g, j], m.code[g, j] = 0, codes[i, j]
        level = m.level[g, j]
        while climbs.node[j, level, m.code[g, j]] != climbs.node[j, level, codes[i, j]]:
            level += 1
        m.level[g, j] = level
        m.cost[g] += climbs.cost[j, level, m.code[g, j]]


@lean
def add(climbs: Any, codes: Any, weights: Any, i: int, g: int, group: Any, m: Any) -> None:
    """Put a row into a group."""
    widen(climbs, codes, i, g, m)
    m.size[g] += weights[i]
    m.following[i] = m.first[g]
    m.first[g] = i
    group[i] = g


@lean
def drop(climbs: Any, codes: Any, weights: Any, i: int, g: int, group: Any, m: Any) -> None:
    """Take a row out of a group, whose box may become smaller."""
    at, m.first[g], m.size[g], m.cost[g] = m.first[g], -1, 0, 0.0
    while at >= 0:
        following = m.following[at]
        if at != i:
            add(climbs, codes, weights, at, g, group, m)
        at = following


@lean
def _remove(climbs: Any, codes: Any, weights: Any, i: int, g: int, m: Any) -> None:
    """Take a row out of a group whose box without it is the draft."""
    unlink(weights, i, g, m)
    m.cost[g] = m.cost[-1]
    for j in range(codes.shape[1]):
        m.level[g, j], m.code[g, j] = m.level[-1, j], m.code[-1, j]


@lean
def _cost_without(climbs: Any, codes: Any, weights: Any, i: int, g: int, m: Any) -> float:
    """What the box of a group costs without one of its rows; the draft gets that box."""
    draft = len(m.size) - 1
    m.size[draft] = 0
    at = m.first[g]
    while at >= 0:
        if at != i:
            widen(climbs, codes, at, draft, m)
            m.size[draft] += weights[at]
        at = m.following[at]
    return m.cost[draft]


@lean
def cheapest(climbs: Any, codes: Any, weights: Any, i: int, but: int, limit: float, m: Any) -> Any:
    """The group that a row joins at the least cost in all, below a limit: (group or -1, cost)."""
    best, least = -1, limit
    for g in range(len(m.size) - 1):
        if m.size[g] == 0 or g == but:
            continue
        now, size = m.cost[g] * m.size[g], m.size[g] + weights[i]
        most = (least + now) / size  # a box that costs as much is no better
        cost = 0.0
        for j in range(codes.shape[1]):
            level, code = m.level[g, j], m.code[g, j]
            while climbs.node[j, level, code] != climbs.node[j, level, codes[i, j]]:
                level += 1
            cost += climbs.cost[j, level, code]
            if cost >= most:
                break
        if cost < most:
            best, least = g, cost * size - now
    return best, least


@lean
def _relocate(climbs: Any, codes: Any, weights: Any, least: int, slack: float, group: Any, m: Any) -> int:
    """Move each row that its group can spare to where it costs least; returns how many moved."""
    moved = 0
    for i in range(len(group)):
        g = group[i]
        if m.cost[g] == 0.0 or m.size[g] - weights[i] < least:
            continue
        rest = _cost_without(climbs, codes, weights, i, g, m) * (m.size[g] - weights[i])
        target, _ = cheapest(climbs, codes, weights, i, g, m.cost[g] * m.size[g] - rest - slack, m)
        if target >= 0:
            _remove(climbs, codes, weights, i, g, m)
            add(climbs, codes, weights, i, target, group, m)
            moved += 1
    return moved


@lean
def _could_dissolve(climbs: Any, codes: Any, weights: Any, slack: float, g: int, m: Any) -> bool:
    """Whether the rows of a group cost less elsewhere, each by itself."""
    left = m.cost[g] * m.size[g] - slack
    at = m.first[g]
    while at >= 0 and left > 0.0:
        target, cost = cheapest(climbs, codes, weights, at, g, left, m)
        left = left - cost if target >= 0 else -1.0
        at = m.following[at]
    return m.size[g] > 0 and left > 0.0


@inner
def _give_up(climbs: Any, codes: Any, weights: Any, slack: float, g: int, group: Any, m: Any) -> bool:
    """Let the rows of a group join others, one after the other; all return if together they cost no less there."""
    left, number = m.cost[g] * m.size[g] - slack, 0
    at = m.first[g]
    while at >= 0:
        number, at = number + 1, m.following[at]
    rows = np.empty(number, np.int64)
    at = m.first[g]
    for t in range(number):
        rows[t], at = at, m.following[at]
    m.first[g], m.size[g], m.cost[g] = -1, 0, 0.0
    for i in rows:
        target, cost = cheapest(climbs, codes, weights, i, g, _ENDLESS, m)
        add(climbs, codes, weights, i, target, group, m)
        left -= cost
    if left > 0.0:
        return True
    for i in rows:
        drop(climbs, codes, weights, i, group[i], group, m)
    for i in rows[::-1]:
        add(climbs, codes, weights, i, g, group, m)
    return False


@inner
def _dissolve(climbs: Any, codes: Any, weights: Any, slack: float, group: Any, m: Any) -> int:
    """Give up each group whose rows cost less elsewhere; returns how many were given up."""
    dissolved = 0
    for g in range(len(m.size) - 1):
        if _could_dissolve(climbs, codes, weights, slack, g, m):
            dissolved += _give_up(climbs, codes, weights, slack, g, group, m)
    return dissolved


@inner
def relocate_and_dissolve(
    climbs: Any, codes: Any, weights: Any, least: int, slack: float, sweeps: int, group: Any, m: Any
) -> int:  # fmt: skip
    """Sweep over all rows and groups, as long as something changes; returns the sweeps made."""
    for sweep in range(sweeps):
        changed = _relocate(climbs, codes, weights, least, slack, group, m)
        changed += _dissolve(climbs, codes, weights, slack, group, m)
        if changed == 0:
            changed = shift_along_chains(climbs, codes, weights, least, slack, _MOST_FITTING, group, m)
            if changed == 0:
                return sweep + 1
            m.size[:], m.first[:], m.cost[:] = 0, -1, 0.0
            _add_all(climbs, codes, weights, group, m)
    return sweeps


@lean
def _add_all(climbs: Any, codes: Any, weights: Any, group: Any, m: Any) -> None:
    """Put all rows into their groups, which are empty."""
    for i in range(len(group) - 1, -1, -1):
        add(climbs, codes, weights, i, group[i], group, m)


@kernel
def enter(climbs: Any, codes: Any, weights: Any, group: Any, m: Any) -> None:
    """Put all rows into their groups, which are empty."""
    _add_all(climbs, codes, weights, group, m)


@kernel
def move(
    climbs: Any, codes: Any, weights: Any, least: int, slack: float, sweeps: int, group: Any, m: Any
) -> int:  # fmt: skip
    """Move rows that were entered; ``group`` is changed. Returns the sweeps made.

    A change must save more than ``slack``, so that rounding does not move rows to and fro.
    """
    return relocate_and_dissolve(climbs, codes, weights, least, slack, sweeps, group, m)
