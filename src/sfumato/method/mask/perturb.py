"""How values change inside groups so that none is too frequent: MASK's cover-up and MASK+'s levelling.

Each perturbation can be drawn, with secret randomness, or, on a small table, enumerated.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible
from sfumato.method.base import Groups
from sfumato.method.enumeration import arrangements, one_of_each

Codes = NDArray[np.int64]
PerturbedOutcome = tuple[Codes, Fraction]


@dataclass(frozen=True, eq=False)
class Perturbation(ABC):
    """Values of rows in groups, to be changed so that no class of values makes up more than 1/m.

    ``classes`` gives the class of each value; only class 0 may have several.
    """

    values: Counted
    classes: Codes
    groups: Groups
    m: int

    @abstractmethod
    def draw(self, draws: Draws) -> Codes:
        """The values after the perturbation."""

    @abstractmethod
    def every(self) -> Iterator[PerturbedOutcome]:
        """Every outcome with its probability; for small tables."""

    def counts(self) -> Codes:
        """How many rows of each class each group has."""
        number = int(self.classes.max()) + 1
        cells = self.groups.of_row * number + self.classes[self.values.codes]
        return np.bincount(cells, minlength=self.groups.number * number).reshape(self.groups.number, number)

    def members(self, group: int, of_class: int) -> list[int]:
        """The rows of a group with a value of a class."""
        inside = (self.groups.of_row == group) & (self.classes[self.values.codes] == of_class)
        return [int(row) for row in np.flatnonzero(inside)]

    def changed(self, rows: Codes, codes: Codes) -> Codes:
        """All values, with those of some rows replaced."""
        out = self.values.codes.astype(np.int64)
        out[rows] = codes
        return out


class CoverUp(Perturbation):
    """MASK: where class 0 makes up more than 1/m, its values are changed until it has the share of a good group."""

    def draw(self, draws: Draws) -> Codes:
        bad, good = self._bad_and_good()
        counts, sizes = self.counts()[:, 0], self.counts().sum(axis=1)
        model = good[draws.below(np.full(len(bad), max(len(good), 1)))] if len(bad) else bad
        keep = np.full(self.groups.number, len(self.groups.of_row))
        keep[bad] = counts[model] * sizes[bad] // sizes[model]
        order = draws.order(len(self.groups.of_row))
        order = order[self.classes[self.values.codes[order]] == 0]
        rank = ranks(self.groups.of_row[order])
        rows = order[rank >= keep[self.groups.of_row[order]]]
        others = np.flatnonzero(self.classes != 0)
        return self.changed(rows, others[draws.below(np.full(len(rows), len(others)))])

    def every(self) -> Iterator[PerturbedOutcome]:
        bad, _ = self._bad_and_good()
        for parts in one_of_each([partial(self._every_in, int(g)) for g in bad]):
            rows = np.array([r for rows, _, _ in parts for r in rows], np.int64)
            codes = np.array([c for _, codes, _ in parts for c in codes], np.int64)
            yield self.changed(rows, codes), math.prod((p for _, _, p in parts), start=Fraction(1))

    def _every_in(self, group: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Fraction]]:
        """Which rows of a group change, to what, and with which probability."""
        _, good = self._bad_and_good()
        counts, sizes = self.counts()[:, 0], self.counts().sum(axis=1)
        rows, others = self.members(group, 0), np.flatnonzero(self.classes != 0).tolist()
        for model in good:
            change = len(rows) - int(counts[model] * sizes[group] // sizes[model])
            chance = Fraction(1, len(good) * math.comb(len(rows), change) * len(others) ** change)
            for chosen in itertools.combinations(rows, change):
                for codes in itertools.product(others, repeat=change):
                    yield chosen, codes, chance

    def _bad_and_good(self) -> tuple[Codes, Codes]:
        """The groups in which class 0 makes up more than 1/m, and the others, whose shares are adopted."""
        counts = self.counts()
        violates = counts[:, 0] * self.m > counts.sum(axis=1)
        if violates.all():
            raise Infeasible(
                f"in all {len(violates)} groups the sensitive values make up more than 1/{self.m}, so no group has a "
                "share that the others could adopt; lower m, or change k to form other groups"
            )
        return np.flatnonzero(violates), np.flatnonzero(~violates)


class Levelling(Perturbation):
    """MASK+: classes are read from the least frequent up as long as it is safe; the others are levelled out."""

    def draw(self, draws: Draws) -> Codes:
        counts, target = self.counts(), self.target()
        of_class = self.classes[self.values.codes]
        order = draws.order(len(of_class))
        bucket = self.groups.of_row[order] * counts.shape[1] + of_class[order]
        pool = order[ranks(bucket) >= np.minimum(counts, target).ravel()[bucket]]
        pool = pool[np.argsort(self.groups.of_row[pool], kind="stable")]
        given = np.repeat(np.tile(np.arange(counts.shape[1]), len(counts)), np.maximum(target - counts, 0).ravel())
        return self.changed(pool, self._value_of(given, draws))

    def every(self) -> Iterator[PerturbedOutcome]:
        counts, target = self.counts(), self.target()
        changing = [g for g in range(len(counts)) if (counts[g] != target[g]).any()]
        for parts in one_of_each([partial(self._every_in, g, counts[g], target[g]) for g in changing]):
            rows = np.array([r for rows, _ in parts for r in rows], np.int64)
            given = [c for _, classes in parts for c in classes]
            choices = [np.flatnonzero(self.classes == c).tolist() for c in given]
            ways = math.prod(self._ways(counts[g], target[g]) for g in changing) * math.prod(map(len, choices))
            for codes in itertools.product(*choices):
                yield self.changed(rows, np.array(codes, np.int64)), Fraction(1, ways)

    def _every_in(self, group: int, counts: Codes, target: Codes) -> Iterator[tuple[list[int], tuple[int, ...]]]:
        """Which rows of a group change, and to which classes."""
        surplus = [
            (self.members(group, c), int(counts[c] - target[c])) for c in np.flatnonzero(counts > target).tolist()
        ]
        given = [int(c) for c in np.flatnonzero(target > counts) for _ in range(target[c] - counts[c])]
        for chosen in itertools.product(*(itertools.combinations(rows, n) for rows, n in surplus)):
            rows = [row for part in chosen for row in part]
            for classes in arrangements(given):
                yield rows, classes

    def _ways(self, counts: Codes, target: Codes) -> int:
        """The number of equally likely ways in which a group can change."""
        chosen = math.prod(math.comb(int(c), int(c - t)) for c, t in zip(counts, target, strict=True) if c > t)
        gains = [int(g) for g in target - counts if g > 0]
        return chosen * math.factorial(sum(gains)) // math.prod(map(math.factorial, gains))

    def _value_of(self, classes: Codes, draws: Draws) -> Codes:
        """One value of each class, drawn if it has several."""
        by_class = np.argsort(self.classes, kind="stable")
        sizes = np.bincount(self.classes)
        return np.asarray(by_class[(np.cumsum(sizes) - sizes)[classes] + draws.below(sizes[classes])])

    def target(self) -> Codes:
        """The counts to publish (Algorithm 3 with its loop corrected, and the perturbation of section 6.3)."""
        counts = self.counts()
        sizes, number = counts.sum(axis=1), counts.shape[1]
        cap = sizes // self.m
        self._refuse_small_domain(sizes, cap, number)
        order = np.argsort(counts, axis=1, kind="stable")
        sorted_counts = np.take_along_axis(counts, order, axis=1)
        read = safely_read(sorted_counts, cap)
        levelled = np.take_along_axis(sorted_counts, (read - 1)[:, None], axis=1)
        place = np.arange(number)
        kept = place < read[:, None]
        rest = sizes - np.where(kept, sorted_counts, levelled).sum(axis=1)
        room = np.maximum(cap - levelled[:, 0], 1)
        extra = np.clip(rest[:, None] - (number - 1 - place) * room[:, None], 0, room[:, None])
        out = np.empty_like(counts)
        np.put_along_axis(out, order, np.where(kept, sorted_counts, levelled + extra), axis=1)
        return out

    def _refuse_small_domain(self, sizes: Codes, cap: Codes, number: int) -> None:
        """Footnote 4, corrected: ⌊|G|/m⌋ (|D| - 1) must be |G| or more, since the least frequent value is kept."""
        short = np.flatnonzero(cap * (number - 1) < sizes)
        if len(short):
            size = int(sizes[short].min())
            fits = max((m for m in range(1, size + 1) if ((sizes // m) * (number - 1) >= sizes).all()), default=0)
            advice = f"lower m to {fits} or less, raise k, or " if fits else ""
            raise Infeasible(
                f"{number} different values are too few for m = {self.m}: in a group of {size} rows each may have at "
                f"most {size // self.m}, and {number - 1} of them must make up all rows; {advice}declare a larger "
                "domain"
            )


def safely_read(counts: Codes, cap: Codes) -> Codes:
    """How many of each row's ascending counts may be read: all, or those before the first that might exceed the cap.

    >>> safely_read(np.array([[0, 0, 0, 0, 2, 2], [1, 1, 1, 1, 1, 1]]), np.array([1, 2])).tolist()
    [2, 6]
    """
    number = counts.shape[1]
    sizes = counts.sum(axis=1)
    at = np.arange(1, max(number - 1, 1))
    worst = sizes[:, None] - np.cumsum(counts, axis=1)[:, at - 1] - counts[:, at - 1]
    safe = np.cumprod(worst <= cap[:, None] * (number - 1 - at), axis=1).sum(axis=1)
    return np.asarray(np.where(safe == len(at), number, safe + 1), np.int64)


def ranks(keys: Codes) -> Codes:
    """The rank of each key among equal keys, in their order.

    >>> ranks(np.array([3, 1, 3, 3])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.searchsorted(ordered, ordered)
    out = np.empty(len(keys), np.int64)
    out[order] = np.arange(len(keys)) - first
    return out
