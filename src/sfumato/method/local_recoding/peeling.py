"""Peeling: groups of vectors from boxes of rising cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.engine.counts import Counted, Counts
from sfumato.kernel import judge
from sfumato.kernel.local_recoding.peel import PART, PeelRows, make_room, peel
from sfumato.method.local_recoding.lattice import Lattice
from sfumato.method.local_recoding.paths import Integers, Objective, Path, paths_of

_BATCHES = 200


@dataclass(frozen=True, eq=False)
class GroupTests:
    """What a group must pass: tests on the counts of some columns, and the least number of rows."""

    tests: judge.Tests
    least: int
    counted: Sequence[Counted]

    @property
    def sizes(self) -> Integers:
        """How many values each counted column has."""
        return np.array([c.size for c in self.counted] or [1], np.int64)

    @property
    def by_size(self) -> bool:
        """Whether sizes alone decide."""
        return not len(self.tests.spec)


@dataclass(frozen=True, eq=False)
class Vectors:
    """The vectors in an order that depends on their codes only, with the paths of their attributes.

    ``at`` is the place of each vector among the counts.
    """

    codes: list[Integers]
    counted: list[Integers]
    weights: Integers
    paths: list[Path]
    at: Integers

    @classmethod
    def of(cls, counts: Counts, wanted: GroupTests, objective: Objective) -> "Vectors":
        """The vectors of a table."""
        codes = [c.codes.astype(np.int64) for c in counts.quasi]
        counted = [c.codes.astype(np.int64) for c in wanted.counted]
        at = np.lexsort([*counted[::-1], *codes[::-1]])
        paths = paths_of(counts.quasi, counts.weights, objective)
        return cls([c[at] for c in codes], [c[at] for c in counted], counts.weights[at], paths, at)


def peeled(
    vectors: Vectors, lattice: Lattice, wanted: GroupTests, progress: Callable[[float], None]
) -> tuple[Integers, int]:
    """The group of each vector, -1 if it is left at the end, and the number of groups."""
    rows = rows_of(vectors, lattice)
    n, visits = len(vectors.weights), len(lattice.visits.levels)
    room = make_room(n, int(wanted.sizes.max()))
    group, groups = np.full(n, -1, np.int64), 0
    step = -(-visits // _BATCHES)
    costly, tested = judge.costly_tests(wanted.tests, int(wanted.sizes.max())), None if wanted.by_size else True
    for begin in range(0, visits, step):
        groups = peel(
            rows, lattice.boxes, lattice.visits, begin, min(begin + step, visits), wanted.least, wanted.sizes,
            wanted.tests.spec, wanted.tests.aux, costly, tested, PART, room, group, groups,
        )  # fmt: skip
        left = int((rows.bounds[:, 1] - rows.bounds[:, 0]).sum())
        progress(1 - left / n)
        if not left:
            break
    return by_first(group), groups


def by_first(group: Integers) -> Integers:
    """The groups numbered in the order of their first vectors; -1 stays.

    >>> by_first(np.array([2, -1, 0, 2])).tolist()
    [0, -1, 1, 0]
    """
    inside = np.flatnonzero(group >= 0)
    _, first, found = np.unique(group[inside], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered = group.copy()
    numbered[inside] = rank[found]
    return numbered


def rows_of(vectors: Vectors, lattice: Lattice) -> PeelRows:
    """The vectors class by class."""
    number = np.argsort(lattice.of_row, kind="stable")
    first = np.searchsorted(lattice.of_row[number], np.arange(lattice.classes + 1))
    counted = np.zeros((len(number), len(vectors.counted)), np.int32)
    for i, column in enumerate(vectors.counted):
        counted[:, i] = column[number]
    return PeelRows(
        lattice.chunks[number],
        number,
        vectors.weights[number],
        counted,
        np.stack([first[:-1], first[1:]], axis=1),
    )
