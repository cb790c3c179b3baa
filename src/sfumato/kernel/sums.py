"""Sums over the items that meet the predicates of many queries, on two threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.bitmap import LINE, WIDE_LINE, Items, Predicates, Words, draw_bitmaps, has, make_room, ones, select
from sfumato.kernel.jit import inner, kernel

_THREADS = 2
_FEW_WORDS = 64
_MANY_WORDS = 1024
SMALL = 64
"""Groups of fewer places lie side by side, 64 in a word; larger ones one after the other."""
LANES = 16
"""A block has at most this many words of small groups side by side."""


class Weights(NamedTuple):
    """A weight an item and set of values: the sum of ``times`` over the values that are in ``mask`` and in the set.

    Item ``i`` has the entries ``start[i] .. start[i+1]-1``; ``mask[e]`` is about word ``word[e]`` of the set.
    """

    start: NDArray[np.int64]
    word: NDArray[np.int64]
    times: NDArray[np.int64]
    mask: Words


class Blocks(NamedTuple):
    """Where groups lie: a block is one large group, or small groups of one size side by side.

    Block ``b`` has the words ``at[b] .. at[b+1]-1`` and groups of ``size[b]`` places. Of small groups it has first
    the words with the first place of each, 64 groups a word, at most `LANES` words; then those with the second.
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
                both = digits[j, w] & carry[w]
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
def _share(line: bool, lo: int, hi: int, leaves: Any, a: int, b: int, words: Any) -> float:
    """Which share of a label's values a predicate holds."""
    inside = 0
    if line:
        inside = max(min(hi, b) - max(lo, a), 0)
    else:
        for at in range(lo, hi):
            inside += has(words, a, leaves[at])
    return inside / (hi - lo)


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
    items: Any, bounds: Any, weights: Any, asked: Any, chosen: Any, cuts: Any, begin: int, end: int, out: Any
) -> None:
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
            for j in range(final):
                c = column[q, j]
                line = kind[c] == LINE or kind[c] == WIDE_LINE
                for label in range(bounds[c], bounds[c + 1]):
                    shares[label] = _share(line, lo[label], hi[label], leaves, a[q, j], b[q, j], words)
            out[q] += _sum(labels, shares, start, word, times, mask, column, chosen, q, met, first, last)


def _cuts(words: int, step: int) -> NDArray[np.int64]:
    return np.append(np.arange(0, words, step), words)


def _halved(queries: int, work: Callable[[int, int], None]) -> None:
    """Do the work on the queries, a part of them a thread."""
    ends = np.linspace(0, queries, _THREADS + 1).astype(int).tolist()
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(work, ends[:-1], ends[1:]))


def count(items: Items, asked: Predicates) -> NDArray[np.int64]:
    """How many items meet all predicates of each query."""
    out = np.zeros(len(asked.column), np.int64)
    cuts = _cuts(items.labels.shape[1] // 64, _FEW_WORDS)
    _halved(len(out), lambda a, b: _count(items, asked, cuts, a, b, out))
    return out


def pair(items: Items, asked: Predicates, blocks: Blocks) -> NDArray[np.float64]:
    """For each query, the sum over groups of (meet all predicates but the last) · (meet the last) / size."""
    out = np.zeros(len(asked.column))
    cuts = np.append(np.unique(blocks.at[:-1] // _FEW_WORDS, return_index=True)[1], len(blocks.size))
    _halved(len(out), lambda a, b: _pair(items, asked, blocks.at, blocks.size, cuts, a, b, out))
    return out


def spread(
    items: Items, bounds: NDArray[np.int64], weights: Weights, asked: Predicates, chosen: Words
) -> NDArray[np.float64]:
    """For each query, the sum over items of weight · the shares of its labels that all predicates but the last hold.

    Column ``c`` has the labels ``bounds[c] .. bounds[c+1]-1``; ``chosen[q]`` is the set that the last predicate wants.
    """
    out = np.zeros(len(asked.column))
    cuts = _cuts(items.labels.shape[1] // 64, _MANY_WORDS)
    _halved(len(out), lambda a, b: _spread(items, bounds, weights, asked, chosen, cuts, a, b, out))
    return out
