"""The first release of a join: its rows in cells of equal labels on X, with the key of what each is matched by."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.kernel.group import group_rows
from sfumato.kernel.join import groups as g
from sfumato.release.earlier import Earlier
from sfumato.release.join.links import Links
from sfumato.release.join.names import JoinAttribute
from sfumato.release.join.partition import SidePeople, number, people, values
from sfumato.release.join.stack import MOST_COUNT, MOST_WORDS, Stack, Words, too_many
from sfumato.release.join.template import Resolved

Integers = NDArray[np.int64]


class Keys(NamedTuple):
    """The distinct combinations of labels by which rows are matched: that of each row, and a row of each."""

    of_row: Integers
    row: Integers


def keys_of(labels: Sequence[Integers], rows: int) -> Keys:
    """The distinct combinations of some labels."""
    if not labels:
        return Keys(np.zeros(rows, np.int64), np.zeros(1, np.int64))
    found = group_rows(labels, [int(c.max()) + 1 for c in labels])
    return Keys(found.of_row, found.first)


def matching(links: Links, stack: Stack, row: Integers, but: Sequence[str] = ()) -> Words:
    """For each of some rows of the first release, the bits of the entries that it matches.

    Attributes in ``but`` do not count, nor rules about these or about releases that are not in the stack.
    """
    name, *others = links.sides
    side = links.sides[name]
    if len(row) * stack.words > MOST_WORDS:
        raise DataError(
            f"{len(row):,} combinations of join attributes of {name} are matched with {len(stack):,} partitions of "
            "earlier releases, too many to be counted in memory; generalize the join attributes more"
        )
    out = np.tile(stack.everything(), (len(row), 1))
    for other in others:
        for attribute, relation in links.between(name, other):
            at = JoinAttribute(other, attribute)
            if attribute not in but and at in stack.labels:
                labels, of_key = np.unique(side.column(attribute).of_row[row], return_inverse=True)
                out &= stack.consistent(at, relation, labels)[of_key]
    for rule in links.rules:
        here = [(a.name, inside) for a, inside in rule.inside.items() if a.release == name]
        told = all(a.release == name or a in stack.labels for a in rule.inside)
        if not here or not told or any(attribute in but for attribute, _ in here):
            continue
        good = np.ones(len(row), np.bool_)
        for attribute, inside in here:
            good &= inside[side.column(attribute).of_row[row]]
        out[good] &= ~stack.inside(rule, but=name)
    return out


class First(NamedTuple):
    """The rows of the first release as the kernel counts them, in the order of their cells, and where cells begin;
    ``keys`` has a row of the release for each key."""

    rows: g.JoinRows
    way: g.Way
    order: Integers
    ends: Integers
    keys: Integers


def first_release(side: Earlier, wanted: Resolved, joined: Sequence[str]) -> First:
    """The first release by labels of its join attributes, X and Y."""
    x, y = wanted.in_x(side.name), wanted.reads(side.name)
    used = list(dict.fromkeys([*joined, *x, *y]))
    found = people(side, used)
    labels = {n: side.column(n).of_row[found.row] for n in used}
    cell = number([labels[n] for n in x], len(found.row))
    keys = keys_of([labels[n] for n in joined], len(found.row))
    value, mode, weight = _counted(side, wanted, found, labels)
    marks = marks_of(side, wanted, labels, len(found.row))
    group = group_rows(
        [cell, keys.of_row, value, *marks],
        [int(c.max()) + 1 if len(c) else 1 for c in (cell, keys.of_row, value, *marks)],
    )
    total = np.zeros(len(group.first), np.int64)
    np.add.at(total, group.of_row, weight)
    first = group.first
    rows = g.JoinRows(
        keys.of_row[first], value[first], total, np.array([m[first] for m in marks], np.int64).reshape(-1, len(first))
    )
    order = np.lexsort((rows.value, cell[first]))
    ends = np.searchsorted(cell[first][order], np.arange(int(cell.max()) + 2))
    return First(rows, way_of(side.name, wanted, mode), order, ends, found.row[keys.row])


def _counted(
    side: Earlier, wanted: Resolved, found: SidePeople, labels: dict[str, Integers]
) -> tuple[Integers, int, Integers]:
    """What is counted of Y on this side: values, the kernel's mode, and weights."""
    none = np.zeros(len(found.row), np.int64)
    if wanted.targets:
        return none, g.BY_SHARE, found.weight
    if side.name in wanted.records:
        if found.person is None:
            return none, g.BY_KEY, found.weight // side.unit
        return found.person, g.BY_VALUE, found.weight
    for name in wanted.in_y(side.name):
        values(side.column(name), side.name)
    return number([labels[n] for n in wanted.in_y(side.name)], len(found.row)), g.BY_VALUE, found.weight


def marks_of(side: Earlier, wanted: Resolved, labels: dict[str, Integers], rows: int) -> list[Integers]:
    """For each attribute with protected values, the number of the value from 1 on, 0 for others."""
    out: dict[str, Integers] = {}
    for t in wanted.held_by(side.name):
        target = wanted.targets[t]
        name = target.attribute.name
        shown = values(side.column(name), side.name)
        marks = out.setdefault(name, np.zeros(rows, np.int64))
        if target.value in shown:
            marks[labels[name] == shown.index(target.value)] = t + 1
    return list(out.values())


def way_of(name: str, wanted: Resolved, mode: int) -> g.Way:
    """How groups are judged."""
    limits = np.array([(t.limit.numerator, t.limit.denominator) for t in wanted.targets], np.int64).reshape(-1, 2)
    own = np.array([t.attribute.release == name for t in wanted.targets], np.bool_)
    return g.Way(np.array([mode, wanted.k], np.int64), limits, own)


def for_kernel(stack: Stack, keys: Words, weight: Integers) -> g.StackArrays:
    """The stack as the kernel counts it; refused if counts may not fit."""
    if float(np.sum(weight, dtype=np.float64)) * float(np.sum(stack.weight, dtype=np.float64)) >= MOST_COUNT:
        raise too_many()
    return g.StackArrays(stack.x.astype(np.int64), stack.unit.astype(np.int64), stack.weight, stack.held, keys)


def room_for(stack: Stack, keys: int, marks: int, parts: int = 1) -> g.JoinRoom:
    """Work space to count with this stack, some parts of a cell at a time."""
    top = [int(c.max(initial=0)) + 1 for c in (stack.x, stack.unit)]
    return g.make_room(top[0], top[1], keys, marks, parts)
