"""Deal the rows of a group into as many parts as the values of the group allow.

The rows lie in the order of their values, and go to the parts in turn: so each part gets nearly the same share of each
value. How many parts there are, and which values each gets, follows from the counts of the group alone.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import kernel, lean
from sfumato.kernel.mondrian.refusal import ONE


@lean
def _may_fit(most: Any, levels: Any, rows: int, parts: int) -> bool:
    """Whether the part that gets the most of the most frequent values can be good enough."""
    good = True
    for c in range(len(most)):
        good &= -(-most[c] // parts) * levels[c] <= -(-rows // parts) * ONE
    return good


@lean
def _fit(counted: Any, levels: Any, begin: int, end: int, parts: int, counts: Any) -> bool:
    """Whether each part weighs enough for each of its values."""
    good = True
    for part in range(parts):
        size = np.int64((end - begin - part + parts - 1) // parts)
        for i in range(begin + part, end, parts):
            for c in range(counted.shape[1]):
                counts[c, counted[i, c]] += 1
                good &= counts[c, counted[i, c]] * levels[c] <= size * ONE
        for i in range(begin + part, end, parts):
            for c in range(counted.shape[1]):
                counts[c, counted[i, c]] = 0
        if not good:
            break
    return good


@kernel
def _parts(counted: Any, first: Any, levels: Any, least: int, counts: Any, most: Any, out: Any) -> None:
    """The number of parts of each group: the smallest parts from ``least`` rows on that are good, then larger ones."""
    for g in range(len(first) - 1):
        begin, end = first[g], first[g + 1]
        most[:] = 0
        for i in range(begin, end):
            for c in range(counted.shape[1]):
                counts[c, counted[i, c]] += 1
                most[c] = max(most[c], counts[c, counted[i, c]])
        for i in range(begin, end):
            for c in range(counted.shape[1]):
                counts[c, counted[i, c]] = 0
        out[g] = 1
        size = least if least > 1 else 1
        while 2 * size <= end - begin:
            parts = (end - begin) // size
            if _may_fit(most, levels[:, g], end - begin, parts):
                if _fit(counted, levels[:, g], begin, end, parts, counts):
                    out[g] = parts
                    break
                size += size // 8  # each such look goes through the whole group
            size += 1


def number_of_parts(
    counted: NDArray[np.int32],
    first: NDArray[np.int64],
    sizes: NDArray[np.int64],
    levels: NDArray[np.int64],
    least: int,
) -> NDArray[np.int64]:
    """How many parts to deal each group into, so that each has ``least`` rows and is good.

    Rows lie group by group and there by value; group ``g`` begins at ``first[g]``. A part is good if for each counted
    column c it weighs at least ``levels[c, g]`` times ONE as much as each code.

    >>> rows = np.array([[0], [0], [1], [1], [2], [2], [2]], np.int32)
    >>> number_of_parts(rows, np.array([0, 7]), np.array([3]), np.array([[3 * ONE // 2]]), 1).tolist()
    [3]
    """
    out = np.ones(len(first) - 1, np.int64)
    counts = np.zeros((len(sizes), int(sizes.max(initial=1))), np.int64)
    _parts(counted, first, levels, least, counts, np.zeros(len(sizes), np.int64), out)
    return out
