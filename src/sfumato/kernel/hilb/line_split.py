"""Halve a line as long as both halves could take in all of the most frequent value: look-ahead in one dimension."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.mondrian.partition import twice


@inner
def _middle(places: Any, start: int, end: int) -> int:
    """Where to split the rows ``[start, end)`` most evenly without separating equal places; -1 if impossible."""
    low = start + (end - start) // 2
    high = low + 1
    while low > start and places[low - 1] == places[low]:
        low -= 1
    while high < end and places[high - 1] == places[high]:
        high += 1
    if low == start and high >= end:
        return -1
    return low if low - start >= end - high else high


@inner
def _most(values: Any, start: int, end: int, counts: Any) -> int:
    """How often the most frequent value occurs; ``counts`` are 0 before and after."""
    most = np.int64(0)
    for i in range(start, end):
        counts[values[i]] += 1
        most = max(most, counts[values[i]])
    for i in range(start, end):
        counts[values[i]] = 0
    return most


@kernel
def _halve(places: Any, values: Any, counts: Any, p: int, q: int, least: int, is_start: Any) -> None:
    stack = np.zeros((64, 2), np.int64)
    stack[0, 1] = len(places)
    depth = 1
    while depth > 0:
        depth -= 1
        start, end = stack[depth, 0], stack[depth, 1]
        middle = _middle(places, start, end)
        if middle >= 0:
            # look-ahead: the most frequent value of the whole is counted, not that of a half, so that whether a cut
            # is made does not depend on whose value is in which half
            smaller = min(middle - start, end - middle)
            if smaller < least or smaller * q < p * _most(values, start, end, counts):
                middle = -1
        if middle < 0:
            is_start[start] = 1
            continue
        if depth + 2 > len(stack):
            stack = twice(stack)
        stack[depth, 0], stack[depth, 1] = start, middle
        stack[depth + 1, 0], stack[depth + 1, 1] = middle, end
        depth += 2


def halve(places: NDArray[Any], values: NDArray[Any], size: int, *, p: int, q: int, least: int) -> NDArray[np.int64]:
    """Where groups start among rows in the order of their ``places``.

    A group is split as evenly as equal places allow, at the first of equally even places, if both sides have ``least``
    rows and p/q times as many as its most frequent value; there are ``size`` values.

    >>> halve(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), 2, p=1, q=1, least=1).tolist()
    [0, 2]
    """
    is_start = np.zeros(len(places), np.uint8)
    _halve(places, values, np.zeros(size, np.int64), p, q, least, is_start)
    return np.flatnonzero(is_start)
