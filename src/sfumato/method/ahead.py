"""Methods whose groups stay l-diverse in the worst case: they look ahead instead of trying (ASAP, section 6.2.1).

A cut is made only if both sides would be l-diverse even if the most frequent value of the group fell
on one side whole. Nothing is asked that the published groups do not tell anyway.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from sfumato.engine.local import Counted, count
from sfumato.errors import PolicyError
from sfumato.kernel import judge
from sfumato.kernel.hilbert import MOST_BITS, bits_needed, hilbert_keys
from sfumato.kernel.partition import partition
from sfumato.kernel.space import Axis, Space, make_space
from sfumato.method.base import Groups, PartitionMethod, Progress
from sfumato.method.mondrian import numbered
from sfumato.method.pickup import pick_up
from sfumato.release.generalization import space_of
from sfumato.requirement.base import Requirement, as_fraction, names
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.table.microdata import Microdata


@dataclass(frozen=True)
class Diversity:
    """What these methods serve: frequency l-diversity of one sensitive attribute, and k rows a group."""

    sensitive: str
    l: Fraction
    k: int

    def whole(self, method: str) -> int:
        """l as the whole number that picking one row from each of l buckets needs."""
        if self.l.denominator != 1:
            raise PolicyError(f"{method} picks l rows a group, so l is a whole number, not {float(self.l):g}")
        if self.k > self.l:
            raise PolicyError(
                f"{method} makes groups of l to 2l - 1 rows, so k is at most l = {self.l}; raise l or lower k"
            )
        return int(self.l)


def diversity(method: str, requirements: Sequence[Requirement]) -> Diversity:
    """The one frequency l-diversity among the requirements, with a k-anonymity beside it if there is one."""
    wanted, k = [], 1
    for r in requirements:
        if isinstance(r, KAnonymity) and r.entity is None:
            k = max(k, r.k)
        elif isinstance(r, LDiversity) and r.variant == "frequency" and len(names(r.sensitive)) == 1:
            wanted.append(r)
        else:
            raise PolicyError(
                f"{method} serves l-diversity (variant frequency) of one sensitive attribute, with k-anonymity beside "
                f"it; it cannot serve: {r.words()}"
            )
    if len(wanted) != 1:
        raise PolicyError(f"{method} needs exactly one l-diversity (variant frequency); there are {len(wanted)}")
    return Diversity(names(wanted[0].sensitive)[0], as_fraction(wanted[0].l), k)


def look_ahead(
    space: Space, codes: Sequence[Counted], table: Microdata, wanted: Diversity, progress: Progress
) -> Groups:
    """Cut as long as both sides are at least l times as large as the group's most frequent value is frequent."""
    sensitive = Counted(table[wanted.sensitive].codes, table[wanted.sensitive].size)
    vectors = count([*codes, sensitive])
    test = (judge.AHEAD, 0, wanted.l.numerator, wanted.l.denominator, 0)
    parts = partition(
        space,
        [c.codes[vectors.first] for c in codes],
        weights=vectors.size,
        counted=[sensitive.codes[vectors.first]],
        sizes=[sensitive.size],
        tests=judge.pack([test], [()]),
        least=wanted.k,
        progress=lambda done: progress("cuts", done),
    )
    return Groups(numbered(parts.order, parts.starts)[vectors.of_row], len(parts.starts))


@dataclass(frozen=True, kw_only=True)
class MondrianPlus(PartitionMethod):
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

    def groups(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        rng: np.random.Generator | None,
        progress: Progress,
    ) -> Groups:
        wanted = diversity(self.name, requirements)
        quasi = [Counted(c.codes, c.size) for c in table.quasi]
        return look_ahead(space_of(table.quasi, sets=self.shows_sets()), quasi, table, wanted, progress)


@dataclass(frozen=True, kw_only=True)
class MondrianPlusPlus(MondrianPlus):
    """Mondrian++ (ASAP, Algorithms 5 and 6): Mondrian+, then stratified pick-up inside its groups."""

    name: ClassVar[str] = "mondrian++"
    summary: ClassVar[str] = "mondrian+, then groups as small as l allows, drawn at random inside its groups"

    def groups(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        rng: np.random.Generator | None,
        progress: Progress,
    ) -> Groups:
        wanted = diversity(self.name, requirements)
        l = wanted.whole(self.name)
        wide = Diversity(wanted.sensitive, wanted.l, 1)
        quasi = [Counted(c.codes, c.size) for c in table.quasi]
        groups = look_ahead(space_of(table.quasi, sets=self.shows_sets()), quasi, table, wide, progress)
        return pick_up(groups, table[wanted.sensitive], l, rng)


@dataclass(frozen=True, kw_only=True)
class HilbSafe(PartitionMethod):
    """Look-ahead on the Hilbert order, then uniform Anatomy inside the groups: what to take in Hilb's place."""

    name: ClassVar[str] = "hilb-safe"
    summary: ClassVar[str] = "groups as small as l allows, drawn at random among neighbours on the Hilbert curve"
    guarantees: ClassVar[str] = MondrianPlus.guarantees

    def groups(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        rng: np.random.Generator | None,
        progress: Progress,
    ) -> Groups:
        wanted = diversity(self.name, requirements)
        l = wanted.whole(self.name)
        order = hilbert_ranks(table)
        line = make_space([Axis(order.size, position=np.linspace(0.0, 1.0, max(order.size, 2))[: order.size])])
        groups = look_ahead(line, [order], table, Diversity(wanted.sensitive, wanted.l, 1), progress)
        return pick_up(groups, table[wanted.sensitive], l, rng)


def hilbert_ranks(table: Microdata) -> Counted:
    """The place of each row on the Hilbert curve through the quasi-identifiers, equal rows at one place."""
    sizes = [c.size for c in table.quasi]
    bits = bits_needed(sizes) * len(sizes)
    if bits > MOST_BITS:
        raise PolicyError(
            f"the Hilbert curve through {len(sizes)} quasi-identifiers of up to {max(sizes)} values needs {bits} bits, "
            f"and {MOST_BITS} fit; take fewer or coarser quasi-identifiers, or mondrian+"
        )
    vectors = count([Counted(c.codes, c.size) for c in table.quasi])
    keys = hilbert_keys([c.codes[vectors.first] for c in table.quasi], sizes)
    rank = np.empty(len(keys), np.uint32)
    rank[np.argsort(keys)] = np.arange(len(keys), dtype=np.uint32)
    return Counted(rank[vectors.of_row], len(keys))
