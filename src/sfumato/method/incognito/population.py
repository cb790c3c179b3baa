"""k-map on the lattice of levels: how many people of a population fit each group of a node."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.errors import Infeasible
from sfumato.method.incognito.compressed import CompressedVectors, GroupedVectors, Levels
from sfumato.method.incognito.levels import Ladder
from sfumato.release.judgement import Judgement
from sfumato.release.population_match import People, fitting, judge_population, matched, owners
from sfumato.release.scheme.group_labels import Shown
from sfumato.requirement.base import Requirement
from sfumato.requirement.k_map import KMap
from sfumato.table.encode import Column

Integers = NDArray[np.int64]


class PopulationMatch:
    """The people of a population on the levels of the quasi-identifiers.

    The people a label covers are derived from the label and its public meaning, as in a check. A coarser label covers
    everyone whom a finer label below it covers, so a group with too few people has too few on every finer node.
    """

    def __init__(self, requirement: KMap, quasi: Sequence[Column], ladders: Sequence[Ladder]) -> None:
        self.k, self.ladders = requirement.k, ladders
        self.people = People.of(requirement.people_of().coded({c.name: c.kind for c in quasi}))
        self._nodes: dict[tuple[int, int], Integers] = {}

    def __call__(self, grouped: GroupedVectors, levels: Levels) -> Integers:
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
            self._nodes[j, level] = owners(fitting(domain, labels, nodes, ()), domain.size)
        return self._nodes[j, level]


def k_maps(requirements: Sequence[Requirement]) -> list[KMap]:
    """Those of the requirements that are judged on a population."""
    return [r for r in requirements if isinstance(r, KMap)]


def fewest_people(vectors: CompressedVectors, populations: Sequence[PopulationMatch]) -> str | None:
    """Why no node is valid for a population: even a single group fits too few people."""
    top = tuple(ladder.top for ladder in vectors.ladders)
    for match in populations:
        most = int(match(vectors.group(top, places=False), top).max())
        if most < match.k:
            return f"k-map: the coarsest labels fit {most} people of the population; lower k to {most} or less"
    return None


def judge_labels(requirement: KMap, kept: Counts, shown: Sequence[Shown]) -> Judgement:
    """Judge the labels as they are published: without suppressed rows they may be narrower than those searched."""
    nodes = {s.name: s.nodes for s in shown}
    kinds = {c.name: c.kind for c in kept.quasi}
    columns = [pl.Series(s.name, [s.labels[i] for i in s.of_group]) for s in shown]
    judgement = judge_population(requirement, columns, nodes, kinds)
    if not judgement.holds:
        raise Infeasible(
            f"k-map: without the suppressed rows the labels fit only {judgement.achieved['k']} people of "
            f"the population, fewer than {requirement.k}; declare the domains of the quasi-identifiers, or allow no "
            "suppression"
        )
    return judgement
