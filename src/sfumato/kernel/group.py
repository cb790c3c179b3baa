"""Group equal rows of integer columns by hashing: one pass, no sort."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import kernel
from sfumato.kernel.secret_factor import SECRET_FACTOR

_KEY_LIMIT = 1 << 63
_LARGE = 1 << 31
_BLOCK = 1 << 15
MANY = 1 << 19
"""NumPy counts fewer rows sooner than a compiled kernel is loaded; it counts more of them in twice the time."""


class EqualRows(NamedTuple):
    """The groups of equal rows: the group of each row, one row of each group, and how many rows it has."""

    of_row: NDArray[np.int64]
    first: NDArray[np.int64]
    size: NDArray[np.int64]


@kernel
def _group_keys(keys: Any, factor: Any, slot_key: Any, slot_group: Any, of_row: Any, first: Any, size: Any) -> int:
    """Number the distinct keys in the order of their first row (open addressing, linear probing).

    ``slot_group`` is the group plus one, 0 if a slot is free. The key is stored in the slot too: looking it up by
    the group would take two more reads from uncached memory.
    """
    mask = np.uint64(len(slot_group) - 1)
    groups = 0
    for row in range(len(keys)):
        key = keys[row]
        h = key * factor
        h ^= h >> np.uint64(33)  # the end of MurmurHash3's finalizer: every bit moves every bit of h
        h *= np.uint64(0xC4CEB9FE1A85EC53)
        h ^= h >> np.uint64(33)
        slot = h & mask
        while True:
            group = slot_group[slot] - 1
            if group < 0:
                slot_key[slot] = key
                slot_group[slot] = groups + 1
                first[groups] = row
                size[groups] = 1
                of_row[row] = groups
                groups += 1
                break
            if slot_key[slot] == key:
                size[group] += 1
                of_row[row] = group
                break
            slot = (slot + np.uint64(1)) & mask
    return groups


@kernel
def _group_direct(keys: Any, group_of: Any, of_row: Any, first: Any, size: Any) -> int:
    """The same where keys are small enough to be places of a table, which begins with zeros."""
    groups = 0
    for row in range(len(keys)):
        group = group_of[keys[row]] - 1
        if group < 0:
            group = groups
            groups += 1
            group_of[keys[row]] = groups
            first[group], size[group] = row, 0
        size[group] += 1
        of_row[row] = group
    return groups


def _group(keys: NDArray[np.uint64], span: int = _KEY_LIMIT) -> EqualRows:
    """Group equal keys, all of them below ``span``."""
    of_row = np.empty(len(keys), dtype=np.int64)
    first = np.empty(len(keys), dtype=np.int64)
    size = np.empty(len(keys), dtype=np.int64)
    if span <= 2 * len(keys):
        count = _group_direct(keys, _zeros(span), of_row, first, size)
        return EqualRows(of_row, first[:count].copy(), size[:count].copy())
    slots = 1 << max(4, (2 * len(keys) - 1).bit_length())  # a power of two, at most half full
    count = _group_keys(keys, SECRET_FACTOR, np.empty(slots, np.uint64), _zeros(slots), of_row, first, size)
    return EqualRows(of_row, first[:count].copy(), size[:count].copy())


def _zeros(size: int) -> NDArray[np.int32]:
    """Zeros that are written now. Pages that are read before they are written cost two faults each, not one, and the
    second interrupts the other cores."""
    found = np.empty(size, np.int32)
    found[:] = 0
    return found


def group_rows(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> EqualRows:
    """Group the rows that agree on all columns; column ``j`` holds codes in ``0 .. sizes[j]-1``.

    The codes are packed into one 64-bit key; where they do not fit, what is packed so far is
    replaced by its group number, so any number of columns of any size works.

    >>> g = group_rows([np.array([1, 0, 1]), np.array([2, 2, 2])], [2, 3])
    >>> g.of_row.tolist(), g.first.tolist(), g.size.tolist()
    ([0, 1, 0], [0, 1], [2, 1])
    """
    packed: list[NDArray[Any]] = []
    spans: list[int] = []
    for given, given_size in zip(columns, sizes, strict=True):
        column, size = given, max(given_size, 1)
        if size > _LARGE:
            dense = _group(column.astype(np.uint64))
            column, size = dense.of_row, max(len(dense.first), 1)
        if math.prod(spans) * size >= _KEY_LIMIT:
            groups = _group(_keys(packed, spans))
            packed, spans = [groups.of_row], [len(groups.first)]
        packed.append(column)
        spans.append(size)
    return _group(_keys(packed, spans), math.prod(spans))


def load_first_kernel() -> None:
    """Load a kernel that every job needs, and with the first one whatever Numba prepares only then: 40 ms."""
    group_rows([np.zeros(1, np.uint8)], [_LARGE])


def _keys(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> NDArray[np.uint64]:
    """The codes of each row in one number; some rows at a time, so that they stay in the cache."""
    found = np.empty(len(columns[0]), np.uint64)
    for start in range(0, len(found), _BLOCK):
        key = found[start : start + _BLOCK]
        key[:] = 0
        for column, size in zip(columns, sizes, strict=True):
            key *= np.uint64(size)
            key += column[start : start + _BLOCK].astype(np.uint64)
    return found


@kernel
def _tally(keys: Any, out: Any) -> None:
    for row in range(len(keys)):
        out[keys[row]] += 1


def code_counts(codes: NDArray[Any], size: int) -> NDArray[np.int64]:
    """How many rows have each code in ``0 .. size-1``.

    >>> code_counts(np.array([1, 0, 1], np.uint8), 3).tolist()
    [1, 2, 0]
    """
    if len(codes) < MANY:
        return np.bincount(codes, minlength=size)
    found = np.zeros(size, np.int64)
    _tally(codes, found)
    return found


def packed_counts(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """How many rows have each combination of codes, those without rows too, in row-major order; fewer than 2^32.

    >>> packed_counts([np.array([1, 0, 1]), np.array([2, 2, 2])], [2, 3]).tolist()
    [0, 0, 1, 0, 0, 2]
    """
    span, rows = int(np.prod(sizes, dtype=np.int64)), len(columns[0])

    def counted(first: int, last: int) -> NDArray[np.int64]:
        found = np.zeros(span, np.int64)
        for start in range(first, last, _BLOCK):
            key = np.zeros(min(_BLOCK, last - start), np.uint32)
            for column, size in zip(columns, sizes, strict=True):
                key *= np.uint32(size)
                np.add(key, column[start : start + len(key)], out=key, casting="unsafe")
            _tally(key, found)
        return found

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(counted, (0, rows // 2), (rows // 2, rows))
    return np.asarray(one + other)
