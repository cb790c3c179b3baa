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
from sfumato.engine.pieces import Pieces
from sfumato.errors import PolicyError
from sfumato.kernel import judge
from sfumato.method.base import Groups, Progress, grouped_rows
from sfumato.method.cutting import Cutting
from sfumato.method.diversity import Diversity, DiversityMethod, diversity
from sfumato.method.piecewise import Boxed, boxed
from sfumato.release.scheme.base import Grouped
from sfumato.release.scheme.group_labels import space_of
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Column
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
        return self._cutting(counts.quasi, wanted).groups(counts, progress)

    def _cutting(self, quasi: list[Column], wanted: Diversity) -> Cutting:
        """When a group is cut: if both sides would keep l times its greatest count."""
        test = (judge.AHEAD, 0, wanted.l.numerator, wanted.l.denominator, 0)
        space = space_of(quasi, sets=self.shows_sets())
        return Cutting(space, judge.pack([test], [()]), wanted.k, [(wanted.sensitive,)])

    def cutting(self, table: Microdata | Counts, quasi: list[Column], requirements: Sequence[Requirement]) -> Cutting:
        """When a group is cut."""
        return self._cutting(quasi, diversity(self.name, requirements))

    def decide_in_pieces(self, pieces: Pieces, requirements: Sequence[Requirement], progress: Progress) -> Boxed:
        """The same decision on a table that is too large for memory."""
        if self.picks:
            raise pieces.refuse(f"{self.name} can put equal rows into different groups; use mondrian+")
        return boxed(self, pieces, requirements, progress)


@dataclass(frozen=True, kw_only=True)
class MondrianPlusPlus(MondrianPlus):
    """Mondrian++ (ASAP, Algorithms 5 and 6): Mondrian+, then stratified pick-up inside its groups.

    ``labels`` as for `MondrianPlus`.
    """

    name: ClassVar[str] = "mondrian++"
    summary: ClassVar[str] = "mondrian+, then groups as small as l and k allow, drawn at random inside its groups"
    picks: ClassVar[bool] = True
