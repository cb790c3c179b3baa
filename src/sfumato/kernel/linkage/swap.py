"""Certified upper bounds of how likely each member of a group holds one of a set of values, by exchanging two members.

Members come in types; ``weight[type, value]`` is the chance of a value, ``members`` how many there are of each type,
``held`` how often the group holds each value, ``inside`` which values are in the set X; m of the values held are.
A way in which t has x of X and u has v outside X weighs R(t, u) times the way with the two exchanged, where R is at
most A(t, u) w(u, v) / w(t, v), A(t, u) = max over X of w(t, x) / w(u, x). Two bounds follow, and the lesser is taken.

1. p(t) <= max(1, R(t, u)) p(u), with the greatest R over all v; and the p(u) add up to m.
2. Given t in X, all copies of v are with others: p(t in X) held[v] = sum over u of p(t in X, u: v), which is at most
   p(t: v) times the sum over u of R p(u in X | t: v). Those conditional probabilities add up to m, and each has
   the first bound in the group without t; the greatest sum S(v) that allows gives p(t: v) >= p(t in X) held[v] / S(v).
   All p(t: v) and p(t in X) add up to 1.
"""

from typing import Any

import numpy as np

from sfumato.kernel.jit import inner

MOST_TYPES = 1_000
"""Up to how many types of members the second bound is taken; it keeps two numbers for each pair of types."""

_LEAST = 1e-290


@inner
def _gain(weight: Any, inside: Any, a: int, b: int) -> float:
    """A(a, b): how much likelier a is to have a value of the set than b; infinite if b cannot have one that a can."""
    gain = 0.0
    for v in range(weight.shape[1]):
        if inside[v] and weight[a, v] > 0.0:
            gain = max(gain, weight[a, v] / weight[b, v] if weight[b, v] > 0.0 else np.inf)
    return gain


@inner
def _even(weight: Any, inside: Any, a: int, b: int, gain: float) -> float:
    """min(1, 1 / R(a, b)), R with the worst value outside the set."""
    swap = 0.0
    for v in range(weight.shape[1]):
        if not inside[v] and weight[b, v] > 0.0:
            swap = max(swap, weight[b, v] / weight[a, v] if weight[a, v] > 0.0 else np.inf)
    if gain == 0.0 or swap == 0.0 or gain * swap <= 1.0:
        return 1.0
    return 1.0 / (gain * swap)


@inner
def _can(weight: Any, inside: Any, a: int) -> bool:
    """Whether a can have a value of the set at all."""
    number = 0
    for v in range(weight.shape[1]):
        if inside[v] and weight[a, v] > 0.0:
            number += 1
    return number > 0


@inner
def _most(rate: Any, room: Any, cap: Any, m: float) -> float:
    """The greatest sum of rates by shares that add up to m, at most ``cap`` for each of the ``room`` members."""
    total, left = 0.0, m
    # a fractional knapsack: the best is to fill up the greatest rates first
    for b in np.argsort(-rate):
        if room[b] == 0.0:
            continue
        if rate[b] == np.inf:
            return np.inf
        part = min(left, room[b] * cap[b])
        total += part * rate[b]
        left -= part
        if left <= 0.0:
            break
    return total


@inner
def _second(
    weight: Any, members: Any, held: Any, inside: Any, m: float, a: int, gain: Any, even: Any, sums: Any
) -> float:
    """The second bound for a member of type a."""
    types, values = weight.shape
    rate, room, cap = np.empty(types), np.empty(types), np.empty(types)
    for b in range(types):
        room[b] = members[b] - 1.0 if a == b else members[b]
        cap[b] = min(1.0, m / max(sums[b] - even[b, a], _LEAST))
    others = 0.0
    for v in range(values):
        if inside[v] or weight[a, v] == 0.0:
            continue
        for b in range(types):
            rate[b] = gain[a, b] * (weight[b, v] / weight[a, v]) if weight[b, v] > 0.0 else 0.0
        most = _most(rate, room, cap, m)
        if most > _LEAST:
            others += held[v] / most
    return 1.0 / (1.0 + others)


@inner
def bounds(weight: Any, members: Any, held: Any, inside: Any, out: Any) -> None:
    """``out[type]``: a certified upper bound of the probability that a member of the type holds a value of the set."""
    types, m, n = len(weight), 0.0, 0.0
    for v in range(len(held)):
        n += held[v]
        if inside[v]:
            m += held[v]
    pairs = types if types <= MOST_TYPES else 0
    gain, even, sums = np.empty((pairs, pairs)), np.empty((pairs, pairs)), np.zeros(types)
    for a in range(types):
        for b in range(types):
            up = _gain(weight, inside, a, b)
            same = _even(weight, inside, a, b, up)
            sums[a] += members[b] * same
            if pairs:
                gain[a, b], even[a, b] = up, same
    for a in range(types):
        if m == 0.0 or not _can(weight, inside, a):
            out[a] = 0.0
            continue
        out[a] = min(1.0, m / sums[a])
        if pairs and m < n:
            out[a] = min(out[a], _second(weight, members, held, inside, m, a, gain, even, sums))
