"""How likely each member of a group is to hold a value, group by group: exact, or a bound where states are too many.

Rows are in group order; group g has the rows ``starts[g] : starts[g + 1]``. Queries are about sets of values; a
member holds a set by holding one of its values. For the bound see `sfumato.kernel.linkage.swap`.
"""

from typing import Any

import numpy as np

from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.linkage.permanent import shares, states
from sfumato.kernel.linkage.swap import bounds


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


@inner
def _bounded(weight: Any, members: Any, held: Any, inside: Any, out: Any) -> float:
    """The bound for every set, ``inside[set, value]``, into ``out[type, set]``; returns the greatest."""
    top, part = 0.0, np.empty(len(weight))
    for s in range(len(inside)):
        bounds(weight, members, held, inside[s], part)
        for a in range(len(weight)):
            out[a, s] = part[a]
            top = max(top, part[a])
    return top


@inner
def _summed(part: Any, inside: Any, out: Any) -> None:
    """Probabilities of values as those of sets of them."""
    for a in range(len(part)):
        for s in range(len(inside)):
            total = 0.0
            for v in range(part.shape[1]):
                if inside[s, v]:
                    total += part[a, v]
            out[a, s] = min(1.0, total)


@kernel
def exposed(
    signature: Any, chance: Any, starts: Any, held: Any, sets: Any, limit: float, enough: float, bounded: Any, out: Any
) -> None:
    """``out[row, i]``: how likely a row holds a value of ``sets[i]`` (truth values), by ``chance[signature, value]``.

    ``held[group, value]`` says what each group holds. If there are more than ``limit`` states, or the bound is
    nowhere above ``enough``, ``out`` is the bound and the group is marked as ``bounded``.
    """
    mark, stamp = np.empty(len(chance), np.int64), np.full(len(chance), -1, np.int64)
    for g in range(len(held)):
        begin, end = starts[g], starts[g + 1]
        found, members = np.empty(end - begin, np.int64), np.zeros(end - begin, np.int64)
        types = 0
        # People of one signature are interchangeable: one type each. A stamp saves clearing ``mark`` for every group.
        for i in range(begin, end):
            s = signature[i]
            if stamp[s] != g:
                stamp[s], mark[s], found[types] = g, types, s
                types += 1
            members[mark[s]] += 1
        there = np.flatnonzero(held[g])
        weight, inside = np.empty((types, len(there))), np.empty((len(sets), len(there)), np.bool_)
        for j in range(len(there)):
            for a in range(types):
                weight[a, j] = chance[found[a], there[j]]
            for s in range(len(sets)):
                inside[s, j] = sets[s, there[j]]
        people, values, told = members[:types], held[g][there], np.empty((types, len(sets)))
        # Placing people on values or values on people gives the same shares: take the way with fewer states.
        by_people, by_values = states(values), states(people)
        bounded[g] = min(by_people, by_values) > limit
        if bounded[g] or enough > 0.0:
            bounded[g] = _bounded(weight, people, values, inside, told) <= enough or bounded[g]
        if not bounded[g]:
            part = np.empty((types, len(there)))
            _exact(weight, people, values, by_values < by_people, part)
            _summed(part, inside, told)
        for i in range(begin, end):
            for s in range(len(sets)):
                out[i, s] = told[mark[signature[i]], s]
