"""Grow a binary tree on binned features and weighted classes that were observed through a noisy channel.

The channel keeps a class with probability ``p`` and otherwise shows class ``c`` with probability ``away[c]``, so
(observed weight of class ``c`` - ``away[c]`` times the total weight) / ``p`` is an unbiased estimate of the true
weight. The tree is grown on these.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel


class Grown(NamedTuple):
    """One row per node: its feature (-1: a leaf), the bins below ``at`` go left; the unbiased weight of each class."""

    feature: NDArray[np.int64]
    at: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    weight: NDArray[np.float64]


@inner
def _totals(seen: Any, weights: Any, order: Any, start: int, end: int, total: Any) -> Any:
    """The observed weight of each class; returns all weight and the sum of its squares."""
    total[:] = 0.0
    every, squares = 0.0, 0.0
    for place in range(start, end):
        i = order[place]
        total[seen[i]] += weights[i]
        every += weights[i]
        squares += weights[i] * weights[i]
    return every, squares


@inner
def _tally(bins: Any, seen: Any, weights: Any, order: Any, start: int, end: int, table: Any, rows: Any) -> None:
    """The observed weight of each class in each bin of each feature, and how many rows."""
    table[:] = 0.0
    rows[:] = 0
    for place in range(start, end):
        i = order[place]
        for j in range(bins.shape[1]):
            table[j, bins[i, j], seen[i]] += weights[i]
            rows[j, bins[i, j]] += 1


@inner
def _best(table: Any, rows: Any, total: Any, every: float, squares: float, least: int, number: int) -> Any:
    """The cut with the greatest decrease of the Gini index, and its chi-square on what was observed.

    The differences of unbiased shares between the sides are those of observed shares divided by p, so the
    cut that is best for the one is best for the other.
    """
    classes = len(total)
    best, statistic, feature, at = 0.0, 0.0, -1, np.int64(0)
    left = np.zeros(classes)
    for j in range(table.shape[0]):
        left[:] = 0.0
        below, weight = 0, 0.0
        for b in range(table.shape[1] - 1):
            if rows[j, b] == 0:
                continue
            below += rows[j, b]
            for c in range(classes):
                left[c] += table[j, b, c]
                weight += table[j, b, c]
            rest = every - weight
            if below < least or number - below < least or rest <= 0.0:
                continue
            gain, pearson = 0.0, 0.0
            for c in range(classes):
                difference = left[c] / weight - (total[c] - left[c]) / rest
                gain += difference * difference
                if total[c] > 0.0:
                    pearson += difference * difference * every / total[c]
            # weighted rows count as fewer: every^2 / squares of them (Kish's effective sample size)
            scale = weight * rest / every
            if gain * scale > best:
                best, statistic, feature, at = gain * scale, pearson * scale * every / squares, j, np.int64(b + 1)
    return feature, at, statistic


@inner
def _part(bins: Any, order: Any, start: int, end: int, j: int, at: int, buffer: Any) -> int:
    """Move the rows with bins below ``at`` to the front, keeping order; returns where the others start."""
    left, right = start, 0
    for place in range(start, end):
        i = order[place]
        if bins[i, j] < at:
            order[left] = i
            left += 1
        else:
            buffer[right] = i
            right += 1
    for i in range(right):
        order[left + i] = buffer[i]
    return left


@kernel
def _grow(
    bins: Any, seen: Any, weights: Any, p: float, away: Any, size: int, least: int, limit: float, deepest: int
) -> Any:
    """The nodes (feature, bin, left and right child) and the unbiased weight of each class in them."""
    n, axes = bins.shape
    classes = len(away)
    most = 2 * (n // max(least, 1)) + 3  # every leaf has at least ``least`` rows
    nodes = np.full((4, most), -1, np.int64)
    weight = np.zeros((most, classes))
    order, buffer = np.arange(n), np.empty(n, np.int64)
    table, rows, total = np.zeros((axes, size, classes)), np.zeros((axes, size), np.int64), np.zeros(classes)
    stack = np.zeros((2 * deepest + 64, 4), np.int64)
    stack[0, 1] = n
    used, depth = 1, 1
    while depth > 0:
        depth -= 1
        start, end, node, level = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        every, squares = _totals(seen, weights, order, start, end, total)
        for c in range(classes):
            weight[node, c] = (total[c] - away[c] * every) / p  # undoes the channel on average
        if level >= deepest or end - start < 2 * least:
            continue
        _tally(bins, seen, weights, order, start, end, table, rows)
        j, at, statistic = _best(table, rows, total, every, squares, least, end - start)
        if j < 0 or statistic < limit:
            continue
        middle = _part(bins, order, start, end, j, at, buffer)
        nodes[0, node], nodes[1, node], nodes[2, node], nodes[3, node] = j, at, used, used + 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = start, middle, used, level + 1
        depth += 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = middle, end, used + 1, level + 1
        depth += 1
        used += 2
    return nodes[:, :used].copy(), weight[:used].copy()


@kernel
def _walk(feature: Any, at: Any, left: Any, right: Any, bins: Any) -> Any:
    """The leaf of each row."""
    leaf = np.zeros(len(bins), np.int64)
    for i in range(len(bins)):
        node = 0
        while feature[node] >= 0:
            node = left[node] if bins[i, feature[node]] < at[node] else right[node]
        leaf[i] = node
    return leaf


def grow(
    bins: NDArray[np.int64],
    seen: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    p: float,
    away: NDArray[np.float64],
    size: int,
    least: int,
    limit: float,
    deepest: int,
) -> Grown:
    """Grow as long as a cut leaves ``least`` rows on both sides and its chi-square is at least ``limit``.

    ``bins`` is rows x features, codes below ``size``; ``seen`` the observed class of each row.

    >>> tree = grow(np.array([[0], [0], [1], [1]]), np.array([0, 0, 1, 1]), np.ones(4), p=1.0, away=np.zeros(2),
    ...     size=2, least=1, limit=3.0, deepest=5)
    >>> tree.feature.tolist(), tree.weight.tolist()
    ([0, -1, -1], [[2.0, 2.0], [2.0, 0.0], [0.0, 2.0]])
    """
    nodes, weight = _grow(bins, seen, weights, p, away, size, least, limit, deepest)
    return Grown(nodes[0], nodes[1], nodes[2], nodes[3], weight)


def walk(tree: Grown, bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """The leaf that each row falls into."""
    return _walk(tree.feature, tree.at, tree.left, tree.right, bins)
