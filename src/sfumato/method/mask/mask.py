"""MASK, MASK+ and MASK++: k-anonymous groups, then sensitive values perturbed where a group reveals too much.

MASK (Wong et al., VLDB 2007) as ASAP reviews it in section 2.2; MASK+ is Algorithm 3 with its loop corrected;
MASK++ adds stratified pick-up. The promise of all three against an aware adversary is refuted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import factorial, prod
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import Drawn, Groups, PartitionMethod, Progress, silent
from sfumato.method.enumeration import arrangements, one_of_each
from sfumato.method.hilbert_order import hilbert_ranks
from sfumato.method.mask.perturb import CoverUp, Levelling, Perturbation
from sfumato.method.mondrian import Mondrian
from sfumato.method.pickup import every_pick_up, pick_up
from sfumato.release.judgement import TableSchema
from sfumato.requirement.base import Requirement, names
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.m_confidentiality import MConfidentiality
from sfumato.table.microdata import Microdata


class Wanted(NamedTuple):
    """What these methods serve: m-confidentiality of one attribute, starting from groups of at least k rows."""

    sensitive: str
    m: int
    k: int
    classes: NDArray[np.int64]
    """The class of each value of the attribute; the bound applies to classes."""
    some: bool
    """Whether only some values are sensitive; these are then class 0."""


@dataclass(frozen=True, kw_only=True)
class Mask(PartitionMethod):
    """Where sensitive values make up more than 1/m, change some at random until the share of a good group is reached.

    The initial groups are k-anonymous, made by ``front``. In a group that violates m-confidentiality, sensitive values
    drawn at random become values that are not sensitive, drawn uniformly from the domain, until their share is at
    most that of a group drawn from those that do not violate it.
    """

    name: ClassVar[str] = "mask"
    summary: ClassVar[str] = "k-anonymous groups; sensitive values are changed at random where they are too frequent"
    guarantees: ClassVar[str] = "m-confidentiality of the published values, if the adversary ignores the algorithm"
    refuted: ClassVar[str | None] = (
        "only groups above 1/m are perturbed, and they adopt the share of another group. Smallest counterexample, "
        "k = m = 2, s sensitive: {t1, t2} and {t3, t4} both published with a, s have s with confidence 5/8 each. "
        "Use mondrian++ or anatomy with l = m instead"
    )

    perturbs: ClassVar[bool] = True
    way: ClassVar[type[Perturbation]] = CoverUp

    k: int | None = None
    front: Literal["mondrian", "hilb"] = "mondrian"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is not None and (isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1):
            raise PolicyError(
                f"{self.name}: k = {self.k!r}; it must be a whole number, 1 or more; leave it out for k = m"
            )
        if self.front not in ("mondrian", "hilb"):
            raise PolicyError(f"{self.name}: front = {self.front!r}; it must be 'mondrian' or 'hilb'")

    def groups(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        draws: Draws,
        progress: Progress,
    ) -> Groups:
        return self.draw(table, requirements, draws=draws, progress=progress).groups

    def draw(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        draws: Draws | None = None,
        progress: Progress = silent,
    ) -> Drawn:
        draws = draws or Draws()
        wanted = self.wanted(table, requirements)
        groups = self.in_front(table, wanted, draws, progress)
        progress("perturb", 0.0)
        codes = self.perturbation(table, wanted, groups).draw(draws)
        return self.picked(Drawn(with_values(table, wanted, codes), groups), wanted, draws)

    def picked(self, masked: Drawn, wanted: Wanted, draws: Draws) -> Drawn:
        """What is published of the masked groups: they themselves, or others drawn inside them."""
        return masked

    def before_draws(self, table: Microdata, requirements: Sequence[Requirement]) -> Groups | None:
        return None

    def outcomes(self, table: Microdata, requirements: Sequence[Requirement]) -> Iterator[tuple[Drawn, Fraction]]:
        wanted = self.wanted(table, requirements)
        for groups, part in self.every_in_front(table, wanted):
            try:
                for codes, chance in self.perturbation(table, wanted, groups).every():
                    yield Drawn(with_values(table, wanted, codes), groups), part * chance
            except Infeasible:
                yield Drawn(table, groups), Fraction(0)

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        others = [r for r in requirements if not isinstance(r, MConfidentiality)]
        beside = all(isinstance(r, KAnonymity) and r.entity is None for r in others)
        if len(requirements) != len(others) + 1 or not beside:
            raise PolicyError(f"{self.name} serves exactly one m-confidentiality, optionally with k-anonymity")

    def wanted(self, table: Microdata, requirements: Sequence[Requirement]) -> Wanted:
        """The one m-confidentiality among the requirements, with k-anonymity if that is required too."""
        self.refuse_unserved(requirements)
        found = [r for r in requirements if isinstance(r, MConfidentiality)]
        beside = [r for r in requirements if isinstance(r, KAnonymity)]
        least = max([1] + [r.k for r in beside])
        k = max(self.k or found[0].m, least)
        if k < found[0].m:
            raise PolicyError(f"{self.name}: groups of k = {k} rows cannot hide 1 in m = {found[0].m}; raise k to m")
        wanted = Wanted(
            names(found[0].sensitive)[0], found[0].m, k, found[0].classes(TableSchema(table)), bool(found[0].values)
        )
        self.refuse(wanted, least)
        return wanted

    def refuse(self, wanted: Wanted, least: int) -> None:
        """Raise if the method cannot serve what is wanted; ``least`` rows per group are required."""
        if not wanted.some:
            raise PolicyError(
                f"{self.name} changes sensitive values to others, but here all values of {wanted.sensitive!r} are "
                "sensitive; name the sensitive ones (values = [...]), or use mask+"
            )

    def in_front(self, table: Microdata, wanted: Wanted, draws: Draws, progress: Progress) -> Groups:
        """Groups of at least k rows, by quasi-identifiers alone; equal rows at a border are divided at random."""
        if wanted.k > table.rows:
            name = "k" if wanted.m <= table.rows else f"m = {wanted.m}, and k with it,"
            raise Infeasible(f"{table.rows} rows cannot be {wanted.k}-anonymous; lower {name} to {table.rows} or less")
        if self.front == "mondrian":
            return Mondrian().groups(table, [KAnonymity(k=wanted.k)], draws=draws, progress=progress)
        order = draws.order(table.rows)
        order = order[np.argsort(hilbert_ranks(table).codes[order], kind="stable")]
        number = table.rows // wanted.k
        of_row = np.empty(table.rows, np.int64)
        of_row[order] = np.minimum(np.arange(table.rows) // wanted.k, number - 1)
        return Groups(of_row, number)

    def every_in_front(self, table: Microdata, wanted: Wanted) -> Iterator[tuple[Groups, Fraction]]:
        """Every way to divide equal rows among the initial groups, with its probability; for small tables."""
        first = self.in_front(table, wanted, Draws(), silent)
        if self.front == "mondrian":
            yield first, Fraction(1)
            return
        places = hilbert_ranks(table).codes
        equals = [np.flatnonzero(places == p) for p in np.unique(places)]
        divided = [first.of_row[rows].tolist() for rows in equals]
        ways = prod(factorial(len(d)) // prod(factorial(d.count(g)) for g in set(d)) for d in divided)
        for way in one_of_each([partial(arrangements, d) for d in divided]):
            of_row = np.empty_like(first.of_row)
            for rows, groups in zip(equals, way, strict=True):
                of_row[rows] = groups
            yield Groups(of_row, first.number), Fraction(1, ways)

    def perturbation(self, table: Microdata, wanted: Wanted, groups: Groups) -> Perturbation:
        """What may change in which group."""
        return self.way(values(table, wanted), wanted.classes, groups, wanted.m)


@dataclass(frozen=True, kw_only=True)
class MaskPlus(Mask):
    """MASK+ (ASAP, Algorithm 3, corrected): read counts from the least frequent value up, as long as it is safe.

    A count is read only if it is at most ⌊|G|/m⌋ in the worst case. If all are read, the group is published
    unchanged; otherwise the counts read are kept and the others levelled out below ⌊|G|/m⌋. If only some values are
    sensitive, they are read and bounded as one value. The loop runs to the last value; as printed, (0, 0, 4) with
    m = 2 would be published unchanged. Equal counts are read in the order of the domain.
    """

    name: ClassVar[str] = "mask+"
    summary: ClassVar[str] = "k-anonymous groups; counts are read as long as that is safe, the others levelled out"
    guarantees: ClassVar[str] = Mask.guarantees
    refuted: ClassVar[str | None] = (
        "Theorem 6.3 of ASAP is false, and so is m-confidentiality: the counts that were kept reveal what the others "
        "may have been. Smallest counterexample, m = 2: two people published with a, c out of a, b, c have a with "
        "confidence 2/3, since a, a is published that way too and c, c is not. Use mondrian++ or anatomy with l = m "
        "instead"
    )

    way: ClassVar[type[Perturbation]] = Levelling

    def refuse(self, wanted: Wanted, least: int) -> None:
        """Any set of sensitive values is allowed; the domain is checked against the groups."""


@dataclass(frozen=True, kw_only=True)
class MaskPlusPlus(MaskPlus):
    """MASK++ (ASAP, section 7): MASK+, then stratified pick-up inside its groups, with l = m."""

    name: ClassVar[str] = "mask++"
    summary: ClassVar[str] = "mask+, then groups of m to 2m - 1 rows, drawn at random inside its groups"

    def refuse(self, wanted: Wanted, least: int) -> None:
        if least > wanted.m:
            raise PolicyError(
                f"{self.name} makes groups of m to 2m - 1 rows, so the k of k-anonymity must be at most m = "
                f"{wanted.m}; raise m or lower k (the k of the initial groups is the method's own setting k)"
            )

    def picked(self, masked: Drawn, wanted: Wanted, draws: Draws) -> Drawn:
        return Drawn(masked.table, pick_up(masked.groups, bounded(masked.table, wanted), wanted.m, draws))

    def outcomes(self, table: Microdata, requirements: Sequence[Requirement]) -> Iterator[tuple[Drawn, Fraction]]:
        wanted = self.wanted(table, requirements)
        for masked, chance in super().outcomes(table, requirements):
            if not chance:
                yield masked, chance
                continue
            for groups, part in every_pick_up(masked.groups, bounded(masked.table, wanted), wanted.m):
                yield Drawn(masked.table, groups), chance * part


def values(table: Microdata, wanted: Wanted) -> Counted:
    """The value of each row."""
    return Counted(table[wanted.sensitive].codes, len(wanted.classes))


def bounded(table: Microdata, wanted: Wanted) -> Counted:
    """The class of each row's value."""
    return Counted(wanted.classes[table[wanted.sensitive].codes], int(wanted.classes.max()) + 1)


def with_values(table: Microdata, wanted: Wanted, codes: NDArray[np.int64]) -> Microdata:
    """The table with other values in the sensitive column."""
    old = table[wanted.sensitive]
    column = replace(old, codes=codes.astype(old.codes.dtype))
    return replace(table, columns={**table.columns, wanted.sensitive: column})
