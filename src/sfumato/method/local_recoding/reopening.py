"""Better groups by boxes of the lattice that are opened once more, against all groups there are."""

from collections.abc import Callable
from itertools import product

import numpy as np

from sfumato.kernel.local_recoding.adopt import make_change
from sfumato.kernel.local_recoding.reopen import make_opening, reopen
from sfumato.method.local_recoding.loans import Begun
from sfumato.method.local_recoding.moving import SLACK, SWEEPS, can_move, cheaper, climbs_of, entered
from sfumato.method.local_recoding.paths import Integers

SHARE = 4
"""A box is tried if a fourth of the rows that it needs would cost less there."""

_BATCH = 50
"""Combinations of levels that are tried between two reports of progress."""


def reopened(
    begun: Begun, solution: tuple[Integers, int], sweeps: int, progress: Callable[[float], None]
) -> tuple[Integers, int]:
    """The groups with the boxes that are opened with gain, cheapest first; sizes alone must decide what a group needs.

    All boxes are tried again as long as some are opened, ``sweeps`` times at most.
    """
    vectors, lattice, wanted = begun.vectors, begun.lattice, begun.wanted
    group, groups = solution
    if not can_move(vectors, groups):
        return solution
    climbs, codes = climbs_of(vectors.paths), np.stack(vectors.codes, axis=1)
    levels = np.array(list(product(*(range(p.levels) for p in vectors.paths))), np.int64)
    _, first = np.unique(lattice.visits.levels, return_index=True)
    order = lattice.visits.levels[np.sort(first)]
    most = max(groups, int(vectors.weights.sum()) // wanted.least) + 1  # one is always free
    found, members = entered(climbs, codes, vectors.weights, group, most)
    change, opening = make_change(len(group), most), make_opening(len(group), most)
    batches = np.array_split(order, -(-len(order) // _BATCH))
    for sweep in range(sweeps):
        opened = 0
        for done, batch in enumerate(batches):
            progress((sweep + done / len(batches)) / sweeps)
            moves = SWEEPS if done == len(batches) - 1 else 0
            opened = reopen(
                climbs, codes, vectors.weights, wanted.least, SLACK, moves, batch, levels, lattice.boxes,
                lattice.chunks, SHARE, opened, found, members, change, opening,
            )  # fmt: skip
        if not opened:
            break
    return cheaper(vectors, found, group, groups)
