"""What the methods for frequency l-diversity of one sensitive attribute share."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.engine.counts import Counted
from sfumato.engine.draws import Draws
from sfumato.errors import PolicyError
from sfumato.method.base import Drawn, Groups, PartitionMethod, Progress, silent
from sfumato.method.pickup import every_pick_up, pick_up
from sfumato.requirement.base import GroupRequirement, Requirement, as_fraction, names
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.table.microdata import Microdata


@dataclass(frozen=True)
class Diversity:
    """What these methods serve: frequency l-diversity of one sensitive attribute, and k rows per group."""

    sensitive: str
    l: Fraction
    k: int

    def whole(self, method: str) -> int:
        """l as an integer, which picking one row from each of l buckets needs."""
        if self.l.denominator != 1:
            raise PolicyError(
                f"{method} picks l rows per group, so l must be a whole number, not {float(self.l):g}; "
                f"set l = {math.ceil(self.l)}, or use mondrian+ or mondrian-blur, which serve any l"
            )
        return int(self.l)

    def whole_for_small_groups(self, method: str) -> int:
        """The same for a method that cannot merge groups, so that k must not be greater."""
        if self.k > self.l:
            raise PolicyError(
                f"{method} makes groups of l rows where it can, so k must be at most l = {self.l}; raise l, lower k, "
                "or use mondrian++, hilb-safe or anatomy, which merge groups until they have k rows"
            )
        return self.whole(method)


def diversity(method: str, requirements: Sequence[Requirement]) -> Diversity:
    """The one frequency l-diversity among the requirements, with k-anonymity if that is required too."""
    wanted, k = [], 1
    for r in requirements:
        if isinstance(r, KAnonymity) and r.entity is None:
            k = max(k, r.k)
        elif isinstance(r, LDiversity) and r.variant == "frequency" and len(names(r.sensitive)) == 1:
            wanted.append(r)
        else:
            raise PolicyError(
                f"{method} serves l-diversity (variant frequency) of one sensitive attribute, optionally with "
                f"k-anonymity of rows; it cannot serve: {r.words()}{_who_can(r)}"
            )
    if len(wanted) != 1:
        found, remedy = (f"{len(wanted)} are", "mondrian-blur serves several") if wanted else ("none is", _SIZES_ALONE)
        raise PolicyError(
            f"{method} needs exactly one l-diversity (variant frequency), but {found} required; require it once, "
            f"or take another method: {remedy}"
        )
    return Diversity(names(wanted[0].sensitive)[0], as_fraction(wanted[0].l), k)


_SIZES_ALONE = "mondrian serves k-anonymity alone"


def _who_can(r: Requirement) -> str:
    """The method that serves what these do not, or what else helps."""
    if isinstance(r, LDiversity) and r.variant == "frequency":
        return "; mondrian-blur serves several sensitive attributes"
    if isinstance(r, KAnonymity):
        return (
            "; l-diversity counts rows, so give each person one row (e.g. aggregate first) and leave out entity; "
            f"or leave out l-diversity, since {_SIZES_ALONE}, of people too"
        )
    if isinstance(r, GroupRequirement) and r.monotone:
        return "; mondrian serves it, but not against an adversary who knows the algorithm"
    return ""


@dataclass(frozen=True)
class Diversities:
    """Frequency l-diversity of one or several sensitive attributes, and k rows per group."""

    names: tuple[str, ...]
    limits: tuple[Fraction, ...]
    k: int


def diversities(method: str, requirements: Sequence[Requirement]) -> Diversities:
    """All frequency l-diversity among the requirements by attribute, the greatest l of each, and k-anonymity."""
    limits: dict[str, Fraction] = {}
    k = 1
    for r in requirements:
        if isinstance(r, KAnonymity) and r.entity is None:
            k = max(k, r.k)
        elif isinstance(r, LDiversity) and r.variant == "frequency":
            limits |= {n: max(as_fraction(r.l), limits.get(n, Fraction(1))) for n in names(r.sensitive)}
        else:
            raise PolicyError(
                f"{method} serves l-diversity (variant frequency) of any sensitive attributes, optionally with "
                f"k-anonymity of rows; it cannot serve: {r.words()}{_who_can(r)}"
            )
    if not any(isinstance(r, LDiversity) for r in requirements):
        raise PolicyError(f"{method} needs l-diversity (variant frequency), but none is required; {_SIZES_ALONE}")
    return Diversities(tuple(limits), tuple(limits.values()), k)


_PICKED_TWICE = (
    "A person's value is in that person's group in every release, so an adversary who has two releases made with "
    "different draws has few candidates left: on the bundled hospital table with l = 3, two releases determined the "
    "diagnosis of 22% (hilb-safe), 28% (mondrian++) and 31% (anatomy) of the people, and three releases that of 36%, "
    "46% and 55%."
)
"""Measured by tests/statistical/test_twice.py."""


@dataclass(frozen=True, kw_only=True)
class DiversityMethod(PartitionMethod):
    """A method for l-diversity: groups by neighbourhood or values, then optionally pick-up inside them."""

    picks: ClassVar[bool] = False
    """Whether stratified pick-up follows: secret uniform draws down to groups of l to 2l - 1 rows, merged to k."""

    @abstractmethod
    def base(self, table: Microdata, wanted: Diversity, progress: Progress) -> Groups:
        """The groups before any draw."""

    def groups(
        self, table: Microdata, requirements: Sequence[Requirement], *, draws: Draws, progress: Progress
    ) -> Groups:
        wanted = diversity(self.name, requirements)
        if not self.picks:
            return self.base(table, wanted, progress)
        l = wanted.whole(self.name)
        return pick_up(self.base(table, wanted, progress), counted(table, wanted), l, draws, k=wanted.k)

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        wanted = diversity(self.name, requirements)
        if self.picks:
            wanted.whole(self.name)

    def redrawn(self) -> str | None:
        return _PICKED_TWICE if self.picks else None

    def before_draws(self, table: Microdata, requirements: Sequence[Requirement]) -> Groups | None:
        wanted = diversity(self.name, requirements)
        return self.base(table, wanted, silent)

    def outcomes(self, table: Microdata, requirements: Sequence[Requirement]) -> Iterator[tuple[Drawn, Fraction]]:
        if not self.picks:
            yield from super().outcomes(table, requirements)
            return
        wanted = diversity(self.name, requirements)
        base, l = self.base(table, wanted, silent), wanted.whole(self.name)
        for groups, chance in every_pick_up(base, counted(table, wanted), l, k=wanted.k):
            yield Drawn(table, groups), chance


def counted(table: Microdata, wanted: Diversity) -> Counted:
    """The values that must be diverse."""
    return Counted(table[wanted.sensitive].codes, table[wanted.sensitive].size)
