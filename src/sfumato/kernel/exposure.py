"""How likely each member of a group is to hold a value, group by group: exact, or a bound where states are too many.

Rows come in group order, group g has the rows ``starts[g] : starts[g + 1]``. The bound is by swapping: the weight of
all ways in which i has the value and j has not is at most R times that of the ways with the two swapped, so that
p(i) <= max(1, R) p(j); and all p add up to how often the value is held.
"""

from typing import Any

import numpy as np

from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.permanent import shares, states


@inner
def _swapped(weight: Any, members: Any, held: Any, part: Any) -> None:
    """The bound: ``weight[type, value]``, ``members`` of each type, ``held`` of each value."""
    types, values = weight.shape
    for a in range(types):
        for x in range(values):
            total = 0.0
            for b in range(types):
                most = 0.0
                for v in range(values):
                    if v != x and weight[b, v] > 0.0:
                        most = max(most, weight[b, v] / weight[a, v] if weight[a, v] > 0.0 else np.inf)
                swap = weight[a, x] * most
                total += members[b] if swap <= weight[b, x] else members[b] * (weight[b, x] / swap)
            part[a, x] = min(1.0, held[x] / total) if weight[a, x] > 0.0 else 0.0


@inner
def _exact(weight: Any, members: Any, held: Any, flip: bool, part: Any) -> None:
    """Place one person after the other, states being how many of each value are given away; or, flipped, give away
    one value after the other, states being how many people of each type have one."""
    number, room = (held, members) if flip else (members, held)
    total = 0
    for i in range(len(number)):
        total += number[i]
    items = np.empty((total, len(room)))
    at = 0
    for i in range(len(number)):
        for _ in range(number[i]):
            for j in range(len(room)):
                items[at, j] = weight[j, i] if flip else weight[i, j]
            at += 1
    found = shares(items, room)
    at = 0
    for i in range(len(number)):
        for j in range(len(room)):
            if flip:
                part[j, i] = min(1.0, number[i] * found[at, j] / room[j])
            else:
                part[i, j] = found[at, j]
        at += number[i]


@kernel
def exposed(
    signature: Any, chance: Any, starts: Any, held: Any, wanted: Any, limit: float, bounded: Any, out: Any
) -> None:
    """``out[row, i]``: how likely a row holds the value ``wanted[i]``, by ``chance[signature, value]``.

    ``held[group, value]`` says what each group holds. Where there are more than ``limit`` states ``out`` is the bound,
    and the group is marked as ``bounded``.
    """
    mark, stamp = np.empty(len(chance), np.int64), np.full(len(chance), -1, np.int64)
    for g in range(len(held)):
        begin, end = starts[g], starts[g + 1]
        found, members = np.empty(end - begin, np.int64), np.zeros(end - begin, np.int64)
        types = 0
        for i in range(begin, end):
            s = signature[i]
            if stamp[s] != g:
                stamp[s], mark[s], found[types] = g, types, s
                types += 1
            members[mark[s]] += 1
        column, present, number = np.full(held.shape[1], -1, np.int64), np.empty(held.shape[1], np.int64), 0
        for v in range(held.shape[1]):
            if held[g, v] > 0:
                present[number], column[v] = held[g, v], number
                number += 1
        weight, part = np.empty((types, number)), np.empty((types, number))
        for a in range(types):
            for v in range(held.shape[1]):
                if column[v] >= 0:
                    weight[a, column[v]] = chance[found[a], v]
        people, values = members[:types], present[:number]
        by_people, by_values = states(values), states(people)
        bounded[g] = min(by_people, by_values) > limit
        if bounded[g]:
            _swapped(weight, people, values, part)
        else:
            _exact(weight, people, values, by_values < by_people, part)
        for i in range(begin, end):
            for at in range(len(wanted)):
                v = column[wanted[at]]
                out[i, at] = part[mark[signature[i]], v] if v >= 0 else 0.0
