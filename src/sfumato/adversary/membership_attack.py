"""The membership adversary of an audit: how surely someone of the population is known to be in the table."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sfumato.adversary.base import Adversary
from sfumato.adversary.finding import AdversaryFinding
from sfumato.adversary.population_fits import population_fits
from sfumato.adversary.situation import Situation
from sfumato.errors import PolicyError
from sfumato.table.population import Population


@dataclass(frozen=True, kw_only=True)
class Membership(Adversary):
    """Knows the quasi-identifiers of everyone in the population and wants to know who is in the table.

    If N people of the population fit a group of n published people, each of them is in the table with probability
    n / N. Without the release, the probability is the size of the table over that of the population.
    """

    name: ClassVar[str] = "membership"
    summary: ClassVar[str] = "knows everyone in the population and wants to know which of them are in the table"

    def refuses(self, situation: Situation) -> str | None:
        if situation.population is None:
            return "no population is given, so everyone is assumed to be in the table"
        if not isinstance(situation.population, Population):
            return "only the size of the population is known; a table of its quasi-identifiers is needed"
        if situation.randomized_quasi:
            return f"the quasi-identifier {situation.randomized_quasi[0]!r} was randomized, so nobody fits for certain"
        if not situation.quasi:
            return "no quasi-identifier is published, so everyone in the population fits equally well"
        if situation.several_rows:
            return "people have several rows, so rows do not show how many people are in a group"
        return None

    def variants(self, situation: Situation) -> int:
        return 1

    def findings(self, situation: Situation) -> Iterator[AdversaryFinding]:
        assert isinstance(situation.population, Population)
        found = population_fits(situation, situation.population)
        if not found.disjoint:
            raise PolicyError(
                "some people of the population fit the labels of several groups, so the share of a group that is in "
                "the table does not say how likely they are; this is not computed"
            )
        yield self.learned(
            situation, found.rows / found.fitting, situation.published / found.size, attack="membership",
            weights=found.rows, rows=None, target="that a person in the table is in it",
            knowledge="knows the quasi-identifiers of everyone in the population",
            notes=(f"The population has {found.size:,} people.",),
        )  # fmt: skip
