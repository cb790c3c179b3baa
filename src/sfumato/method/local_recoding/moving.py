"""Better groups by moves: rows go to the groups where they cost less, and groups that do not pay are given up."""

from collections.abc import Sequence

import numpy as np

from sfumato.kernel.local_recoding.move import Climbs, Members, enter, make_members, move
from sfumato.method.local_recoding.joining import CoveringBoxes
from sfumato.method.local_recoding.paths import Integers, Path
from sfumato.method.local_recoding.peeling import GroupTests, Vectors, by_first

SWEEPS = 10
MOST_WORK = 200_000_000
"""A sweep compares vectors with all groups, so moves are made only where these are few enough."""

SLACK = 1e-9


def can_move(vectors: Vectors, groups: int) -> bool:
    """Whether there are few enough vectors and groups."""
    return groups > 1 and len(vectors.weights) * groups <= MOST_WORK


def moved(vectors: Vectors, group: Integers, groups: int, wanted: GroupTests) -> tuple[Integers, int]:
    """The groups after moves, if these cost less in all; sizes alone must decide what a group needs."""
    climbs, codes = climbs_of(vectors.paths), np.stack(vectors.codes, axis=1)
    found, members = entered(climbs, codes, vectors.weights, group, groups)
    move(climbs, codes, vectors.weights, wanted.least, SLACK, SWEEPS, found, members)
    return cheaper(vectors, found, group, groups)


def entered(
    climbs: Climbs, codes: Integers, weights: Integers, group: Integers, groups: int
) -> tuple[Integers, Members]:
    """A copy of the groups, and their members; there may be more groups than are used."""
    found, members = group.copy(), make_members(len(group), groups, codes.shape[1])
    enter(climbs, codes, weights, found, members)
    return found, members


def cheaper(vectors: Vectors, found: Integers, group: Integers, groups: int) -> tuple[Integers, int]:
    """The groups that were found, numbered anew, if they cost less in all; else those before."""
    found, number = by_first(found), len(np.unique(found))
    better = total_cost(vectors, found, number) < total_cost(vectors, group, groups)
    return (found, number) if better else (group, groups)


def total_cost(vectors: Vectors, group: Integers, groups: int) -> float:
    """What the labels of all rows cost together."""
    boxes = CoveringBoxes.of(vectors, group, groups)
    return float(boxes.cost @ boxes.size)


def climbs_of(paths: Sequence[Path]) -> Climbs:
    """The paths side by side."""
    levels, codes = max(p.levels for p in paths), max(p.node.shape[1] for p in paths)
    node = np.zeros((len(paths), levels, codes), np.int64)
    cost = np.zeros((len(paths), levels, codes))
    for j, path in enumerate(paths):
        node[j, : path.levels, : path.node.shape[1]] = path.node
        cost[j, : path.levels, : path.node.shape[1]] = path.cost
    return Climbs(node, cost)
