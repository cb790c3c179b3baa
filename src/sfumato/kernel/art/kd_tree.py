"""A tree over points with counts, and the search for the one at the least L1 distance from a box."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel

_LEAF = 8


class KdTree(NamedTuple):
    """A k-d tree. Node n has the points ``order[first[n] : last[n]]``, which lie between ``low[n]`` and ``high[n]``;
    its children are ``child[n]`` and the next one, -1 for a leaf; ``leaf[i]`` is the leaf of point i."""

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    child: NDArray[np.int64]
    parent: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    leaf: NDArray[np.int64]


@inner
def _halve(points: Any, a: int, order: Any, begin: int, end: int, middle: int) -> None:
    """Move the points that are smallest along a dimension before the middle (quickselect)."""
    while end - begin > 1:
        pivot = points[order[(begin + end) // 2], a]
        i, j = begin, end - 1
        while i <= j:
            while points[order[i], a] < pivot:
                i += 1
            while points[order[j], a] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            end = j + 1
        elif middle >= i:
            begin = i
        else:
            return


@kernel
def _build(points: Any, order: Any, first: Any, last: Any, child: Any, parent: Any, low: Any, high: Any) -> int:
    """Split at the median of the widest dimension until a node has few points, or only equal ones."""
    n, dims = points.shape
    first[0], last[0], parent[0] = 0, n, -1
    nodes, at = 1, 0
    while at < nodes:
        begin, end = first[at], last[at]
        widest = 0
        for a in range(dims):
            low[at, a], high[at, a] = np.inf, -np.inf
            for i in range(begin, end):
                low[at, a] = min(low[at, a], points[order[i], a])
                high[at, a] = max(high[at, a], points[order[i], a])
            if high[at, a] - low[at, a] > high[at, widest] - low[at, widest]:
                widest = a
        child[at] = -1
        if end - begin > _LEAF and high[at, widest] > low[at, widest]:
            middle = (begin + end) // 2
            _halve(points, widest, order, begin, end, middle)
            child[at] = nodes
            first[nodes], last[nodes], parent[nodes] = begin, middle, at
            first[nodes + 1], last[nodes + 1], parent[nodes + 1] = middle, end, at
            nodes += 2
        at += 1
    return nodes


def make_tree(points: NDArray[np.float64]) -> KdTree:
    """The tree over points, one per row."""
    n, dims = points.shape
    most = 2 * max(1, n)
    order = np.arange(n)
    first, last, child, parent = (np.empty(most, np.int64) for _ in range(4))
    low, high = np.empty((most, dims)), np.empty((most, dims))
    nodes = _build(points, order, first, last, child, parent, low, high)
    leaf = np.empty(n, np.int64)
    for node in np.flatnonzero(child[:nodes] < 0):
        leaf[order[first[node] : last[node]]] = node
    return KdTree(order, first[:nodes], last[:nodes], child[:nodes], parent[:nodes], low[:nodes], high[:nodes], leaf)


@inner
def _away(low: Any, high: Any, lo: Any, hi: Any, best: float) -> float:
    """The L1 distance of two boxes; stops early with a partial sum once that reaches ``best``."""
    total = 0.0
    for a in range(len(lo)):
        if low[a] > hi[a]:
            total += low[a] - hi[a]
        elif high[a] < lo[a]:
            total += lo[a] - high[a]
        if total >= best:
            return total
    return total


@inner
def closest(points: Any, tree: Any, value: Any, left: Any, alive: Any, has: Any, lo: Any, hi: Any, stack: Any) -> int:
    """The point with rows left, of no value that the box has, at the least distance from the box; -1: none."""
    order, first, last, child, _, low, high, _ = tree
    best, found, top = np.inf, -1, 1
    stack[0] = 0
    while top > 0:
        top -= 1
        node = stack[top]
        if alive[node] == 0 or _away(low[node], high[node], lo, hi, best) >= best:
            continue
        if child[node] >= 0:
            a, b = child[node], child[node] + 1
            near = _away(low[a], high[a], lo, hi, np.inf) <= _away(low[b], high[b], lo, hi, np.inf)
            stack[top], stack[top + 1] = (b, a) if near else (a, b)
            top += 2
            continue
        for at in range(first[node], last[node]):
            i = order[at]
            if left[i] > 0 and (value[i] < 0 or has[value[i]] == 0):
                away = _away(points[i], points[i], lo, hi, best)
                if away < best:
                    best, found = away, i
                    if best == 0.0:
                        return found
    return found
