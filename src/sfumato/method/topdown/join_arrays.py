"""A template over a join as the kernel refines it: rows in cells, labels as bits of what they match."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, PolicyError
from sfumato.kernel.group import group_rows
from sfumato.kernel.join import cells as c
from sfumato.kernel.join import groups as g
from sfumato.kernel.join import matching as m
from sfumato.kernel.topdown import state as r
from sfumato.method.topdown.table_side import label_column
from sfumato.release.earlier import Earlier, EarlierColumn
from sfumato.release.join.consistency import consistency
from sfumato.release.join.first import for_kernel, keys_of, marks_of, matching, room_for, way_of
from sfumato.release.join.links import Links, Rule
from sfumato.release.join.names import JoinAttribute
from sfumato.release.join.partition import number, values
from sfumato.release.join.stack import Stack, Words, earlier_releases, empty_join
from sfumato.release.join.template import Resolved
from sfumato.release.scheme.group_labels import Box, name_boxes
from sfumato.table.encode import Column
from sfumato.table.names import SUPPRESSED

Integers = NDArray[np.int64]

_MOST_CELLS = 1 << 27


class Place(NamedTuple):
    """A masked attribute: its number, kind, first label, and what each of its labels covers (of a line, each code)."""

    attribute: int
    column: Column
    kind: int
    base: int
    boxes: Sequence[Box]


@dataclass(frozen=True, eq=False)
class Searched:
    """A template over a join that is counted in the search."""

    wanted: Resolved
    links: Links

    @property
    def side(self) -> Earlier:
        """The table that is refined, by its values."""
        return self.links.sides[next(iter(self.links.sides))]


class _Rows(NamedTuple):
    """The distinct rows of the table by codes at the places, key and what is counted, in the order of their cells."""

    codes: Integers
    rows: g.JoinRows
    mode: int
    order: Integers
    ends: Integers
    keys: Integers


def template_arrays(task: Searched, places: Sequence[Place], labels: int) -> c.Template:
    """All arrays of one template; ``labels`` is how many labels there are in the whole refinement."""
    stack = earlier_releases(task.links, task.wanted)
    if not len(stack):
        raise empty_join(task.side.name)
    masked = [p.column.name for p in places]
    found = _rows(task, places, masked)
    keys = matching(task.links, stack, found.keys, but=masked)
    rules = [rule for rule in task.links.rules if any(a in rule.inside for a in _here(task, masked))]
    match = _match(task, stack, places, labels, rules, found.keys)
    doubled = np.concatenate([keys, keys]) if rules else keys
    targets = len(task.wanted.targets)
    return c.Template(
        _cells(found, len(places), targets),
        match,
        for_kernel(stack, doubled, found.rows.weight),
        way_of(task.side.name, task.wanted, found.mode),
        found.rows,
        room_for(stack, len(keys), targets, max([2, *(_parts(p) for p in places)])),
    )


def _parts(place: Place) -> int:
    """The most parts that a label of an attribute has."""
    return max((len(below) for below in place.column.domain.children), default=0) if place.kind == r.TREE else 2


def _here(task: Searched, names: Sequence[str]) -> list[JoinAttribute]:
    return [JoinAttribute(task.side.name, n) for n in names]


def _rows(task: Searched, places: Sequence[Place], masked: Sequence[str]) -> _Rows:
    """The rows that the template tells apart."""
    side, wanted = task.side, task.wanted
    entries = len(side.weights)
    labels = {n: c.of_row for n, c in side.columns.items()}
    keys = keys_of([labels[n] for n in task.links.joined(side.name) if n not in masked], entries)
    cell = number([labels[n] for n in wanted.in_x(side.name) if n not in masked], entries)
    value, mode = _counted(side, wanted, labels)
    marks = marks_of(side, wanted, labels, entries)
    codes = [p.column.codes.astype(np.int64) for p in places]
    columns = [cell, value, keys.of_row, *codes, *marks]
    group = group_rows(columns, [int(c.max()) + 1 for c in columns])
    first = group.first
    weight = np.bincount(group.of_row, weights=side.weights, minlength=len(first)).astype(np.int64)
    marked = np.array([n[first] for n in marks], np.int64).reshape(-1, len(first))
    rows = g.JoinRows(keys.of_row[first], value[first], weight, marked)
    order = np.lexsort((rows.value, cell[first]))
    ends = np.searchsorted(cell[first][order], np.arange(int(cell.max()) + 2))
    coded = np.array([c[first] for c in codes], np.int64).reshape(-1, len(first))
    return _Rows(coded, rows, mode, order, ends, keys.row)


def _counted(side: Earlier, wanted: Resolved, labels: dict[str, Integers]) -> tuple[Integers, int]:
    """What is counted of Y in the table, and how."""
    none = np.zeros(len(side.weights), np.int64)
    if wanted.targets:
        return none, g.BY_SHARE
    if side.name in wanted.records:
        return none, g.BY_KEY
    for name in wanted.in_y(side.name):
        values(side.column(name), side.name)
    return number([labels[n] for n in wanted.in_y(side.name)], len(none)), g.BY_VALUE


def _cells(found: _Rows, places: int, targets: int) -> c.Cells:
    """The cells at the start: one, or one for each value of attributes of X that are not masked."""
    rows, cells = len(found.order), len(found.ends) - 1
    ends = np.zeros((rows, 3), np.int64)
    ends[:cells, c.BEGIN], ends[:cells, c.END], ends[:cells, c.DIRTY] = found.ends[:-1], found.ends[1:], 1
    return c.Cells(
        found.codes,
        found.order.astype(np.int64),
        np.zeros(2 * rows, np.int64),
        ends,
        np.zeros((places, rows), np.int64),
        np.array([cells], np.int64),
        np.zeros(rows),
        np.zeros((rows, 2), np.int64),
        np.full((places, rows), np.inf),
        np.zeros((places, rows), np.bool_),
        np.full((places, rows), -1, np.int64),
        np.zeros((max(targets, 1), 2), np.int64),
    )


def _match(
    task: Searched, stack: Stack, places: Sequence[Place], labels: int, rules: Sequence[Rule], keys: Integers
) -> m.Match:
    table = np.zeros((len(places), 5), np.int64)
    bits: list[Words] = [np.zeros((1, stack.words), np.uint64)]
    lines = _Lines([], [], [np.zeros((1, max((p.column.size for p in places), default=0) + 1), np.int64)])
    for i, place in enumerate(places):
        shared = [a for a in stack.labels if a.name == place.column.name and _linked(task, a)]
        table[i, m.ATTRIBUTE], table[i, m.JOINED] = place.attribute, bool(shared)
        if shared and place.kind == r.LINE:
            table[i, m.APART] = place.column.size - place.column.domain.missing_apart
            table[i, m.WHOLE] = _hides_all(place, int(table[i, m.APART]))
            for attribute in shared:
                lines.add(i, _codes_below(place, _theirs(task, attribute), lines.width), stack.labels[attribute])
        elif shared:
            table[i, m.ROW] = sum(len(b) for b in bits) - place.base
            bits.append(_label_bits(task, stack, place, shared))
    ruled, inside, keyed = _rules(task, stack, places, labels, rules, keys)
    return m.Match(
        table,
        np.concatenate(bits),
        np.array(lines.slots, np.int64).reshape(-1, 2),
        np.concatenate(lines.prefix),
        np.array(lines.of_entry, np.int64).reshape(-1, len(stack)),
        stack.everything(),
        ruled,
        inside,
        keyed,
        np.zeros(stack.words, np.uint64),
        np.zeros(len(rules), np.bool_),
    )


class _Lines(NamedTuple):
    """Lines and the releases they are matched with: place and first row of ``prefix``, and the label of each entry."""

    slots: list[tuple[int, int]]
    of_entry: list[Integers]
    prefix: list[Integers]

    @property
    def width(self) -> int:
        return int(self.prefix[0].shape[1])

    def add(self, place: int, prefix: Integers, of_entry: Integers) -> None:
        """One more release that a line is matched with."""
        self.slots.append((place, sum(len(p) for p in self.prefix)))
        self.prefix.append(prefix)
        self.of_entry.append(of_entry)


def _hides_all(place: Place, size: int) -> bool:
    """Whether the interval of all values is shown as ``*``."""
    return name_boxes(place.column.domain, [Box(0, size)])[0].label == SUPPRESSED


def _linked(task: Searched, attribute: JoinAttribute) -> bool:
    """Whether an attribute of an earlier release is matched with the one of this table."""
    return any(name == attribute.name for name, _ in task.links.between(task.side.name, attribute.release))


def _theirs(task: Searched, attribute: JoinAttribute) -> EarlierColumn:
    return task.links.sides[attribute.release].column(attribute.name)


def _label_bits(task: Searched, stack: Stack, place: Place, shared: Sequence[JoinAttribute]) -> Words:
    """For each label of a tree or a set, the entries that it is consistent with."""
    column = label_column(place.column, place.boxes, np.zeros(0, np.int64))
    out = np.tile(stack.everything(), (len(place.boxes), 1))
    for attribute in shared:
        out &= stack.consistent(attribute, consistency(column, _theirs(task, attribute)), np.arange(len(out)))
    return out


def _codes_below(place: Place, theirs: EarlierColumn, width: int) -> Integers:
    """For each label of the other side, how many codes below each code of a line are consistent with it."""
    if len(theirs.labels) * width > _MOST_CELLS:
        raise DataError(
            f"{place.column.name!r} has {place.column.size:,} values here and {len(theirs.labels):,} labels in an "
            "earlier release, too many to be matched while it is refined; give it a taxonomy of intervals"
        )
    relation = consistency(label_column(place.column, place.boxes, np.zeros(0, np.int64)), theirs)
    table = np.zeros((len(theirs.labels), width), np.int64)
    codes = np.repeat(np.arange(len(relation.start) - 1), np.diff(relation.start))
    table[relation.other, codes + 1] = 1
    return np.cumsum(table, axis=1)


def _rules(
    task: Searched, stack: Stack, places: Sequence[Place], labels: int, rules: Sequence[Rule], keys: Integers
) -> tuple[Words, NDArray[np.bool_], NDArray[np.bool_]]:
    """The rules about masked attributes: their entries, and for each label and key whether it lies inside."""
    side = task.side
    ruled = np.zeros((len(rules), stack.words), np.uint64)
    inside, keyed = np.ones((len(rules), labels), np.bool_), np.ones((len(rules), len(keys)), np.bool_)
    at = {p.column.name: p for p in places}
    for i, rule in enumerate(rules):
        ruled[i] = stack.inside(rule, but=side.name)
        for attribute, raw in rule.inside.items():
            if attribute.release != side.name:
                continue
            if attribute.name not in at:
                keyed[i] &= raw[side.column(attribute.name).of_row[keys]]
                continue
            place = at[attribute.name]
            refuse_rule_on_line(place)
            column = label_column(place.column, place.boxes, np.zeros(0, np.int64))
            here = slice(place.base, place.base + len(place.boxes))
            inside[i, here] = column.inside(rule.values[attribute])
    return ruled, inside, keyed


def refuse_rule_on_line(place: Place) -> None:
    """Refuse a rule about a masked attribute without a tree: whether an interval lies inside depends on its ends."""
    if place.kind == r.LINE:
        raise PolicyError(
            f"a rule of inconsistency is about {place.column.name!r}, which is generalized to intervals; give it a "
            "taxonomy of intervals, or leave it out of x"
        )
