"""The distribution adversary of an audit: knows how likely each kind of person is to have a value (ART).

In a group the adversary weighs every way to assign the published values to its people by these probabilities. Without
the release, the belief is the probability itself. Of all attribute sets by which distributions may be known, the one
that makes the belief in the truth greatest counts for each person.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfumato.adversary.base import Adversary, Floats, Integers, several_rows
from sfumato.adversary.finding import AdversaryFinding
from sfumato.adversary.situation import Situation
from sfumato.errors import PolicyError
from sfumato.release.check.claims import claimed
from sfumato.release.judgement import TableSchema
from sfumato.requirement.base import names, whole_number
from sfumato.requirement.exposure import GroupedPeople, linked
from sfumato.requirement.knowledge import Knowledge
from sfumato.requirement.r_robustness import RRobustness
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata

_MOST_PEOPLE = 20_000
"""How many people are attacked unless a sample is asked for; groups are computed whole, so this takes seconds."""
_MOST_CELLS = 50_000_000


@dataclass(frozen=True, kw_only=True)
class DistributionAttack(Adversary):
    """Knows everyone's quasi-identifiers and group and how likely people with given values are to have each value.

    The distributions are those of the release's r-robustness claim, or else estimated from the table, for attribute
    sets up to ``size`` with at least ``minimum`` people; groups of more than ``limit`` states are bounded.
    """

    name: ClassVar[str] = "distribution"
    summary: ClassVar[str] = "knows how likely people with given quasi-identifiers are to have each value"
    closed_form: ClassVar[bool] = False

    size: int = 1
    minimum: int = 100
    limit: int = 20_000

    def __post_init__(self) -> None:
        for field in ("size", "minimum", "limit"):
            whole_number("the adversary distribution", field, getattr(self, field), 1)

    def refuses(self, situation: Situation) -> str | None:
        if not situation.release.scheme_class.shows_groups:
            return "the release does not show groups of people with their values"
        if not situation.sensitive or not situation.quasi:
            return "it needs a quasi-identifier and a sensitive attribute"
        if situation.perturbs:
            return "the method may have changed sensitive values, so they cannot be assigned to people"
        if situation.release.scheme_class.labels_people and (situation.fits.groups != 1).any():
            return "some people fit the labels of several groups or of none, so the people of a group are not known"
        return several_rows(situation)

    def findings(self, situation: Situation) -> Iterator[AdversaryFinding]:
        truth = situation.truth
        if not isinstance(truth, Microdata):
            raise PolicyError("the adversary distribution needs the rows of the private table")
        for column in situation.sensitive:
            yield self._attacked(situation, truth, column)

    def _attacked(self, s: Situation, truth: Microdata, column: Column) -> AdversaryFinding:
        wanted = self._claim(s, column) or RRobustness(
            r=2, sensitive=column.name, size=self.size, minimum=self.minimum, limit=self.limit
        )
        bound = wanted.bind(TableSchema(truth))
        known = bound.known(truth)
        chosen = self._sample(s)
        best, before, bounded, used = _Case(s, column, known, chosen).attacked(float(self.limit))
        sampled = len(chosen) < truth.rows
        notes = [
            f"{used} distributions are known, one per attribute set; for each person, the most revealing one counts."
        ]
        if bounded:
            notes.append(f"{bounded:,} groups have too many states and are judged by a certified upper bound.")
        if used < len(known.distributions):
            notes.append(f"{len(known.distributions) - used} more distributions were left out for lack of time.")
        return self.learned(
            s, best, before, attack="distribution", attribute=column.name, entries=chosen, of=truth.rows,
            exact=not bounded and used == len(known.distributions), bound=bool(bounded) and not sampled,
            variant=column.name if len(s.sensitive) > 1 else "", target=f"of a person's {column.name}",
            knowledge="knows who is in which group and how likely people like each of them are to have each value",
            notes=tuple(notes),
        )  # fmt: skip

    def _claim(self, s: Situation, column: Column) -> RRobustness | None:
        """The claim about this attribute, if the release makes one that distinguishes the actual values."""
        for claim in s.release.description.requirements:
            if claim.model == RRobustness.model:
                found = claimed(claim)
                about = names(getattr(found, "sensitive", None)) or (column.name,)
                if isinstance(found, RRobustness) and column.name in about and not found.values:
                    return found.with_parameters(worlds="values")
        return None

    def _sample(self, s: Situation) -> Integers:
        number = min(s.truth.rows, s.sample or _MOST_PEOPLE)
        everyone = np.arange(s.truth.rows)
        return everyone if number == s.truth.rows else np.sort(s.draws.order(s.truth.rows)[:number])


class _Case(NamedTuple):
    """Published people with their groups, and the people of the truth who are attacked."""

    s: Situation
    column: Column
    known: Knowledge
    chosen: Integers

    def attacked(self, limit: float) -> tuple[Floats, Floats, int, int]:
        """The greatest belief in the truth and the baseline of each person, how many groups were only bounded, and how
        many distributions there was time for."""
        kind, group = self._published()
        value = self.known.values.of_code[self.column.codes[self.chosen]]
        mine = self.s.kinds.of_row[self.chosen]
        of_known = self.known.kinds.of_row[self.s.kinds.first]
        people = GroupedPeople(of_known[kind], group, self._held())
        wanted = np.unique(group[np.isin(kind, mine)])
        best, before = np.full(len(mine), -1.0), np.zeros(len(mine))
        bounded, used = np.zeros(len(people.held), np.bool_), 0
        for distribution in self.known.distributions:
            if used and self.s.clock.over:
                break
            belief = np.zeros(len(mine))
            for values, p, rows, over in linked(people, distribution, len(self.known.values.names), limit, wanted):
                bounded |= over
                belief = self._averaged(belief, values, p, kind[rows], mine, value)
            chance = distribution.chance[distribution.of_kind[of_known[mine]], value]
            surer, used = belief > best, used + 1
            best, before = np.where(surer, belief, best), np.where(surer, chance, before)
        return np.minimum(best, 1.0), before, int(bounded.sum()), used

    def _averaged(
        self, belief: Floats, values: Integers, p: Floats, kind: Integers, mine: Integers, value: Integers
    ) -> Floats:
        """The belief in the truth: the average over the published people of the person's kind, who look alike."""
        rows = np.bincount(kind, minlength=len(self.s.kinds.first))
        for at, v in enumerate(values.tolist()):
            here = np.flatnonzero(value == v)
            if len(here):
                sums = np.bincount(kind, weights=p[:, at], minlength=len(rows))
                belief[here] = sums[mine[here]] / np.maximum(rows[mine[here]], 1)
        return belief

    def _published(self) -> tuple[Integers, Integers]:
        """The kind and the group of each published person."""
        s = self.s
        if s.release.bucketized:
            return s.kind_of_row, s.group_of_row
        return s.kinds.of_row, np.asarray(s.fits.group[s.kinds.of_row])

    def _held(self) -> Integers:
        held = self.s.held(self.column)
        groups, width = len(held.sizes), len(self.known.values.names)
        if groups * width > _MOST_CELLS:
            raise PolicyError(f"{groups:,} groups times {width:,} values are too many to compute")
        dense: Any = np.zeros((groups, width), np.int64)
        inside = held.keys % held.values < self.column.size
        np.add.at(
            dense,
            (held.keys[inside] // held.values, self.known.values.of_code[held.keys[inside] % held.values]),
            held.counts[inside],
        )
        return np.asarray(dense)
