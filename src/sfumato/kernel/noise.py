"""Products of many small matrices of the form a I + b J, applied along the axes of a table without building them.

A table of D cells is a flat array in row-major order; ``sizes`` are the lengths of its axes. One pass along one
axis costs O(D), so a product over m axes costs m passes, whereas the matrix itself would have D x D entries.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel


@inner
def blend(x: Any, size: int, stride: int, own: float, every: float) -> None:
    """In place: each cell becomes ``own`` times itself plus ``every`` times the sum along its axis."""
    cells = x.reshape((len(x) // (size * stride), size, stride))  # indices that count from 0 vectorize
    if stride == 1:  # the last axis: cells of one line lie side by side
        for base in range(len(cells)):
            total = 0.0
            for i in range(size):
                total += cells[base, i, 0]
            total *= every
            for i in range(size):
                cells[base, i, 0] = own * cells[base, i, 0] + total
        return
    sums = np.empty(stride)
    for base in range(len(cells)):
        sums[:] = 0.0
        for i in range(size):
            for j in range(stride):
                sums[j] += cells[base, i, j]
        for i in range(size):
            for j in range(stride):
                cells[base, i, j] = own * cells[base, i, j] + every * sums[j]


@inner
def spread(x: Any, sizes: Any, own: Any, every: Any) -> None:
    """In place: the product over all axes."""
    stride = len(x)
    for k in range(len(sizes)):
        stride //= sizes[k]
        blend(x, sizes[k], stride, own[k], every[k])


@kernel
def _product(x: Any, sizes: Any, own: Any, every: Any) -> None:
    spread(x, sizes, own, every)


def product(
    x: NDArray[np.float64], sizes: NDArray[np.int64], own: NDArray[np.float64], every: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The product of the matrices ``own[k] I + every[k] J`` along all axes with the table ``x``.

    >>> product(np.array([1.0, 2.0]), np.array([2]), np.array([3.0]), np.array([10.0])).tolist()
    [33.0, 36.0]
    """
    out = x.copy()
    _product(out, sizes, own, every)
    return out


@kernel
def _replace(codes: Any, noise: Any, share: int, size: int, out: Any, first: int) -> tuple[int, int]:
    """A 32-bit word below ``share`` times the number of other values chooses one of them; otherwise the code stays.

    The word is read byte by byte, and only as far as it matters: mostly one byte decides that the code stays, and two
    decide which other value it becomes. Stops when the noise runs out; returns how many codes are done and how much
    noise was read.
    """
    changed = share * (size - 1)
    top = changed >> 24  # a first byte above this decides alone: the whole word cannot be below ``changed``
    at = 0
    for i in range(first, len(codes)):
        if at + 4 > len(noise):
            return i, at
        code = np.int64(codes[i])
        word = np.int64(noise[at])
        at += 1
        if word <= top:
            word = (word << 24) | (np.int64(noise[at]) << 16)  # the least word that begins so
            at += 1
            if word < changed:
                value = word // share
                if word + 0xFFFF >= min((value + 1) * share, changed):  # the greatest may decide otherwise
                    word |= (np.int64(noise[at]) << 8) | np.int64(noise[at + 1])
                    at += 2
                    value = word // share
                if word < changed:
                    code = value + (value >= code)  # the values other than the code, numbered without it
        out[i] = code
    return len(codes), at


@kernel
def _replace_by(codes: Any, noise: Any, ends: Any, out: Any) -> None:
    """A 32-bit word falls into one of the intervals that the code's row of ``ends`` divides 2^32 into."""
    for i in range(len(codes)):
        word = np.int64(0)
        for b in range(4):
            word = (word << 8) | np.int64(noise[4 * i + b])
        row = ends[codes[i]]
        low, high = 0, len(row) - 1
        while low < high:
            middle = (low + high) // 2
            if word < row[middle]:
                high = middle
            else:
                low = middle + 1
        out[i] = low


Noise = Callable[[int], NDArray[np.uint8]]
"""Returns that many fresh random bytes."""


def replaced(codes: NDArray[Any], noise: Noise, share: int, size: int) -> NDArray[Any]:
    """Each code stays, or becomes each of the others with probability ``share`` / 2^32, exactly.

    >>> zeros = lambda n: np.zeros(n, np.uint8)
    >>> replaced(np.array([2, 0], np.uint8), zeros, 5, 3).tolist()
    [0, 1]
    """
    out = np.empty_like(codes)
    first_open = min(1.0, (share * (size - 1) / 2**24 + 1) / 2**8)
    open_bytes = 1 + first_open + 2 * min(first_open, size / 2**16)
    done = 0
    while done < len(codes):
        left = len(codes) - done
        done, _ = _replace(codes, noise(int(left * open_bytes) + 1024), share, size, out, done)
    return out


def replaced_by(codes: NDArray[Any], noise: Noise, ends: NDArray[np.int64]) -> NDArray[Any]:
    """Each code ``v`` becomes the first ``u`` whose ``ends[v, u]`` is above its random 32-bit word.

    >>> ones = lambda n: np.ones(n, np.uint8)
    >>> replaced_by(np.array([0, 1]), ones, np.array([[2, 2**32], [2**25, 2**32]])).tolist()
    [1, 0]
    """
    out = np.empty_like(codes)
    _replace_by(codes, noise(4 * len(codes)), ends, out)
    return out
