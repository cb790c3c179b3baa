"""mondrian-blur: Mondrian's cuts, refused at random where they are close to failing.

Why it is safe: exchange the sensitive values of two people of a published group. Every group of the cut tree that holds
both, and both sides of every cut that was made, have the same counts as before. So only cuts that were tried and
refused tell anything, and what a refusal tells is bounded by its price. docs/aware.md has the proof.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Counts, totals
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.errors import PolicyError, nearest
from sfumato.kernel.mondrian.blur import Arrays, Blurred, blurred_partition
from sfumato.kernel.mondrian.refusal import ONE, PER_AXIS, Rules
from sfumato.method.base import Drawn, Groups, PartitionMethod, Progress
from sfumato.method.blur.association import declared, preferences, units_per_attribute
from sfumato.method.blur.budget import MOST_UNITS, levels, refusal_limits, units_within
from sfumato.method.blur.dealing import Dealing
from sfumato.method.blur.every_partition import every_partition
from sfumato.method.cutting import numbered
from sfumato.method.diversity import Diversities, diversities
from sfumato.release.manifest import Manifest
from sfumato.release.scheme.base import Grouped
from sfumato.release.scheme.group_labels import space_of
from sfumato.requirement.base import Requirement, as_fraction, is_number, whole_number
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata

_ENOUGH, _ENOUGH_UNDEALT = 3000, 4000
"""Price times distance at which a cut is refused with probability e^-3 = 5%, or e^-4 = 2% if groups are not dealt."""

_DEALT_TWICE = (
    "A person's value is in that person's group in every release, so an adversary who has two releases made with "
    "different draws has few candidates left; the guarantee covers one release only."
)

_LEAST_BLUR, _MOST_BLUR = 0.001, 999


@dataclass(frozen=True, kw_only=True)
class MondrianBlur(PartitionMethod):
    """The most balanced cut of the preferred attribute, refused at random; the closer it is to failing, the likelier.

    ``blur`` and ``refusals``: one refused cut multiplies the odds of an adversary who knows the algorithm by at most
    1 + blur, all refusals that a group bears together by at most (1 + blur)^refusals. Within that a refusal costs as
    little as the size of the group allows, and no group bears more than its own values can pay for: if it bears a
    factor F, no value makes up more than 1 / (1 + F (l - 1)) of it, so nobody's belief exceeds 1/l.

    ``order``: the quasi-identifiers to prefer. The attribute to cut is the widest in the group, after the width of the
    second in this list is halved, that of the third divided by 3 and so on, and that of others by one more. Without it,
    those that are least associated with the sensitive values are preferred, by a noisy count whose cost is part of F,
    if the table is large enough; otherwise the widest.

    ``pickup``: groups are then dealt at random into smaller ones, each with nearly the same share of each value, as far
    as k and what the group bears allow. Without it, groups spend what is left on cuts that are close to failing.

    ``labels``: a group below some children of a node shows a set of them (``siblings``), or always a node (``nodes``).
    """

    name: ClassVar[str] = "mondrian-blur"
    summary: ClassVar[str] = "mondrian that refuses some cuts at random: safe, with most of the utility"
    guarantees: ClassVar[str] = (
        "frequency l-diversity of each sensitive attribute for which it is required, also against an adversary who "
        "knows the algorithm and considers all tables behind the groups equally likely (proved, and checked on all "
        "small tables); for other beliefs, each exchange of two people's values within a group changes the likelihood "
        "of the groups, as bucketization shows them, by a factor of at most (1 + blur)^refusals"
    )

    blur: float = 1.0
    refusals: int = 1
    order: Sequence[str] | None = None
    pickup: bool = True
    labels: Literal["siblings", "nodes"] = "siblings"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.blur) or not _LEAST_BLUR <= self.blur <= _MOST_BLUR:
            raise PolicyError(
                f"{self.name}: blur = {self.blur!r}; it must be a number from {_LEAST_BLUR} up to {_MOST_BLUR}"
            )
        whole_number(self.name, "refusals", self.refusals, 1)
        if self.cap > MOST_UNITS:
            raise PolicyError(
                f"{self.name}: blur = {self.blur:g} and refusals = {self.refusals} let the odds grow by a factor above "
                f"1000; lower one of them, e.g. blur = 1 and refusals = 1"
            )
        if not isinstance(self.pickup, bool):
            raise PolicyError(f"{self.name}: pickup = {self.pickup!r}; it must be true or false")
        if self.labels not in ("siblings", "nodes"):
            raise PolicyError(f"{self.name}: labels = {self.labels!r}; it must be 'siblings' or 'nodes'")
        if self.order is not None:
            object.__setattr__(self, "order", _names(self.name, self.order))

    @property
    def dearest(self) -> int:
        """The greatest price of one refusal, in units."""
        return units_within(1 + as_fraction(self.blur))

    @property
    def cap(self) -> int:
        """The most that a group may bear, in units."""
        return self.dearest * self.refusals

    def shows_sets(self) -> bool:
        return self.labels == "siblings"

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        diversities(self.name, requirements)

    def bind(self, table: Microdata, requirements: Sequence[Requirement]) -> list[Requirement]:
        if wrong := self._wrong_order([c.name for c in table.quasi]):
            raise PolicyError(f"{self.name}: {wrong}")
        return super().bind(table, requirements)

    def contradiction(self, manifest: Manifest) -> str | None:
        return self._wrong_order(manifest.with_role(Role.QUASI))

    def _wrong_order(self, quasi: Sequence[str]) -> str | None:
        """What is wrong with the declared order, or None."""
        unknown = next((name for name in self.order or () if name not in quasi), None)
        return unknown and f"order names {unknown!r}, which is not a quasi-identifier{nearest(unknown, quasi)}"

    def redrawn(self) -> str | None:
        return _DEALT_TWICE if self.pickup else super().redrawn()

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Grouped:
        wanted = diversities(self.name, requirements)
        groups, levels = self.cut(counts, wanted, draws, progress)
        if not self.pickup:
            return Grouped(grouping=Grouping.of_vectors(counts, groups.of_row, groups.number), sets=self.shows_sets())
        person = counts.vector_of_person
        dealing = self.dealing(
            Groups(groups.of_row[person], groups.number), _counted(counts, wanted, person), levels, wanted.k, draws
        )
        people = dealing.drawn()
        return Grouped(grouping=Grouping.of_people(counts, people.of_row, people.number), sets=self.shows_sets())

    def groups(
        self, table: Microdata, requirements: Sequence[Requirement], *, draws: Draws, progress: Progress
    ) -> Groups:
        wanted = diversities(self.name, requirements)
        engine = LocalEngine(table)
        counts = engine.count(wanted.names)
        groups, levels = self.cut(counts, wanted, draws, progress)
        vectors = engine.vectors(counts)
        rows = Groups(groups.of_row[vectors], groups.number)
        if not self.pickup:
            return rows
        return self.dealing(rows, _counted(counts, wanted, vectors), levels, wanted.k, draws).drawn()

    def before_draws(self, table: Microdata, requirements: Sequence[Requirement]) -> Groups | None:
        return None

    def cut(
        self, counts: Counts, wanted: Diversities, draws: Draws, progress: Progress
    ) -> tuple[Groups, NDArray[np.int64]]:
        """The group of each vector, and for each sensitive attribute and group the diversity that pays for it."""
        rules = self.rules(counts, wanted, draws)
        found = blurred_partition(self.arrays(counts, wanted), rules, draws.words, lambda done: progress("cuts", done))
        return _with_levels(found, rules)

    def dealing(
        self, groups: Groups, sensitive: Sequence[Counted], levels: NDArray[np.int64], k: int, draws: Draws
    ) -> Dealing:
        """How the rows of each group can be dealt into smaller ones, in a random order."""
        return Dealing.of(groups, sensitive, levels, k, draws.order(len(groups.of_row)))

    def rules(self, counts: Counts, wanted: Diversities, draws: Draws) -> Rules:
        """What a cut must keep, what refusals cost, and the order of attributes, which is drawn here."""
        needed, units = levels(wanted.limits, self.cap), 0
        prefer = np.ones(len(counts.quasi))
        if self.order:
            prefer = declared(self.order, [c.name for c in counts.quasi])
        else:
            units = units_per_attribute(counts.rows, len(counts.quasi), _affordable(counts, wanted, needed))
        if units:
            prefer = preferences(counts, wanted.names, units, draws)
        enough = _ENOUGH if self.pickup else _ENOUGH_UNDEALT
        numbers = np.array([wanted.k, self.dearest, enough, units, not self.pickup], np.int64)
        return Rules(needed, refusal_limits(), numbers, prefer)

    def outcomes(self, table: Microdata, requirements: Sequence[Requirement]) -> Iterator[tuple[Drawn, Fraction]]:
        wanted = diversities(self.name, requirements)
        rules = self.rules(LocalEngine(table).count(wanted.names), wanted, Draws())
        if rules.numbers[PER_AXIS]:
            raise PolicyError(
                f"{self.name} draws the order of the attributes of {table.rows} rows with noise, in too many ways to "
                "list; declare an order, or use sampled_worlds"
            )
        yield from self.outcomes_under(rules, table, wanted)

    def outcomes_under(self, rules: Rules, table: Microdata, wanted: Diversities) -> Iterator[tuple[Drawn, Fraction]]:
        """Every way in which the draws can fall once the order of the attributes is drawn."""
        engine = LocalEngine(table)
        counts = engine.count(wanted.names)
        vectors = engine.vectors(counts)
        for blurred, chance in every_partition(self.arrays(counts, wanted), rules):
            groups, levels = _with_levels(blurred, rules)
            rows = Groups(groups.of_row[vectors], groups.number)
            if not self.pickup:
                yield Drawn(table, rows), chance
                continue
            for dealt, part in self.dealing(rows, _counted(counts, wanted, vectors), levels, wanted.k, Draws()).every():
                yield Drawn(table, dealt), chance * part

    def arrays(self, counts: Counts, wanted: Diversities) -> Arrays:
        """The counted table as the kernel takes it."""
        return Arrays(
            space_of(counts.quasi, sets=self.shows_sets()),
            [c.codes for c in counts.quasi],
            counts.weights,
            [counts[n].codes for n in wanted.names],
            [counts[n].size for n in wanted.names],
        )


def _with_levels(found: Blurred, rules: Rules) -> tuple[Groups, NDArray[np.int64]]:
    """The groups, and the levels that each must keep by what it bears; a group that has spent nothing at all too."""
    parts = found.parts
    return Groups(numbered(parts.order, parts.starts), len(parts.starts)), rules.levels[:, found.borne]


def _counted(counts: Counts, wanted: Diversities, vector: NDArray[np.int64]) -> list[Counted]:
    """The sensitive values of people with these vectors."""
    return [Counted(counts[n].codes[vector], counts[n].size) for n in wanted.names]


def _affordable(counts: Counts, wanted: Diversities, needed: NDArray[np.int64]) -> int:
    """What the whole table can spend, in units."""
    columns = [Counted(counts[n].codes, counts[n].size) for n in wanted.names]
    most = [int(totals(column, counts.weights).max()) for column in columns]
    return min(int((row * m <= counts.rows * ONE).sum()) - 1 for row, m in zip(needed, most, strict=True))


def _names(method: str, order: object) -> tuple[str, ...]:
    """The declared order, if it is a list of different names."""
    if isinstance(order, str) or not isinstance(order, Sequence) or not all(isinstance(n, str) for n in order):
        raise PolicyError(f"{method}: order = {order!r}; it must be a list of quasi-identifiers")
    if not order or len(set(order)) < len(order):
        raise PolicyError(f"{method}: order = {list(order)}; it must name at least one attribute, and each only once")
    return tuple(order)
