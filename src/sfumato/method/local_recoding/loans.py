"""Other groups by loans: peel again, each time with prices that follow from the solutions so far."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.kernel.local_recoding.lend import lend, make_loans
from sfumato.kernel.local_recoding.peel import make_room
from sfumato.method.local_recoding.joining import CoveringBoxes, joined
from sfumato.method.local_recoding.lattice import Lattice
from sfumato.method.local_recoding.moving import can_move, moved
from sfumato.method.local_recoding.paths import Floats, Integers, Objective
from sfumato.method.local_recoding.peeling import GroupTests, Vectors, by_first, rows_of

DISCOUNTS = (0.6, 0.6, 0.7, 0.5, 0.6, 0.6, 0.65, 0.55, 0.6, 0.7, 0.5, 0.6)
"""One pass each: how much of what a loan seems to save is counted."""

MOST_WORK = 200_000_000
"""Passes with loans look at every vector on all levels, so they are made only where these are few enough."""


def can_lend(lattice: Lattice, wanted: GroupTests, objective: Objective) -> bool:
    """Whether sizes alone decide, boxes have exact costs that add up, and the table is small enough."""
    levels = len(lattice.boxes.start)
    return (
        objective in ("granularity", "ncp")
        and wanted.by_size
        and lattice.exact
        and levels * len(lattice.of_row) <= MOST_WORK
    )


@dataclass(frozen=True, eq=False)
class Begun:
    """Groups to begin with."""

    vectors: Vectors
    lattice: Lattice
    wanted: GroupTests
    group: Integers
    groups: int

    def solutions(self, rounds: int, progress: Callable[[float], None]) -> list[tuple[Integers, int]]:
        """These groups and those of so many passes, with moves where they can be made; the cheapest come first."""
        found = [self._with_moves(self.group, self.groups)]
        price = _costs(self.vectors, *found[0])
        totals = [float(price @ self.vectors.weights)]
        for i, discount in enumerate(DISCOUNTS[:rounds]):
            progress(i / rounds)
            lent = _lent(self.vectors, self.lattice, price, discount, self.wanted)
            found.append(self._with_moves(*joined(self.vectors, *lent, self.wanted)))
            costs = _costs(self.vectors, *found[-1])
            totals.append(float(costs @ self.vectors.weights))
            price = (price + costs) / 2
        return [found[i] for i in np.argsort(totals, kind="stable")]

    def _with_moves(self, group: Integers, groups: int) -> tuple[Integers, int]:
        if can_move(self.vectors, groups):
            return moved(self.vectors, group, groups, self.wanted)
        return group, groups


def _costs(vectors: Vectors, group: Integers, groups: int) -> Floats:
    """What the labels of each vector cost."""
    return CoveringBoxes.of(vectors, group, groups).cost[group]


def _lent(
    vectors: Vectors, lattice: Lattice, price: Floats, discount: float, wanted: GroupTests
) -> tuple[Integers, int]:
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
