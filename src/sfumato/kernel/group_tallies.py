"""The groups of equal rows and the values in each, counted without a number for every row.

Rows are first spread over parts, by a hash of what they are grouped by: the rows of a group are then in the same part,
and all that is counted there stays in the cache. Two threads share the rows, and then the parts.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.group_values import ValueCounts
from sfumato.kernel.jit import inner, kernel

_KEY_BITS = 63
"""The codes of a row, grouped by and counted, must fit into so many bits together."""
_BLOCK = 1 << 16
"""How many rows are packed at a time."""
_THREADS = 2
_PART = 1 << 15
"""How many rows a part has, about."""
_MOST_PART_BITS = 8
"""Rows are not spread over more parts: there would be more places to write to than the processor keeps track of."""
_LEAST_SLOTS = 1 << 10
_MOST_CELLS = 1 << 24
"""If more cells than this, in a part, are not enough, nothing is counted here."""
_ODD = 0x9E3779B97F4A7C15
"""Any odd number with bits all over."""


class Coded(NamedTuple):
    """The code of each row in a column, below ``size``."""

    codes: NDArray[Any]
    size: int

    @property
    def bits(self) -> int:
        """How many bits a code needs."""
        return max(self.size - 1, 0).bit_length()


class GroupCells(NamedTuple):
    """How many rows some groups have with each value: a line per group, in which the values of each counted column
    begin at a place of ``firsts``."""

    counts: NDArray[np.int32]
    firsts: list[int]

    def of(self, column: int, size: int) -> NDArray[np.int32]:
        """The counts of one column, which has so many values."""
        return self.counts[:, self.firsts[column] : self.firsts[column] + size]


class GroupTallies(NamedTuple):
    """How many rows each group has, for each counted column its values by group, and the codes that all rows of a group
    have, in one number; ``cells``: in the same order of groups, unless they are not kept."""

    size: NDArray[np.int64]
    values: list[ValueCounts]
    codes: NDArray[np.uint64]
    cells: list[GroupCells] | None


class _Keys(NamedTuple):
    """How the codes of a row become a key and a part, and what is kept of the key there.

    The key has the codes that rows are grouped by. It is multiplied by an odd number and cut to its own number of bits,
    which keeps different keys different. The upper bits, which depend on all others, are the part. The others are kept,
    and below them the counted codes; in half the memory where they fit.
    """

    bits: int
    of_part: int
    below: int

    @property
    def kept(self) -> type[np.uint32] | type[np.uint64]:
        """The type of what is kept of a row."""
        return np.uint32 if self.bits - self.of_part + self.below <= 32 else np.uint64

    @property
    def back(self) -> int:
        """What undoes the multiplication."""
        return pow(_ODD, -1, 1 << self.bits)


def _keys_of(by: Sequence[Coded], counted: Sequence[Coded], rows: int) -> _Keys:
    bits = sum(column.bits for column in by)
    parts = max(1, (rows // _PART).bit_length())
    return _Keys(bits, min(parts, _MOST_PART_BITS, bits), sum(column.bits for column in counted))


@kernel
def _pack(keys: Any, codes: Any, bits: int) -> None:
    for row in range(len(keys)):
        keys[row] = keys[row] << np.uint64(bits) | np.uint64(codes[row])


@inner
def _mixed(key: Any, bits: int, below: int) -> Any:
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    return ((key >> np.uint64(below)) * np.uint64(_ODD)) & mask


@kernel
def _sizes_of_parts(keys: Any, bits: int, of_part: int, below: int, size: Any) -> None:
    rest = np.uint64(bits - of_part)
    for row in range(len(keys)):
        size[_mixed(keys[row], bits, below) >> rest] += 1


@kernel
def _spread(keys: Any, bits: int, of_part: int, below: int, free: Any, out: Any) -> None:
    """What is kept of each row goes to the next free place of its part."""
    rest, one = np.uint64(bits - of_part), np.uint64(1)
    of_rest, of_counted = (one << rest) - one, (one << np.uint64(below)) - one
    for row in range(len(keys)):
        mixed = _mixed(keys[row], bits, below)
        place = free[mixed >> rest]
        out[place] = (mixed & of_rest) << np.uint64(below) | (keys[row] & of_counted)
        free[mixed >> rest] = place + 1


@kernel
def _count_part(
    kept: Any, below: int, upper: int, fields: Any, slot_key: Any, slot_group: Any, of_group: Any, cells: Any
) -> int:
    """Count the rows of each group of a part by their values, in a line of cells per group.

    Groups are found by open addressing; of each also the mixed key, of which ``upper`` are the bits of the part.
    Returns how many there are; a negative number if ``cells`` has fewer lines.
    """
    mask = np.uint64(len(slot_group) - 1)
    slot_group[:] = 0
    groups = 0
    for row in range(len(kept)):
        codes = np.uint64(kept[row])
        key = codes >> np.uint64(below)
        h = (key ^ (key >> np.uint64(32))) * np.uint64(0xC4CEB9FE1A85EC53)
        slot = (h ^ (h >> np.uint64(29))) & mask
        while slot_group[slot] and slot_key[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if not slot_group[slot]:
            if groups == len(cells):
                return -1
            for cell in range(cells.shape[1]):
                cells[groups, cell] = 0
            of_group[groups] = np.uint64(upper) | key
            groups += 1
            slot_key[slot], slot_group[slot] = key, groups
        group = slot_group[slot] - 1
        for column in range(len(fields)):
            shift, ones, first = fields[column, 0], fields[column, 1], fields[column, 2]
            cells[group, ((codes >> shift) & ones) + first] += 1
    return groups


@kernel
def _summarize(cells: Any, first: int, size: Any, most: Any, squares: Any, of_value: Any) -> None:
    """Of each line the rows, those with the most frequent value and the sum of squares; and the rows of each value."""
    for g in range(len(size)):
        rows, top, square = np.int64(0), np.int64(0), 0.0
        for value in range(len(of_value)):
            held = np.int64(cells[g, first + value])
            rows += held
            top = max(top, held)
            square += np.float64(held * held)
            of_value[value] += held
        size[g], most[g], squares[g] = rows, top, square


@kernel
def _unmix(mixed: Any, back: Any, ones: Any) -> None:
    for g in range(len(mixed)):
        mixed[g] = (mixed[g] * back) & ones


@kernel
def _count_codes(codes: Any, shift: int, ones: Any, size: Any, of_code: Any) -> None:
    for g in range(len(codes)):
        of_code[(codes[g] >> np.uint64(shift)) & ones] += size[g]


def group_tallies(by: Sequence[Coded], counted: Sequence[Coded], kept_cells: int = 0) -> GroupTallies | None:
    """Group the rows that agree on all columns of ``by``, and count in each group the values of each other column.

    The groups are in no particular order. All codes of a row must fit into a number (`fits`). The cells are kept if
    they are not more than ``kept_cells``. None if a part would have too many of them, as if a forger chose the codes.

    >>> found = group_tallies([Coded(np.array([1, 0, 1]), 2)], [Coded(np.array([2, 2, 0]), 3)])
    >>> assert found is not None
    >>> sorted(found.size.tolist()), found.values[0].of_value.tolist()
    ([1, 2], [1, 0, 2])
    """
    rows = len(by[0].codes)
    keys = _keys_of(by, counted, rows)
    parts, columns = 1 << keys.of_part, [*by, *counted]
    ends = [rows * thread // _THREADS for thread in range(_THREADS + 1)]
    some = [range(parts * t // _THREADS, parts * (t + 1) // _THREADS) for t in range(_THREADS)]
    kept = np.empty(rows, keys.kept)
    with ThreadPoolExecutor(_THREADS) as pool:
        sizes = np.array(list(pool.map(lambda t: _sizes(columns, keys, ends[t], ends[t + 1]), range(_THREADS))))
        starts = np.cumsum(np.append(0, sizes.T.ravel()))[:-1].reshape(parts, _THREADS).T.copy()
        firsts = np.append(starts[0], rows)
        list(pool.map(lambda t: _fill(columns, keys, ends[t], ends[t + 1], starts[t], kept), range(_THREADS)))
        most = kept_cells // _THREADS
        halves = list(pool.map(lambda t: _tallied(kept, firsts, t, keys, counted, most), some))
    if None in halves:
        return None
    found = [part for half in halves for part in half or ()]
    size = np.concatenate([part.size for part in found])
    codes = np.concatenate([part.mixed for part in found])
    _unmix(codes, np.uint64(keys.back), np.uint64((1 << keys.bits) - 1))
    of_parts = zip(*(part.values for part in found), strict=True)
    cells = [part.cells for part in found if part.cells is not None]
    values = [_joined(size, values) for values in of_parts] if counted else []
    return GroupTallies(size, values, codes, cells if counted and len(cells) == len(found) else None)


def rows_by_code(tallies: GroupTallies, by: Sequence[Coded], at: int) -> NDArray[np.int64]:
    """How many rows have each code of one of the columns that make the groups.

    >>> by = [Coded(np.array([1, 0, 1]), 2), Coded(np.array([0, 3, 3]), 4)]
    >>> found = group_tallies(by, [])
    >>> assert found is not None
    >>> rows_by_code(found, by, 1).tolist()
    [1, 0, 0, 2]
    """
    of_code = np.zeros(1 << by[at].bits, np.int64)
    _count_codes(tallies.codes, _shifts(by)[at], np.uint64(len(of_code) - 1), tallies.size, of_code)
    return of_code[: by[at].size]


def _packed(columns: Sequence[Coded], first: int, last: int) -> Iterator[NDArray[np.uint64]]:
    """The codes of each row in one number: some at a time, which stay in the cache."""
    room = np.empty(min(_BLOCK, last - first), np.uint64)
    for start in range(first, last, _BLOCK):
        keys = room[: min(_BLOCK, last - start)]
        keys[:] = 0
        for column in columns:
            _pack(keys, column.codes[start : start + len(keys)], column.bits)
        yield keys


def _sizes(columns: Sequence[Coded], keys: _Keys, first: int, last: int) -> NDArray[np.int64]:
    """How many of some rows each part gets."""
    size = np.zeros(1 << keys.of_part, np.int64)
    for packed in _packed(columns, first, last):
        _sizes_of_parts(packed, *keys, size)
    return size


def _fill(
    columns: Sequence[Coded], keys: _Keys, first: int, last: int, free: NDArray[np.int64], kept: NDArray[Any]
) -> None:
    """Put some rows into their parts. They are packed again: to write all of them down would take longer."""
    for packed in _packed(columns, first, last):
        _spread(packed, *keys, free, kept)


class _Part(NamedTuple):
    """The groups of a part: how many rows each has, its mixed key, and its values."""

    size: NDArray[np.int64]
    mixed: NDArray[np.uint64]
    values: list[ValueCounts]
    cells: GroupCells | None


def _tallied(
    kept: NDArray[Any],
    firsts: NDArray[np.int64],
    parts: range,
    keys: _Keys,
    counted: Sequence[Coded],
    kept_cells: int,
) -> list[_Part] | None:
    """The groups of some parts; None if there are too many cells."""
    longest = int(np.diff(firsts[parts.start : parts.stop + 1]).max(initial=0))
    counting = _Counting(keys, counted, longest, kept_cells)
    found = []
    for part in parts:
        groups = counting.groups_of(kept[firsts[part] : firsts[part + 1]], part)
        if groups is None:
            return None
        found.append(groups)
    return found


class _Counting:
    """Counts one part after the other, with room for as many groups as the parts before had."""

    def __init__(self, keys: _Keys, counted: Sequence[Coded], longest: int, kept_cells: int) -> None:
        self._keys, self._longest, self._left = keys, longest, kept_cells
        self._columns = counted or [Coded(np.empty(0, np.uint8), 1)]  # one cell per group, for its rows
        widths = [1 << column.bits for column in self._columns]
        self._firsts = [sum(widths[:at]) for at in range(len(widths))]
        self._width = sum(widths)
        ones = [width - 1 for width in widths]
        self._fields = np.array([_shifts(self._columns), ones, self._firsts], np.uint64).T.copy()
        self._make_room(_LEAST_SLOTS)

    def _make_room(self, slots: int) -> None:
        self._slots = np.empty(slots, self._keys.kept), np.empty(slots, np.int32)
        groups = min(slots // 3, self._longest)
        self._mixed, self._cells = np.empty(groups, np.uint64), np.empty((groups, self._width), np.int32)

    def groups_of(self, kept: NDArray[Any], part: int) -> _Part | None:
        """The groups of a part; None if they have too many cells."""
        upper = part << (self._keys.bits - self._keys.of_part)
        while (groups := self._count(kept, upper)) < 0:
            if self._cells.size > _MOST_CELLS:
                return None
            self._make_room(2 * len(self._slots[0]))
        values = [
            self._values(groups, column, first) for column, first in zip(self._columns, self._firsts, strict=True)
        ]
        return _Part(values[0].size, self._mixed[:groups].copy(), values, self._kept(groups))

    def _kept(self, groups: int) -> GroupCells | None:
        """The cells of a part, as long as there is room for them."""
        self._left -= groups * self._width
        return GroupCells(self._cells[:groups].copy(), self._firsts) if self._left >= 0 else None

    def _count(self, kept: NDArray[Any], upper: int) -> int:
        return int(_count_part(kept, self._keys.below, upper, self._fields, *self._slots, self._mixed, self._cells))

    def _values(self, groups: int, column: Coded, first: int) -> ValueCounts:
        size, most, squares = np.empty(groups, np.int64), np.empty(groups, np.int64), np.empty(groups)
        of_value = np.zeros(column.size, np.int64)
        _summarize(self._cells, first, size, most, squares, of_value)
        return ValueCounts(size, most, squares, of_value)


def _shifts(columns: Sequence[Coded]) -> list[int]:
    """Where the codes of each column begin in a key of these columns; the last is in its lowest bits."""
    return [sum(column.bits for column in columns[at + 1 :]) for at in range(len(columns))]


def _joined(size: NDArray[np.int64], of_parts: Sequence[ValueCounts]) -> ValueCounts:
    """The values of one column in the groups of all parts."""
    most = np.concatenate([values.most for values in of_parts])
    squares = np.concatenate([values.squares for values in of_parts])
    return ValueCounts(size, most, squares, np.sum([values.of_value for values in of_parts], axis=0))


def fits(by: Sequence[Coded], counted: Sequence[Coded]) -> bool:
    """Whether `group_tallies` can count these columns."""
    return sum(column.bits for column in (*by, *counted)) <= _KEY_BITS
