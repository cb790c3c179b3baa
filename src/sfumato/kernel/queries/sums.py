"""Sums over the items that meet the predicates of many queries, on two threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.group import group_rows
from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.queries.bitmap import (
    LINE,
    WIDE_LINE,
    Items,
    Predicates,
    Words,
    draw_bitmaps,
    has,
    make_room,
    ones,
    select,
)

_THREADS = 2
_CACHE = 50_000
SMALL = 64
"""Groups of fewer places are interleaved, 64 per word; larger ones are stored one after the other."""
LANES = 16
"""A block has at most this many words of small groups side by side."""


class Weights(NamedTuple):
    """A weight per item and set of values: the sum of ``times`` over the values that are in ``mask`` and in the set.

    Item ``i`` has the entries ``start[i] .. start[i+1]-1``; ``mask[e]`` is about word ``word[e]`` of the set.
    """

    start: NDArray[np.int64]
    word: NDArray[np.int64]
    times: NDArray[np.int64]
    mask: Words


class Blocks(NamedTuple):
    """Where groups are stored: a block is one large group, or small groups of the same size interleaved.

    Block ``b`` has the words ``at[b] .. at[b+1]-1`` and groups of ``size[b]`` places. Of small groups it has first
    the words with the first place of each, 64 groups per word, at most `LANES` words; then those with the second.
    """

    at: NDArray[np.int64]
    size: NDArray[np.int64]


@kernel
def _count(items: Any, asked: Any, cuts: Any, begin: int, end: int, out: Any) -> None:
    """How many items meet all predicates of each query."""
    widest = np.max(np.diff(cuts))
    room, met = make_room(items, widest), np.empty(widest, np.uint64)
    for part in range(len(cuts) - 1):
        first, last = cuts[part], cuts[part + 1]
        draw_bitmaps(items, first, last, room)
        for q in range(begin, end):
            if not select(items, room, first, last, asked, q, 0, asked.column.shape[1], met):
                continue
            total = 0
            for w in range(last - first):
                total += ones(met[w])
            out[q] += total


@inner
def _digits(words: Any, at: int, size: int, lanes: int, carry: Any, digits: Any, length: int) -> None:
    """Count up many groups at once: bit g of ``digits[j]`` is digit j of how many places of group g are set."""
    for j in range(length):
        for w in range(lanes):
            digits[j, w] = np.uint64(0)
    for k in range(size):
        for w in range(lanes):
            carry[w] = words[at + k * lanes + w]
        for j in range(length):
            for w in range(lanes):
                both = digits[j, w] & carry[w]  # a binary adder per bit: 64 groups count at once
                digits[j, w] ^= carry[w]
                carry[w] = both


@inner
def _products(ours: Any, theirs: Any, lanes: int, length: int) -> int:
    """The sum over groups of the product of two counts, given by their digits."""
    total = 0
    for i in range(length):
        for j in range(length):
            part = 0
            for w in range(lanes):
                part += ones(ours[i, w] & theirs[j, w])
            total += part << (i + j)
    return total


@inner
def _total(words: Any, at: int, number: int) -> int:
    total = 0
    for w in range(at, at + number):
        total += ones(words[w])
    return total


@kernel
def _pair(items: Any, asked: Any, at: Any, size: Any, cuts: Any, begin: int, end: int, out: Any) -> None:
    """For each query, the sum over groups of (meet all but the last) · (meet the last) / size."""
    final = asked.column.shape[1] - 1
    widest = np.max(np.diff(at[cuts]))
    room, met, dealt = make_room(items, widest), np.empty(widest, np.uint64), np.empty(widest, np.uint64)
    ours, theirs, carry = np.empty((6, LANES), np.uint64), np.empty((6, LANES), np.uint64), np.empty(LANES, np.uint64)
    for part in range(len(cuts) - 1):
        first, last = at[cuts[part]], at[cuts[part + 1]]
        draw_bitmaps(items, first, last, room)
        for q in range(begin, end):
            if not select(items, room, first, last, asked, q, 0, final, met):
                continue
            if not select(items, room, first, last, asked, q, final, final + 1, dealt):
                continue
            total = 0.0
            for b in range(cuts[part], cuts[part + 1]):
                start, words, n = at[b] - first, at[b + 1] - at[b], size[b]
                if n < SMALL:
                    lanes, length = words // n, 1
                    while n >> length:
                        length += 1
                    _digits(met, start, n, lanes, carry, ours, length)
                    _digits(dealt, start, n, lanes, carry, theirs, length)
                    total += _products(ours, theirs, lanes, length) / n
                else:
                    total += _total(met, start, words) * _total(dealt, start, words) / n
            out[q] += total


@inner
def _share_of_lines(
    lo: Any, hi: Any, first: int, last: int, below: Any, at: Any, a: int, b: int, shares: Any
) -> None:  # fmt: skip
    """Which share of each label's range a predicate's range holds."""
    for label in range(first, last):
        low, high = lo[label], hi[label]
        start, end = min(max(a, low), high), min(max(b, low), high)
        shares[label] = below[at[label] + end - low] - below[at[label] + start - low] if end > start else 0.0


@inner
def _share_of_lists(
    lo: Any, hi: Any, first: int, last: int, leaves: Any, below: Any, at: Any, words: Any, start: int, shares: Any
) -> None:  # fmt: skip
    """Which share of each label's values a predicate's set holds."""
    for label in range(first, last):
        inside = 0.0
        for k in range(hi[label] - lo[label]):
            if has(words, start, leaves[lo[label] + k]):
                inside += below[at[label] + k + 1] - below[at[label] + k]
        shares[label] = inside


@inner
def _fill_shares(
    lo: Any, hi: Any, leaves: Any, kind: Any, bounds: Any, below: Any, at: Any, column: Any, a: Any, b: Any, words: Any,
    q: int, shares: Any,
) -> None:  # fmt: skip
    """Which share of each label of the columns asked the predicates of a query hold."""
    for j in range(column.shape[1] - 1):
        c = column[q, j]
        first, last = bounds[c], bounds[c + 1]
        if kind[c] == LINE or kind[c] == WIDE_LINE:
            _share_of_lines(lo, hi, first, last, below, at, a[q, j], b[q, j], shares)
        else:
            _share_of_lists(lo, hi, first, last, leaves, below, at, words, a[q, j], shares)


@inner
def _sum(
    labels: Any, shares: Any, start: Any, word: Any, times: Any, mask: Any, column: Any, chosen: Any, q: int,
    met: Any, first: int, last: int,
) -> float:  # fmt: skip
    """The sum over the items met of weight · shares."""
    total = 0.0
    asks = column.shape[1] - 1
    for w in range(last - first):
        left = met[w]
        while left != np.uint64(0):
            item = 64 * (first + w) + ones(~left & (left - np.uint64(1)))
            left &= left - np.uint64(1)
            weight = 0
            for e in range(start[item], start[item + 1]):
                weight += times[e] * ones(mask[e] & chosen[q, word[e]])
            product = np.float64(weight)
            for j in range(asks):
                product *= shares[labels[column[q, j], item]]
            total += product
    return total


@kernel
def _spread(
    items: Any, bounds: Any, below: Any, at: Any, weights: Any, asked: Any, chosen: Any, cuts: Any,
    begin: int, end: int, out: Any,
) -> None:  # fmt: skip
    """For each query, the sum over items of weight · the shares of its labels that the predicates hold."""
    labels, lo, hi, leaves, kind, _, _ = items
    start, word, times, mask = weights
    column, a, b, words = asked
    final = column.shape[1] - 1
    widest = np.max(np.diff(cuts))
    room, met = make_room(items, widest), np.empty(widest, np.uint64)
    shares = np.empty(bounds[-1])
    for part in range(len(cuts) - 1):
        first, last = cuts[part], cuts[part + 1]
        draw_bitmaps(items, first, last, room)
        for q in range(begin, end):
            if not select(items, room, first, last, asked, q, 0, final, met):
                continue
            _fill_shares(lo, hi, leaves, kind, bounds, below, at, column, a, b, words, q, shares)
            out[q] += _sum(labels, shares, start, word, times, mask, column, chosen, q, met, first, last)


@inner
def _by_cells(counts: Any, weight: Any, met: Any, number: int, wanted: Any, q: int, sums: Any) -> float:
    """The cells met added up value by value, then the values wanted."""
    values = counts.shape[1]
    for v in range(values):
        sums[v] = 0.0
    for i in range(number):
        t = met[i]
        w = weight[t]
        for v in range(values):
            sums[v] += w * counts[t, v]
    total = 0.0
    for v in range(values):
        if has(wanted[q], 0, v):
            total += sums[v]
    return total


@inner
def _by_values(turned: Any, weight: Any, wanted: Any, q: int, number: int, sums: Any) -> float:
    """The values wanted added up cell by cell, or those not wanted if they are fewer, then the cells."""
    values, cells = turned.shape[0] - 1, turned.shape[1]
    most = 2 * number > values
    for t in range(cells):
        sums[t] = turned[values, t] if most else 0.0
    sign = -1.0 if most else 1.0
    for v in range(values):
        if has(wanted[q], 0, v) != most:
            for t in range(cells):
                sums[t] += sign * turned[v, t]
    total = 0.0
    for t in range(cells):
        total += weight[t] * sums[t]
    return total


@kernel
def _spread_cells(
    labels: Any, items: Any, bounds: Any, below: Any, at: Any, counts: Any, turned: Any, asked: Any, chosen: Any,
    queries: Any, out: Any,
) -> None:  # fmt: skip
    """The same over cells that show the same labels on the columns asked; ``counts[t, v]``: how often t has value v.

    ``turned`` is the same with values first, and at last their sum.
    """
    _, lo, hi, leaves, kind, _, _ = items
    column, a, b, words = asked
    cells, values = counts.shape
    asks = column.shape[1] - 1
    shares, weight, met = np.empty(bounds[-1]), np.empty(cells), np.empty(cells, np.int64)
    sums = np.empty(max(cells, values))
    for q in queries:
        _fill_shares(lo, hi, leaves, kind, bounds, below, at, column, a, b, words, q, shares)
        for t in range(cells):
            weight[t] = shares[labels[0, t]]
        for j in range(1, asks):
            for t in range(cells):
                weight[t] *= shares[labels[j, t]]
        number = 0
        for t in range(cells):
            met[number] = t
            number += weight[t] != 0.0
        wanted = 0
        for v in range(values):
            wanted += has(chosen[q], 0, v)
        if number * values <= 2 * min(wanted, values - wanted) * cells:
            out[q] = _by_cells(counts, weight, met, number, chosen, q, sums)
        else:
            out[q] = _by_values(turned, weight, chosen, q, wanted, sums)


def _step(items: Items) -> int:
    """How many words of all bitmaps fit in the cache of a core."""
    return int(np.clip(_CACHE // max(int(items.base[-1]), 1), 32, 1024))


def _cuts(items: Items) -> NDArray[np.int64]:
    words = items.labels.shape[1] // 64
    return np.append(np.arange(0, words, _step(items)), words)


def _halved(queries: int, work: Callable[[int, int], None]) -> None:
    """Do the work on the queries, one part of them per thread."""
    ends = np.linspace(0, queries, _THREADS + 1).astype(int).tolist()
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(work, ends[:-1], ends[1:]))


def count(items: Items, asked: Predicates) -> NDArray[np.int64]:
    """How many items meet all predicates of each query."""
    out = np.zeros(len(asked.column), np.int64)
    cuts = _cuts(items)
    _halved(len(out), lambda a, b: _count(items, asked, cuts, a, b, out))
    return out


def pair(items: Items, asked: Predicates, blocks: Blocks) -> NDArray[np.float64]:
    """For each query, the sum over groups of (meet all predicates but the last) · (meet the last) / size."""
    out = np.zeros(len(asked.column))
    cuts = np.append(np.unique(blocks.at[:-1] // _step(items), return_index=True)[1], len(blocks.size))
    _halved(len(out), lambda a, b: _pair(items, asked, blocks.at, blocks.size, cuts, a, b, out))
    return out


class LabelShares(NamedTuple):
    """How the rows of each label are spread over its values: up to its k-th value ``below[at[label] + k]`` of them."""

    below: NDArray[np.float64]
    at: NDArray[np.int64]


def spread(
    items: Items, bounds: NDArray[np.int64], shares: LabelShares, weights: Weights, asked: Predicates, chosen: Words
) -> NDArray[np.float64]:
    """For each query, the sum over items of weight · the shares of its labels that all predicates but the last hold.

    Column ``c`` has the labels ``bounds[c] .. bounds[c+1]-1``; ``chosen[q]`` is the set that the last predicate wants.
    """
    out = np.zeros(len(asked.column))
    cuts = _cuts(items)
    below, at = shares
    _halved(len(out), lambda a, b: _spread(items, bounds, below, at, weights, asked, chosen, cuts, a, b, out))
    return out


class ItemValues(NamedTuple):
    """How often items have values: person ``r`` is one of item ``item[r]`` and has a share of each value of the group
    g = ``group[r]``, which are ``value[e]``, ``number[e]`` times, for e from ``start[g]`` up to ``start[g + 1]``."""

    item: NDArray[np.int64]
    group: NDArray[np.int64]
    start: NDArray[np.int64]
    value: NDArray[np.int64]
    number: NDArray[np.float64]
    values: int


@kernel
def _tally(looks: Any, item: Any, group: Any, start: Any, value: Any, number: Any, table: Any) -> None:
    """How often each cell has each value."""
    for r in range(len(item)):
        cell, g = looks[item[r]], group[r]
        for e in range(start[g], start[g + 1]):
            table[cell, value[e]] += number[e]


def spread_cells(
    items: Items, number: int, bounds: NDArray[np.int64], shares: LabelShares, counted: ItemValues, asked: Predicates,
    chosen: Words,
) -> NDArray[np.float64]:  # fmt: skip
    """What `spread` gives, by first adding up the first ``number`` items that look alike to a query.

    Queries about the same columns share the cells. It needs memory for two counts per cell and value.
    """
    out = np.zeros(len(asked.column))
    labels = items.labels[:, :number]
    asks = asked.column[:, :-1]
    subsets = group_rows([asks[:, j] for j in range(asks.shape[1])], [len(bounds)] * asks.shape[1])

    def work(subset: int) -> None:
        columns = asks[subsets.first[subset]]
        looks = group_rows([labels[c] - bounds[c] for c in columns], [int(bounds[c + 1] - bounds[c]) for c in columns])
        cells = len(looks.first)
        table = np.zeros((cells, counted.values))
        _tally(looks.of_row, *counted[:-1], table)
        turned = np.concatenate([table.T, table.sum(axis=1)[None, :]])
        queries = np.flatnonzero(subsets.of_row == subset)
        shown = labels[columns][:, looks.first]
        _spread_cells(shown, items, bounds, *shares, table, turned, asked, chosen, queries, out)

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(work, range(len(subsets.first))))
    return out
