"""Better groups by neighbourhoods that are peeled again, with loans and noise that is always the same."""

from collections.abc import Callable

import numpy as np

from sfumato.kernel.local_recoding.move import make_members
from sfumato.kernel.local_recoding.near import NeighbourhoodLimits, make_near
from sfumato.kernel.local_recoding.renew import make_draft, renew
from sfumato.method.local_recoding.loans import Begun
from sfumato.method.local_recoding.moving import SLACK, can_move, cheaper, climbs_of, entered
from sfumato.method.local_recoding.paths import Integers

LIMITS = NeighbourhoodLimits(rows=2000, groups=20, work=10_000_000, peels=10, noise=0.25, close=1.05)

MOST_TRIES = 4000
"""A round tries as many neighbourhoods as there are groups, but no more than this."""

_BATCH = 25


def renewed(
    begun: Begun, solution: tuple[Integers, int], rounds: int, seed: int, progress: Callable[[float], None]
) -> tuple[Integers, int]:
    """The groups with the neighbourhoods that are renewed with gain; sizes alone must decide what a group needs.

    The noise follows from the seed, and vectors come in an order that depends on their codes only, so the groups do not
    depend on the order of the rows.
    """
    vectors, least = begun.vectors, begun.wanted.least
    group, groups = solution
    if not can_move(vectors, groups):
        return solution
    climbs, codes = climbs_of(vectors.paths), np.stack(vectors.codes, axis=1)
    strides = np.concatenate([[1], np.cumprod([p.nodes for p in vectors.paths[:-1]], dtype=np.int64)])
    most = max(groups, int(vectors.weights.sum()) // least) + 1  # one is always free
    found, members = entered(climbs, codes, vectors.weights, group, most)
    near, room = make_near(most, codes.shape[1], LIMITS), make_members(LIMITS.rows, LIMITS.rows, codes.shape[1])
    draft, state = make_draft(LIMITS.rows, LIMITS.groups), np.array([seed], np.uint64)
    batches = -(-rounds * min(MOST_TRIES, groups) // _BATCH)
    for done in range(batches):
        progress(done / batches)
        renew(
            climbs, codes, vectors.weights, least, SLACK, _BATCH, LIMITS, strides, found, members, near, draft, room,
            state,
        )  # fmt: skip
    return cheaper(vectors, found, group, groups)
