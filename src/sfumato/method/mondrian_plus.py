"""Mondrian+ and Mondrian++: cuts allowed by look-ahead, so that groups stay l-diverse in the worst case (ASAP, 6.2.1).

A cut is made only if both sides would be l-diverse even if all rows with the group's most frequent value fell
on one side. The decision uses nothing that the published groups do not reveal anyway.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.errors import PolicyError
from sfumato.kernel import judge
from sfumato.kernel.mondrian.partition import partition
from sfumato.method.base import Groups, Progress, grouped_rows
from sfumato.method.diversity import Diversity, DiversityMethod, diversity
from sfumato.method.mondrian import numbered
from sfumato.release.scheme.base import Grouped
from sfumato.release.scheme.group_labels import space_of
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, kw_only=True)
class MondrianPlus(DiversityMethod):
    """Mondrian+ (ASAP, Algorithm 1, corrected): the cuts of Mondrian, allowed only by look-ahead.

    As printed the algorithm never terminates. Here: refuse a table that is not l-eligible; take a group; cut it on
    the first attribute, widest first, on which both sides keep at least l times the group's greatest count of rows.

    ``labels``: a group below some children of a node shows a set of them (``siblings``), or always a node (``nodes``).
    """

    name: ClassVar[str] = "mondrian+"
    summary: ClassVar[str] = "mondrian that looks ahead instead of trying: groups reveal nothing beyond their values"
    guarantees: ClassVar[str] = (
        "frequency l-diversity, also against an adversary who knows the algorithm (checked on all small tables)"
    )
    labels: Literal["siblings", "nodes"] = "siblings"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels not in ("siblings", "nodes"):
            raise PolicyError(f"{self.name}: labels = {self.labels!r}; it must be 'siblings' or 'nodes'")

    def shows_sets(self) -> bool:
        return self.labels == "siblings"

    def base(self, table: Microdata, wanted: Diversity, progress: Progress) -> Groups:
        return grouped_rows(table, [wanted.sensitive], lambda counts: self.cut(counts, wanted, progress))

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Grouped:
        if self.picks:
            return super().decide(counts, requirements, draws, progress)
        groups = self.cut(counts, diversity(self.name, requirements), progress)
        return Grouped(grouping=Grouping.of_vectors(counts, groups.of_row, groups.number), sets=self.shows_sets())

    def cut(self, counts: Counts, wanted: Diversity, progress: Progress) -> Groups:
        """The group of each vector."""
        sensitive = counts[wanted.sensitive]
        test = (judge.AHEAD, 0, wanted.l.numerator, wanted.l.denominator, 0)
        parts = partition(
            space_of(counts.quasi, sets=self.shows_sets()),
            [c.codes for c in counts.quasi],
            weights=counts.weights,
            counted=[sensitive.codes],
            sizes=[sensitive.size],
            tests=judge.pack([test], [()]),
            least=wanted.k,
            progress=lambda done: progress("cuts", done),
        )
        return Groups(numbered(parts.order, parts.starts), len(parts.starts))


@dataclass(frozen=True, kw_only=True)
class MondrianPlusPlus(MondrianPlus):
    """Mondrian++ (ASAP, Algorithms 5 and 6): Mondrian+, then stratified pick-up inside its groups.

    ``labels`` as for `MondrianPlus`.
    """

    name: ClassVar[str] = "mondrian++"
    summary: ClassVar[str] = "mondrian+, then groups as small as l allows, drawn at random inside its groups"
    picks: ClassVar[bool] = True
