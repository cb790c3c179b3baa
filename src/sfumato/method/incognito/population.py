"""k-map on the lattice of levels: how many people of a population show the same as each group of a node."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.method.incognito.compressed import Grouped, Levels
from sfumato.method.incognito.levels import Ladder
from sfumato.release.population_match import People, fitting, matched, owners
from sfumato.requirement.k_map import KMap
from sfumato.table.encode import Column

Integers = NDArray[np.int64]


class PopulationMatch:
    """The people of a population on the levels of the quasi-identifiers.

    Whom a label covers is read from the label and its public meaning, as in a check. A coarser label covers whom a
    finer one below it covers, so what has too few people has too few on every finer node.
    """

    def __init__(self, requirement: KMap, quasi: Sequence[Column], ladders: Sequence[Ladder]) -> None:
        self.k, self.ladders = requirement.k, ladders
        self.people = People.of(requirement.people_of().coded({c.name: c.kind for c in quasi}))
        self._nodes: dict[tuple[int, int], Integers] = {}

    def __call__(self, grouped: Grouped, levels: Levels) -> Integers:
        """How many people fit each group."""
        groups = np.arange(len(grouped.sizes))
        keys = [grouped.shown(j, groups).astype(np.int64) for j in range(len(levels))]
        of_person = [self._node(j, level)[self.people.codes[j]] for j, level in enumerate(levels)]
        sizes = [len(ladder.nodes[level]) for ladder, level in zip(self.ladders, levels, strict=True)]
        return matched(self.people, keys, of_person, sizes)

    def _node(self, j: int, level: int) -> Integers:
        """The number of the node that shows each value of the population on a level, or -1."""
        if (j, level) not in self._nodes:
            told = self.ladders[j].labels(level)
            labels, nodes = [label for label, _ in told], dict(told)
            domain = self.people.columns[j].domain
            found = owners(fitting(domain, labels, nodes), domain.size)
            assert found is not None, "labels of one level do not overlap"
            self._nodes[j, level] = found
        return self._nodes[j, level]
