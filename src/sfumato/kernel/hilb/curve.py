"""The Hilbert curve in any dimension: one key per row, such that rows near on the curve are near in space."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import kernel

MOST_BITS = 64


@kernel
def _keys(columns: Any, bits: int, keys: Any) -> None:
    """Skilling's transpose of each point, its bits interleaved, counted from the end of the first axis."""
    d = columns.shape[0]
    x = np.zeros(d, np.uint64)
    one = np.uint64(1)
    for row in range(columns.shape[1]):
        for j in range(d):
            x[j] = np.uint64(columns[j, row])
        q = one << np.uint64(bits - 1)
        while q > one:  # undo how each sub-cube is reflected (invert) or turned (exchange), the largest first
            p = q - one
            for j in range(d):
                if x[j] & q:
                    x[0] ^= p
                else:
                    t = (x[0] ^ x[j]) & p
                    x[0] ^= t
                    x[j] ^= t
            q >>= one
        for j in range(1, d):  # Gray code: neighbours on the curve differ in one bit
            x[j] ^= x[j - 1]
        t = np.uint64(0)
        q = one << np.uint64(bits - 1)
        while q > one:
            if x[d - 1] & q:
                t ^= q - one
            q >>= one
        key = np.uint64(0)
        for b in range(bits - 1, -1, -1):
            for j in range(d):
                key = (key << one) | (((x[j] ^ t) >> np.uint64(b)) & one)
        keys[row] = ~key


def bits_needed(sizes: list[int]) -> int:
    """How many bits an axis needs; all axes get as many as the largest."""
    return max(1, max((size - 1).bit_length() for size in sizes))


def hilbert_keys(columns: list[NDArray[Any]], sizes: list[int]) -> NDArray[np.uint64]:
    """The position of each row on the curve that starts at the end of the first axis.

    >>> hilbert_keys([np.array([1, 1, 0, 0]), np.array([0, 1, 1, 0])], [2, 2]).argsort().tolist()
    [0, 1, 2, 3]
    """
    bits = bits_needed(sizes)
    if bits * len(columns) > MOST_BITS:
        raise OverflowError(f"{len(columns)} axes of {bits} bits do not fit {MOST_BITS}")
    keys = np.empty(len(columns[0]), np.uint64)
    stacked = np.stack([c.astype(np.uint32, copy=False) for c in columns])
    half = len(keys) // 2
    with ThreadPoolExecutor(2) as pool:
        parts = [(stacked[:, :half], keys[:half]), (stacked[:, half:], keys[half:])]
        list(pool.map(lambda part: _keys(part[0], bits, part[1]), parts))
    return keys
