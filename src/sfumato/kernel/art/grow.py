"""Grow groups by their closest points until the chances of the values they hold are even enough."""

from typing import Any

import numpy as np

from sfumato.kernel.art.kd_tree import closest
from sfumato.kernel.jit import inner, kernel

_SLACK = 1e-12
"""A relative margin for rounding errors of sums."""


@inner
def _lacking_odds(sums: Any, most: Any, held: Any, of_dim: Any, r: float, odds: Any) -> float:
    """How many more rows of these odds it takes until odds add up to ``held r`` times the greatest, for every value."""
    more = 0.0
    for a in range(len(sums)):
        times = held[of_dim[a]]
        if times > 0:
            gap = times * r * most[a] * (1.0 - _SLACK) - sums[a]
            if gap > 0.0:
                more = max(more, np.ceil(gap / odds[a] - _SLACK))
    return more


@inner
def _lacking_rows(lo: Any, hi: Any, size: int, held: Any, of_dim: Any, r: float) -> float:
    """How many more rows it takes by the bound on the deviation, hi - lo, of every value that is held."""
    wanted = 0.0
    for a in range(len(lo)):
        if held[of_dim[a]] > 0:
            f, apart = hi[a], hi[a] - lo[a]
            # Theorem 1 of ART, apart <= (n - r) f / ((r - 1) f / (1 - f) + n - 1), solved for the number of rows n
            least = (f * (r - 1.0) * apart / (1.0 - f) - apart + r * f) / (f - apart)
            wanted = max(wanted, np.ceil(least - 1e-9))
    return wanted - size


@inner
def _join(points: Any, odds: Any, cell: int, rows: int, lo: Any, hi: Any, sums: Any, most: Any) -> None:
    """Widen the box by a point, and add its odds."""
    for a in range(len(lo)):
        lo[a] = min(lo[a], points[cell, a])
        hi[a] = max(hi[a], points[cell, a])
        sums[a] += rows * odds[cell, a]
        most[a] = max(most[a], odds[cell, a])


@inner
def take(tree: Any, alive: Any, left: Any, cell: int, rows: int) -> None:
    """Take rows of a point out of the tree."""
    left[cell] -= rows
    node = tree[7][cell]
    while node >= 0:
        alive[node] -= rows
        node = tree[4][node]


@kernel
def grow(
    points: Any, odds: Any, of_dim: Any, values: int, value: Any, left: Any, alive: Any, tree: Any, starts: Any,
    cells: Any, rows: Any, fresh: bool, by_odds: bool, r: float, least: Any, out: Any, failed: Any,
) -> int:  # fmt: skip
    """Grow the groups, each from ``cells[starts[g] : starts[g + 1]]`` with ``rows`` of each; returns how many steps.

    ``points[cell]`` are chances and ``odds[cell]`` odds, with one dimension per distribution and value; ``of_dim``
    gives the value of a dimension, ``value`` the one that the rows of a cell have (-1: none that counts). ``fresh``
    groups are first taken out of the tree, and skipped if it has no such row. A step of ``out`` is group, cell, rows.
    """
    dims = points.shape[1]
    lo, hi, sums, most = np.empty(dims), np.empty(dims), np.empty(dims), np.empty(dims)
    held = np.zeros(values, np.int64)
    stack = np.empty(256, np.int64)
    steps = 0
    for g in range(len(starts) - 1):
        if fresh and left[cells[starts[g]]] == 0:
            continue
        for a in range(dims):
            lo[a], hi[a], sums[a], most[a] = np.inf, -np.inf, 0.0, 0.0
        for x in range(len(held)):
            held[x] = 0
        size = 0
        for i in range(starts[g], starts[g + 1]):
            _join(points, odds, cells[i], rows[i], lo, hi, sums, most)
            size += rows[i]
            if value[cells[i]] >= 0:
                held[value[cells[i]]] += rows[i]
            if fresh:
                take(tree, alive, left, cells[i], rows[i])
                out[steps, 0], out[steps, 1], out[steps, 2] = g, cells[i], rows[i]
                steps += 1
        while True:
            if by_odds:
                enough = _lacking_odds(sums, most, held, of_dim, r, most) <= 0.0
            else:
                enough = _lacking_rows(lo, hi, size, held, of_dim, r) <= 0.0
            if enough and size >= least[g]:
                break
            cell = closest(points, tree, value, left, alive, held, lo, hi, stack)
            if cell < 0:
                failed[g] = True
                break
            _join(points, odds, cell, 1, lo, hi, sums, most)
            number = 1
            if value[cell] >= 0:
                held[value[cell]] += 1
            else:  # it holds no value that counts and only dilutes the group: take as many such rows as are lacking
                if by_odds:
                    more = _lacking_odds(sums, most, held, of_dim, r, odds[cell])
                else:
                    more = _lacking_rows(lo, hi, size + 1, held, of_dim, r)
                number += int(min(max(more, least[g] - size - 1.0, 0.0), left[cell] - 1.0))
                for a in range(dims):
                    sums[a] += (number - 1) * odds[cell, a]
            size += number
            take(tree, alive, left, cell, number)
            out[steps, 0], out[steps, 1], out[steps, 2] = g, cell, number
            steps += 1
    return steps
