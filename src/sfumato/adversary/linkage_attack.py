"""The linkage adversary of an audit: how surely a person's row, or the person behind a row, is found."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.adversary.base import Adversary, Floats, Integers
from sfumato.adversary.finding import AdversaryFinding, percent_up
from sfumato.adversary.population_fits import population_fits
from sfumato.adversary.population_risk import expected_inverse, refuse_smaller
from sfumato.adversary.situation import Situation
from sfumato.errors import PolicyError
from sfumato.kernel.group import group_rows
from sfumato.table.population import Population

_WHICH = "which row is a person's"
_WHOSE = "who is behind a row"
_OVERLAP = "fit the labels of several groups; all rows that they fit were counted as candidates"


@dataclass(frozen=True, kw_only=True)
class Linkage(Adversary):
    """Knows people's quasi-identifiers and looks for their rows.

    The prosecutor knows that a person is in the table, the journalist only that the person is in the population; the
    marketer wants to re-identify as many people as possible, which is the average of these.
    """

    name: ClassVar[str] = "linkage"
    summary: ClassVar[str] = "knows people's quasi-identifiers and looks for their rows"

    def refuses(self, situation: Situation) -> str | None:
        if not situation.quasi:
            return "no quasi-identifier is published, so there is nothing to look for rows by"
        if situation.randomized_quasi:
            return (
                f"the quasi-identifier {situation.randomized_quasi[0]!r} was randomized, so no row fits a person for "
                "certain"
            )
        return None

    def variants(self, situation: Situation) -> int:
        return 1 + (situation.population is not None)

    def findings(self, situation: Situation) -> Iterator[AdversaryFinding]:
        yield self._people(situation) if situation.several_rows else self._prosecutor(situation)
        if isinstance(situation.population, Population):
            yield self._journalist(situation, situation.population)
        elif situation.population is not None:
            yield self._expected(situation, situation.population)

    def _prosecutor(self, s: Situation) -> AdversaryFinding:
        """The person's row is one of those that fit, all equally likely."""
        rows = s.fits.rows[s.kinds.of_row]
        there = np.flatnonzero(rows > 0)
        belief = 1 / rows[there]
        return self.learned(
            s, belief, 1 / s.published, attack="prosecutor", entries=there, variant="prosecutor",
            knowledge="knows a person's quasi-identifiers and that the person is in the table", target=_WHICH,
            notes=(_marketer(belief, s.weights[there]), *_left_out(s, int(s.weights[rows == 0].sum())), *_several(s)),
        )  # fmt: skip

    def _people(self, s: Situation) -> AdversaryFinding:
        """Where people have several rows, a row is one of the people of its group; everyone's worst row counts."""
        entity = s.several_rows or ""
        if (s.fits.groups > 1).any():
            raise PolicyError(
                f"people have several rows ({entity}) and some fit several groups; they cannot be counted"
            )
        codes, size = s.truth.counted(entity)
        group = s.fits.group[s.kinds.of_row]
        there = np.flatnonzero(group >= 0)
        pairs = group_rows([group[there], codes[there]], [int(group.max()) + 1, size])
        number = np.bincount(group[there][pairs.first], minlength=int(group.max()) + 1)
        belief = np.zeros(size)
        np.maximum.at(belief, codes[there], 1 / number[group[there]])
        person = np.unique(codes[there])
        return self.learned(
            s, belief[person], 1 / len(person), attack="prosecutor", variant="prosecutor",
            knowledge="knows the quasi-identifiers of a person's rows and that the person is in the table",
            target=_WHICH, weights=None, rows=None, notes=(f"People have several rows; they are counted by {entity}.",),
        )  # fmt: skip

    def _journalist(self, s: Situation, population: Population) -> AdversaryFinding:
        """The person behind a row is one of those in the population who fit it, all equally likely."""
        found = population_fits(s, population)
        belief = 1 / found.fitting
        return self.learned(
            s, belief, 1 / found.size, attack="journalist", variant="journalist", weights=found.rows, rows=None,
            knowledge="knows the quasi-identifiers of everyone in the population, but not which of them are in the "
            "table",
            target=_WHOSE, notes=(f"The population has {found.size:,} people.", _marketer(belief, found.rows)),
        )  # fmt: skip

    def _expected(self, s: Situation, size: int) -> AdversaryFinding:
        """The same where only the size of the population is known: an estimate under a model."""
        refuse_smaller(size, s.truth.rows)
        rows = s.fits.rows[s.kinds.of_row]
        there = np.flatnonzero(rows > 0)
        belief = expected_inverse(rows[there], s.truth.rows / size)
        return self.learned(
            s, belief, 1 / size, attack="journalist", entries=there, variant="journalist", exact=False,
            expected="populations of that size", target=_WHOSE,
            knowledge=f"knows the quasi-identifiers of all {size:,} people of the population, but not which of them "
            "are in the table",
            notes=(
                "Only the size of the population is known: the table is assumed to be a simple random sample of it, "
                "and this is the expected risk under that assumption, not a bound.",
                _marketer(belief, s.weights[there]),
            ),
        )  # fmt: skip


def _marketer(belief: Floats, weights: Integers) -> str:
    share = float(weights @ belief / weights.sum())
    return f"A marketer, who tries to re-identify everyone, is expected to be right about {percent_up(share)} of them."


def _left_out(s: Situation, number: int) -> tuple[str, ...]:
    return (f"{number:,} people do not fit any published row: the release leaves them out.",) if number else ()


def _several(s: Situation) -> tuple[str, ...]:
    if s.release.bucketized:
        return ()
    number = int(s.people[s.fits.groups > 1].sum())
    return (f"{number:,} people {_OVERLAP}.",) if number else ()
