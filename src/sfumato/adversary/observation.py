"""What an adversary who knows everyone's quasi-identifiers sees of groups."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import factorial, prod
from typing import Any

from sfumato.errors import PolicyError
from sfumato.kernel.arrange import by_group
from sfumato.kernel.axes import summarize
from sfumato.method.base import Drawn, GroupScheme
from sfumato.method.enumeration import arrangements, one_of_each
from sfumato.release.release import Release
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.release.scheme.group_labels import space_of
from sfumato.requirement.base import names
from sfumato.table.encode import Role

Key = tuple[Any, ...]
Values = tuple[int, ...]
World = tuple[int, ...]
"""The sensitive value of each person."""
Belief = dict[World, Fraction]
"""The probability of each table."""

Observation = tuple[tuple[Key, Values], ...]
"""Each group as shown, with its sensitive values in order: under bucketization by its members, under
generalization by the codes that its labels cover."""


def observe(drawn: Drawn, sensitive: str, scheme: GroupScheme, *, sets: bool) -> Observation:
    """What is seen of an outcome.

    Under bucketization, people with equal quasi-identifiers are told apart by their rows, which assumes a stronger
    adversary. Under generalization, groups that show the same labels are seen as one.
    """
    keys = _members(drawn) if SCHEMES[scheme].separates else _boxes(drawn, sets=sets)
    values: dict[Key, list[int]] = defaultdict(list)
    for group, code in zip(drawn.groups.of_row.tolist(), drawn.table[sensitive].codes.tolist(), strict=True):
        values[keys[group]].append(code)
    return tuple(sorted((key, tuple(sorted(v))) for key, v in values.items()))


def _members(drawn: Drawn) -> list[Key]:
    members: list[list[int]] = [[] for _ in range(drawn.groups.number)]
    for row, group in enumerate(drawn.groups.of_row.tolist()):
        members[group].append(row)
    return [tuple(m) for m in members]


def _boxes(drawn: Drawn, *, sets: bool) -> list[Key]:
    quasi = drawn.table.quasi
    rows, starts = by_group([c.codes for c in quasi], drawn.groups.of_row, drawn.groups.number)
    summary = summarize(space_of(quasi, sets=sets), rows, starts, drawn.table.rows)
    return [
        tuple(c.domain.box_codes(*(int(part) for part in summary[:, j, g])) for j, c in enumerate(quasi))
        for g in range(drawn.groups.number)
    ]


def attacked(release: Release) -> str:
    """The sensitive attribute of a release; if it has several, the one that its requirements name."""
    several = release.with_role(Role.SENSITIVE)
    required = {n for c in release.description.requirements for n in names(c.required.get("sensitive"))}
    chosen = several if len(several) == 1 else [n for n in several if n in required]
    if len(chosen) != 1:
        raise PolicyError(
            f"this attack needs exactly one sensitive attribute, but the requirements name {len(chosen)} of the "
            f"{len(several)} in the release; publish with one"
        )
    return chosen[0]


MOST_MATCHED = 100
"""The most people matched to overlapping labels; the steps per table grow with the cube of their number."""


def tables_at_least(seen: Observation) -> int:
    """A lower bound on the number of tables behind what is seen: the orders of the values inside each group."""
    return prod(factorial(len(values)) // prod(factorial(n) for n in Counter(values).values()) for _, values in seen)


def worlds_behind(seen: Observation, people: list[tuple[int, ...]], scheme: GroupScheme) -> Iterator[World]:
    """Every table of sensitive values whose people fit the groups one to one (Definition 3); each once.

    Each next table takes polynomial time, so a caller that counts them can stop in time.
    ``people`` are the quasi-identifiers of each person, as codes.
    """
    if SCHEMES[scheme].separates:
        yield from _by_members(seen, len(people))
        return
    boxes = [tuple(frozenset(codes) for codes in box) for box, _ in seen]
    fits = [[g for g, box in enumerate(boxes) if _inside(q, box)] for q in people]
    if all(len(f) == 1 for f in fits):
        members = [tuple(i for i, f in enumerate(fits) if f[0] == g) for g in range(len(seen))]
        yield from _by_members(tuple(zip(members, (v for _, v in seen), strict=True)), len(people))
        return
    if len(people) > MOST_MATCHED:
        raise PolicyError(
            f"the labels of the groups overlap, so {len(people):,} people have to be matched to them; the limit is "
            f"{MOST_MATCHED}: use a smaller table or scheme = 'bucketization'"
        )
    yield from _by_matching(seen, fits, [])


def _by_members(groups: Observation, people: int) -> Iterator[World]:
    world = [0] * people
    several = []
    for members, values in groups:
        if len(set(values)) > 1:
            several.append((members, values))
        for person in members:
            world[person] = values[0]
    for arranged in one_of_each([partial(arrangements, values) for _, values in several]):
        for (members, _), order in zip(several, arranged, strict=True):
            for person, value in zip(members, order, strict=True):
                world[person] = value
        yield tuple(world)


def _inside(person: tuple[int, ...], box: Key) -> bool:
    return all(code in codes for code, codes in zip(person, box, strict=True))


def _by_matching(seen: Observation, fits: list[list[int]], world: list[int]) -> Iterator[World]:
    """Give each person a value in turn, as long as people and groups can still be matched one to one."""
    if not _matched(seen, fits, world):
        return
    if len(world) == len(fits):
        yield tuple(world)
        return
    for value in sorted({v for g in fits[len(world)] for v in seen[g][1]}):
        yield from _by_matching(seen, fits, [*world, value])


def _matched(seen: Observation, fits: list[list[int]], world: list[int]) -> bool:
    """Whether people can be matched to the published values, the first ones as given (augmenting paths)."""
    room = Counter((g, v) for g, (_, values) in enumerate(seen) for v in values)
    holders: dict[tuple[int, int], list[int]] = defaultdict(list)
    given = dict(enumerate(world))

    def place(person: int, tried: set[tuple[int, int]]) -> bool:
        for g in fits[person]:
            for at in [(g, v) for v in ({given[person]} if person in given else set(seen[g][1]))]:
                if at in tried:
                    continue
                tried.add(at)
                if len(holders[at]) < room[at]:
                    holders[at].append(person)
                    return True
                for number, other in enumerate(holders[at]):
                    if place(other, tried):
                        holders[at][number] = person
                        return True
        return False

    return all(place(person, set()) for person in range(len(fits)))
