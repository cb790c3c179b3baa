"""Comparisons of counts with a limit, exact at the limit: what requirements judge groups by."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel import judge

Key = tuple[str, ...]
"""The columns whose values a test counts; several columns are counted in combination."""


@dataclass(frozen=True)
class Tally:
    """The counts that requirements judge, one row per group.

    ``counts[key]`` is groups x values of one column, ``distinct[key]`` how many distinct values
    occur in each group, ``totals[key]`` the counts of the whole table. ``largest``: the rows of the largest group of
    all, if these are only some of them. ``most[key]``: the rows with the most frequent value, if they are known.
    """

    sizes: NDArray[np.int64]
    counts: Mapping[Key, NDArray[np.int64]]
    distinct: Mapping[Key, NDArray[np.int64]]
    totals: Mapping[Key, NDArray[np.int64]]
    largest: int = 0
    most: Mapping[Key, NDArray[np.int64]] = field(default_factory=dict)

    def sizes_and_most(self, key: Key) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of each group that have a value in a column, and those with the most frequent one."""
        return (self.sizes, self.most[key]) if key in self.most else judge.greatest(self.counts[key])


@dataclass(frozen=True)
class Test:
    """One comparison of counts with the limit ``p/q``; see `sfumato.kernel.judge`."""

    op: int
    column: Key = ()
    limit: Fraction = Fraction(1)
    l: int = 0
    vectors: tuple[Any, ...] = ()

    def row(self, index: int) -> tuple[int, int, int, int, int]:
        """The test as numbers; ``index`` is the position of its column among the counted ones."""
        return (self.op, index, self.limit.numerator, self.limit.denominator, self.l)

    @property
    def persists(self) -> bool:
        """Whether a group that passes keeps passing when it is merged with any other group, good or bad."""
        return self.op in (judge.SIZE, judge.DISTINCT)

    def least_rows(self) -> int:
        """How many rows a group needs to pass."""
        return math.ceil(self.limit) if self.persists else self.least_distinct

    @cached_property
    def least_distinct(self) -> int:
        """How many distinct values a group needs to pass: entropy ln l, or shares of at most 1/l, need l of them."""
        if self.op == judge.ENTROPY:
            return math.ceil(self.limit)
        if self.op == judge.TAIL:
            return self.l
        if self.op == judge.SHARE:
            greatest = max(Fraction(int(p), int(q)) for p, q in zip(*self.vectors, strict=True))
            return math.ceil(1 / greatest) if greatest > 0 else 0
        if self.op == judge.SHARE_AT_LEAST:
            return sum(p > 0 for p in self.vectors[0])
        return 0

    def holds(self, tally: Tally) -> NDArray[np.bool_]:
        """Judge all groups at once."""
        if self.op == judge.SIZE:
            return np.asarray(tally.sizes >= math.ceil(self.limit))
        if self.op == judge.DISTINCT and self.column in tally.distinct:
            return np.asarray(tally.distinct[self.column] >= math.ceil(self.limit))
        if self.op == judge.SHARE and self.column in tally.most and len({*zip(*self.vectors, strict=True)}) == 1:
            (p, *_), (q, *_) = self.vectors
            return judge.shares_at_most(*tally.sizes_and_most(self.column), p, q)
        counts = tally.counts[self.column]
        tests = judge.pack([self.row(0)], [self.vectors])
        verdicts = judge.verdicts(tests.spec[0], tests.aux[0], counts)
        for group in np.flatnonzero(verdicts == judge.CLOSE):
            verdicts[group] = self._exactly(counts[group])
        return np.asarray(verdicts == judge.YES)

    def _exactly(self, counts: NDArray[np.int64]) -> bool:
        """Decide in integers what floating point left open."""
        if self.op == judge.ENTROPY:
            return self._entropy_above([int(c) for c in counts if c])
        return self._distance([int(c) for c in counts]) <= self.limit

    def _entropy_above(self, counts: list[int]) -> bool:
        """Whether the entropy is above ln(p/q), with as many digits as it takes; the two are never equal."""
        n, digits = sum(counts), 30
        while True:
            with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
                ln = {c: Decimal(c).ln() for c in {*counts, n, self.limit.numerator, self.limit.denominator}}
                gap = n * (ln[n] - ln[self.limit.numerator] + ln[self.limit.denominator])
                gap -= sum((c * ln[c] for c in counts), Decimal())
                if abs(gap) > Decimal(n) * n * Decimal(10) ** (3 - digits):
                    return gap > 0
            digits *= 2

    def _distance(self, counts: list[int]) -> Fraction:
        """The earth mover's distance to the totals, in rationals."""
        totals = [int(t) for t in self.vectors[0]]
        extra = [Fraction(c, sum(counts)) - Fraction(t, sum(totals)) for c, t in zip(counts, totals, strict=True)]
        if self.op == judge.ORDERED:
            runs = list(accumulate(extra))[:-1]
            return sum((abs(r) for r in runs), Fraction()) / max(len(runs), 1)
        if self.op == judge.EQUAL:
            return sum((abs(e) for e in extra), Fraction()) / 2
        _, lo, hi, parent, height, _ = self.vectors
        mass = [sum(extra[int(a) : int(b)], Fraction()) for a, b in zip(lo, hi, strict=True)]
        cost = Fraction()
        for node in range(len(lo)):
            below = [m for m, up in zip(mass, parent, strict=True) if up == node]
            exchanged = min(sum(m for m in below if m > 0), -sum(m for m in below if m < 0))
            cost += int(height[node]) * exchanged
        return cost / max(int(height[0]), 1)
