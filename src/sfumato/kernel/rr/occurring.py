"""How well a draw is traced back to its cell, at most, from the cells that occur and not from the whole table.

The chance is a sum over all cells y that a draw from x may end in: (probability of y from x)² / (how often y is seen).
Cells that agree with x on the same axes A have the same probability, and each is seen at least as often as rows come
there that agree with x on some of A: ``T(A)``, a sum over the subsets B of A of what of the table agrees with x on B.
So the sum over 2^m sets of axes bounds the one over all cells. Cells that differ from x on one axis only have the
largest share in it; where a bound is not enough they are summed one by one (``Near``), which is exact.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BLOCK = 32


class Near(NamedTuple):
    """Functions of cells that occur: offset, value and shares as ``Limits`` has them, then what the bound needs.

    ``agreeing[j, B]``: the share of the table that agrees with cell j on the axes of the bit set B.
    ``others[j, i, B]``: the same for the cell that differs from j on ``axis[i]`` alone and has there the i-th of the
    codes that occur, for the sets B that contain the axis (without its bit); 0 for the code that j has itself.
    """

    offset: Floats
    value: Ints
    shares: Floats
    weight: Floats
    agreeing: Floats
    others: Floats
    axis: Ints


@inner
def _with(low: int, k: int) -> int:
    """A set of the other axes, numbered without axis k, with axis k."""
    below = low & ((1 << k) - 1)
    return ((low >> k) << (k + 1)) | (1 << k) | below


@inner
def _weights(c: Any, sizes: Any, part: Any, p: Any, many: Any, rises: Any) -> None:
    """By set of axes: the weight of those that agree on it, the probability of a cell that agrees on just it, how many
    such cells there are. By axis: how the logarithm of kept and of spread probability changes with log c."""
    m = len(sizes)
    part[0] = p[0] = many[0] = 1.0
    for k in range(m):
        q = (1.0 - c[k]) / sizes[k]
        rises[0, k] = c[k] * (1.0 - 1.0 / sizes[k]) / (c[k] + q)
        rises[1, k] = -c[k] / sizes[k] / q if q > 0.0 else 0.0
        for low in range(1 << k):
            high = low | (1 << k)
            part[high], p[high], many[high] = part[low] * c[k], p[low] * (c[k] + q), many[low]
            part[low], p[low], many[low] = part[low] * q, p[low] * q, many[low] * (sizes[k] - 1)


@inner
def _seen_at_least(agreeing: Any, part: Any, seen: Any, m: int) -> None:
    """T: for each set of axes, the sum over its subsets."""
    for b in range(len(seen)):
        seen[b] = agreeing[b] * part[b]
    for k in range(m):
        for b in range(len(seen)):
            if b >> k & 1:
                seen[b] += seen[b ^ (1 << k)]


@inner
def _add_slopes(share: float, a: int, m: int, seen: Any, more: float, moved: Any, rises: Any, slope: Any) -> None:
    """Add the slopes of one term; ``more`` and ``moved`` are what is seen beyond T(a), and its slopes."""
    total = seen[a] + more
    for k in range(m):
        if a >> k & 1:
            change = seen[a] - (1.0 - rises[1, k]) * seen[a ^ (1 << k)]
            slope[k] += share * (2.0 * rises[0, k] - (change + moved[k]) / total)
        else:
            slope[k] += share * (2.0 * rises[1, k] - (rises[1, k] * seen[a] + moved[k]) / total)


@inner
def _parts_by_axis(part: Any, m: int, out: Any) -> None:
    """The weights of sets that contain an axis, by axis and by the set of the others, numbered without that axis."""
    for k in range(m):
        for low in range(out.shape[1]):
            out[k, low] = part[_with(low, k)]


@inner
def _folded(here: Any, k: int, m: int, rises: Any, moved: Any) -> float:
    """The sum of ``here`` over the sets that contain axis k and its slopes; ``here`` is used up."""
    size = len(here)
    for low in range(m - 2, -1, -1):
        size //= 2
        with_it = 0.0
        for b in range(size):
            with_it += here[size + b]
            here[b] += here[size + b]
        moved[low if low < k else low + 1] = with_it
    total = here[0]
    for l in range(m):
        if l == k:
            moved[l] = total
        else:
            moved[l] += (total - moved[l]) * rises[1, l]
    return total


@inner
def _one_by_one(
    others: Any, axis: Any, m: int, parts: Any, p: Any, seen: Any, rises: Any, here: Any, slope: Any, wanted: bool
) -> float:
    """What the cells that differ on one axis add to the bound, less what the bound has for as many cells."""
    total = 0.0
    moved = np.zeros(m)
    for i in range(len(axis)):
        k = axis[i]
        a = ((1 << m) - 1) ^ (1 << k)
        if p[a] == 0.0:
            continue
        more = 0.0
        for low in range(len(here)):
            here[low] = others[i, low] * parts[k, low]
            more += here[low]
        if more == 0.0:
            continue
        old, new = p[a] * p[a] / seen[a], p[a] * p[a] / (seen[a] + more)
        total += new - old
        if wanted:
            _folded(here, k, m, rises, moved)
            _add_slopes(new, a, m, seen, more, moved, rises, slope)
            moved[:] = 0.0
            _add_slopes(-old, a, m, seen, 0.0, moved, rises, slope)
    return total


@inner
def traced_at_most(c: Any, sizes: Any, near: Any, out: Any, grad: Any) -> None:
    """The logarithm of the bound for each function and, where ``grad`` has rows, its gradient by log c."""
    m = len(sizes)
    sets = 1 << m
    part, p, many, seen = np.empty(sets), np.empty(sets), np.empty(sets), np.empty(sets)
    parts, here = np.empty((m, sets // 2)), np.empty(sets // 2)
    rises, slope, moved = np.empty((2, m)), np.empty(m), np.zeros(m)
    wanted = len(grad) > 0
    _weights(c, sizes, part, p, many, rises)
    _parts_by_axis(part, m, parts)
    for j in range(len(out)):
        _seen_at_least(near.agreeing[j], part, seen, m)
        total = 0.0
        slope[:] = 0.0
        for a in range(sets):
            if p[a] > 0.0:
                share = many[a] * p[a] * p[a] / seen[a]
                total += share
                if wanted:
                    _add_slopes(share, a, m, seen, 0.0, moved, rises, slope)
        total += _one_by_one(near.others[j], near.axis, m, parts, p, seen, rises, here, slope, wanted)
        out[j] = np.log(near.weight[j] * total)
        if wanted:
            for k in range(m):
                grad[j, k] = slope[k] / total


@inner
def _over_subsets(seen: Any) -> None:
    """In blocks of rows, one block per set of axes: the sum over its subsets."""
    half = _BLOCK
    while half < len(seen):
        for at in range(0, len(seen), 2 * half):
            low, high = seen[at : at + half], seen[at + half : at + 2 * half]
            for i in range(half):
                high[i] += low[i]
        half *= 2


@kernel
def _traced_roughly(c: Any, sizes: Any, agreeing: Any, weight: Any, first: int, last: int, out: Any) -> None:
    """The bound without single cells for a range of rows, many side by side."""
    m, sets = len(sizes), len(agreeing)
    part, p, many, rises = np.empty(sets), np.empty(sets), np.empty(sets), np.empty((2, m))
    _weights(c, sizes, part, p, many, rises)
    seen, total = np.ones(sets * _BLOCK), np.empty(_BLOCK)
    for start in range(first, last, _BLOCK):
        size = min(_BLOCK, last - start)
        for b in range(sets):  # lines are sliced, since indices that count from 0 vectorize
            here, line = seen[b * _BLOCK : (b + 1) * _BLOCK], agreeing[b, start : start + size]
            for i in range(size):
                here[i] = line[i] * part[b]
        _over_subsets(seen)
        total[:] = 0.0
        for a in range(sets):
            if p[a] > 0.0:
                here = seen[a * _BLOCK : (a + 1) * _BLOCK]
                np.divide(many[a] * p[a] * p[a], here, here)  # not tested for 0, which it never is
                total += here
        for i in range(size):
            out[start + i] = np.log(weight[start + i] * total[i])


def traced_roughly(c: Floats, sizes: Ints, agreeing: Floats, weight: Floats) -> Floats:
    """The logarithm of the bound for every row of the table; ``agreeing`` as ``kernel.rr.agreement`` counts it."""
    out = np.empty(len(weight))
    middle = len(weight) // 2

    def compute(first: int, last: int) -> None:
        _traced_roughly(c, sizes, agreeing, weight, first, last, out)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compute, (0, middle), (middle, len(weight))))
    return out
