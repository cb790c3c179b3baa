"""Methods whose groups stay l-diverse in the worst case: they look ahead instead of trying (ASAP, section 6.2.1).

A cut is made only if both sides would be l-diverse even if the most frequent value of the group fell
on one side whole. Nothing is asked that the published groups do not tell anyway.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from sfumato.engine.local import Counted, count
from sfumato.errors import PolicyError
from sfumato.kernel import judge
from sfumato.kernel.arrange import sort_order
from sfumato.kernel.hilbert import MOST_BITS, bits_needed, hilbert_keys
from sfumato.kernel.partition import partition
from sfumato.kernel.space import Axis, Space, make_space
from sfumato.method.base import Groups, Progress
from sfumato.method.diversity import Diversity, DiversityMethod
from sfumato.method.mondrian import numbered
from sfumato.release.generalization import space_of
from sfumato.table.microdata import Microdata


def look_ahead(
    space: Space, codes: Sequence[Counted], table: Microdata, wanted: Diversity, progress: Progress
) -> Groups:
    """Cut as long as both sides are at least l times as large as the group's most frequent value is frequent."""
    sensitive = Counted(table[wanted.sensitive].codes, table[wanted.sensitive].size)
    vectors = count([*codes, sensitive])
    order = sort_order(codes[0].codes[vectors.first].astype(np.int64), codes[0].size)  # neighbours in memory, too
    first = vectors.first[order]
    test = (judge.AHEAD, 0, wanted.l.numerator, wanted.l.denominator, 0)
    parts = partition(
        space,
        [c.codes[first] for c in codes],
        weights=vectors.size[order],
        counted=[sensitive.codes[first]],
        sizes=[sensitive.size],
        tests=judge.pack([test], [()]),
        least=wanted.k,
        progress=lambda done: progress("cuts", done),
    )
    of_vector = np.empty(len(order), np.int64)
    of_vector[order] = numbered(parts.order, parts.starts)
    return Groups(of_vector[vectors.of_row], len(parts.starts))


@dataclass(frozen=True, kw_only=True)
class MondrianPlus(DiversityMethod):
    """Mondrian+ (ASAP, Algorithm 1, corrected): the cuts of Mondrian, allowed by look-ahead only.

    As printed the algorithm never ends. Here: refuse a table that is not l-eligible; take a group; cut it
    on the first attribute, widest first, on which both sides keep l times the group's greatest count.
    """

    name: ClassVar[str] = "mondrian+"
    summary: ClassVar[str] = "mondrian that looks ahead instead of trying: groups tell nothing beyond their values"
    guarantees: ClassVar[str] = (
        "frequency l-diversity, also against an adversary who knows the algorithm (checked on all small tables)"
    )
    labels: Literal["siblings", "nodes"] = "siblings"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels not in ("siblings", "nodes"):
            raise PolicyError(f"{self.name}: labels = {self.labels!r}; it is 'siblings' or 'nodes'")

    def shows_sets(self) -> bool:
        return self.labels == "siblings"

    def base(self, table: Microdata, wanted: Diversity, progress: Progress) -> Groups:
        quasi = [Counted(c.codes, c.size) for c in table.quasi]
        return look_ahead(space_of(table.quasi, sets=self.shows_sets()), quasi, table, wanted, progress)


@dataclass(frozen=True, kw_only=True)
class MondrianPlusPlus(MondrianPlus):
    """Mondrian++ (ASAP, Algorithms 5 and 6): Mondrian+, then stratified pick-up inside its groups."""

    name: ClassVar[str] = "mondrian++"
    summary: ClassVar[str] = "mondrian+, then groups as small as l allows, drawn at random inside its groups"
    picks: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class HilbSafe(DiversityMethod):
    """Look-ahead on the Hilbert order, then uniform Anatomy inside the groups: what to take in Hilb's place."""

    name: ClassVar[str] = "hilb-safe"
    summary: ClassVar[str] = "groups as small as l allows, drawn at random among neighbours on the Hilbert curve"
    guarantees: ClassVar[str] = MondrianPlus.guarantees
    picks: ClassVar[bool] = True

    def base(self, table: Microdata, wanted: Diversity, progress: Progress) -> Groups:
        order = hilbert_ranks(table)
        line = make_space([Axis(order.size, position=np.linspace(0.0, 1.0, max(order.size, 2))[: order.size])])
        return look_ahead(line, [order], table, wanted, progress)


def hilbert_ranks(table: Microdata) -> Counted:
    """The place of each row on the Hilbert curve through the quasi-identifiers, equal rows at one place."""
    sizes = [c.size for c in table.quasi]
    bits = bits_needed(sizes) * len(sizes)
    if bits > MOST_BITS:
        raise PolicyError(
            f"the Hilbert curve through {len(sizes)} quasi-identifiers of up to {max(sizes)} values needs {bits} bits, "
            f"and {MOST_BITS} fit; take fewer or coarser quasi-identifiers, or the "
            "median cuts of mondrian (mondrian+, mondrian++; for mask, front = 'mondrian')"
        )
    vectors = count([Counted(c.codes, c.size) for c in table.quasi])
    keys = hilbert_keys([c.codes[vectors.first] for c in table.quasi], sizes)
    rank = np.empty(len(keys), np.uint32)
    rank[np.argsort(keys)] = np.arange(len(keys), dtype=np.uint32)
    return Counted(rank[vectors.of_row], len(keys))
