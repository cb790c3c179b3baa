"""Count the values of each group in a table with a cell for every group and value."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import kernel


class ValueCounts(NamedTuple):
    """Of each group the rows, those with its most frequent value and the sum of squares over its values; of each value
    the rows."""

    size: NDArray[np.int64]
    most: NDArray[np.int64]
    squares: NDArray[np.float64]
    of_value: NDArray[np.int64]


@kernel
def _count(group: Any, value: Any, cells: Any) -> None:
    for row in range(len(group)):
        cells[group[row], value[row]] += 1


@kernel
def _summarize(cells: Any, size: Any, most: Any, squares: Any, of_value: Any) -> None:
    for g in range(cells.shape[0]):
        rows, top, square = np.int64(0), np.int64(0), 0.0
        for v in range(cells.shape[1]):
            held = np.int64(cells[g, v])
            rows += held
            top = max(top, held)
            square += np.float64(held * held)
            of_value[v] += held
        size[g], most[g], squares[g] = rows, top, square


@kernel
def _shares(size: Any, most: Any, squares: Any) -> Any:
    certain, worst, linked = 0, 0.0, 0.0
    for g in range(len(size)):
        if size[g]:
            certain += size[g] if most[g] == size[g] else 0
            worst = max(worst, most[g] / size[g])
            linked += squares[g] / size[g]
    return certain, worst, linked


def shares(counts: ValueCounts) -> tuple[int, float, float]:
    """How many rows are in groups of one value, the greatest share of a value in a group, and the sum over all rows of
    the share of their own value. NumPy would make a new array for each step.

    >>> shares(ValueCounts(np.array([2, 0, 4]), np.array([2, 0, 3]), np.array([4.0, 0.0, 10.0]), np.array([3, 3])))
    (2, 1.0, 4.5)
    """
    certain, worst, linked = _shares(counts.size, counts.most, counts.squares)
    return int(certain), float(worst), float(linked)


def value_counts(group: NDArray[np.int64], value: NDArray[Any], groups: int, values: int) -> ValueCounts:
    """Count rows by their group and the code of their value; fewer than 2^31 rows.

    >>> found = value_counts(np.array([0, 0, 0, 1]), np.array([1, 0, 1, 0]), 2, 2)
    >>> found.size.tolist(), found.most.tolist(), found.squares.tolist(), found.of_value.tolist()
    ([3, 1], [2, 1], [5.0, 1.0], [2, 2])
    """
    cells = np.zeros((groups, values), np.int32)
    _count(group, value, cells)
    found = np.empty(groups, np.int64), np.empty(groups, np.int64), np.empty(groups), np.zeros(values, np.int64)
    _summarize(cells, *found)
    return ValueCounts(*found)
