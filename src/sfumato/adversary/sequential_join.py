"""The sequential-join adversary, who has several releases about the same people and joins them (Fung, chapter 6).

Rows match if their labels of every common attribute can mean the same value and no rule of inconsistency excludes
them. The adversary knows a person's values on X, attributes of all releases, and looks at the rows of the join that
show them. Every match counts equally, as in the thesis; see `docs/sequential.md` for adversaries who can be surer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.errors import PolicyError
from sfumato.release.earlier import Earlier, as_earlier
from sfumato.release.join.alone import alone, singled_out
from sfumato.release.join.join import Join
from sfumato.release.join.template import completed, resolve
from sfumato.release.judgement import Judgement
from sfumato.release.release import Release
from sfumato.release.rule import Inconsistent
from sfumato.requirement.base import Key, names
from sfumato.requirement.join_template import MOST_RELEASES, join_template
from sfumato.requirement.templates import Anonymity, Confidentiality
from sfumato.table.encode import Role

Y = str | Sequence[str] | Mapping[str, Sequence[str]] | None


@dataclass(frozen=True, kw_only=True)
class SequentialJoin:
    """What the join of releases gives away.

    ``anonymity`` is A_Y(X), the least number of distinct values on Y that a combination on X is linked to, and
    ``confidence`` is C_Y(X), the greatest confidence in a value on Y, with ``by_value`` that of each value; None where
    Y is not of that kind. ``groups`` is how many combinations on X the join has, ``matches`` how many rows.

    ``unmatched`` gives, for each other release, how many people of the first match nobody there, and how many of its
    people match nobody in the first. ``singled_out`` is how many people each release singles out by X alone;
    ``pinned_down`` how many of its people are the only one of their release in some group of the join, although in
    every release two or more people share its part of the group: people whom the join pins down, but no single release
    does. None where people cannot be counted one by one.

    ``releases`` are their names, ``x`` and ``y`` the attributes that were asked about.
    """

    releases: Key
    x: Key
    y: Key
    anonymity: int | None
    confidence: float | None
    by_value: Mapping[str, float] = field(default_factory=dict)
    groups: int
    matches: int
    unmatched: Mapping[str, tuple[int, int]]
    singled_out: Mapping[str, int | None]
    pinned_down: Mapping[str, int | None]

    def words(self) -> str:
        """The findings as sentences."""
        told = [f"the join of {', '.join(self.releases)} has {self.matches:,} rows in {self.groups:,} groups"]
        if self.anonymity is not None:
            told.append(f"every combination of {', '.join(self.x)} is linked to at least {self.anonymity:,} of Y")
        if self.confidence is not None:
            told.append(f"a value of Y is inferred with a confidence of up to {self.confidence:.4g}")
        for name, number in self.pinned_down.items():
            if number is not None:
                told.append(f"{number:,} people of {name} are pinned down by the join, but not by any single release")
        return "; ".join(told)


def sequential_join(
    releases: Sequence[Release | Earlier | str | Path],
    *,
    x: str | Sequence[str] | None = None,
    y: Y = None,
    inconsistent: Sequence[Inconsistent] = (),
) -> SequentialJoin:
    """Join two to five releases, made by any method, and examine the groups on X.

    The releases are called T1, T2, … in their order. ``x`` are attributes, ``T1.sex`` where several releases have one
    (``sex`` means all of them); by default the quasi-identifiers of all releases. ``y`` are attributes, values of them,
    or names of releases for their records; by default the records of the first.

    Columns that were randomized are noise and are left out; the records of a sample cannot be counted.

    Args:
        releases: two to five releases, or folders of these.
        x: the attributes that an adversary knows.
        y: what an adversary wants to know.
        inconsistent: rules for rows that cannot be one person.
    """
    join = Join(_sides(releases), inconsistent)
    over = tuple(side.name for side in join.sides)
    known = join.names
    wanted_x = known.expanded(names(x)) if x else _quasi(join, y)
    distinct = _anonymity(join, wanted_x, y, over)
    shares = _confidence(join, wanted_x, y, over)
    one = distinct or shares
    assert one is not None
    chosen = resolve(one.requirement, known).x  # type: ignore[arg-type]
    return SequentialJoin(
        releases=over,
        x=wanted_x,
        y=names(list(y) if isinstance(y, Mapping) else y) or over[:1],
        anonymity=None if distinct is None else int(distinct.achieved["k"]),
        confidence=None if shares is None else max(shares.achieved.values()),
        by_value={} if shares is None else dict(shares.achieved),
        groups=one.groups,
        matches=join.joined_rows(),
        unmatched=join.dangling(),
        singled_out={s.name: singled_out(s, [a.name for a in chosen if a.release == s.name]) for s in join.sides},
        pinned_down={s.name: alone(join.sides, join.rules, chosen, s.name) for s in join.sides},
    )


def _sides(releases: Sequence[Release | Earlier | str | Path]) -> list[Earlier]:
    if isinstance(releases, str) or not isinstance(releases, Sequence) or not 2 <= len(releases) <= MOST_RELEASES:
        raise PolicyError(f"give two to {MOST_RELEASES} releases in a list, the latest first")
    return [as_earlier(source, f"T{i}") for i, source in enumerate(releases, 1)]


def _quasi(join: Join, y: Y) -> Key:
    """The quasi-identifiers of all releases that are not in Y."""
    taken = {a for word in names(list(y) if isinstance(y, Mapping) else y) for a in join.names.meant(word)}
    every = [a for side in join.sides for n in side.columns for a in join.names.meant(f"{side.name}.{n}")]
    roles = {side.name: side.columns for side in join.sides}
    quasi = [a for a in every if roles[a.release][a.name].role is Role.QUASI and a not in taken]
    return tuple(join.names.spelled(a) for a in quasi)


def _anonymity(join: Join, x: Key, y: Y, over: Key) -> Judgement | None:
    """A_Y(X), unless only some values of Y are of interest."""
    if isinstance(y, Mapping):
        return None
    template = join_template(Anonymity(x=x, y=y, k=1), over)
    return join.judge(completed(template, join.names, ()))


def _confidence(join: Join, x: Key, y: Y, over: Key) -> Judgement | None:
    """C_Y(X) of all values of the attributes in Y, or of those named."""
    values = dict(y) if isinstance(y, Mapping) else {word: None for word in names(y) if word not in over}
    if not values:
        return None
    told = {word: known or join.names.values[join.names.only(word)] for word, known in values.items()}
    limits = {str(v): 1.0 for known in told.values() for v in names(known)}
    template = join_template(Confidentiality(x=x, y=told, k=limits), over)
    return join.judge(completed(template, join.names, ()))
