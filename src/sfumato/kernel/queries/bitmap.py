"""Bitmaps: one bit per item for each value of a column, built for a range of items that fits in the cache.

An item shows one label per column. On a line a label is a range ``[lo, hi)`` of values; otherwise a list of values,
``leaves[lo:hi]``. A predicate is a range of values on a line, otherwise a bit set. An item meets a predicate if
its label has a value in it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel

LINE, LIST, WIDE_LINE, WIDE_LIST = range(4)
"""How a column is looked up: by the bitmaps of its values or, if there are too many, item by item."""

_MOST_ON_LINE = 1024
_MOST_LISTED = 256

Words = NDArray[np.uint64]


class Items(NamedTuple):
    """Items in places, 64 per word: the label of each on each column, -1 if a place is empty.

    Labels are numbered across all columns; column ``c`` has the values ``0 .. size[c]-1``. Its bitmaps start at
    row ``base[c]`` of ``base[-1]`` rows.
    """

    labels: NDArray[np.int32]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    leaves: NDArray[np.int32]
    kind: NDArray[np.int64]
    size: NDArray[np.int64]
    base: NDArray[np.int64]


class Predicates(NamedTuple):
    """One row per query, one column per predicate: its column and its range or, in ``lo``, where its bit set starts."""

    column: NDArray[np.int32]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    words: Words


def make_items(
    labels: NDArray[np.int32],
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    leaves: NDArray[np.int32],
    on_line: list[bool],
    size: list[int],
) -> Items:
    """Items with the layout of their bitmaps: a line has two per value, a list of values one per value."""
    kinds, rows = [], [0]
    for line, values in zip(on_line, size, strict=True):
        wide = values > (_MOST_ON_LINE if line else _MOST_LISTED)
        kinds.append((WIDE_LINE if wide else LINE) if line else (WIDE_LIST if wide else LIST))
        rows.append(rows[-1] + (0 if wide else 2 * (values + 1) if line else values))
    return Items(labels, lo, hi, leaves, np.array(kinds), np.array(size), np.array(rows))


@inner
def ones(word: Any) -> int:
    """How many bits of a word are set."""
    # Sums in fields of 2, 4 and 8 bits, all at once; the product adds up the bytes in the highest one.
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def has(words: Any, start: int, value: int) -> bool:
    """Whether a value is in the bit set that starts at a word."""
    return (words[start + (value >> 6)] >> np.uint64(value & 63)) & np.uint64(1) != np.uint64(0)


class BitmapRoom(NamedTuple):
    """Work space for the bitmaps of a range of words, which of them have a bit set, and for their unions."""

    maps: Words
    present: Words
    rows: NDArray[np.int64]
    union: Words


@inner
def make_room(items: Any, words: int) -> Any:
    """Room for so many words."""
    rows = items.base[-1]
    return BitmapRoom(
        np.empty((rows, words), np.uint64),
        np.empty(rows, np.uint64),
        np.empty(rows + 1, np.int64),
        np.empty(words, np.uint64),
    )


@inner
def draw_bitmaps(items: Any, begin: int, end: int, room: Any) -> None:
    """The bitmaps of the words ``[begin, end)``: on a line {lo < v} and {hi <= v} for each v, else {has v}."""
    maps = room.maps
    for row in range(items.base[-1]):
        room.present[row] = np.uint64(0)
        for w in range(end - begin):
            maps[row, w] = np.uint64(0)
    for c in range(len(items.kind)):
        kind, base, size = items.kind[c], items.base[c], items.size[c]
        if kind > LIST:
            continue
        for i in range(64 * begin, 64 * end):
            label = items.labels[c, i]
            if label < 0:
                continue
            w, bit = (i >> 6) - begin, np.uint64(1) << np.uint64(i & 63)
            if kind == LINE:
                maps[base + items.lo[label] + 1, w] |= bit
                maps[base + size + 1 + items.hi[label], w] |= bit
            else:
                for at in range(items.lo[label], items.hi[label]):
                    maps[base + items.leaves[at], w] |= bit
                    room.present[base + items.leaves[at]] = np.uint64(1)
        if kind == LINE:
            for v in range(1, size + 1):
                for w in range(end - begin):  # each bitmap holds those of all lower values
                    maps[base + v, w] |= maps[base + v - 1, w]
                    maps[base + size + 1 + v, w] |= maps[base + size + v, w]


@inner
def _meets(items: Any, label: int, kind: int, asked: Any, q: int, j: int) -> bool:
    """Whether one label has a value in a predicate."""
    lo, hi = items.lo[label], items.hi[label]
    if kind == WIDE_LINE:
        return lo < asked.hi[q, j] and hi > asked.lo[q, j]
    found = False
    for at in range(lo, hi):
        found |= has(asked.words, asked.lo[q, j], items.leaves[at])
    return found


@inner
def _test(items: Any, begin: int, count: int, asked: Any, q: int, j: int, out: Any) -> None:
    """Keep the items that meet a predicate, each tested separately."""
    c = asked.column[q, j]
    for w in range(count):
        word = np.uint64(0)
        if out[w] != np.uint64(0):
            for b in range(64):
                label = items.labels[c, 64 * (begin + w) + b]
                if label >= 0 and _meets(items, label, items.kind[c], asked, q, j):
                    word |= np.uint64(1) << np.uint64(b)
        out[w] &= word


@inner
def _keep_range(maps: Any, low: int, high: int, count: int, out: Any) -> None:
    """Keep the items of one bitmap that are not in the other."""
    for w in range(count):
        out[w] &= maps[low, w] & ~maps[high, w]


@inner
def _keep_any(maps: Any, rows: Any, number: int, count: int, union: Any, out: Any) -> None:
    """Keep the items that are in one of some bitmaps, four of these at a time."""
    for w in range(count):
        union[w] = np.uint64(0)
    last = number - 1
    for i in range(0, number, 4):
        a, b, c, d = rows[i], rows[min(i + 1, last)], rows[min(i + 2, last)], rows[min(i + 3, last)]
        for w in range(count):
            union[w] |= (maps[a, w] | maps[b, w]) | (maps[c, w] | maps[d, w])
    for w in range(count):
        out[w] &= union[w]


@inner
def _list(present: Any, base: int, size: int, words: Any, start: int, rows: Any) -> int:
    """Which bitmaps a set of values needs, among those that have a bit set."""
    number = 0
    for v in range(size):
        rows[number] = base + v
        number += np.int64((words[start + (v >> 6)] >> np.uint64(v & 63)) & present[base + v])
    return number


@inner
def select(items: Any, room: Any, begin: int, end: int, asked: Any, q: int, first: int, last: int, out: Any) -> bool:
    """Find the items in the words ``[begin, end)`` that meet the predicates ``[first, last)`` of a query, last first.

    Returns whether there may be any; if not, ``out`` is not to be read.
    """
    maps, present, rows, union = room
    column, low, high, words = asked
    kinds, sizes, bases = items.kind, items.size, items.base
    count = end - begin
    for w in range(count):
        out[w] = ~np.uint64(0)
    for j in range(last - 1, first - 1, -1):
        c = column[q, j]
        kind, size, base = kinds[c], sizes[c], bases[c]
        if kind == LINE:
            _keep_range(maps, base + high[q, j], base + size + 1 + low[q, j], count, out)
        elif kind == LIST:
            number = _list(present, base, size, words, low[q, j], rows)
            if number == 0:
                return False
            _keep_any(maps, rows, number, count, union, out)
        else:
            _test(items, begin, count, asked, q, j, out)
    return True


@kernel
def fill_random(draws: Any, size: int, out: Any) -> None:
    """A random set of ``draws.shape[1]`` values below ``size`` per row, as bits (Floyd's sampling)."""
    for row in range(draws.shape[0]):
        for j in range(draws.shape[1]):
            last = size - draws.shape[1] + j
            value = np.int64(draws[row, j] % np.uint64(last + 1))
            if has(out[row], 0, value):  # taken already: the newest value, which no earlier draw could take
                value = last
            out[row, value >> 6] |= np.uint64(1) << np.uint64(value & 63)


@kernel
def fill_ranges(lo: Any, hi: Any, out: Any) -> None:
    """The values ``[lo, hi)`` of each row, as bits."""
    for row in range(len(lo)):
        for value in range(lo[row], hi[row]):
            out[row, value >> 6] |= np.uint64(1) << np.uint64(value & 63)


def random_sets(draws: Words, size: int) -> Words:
    """Uniformly random sets of values below ``size``, one per row, with as many values as there are draws in a row.

    >>> random_sets(np.array([[0, 0, 0]], dtype=np.uint64), 3).tolist(), random_sets(np.array([[7]], np.uint64), 5)
    ([[7]], array([[4]], dtype=uint64))
    """
    out = np.zeros((len(draws), -(-size // 64)), np.uint64)
    fill_random(draws, size, out)
    return out


def range_sets(lo: NDArray[np.int64], hi: NDArray[np.int64], size: int) -> Words:
    """Ranges of values below ``size`` as sets.

    >>> range_sets(np.array([1]), np.array([3]), 5).tolist()
    [[6]]
    """
    out = np.zeros((len(lo), -(-size // 64)), np.uint64)
    fill_ranges(lo, hi, out)
    return out
