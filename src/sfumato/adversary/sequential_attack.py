"""The sequential adversary of an audit: joins the release with what was published before (Fung, chapter 6)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.adversary.base import Adversary, several_rows
from sfumato.adversary.finding import AdversaryFinding
from sfumato.adversary.sequential_join import SequentialJoin, sequential_join
from sfumato.adversary.situation import Situation
from sfumato.adversary.true_belief import true_belief
from sfumato.table.encode import Column

_KNOWS = "has {} earlier {} and knows a person's quasi-identifiers in all of them"
_ALIKE = (
    "Every match of the join counts equally, and only labels and rules rule out matches; an adversary who knows more "
    "about which rows belong together can be surer."
)


@dataclass(frozen=True, kw_only=True)
class SequentialAttack(Adversary):
    """Has earlier releases about the same people and joins them with this one."""

    name: ClassVar[str] = "sequential"
    summary: ClassVar[str] = "joins the release with earlier ones about the same people"
    closed_form: ClassVar[bool] = False

    def refuses(self, situation: Situation) -> str | None:
        if not situation.after:
            return "no earlier release is given"
        return several_rows(situation)

    def variants(self, situation: Situation) -> int:
        return 1 + len(_exact(situation))

    def findings(self, situation: Situation) -> Iterator[AdversaryFinding]:
        yield self._records(situation)
        for column in _exact(situation):
            yield self._values(situation, column)

    def _joined(self, s: Situation, y: str | None = None) -> SequentialJoin:
        return sequential_join([s.release, *s.after], y=y, inconsistent=s.inconsistent)

    def _records(self, s: Situation) -> AdversaryFinding:
        """How few records of this release a combination of quasi-identifiers is linked to."""
        found = self._joined(s)
        rows = s.fits.rows[s.fits.rows > 0]
        alone = 1 / float(rows.min(initial=s.published))
        return self._told(s, found, None, 1 / (found.anonymity or 1), alone, found.pinned_down[found.releases[0]])

    def _values(self, s: Situation, column: Column) -> AdversaryFinding:
        """How surely a sensitive value follows from quasi-identifiers in the join."""
        found = self._joined(s, f"T1.{column.name}")
        alone = float(true_belief(s, column).max())
        return self._told(s, found, column.name, found.confidence or 0.0, alone, None)

    def _told(
        self, s: Situation, found: SequentialJoin, column: str | None, worst: float, alone: float, people: int | None
    ) -> AdversaryFinding:
        """What is learned about a sensitive column, or which row is a person's."""
        number = len(s.after)
        return AdversaryFinding(
            adversary=self.name,
            variant=column or "",
            knowledge=_KNOWS.format(number, "release" if number == 1 else "releases"),
            target=f"of a person's {column}" if column else "which row is a person's",
            attacked=s.published,
            of=s.published,
            people=people,
            certain=0,
            margin=s.margin,
            worst=float(np.clip(worst, 0.0, 1.0)),
            worst_baseline=alone,
            baseline=alone,
            mean=None,
            mean_baseline=None,
            exact=False,
            without="with this release alone",
            notes=(found.words(), _ALIKE),
        )


def _exact(situation: Situation) -> list[Column]:
    """The sensitive attributes whose values are published as they are."""
    if situation.release.sampled:
        return []
    return [c for c in situation.sensitive if c.name not in situation.release.description.matrices]
