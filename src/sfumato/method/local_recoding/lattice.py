"""The order in which boxes are visited: by rising cost, levels by levels, for the rows whose boxes have that cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kernel.group import group_rows
from sfumato.kernel.local_recoding.peel import BoxNumbers, Visits
from sfumato.method.local_recoding.paths import Floats, Integers, Path

MOST_LEVELS = 100_000
_MOST_VISITS = 4_000_000
_CHUNK = 1 << 12
_GRID = float(1 << 40)


@dataclass(frozen=True, eq=False)
class Lattice:
    """All combinations of levels, cheapest first, with what kernels need to visit them.

    ``of_row`` is the class of each vector: vectors of a class have boxes of the same cost on all levels, the cost of
    the visit; unless ``exact`` is False, then that cost is a mean.
    """

    visits: Visits
    costs: Floats
    exact: bool
    boxes: BoxNumbers
    of_row: Integers
    classes: int
    chunks: NDArray[np.int32]


def lattice_of(paths: Sequence[Path], codes: Sequence[NDArray[np.int64]]) -> Lattice:
    """The lattice of the attributes' levels, for vectors with these codes."""
    refuse_large(paths)
    levels = np.array(list(product(*(range(p.levels) for p in paths))), np.int64).reshape(-1, len(paths))
    of_row, costs, exact = _classes(paths, codes, len(levels))
    strides = np.concatenate([[1], np.cumprod([p.nodes for p in paths[:-1]], dtype=np.int64)])
    chunks = _chunks([p.node.shape[1] for p in paths])
    boxes = _boxes(paths, chunks, levels, strides)
    joined = np.stack([_joined([codes[j] for j in c], [paths[j].node.shape[1] for j in c]) for c in chunks], axis=1)
    visits, rising = _visits(costs)
    return Lattice(visits, rising, exact, boxes, of_row, costs.shape[1], joined)


def refuse_large(paths: Sequence[Path]) -> None:
    """Raise if there are too many combinations of levels, or of nodes."""
    number = prod(p.levels for p in paths)
    if number > MOST_LEVELS:
        raise PolicyError(
            f"the taxonomies of {len(paths)} quasi-identifiers have {number:,} combinations of levels, but "
            f"local-recoding visits at most {MOST_LEVELS:,}; use fewer quasi-identifiers, flatter taxonomies, or "
            "mondrian"
        )
    if prod(p.nodes for p in paths) >= 1 << 63:
        raise PolicyError(
            f"the taxonomies of {len(paths)} quasi-identifiers have 2^63 combinations of nodes or more, which "
            "local-recoding cannot number; use fewer quasi-identifiers, taxonomies with fewer values, or mondrian"
        )


def _classes(paths: Sequence[Path], codes: Sequence[NDArray[np.int64]], levels: int) -> tuple[Integers, Integers, bool]:
    """The class of each vector, the cost of each combination of levels (rows) for each class (columns), if it is exact.

    If there are too many classes, the attribute with the most ways of costs counts with their mean.
    """
    ways = [np.unique(p.order, axis=1, return_inverse=True) for p in paths]
    costs = [w[0] for w in ways]
    way = [w[1].reshape(-1)[c].astype(np.int64) for w, c in zip(ways, codes, strict=True)]
    merged = False
    while True:
        found = group_rows(way, [c.shape[1] for c in costs])
        if levels * len(found.first) <= _MOST_VISITS or all(c.shape[1] == 1 for c in costs):
            break
        j = max(range(len(costs)), key=lambda j: costs[j].shape[1])
        there = np.bincount(way[j], minlength=costs[j].shape[1])
        costs[j] = (costs[j] @ there / there.sum())[:, None]
        way[j] = np.zeros_like(way[j])
        merged = True
    order = np.lexsort([w[found.first] for w in way[::-1]])  # classes in an order that does not depend on the rows'
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    total: Floats = np.zeros((1, len(order)))
    for cost, w in zip(costs, way, strict=True):
        total = (total[:, None, :] + cost[:, w[found.first[order]]][None, :, :]).reshape(-1, len(order))
    return place[found.of_row], np.rint(total * _GRID).astype(np.int64), not merged


def _visits(costs: Integers) -> tuple[Visits, Floats]:
    """Levels with all classes of one cost, by rising cost, and these costs; levels in order where costs are equal."""
    classes = costs.shape[1]
    flat = costs.ravel()
    order = np.argsort(flat, kind="stable")  # by cost, then by levels, then by class
    level, cost = order // classes, flat[order]
    new = np.flatnonzero(np.concatenate([[True], (np.diff(cost) != 0) | (np.diff(level) != 0)]))
    return Visits(level[new], np.append(new, len(order)), order % classes), cost[new] / _GRID


def _chunks(sizes: Sequence[int]) -> list[list[int]]:
    """Neighbouring attributes are joined as long as they have few combinations of values."""
    chunks: list[list[int]] = [[]]
    span = 1
    for j, size in enumerate(sizes):
        if chunks[-1] and span * size > _CHUNK:
            chunks.append([])
            span = 1
        chunks[-1].append(j)
        span *= size
    return chunks


def _boxes(paths: Sequence[Path], chunks: Sequence[Sequence[int]], levels: Integers, strides: Integers) -> BoxNumbers:
    """What each code of each chunk adds to the key of a box, for each combination of the chunk's levels."""
    start = np.zeros((len(levels), len(chunks)), np.int64)
    parts: list[Integers] = []
    used = 0
    for i, chunk in enumerate(chunks):
        heights = [paths[j].levels for j in chunk]
        width = prod(paths[j].node.shape[1] for j in chunk)
        for combination in product(*(range(h) for h in heights)):
            part = np.zeros(1, np.int64)
            for j, level in zip(chunk, combination, strict=True):
                part = np.add.outer(part, paths[j].node[level] * strides[j]).ravel()
            parts.append(part)
        rank = np.zeros(len(levels), np.int64)
        for j, h in zip(chunk, heights, strict=True):
            rank = rank * h + levels[:, j]
        start[:, i] = used + rank * width
        used += prod(heights) * width
    return BoxNumbers(start, np.concatenate(parts))


def _joined(columns: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> NDArray[np.int32]:
    """Several columns as one, in mixed radix."""
    joined = columns[0].astype(np.int32)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        joined = joined * np.int32(size) + column.astype(np.int32)
    return joined
