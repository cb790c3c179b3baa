"""Adopt groups of another solution wherever that makes labels cheaper in all.

The rows of the other's group leave the groups that they are in. Of these groups, those that keep too few rows are
broken up: the rows that are left over become one group if they are enough and that saves something, else each joins
the group where it costs least. If that saves nothing, all is put back.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import kernel, lean
from sfumato.kernel.local_recoding.move import add, cheapest, drop, relocate_and_dissolve, widen


class Change(NamedTuple):
    """What an adoption changes. By group: the weight that it gives. The ``givers`` and how many; ``marked`` rows are
    adopted. The rows that left a group, the group of each then, and how many of them.
    """

    given: NDArray[np.int64]
    givers: NDArray[np.int64]
    marked: NDArray[np.bool_]
    rows: NDArray[np.int64]
    former: NDArray[np.int64]
    number: NDArray[np.int64]


def make_change(rows: int, groups: int) -> Change:
    """Nothing is changed yet."""
    return Change(
        given=np.zeros(groups + 1, np.int64),
        givers=np.zeros(groups + 1, np.int64),
        marked=np.zeros(rows, np.bool_),
        rows=np.zeros(rows, np.int64),
        former=np.zeros(rows, np.int64),
        number=np.zeros(1, np.int64),
    )


@lean
def _mark(weights: Any, adopted: Any, group: Any, change: Any) -> int:
    """Mark the rows, and note what each group gives; returns how many groups give rows."""
    givers = 0
    for i in adopted:
        change.marked[i] = True
        if change.given[group[i]] == 0:
            change.givers[givers] = group[i]
            givers += 1
        change.given[group[i]] += weights[i]
    return givers


@lean
def _unmark(adopted: Any, givers: int, change: Any) -> None:
    """Forget marks and givers."""
    for i in adopted:
        change.marked[i] = False
    for t in range(givers):
        change.given[change.givers[t]] = 0


@lean
def _box_cost(climbs: Any, codes: Any, weights: Any, adopted: Any, m: Any) -> float:
    """What the rows cost together in a group of their own; the draft gets its box."""
    draft = len(m.size) - 1
    m.size[draft] = 0
    for i in adopted:
        widen(climbs, codes, i, draft, m)
        m.size[draft] += weights[i]
    return m.cost[draft] * m.size[draft]


@lean
def _most(givers: int, m: Any, change: Any) -> float:
    """What could be saved at best, before the new group's own cost: all that the givers cost."""
    most = 0.0
    for t in range(givers):
        most += m.cost[change.givers[t]] * m.size[change.givers[t]]
    return most


@lean
def _leave(climbs: Any, codes: Any, weights: Any, least: int, g: int, group: Any, m: Any, change: Any) -> float:
    """Let the marked rows leave a group, and all of them if too few stay; returns what is saved."""
    before, broken = m.cost[g] * m.size[g], m.size[g] - change.given[g] < least
    at, m.first[g], m.size[g], m.cost[g] = m.first[g], -1, 0, 0.0
    while at >= 0:
        following = m.following[at]
        if broken or change.marked[at]:
            change.rows[change.number[0]], change.former[change.number[0]] = at, g
            change.number[0] += 1
        else:
            add(climbs, codes, weights, at, g, group, m)
        at = following
    return before - m.cost[g] * m.size[g]


@lean
def _put_back(climbs: Any, codes: Any, weights: Any, settled: int, group: Any, m: Any, change: Any) -> None:
    """Undo the change; the first so many leftovers, and all marked rows, are in other groups now."""
    leftovers = 0
    for t in range(change.number[0]):
        i = change.rows[t]
        leftovers += not change.marked[i]
        if change.marked[i] or leftovers <= settled:
            drop(climbs, codes, weights, i, group[i], group, m)
    for t in range(change.number[0]):
        add(climbs, codes, weights, change.rows[t], change.former[t], group, m)


@lean
def free_group(m: Any) -> int:
    """A group without rows; there is always one."""
    g = 0
    while m.size[g] > 0:
        g += 1
    return g


@lean
def _seat(climbs: Any, codes: Any, weights: Any, saved: float, slack: float, group: Any, m: Any, change: Any) -> int:
    """Let leftovers join groups while something is saved: how many did, or -1 if all did."""
    settled = 0
    for t in range(change.number[0]):
        i = change.rows[t]
        if change.marked[i]:
            continue
        target, cost = cheapest(climbs, codes, weights, i, -1, saved - slack, m)
        if target < 0:
            return settled
        add(climbs, codes, weights, i, target, group, m)
        saved -= cost
        settled += 1
    return -1 if saved > slack else settled


@lean
def _gather(
    climbs: Any, codes: Any, weights: Any, least: int, saved: float, slack: float, group: Any, m: Any, change: Any
) -> bool:  # fmt: skip
    """Make the leftovers one group, if they are enough and something is still saved; returns whether it was made."""
    draft = len(m.size) - 1
    m.size[draft] = 0
    for t in range(change.number[0]):
        i = change.rows[t]
        if not change.marked[i]:
            widen(climbs, codes, i, draft, m)
            m.size[draft] += weights[i]
    if m.size[draft] < least or saved - m.cost[draft] * m.size[draft] <= slack:
        return False
    new = free_group(m)
    for t in range(change.number[0]):
        if not change.marked[change.rows[t]]:
            add(climbs, codes, weights, change.rows[t], new, group, m)
    return True


@lean
def adopt_rows(
    climbs: Any, codes: Any, weights: Any, least: int, slack: float, adopted: Any, group: Any, m: Any, change: Any
) -> bool:  # fmt: skip
    """Make these rows a group, if it saves more than ``slack`` in all; returns whether it did."""
    cost = _box_cost(climbs, codes, weights, adopted, m)
    givers = _mark(weights, adopted, group, change)
    better = _most(givers, m, change) - cost > slack
    if better:
        change.number[0] = 0
        saved, new = -cost, free_group(m)
        for t in range(givers):
            saved += _leave(climbs, codes, weights, least, change.givers[t], group, m, change)
        for i in adopted:
            add(climbs, codes, weights, i, new, group, m)
        better = _gather(climbs, codes, weights, least, saved, slack, group, m, change)
        if not better:
            settled = _seat(climbs, codes, weights, saved, slack, group, m, change)
            better = settled < 0
            if not better:
                _put_back(climbs, codes, weights, settled, group, m, change)
    _unmark(adopted, givers, change)
    return better


@kernel
def adopt(
    climbs: Any, codes: Any, weights: Any, least: int, slack: float, sweeps: int, order: Any, begin: Any, group: Any,
    m: Any, change: Any,
) -> int:  # fmt: skip
    """Try the groups ``order[begin[g] : begin[g + 1]]`` of another solution, then moves if some were adopted.

    ``group`` and ``m`` are changed; returns how many groups were adopted.
    """
    adopted = 0
    for g in range(len(begin) - 1):
        rows = order[begin[g] : begin[g + 1]]
        adopted += adopt_rows(climbs, codes, weights, least, slack, rows, group, m, change)
    if adopted > 0:
        relocate_and_dissolve(climbs, codes, weights, least, slack, sweeps, group, m)
    return adopted
