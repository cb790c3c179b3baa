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
def _one_by_one(
    others: Any, axis: Any, m: int, part: Any, p: Any, seen: Any, rises: Any, moved: Any, slope: Any, wanted: bool
) -> float:
    """What the cells that differ on one axis add to the bound, less what the bound has for as many cells."""
    total = 0.0
    for i in range(len(axis)):
        k = axis[i]
        a = ((1 << m) - 1) ^ (1 << k)
        if p[a] == 0.0:
            continue
        more = 0.0
        moved[:] = 0.0
        for low in range(others.shape[1]):
            if others[i, low] == 0.0:
                continue
            b = _with(low, k)
            here = others[i, low] * part[b]
            more += here
            if wanted:
                for l in range(m):
                    moved[l] += here if b >> l & 1 else here * rises[1, l]
        if more == 0.0:
            continue
        old, new = p[a] * p[a] / seen[a], p[a] * p[a] / (seen[a] + more)
        total += new - old
        if wanted:
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
    rises, slope, moved = np.empty((2, m)), np.empty(m), np.empty(m)
    wanted = len(grad) > 0
    _weights(c, sizes, part, p, many, rises)
    for j in range(len(out)):
        _seen_at_least(near.agreeing[j], part, seen, m)
        total = 0.0
        slope[:] = 0.0
        moved[:] = 0.0
        for a in range(sets):
            if p[a] > 0.0:
                share = many[a] * p[a] * p[a] / seen[a]
                total += share
                if wanted:
                    _add_slopes(share, a, m, seen, 0.0, moved, rises, slope)
        if near.others.shape[1] > 0:
            total += _one_by_one(near.others[j], near.axis, m, part, p, seen, rises, moved, slope, wanted)
        out[j] = np.log(near.weight[j] * total)
        if wanted:
            for k in range(m):
                grad[j, k] = slope[k] / total


@kernel
def _agreeing(codes: Any, weights: Any, strides: Any, fixed: int, keys: Any, slots: Any, stamp: Any, held: Any,
              out: Any) -> None:  # fmt: skip
    """For each set of axes with or without the last one, hash the rows by their codes on it and add up equal ones."""
    n, m = codes.shape
    bits, last = 0, 0
    while (1 << bits) < len(held):
        bits += 1
    for i in range(n):
        keys[i] = codes[i, m - 1] * strides[m - 1] if fixed else np.int64(0)
    for step in range(1 << (m - 1)):
        chosen = step ^ (step >> 1)  # Gray's order: one axis comes or goes at a time
        for k in range(m - 1):
            if (chosen ^ last) >> k & 1:
                sign = strides[k] if chosen >> k & 1 else -strides[k]
                for i in range(n):
                    keys[i] += sign * codes[i, k]
        last = chosen
        for i in range(n):
            key = keys[i]
            at = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
            while stamp[at, 0] == step + 1 and stamp[at, 1] != key:
                at = (at + 1) & (len(held) - 1)
            if stamp[at, 0] != step + 1:
                stamp[at, 0], stamp[at, 1], held[at] = step + 1, key, 0.0
            held[at] += weights[i]
            slots[i] = at
        at_set = chosen | (fixed << (m - 1))
        for i in range(n):
            out[i, at_set] = held[slots[i]]


def agreeing(codes: NDArray[np.int64], weights: Floats, sizes: Ints) -> Floats:
    """For each row and bit set of axes, the weight of the rows that have the same codes on these axes.

    >>> agreeing(np.array([[0, 0], [0, 1]]), np.array([0.25, 0.75]), np.array([2, 2])).tolist()
    [[1.0, 1.0, 0.25, 0.25], [1.0, 1.0, 0.75, 0.75]]
    """
    n, m = codes.shape
    room = max(16, 1 << (2 * n - 1).bit_length())
    strides = np.cumprod(np.append(1, sizes[:-1])).astype(np.int64)
    out = np.empty((n, 1 << m))

    def compute(fixed: int) -> None:
        keys, slots = np.empty(n, np.int64), np.empty(n, np.int64)
        _agreeing(codes, weights, strides, fixed, keys, slots, np.zeros((room, 2), np.int64), np.zeros(room), out)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compute, (0, 1)))
    return out


@kernel
def _others(codes: Any, weights: Any, chosen: Any, first: Any, out: Any) -> None:
    """Count by the axes on which each row agrees with a chosen one, then add up over all larger sets of axes."""
    n, m = codes.shape
    for t in range(len(chosen)):
        x = codes[chosen[t]]
        for i in range(n):
            same = 0
            for k in range(m):
                if codes[i, k] == x[k]:
                    same |= 1 << k
            for k in range(m):
                if not same >> k & 1:
                    low = (same & ((1 << k) - 1)) | ((same >> (k + 1)) << k)
                    out[t, first[k, codes[i, k]], low] += weights[i]
        for row in range(out.shape[1]):
            for k in range(m - 1):
                for low in range(out.shape[2]):
                    if not low >> k & 1:
                        out[t, row, low] += out[t, row, low | (1 << k)]


def others(codes: NDArray[np.int64], weights: Floats, sizes: Ints, chosen: Ints) -> tuple[Floats, Ints]:
    """For some rows, ``Near.others`` and ``Near.axis``."""
    m, axis = codes.shape[1], np.zeros(0, np.int64)
    first = np.zeros((m, int(sizes.max())), np.int64)
    for k in range(m):
        there = np.unique(codes[:, k])
        first[k, there] = len(axis) + np.arange(len(there))
        axis = np.append(axis, np.full(len(there), k))
    out = np.zeros((len(chosen), len(axis), 1 << (m - 1)))
    halves = np.array_split(np.arange(len(chosen)), 2)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda half: _others(codes, weights, chosen[half], first, out[half[:1].sum() :]), halves))
    return out, axis
