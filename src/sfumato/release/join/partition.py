"""One side of a join compressed to partitions: rows with the same labels, and what of Y they hold."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kernel.group import group_rows
from sfumato.release.earlier import Earlier, EarlierColumn
from sfumato.release.join.template import Resolved
from sfumato.table.names import named

Integers = NDArray[np.int64]


class SidePeople(NamedTuple):
    """Rows of a side that are told apart: the number of a row of each, its weight, and the person if that repeats."""

    row: Integers
    weight: Integers
    person: Integers | None


class Partitions(NamedTuple):
    """Partitions of a side: one of the rows of each, the number on X, the unit of Y, how much each counts, and how
    much of it holds each protected value."""

    row: Integers
    x: Integers
    unit: Integers
    weight: Integers
    held: Integers

    def __len__(self) -> int:
        return len(self.row)


def number(columns: Sequence[Integers], rows: int) -> Integers:
    """A number for each row, the same for rows that agree on all columns."""
    if not columns:
        return np.zeros(rows, np.int64)
    return group_rows(columns, [int(c.max()) + 1 if len(c) else 1 for c in columns]).of_row


def people(side: Earlier, used: Sequence[str]) -> SidePeople:
    """The rows of a side as far as some columns tell them apart; a bucketized person can have several."""
    if (np.diff(side.person) > 0).all():
        return SidePeople(np.arange(len(side.person)), side.weights, None)
    labels = [side.column(name).of_row for name in used]
    found = group_rows([side.person, *labels], [int(side.person.max()) + 1, *(int(c.max()) + 1 for c in labels)])
    weight = _sums(found.of_row, side.weights, len(found.first))
    person = side.person[found.first]
    return SidePeople(found.first, weight, None if len(np.unique(person)) == len(person) else person)


def _sums(group: Integers, weight: Integers, groups: int) -> Integers:
    out = np.zeros(groups, np.int64)
    np.add.at(out, group, weight)
    return out


def values(column: EarlierColumn, release: str) -> tuple[str, ...]:
    """The values of a column of Y, which must be published as they are."""
    hidden = [
        label
        for label, m in zip(column.labels, column.meanings, strict=True)
        if not (m.listed and (m.names == (label,) or len(m.names) == 1))
    ]
    if hidden:
        raise PolicyError(
            f"{column.name!r} of {release} is in y but generalized ({named(hidden)}): which values people have is not "
            "known, so they cannot be counted; choose another y"
        )
    return column.labels


def partitions(side: Earlier, wanted: Resolved, joined: Sequence[str]) -> Partitions:
    """Rows of a side with the same labels of the join attributes and of X, and for distinct counts also of Y."""
    x, y = wanted.in_x(side.name), wanted.reads(side.name)
    used = list(dict.fromkeys([*joined, *x, *y]))
    found = people(side, used)
    labels = {name: side.column(name).of_row[found.row] for name in used}
    on_x = number([labels[n] for n in x], len(found.row))
    keys = [*(labels[n] for n in joined), on_x]
    if wanted.targets:
        return _shares(side, wanted, found, labels, keys)
    counted, weight = _units(side, wanted, found, labels)
    group = group_rows([*keys, counted], [*(int(k.max()) + 1 for k in keys), int(counted.max()) + 1])
    first = group.first
    if weight is not None:
        many = _sums(group.of_row, weight, len(first))
        return Partitions(
            found.row[first], on_x[first], np.arange(len(first)), many, np.zeros((len(first), 0), np.int64)
        )
    unit = number([on_x[first], counted[first]], len(first))
    ones = np.ones(len(first), np.int64)
    return Partitions(found.row[first], on_x[first], unit, ones, np.zeros((len(first), 0), np.int64))


def _units(
    side: Earlier, wanted: Resolved, found: SidePeople, labels: dict[str, Integers]
) -> tuple[Integers, Integers | None]:
    """What is counted of Y on this side: a number for each row, and weights if every person is one unit."""
    if side.name in wanted.records:
        if found.person is None:
            return np.zeros(len(found.row), np.int64), found.weight // side.unit
        return found.person, None
    for name in wanted.in_y(side.name):
        values(side.column(name), side.name)
    return number([labels[n] for n in wanted.in_y(side.name)], len(found.row)), None


def _shares(
    side: Earlier, wanted: Resolved, found: SidePeople, labels: dict[str, Integers], keys: Sequence[Integers]
) -> Partitions:
    group = group_rows(keys, [int(k.max()) + 1 for k in keys])
    first = group.first
    held = np.zeros((len(first), len(wanted.targets)), np.int64)
    for t in wanted.held_by(side.name):
        target = wanted.targets[t]
        shown = values(side.column(target.attribute.name), side.name)
        if target.value not in shown:
            continue
        here = np.flatnonzero(labels[target.attribute.name] == shown.index(target.value))
        held[:, t] = _sums(group.of_row[here], found.weight[here], len(first))
    weight = _sums(group.of_row, found.weight, len(first))
    return Partitions(found.row[first], keys[-1][first], np.arange(len(first)), weight, held)


def refuse_sampled(side: Earlier, wanted: Resolved) -> None:
    """Refuse to count the records of a sample: each of its rows stands for several people."""
    if side.sampled and side.name in wanted.records:
        raise PolicyError(
            f"{side.name} is a sample: each row stands for a group of people, so its records cannot be counted in y; "
            "choose the records of another release, or an attribute"
        )
