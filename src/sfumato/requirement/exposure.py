"""How exposed people in groups are to an adversary with QI-based distributions: the worst p(t:x) by what he knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.arrange import sort_order
from sfumato.kernel.exposure import exposed
from sfumato.requirement.distribution import Distribution, absence

Worlds = Literal["two-valued", "values"]


@dataclass(frozen=True, eq=False)
class People:
    """People in groups: the kind and the group of each, and ``held[group, value]``, how often a group holds a value."""

    kind: NDArray[np.int64]
    group: NDArray[np.int64]
    held: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Exposure:
    """``worst[i]`` is the greatest p(t:x) of person i over attribute sets and protected values.

    ``over`` marks the groups of which some p(t:x) is a certified upper bound, since they have too many
    states; ``attributes`` and ``value`` are those of the greatest p of all.
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


def exposure(
    people: People,
    knowledge: Sequence[Distribution],
    protected: Sequence[int],
    *,
    worlds: Worlds,
    limit: float,
    groups: NDArray[np.int64] | None = None,
) -> Exposure:
    """p(t:x) of every person, by each distribution and for each protected value; ``groups``: only of these."""
    worst = np.zeros(len(people.kind))
    over = np.zeros(len(people.held), np.bool_)
    top: tuple[float, tuple[str, ...], int] = (0.0, (), protected[0])
    for x in protected:
        chosen = np.flatnonzero(people.held[:, x]) if groups is None else groups[people.held[groups, x] > 0]
        if not len(chosen):
            continue
        part = _part(people, chosen)
        for known in knowledge:
            p, bounded = _chances(part, known, x, worlds, limit)
            over[chosen[bounded]] = True
            worst[part.rows] = np.maximum(worst[part.rows], p)
            top = max(top, (float(p.max()), known.attributes, x))
    return Exposure(worst, over, top[1], top[2])


@dataclass(frozen=True, eq=False)
class _Part:
    """Some groups with their people in group order."""

    rows: NDArray[np.int64]
    kind: NDArray[np.int64]
    starts: NDArray[np.int64]
    held: NDArray[np.int64]


def _part(people: People, chosen: NDArray[np.int64]) -> _Part:
    number = np.full(len(people.held), -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(number[people.group] >= 0)
    of_row = number[people.group[rows]]
    rows = rows[sort_order(of_row, len(chosen))]
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=len(chosen)))])
    return _Part(rows, people.kind[rows], starts, people.held[chosen])


def _chances(
    part: _Part, known: Distribution, x: int, worlds: Worlds, limit: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """p(t:x) of the people in group order, and which groups were bounded only."""
    if worlds == "values":
        return _counted(known.of_kind[part.kind], known.chance, part.starts, part.held, x, limit)
    out = _by_odds(known.of(x)[part.kind], part)
    over = np.zeros(len(part.held), np.bool_)
    several = np.flatnonzero(part.held[:, x] > 1)
    if len(several):
        size = np.diff(part.starts)
        rows = np.repeat(np.isin(np.arange(len(size)), several), size)
        starts = np.concatenate([[0], np.cumsum(size[several])])
        held = np.stack([part.held[several, x], size[several] - part.held[several, x]], axis=1)
        both = np.stack([known.chance[:, x], absence(known.chance[:, x])], axis=1)
        out[rows], over[several] = _counted(known.of_kind[part.kind[rows]], both, starts, held, 0, limit)
    return out, over


def _by_odds(chance: NDArray[np.float64], part: _Part) -> NDArray[np.float64]:
    """The exact probability where a group holds a value once: odds over the sum of the odds in the group."""
    odds = chance / absence(chance)
    return np.asarray(odds / np.repeat(np.add.reduceat(odds, part.starts[:-1]), np.diff(part.starts)))


def _counted(
    signature: NDArray[np.int64],
    chance: NDArray[np.float64],
    starts: NDArray[np.int64],
    held: NDArray[np.int64],
    x: int,
    limit: float,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """By dynamic programming over what is given away, or a certified bound."""
    out, over = np.zeros((len(signature), 1)), np.zeros(len(held), np.bool_)
    exposed(signature, np.ascontiguousarray(chance), starts, held, np.array([x]), float(limit), over, out)
    return out[:, 0], over


def deviation(people: People, known: Distribution, x: int) -> float:
    """The average over all groups of Δ: the greatest chance of x in a group less the least (ART, section 5)."""
    chance = known.of(x)[people.kind]
    most, least = np.zeros(len(people.held)), np.ones(len(people.held))
    np.maximum.at(most, people.group, chance)
    np.minimum.at(least, people.group, chance)
    return float((most - least).mean())
