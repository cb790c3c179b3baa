"""What share of a table agrees with each of its rows, on every set of axes.

Sets of axes are bits of an integer. The work grows with the rows and with 2 to the number of axes, not with the cells
that the axes span.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

_DIRECT = 1 << 15
_LINES = 2048


@inner
def _looked_up(keys: Any, weights: Any, held: Any, out: Any) -> None:
    """Add up equal keys, all of them below the length of ``held``."""
    held[:] = 0.0
    for i in range(len(keys)):
        held[keys[i]] += weights[i]
    for i in range(len(keys)):
        out[i] = held[keys[i]]


@inner
def _hashed(keys: Any, weights: Any, step: int, stamp: Any, held: Any, slots: Any, out: Any) -> None:
    """Add up equal keys in a hash table; ``step`` tells its entries from those of earlier calls."""
    bits = 0
    while (1 << bits) < len(held):
        bits += 1
    for i in range(len(keys)):
        mark = (np.int64(step) << 32) | np.int64(keys[i])
        at = np.int64((np.uint64(keys[i]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
        while stamp[at] != mark and stamp[at] >> 32 == step:
            at = (at + 1) & (len(held) - 1)
        if stamp[at] != mark:
            stamp[at], held[at] = mark, 0.0
        held[at] += weights[i]
        slots[i] = at
    for i in range(len(keys)):
        out[i] = held[slots[i]]


@kernel
def _agreeing(
    codes: Any, weights: Any, sizes: Any, fixed: int, keys: Any, stamp: Any, held: Any, slots: Any, out: Any
) -> None:
    """For each set of axes with or without the last one: a set extends the one without its lowest axis."""
    m, n = codes.shape
    spans = np.ones(m, np.int64)
    for i in range(n):
        keys[0, i] = codes[m - 1, i] * fixed
    if fixed:
        spans[0] = sizes[m - 1]
    for chosen in range(1 << (m - 1)):
        depth, k = 0, 0
        for axis in range(m - 1):
            depth += chosen >> axis & 1
        if chosen:
            while not chosen >> k & 1:
                k += 1
            spans[depth] = spans[depth - 1] * sizes[k]
            for i in range(n):
                keys[depth, i] = keys[depth - 1, i] * np.int32(sizes[k]) + codes[k, i]
        if spans[depth] <= _DIRECT:
            _looked_up(keys[depth], weights, held[: spans[depth]], out[chosen | (fixed << (m - 1))])
        else:
            _hashed(keys[depth], weights, chosen + 1, stamp, held, slots, out[chosen | (fixed << (m - 1))])


def agreeing(codes: Codes, weights: Floats, sizes: Ints) -> Floats:
    """For each bit set of axes and each row, the weight of the rows that have the same codes on these axes.

    ``codes`` has one line per axis; the axes span fewer than 2^31 cells.

    >>> agreeing(np.array([[0, 0], [0, 1]], np.int32), np.array([0.25, 0.75]), np.array([2, 2])).tolist()
    [[1.0, 1.0], [1.0, 1.0], [0.25, 0.75], [0.25, 0.75]]
    """
    m, n = codes.shape
    room = max(_DIRECT, 1 << (2 * n - 1).bit_length())
    out = np.empty((1 << m, n))

    def compute(fixed: int) -> None:
        keys, slots = np.empty((m, n), np.int32), np.empty(n, np.int32)
        _agreeing(codes, weights, sizes, fixed, keys, np.zeros(room, np.int64), np.empty(room), slots, out)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compute, (0, 1)))
    return out


@kernel
def _others(codes: Any, weights: Any, chosen: Any, first: Any, out: Any) -> None:
    """Count by the axes on which each row agrees with a chosen one, then add up over all larger sets of axes."""
    m, n = codes.shape
    same = np.empty(_LINES, np.int32)
    for t in range(len(chosen)):
        for start in range(0, n, _LINES):
            size = min(_LINES, n - start)
            same[:] = 0
            for k in range(m):
                line, own = codes[k, start : start + size], codes[k, chosen[t]]
                for i in range(size):
                    same[i] |= np.int32(line[i] == own) << np.int32(k)
            for k in range(m):
                line, below = codes[k, start : start + size], np.int32((1 << k) - 1)
                for i in range(size):  # those that agree here too are counted, which needs no branch, and dropped
                    low = (same[i] & below) | ((same[i] >> (k + 1)) << k)
                    out[t, first[k] + line[i], low] += weights[start + i]
        for k in range(m):
            out[t, first[k] + codes[k, chosen[t]]] = 0.0
        for row in range(out.shape[1]):
            for k in range(m - 1):
                for low in range(out.shape[2]):
                    if not low >> k & 1:
                        out[t, row, low] += out[t, row, low | (1 << k)]


def others(codes: Codes, weights: Floats, sizes: Ints, chosen: Ints) -> Floats:
    """For some rows, each axis and each code on it, one after the other: the weight of the rows that have this code
    there and agree with the row on a set of the other axes (numbered without that axis); 0 for the row's own code.

    >>> others(np.array([[0, 1], [0, 0]], np.int32), np.array([0.25, 0.75]), np.array([2, 2]), np.array([0])).tolist()
    [[[0.0, 0.0], [0.75, 0.75], [0.0, 0.0], [0.0, 0.0]]]
    """
    first = np.cumsum(np.append(0, sizes[:-1]))
    out = np.zeros((len(chosen), int(sizes.sum()), 1 << (len(sizes) - 1)))
    halves = np.array_split(np.arange(len(chosen)), 2)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda half: _others(codes, weights, chosen[half], first, out[half[:1].sum() :]), halves))
    return out
