"""How exposed people in groups are to an adversary with QI-based distributions: the worst p(t:x)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.arrange import sort_order
from sfumato.kernel.linkage.exposure import exposed
from sfumato.requirement.distribution import KnownDistribution, ProtectedValues, absence

WorldKind = Literal["values", "two-valued"]

_BLOCK_CELLS = 20_000_000
_REFINED = 64
"""How many groups that satisfy the bound are computed exactly to find the greatest p(t:x)."""


@dataclass(frozen=True, eq=False)
class GroupedPeople:
    """People in groups: the kind and the group of each, and ``held[group, value]``, how often a group holds a value."""

    kind: NDArray[np.int64]
    group: NDArray[np.int64]
    held: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Exposure:
    """``worst[i]`` is the greatest p(t:x) of person i over attribute sets and protected sets.

    ``over`` marks the groups in which some p(t:x) is a certified upper bound; ``attributes`` and ``value`` (the
    number of the protected set) are those of the greatest p of all.
    """

    worst: NDArray[np.float64]
    over: NDArray[np.bool_]
    attributes: tuple[str, ...]
    value: int

    @property
    def bounded(self) -> int:
        """How many groups are judged by the bound."""
        return int(self.over.sum())

    @property
    def greatest(self) -> float:
        """The greatest p(t:x) of all."""
        return float(self.worst.max(initial=0.0))

    def with_groups(self, other: "Exposure", groups: NDArray[np.int64], of_person: NDArray[np.int64]) -> "Exposure":
        """The same with some groups as the other has them."""
        over, chosen = self.over.copy(), np.zeros(len(self.over), np.bool_)
        chosen[groups] = True
        over[groups] = other.over[groups]
        return replace(self, worst=np.where(chosen[of_person], other.worst, self.worst), over=over)


def judged(
    people: GroupedPeople,
    knowledge: Sequence[KnownDistribution],
    values: ProtectedValues,
    *,
    worlds: WorldKind,
    limit: float,
    enough: float = 0.0,
    groups: NDArray[np.int64] | None = None,
) -> Exposure:
    """p(t:x) of every person, for each distribution and protected set; ``groups`` restricts it to these groups.

    Groups of more than ``limit`` states, and those whose bound is at most ``enough``, are judged by the bound; with a
    limit of 0 all are.
    """
    worst, over = np.zeros(len(people.kind)), np.zeros(len(people.held), np.bool_)
    top: tuple[float, tuple[str, ...], int] = (0.0, (), 0)
    for sets in _blocks(len(values.protected), len(people.kind) if worlds == "values" else _BLOCK_CELLS):
        members = [v for s in sets for v in values.protected[s]]
        holding = np.flatnonzero(people.held[:, members].any(axis=1))
        chosen = holding if groups is None else np.intersect1d(holding, groups)
        if not len(chosen):
            continue
        part = _part(people, chosen)
        for known in knowledge:
            if worlds == "values":
                p, bounded = _over_values(part, known, values.sets()[sets], limit, enough)
            else:
                p, bounded = _over_absence(part, known, values.protected[sets[0]][0], limit)
            over[chosen[bounded]] = True
            worst[part.rows] = np.maximum(worst[part.rows], p.max(axis=1))
            greatest = int(p.max(axis=0).argmax())
            top = max(top, (float(p[:, greatest].max()), known.attributes, int(sets[greatest])))
    return Exposure(worst, over, top[1], top[2])


def linked(
    people: GroupedPeople, known: KnownDistribution, values: int, limit: float, groups: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]]:
    """p(t:v) of the people in some groups for every value v, some values at a time: the values, the probabilities
    (people x values), the people, and the groups (of all) that have more than ``limit`` states and are bounded."""
    part = _part(people, groups)
    for some in _blocks(values, len(part.rows)):
        sets = np.zeros((len(some), values), np.bool_)
        sets[np.arange(len(some)), some] = True
        over = np.zeros(len(people.held), np.bool_)
        p, over[groups] = _over_values(part, known, sets, limit, 0.0)
        yield some, p, part.rows, over


def exposure(
    people: GroupedPeople,
    knowledge: Sequence[KnownDistribution],
    values: ProtectedValues,
    *,
    worlds: WorldKind,
    limit: float,
    most: float,
) -> Exposure:
    """The same, but exact where it matters: in groups whose bound is above ``most`` or that may hold the greatest p.

    A group of more than ``limit`` states is judged by the bound.
    """
    if worlds == "two-valued":
        return judged(people, knowledge, values, worlds=worlds, limit=limit)
    found = judged(people, knowledge, values, worlds=worlds, limit=0)
    bound, greatest = np.zeros(len(people.held)), 0.0
    np.maximum.at(bound, people.group, found.worst)
    order = np.argsort(-bound, kind="stable")
    at, end = 0, int((bound * (1 - 1e-12) > most).sum())
    top = (found.attributes, found.value)
    while at < len(order) and bound[order[at]] > greatest and at < max(end, _REFINED):
        chosen = order[at : max(end, at + 8)]
        exact = judged(people, knowledge, values, worlds=worlds, limit=limit, groups=chosen)
        found = found.with_groups(exact, chosen, people.group)
        if exact.greatest > greatest:
            greatest, top = exact.greatest, (exact.attributes, exact.value)
        at += len(chosen)
    return replace(found, attributes=top[0], value=top[1])


def _blocks(number: int, rows: int) -> list[NDArray[np.int64]]:
    """The indices of the sets, in batches that fit into memory for this number of rows."""
    step = max(1, _BLOCK_CELLS // max(rows, 1))
    return [np.arange(begin, min(begin + step, number)) for begin in range(0, number, step)]


@dataclass(frozen=True, eq=False)
class _Part:
    """Some groups with their people in group order."""

    rows: NDArray[np.int64]
    kind: NDArray[np.int64]
    starts: NDArray[np.int64]
    held: NDArray[np.int64]


def _part(people: GroupedPeople, chosen: NDArray[np.int64]) -> _Part:
    number = np.full(len(people.held), -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(number[people.group] >= 0)
    of_row = number[people.group[rows]]
    rows = rows[sort_order(of_row, len(chosen))]
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=len(chosen)))])
    return _Part(rows, people.kind[rows], starts, people.held[chosen])


def _over_absence(
    part: _Part, known: KnownDistribution, x: int, limit: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """p(t:x) of the people in group order, in worlds of x and its absence, and which groups were only bounded."""
    out = _by_odds(known.of([x])[part.kind], part)
    over = np.zeros(len(part.held), np.bool_)
    several = np.flatnonzero(part.held[:, x] > 1)
    if len(several):
        size = np.diff(part.starts)
        rows = np.repeat(np.isin(np.arange(len(size)), several), size)
        starts = np.concatenate([[0], np.cumsum(size[several])])
        held = np.stack([part.held[several, x], size[several] - part.held[several, x]], axis=1)
        both = np.stack([known.chance[:, x], absence(known.chance[:, x])], axis=1)
        there = _Part(part.rows[rows], part.kind[rows], starts, held)
        found, over[several] = _over_values(
            there, KnownDistribution((), known.of_kind, both), np.array([[True, False]]), limit, 0.0
        )
        out[rows] = found[:, 0]
    return out[:, None], over


def _by_odds(chance: NDArray[np.float64], part: _Part) -> NDArray[np.float64]:
    """The exact probability if a group holds a value once: odds over the sum of the odds in the group."""
    odds = chance / absence(chance)
    return np.asarray(odds / np.repeat(np.add.reduceat(odds, part.starts[:-1]), np.diff(part.starts)))


def _over_values(
    part: _Part, known: KnownDistribution, sets: NDArray[np.bool_], limit: float, enough: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The same in worlds over the actual values, for each set: by dynamic programming, or a certified bound."""
    out, over = np.zeros((len(part.kind), len(sets))), np.zeros(len(part.held), np.bool_)
    chance = np.ascontiguousarray(known.chance)
    exposed(known.of_kind[part.kind], chance, part.starts, part.held, sets, float(limit), float(enough), over, out)
    return out, over


def deviation(people: GroupedPeople, known: KnownDistribution, values: Sequence[int]) -> float:
    """Δ averaged over all groups: the greatest chance of a set in a group minus the least (ART, section 5)."""
    chance = known.of(values)[people.kind]
    most, least = np.zeros(len(people.held)), np.ones(len(people.held))
    np.maximum.at(most, people.group, chance)
    np.minimum.at(least, people.group, chance)
    return float((most - least).mean())
