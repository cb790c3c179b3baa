"""The groups of equal rows and the values in each, counted without a number for every row.

Rows are first spread over parts, by a hash of what they are grouped by: the rows of a group are then in the same part,
and all that is counted there stays in the cache. Two threads share the rows, and then the parts.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.group_values import ValueCounts
from sfumato.kernel.jit import kernel

_KEY_BITS = 63
"""The codes of a row, grouped by and counted, must fit into so many bits together."""
_BLOCK = 1 << 16
"""How many rows are packed at a time."""
_THREADS = 2
_PART = 1 << 15
"""How many rows a part has, about."""
_MOST_PARTS = 1 << 10
"""Rows are not spread over more parts: there would be more places to write to than the processor keeps track of."""


class Coded(NamedTuple):
    """The code of each row in a column, below ``size``."""

    codes: NDArray[Any]
    size: int

    @property
    def bits(self) -> int:
        """How many bits a code needs."""
        return max(self.size - 1, 0).bit_length()


class GroupTallies(NamedTuple):
    """How many rows each group has, and for each counted column its values by group."""

    size: NDArray[np.int64]
    values: list[ValueCounts]


@kernel
def _pack(keys: Any, codes: Any, bits: int) -> None:
    for row in range(len(keys)):
        keys[row] = keys[row] << np.uint64(bits) | np.uint64(codes[row])


@kernel
def _sizes_of_parts(keys: Any, below: int, shift: int, size: Any) -> None:
    """The part of a key is the upper bits of a product, which depend on all of its bits."""
    for row in range(len(keys)):
        size[((keys[row] >> np.uint64(below)) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift)] += 1


@kernel
def _spread(keys: Any, below: int, shift: int, free: Any, out: Any) -> None:
    """Each key goes to the next free place of its part."""
    for row in range(len(keys)):
        part = ((keys[row] >> np.uint64(below)) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift)
        out[free[part]] = keys[row]
        free[part] += 1


@kernel
def _number_part(keys: Any, below: int, slot_key: Any, slot_group: Any, group: Any, size: Any) -> int:
    """The group of each row of a part, by open addressing; ``size``: how many rows each group has."""
    mask = np.uint64(len(slot_group) - 1)
    slot_group[:] = 0
    groups = 0
    for row in range(len(keys)):
        key = keys[row] >> np.uint64(below)
        h = (key ^ (key >> np.uint64(32))) * np.uint64(0xC4CEB9FE1A85EC53)
        slot = (h ^ (h >> np.uint64(29))) & mask
        while slot_group[slot] and slot_key[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if not slot_group[slot]:
            slot_key[slot] = key
            size[groups] = 0
            groups += 1
            slot_group[slot] = groups
        group[row] = slot_group[slot] - 1
        size[group[row]] += 1
    return groups


@kernel
def _count_part(keys: Any, shift: int, group: Any, cells: Any, most: Any, squares: Any, of_value: Any) -> None:
    """The values of each group of a part: rows with the most frequent one, sum of squares; and rows of each value."""
    cells[:] = 0
    mask = np.uint64(cells.shape[1] - 1)
    for row in range(len(keys)):
        cells[group[row], (keys[row] >> np.uint64(shift)) & mask] += 1
    for g in range(cells.shape[0]):
        top, square = np.int64(0), 0.0
        for value in range(len(of_value)):
            held = np.int64(cells[g, value])
            top = max(top, held)
            square += np.float64(held * held)
            of_value[value] += held
        most[g], squares[g] = top, square


def group_tallies(by: Sequence[Coded], counted: Sequence[Coded]) -> GroupTallies:
    """Group the rows that agree on all columns of ``by``, and count in each group the values of each other column.

    The groups are in no particular order. All codes of a row must fit into a number (`fits`).

    >>> found = group_tallies([Coded(np.array([1, 0, 1]), 2)], [Coded(np.array([2, 2, 0]), 3)])
    >>> sorted(found.size.tolist()), found.values[0].of_value.tolist()
    ([1, 2], [1, 0, 2])
    """
    rows = len(by[0].codes)
    parts = 1 << min(_MOST_PARTS.bit_length() - 1, max(1, (rows // _PART).bit_length()))
    below, shift = sum(column.bits for column in counted), 64 - (parts.bit_length() - 1)
    ends = [rows * thread // _THREADS for thread in range(_THREADS + 1)]
    spread = np.empty(rows, np.uint64)

    def packed(thread: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        size = np.zeros(parts, np.int64)
        return _packed([*by, *counted], ends[thread], ends[thread + 1], below, shift, size), size

    with ThreadPoolExecutor(_THREADS) as pool:
        halves = list(pool.map(packed, range(_THREADS)))
        sizes = np.array([size for _, size in halves])
        starts = np.cumsum(np.append(0, sizes.T.ravel()))[:-1].reshape(parts, _THREADS).T.copy()
        firsts = np.append(starts[0], rows)
        list(pool.map(lambda t: _spread(halves[t][0], below, shift, starts[t], spread), range(_THREADS)))
        halves.clear()
        some = [range(parts * t // _THREADS, parts * (t + 1) // _THREADS) for t in range(_THREADS)]
        found = list(pool.map(lambda here: _tallied(spread, firsts, here, below, counted), some))
    return _joined(found, len(counted))


def _packed(
    columns: Sequence[Coded], first: int, last: int, below: int, shift: int, size: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """The codes of each row in one number, and how many rows each part gets: some at a time, to stay in the cache."""
    found = np.zeros(last - first, np.uint64)
    for start in range(first, last, _BLOCK):
        end = min(start + _BLOCK, last)
        keys = found[start - first : end - first]
        for column in columns:
            _pack(keys, column.codes[start:end], column.bits)
        _sizes_of_parts(keys, below, shift, size)
    return found


def _tallied(
    keys: NDArray[np.uint64], firsts: NDArray[np.int64], parts: range, below: int, counted: Sequence[Coded]
) -> list[GroupTallies]:
    """The groups of some parts."""
    longest = int(np.diff(firsts[parts.start : parts.stop + 1]).max(initial=0))
    slots = _slots(longest)
    slot_key, slot_group = np.empty(slots, np.uint64), np.empty(slots, np.int32)
    group, size = np.empty(longest, np.int32), np.empty(longest, np.int64)
    found = []
    for part in parts:
        here = keys[firsts[part] : firsts[part + 1]]
        room = _slots(len(here))
        groups = int(_number_part(here, below, slot_key[:room], slot_group[:room], group, size))
        of_groups, shift, values = size[:groups].copy(), below, []
        for column in counted:
            shift -= column.bits
            values.append(_counted(here, shift, group, of_groups, column))
        found.append(GroupTallies(of_groups, values))
    return found


def _slots(rows: int) -> int:
    """A power of two, so that no more than three of four slots are taken."""
    return 1 << max(4, (rows + rows // 3).bit_length())


def _counted(
    keys: NDArray[np.uint64], shift: int, group: NDArray[np.int32], size: NDArray[np.int64], column: Coded
) -> ValueCounts:
    """The values of one column in the groups of a part."""
    most, squares = np.empty(len(size), np.int64), np.empty(len(size))
    of_value = np.zeros(column.size, np.int64)
    _count_part(keys, shift, group, np.empty((len(size), 1 << column.bits), np.int32), most, squares, of_value)
    return ValueCounts(size, most, squares, of_value)


def _joined(found: Sequence[Sequence[GroupTallies]], columns: int) -> GroupTallies:
    """The groups of all parts."""
    parts = [tallies for some in found for tallies in some]
    size = np.concatenate([tallies.size for tallies in parts])
    values = []
    for column in range(columns):
        of_parts = [tallies.values[column] for tallies in parts]
        most = np.concatenate([of.most for of in of_parts])
        squares = np.concatenate([of.squares for of in of_parts])
        values.append(ValueCounts(size, most, squares, np.sum([of.of_value for of in of_parts], axis=0)))
    return GroupTallies(size, values)


def fits(by: Sequence[Coded], counted: Sequence[Coded]) -> bool:
    """Whether `group_tallies` can count these columns."""
    return sum(column.bits for column in (*by, *counted)) <= _KEY_BITS
