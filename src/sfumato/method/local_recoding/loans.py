"""Better groups by loans: peel again with the prices of the best solution so far, and keep what costs less."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.kernel.local_recoding.lend import lend, make_loans
from sfumato.kernel.local_recoding.peel import make_room
from sfumato.method.local_recoding.joining import Boxes, joined
from sfumato.method.local_recoding.lattice import Lattice
from sfumato.method.local_recoding.paths import Floats, Integers, Objective
from sfumato.method.local_recoding.peeling import Vectors, Wanted, by_first, rows_of

DISCOUNTS = (0.6, 0.6, 0.7, 0.5, 0.6)
"""One pass each: how much of what a loan seems to save is counted."""

MOST_WORK = 200_000_000
"""Passes with loans look at every vector on all levels, so they are made only where these are few enough."""


def can_lend(lattice: Lattice, wanted: Wanted, objective: Objective) -> bool:
    """Whether sizes alone decide, boxes have exact costs that add up, and the table is small enough."""
    levels = len(lattice.boxes.start)
    return (
        objective in ("granularity", "ncp")
        and wanted.by_size
        and lattice.exact
        and levels * len(lattice.of_row) <= MOST_WORK
    )


@dataclass(frozen=True, eq=False)
class Best:
    """The best groups so far."""

    vectors: Vectors
    lattice: Lattice
    wanted: Wanted
    group: Integers
    groups: int

    def with_loans(self, progress: Callable[[float], None]) -> tuple[Integers, int]:
        """The best groups of all passes, those so far included."""
        best, price = (self.group, self.groups), _costs(self.vectors, self.group, self.groups)
        least = float(price @ self.vectors.weights)
        for i, discount in enumerate(DISCOUNTS):
            progress(i / len(DISCOUNTS))
            lent = _lent(self.vectors, self.lattice, price, discount, self.wanted)
            found = joined(self.vectors, *lent, self.wanted)
            costs = _costs(self.vectors, *found)
            total = float(costs @ self.vectors.weights)
            if total < least:
                best, least = found, total
            price = (price + costs) / 2
        return best


def _costs(vectors: Vectors, group: Integers, groups: int) -> Floats:
    """What the labels of each vector cost."""
    return Boxes.of(vectors, group, groups).cost[group]


def _lent(vectors: Vectors, lattice: Lattice, price: Floats, discount: float, wanted: Wanted) -> tuple[Integers, int]:
    """One pass: the group of each vector, -1 if it is left, and the number of groups."""
    rows = rows_of(vectors, lattice)
    room = make_room(len(price), 1)
    loans = make_loans(rows.bounds, len(room.slots))
    groups = lend(
        rows, lattice.boxes, lattice.visits, lattice.costs, 0, len(lattice.costs), wanted.least, price[rows.number],
        discount, room, loans, 0,
    )  # fmt: skip
    group = np.empty(len(price), np.int64)
    group[rows.number] = loans.group
    return by_first(group), groups
