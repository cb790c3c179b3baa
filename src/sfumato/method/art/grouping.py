"""Groups that grow by the closest people: the merging of ART (section 4.2), on kinds of people and with an index."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.draws import Draws
from sfumato.kernel.arrange import sort_order
from sfumato.kernel.art.grow import grow
from sfumato.kernel.art.kd_tree import KdTree, make_tree
from sfumato.kernel.group import group_rows
from sfumato.method.base import Groups, Progress
from sfumato.requirement.distribution import absence
from sfumato.requirement.exposure import Exposure, GroupedPeople
from sfumato.requirement.knowledge import Knowledge
from sfumato.requirement.r_robustness import RRobustness

Integers = NDArray[np.int64]

_MOST_DISTANCES = 1_000_000_000


def people_in(groups: Groups, known: Knowledge) -> GroupedPeople:
    """The people of a table in their groups."""
    rows, width = len(known.value), len(known.values.names)
    held = np.bincount(groups.of_row * width + known.value, minlength=groups.number * width)
    return GroupedPeople(known.kinds.of_row[:rows], groups.of_row, held.reshape(groups.number, width))


@dataclass(frozen=True, eq=False)
class PeopleCells:
    """Cells: people of the same kind and the same protected set, or none (-1); each cell is a point of chances.

    A dimension is a pair of a distribution and a protected set: ``chance[cell]`` and ``odds[cell]``; ``of_dim`` gives
    the set. The rows of cell c are ``rows[starts[c] : starts[c + 1]]``, in a secret order.
    """

    of_row: Integers
    rows: Integers
    starts: Integers
    value: Integers
    chance: NDArray[np.float64]
    odds: NDArray[np.float64]
    of_dim: Integers


def cells_of(known: Knowledge, draws: Draws) -> PeopleCells:
    """Sort people into cells."""
    protected = known.values.protected
    value, kind = known.values.set_of()[known.value], known.kinds.of_row[: len(known.value)]
    found = group_rows([kind, value + 1], [known.kinds.number, len(protected) + 1])
    order = draws.order(len(value))
    rows = order[sort_order(found.of_row[order], len(found.first))]
    chance = np.stack([d.of(members) for members in protected for d in known.distributions], axis=1)[kind[found.first]]
    of_dim = np.repeat(np.arange(len(protected)), len(known.distributions))
    starts = np.concatenate([[0], np.cumsum(found.size)])
    return PeopleCells(found.of_row, rows, starts, value[found.first], chance, chance / absence(chance), of_dim)


class GrowingGroups:
    """People in growing groups; a person in no group is alone and can still be taken in."""

    def __init__(self, wanted: RRobustness, known: Knowledge, cells: PeopleCells, progress: Progress) -> None:
        self.wanted, self.known, self.cells, self.progress = wanted, known, cells, progress
        self.of_row: Integers = np.full(len(known.value), -1, np.int64)
        self.number = 0
        self.taken = np.zeros(len(cells.value), np.int64)  # how many rows of each cell are in a group
        self.tree: KdTree = make_tree(cells.chance)

    def first(self, *, by_odds: bool) -> None:
        """Start a group for everyone with a protected value, the greatest odds first."""
        protected = np.flatnonzero(self.cells.value >= 0)
        hardest = protected[np.argsort(-self.cells.odds[protected].max(axis=1), kind="stable")]
        seeds = np.repeat(hardest, np.diff(self.cells.starts)[hardest])
        ones = np.ones(len(seeds), np.int64)
        self._grow(np.arange(len(seeds) + 1), seeds, ones, ones, by_odds=by_odds, fresh=True)

    def _grow(
        self, starts: Integers, cells: Integers, rows: Integers, least: Integers, *, by_odds: bool, fresh: bool
    ) -> NDArray[np.bool_]:
        """Let groups grow and assign the rows they take; returns which groups found nobody left to take."""
        size = np.diff(self.cells.starts)
        left = size - self.taken
        alive = np.zeros(len(self.tree.first), np.int64)
        _count_alive(self.tree, left, alive)
        steps = np.empty((int(left.sum()) + len(cells), 3), np.int64)
        failed = np.zeros(len(starts) - 1, np.bool_)
        c, r = self.cells, float(self.wanted.r)
        number = grow(
            c.chance, c.odds, c.of_dim, int(c.of_dim.max()) + 1, c.value, left, alive, self.tree, starts, cells,
            rows, fresh, by_odds, r, least, steps, failed,
        )  # fmt: skip
        self._put(steps[:number])
        return failed

    def _put(self, steps: Integers) -> None:
        """Hand out the next rows of each cell to the groups that took them, in the order of the steps."""
        order = np.argsort(steps[:, 1], kind="stable")
        group, cell, rows = steps[order].T
        each = np.repeat(cell, rows)
        first = np.concatenate([[True], each[1:] != each[:-1]]) if len(each) else np.zeros(0, np.bool_)
        begin = np.flatnonzero(first)
        rank = np.arange(len(each)) - np.repeat(begin, np.diff(np.append(begin, len(each))))
        self.of_row[self.cells.rows[self.cells.starts[each] + self.taken[each] + rank]] = np.repeat(group, rows)
        np.add.at(self.taken, cell, rows)
        self.number = max(self.number, int(group.max(initial=-1)) + 1)

    def people(self) -> GroupedPeople:
        """The people that are in a group."""
        inside = np.flatnonzero(self.of_row >= 0)
        width = len(self.known.values.names)
        cells = self.of_row[inside] * width + self.known.value[inside]
        held = np.bincount(cells, minlength=self.number * width).reshape(self.number, width)
        return GroupedPeople(self.known.kinds.of_row[inside], self.of_row[inside], held)

    def exposure(self) -> Exposure:
        """How exposed the people in the groups are."""
        return self.wanted.exposure(self.people(), self.known)

    def until_exact(self) -> None:
        """Let groups in which p(t:x) may be above 1/r take in more people and, when nobody is left, join others."""
        failing: Integers | None = None
        while True:
            people = self.people()
            failing = self.wanted.broken(people, self.known, failing)
            if not len(failing):
                return
            self.progress("cuts", 0.5)
            size = np.bincount(people.group, minlength=self.number)[failing]
            if self.widen(failing, size + np.maximum(1, size // 8)).all():
                self._join(failing)
                return

    def widen(self, chosen: Integers, least: Integers) -> NDArray[np.bool_]:
        """Let chosen groups grow to at least this many rows; returns which of them found nobody left to take."""
        number = np.full(self.number + 1, -1, np.int64)
        number[chosen] = np.arange(len(chosen))
        rows = np.flatnonzero(number[self.of_row] >= 0)
        pairs = group_rows([number[self.of_row[rows]], self.cells.of_row[rows]], [len(chosen), len(self.taken)])
        group, cell = number[self.of_row[rows[pairs.first]]], self.cells.of_row[rows[pairs.first]]
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(len(chosen) + 1))
        before, self.number = self.number, len(chosen)
        kept, self.of_row = self.of_row, np.full_like(self.of_row, -1)
        failed = self._grow(starts, cell[order], pairs.size[order], least, by_odds=True, fresh=False)
        new = self.of_row >= 0
        kept[new] = chosen[self.of_row[new]]
        self.of_row, self.number = kept, before
        return failed

    def _join(self, failing: Integers) -> None:
        """Join each group that still fails with the closest others, twice as many each round, until all hold."""
        low, high = self._boxes()
        if len(failing) * low.size > _MOST_DISTANCES:
            return
        alive, into, number = np.isfinite(low[:, 0]), np.arange(self.number), 1
        while True:
            failing = self.wanted.broken(self.people(), self.known, failing)
            if not len(failing) or alive.sum() == 1:
                return
            for g in failing:
                if alive[g]:
                    away = np.maximum(low - high[g], 0).sum(axis=1) + np.maximum(low[g] - high, 0).sum(axis=1)
                    away[~alive] = away[g] = np.inf
                    others = np.argsort(away, kind="stable")[: min(number, int(alive.sum()) - 1)]
                    low[g], high[g] = low[[g, *others]].min(axis=0), high[[g, *others]].max(axis=0)
                    alive[others] = False
                    into[np.isin(into, others)] = g
            inside = self.of_row >= 0
            self.of_row[inside] = into[self.of_row[inside]]
            failing = failing[alive[failing]]
            number *= 2

    def _boxes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the greatest chance in each group, by dimension."""
        dims = self.cells.chance.shape[1]
        low, high = np.full((self.number, dims), np.inf), np.full((self.number, dims), -np.inf)
        inside = np.flatnonzero(self.of_row >= 0)
        points = self.cells.chance[self.cells.of_row[inside]]
        np.minimum.at(low, self.of_row[inside], points)
        np.maximum.at(high, self.of_row[inside], points)
        return low, high

    def take_in(self, classes: Groups, failing: Integers) -> bool:
        """Make one group of each failing class and let it grow by an eighth; whether any of them changed."""
        chosen = np.full(classes.number, -1, np.int64)
        chosen[failing] = self.number + np.arange(len(failing))
        rows = np.flatnonzero(chosen[classes.of_row] >= 0)
        before = self.of_row[rows].copy()
        self.of_row[rows] = chosen[classes.of_row[rows]]
        self.number += len(failing)
        self._settle()
        size = np.bincount(classes.of_row, minlength=classes.number)[failing]
        stuck = self.widen(chosen[failing], size + np.maximum(1, size // 8))
        return not stuck.all() or len(np.unique(before)) > len(failing)

    def _settle(self) -> None:
        """Move the rows of each cell that are in a group to its front, so that the next rows to take are free."""
        free = self.of_row[self.cells.rows] < 0
        key = self.cells.of_row[self.cells.rows] * 2 + free
        self.cells.rows[:] = self.cells.rows[np.argsort(key, kind="stable")]
        inside = self.cells.of_row[self.of_row >= 0]
        self.taken = np.bincount(inside, minlength=len(self.taken))

    def room(self) -> float:
        """The greatest r that groups holding each value once allow: all odds over those of its holders."""
        cells, size = self.cells, np.diff(self.cells.starts)
        holders = (cells.value[:, None] == cells.of_dim) * size[:, None]
        return float(((size @ cells.odds) / np.maximum((holders * cells.odds).sum(axis=0), 1e-300)).min())

    def groups(self) -> Groups:
        """All people in groups; each person in no group gets a group of their own."""
        there = np.zeros(self.number + 1, np.bool_)
        there[self.of_row] = True
        there[-1] = False
        number = np.cumsum(there) - 1
        alone = np.flatnonzero(self.of_row < 0)
        of_row = number[self.of_row]
        of_row[alone] = there.sum() + np.arange(len(alone))
        return Groups(of_row, int(there.sum()) + len(alone))


def _count_alive(tree: KdTree, left: Integers, alive: Any) -> None:
    """How many rows are left below each node; children stand after their parents."""
    np.add.at(alive, tree.leaf, left)
    for node in range(len(alive) - 1, 0, -1):
        alive[tree.parent[node]] += alive[node]
