"""The groups of equal rows and the values in each, counted by parts, without a number for every row."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.code_columns import Coded
from sfumato.kernel.group_parts import THREADS, MixedKeys, RowsByPart, shifts, spread
from sfumato.kernel.group_values import ValueCounts
from sfumato.kernel.jit import kernel, lean
from sfumato.kernel.secret_factor import SECRET_FACTOR

_LEAST_SLOTS = 1 << 10
_SLOTS_PER_GROUP = 4
"""At least so many, and at least four: then few groups are not in the first slot that is looked at."""
_MOST_ROWS = (1 << 31) - 1
"""More rows than this are not counted here: a cell might not hold those of a group."""
_MOST_CELLS = 1 << 24
"""If more cells than this, in a part, are not enough, nothing is counted here."""


class GroupCells(NamedTuple):
    """How many rows some groups have with each value: a line per group, in which the values of each counted column
    begin at a place of ``firsts``."""

    counts: NDArray[np.int32]
    firsts: list[int]

    def of(self, column: int, size: int) -> NDArray[np.int32]:
        """The counts of one column, which has so many values."""
        return self.counts[:, self.firsts[column] : self.firsts[column] + size]


class GroupTallies(NamedTuple):
    """How many rows each group has, for each counted column its values by group, and the key that all rows of a group
    have, mixed; ``cells``: in the same order of groups, unless they are not kept."""

    size: NDArray[np.int64]
    values: list[ValueCounts]
    mixed: NDArray[np.uint64]
    keys: MixedKeys
    cells: list[GroupCells] | None

    @property
    def codes(self) -> NDArray[np.uint64]:
        """The codes that all rows of each group have, in one number."""
        return self.keys.unmixed(self.mixed)


class _Fields(NamedTuple):
    """For each column where its code begins in a number, its bits as ones, and where its cells begin in a line;
    ``widths``: how many cells each has."""

    of_columns: NDArray[np.uint64]
    widths: NDArray[np.int64]

    @classmethod
    def of(cls, columns: Sequence[Coded]) -> "_Fields":
        """Without columns there is one cell per group, for its rows."""
        columns = columns or [Coded(np.empty(0, np.uint8), 1)]
        widths = np.array([1 << column.bits for column in columns], np.int64)
        firsts = np.cumsum(widths) - widths
        return cls(np.array([shifts(columns), widths - 1, firsts], np.uint64).T.copy(), widths)

    @property
    def firsts(self) -> list[int]:
        """Where the values of each column begin in a line of cells."""
        return [int(first) for first in self.of_columns[:, 2]]


@lean
def _count_part(
    kept: Any,
    firsts: Any,
    part: Any,
    below: Any,
    of_rest: Any,
    factor: Any,
    fields: Any,
    slots: Any,
    mixed: Any,
    done: Any,
    cells: Any,
) -> Any:
    """Count the rows of each group of a part by their values, in a line of cells per group.

    Groups are found by open addressing: a slot has the lower half of a key and the number of its group. The whole mixed
    keys, with the bits of the part above the others, are written from ``done`` on. Returns how many groups there are; a
    negative number if ``cells`` has fewer lines.
    """
    u = np.uint64
    half = u(32)
    sure = of_rest <= 32
    one, ones = len(fields) == 1, fields[0, 1]
    upper = u(part) << u(of_rest)
    rows = u(0)
    for block in range(u(len(firsts))):
        rows += u(firsts[block, part + 1]) - u(firsts[block, part])
    bits = u(2)
    while (u(1) << bits) < min(u(len(slots)), u(_SLOTS_PER_GROUP) * rows):
        bits += u(1)
    mask, shift = (u(1) << bits) - u(1), u(64) - bits
    slots[: mask + u(1)] = 0
    groups = 0
    for block in range(u(len(firsts))):
        for row in range(u(firsts[block, part]), u(firsts[block, part + 1])):
            codes = u(kept[row])
            key = codes >> below
            slot = ((key ^ (key >> half)) * factor) >> shift
            found = slots[slot]
            while found and (
                np.uint32(found) != np.uint32(key)
                or (not sure and mixed[u(done) + (found >> half) - u(1)] != upper | key)
            ):
                slot = (slot + u(1)) & mask
                found = slots[slot]
            if not found:
                if groups == len(cells):
                    return -1
                for cell in range(u(cells.shape[1])):
                    cells[u(groups), cell] = 0
                mixed[u(done) + u(groups)] = upper | key
                groups += 1
                found = u(groups) << half | u(np.uint32(key))
                slots[slot] = found
            group = (found >> half) - u(1)
            if one:
                cells[group, codes & ones] += 1
            else:
                for column in range(u(len(fields))):
                    cells[group, ((codes >> fields[column, 0]) & fields[column, 1]) + fields[column, 2]] += 1
    return groups


@lean
def _summarize(
    cells: Any,
    start: Any,
    width: Any,
    groups: Any,
    done: Any,
    size: Any,
    most: Any,
    squares: Any,
    of_value: Any,
    at: Any,
) -> None:
    """Of each line the rows, those with the most frequent value and the sum of squares; and the rows of each value."""
    u = np.uint64
    for g in range(u(groups)):
        rows, top, square = np.int64(0), np.int64(0), np.int64(0)  # fewer than 2^31 rows
        for value in range(u(width)):
            of_value[at, value] += np.int64(cells[g, u(start) + value])
        for value in range(u(width)):
            held = np.int64(cells[g, u(start) + value])
            rows += held
            top = max(top, held)
            square += held * held
        size[u(done) + g], most[at, u(done) + g], squares[at, u(done) + g] = rows, top, square


@kernel
def _count_parts(
    kept: Any,
    firsts: Any,
    part: int,
    last: int,
    below: int,
    of_rest: int,
    factor: Any,
    fields: Any,
    slots: Any,
    cells: Any,
    begin: int,
    done: int,
    size: Any,
    mixed: Any,
    most: Any,
    squares: Any,
    of_value: Any,
    kept_cells: Any,
) -> Any:
    """Count some parts, as long as there are lines enough for the groups of each; those from ``begin`` to before
    ``done`` are there already. Returns the part before which it stopped, and where the groups end."""
    while part < last:
        groups = _count_part(kept, firsts, part, np.uint64(below), of_rest, factor, fields, slots, mixed, done, cells)
        if groups < 0:
            break
        for at in range(len(fields)):
            start, width = fields[at, 2], fields[at, 1] + np.uint64(1)
            _summarize(cells, start, width, groups, done, size, most, squares, of_value, at)
        if done + groups - begin <= len(kept_cells):
            kept_cells[done - begin : done - begin + groups] = cells[:groups]
        done += groups
        part += 1
    return part, done


@kernel
def _count_codes(mixed: Any, back: Any, ones: Any, fields: Any, size: Any, of_code: Any) -> None:
    for g in range(np.uint64(len(mixed))):
        key = (mixed[g] * back) & ones
        for column in range(np.uint64(len(fields))):
            code = (key >> fields[column, 0]) & fields[column, 1]
            of_code[fields[column, 2] + code] += size[g]


def group_tallies(by: Sequence[Coded], counted: Sequence[Coded], kept_cells: int = 0) -> GroupTallies | None:
    """Group the rows that agree on all columns of ``by``, and count in each group the values of each other column.

    The groups are in no particular order. All codes of a row must fit into a number (`fits`). The cells are kept if
    they are not more than ``kept_cells``. None if a part would have too many of them, as if a forger chose the codes,
    or if there are too many rows.

    >>> found = group_tallies([Coded(np.array([1, 0, 1]), 2)], [Coded(np.array([2, 2, 0]), 3)])
    >>> assert found is not None
    >>> sorted(found.size.tolist()), found.values[0].of_value.tolist()
    ([1, 2], [1, 0, 2])
    """
    if len(by[0].codes) > _MOST_ROWS:
        return None
    rows, fields = spread(by, counted), _Fields.of(counted)
    sizes, most = rows.sizes(), kept_cells // THREADS
    found = _Found.room_for(rows, fields)
    ends = [len(sizes) * thread // THREADS for thread in range(THREADS + 1)]
    halves = [_Half(rows, sizes, range(*some), fields, found, most) for some in pairwise(ends)]
    with ThreadPoolExecutor(THREADS) as pool:
        if not all(list(pool.map(_Half.count, halves))):
            return None
    size, mixed, most_frequent, squares = found.together([half.groups for half in halves])
    values = [
        ValueCounts(
            size, most_frequent[at], squares[at], np.sum([half.of_value[at, : column.size] for half in halves], axis=0)
        )
        for at, column in enumerate(counted)
    ]
    cells = [GroupCells(half.cells, fields.firsts) for half in halves if half.cells is not None]
    kept = counted and len(cells) == len(halves)
    return GroupTallies(size, values, mixed, rows.keys, cells if kept else None)


def rows_by_code(tallies: GroupTallies, by: Sequence[Coded]) -> list[NDArray[np.int64]]:
    """How many rows have each code of each column that makes the groups.

    >>> by = [Coded(np.array([1, 0, 1]), 2), Coded(np.array([0, 3, 3]), 4)]
    >>> found = group_tallies(by, [])
    >>> assert found is not None
    >>> [rows.tolist() for rows in rows_by_code(found, by)]
    [[1, 2], [1, 0, 0, 2]]
    """
    fields, keys = _Fields.of(by), tallies.keys

    def counted(first: int, last: int) -> NDArray[np.int64]:
        found = np.zeros(int(fields.widths.sum()), np.int64)
        of_keys = np.uint64(keys.back), np.uint64(keys.ones), fields.of_columns
        _count_codes(tallies.mixed[first:last], *of_keys, tallies.size[first:last], found)
        return found

    ends = [len(tallies.size) * thread // THREADS for thread in range(THREADS + 1)]
    with ThreadPoolExecutor(THREADS) as pool:
        of_code = sum(pool.map(counted, ends[:-1], ends[1:]), np.zeros(1, np.int64))
    return [of_code[first : first + column.size] for first, column in zip(fields.firsts, by, strict=True)]


class _Found(NamedTuple):
    """How many rows each group has and its mixed key; by counted column and group the rows with the most frequent value
    and the sum of squares. There is room for as many groups as rows; the system has it where something was written."""

    size: NDArray[np.int64]
    mixed: NDArray[np.uint64]
    most: NDArray[np.int64]
    squares: NDArray[np.float64]

    @classmethod
    def room_for(cls, rows: RowsByPart, fields: _Fields) -> "_Found":
        """Room for the groups of some rows."""
        most, columns = len(rows.kept), len(fields.widths)
        return cls(
            np.empty(most, np.int64),
            np.empty(most, np.uint64),
            np.empty((columns, most), np.int64),
            np.empty((columns, most), np.float64),
        )

    def together(self, groups: Sequence[range]) -> "_Found":
        """Some groups, which are moved to the beginning."""
        done = 0
        for some in groups:
            for figures in self if some.start > done else ():  # the first are there
                figures[..., done : done + len(some)] = figures[..., some.start : some.stop]
            done += len(some)
        return _Found(*(figures[..., :done] for figures in self))


class _Half:
    """Some parts and their groups, which have lines of cells as long as they are not too many.

    Groups are written from the place on where the rows of these parts would begin.
    """

    def __init__(
        self,
        rows: RowsByPart,
        sizes: NDArray[np.int64],
        parts: range,
        fields: _Fields,
        found: _Found,
        kept_cells: int,
    ) -> None:
        self._rows, self._parts, self._fields, self._found = rows, parts, fields, found
        begin, sizes = int(sizes[: parts.start].sum()), sizes[parts.start : parts.stop]
        self._longest, self._width = int(sizes.max(initial=0)), int(fields.widths.sum())
        self.groups = range(begin, begin)
        self.of_value = np.zeros((len(fields.widths), int(fields.widths.max())), np.int64)
        self._kept = np.empty((min(int(sizes.sum()), kept_cells // self._width), self._width), np.int32)

    @property
    def cells(self) -> NDArray[np.int32] | None:
        """How many rows each group has with each value; None if they were too many to keep."""
        return self._kept[: len(self.groups)] if len(self.groups) <= len(self._kept) else None

    def count(self) -> bool:
        """Count all parts, with as many lines as the one with most groups needs; whether none has too many cells."""
        part, slots = self._parts.start, _LEAST_SLOTS
        while (part := self._count(part, slots)) < self._parts.stop:
            if self._lines(slots) * self._width > _MOST_CELLS:
                return False
            slots *= 2
        return True

    def _lines(self, slots: int) -> int:
        return min(slots // _SLOTS_PER_GROUP, self._longest)

    def _count(self, part: int, slots: int) -> int:
        """Count from a part on; returns the part before which it stopped."""
        keys, cells = self._rows.keys, np.empty((self._lines(slots), self._width), np.int32)
        reached, end = _count_parts(
            self._rows.kept,
            self._rows.firsts,
            part,
            self._parts.stop,
            keys.below,
            keys.of_rest,
            SECRET_FACTOR,
            self._fields.of_columns,
            np.empty(slots, np.uint64),
            cells,
            self.groups.start,
            self.groups.stop,
            *self._found,
            self.of_value,
            self._kept,
        )
        self.groups = range(self.groups.start, int(end))
        return int(reached)
