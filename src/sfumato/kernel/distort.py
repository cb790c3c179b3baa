"""Products of many small matrices of the form a I + b J, applied along the axes of a table without building them.

A table of D cells is a flat array in row-major order; ``sizes`` are the lengths of its axes. What one pass along one
axis costs is linear in D, so a product over m axes costs m passes where the matrix itself would have D x D entries.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel


@inner
def blend(x: Any, size: int, stride: int, own: float, every: float) -> None:
    """In place: each cell becomes ``own`` times itself plus ``every`` times the sum along its axis."""
    block = size * stride
    if stride == 1:
        for base in range(0, len(x), block):
            total = 0.0
            for i in range(base, base + block):
                total += x[i]
            total *= every
            for i in range(base, base + block):
                x[i] = own * x[i] + total
        return
    sums = np.empty(stride)
    for base in range(0, len(x), block):
        sums[:] = 0.0
        for first in range(base, base + block, stride):
            for j in range(stride):
                sums[j] += x[first + j]
        for first in range(base, base + block, stride):
            for j in range(stride):
                x[first + j] = own * x[first + j] + every * sums[j]


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
def _replace(codes: Any, words: Any, share: int, size: int, out: Any) -> None:
    """Below ``share`` for each other value, the word chooses one of them; else the code stays."""
    changed = share * (size - 1)
    for i in range(len(codes)):
        word = np.int64(words[i])
        code = np.int64(codes[i])
        if word < changed:
            value = word // share
            code = value + (value >= code)
        out[i] = code


@kernel
def _replace_by(codes: Any, words: Any, ends: Any, out: Any) -> None:
    """The word falls into one of the stretches that the row of ``ends`` for the code divides 2^32 into."""
    for i in range(len(codes)):
        word = np.int64(words[i])
        row = ends[codes[i]]
        low, high = 0, len(row) - 1
        while low < high:
            middle = (low + high) // 2
            if word < row[middle]:
                high = middle
            else:
                low = middle + 1
        out[i] = low


def replaced(codes: NDArray[Any], words: NDArray[np.uint32], share: int, size: int) -> NDArray[Any]:
    """Each code stays, or becomes each of the others with probability ``share`` / 2^32, by random 32-bit words.

    >>> replaced(np.array([2, 2, 2]), np.array([0, 7, 2**32 - 1], np.uint32), 5, 3).tolist()
    [0, 1, 2]
    """
    out = np.empty_like(codes)
    _replace(codes, words, share, size, out)
    return out


def replaced_by(codes: NDArray[Any], words: NDArray[np.uint32], ends: NDArray[np.int64]) -> NDArray[Any]:
    """Each code ``v`` becomes the first ``u`` whose ``ends[v, u]`` is above its random 32-bit word.

    >>> replaced_by(np.array([0, 1]), np.array([5, 5], np.uint32), np.array([[2, 2**32], [9, 2**32]])).tolist()
    [1, 0]
    """
    out = np.empty_like(codes)
    _replace_by(codes, words, ends, out)
    return out
