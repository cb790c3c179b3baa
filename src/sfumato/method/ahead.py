"""Methods whose groups stay l-diverse in the worst case: they look ahead instead of trying (ASAP, section 6.2.1).

A cut is made only if both sides would be l-diverse even if the most frequent value of the group fell
on one side whole. Nothing is asked that the published groups do not tell anyway.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from sfumato.engine.local import Counted, count
from sfumato.errors import PolicyError
from sfumato.kernel import judge
from sfumato.kernel.arrange import sort_order
from sfumato.kernel.halve import halve
from sfumato.kernel.hilbert import MOST_BITS, bits_needed, hilbert_keys
from sfumato.kernel.partition import partition
from sfumato.method.base import Groups, Progress
from sfumato.method.diversity import Diversity, DiversityMethod
from sfumato.method.mondrian import numbered
from sfumato.release.generalization import space_of
from sfumato.table.microdata import Microdata


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
        sensitive = Counted(table[wanted.sensitive].codes, table[wanted.sensitive].size)
        vectors = count([*(Counted(c.codes, c.size) for c in table.quasi), sensitive])
        test = (judge.AHEAD, 0, wanted.l.numerator, wanted.l.denominator, 0)
        parts = partition(
            space_of(table.quasi, sets=self.shows_sets()),
            [c.codes[vectors.first] for c in table.quasi],
            weights=vectors.size,
            counted=[sensitive.codes[vectors.first]],
            sizes=[sensitive.size],
            tests=judge.pack([test], [()]),
            least=wanted.k,
            progress=lambda done: progress("cuts", done),
        )
        return Groups(numbered(parts.order, parts.starts)[vectors.of_row], len(parts.starts))


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
        ranks, sensitive = hilbert_ranks(table), table[wanted.sensitive]
        order = sort_order(ranks.codes.astype(np.int64), ranks.size)
        l = wanted.l
        starts = halve(
            ranks.codes[order], sensitive.codes[order], sensitive.size, p=l.numerator, q=l.denominator, least=wanted.k
        )
        return Groups(numbered(order, starts), len(starts))


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
