"""What happens to the rows that are left when no box holds enough of them: they join the groups that suffer least."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Key, tally
from sfumato.kernel import judge
from sfumato.method.local_recoding.paths import Floats, Integers
from sfumato.method.local_recoding.peeling import GroupTests, Vectors


@dataclass(frozen=True, eq=False)
class CoveringBoxes:
    """The lowest nodes that cover each group: first and last code per attribute, cost, and how many rows it has."""

    first: Integers
    last: Integers
    cost: Floats
    size: Integers

    @classmethod
    def of(cls, vectors: Vectors, group: Integers, groups: int) -> "CoveringBoxes":
        """The boxes of groups of vectors; vectors of group -1 are in none."""
        inside = np.flatnonzero(group >= 0)
        order = inside[np.argsort(group[inside], kind="stable")]
        starts = np.searchsorted(group[order], np.arange(groups))
        first = np.stack([np.minimum.reduceat(c[order], starts) for c in vectors.codes])
        last = np.stack([np.maximum.reduceat(c[order], starts) for c in vectors.codes])
        size = np.bincount(group[inside], weights=vectors.weights[inside], minlength=groups).astype(np.int64)
        return cls(first, last, box_costs(vectors, first, last), size)


def box_costs(vectors: Vectors, first: Integers, last: Integers) -> Floats:
    """The cost of the lowest nodes that cover the codes from ``first`` to ``last`` of each attribute (rows)."""
    total = np.zeros(first.shape[1])
    for path, lo, hi in zip(vectors.paths, first, last, strict=True):
        cost = path.cost[-1][lo]
        for level in range(path.levels - 2, -1, -1):
            cost = np.where(path.node[level][lo] == path.node[level][hi], path.cost[level][lo], cost)
        total += cost
    return total


def joined(vectors: Vectors, group: Integers, groups: int, wanted: GroupTests) -> tuple[Integers, int]:
    """All vectors in groups that pass the tests, given groups that do and vectors that are in none.

    If sizes alone decide, each vector joins the group for which that costs least. Otherwise the vectors that are
    left become one group, which takes in its nearest groups, twice as many each time, until it passes.
    """
    rest = np.flatnonzero(group < 0)
    if not len(rest):
        return group, groups
    if groups == 0:
        return np.zeros_like(group), 1
    return _one_by_one(vectors, group, groups, rest) if wanted.by_size else _together(vectors, group, groups, wanted)


def _one_by_one(vectors: Vectors, group: Integers, groups: int, rest: Integers) -> tuple[Integers, int]:
    group = group.copy()
    boxes = CoveringBoxes.of(vectors, group, groups)
    for v in rest:
        code = np.array([c[v] for c in vectors.codes])[:, None]
        weight = vectors.weights[v]
        first, last = np.minimum(boxes.first, code), np.maximum(boxes.last, code)
        cost = box_costs(vectors, first, last)
        g = int(np.argmin(cost * (boxes.size + weight) - boxes.cost * boxes.size))
        group[v] = g
        boxes.first[:, g], boxes.last[:, g], boxes.cost[g] = first[:, g], last[:, g], cost[g]
        boxes.size[g] += weight
    return group, groups


def _together(vectors: Vectors, group: Integers, groups: int, wanted: GroupTests) -> tuple[Integers, int]:
    boxes = CoveringBoxes.of(vectors, group, groups)
    rest = group < 0
    low = np.array([c[rest].min() for c in vectors.codes])[:, None]
    high = np.array([c[rest].max() for c in vectors.codes])[:, None]
    more = box_costs(vectors, np.minimum(boxes.first, low), np.maximum(boxes.last, high)) - boxes.cost
    nearest = np.argsort(more * boxes.size, kind="stable")
    number = 1
    while True:
        taken = np.zeros(groups + 1, np.bool_)
        taken[nearest[:number]] = True
        taken[-1] = True
        one = taken[group]
        if number >= groups or passes(vectors, one, wanted):
            break
        number *= 2
    place = np.cumsum(~taken) - 1
    kept = groups - int(taken[:-1].sum())
    return np.where(one, kept, place[group]), kept + 1


def passes(vectors: Vectors, chosen: NDArray[np.bool_], wanted: GroupTests) -> bool:
    """Whether the chosen vectors pass all tests as one group."""
    weights = vectors.weights[chosen]
    if weights.sum() < wanted.least:
        return False
    keys: dict[Key, Counted] = {
        (str(i),): Counted(c[chosen], size)
        for i, (c, size) in enumerate(zip(vectors.counted, wanted.sizes.tolist(), strict=False))
    }
    (block,) = tally(np.zeros(len(weights), np.int64), 1, keys, {}, weights)
    verdicts = [
        judge.verdicts(spec, aux, block.counts[(str(int(spec[1])),)])[0]
        for spec, aux in zip(wanted.tests.spec, wanted.tests.aux, strict=True)
    ]
    return all(v == judge.YES for v in verdicts)
