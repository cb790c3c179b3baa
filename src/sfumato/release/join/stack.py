"""The earlier releases of a join as one side: combinations of their partitions that match each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, Infeasible
from sfumato.kernel.group import group_rows
from sfumato.kernel.join import groups as g
from sfumato.release.join.consistency import Relation
from sfumato.release.join.links import Links, Rule
from sfumato.release.join.names import JoinAttribute
from sfumato.release.join.partition import Partitions, number, partitions
from sfumato.release.join.template import Resolved

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

MOST_ENTRIES = 4_000_000
MOST_COUNT = 1 << 62
MOST_WORDS = 1 << 27
_BLOCK = 1 << 24
_NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Stack:
    """Entries: one partition of each earlier release, all consistent with each other.

    ``labels`` has the label of each entry for every join attribute; ``x``, ``unit``, ``weight`` and ``held`` are those
    of `Partitions`, combined. ``times`` is how many numbers on X an entry stands for, if others were left out.
    """

    labels: dict[JoinAttribute, Integers]
    x: Integers
    unit: Integers
    weight: Integers
    held: Integers
    times: Integers | None = None

    def __len__(self) -> int:
        return len(self.x)

    @property
    def words(self) -> int:
        """How many 64-bit words have a bit for each entry."""
        return (len(self) + 63) // 64

    def everything(self) -> Words:
        """A set bit for every entry."""
        bits = np.zeros(self.words, np.uint64)
        bits[: len(self) // 64] = ~np.uint64(0)
        if rest := len(self) % 64:
            bits[-1] = (np.uint64(1) << np.uint64(rest)) - np.uint64(1)
        return bits

    def consistent(self, attribute: JoinAttribute, relation: Relation, labels: Integers) -> Words:
        """For some labels of the other side, the bits of the entries whose label is consistent with it."""
        if len(labels) * self.words > MOST_WORDS:
            raise DataError(
                f"{attribute.name!r} has {len(labels):,} labels, and {len(self):,} partitions of earlier releases are "
                "matched with them, too many to be counted in memory; give the attribute a taxonomy, or leave it out"
            )
        of_entry, out = self.labels[attribute], np.zeros((len(labels), self.words), np.uint64)
        top = max(int(of_entry.max(initial=0)), int(relation.other.max(initial=0))) + 1
        begins = np.append(0, np.cumsum(np.bincount(of_entry, minlength=top)))
        entries = np.argsort(of_entry, kind="stable")
        g.set_bits(relation.start, relation.other, begins, entries, labels, out)
        return out

    def inside(self, rule: Rule, but: str) -> Words:
        """The bits of the entries that a rule is about, whatever the release ``but``."""
        good = np.ones(len(self), np.bool_)
        for attribute, labels in rule.inside.items():
            if attribute.release != but:
                good &= labels[self.labels[attribute]]
        return as_bits(good, self.words)

    def taken(self, entries: Integers) -> "Stack":
        """Some of the entries."""
        labels = {a: found[entries] for a, found in self.labels.items()}
        times = None if self.times is None else self.times[entries]
        return Stack(labels, self.x[entries], self.unit[entries], self.weight[entries], self.held[entries], times)

    def numbers(self) -> Integers:
        """How many numbers on X each number here stands for."""
        out = np.ones(int(self.x.max(initial=0)) + 1, np.int64)
        if self.times is not None:
            out[self.x] = self.times
        return out


def as_bits(flags: NDArray[np.bool_], words: int) -> Words:
    """Flags as bits of 64-bit words, the first flag lowest."""
    padded = np.zeros(64 * words, np.bool_)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.uint64)


def earlier_releases(links: Links, wanted: Resolved, *, narrow: bool = True) -> Stack:
    """The partitions of all releases but the first, combined where they match; if they are narrowed, only those that
    decide."""
    first, *others = links.sides
    stack: Stack | None = None
    for name in others:
        parts = partitions(links.sides[name], wanted, links.joined(name))
        here = _alone(links, name, parts)
        if narrow and _complete(links, wanted, name):
            here = _narrowed(here, list(here.labels), bool(wanted.targets))
        stack = here if stack is None else _combined(links, stack, here, name)
    assert stack is not None
    if narrow and len(stack) and all(_complete(links, wanted, name) for name in others):
        matched = {name for other in others for name, _ in links.between(first, other)}
        ruled = {a for rule in links.rules if first in rule.releases() for a in rule.inside}
        kept = [a for a in stack.labels if a.name in matched or a in ruled]
        stack = _narrowed(stack, kept, bool(wanted.targets))
    return stack


def _complete(links: Links, wanted: Resolved, release: str) -> bool:
    """Whether all join attributes of a release are in X."""
    return set(links.joined(release)) <= set(wanted.in_x(release))


def _alone(links: Links, name: str, parts: Partitions) -> Stack:
    side = links.sides[name]
    labels = {JoinAttribute(name, a): side.column(a).of_row[parts.row] for a in links.joined(name)}
    return Stack(labels, parts.x, parts.unit, parts.weight, parts.held)


def _narrowed(stack: Stack, kept: Sequence[JoinAttribute], shares: bool) -> Stack:
    """If all join attributes are in X: of the entries with the same join labels, those that decide.

    A group of the join is then some rows of the first release times one number of X here. Its count is a product, so
    the least count here decides; of shares held here, the greatest of each value does.
    """
    key = number([stack.labels[a] for a in kept], len(stack))
    one = np.unique(stack.x, return_index=True)[1]
    times = np.zeros(int(key.max()) + 1, np.int64)
    np.add.at(times, key[one], stack.numbers()[stack.x[one]])
    first = np.unique(key, return_index=True)[1]
    if shares:
        chosen = [first]
        for t in range(stack.held.shape[1]):
            share = stack.held[:, t] / stack.weight
            best = np.zeros(int(key.max()) + 1)
            np.maximum.at(best, key, share)
            near = np.flatnonzero((share > 0) & (share >= best[key] - _NEAR))
            exact = group_rows([key[near], stack.held[near, t], stack.weight[near]], [1 << 31, 1 << 62, 1 << 62])
            chosen.append(near[exact.first])
        entries = np.unique(np.concatenate(chosen))
        left, alone = stack.taken(entries), np.arange(len(entries))
        stands = np.where(np.isin(entries, first), times[key[entries]], 0)
        return replace(left, x=alone, unit=alone, labels={a: left.labels[a] for a in kept}, times=stands)
    units = group_rows([stack.x, stack.unit], [int(stack.x.max()) + 1, int(stack.unit.max()) + 1])
    count = np.zeros(int(stack.x.max()) + 1, np.int64)
    np.add.at(count, stack.x[units.first], stack.weight[units.first])
    order = np.lexsort((count[stack.x], key))
    least = order[np.unique(key[order], return_index=True)[1]]
    left, alone = stack.taken(least), np.arange(len(least))
    labels = {a: left.labels[a] for a in kept}
    return Stack(labels, alone, alone, count[stack.x[least]], left.held, times[key[least]])


def _combined(links: Links, stack: Stack, more: Stack, name: str) -> Stack:
    """The pairs of entries that match each other."""
    mine, theirs = _pairs(links, stack, more, name)
    if float(stack.weight.max(initial=1)) * float(more.weight.max(initial=1)) >= MOST_COUNT:
        raise too_many()
    a, b = stack.taken(mine), more.taken(theirs)
    held = a.held * b.weight[:, None] + b.held * a.weight[:, None]
    x, unit = number([a.x, b.x], len(mine)), number([a.unit, b.unit], len(mine))
    times = a.numbers()[a.x] * b.numbers()[b.x]
    return Stack(a.labels | b.labels, x, unit, a.weight * b.weight, held, times)


def _pairs(links: Links, stack: Stack, more: Stack, name: str) -> tuple[Integers, Integers]:
    """The pairs of entries whose labels are consistent and that no rule excludes, a block of entries at a time."""
    releases = {a.release for a in stack.labels}
    common = [(JoinAttribute(r, a), relation) for r in sorted(releases) for a, relation in links.between(r, name)]
    tables = [(at, _matrix(relation, len(links.sides[name].columns[at.name].labels))) for at, relation in common]
    rules = [r for r in links.rules if name in r.releases() and r.releases() <= {*releases, name}]
    step = max(1, _BLOCK // max(len(more), 1))
    none = np.zeros(0, np.int64)
    found: list[tuple[Integers, Integers]] = [(none, none)]
    total = 0
    for begin in range(0, len(stack), step):
        here = slice(begin, begin + step)
        good = np.ones((len(stack.x[here]), len(more)), np.bool_)
        for at, table in tables:
            good &= table[stack.labels[at][here]][:, more.labels[JoinAttribute(name, at.name)]]
        for rule in rules:
            sides = [_all_inside(s, rule, len(s)) for s in (stack, more)]
            good &= ~(sides[0][here, None] & sides[1][None, :])
        a, b = np.nonzero(good)
        total += len(a)
        if total > MOST_ENTRIES:
            raise DataError(
                f"the earlier releases match each other in more than {MOST_ENTRIES:,} combinations of partitions; put "
                "all join attributes into x, or join fewer releases"
            )
        found.append((a + begin, b))
    return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])


def _matrix(relation: Relation, others: int) -> NDArray[np.bool_]:
    labels = len(relation.start) - 1
    if labels * others > _BLOCK * 8:
        raise DataError(f"{labels:,} labels of one earlier release and {others:,} of another are too many to match")
    out = np.zeros((labels, others), np.bool_)
    out[np.repeat(np.arange(labels), np.diff(relation.start)), relation.other] = True
    return out


def _all_inside(stack: Stack, rule: Rule, entries: int) -> NDArray[np.bool_]:
    good = np.ones(entries, np.bool_)
    for attribute, inside in rule.inside.items():
        if attribute in stack.labels:
            good &= inside[stack.labels[attribute]]
    return good


def empty_join(name: str) -> Infeasible:
    """The refusal to say something about a join without rows."""
    return Infeasible(
        f"no row of {name} matches a row of each other release: the join is empty, so it shows nothing; check that "
        "the releases are about the same people and values"
    )


def too_many() -> DataError:
    """The refusal of a join that cannot be counted exactly."""
    return DataError(
        "the join has more rows than can be counted exactly (2^62); put all join attributes into x, or join fewer "
        "releases"
    )
