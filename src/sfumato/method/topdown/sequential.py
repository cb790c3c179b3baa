"""Top-down specialization for sequential anonymization (TDSSA): Fung's thesis, chapter 6."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.local import LocalEngine
from sfumato.errors import Infeasible, PolicyError, SfumatoError
from sfumato.method.topdown.join_arrays import Searched
from sfumato.method.topdown.join_search import JoinedRefinement
from sfumato.method.topdown.join_templates import (
    Releases,
    bind_joined,
    is_complete,
    is_joined,
    is_spanning,
    lacking,
    of_table_alone,
)
from sfumato.method.topdown.recoding import Cut
from sfumato.method.topdown.search import Refinement, Score
from sfumato.method.topdown.table_side import shown_side
from sfumato.method.topdown.templates import bound_to, refuse_others, refuse_unmet
from sfumato.method.topdown.topdown import Run, TopDown
from sfumato.release.earlier import Earlier, as_earlier
from sfumato.release.join.join import Join
from sfumato.release.join.names import JoinNames
from sfumato.release.join.template import Resolved
from sfumato.release.joined import stating_join
from sfumato.release.judgement import Judgement
from sfumato.release.people import refuse_rows_for_people
from sfumato.release.release import Release
from sfumato.release.rule import Inconsistent
from sfumato.release.scheme.base import Decision, Made
from sfumato.release.scheme.group_labels import Shown
from sfumato.requirement.base import GroupRequirement, Requirement, names, rounded_up
from sfumato.requirement.join_template import MOST_RELEASES, THIS, JoinTemplate
from sfumato.requirement.redundancy import notation
from sfumato.requirement.templates import Anonymity
from sfumato.table.microdata import Microdata
from sfumato.table.names import all_named, named

_OUTSIDE = (
    "join_in_x = false: where a join attribute is outside x, the figures are those of the lossy join, in which every "
    "match counts equally. An adversary who knows that each person has one row in each release can be surer: T1 = "
    "(a, no), (a, no), (b, HIV) and T2 = a, a, b join to a confidence of 1/5 in HIV, although a third of T1 has it"
)
_NOT_FINEST = (
    "a refinement can undo a violation of this template as well as cause one (Lemmas 6.2.1 and 6.2.2 of the thesis do "
    "not hold for it): the table satisfies it, but there may be finer tables that do"
)


@dataclass(frozen=True, kw_only=True)
class TopDownSequential(TopDown):
    """Refine the most masked table as long as templates hold in its join with earlier releases.

    Fung, Algorithm 4 (TDSSA), for one to four earlier releases (section 6.5). Scores and steps are those of `TopDown`;
    the loss of privacy is that of the join. ``after`` are the earlier releases, in order of their names T2, T3, …;
    ``inconsistent`` are rules of what cannot match.

    By default all join attributes of all releases are put into X (``join_in_x``). A group of the join is then one group
    of this table with one of each other release, and refining can only make things worse. With ``join_in_x`` false X
    is as given; refinements that a join does not allow are then tried again after every step.

    ``scheme`` is always generalization.
    """

    name: ClassVar[str] = "tdssa"
    summary: ClassVar[str] = (
        "refine the most masked table top down while templates hold in its join with earlier releases"
    )
    guarantees: ClassVar[str] = (
        "anonymity and confidentiality templates over the join with the earlier releases named, at every step, against "
        "an adversary who matches rows by their labels and the declared rules and does not exploit how the algorithm "
        "chose its refinements (with join_in_x = false, as the lossy join counts); and templates on the table alone, "
        "as tdr"
    )

    after: Sequence[Any] = ()
    inconsistent: Sequence[Inconsistent] = ()
    join_in_x: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.join_in_x, bool):
            raise PolicyError(f"{self.name}: join_in_x = {self.join_in_x!r}; it must be true or false")
        several = isinstance(self.after, Sequence) and not isinstance(self.after, str)
        given = tuple(self.after) if several else (self.after,)
        if len(given) >= MOST_RELEASES:
            raise PolicyError(
                f"{self.name}: {len(given)} earlier releases are given; at most {MOST_RELEASES - 1} can be joined"
            )
        object.__setattr__(self, "after", tuple(_named(source, i) for i, source in enumerate(given, 2)))
        object.__setattr__(self, "inconsistent", tuple(self.inconsistent))
        for rule in self.inconsistent:
            if not isinstance(rule, Inconsistent):
                raise PolicyError(f"{self.name}: {rule!r} is not a rule; give sf.Inconsistent(sides={{…}})")

    @property
    def releases(self) -> Releases:
        """The earlier releases and the rules."""
        return Releases(self.after, self.inconsistent)

    def settings(self) -> dict[str, Any]:
        return {n: value for n, value in super().settings().items() if n not in ("after", "inconsistent")}

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        for requirement in requirements:
            if not isinstance(requirement, JoinTemplate):
                refuse_others(requirement, self.name)

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        joined = [r for r in requirements if isinstance(r, JoinTemplate)]
        read = dict.fromkeys(w.removeprefix(f"{THIS}.") for r in joined for w in r.y or () if w.startswith(f"{THIS}."))
        steering = [Anonymity(y=list(read), k=1)] if read else []
        told = super().warnings([*(r for r in requirements if not isinstance(r, JoinTemplate)), *steering])
        return told if self.join_in_x or not joined else [*told, _OUTSIDE]

    def bind(self, table: Microdata, requirements: Sequence[Requirement]) -> list[Requirement]:
        if not self.after:
            raise PolicyError(f"{self.name} publishes after earlier releases, but none is given; name them in after")
        every = [*requirements, *self.templates]
        self.refuse_unserved(every)
        known = self.releases.names(table)
        joined = [r for r in every if is_joined(r, known)]
        if not joined:
            raise PolicyError(
                f"{self.name}: no template is about the join; name attributes of earlier releases in one "
                f"({named([e.name for e in self.after])}), or write over = {list(self.releases.over)}"
            )
        alone = [r for r in every if not is_joined(r, known)]
        bound = bound_to(alone, table, self.name) if alone or not table.quasi else []
        masked = [n for r in bound for n in (r.groups_by() or [c.name for c in table.quasi])]
        found = [*bound, *bind_joined(joined, table, self.releases, join_in_x=self.join_in_x, masked=masked)]
        refuse_rows_for_people(found, table)
        return found

    def counted(self, table: Microdata, bound: Sequence[Requirement]) -> list[str]:
        joined = [r for r in bound if isinstance(r, JoinTemplate)]
        read = [n for r in joined for n in self.releases.resolved(r, table).reads(THIS)]
        x = [n for r in joined for n in self.releases.resolved(r, table).in_x(THIS)]
        quasi = {c.name for c in table.quasi}
        more = [n for n in (*read, *x, *self.releases.common(table)) if n not in quasi]
        return list(dict.fromkeys([*super().counted(table, bound), *more]))

    def refuse_infeasible(self, bound: Sequence[Requirement], counts: Microdata | Counts) -> None:
        refuse_unmet([r for r in bound if isinstance(r, GroupRequirement)], counts)

    def started(self, table: Microdata | Counts, bound: Sequence[Requirement]) -> Run:
        return SequentialRun(self, table, bound)

    def described(
        self, made: Made, decision: Decision, bound: Sequence[Requirement], table: Microdata, title: str
    ) -> Release:
        return stating_join(super().described(made, decision, bound, table, title), self.after, self.inconsistent)


def _named(source: Any, number: int) -> Earlier:
    """An earlier release under its own name, or T2, T3, …"""
    return as_earlier(source, source.name if isinstance(source, Earlier) and source.name else f"T{number}")


def _remedy(fixed: Sequence[str]) -> str:
    """What to do about join attributes that cannot be masked."""
    are, them, made = ("is", "it", "a quasi-identifier") if len(fixed) == 1 else ("are", "them", "quasi-identifiers")
    return (
        f". {all_named(fixed)} {are} in an earlier release too, so x includes {them}, but tdssa masks only "
        f"quasi-identifiers: leave {them} out of this table (role identifier), make {them} {made}, or set "
        "join_in_x = false"
    )


class SequentialRun(Run):
    """A refinement under templates over a join.

    Those that the table alone decides are refined like any template of a table. One whose Y is in other releases alone,
    with all join attributes in X, loses nothing by a refinement and does not count in scores. ``searched`` are the
    others, which are counted in the join.
    """

    def __init__(self, method: TopDownSequential, table: Microdata | Counts, bound: Sequence[Requirement]) -> None:
        releases = method.releases
        self.releases = releases
        self.joined = [r for r in bound if isinstance(r, JoinTemplate)]
        wanted = [releases.resolved(r, table) for r in self.joined]
        reads = [n for w in wanted for n in (*w.reads(THIS), *w.in_x(THIS))]
        self.links = releases.links(table, reads)
        quasi = {c.name for c in table.quasi}
        self.masked = [n for n in dict.fromkeys(n for w in wanted for n in w.in_x(THIS)) if n in quasi]
        self.searched = [
            (r, Searched(w, self.links))
            for r, w in zip(self.joined, wanted, strict=True)
            if is_spanning(w) or not is_complete(w, self.links) or not {*w.in_x(THIS)} <= quasi
        ]
        counted = {id(r) for r, _ in self.searched}
        alone = [of_table_alone(r, w, table) for r, w in zip(self.joined, wanted, strict=True) if id(r) not in counted]
        plain = [r for r in bound if isinstance(r, GroupRequirement)]
        super().__init__(method, table, [*plain, *(t for t in alone if t is not None)])
        self.requirements = bound
        self.templates = [*self.templates, *(r.template for r, _ in self.searched)]
        self._refuse_start(method)

    def refined(self, score: Score, *, suppress: bool) -> Refinement:
        covered = {n for t in self.templates for n in names(t.x)}
        if not self.searched and {*self.masked} <= covered:
            return super().refined(score, suppress=suppress)
        joined = [task for _, task in self.searched]
        return JoinedRefinement(self.table, self.templates, score, suppress=suppress, also=self.masked, joined=joined)

    def _refuse_start(self, method: TopDownSequential) -> None:
        """Raise if the most masked table does not satisfy a template over the join."""
        table = self.table
        counts = (
            table if isinstance(table, Counts) else LocalEngine(table).count(method.counted(table, self.requirements))
        )
        grouping, shown = Cut(self.refinement, []).decision(counts)
        for judgement in self._judged(counts, grouping, shown):
            if not judgement.holds:
                raise Infeasible(self._unmet(judgement))

    def _unmet(self, judgement: Judgement) -> str:
        requirement = judgement.requirement
        assert isinstance(requirement, JoinTemplate)
        if isinstance(requirement.template, Anonymity):
            most = int(judgement.achieved["k"])
            best = f"its anonymity in the join is {most}; lower k to {most} or less"
        else:
            worst = max(judgement.achieved.values())
            best = f"a value on y has a confidence of {worst:.2%} in the join; raise k to {rounded_up(worst)} or more"
        wanted = self.releases.resolved(requirement, self.table)
        certain = is_complete(wanted, self.links) and not is_spanning(wanted)
        finer = "" if certain else ". A finer table might satisfy it; tdssa starts from the most masked one"
        fixed = self._unmasked(wanted)
        return (
            f"{requirement.model}: {'no masking satisfies' if certain else 'the most masked table does not satisfy'} "
            f"{notation(requirement.template)}: on the most masked table {best}{finer}{_remedy(fixed) if fixed else ''}"
        )

    def _unmasked(self, wanted: Resolved) -> list[str]:
        """The join attributes in X that are not quasi-identifiers of the table, so that they are shown as they are."""
        quasi = {c.name for c in self.table.quasi}
        return [n for n in self.links.joined(THIS) if n in wanted.in_x(THIS) and n not in quasi]

    def _judged(self, counts: Counts, grouping: Grouping, shown: Sequence[Shown]) -> list[Judgement]:
        join = Join([shown_side(counts, grouping, shown), *self.releases.after], self.releases.rules)
        return [join.judge(r) for r in self.joined]

    def judgements(self, counts: Counts, grouping: Grouping, shown: Sequence[Shown]) -> list[Judgement]:
        """How the templates over the join fare, counted again from the labels that are published."""
        found = self._judged(counts, grouping, shown)
        for judgement in found:
            if not judgement.holds:
                raise SfumatoError(
                    f"{judgement.failing} of {judgement.groups} groups of the join violate "
                    f"{judgement.requirement.words()!r}; nothing is published. This is a bug in the method: please "
                    "report it"
                )
        return found

    def warnings(self) -> list[str]:
        known = JoinNames({name: list(side.columns) for name, side in self.links.sides.items()})
        every = [known.spelled(a) for a in self.links.attributes()]
        wanted = [self.releases.resolved(r, self.table) for r in self.joined]
        inside = ", and x has all of these" if all(is_complete(w, self.links) for w in wanted) else ""
        told = [f"in the join of {all_named(self.releases.over)}, rows are matched by {all_named(every)}{inside}"]
        if fixed := dict.fromkeys(n for w in wanted for n in self._unmasked(w)):
            told.append(f"{all_named(fixed)} of this table is matched, and is in x as it is published, unmasked")
        for requirement, task in self.searched:
            template = notation(requirement.template)
            if missing := lacking(task.wanted, self.links, known):
                told.append(f"x of {template} lacks the join attributes {all_named(missing)}: {_NOT_FINEST}")
            elif is_spanning(task.wanted):
                told.append(f"y of {template} is in several releases: {_NOT_FINEST}")
        return [*told, *super().warnings()]
