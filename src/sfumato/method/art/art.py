"""ART (Wong, Fu, Wang, Xu, Pei): merge people with similar chances until no link to a sensitive value exceeds 1/r."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.art.grouping import GrowingGroups, cells_of, people_in
from sfumato.method.base import Drawn, Groups, GroupScheme, PartitionMethod, Progress
from sfumato.release.judgement import Judgement, completed
from sfumato.release.scheme.base import Grouped
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.release.scheme.group_labels import by_labels, show
from sfumato.requirement.base import Requirement, rounded_down
from sfumato.requirement.exposure import Exposure
from sfumato.requirement.knowledge import Knowledge
from sfumato.requirement.r_robustness import RRobustness
from sfumato.table.microdata import Microdata

Condition = Literal["exact", "published"]

_TWO_VALUED = (
    "worlds = 'two-valued', as published in ART, is refuted: worlds that only distinguish a protected value from its "
    "absence do not bound an adversary who knows the distributions of all sensitive values. Counterexample, r = 2: "
    "three people have chances (1/10, 1/19, 1/19), (1/19, 1/10, 1/10), (1/19, 1/10, 1/10) of the three values that "
    "they hold. The first has the first value with probability 361/561 = 0.6435, but 1/2 in two-valued worlds. Use "
    "worlds = 'values'"
)
_PUBLISHED = (
    "condition = 'published' merges by Theorem 1 of ART, which is false for worlds over the actual values and for "
    "values held more than once; the groups it merged were verified, and nothing is published if p(t:x) is above 1/r"
)
_NOT_AWARE = (
    "the grouping depends on the sensitive values, and r-robustness does not bound an adversary who knows "
    "the algorithm. Counterexample, r = 1.5, chances of a protected value 0.1, 0.095 and 0.092: {t1, t2} holds it "
    "once, t3 is alone: t1 certainly has it, since t2 would have been grouped with t3"
)


@dataclass(frozen=True, kw_only=True)
class Art(PartitionMethod):
    """Each person starts as a group; a group with a protected value takes in the closest people until p(t:x) <= 1/r.

    The closest person is the one who widens the chances of the group least, summed over all attribute sets
    (Definition 6); a person with a protected value that the group already has is not taken in. The people most exposed
    by their chances go first. ``exact`` continues until p(t:x) itself, or a certified upper bound of it, is at most 1/r
    for every attribute set; ``published`` until the bound of Theorem 1 holds for every attribute set, and refuses to
    publish if p(t:x) is then above 1/r.

    ``condition``: ``exact`` or ``published``. ``scheme``: how groups are shown.
    """

    name: ClassVar[str] = "art"
    summary: ClassVar[str] = (
        "groups of people with similar chances of the sensitive values, each protected value at most once"
    )
    guarantees: ClassVar[str] = (
        "r-robustness in worlds over the actual values, p(t:x) computed exactly or certified by an upper bound in "
        "every group, against an adversary who does not exploit how the algorithm formed its groups"
    )
    refuted: ClassVar[str | None] = (
        "Theorem 1 of ART is false for worlds over the actual values: three people, r = 2, chances (1/10, 1/19, 1/19), "
        "(1/19, 1/10, 1/10), (1/19, 1/10, 1/10) meet it and give 361/561 > 1/2. Its two-valued worlds and its "
        "condition ('published') fail with it and are kept only as published; the defaults, worlds = 'values' and "
        "condition = 'exact', do not rest on it. No setting withstands an adversary who knows the algorithm"
    )
    scheme: GroupScheme = "bucketization"
    condition: Condition = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.condition not in ("exact", "published"):
            raise PolicyError(f"{self.name}: condition = {self.condition!r}; it must be 'exact' or 'published'")

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        """What the published variants do not guarantee, and what no variant guarantees if the algorithm is known."""
        told = [_PUBLISHED] if self.condition == "published" else []
        if any(isinstance(r, RRobustness) and r.worlds == "two-valued" for r in requirements):
            told.append(_TWO_VALUED)
        return [*told, _NOT_AWARE]

    def groups(
        self, table: Microdata, requirements: Sequence[Requirement], *, draws: Draws, progress: Progress
    ) -> Groups:
        wanted = robustness(self.name, requirements)
        return self._made(table, wanted, wanted.known(table), draws, progress)[0]

    def bind(self, table: Microdata, requirements: Sequence[Requirement]) -> list[Requirement]:
        wanted = robustness(self.name, completed(requirements, table))
        return super().bind(table, [wanted])

    def counted(self, table: Microdata, bound: Sequence[Requirement]) -> list[str]:
        return [c.name for c in table.sensitive]

    def refuse_infeasible(self, bound: Sequence[Requirement], counts: Counts) -> None:
        """Groups are judged while they grow."""

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Grouped:
        wanted, people = robustness(self.name, requirements), counts.people()
        groups, found = self._made(people, wanted, wanted.known(people), draws, progress)
        return Grouped(
            grouping=Grouping.of_people(counts, groups.of_row, groups.number),
            sets=self.shows_sets(),
            judgements=[Judgement(wanted, wanted.achieved(found.greatest), groups.number, 0)],
            warnings=_bounded(found),
        )

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        robustness(self.name, requirements)

    def before_draws(self, table: Microdata, requirements: Sequence[Requirement]) -> Groups | None:
        return None

    def outcomes(self, table: Microdata, requirements: Sequence[Requirement]) -> Iterator[tuple[Drawn, Fraction]]:
        raise PolicyError(f"the groups of {self.name} depend on hidden values; its outcomes cannot be enumerated")

    def _made(
        self,
        table: Microdata,
        wanted: RRobustness,
        known: Knowledge,
        draws: Draws,
        progress: Progress,
    ) -> tuple[Groups, Exposure]:
        """Groups that meet the requirement as the scheme shows them, and how exposed people are in them."""
        _feasible(wanted, known)
        growth = GrowingGroups(wanted, known, cells_of(known, draws), progress)
        growth.first(by_odds=self.condition == "exact")
        if self.condition == "exact":
            growth.until_exact()
        if SCHEMES[self.scheme].labels_people:
            return self._told_apart(table, wanted, known, growth)
        found = growth.exposure()
        if wanted.fails(found.worst).any():
            hint = ", or use condition = 'exact'" if self.condition == "published" else ""
            raise _infeasible(wanted, known, found, growth, hint)
        return growth.groups(), found

    def _told_apart(
        self, table: Microdata, wanted: RRobustness, known: Knowledge, growth: GrowingGroups
    ) -> tuple[Groups, Exposure]:
        """Groups that show the same labels look like one from outside: join them and let them grow until all hold."""
        while True:
            groups = growth.groups()
            seen = by_labels(show(table, groups.of_row, groups.number, sets=self.shows_sets()))
            classes = Groups(seen.of_row[groups.of_row], seen.number)
            found = wanted.exposure(people_in(classes, known), known)
            failing = np.unique(classes.of_row[wanted.fails(found.worst)])
            if not len(failing):
                return groups, found
            if self.condition == "published" or not growth.take_in(classes, failing):
                hint = ", or use bucketization: groups that show the same labels count as one"
                raise _infeasible(wanted, known, found, growth, hint)


def robustness(method: str, requirements: Sequence[Requirement]) -> RRobustness:
    """The r-robustness requirement, which must be the only requirement."""
    wanted = [r for r in requirements if isinstance(r, RRobustness)]
    others = [r for r in requirements if not isinstance(r, RRobustness)]
    if len(wanted) != 1:
        raise PolicyError(
            f"{method} needs exactly one r-robustness, but {len(wanted) or 'none'} "
            f"{'are' if wanted else 'is'} required; require r-robustness once, and nothing else"
        )
    if others:
        raise PolicyError(f"{method} serves only r-robustness; it cannot serve: {others[0].words()}")
    return wanted[0]


def _feasible(wanted: RRobustness, known: Knowledge) -> None:
    """Whether r people can share each protected value, whatever the distributions."""
    counts = np.bincount(known.value, minlength=len(known.values.names))
    for members, title in zip(known.values.protected, known.values.titles, strict=True):
        held = int(counts[list(members)].sum())
        if held * wanted.r > len(known.value) * (1 + 1e-12):
            most = rounded_down(len(known.value) / held)
            remedy = f"lower r to {most:.4g} or less, or protect" if most > 1 else "protect"
            raise Infeasible(
                f"{wanted.model}: {held} of {len(known.value)} rows hold {title!r}, so someone is linked to it with "
                f"a probability of at least {held / len(known.value):.4g}; {remedy} fewer values"
            )


def _infeasible(wanted: RRobustness, known: Knowledge, found: Exposure, growth: GrowingGroups, hint: str) -> Infeasible:
    """Who stays linked, by which distribution, and what may help; other groups may work, art does not try them all."""
    name, by = known.values.titles[found.value], " and ".join(found.attributes)
    failing = int(wanted.fails(found.worst).sum())
    hints = ["lower r", "protect fewer values"]
    if not wanted.distributions:
        hints[1:1] = [f"raise minimum (now {wanted.minimum})", "lower size"]
    room = ""
    if wanted.worlds == "two-valued":
        room = f"; groups that hold a value once allow at most r = {rounded_down(growth.room()):.4g} on this data"
    else:
        hints.append("merge rare sensitive values in the source")
    if found.bounded:
        hints.append(f"raise limit (now {wanted.limit}; {found.bounded} groups are judged by an upper bound)")
    return Infeasible(
        f"{wanted.model}: {failing} people stay linked to {name!r} by {by or 'its frequency'}, with a probability of "
        f"up to {found.greatest:.4g}, above 1/{wanted.r:g}, and art has nobody left to add to their groups{room}: "
        f"{', '.join(hints)}{hint}"
    )


def _bounded(found: Exposure) -> list[str]:
    """The warning if p(t:x) is not exact."""
    if not found.bounded:
        return []
    return [
        f"in {found.bounded} groups r-robustness is certified by an upper bound of p(t:x); the exact probability was "
        "not computed there, and may be lower"
    ]
