"""Bring rows into group order."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import kernel


@kernel
def _place(group_of_row: Any, sizes: Any, columns: Any, rows: Any) -> None:
    """Counting sort of the rows by group."""
    at = np.zeros(len(sizes), np.int64)
    for g in range(1, len(sizes)):
        at[g] = at[g - 1] + sizes[g - 1]
    for i in range(len(group_of_row)):
        g = group_of_row[i]
        for j in range(columns.shape[0]):
            rows[at[g], j] = columns[j, i]
        at[g] += 1


@kernel
def _shuffle(order: Any, words: Any) -> bool:
    """Fisher and Yates: each place gets a random one of those not yet placed; returns whether the words sufficed.

    A word w chooses among s by the upper half of w s; the few words that would cause a bias are skipped (Lemire).
    """
    at = 0
    for i in range(len(order) - 1, 0, -1):
        s = np.uint64(i + 1)
        while True:
            if at == len(words):
                return False
            product = np.uint64(words[at]) * s
            at += 1
            low = product & np.uint64(0xFFFFFFFF)
            if low >= s or low >= np.uint64(0x100000000) % s:
                break
        j = np.int64(product >> np.uint64(32))
        order[i], order[j] = order[j], order[i]
    return True


def shuffle(size: int, words: Callable[[int], NDArray[np.uint32]]) -> NDArray[np.int64]:
    """A uniform permutation of ``size`` items; ``words(n)`` returns n random 32-bit numbers.

    >>> shuffle(3, lambda n: np.full(n, 2**31 + 1, np.uint32)).tolist()
    [0, 2, 1]
    """
    while True:
        order = np.arange(size, dtype=np.int64)
        if _shuffle(order, words(size + size // 64 + 16)):
            return order


@kernel
def _count_sort(keys: Any, size: int, out: Any) -> None:
    ends = np.zeros(size + 1, np.int64)
    for key in keys:
        ends[key + 1] += 1
    for key in range(size):
        ends[key + 1] += ends[key]
    for i in range(len(keys)):
        out[ends[keys[i]]] = i
        ends[keys[i]] += 1


def sort_order(keys: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The stable order that sorts keys below ``size``: by counting if they are dense, otherwise by comparing.

    >>> sort_order(np.array([2, 0, 2, 1]), 3).tolist()
    [1, 3, 0, 2]
    """
    if size > 16 * len(keys) + 1024:
        return np.argsort(keys, kind="stable")
    out = np.empty(len(keys), np.int64)
    _count_sort(keys, size, out)
    return out


def by_group(
    columns: list[NDArray[Any]], group_of_row: NDArray[np.int64], groups: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The columns side by side, rows in group order, and where each group starts.

    >>> rows, starts = by_group([np.array([7, 8, 9])], np.array([1, 0, 1]), 2)
    >>> rows.ravel().tolist(), starts.tolist()
    ([8, 7, 9], [0, 1])
    """
    sizes = np.bincount(group_of_row, minlength=groups)
    matrix = np.stack(columns, dtype=np.result_type(*columns, np.uint16))  # one for nearly all tables: compiled once
    if matrix.shape[1] != len(group_of_row):  # the kernel would write beyond the end
        raise ValueError(f"{matrix.shape[1]} rows, but a group for each of {len(group_of_row)}")
    rows = np.empty((matrix.shape[1], matrix.shape[0]), matrix.dtype)
    _place(group_of_row, sizes, matrix, rows)
    return rows, np.cumsum(sizes) - sizes
