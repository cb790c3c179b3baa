"""Groups dealt into smaller ones at random, each with nearly the same share of each value.

How many parts a group has, and which values each part gets, follows from the counts of its values; rows of equal value
are drawn alike. So dealing reveals nothing about who in a part has which value.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, count
from sfumato.engine.decision import Groups
from sfumato.kernel.hilb.anatomy import make_buckets
from sfumato.kernel.mondrian.deal import number_of_parts
from sfumato.method.enumeration import arrangements, one_of_each

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dealing:
    """Groups of rows by their values: ``rows`` lists them group by group and there by value, in the order of a draw.

    ``part`` is the new group of each of these places, ``values`` numbers the runs of rows of one group and value.
    """

    rows: Integers
    part: Integers
    value: Integers
    number: int

    @classmethod
    def of(cls, groups: Groups, sensitive: Sequence[Counted], levels: Integers, k: int, order: Integers) -> "Dealing":
        """The places to deal: parts of at least k rows that are still diverse enough.

        ``levels[c, g]``: how many times as many rows as each value of column c a part of group g must have, times ONE.
        """
        values = _joint(sensitive)
        buckets = make_buckets(groups.of_row, groups.number, values.codes, values.size, order)
        first = buckets.first[buckets.of_group]
        counted = np.stack([c.codes[buckets.rows] for c in sensitive], axis=1).astype(np.int32)
        sizes = np.array([c.size for c in sensitive], np.int64)
        parts = number_of_parts(counted, first, sizes, levels, k)
        group = np.repeat(np.arange(groups.number), np.diff(first))
        place = np.arange(len(order)) - first[group]
        offset = np.cumsum(parts) - parts
        value = np.repeat(np.arange(len(buckets.value)), np.diff(buckets.first))
        return cls(buckets.rows, offset[group] + place % parts[group], value, int(parts.sum()))

    def groups(self, part: Integers) -> Groups:
        """The rows, with the part of each place."""
        of_row = np.empty(len(part), np.int64)
        of_row[self.rows] = part
        return Groups(of_row, self.number)

    def drawn(self) -> Groups:
        """The rows as they lie."""
        return self.groups(self.part)

    def every(self) -> Iterator[tuple[Groups, Fraction]]:
        """Every way in which the parts can fall to rows of the same group and value, with its probability."""
        runs = [self.part[self.value == v].tolist() for v in range(int(self.value.max(initial=-1)) + 1)]
        chance = Fraction(1, math.prod(_ways(run) for run in runs))
        for dealt in one_of_each([partial(arrangements, run) for run in runs]):
            yield self.groups(np.array([part for run in dealt for part in run], np.int64)), chance


def _joint(columns: Sequence[Counted]) -> Counted:
    """Several columns as one, numbered by their codes: which rows have which must not matter.

    >>> _joint([Counted(np.array([1, 0, 1]), 2), Counted(np.array([0, 1, 0]), 2)]).codes.tolist()
    [1, 0, 1]
    """
    if len(columns) == 1:
        return columns[0]
    found = count(columns)
    rank = np.empty(len(found.first), np.int64)
    rank[np.lexsort([c.codes[found.first] for c in columns[::-1]])] = np.arange(len(found.first))
    return Counted(rank[found.of_row], len(found.first))


def _ways(parts: list[int]) -> int:
    """How many different orders there are."""
    return math.factorial(len(parts)) // math.prod(math.factorial(n) for n in Counter(parts).values())
