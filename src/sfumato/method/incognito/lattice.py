"""Search the lattice of levels for the node with the least loss that meets the requirements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counts, combine, totals
from sfumato.method.base import Progress
from sfumato.method.incognito.compressed import CompressedVectors, GroupedVectors, Levels, Pairs, tally
from sfumato.method.incognito.losses import Booleans, Loss
from sfumato.method.incognito.population import PopulationMatch
from sfumato.release.judgement import TableSchema
from sfumato.requirement.base import GroupRequirement, Key, Schema, Tally, Test
from sfumato.table.encode import Domain
from sfumato.table.microdata import Microdata
from sfumato.table.occurring import narrowed

_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Judged:
    """Which groups of a node violate a requirement, and which of them do so on every finer node too."""

    bad: Booleans
    sure: Booleans
    holds_without: bool
    """Whether requirements that compare with the whole table also hold against the distribution of the rows kept."""


class Judge:
    """Judges the groups of a node by all requirements.

    A group that has k rows, or l distinct values, keeps them when it is merged with any other, so rows in groups
    that fail these tests fail them on every finer node as well. The other tests do not persist: a diverse
    group merged with a uniform one may not be diverse. But each of them needs some number of distinct values,
    and a group with fewer certainly fails.
    """

    def __init__(
        self,
        table: Microdata | Counts,
        requirements: Sequence[GroupRequirement],
        vectors: CompressedVectors,
        populations: Sequence[PopulationMatch] = (),
    ) -> None:
        self.schema, self.populations = TableSchema(table), populations
        self.counted = {
            key: Pairs.of(vectors, self.schema.counted(key[0]), key[:1]) for r in requirements for key in r.columns()
        }
        self.distinct = {
            key: Pairs.of(vectors, combine([self.schema.counted(name) for name in key]), key)
            for r in requirements
            for key in r.distinct_columns()
        }
        self.totals = {key: totals(self.schema.counted(key[0]), table.weights) for key in self.counted}
        self.tests = [test for r in requirements for test in r.tests(self.schema, self.totals)]
        self.compared = [r for r in requirements if r.against_table]
        self.persists = all(test.persists for test in self.tests)
        self.counts = bool(self.counted or self.distinct)
        self.least = max([1] + [test.least_rows() for test in self.tests])

    def __call__(self, grouped: GroupedVectors, levels: Levels) -> Judged:
        few, first = self._too_few_people(grouped, levels), 0
        bad, sure = [], []
        counts: dict[Key, list[NDArray[np.int64]]] = {key: [] for r in self.compared for key in r.columns()}
        for block in tally(grouped, self.counted, self.distinct):
            here = Tally(block.sizes, block.counts, block.distinct, self.totals)
            unmapped = few[first : first + len(block.sizes)]
            first += len(block.sizes)
            fails = [~test.holds(here) for test in self.tests]
            bad.append(np.logical_or.reduce([unmapped, *fails]))
            final = [f if t.persists else _too_few(t, here) for t, f in zip(self.tests, fails, strict=True)]
            sure.append(np.logical_or.reduce([unmapped, *final]))
            for key, parts in counts.items():
                parts.append(block.counts[key][~bad[-1]])
        violating = np.concatenate(bad)
        kept = {key: np.concatenate(parts) for key, parts in counts.items()}
        return Judged(violating, np.concatenate(sure), not violating.any() or self._holds_without(kept))

    def _too_few_people(self, grouped: GroupedVectors, levels: Levels) -> Booleans:
        """Which groups fit fewer people of a population than they must; they do so on every finer node too."""
        counts = [match(grouped, levels) < match.k for match in self.populations]
        return np.asarray(np.logical_or.reduce([np.zeros(len(grouped.sizes), np.bool_), *counts]))

    def _holds_without(self, counts: dict[Key, NDArray[np.int64]]) -> bool:
        """Whether the kept groups hold against their own totals, which a release shows and `check` judges by."""
        domains, there = {}, {}
        for key, of_groups in counts.items():
            domains[key[0]], listed = narrowed(self.schema.domain(key[0]), np.asarray(of_groups.any(axis=0)))
            there[key] = of_groups[:, listed]
        if not there or not len(next(iter(there.values()))):
            return True
        whole = {key: of_groups.sum(axis=0) for key, of_groups in there.items()}
        kept = _Kept(self.schema, domains)
        sizes = next(iter(there.values())).sum(axis=1)
        return all(r.holds(kept, Tally(sizes, there, {}, whole)).all() for r in self.compared)


def _too_few(test: Test, here: Tally) -> Booleans:
    """Which groups have fewer distinct values than the test needs at least."""
    present = (here.counts[test.column] > 0).sum(axis=1)
    return np.asarray(present < test.least_distinct)


class _Kept(Schema):
    """The schema of the kept rows: a value listed only because it occurs disappears with its rows."""

    def __init__(self, table: Schema, domains: Mapping[str, Domain]) -> None:
        self.table, self.domains = table, domains

    def quasi_names(self) -> list[str]:
        return self.table.quasi_names()

    def sensitive_names(self) -> list[str]:
        return self.table.sensitive_names()

    def all_names(self) -> list[str]:
        return self.table.all_names()

    def domain(self, name: str) -> Domain:
        return self.domains[name] if name in self.domains else self.table.domain(name)


@dataclass(frozen=True)
class Found:
    """The best nodes, in the public order, their loss, and how many nodes were judged."""

    best: list[Levels]
    key: int
    looked_at: int


class Search:
    """Branch and bound over the lattice, exact.

    The nodes are kept in an array with one axis per attribute, so that all nodes up to some levels are a slice. Of
    the nodes that may still be best, the one in the middle of the order by bounds is judged. If too many rows
    certainly fail (or, if nothing may be suppressed, any group of a monotone requirement fails), all finer nodes are
    ruled out; otherwise the rows that certainly fail raise the bounds of all finer nodes. If a requirement does not
    persist, every second node judged is the one with the lowest bound.
    """

    def __init__(self, vectors: CompressedVectors, judge: Judge, loss: Loss, *, allowed: int, monotone: bool) -> None:
        self.vectors, self.judge, self.loss = vectors, judge, loss
        self.allowed, self.monotone = allowed, monotone
        self.bound = loss.floor()
        self.open = np.ones(self.bound.shape, dtype=np.bool_)
        self.best: list[Levels] = []
        self.key: int | None = None

    def run(self, progress: Progress) -> Found | None:
        """Judge nodes until no remaining one can be as good as the best."""
        looked_at = 0
        while len(candidates := self._candidates()):
            levels = self._pick(candidates, looked_at)
            self._look(levels)
            looked_at += 1
            progress("lattice", 1 - len(candidates) / self.open.size)
        if self.key is None:
            return None
        return Found(sorted(self.best, key=lambda levels: (sum(levels), levels)), self.key, looked_at)

    def _candidates(self) -> NDArray[np.int64]:
        if self.key is None:
            return np.flatnonzero(self.open)
        most = self.loss.score(self.key)
        return np.flatnonzero(self.open & (self.bound <= most + _SLACK * max(1.0, abs(most))))

    def _pick(self, candidates: NDArray[np.int64], turn: int) -> Levels:
        bounds = self.bound.ravel()[candidates]
        middle = 0 if turn % 2 and not self._prunes() else len(candidates) // 2
        chosen = candidates[np.argpartition(bounds, middle)[middle]]
        return tuple(int(level) for level in np.unravel_index(chosen, self.open.shape))

    def _prunes(self) -> bool:
        """Whether a node that fails rules out all finer ones."""
        return self.judge.persists or (self.allowed == 0 and self.monotone)

    def _look(self, levels: Levels) -> None:
        """Judge one node."""
        self.open[levels] = False
        finer = tuple(slice(0, level + 1) for level in levels)
        coarser = tuple(slice(level, None) for level in levels)
        grouped = self.vectors.group(levels, places=False)
        np.maximum(self.bound[coarser], self.loss.above(grouped), out=self.bound[coarser])
        if not self._allows(int(grouped.sizes @ (grouped.sizes < self.judge.least))):
            self.open[finer] = False
            return
        if self.judge.counts:
            grouped = self.vectors.group(levels, places=True)
        judged = self.judge(grouped, levels)
        fails = not self._allows(int(grouped.sizes @ judged.bad))
        surely = int(grouped.sizes @ judged.sure)
        if not self._allows(surely) or (fails and self.allowed == 0 and self.monotone):
            self.open[finer] = False
        elif surely:
            np.maximum(self.bound[finer], self.loss.below(levels, grouped, judged.sure), out=self.bound[finer])
        if not fails and judged.holds_without:
            self._offer(levels, self.loss.key(levels, grouped, judged.bad))

    def _allows(self, lost: int) -> bool:
        return lost <= self.allowed and lost < self.vectors.rows

    def _offer(self, levels: Levels, key: int) -> None:
        """Keep the node if none is better, together with equally good ones."""
        if self.key is None or key < self.key:
            self.key, self.best = key, [levels]
        elif key == self.key:
            self.best.append(levels)
