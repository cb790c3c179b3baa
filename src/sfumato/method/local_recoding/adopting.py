"""One solution out of several: the cheapest adopts groups of the others wherever that saves something in all."""

from collections.abc import Callable, Sequence

import numpy as np

from sfumato.kernel.local_recoding.adopt import adopt, make_change
from sfumato.method.local_recoding.moving import SLACK, SWEEPS, can_move, cheaper, climbs_of, entered
from sfumato.method.local_recoding.paths import Integers
from sfumato.method.local_recoding.peeling import GroupTests, Vectors

ROUNDS = 2
"""How often all other solutions are tried, at most."""


def adopted(
    vectors: Vectors, solutions: Sequence[tuple[Integers, int]], wanted: GroupTests, progress: Callable[[float], None]
) -> tuple[Integers, int]:
    """The first solution with the groups that it adopts from the others; sizes alone must decide what a group needs."""
    group, groups = solutions[0]
    if len(solutions) < 2 or not can_move(vectors, groups):
        return group, groups
    climbs, codes = climbs_of(vectors.paths), np.stack(vectors.codes, axis=1)
    most = max(groups, int(vectors.weights.sum()) // wanted.least) + 1  # one is always free
    found, members = entered(climbs, codes, vectors.weights, group, most)
    change = make_change(len(group), most)
    for round_ in range(ROUNDS):
        taken = 0
        for tried, (other, number) in enumerate(solutions[1:]):
            progress((round_ + tried / len(solutions[1:])) / ROUNDS)
            order = np.argsort(other, kind="stable")
            begin = np.searchsorted(other[order], np.arange(number + 1))
            taken += adopt(
                climbs, codes, vectors.weights, wanted.least, SLACK, SWEEPS, order, begin, found, members, change
            )
        if not taken:
            break
    return cheaper(vectors, found, group, groups)
