"""What a method decides and what a scheme makes of it: one class per scheme, the same steps for each."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import polars as pl

from sfumato.engine.base import Engine
from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.release.generalization import Shown
from sfumato.release.judgement import Judgement
from sfumato.release.manifest import AttributeEntry
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata

Progress = Callable[[str, float], None]
"""Called with what is being done and which part of it is done, from 0 to 1."""


def silent(stage: str, done: float) -> None:
    """No progress is shown."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Decision:
    """What a method decided on counts.

    ``statement`` is what the manifest says of the method beside its settings, ``warnings`` are those that follow from
    this decision alone, ``judgements`` those that the method has made itself.
    """

    statement: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    judgements: Sequence[Judgement] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Grouped(Decision):
    """How many people of each vector go to which group, and what groups show if that is not the narrowest label.

    ``sets``: whether a label may be a set of sibling nodes. ``again``: what to decide on the counts of the people that
    are left, once the grouping has left some out.
    """

    grouping: Grouping
    shown: Sequence[Shown] | None = None
    sets: bool = True
    again: "Callable[[Counts], Grouped] | None" = None


class Made(NamedTuple):
    """What a scheme made of a decision: tables, what the manifest says of attributes, and how the requirements stand.

    ``facts`` are further entries of the manifest.
    """

    tables: dict[str, pl.DataFrame]
    judgements: Sequence[Judgement]
    attributes: Mapping[str, AttributeEntry]
    rows: int
    facts: Mapping[str, Any] = {}


class Scheme(ABC):
    """How people are shown."""

    name: ClassVar[str]

    def refuse(self, table: Microdata, requirements: Sequence[Requirement]) -> None:
        """Raise where the scheme would promise what does not hold, or cannot show this table."""
        return

    def counted(self, table: Microdata) -> list[str]:
        """The columns that must be counted for this scheme, beside quasi-identifiers and what requirements read."""
        return []

    @abstractmethod
    def publish(
        self,
        engine: Engine,
        counts: Counts,
        decision: Any,
        bound: Sequence[Requirement],
        draws: Draws,
        progress: Progress,
    ) -> Made:
        """Judge the decision, apply it to the rows, and show them."""
