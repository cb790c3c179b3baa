"""Bring rows into group order."""

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


def by_group(
    columns: list[NDArray[Any]], group_of_row: NDArray[np.int64], groups: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The columns side by side, rows in group order, and where each group starts.

    >>> rows, starts = by_group([np.array([7, 8, 9])], np.array([1, 0, 1]), 2)
    >>> rows.ravel().tolist(), starts.tolist()
    ([8, 7, 9], [0, 1])
    """
    sizes = np.bincount(group_of_row, minlength=groups)
    matrix = np.stack(columns)
    rows = np.empty((matrix.shape[1], matrix.shape[0]), matrix.dtype)
    _place(group_of_row, sizes, matrix, rows)
    return rows, np.cumsum(sizes) - sizes
