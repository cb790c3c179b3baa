"""Form groups by picking one row each from several buckets of equal values.

All randomness is passed in, as rows in a random order and random numbers for the rows left over: so a caller
can draw it in secret, and a test can enumerate all of it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.arrange import sort_order
from sfumato.kernel.jit import inner, kernel

_MANY = 256
"""From this many buckets on, a heap finds the fullest faster than a scan of all."""


class Buckets(NamedTuple):
    """Rows by group and value. Bucket ``b`` has the rows ``rows[first[b] : first[b + 1]]``, all of ``value[b]``;
    group ``g`` has the buckets ``of_group[g] : of_group[g + 1]``, by ascending value."""

    rows: NDArray[np.int64]
    first: NDArray[np.int64]
    value: NDArray[np.int64]
    of_group: NDArray[np.int64]


def make_buckets(
    group_of_row: NDArray[Any], groups: int, values: NDArray[Any], size: int, order: NDArray[np.int64]
) -> Buckets:
    """Sort rows into buckets, each bucket in the given order."""
    key = group_of_row[order].astype(np.int64) * size + values[order]
    sort = sort_order(key, groups * size)
    key = key[sort]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    of_group = np.searchsorted(key[first] // size, np.arange(groups + 1))
    return Buckets(order[sort], np.append(first, len(key)), key[first] % size, of_group)


@inner
def fullest(left: Any, begin: int, end: int, top: Any) -> None:
    """List the fullest buckets, the first of equals first; at least as many as ``top`` holds have rows."""
    found = 0
    for b in range(begin, end):
        if left[b] == 0 or (found == len(top) and left[b] <= left[top[found - 1]]):
            continue
        at = min(found, len(top) - 1)
        while at > 0 and left[top[at - 1]] < left[b]:
            top[at] = top[at - 1]
            at -= 1
        top[at] = b
        found = min(found + 1, len(top))


@inner
def _fuller(left: Any, a: int, b: int) -> bool:
    """Whether bucket ``a`` goes before ``b``: it has more rows, or as many and is the first of the two."""
    return left[a] > left[b] or (left[a] == left[b] and a < b)


@inner
def _sink(heap: Any, size: int, left: Any, at: int) -> None:
    """Sift the bucket at a place of the heap down until none below it goes before it."""
    b = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _fuller(left, heap[child + 1], heap[child]):
            child += 1
        if _fuller(left, b, heap[child]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = b


@inner
def _rise(heap: Any, left: Any, at: int) -> None:
    """Sift the bucket at a place of the heap up until none above it goes after it."""
    b = heap[at]
    while at > 0 and _fuller(left, b, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = b


@inner
def _heap_top(heap: Any, size: int, left: Any, top: Any) -> int:
    """As ``fullest``, from a heap, and take a row from each; returns how many buckets still have rows."""
    for i in range(len(top)):
        size -= 1
        top[i], heap[0] = heap[0], heap[size]
        _sink(heap, size, left, 0)
    for b in top:
        left[b] -= 1
        if left[b] > 0:
            heap[size] = b
            _rise(heap, left, size)
            size += 1
    return size


@inner
def _scan_top(left: Any, begin: int, end: int, size: int, top: Any) -> int:
    """As ``_heap_top``, by scanning all buckets."""
    fullest(left, begin, end, top)
    for b in top:
        left[b] -= 1
        size -= left[b] == 0
    return size


@inner
def _without(members: Any, start: int, l: int, groups: int, value: int, draw: Any) -> int:
    """A random one of the groups of ``l`` members each that lack a value; -1 if all have it."""
    chosen = np.uint64(0)
    # count the groups that lack it, draw one of them, and go through them again up to that one
    for attempt in range(2):
        lacking = np.uint64(0)
        for g in range(groups):
            has = False
            for m in range(start + g * l, start + (g + 1) * l):
                has |= members[m] == value
            if not has:
                if attempt == 1 and lacking == chosen:
                    return g
                lacking += np.uint64(1)
        if lacking == 0:
            return -1
        chosen = draw % lacking
    return -1


@kernel
def _anatomize(rows: Any, first: Any, value: Any, of_group: Any, l: int, least: int, draws: Any, out: Any) -> int:
    """Anatomy inside every group of at least ``least`` rows; returns how many groups there are then, or -1."""
    left = np.empty(len(value), np.int64)
    top, heap = np.zeros(l, np.int64), np.empty(len(value), np.int64)
    members = np.empty(len(rows), np.int64)  # the value of each row picked, group by group
    groups, used, at = 0, 0, 0
    for g in range(len(of_group) - 1):
        begin, end = of_group[g], of_group[g + 1]
        if first[end] - first[begin] < least:
            for i in range(first[begin], first[end]):
                out[rows[i]] = groups
            groups += 1
            continue
        filled, start, first_group = end - begin, at, groups
        for b in range(begin, end):
            left[b], heap[b - begin] = first[b + 1] - first[b], b
        many = filled > _MANY
        for i in range(filled // 2 - 1 if many else -1, -1, -1):
            _sink(heap, filled, left, i)
        while filled >= l:
            filled = _heap_top(heap, filled, left, top) if many else _scan_top(left, begin, end, filled, top)
            for b in top:
                out[rows[first[b] + left[b]]] = groups
                members[at] = value[b]
                at += 1
            groups += 1
        for b in range(begin, end):
            if left[b] > 0:
                place = -1
                if left[b] == 1:
                    place = _without(members, start, l, groups - first_group, value[b], draws[used])
                    used += 1
                if place < 0:
                    return -1
                out[rows[first[b]]] = first_group + place
    return groups


def anatomize(buckets: Buckets, l: int, least: int, draws: NDArray[np.uint64]) -> tuple[NDArray[np.int64], int]:
    """The group of each row after Anatomy inside every group of at least ``least`` rows.

    While ``l`` buckets have rows, one row of each of the ``l`` fullest makes a group; a row left over
    joins a group drawn from those that lack its value. The rows of a bucket are taken from its end.
    """
    out = np.empty(len(buckets.rows), np.int64)
    groups = _anatomize(*buckets, l, least, draws, out)
    if groups < 0:
        raise ValueError(f"a group has a value with a share above 1/{l}")
    return out, groups


@kernel
def _merge(base: Any, sizes: Any, least: int, out: Any) -> int:
    """Number the merged groups; returns how many there are. A light rest joins the merged group before it."""
    number, first = -1, -1
    weight = np.int64(0)
    for g in range(len(base)):
        if g == 0 or base[g] != base[g - 1]:
            number += 1
            first, weight = number, np.int64(0)
        elif weight >= least:
            number += 1
            weight = np.int64(0)
        out[g] = number
        weight += sizes[g]
        ends = g + 1 == len(base) or base[g + 1] != base[g]
        if ends and weight < least and number > first:
            at = g
            while at >= 0 and out[at] == number:
                out[at] -= 1
                at -= 1
            number -= 1
    return number + 1


def merge(base: NDArray[np.int64], sizes: NDArray[np.int64], least: int) -> tuple[NDArray[np.int64], int]:
    """Merge consecutive groups of the same ascending base until each has at least ``least`` rows, if its base has.

    >>> merge(np.array([0, 0, 0, 0, 0, 1]), np.array([2, 2, 2, 2, 3, 3]), 4)
    (array([0, 0, 1, 1, 1, 2]), 3)
    """
    out = np.empty(len(base), np.int64)
    return out, int(_merge(base, sizes, least, out))
