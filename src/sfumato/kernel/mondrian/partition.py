"""Strict and relaxed recursive partitioning of coded rows, in place, on two threads.

Rows are kept row by row in 64-bit words and are moved physically, so that a group is always a
contiguous range of memory.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.axes import KIND, LINE, SETS, Space, cover, has_only_leaves, line_width, tree_ends, tree_width
from sfumato.kernel.jit import inner, kernel, lean
from sfumato.kernel.judge import Tests, costly_tests
from sfumato.kernel.mondrian.children import GO_ON, SKIP, deal, is_cut_by_child, split_off
from sfumato.kernel.mondrian.cut import (
    PART_FIRST,
    Scratch,
    best_cut,
    clear_counts,
    load_counts,
    look_ahead,
    make_scratch,
    relaxed_cut,
)
from sfumato.kernel.mondrian.saving import most_saving_cut

THREADS = 2
PIECES = 24
SMALL = 20_000


class GroupOrder(NamedTuple):
    """Rows in group order: the original row at each place, and where each group starts."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    rows: NDArray[Any]


WIDTH, FIRST, LAST, LEFT = range(4)
"""Rows of the measures of a group, with one column per axis: width, first and last code, width still to be tried."""


@lean
def measure(space: Any, rows: Any, start: int, end: int, flat: Any, measures: Any, bits: Any) -> Any:
    """The width and ends of each axis; axes in ``flat`` are known to hold one code. Returns the new ``flat``."""
    one = np.uint64(1)
    for j in range(len(space.axes)):
        measures[WIDTH, j] = 0.0
        # an axis that is flat in a group is flat in all its parts
        if j < 64 and flat >> np.uint64(j) & one:
            continue
        if space.axes[j, KIND] == LINE:
            width, lo, hi = line_width(space, j, rows, start, end)
        else:
            lo, hi, node = tree_ends(space, rows, start, end, j, bits)
            width = tree_width(space, j, bits, lo, hi, node)
        if lo < hi:
            measures[WIDTH, j], measures[FIRST, j], measures[LAST, j] = width, lo, hi
        elif j < 64:
            flat |= one << np.uint64(j)
    return flat


@lean
def take_greatest(measures: Any) -> int:
    """Take the axis of the greatest score that is left, the first of several; -1 when all are taken."""
    best, at = 0.0, -1
    for j in range(measures.shape[1]):
        if measures[LEFT, j] > best:
            best, at = measures[LEFT, j], j
    if at >= 0:
        measures[LEFT, at] = 0.0
    return at


@lean
def without_cuts(space: Any, best: Any, flat: Any) -> Any:
    """``flat`` and the axes on which no part of a group can be cut by size, since the group cannot.

    A cut that splits a set of children off is not among those of a group below several nodes, but may be of its parts.
    """
    for j in range(len(space.axes)):
        if j < 64 and best[0, j] < 0 and (space.axes[j, KIND] == LINE or not space.axes[j, SETS]):
            flat |= np.uint64(1) << np.uint64(j)
    return flat


@lean
def _only_values_left(space: Any, measures: Any, flat: Any, j: int) -> bool:
    """Whether no axis but ``j`` has a cut, now or later, and there all that can be cut off are single values.

    Then the cuts that save most are these values, the heaviest first, and all of them can be split off at once.
    """
    for other in range(len(space.axes)):
        if other != j and measures[WIDTH, other] > 0.0 and (other >= 64 or not flat >> np.uint64(other) & np.uint64(1)):
            return False
    lo, hi = np.int64(measures[FIRST, j]), np.int64(measures[LAST, j])
    return is_cut_by_child(space, j, lo, hi) and has_only_leaves(space, j, cover(space, j, lo, hi))


@lean
def _median_cut(
    space: Any, rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, least: int,
    need: int, total: int, start: int, end: int, hint: int, measures: Any, scratch: Any,
) -> Any:  # fmt: skip
    """The cut on the widest axis that has one: (parts, the axis that tells them by code, a hint, the axis, a, b).

    One part has the codes ``[a, b)``; then no axis tells it by code.
    """
    for j in range(measures.shape[1]):
        measures[LEFT, j] = measures[WIDTH, j]
    if hint != 0:  # the axis that goes first counts as infinitely wide, the one that is left out as flat
        measures[LEFT, abs(hint) - 1] = np.inf if hint < 0 else 0.0
    again, hint = -hint - 1, 0
    parts, by_code, j, a, b = np.int64(0), -1, 0, np.int64(0), np.int64(0)
    while parts == 0:
        j = take_greatest(measures)
        if j < 0:
            break
        lo, hi = np.int64(measures[FIRST, j]), np.int64(measures[LAST, j])
        if is_cut_by_child(space, j, lo, hi):
            parts, known, a, b = split_off(
                space, rows, weights, counted, sizes, spec, aux, costly, least, need, total, j == again, start, end, j,
                lo, hi, scratch,
            )  # fmt: skip
            hint = -j - 1 if known == GO_ON else (j + 1 if known == SKIP else 0)
        else:
            found, a, b = best_cut(
                space, rows, weights, counted, sizes, spec, aux, costly, need, total, start, end, j, lo, hi, scratch
            )
            parts, hint = np.int64(found), 0
        by_code = -1 if parts == 1 else j
    return parts, by_code, hint, j, a, b


@lean
def _saving_cut(
    space: Any, rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, need: int,
    total: int, start: int, end: int, measures: Any, best: Any, scratch: Any,
) -> Any:  # fmt: skip
    """The cut of all axes that saves most, told as `_median_cut` does."""
    found, j, a, b = most_saving_cut(
        space, rows, weights, counted, sizes, spec, aux, costly, need, total, start, end, measures, best, scratch
    )
    return np.int64(found), -1, 0, j, a, b


@lean
def _find_cut(
    space: Any, rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, least: int,
    saving: Any, relaxed: Any, start: int, end: int, flat: Any, hint: int, measures: Any, best: Any, flags: Any,
    scratch: Any,
) -> Any:  # fmt: skip
    """Find the parts to split off: (axes known to be flat, how many parts, the axis that tells them by code, a hint).

    The axis is -1 if the rows of the one part are flagged. The hint says by which axis the rest is cut first
    (-1 for the first axis, -2 for the second, and so on), or which is left out (1, 2, and so on); 0 says nothing.
    """
    total = np.int64(0)
    for i in range(start, end):
        total += weights[i]
    if total < 2 * least:
        return flat, 0, -1, 0
    need = least
    if spec is not None:
        load_counts(weights, counted, start, end, scratch)
        need = max(least, look_ahead(sizes, spec, scratch))
        if total < 2 * need:
            clear_counts(counted, start, end, scratch)
            return flat, 0, -1, 0
    flat = measure(space, rows, start, end, flat, measures, scratch.bits)
    if saving is not None:  # not compiled for cuts at the median
        parts, by_code, hint, j, a, b = _saving_cut(
            space, rows, weights, counted, sizes, spec, aux, costly, need, total, start, end, measures, best, scratch
        )
        if spec is None and relaxed is None:
            flat = without_cuts(space, best, flat)
            if parts == 1 and _only_values_left(space, measures, flat, j):
                lo, hi = np.int64(measures[FIRST, j]), np.int64(measures[LAST, j])
                parts, _, a, b = split_off(
                    space, rows, weights, counted, sizes, spec, aux, costly, least, need, total, True, start, end, j,
                    lo, hi, scratch,
                )  # fmt: skip
                by_code = -1 if parts == 1 else j
    else:
        parts, by_code, hint, j, a, b = _median_cut(
            space, rows, weights, counted, sizes, spec, aux, costly, least, need, total, start, end, hint, measures,
            scratch,
        )  # fmt: skip
    if parts == 1:
        flag_range(rows, start, end, j, a, b, flags)
    if relaxed is not None and parts == 0:  # not compiled for strict cuts
        by_code, hint = -1, 0
        parts += relaxed_cut(
            space, rows, weights, counted, sizes, spec, aux, costly, need, start, end, measures, flags, scratch
        )
    if spec is not None:
        clear_counts(counted, start, end, scratch)
    return flat, parts, by_code, hint


@inner
def twice(rows: Any) -> Any:
    """The same rows with twice the room."""
    more = np.zeros((2 * len(rows), rows.shape[1]), np.int64)
    for i in range(len(rows)):
        for c in range(rows.shape[1]):
            more[i, c] = rows[i, c]
    return more


@lean
def divide(words: Any, ids: Any, weights: Any, counted: Any, flags: Any, start: int, end: int, buffer: Any) -> int:
    """Move the flagged rows of ``[start, end)`` to the front, keeping order; returns where the others start."""
    b_words, b_ids, b_weights, b_counted = buffer
    left, right = start, 0
    for i in range(start, end):
        flag = np.int64(flags[i - start])
        # Write each row to both sides and advance one of them: no branch to mispredict.
        for w in range(words.shape[1]):
            word = words[i, w]
            words[left, w] = word
            b_words[right, w] = word
        for c in range(counted.shape[1]):
            code = counted[i, c]
            counted[left, c] = code
            b_counted[right, c] = code
        row, weight = ids[i], weights[i]
        ids[left] = row
        b_ids[right] = row
        weights[left] = weight
        b_weights[right] = weight
        left += flag
        right += 1 - flag
    for i in range(right):
        for w in range(words.shape[1]):
            words[left + i, w] = b_words[i, w]
        for c in range(counted.shape[1]):
            counted[left + i, c] = b_counted[i, c]
        ids[left + i] = b_ids[i]
        weights[left + i] = b_weights[i]
    return left


@lean
def flag_range(rows: Any, start: int, end: int, j: int, a: int, b: int, flags: Any) -> None:
    for i in range(start, end):
        code = np.int64(rows[i, j])
        flags[i - start] = (code >= a) & (code < b)


@kernel
def _split(
    space: Any, rows: Any, words: Any, ids: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any,
    costly: Any, least: int, saving: Any, relaxed: Any, ranges: Any, stop: int, is_start: Any, room: Any,
) -> Any:  # fmt: skip
    """Split ranges of rows until no cut is allowed; those of fewer than ``stop`` rows are handed back.

    ``saving`` and ``relaxed`` are True or None, ``spec`` None if there are no tests, ``costly`` as ``costly_tests``
    says: what is None is not compiled.
    """
    measures, best, flags, buffer, scratch = room
    stack = ranges.copy()
    pending = np.zeros((64, 4), np.int64)
    depth, given_back = len(stack), 0
    while depth > 0:
        depth -= 1
        start, end, flat, hint = stack[depth, 0], stack[depth, 1], np.uint64(stack[depth, 2]), stack[depth, 3]
        if end - start < stop:
            if given_back == len(pending):
                pending = twice(pending)
            pending[given_back, 0], pending[given_back, 1] = start, end
            pending[given_back, 2], pending[given_back, 3] = stack[depth, 2], hint
            given_back += 1
            continue
        flat, parts, by_code, hint = _find_cut(
            space, rows, weights, counted, sizes, spec, aux, costly, least, saving, relaxed, start, end, flat, hint,
            measures, best, flags, scratch,
        )  # fmt: skip
        if parts == 0:
            is_start[start] = 1
            continue
        first = scratch.ints[PART_FIRST]
        if by_code < 0:
            first[0], first[2] = start, end
            first[1] = divide(words, ids, weights, counted, flags, start, end, buffer)
        else:
            lo = np.int64(measures[FIRST, by_code])
            deal(rows, words, ids, weights, counted, start, end, by_code, lo, parts, buffer, scratch)
        while depth + parts + 1 > len(stack):
            stack = twice(stack)
        for part in range(parts + 1):
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = first[part], first[part + 1], np.int64(flat)
            stack[depth, 3] = hint if part == parts else 0  # the hint is about the rest, which is the last part
            depth += 1
    return pending[:given_back]


def partition(
    space: Space,
    codes: list[NDArray[Any]],
    *,
    weights: NDArray[np.int64] | None = None,
    counted: list[NDArray[Any]] | None = None,
    sizes: list[int] | None = None,
    tests: Tests,
    least: int,
    saving: bool = False,
    relaxed: bool = False,
    progress: Callable[[int, int], None] = lambda done, rows: None,
) -> GroupOrder:
    """Partition rows until no axis has an allowed cut, widest axis first.

    A cut is allowed if both sides weigh at least ``least`` and pass all ``tests`` on the
    ``counted`` columns. On a line a cut is the allowed boundary nearest to the median; in a tree it
    separates one child, or the first few children, of the covering node from the others. If no set of
    its children can be shown, all children that can be are split off, the heaviest first. ``relaxed``
    also divides equal codes if no strict cut is left. ``progress`` is called with the weight that is done, and the
    total.
    """
    n = len(codes[0])
    rows, words = pack_rows(codes)
    ids = np.arange(n, dtype=np.int64)
    w = np.ones(n, np.int64) if weights is None else weights.astype(np.int64, copy=True)
    c = np.empty((n, len(counted or ())), np.int32)
    for i, column in enumerate(counted or ()):
        c[:, i] = column
    is_start = np.zeros(n, np.uint8)
    values = np.array(sizes or [1], np.int64)

    def split(ranges: NDArray[np.int64], stop: int) -> NDArray[np.int64]:
        longest = int((ranges[:, 1] - ranges[:, 0]).max(initial=0))
        pending: NDArray[np.int64] = _split(
            space, rows, words, ids, w, c, values, tests.spec if len(tests.spec) else None, tests.aux,
            costly_tests(tests, int(values.max())), max(least, 1),
            saving or None, relaxed or None, ranges, stop, is_start,
            make_room(space, longest, words, c, values, deep=saving),
        )  # fmt: skip
        return pending

    least_rows = max(n // PIECES, SMALL)
    # one cut first, so that both threads have something to do
    pending = split(np.array([[0, n, 0, 0]], np.int64), n if n > SMALL else least_rows)
    before = np.append(0, np.cumsum(w))  # at the ends of the pending ranges, whatever becomes of the rows inside
    everything = int(before[-1])
    with ThreadPoolExecutor(THREADS) as pool:
        # a cut may leave two ranges, or one for each of ten thousand values
        halves = pool.map(lambda some: split(some, least_rows), batches(pending, least_rows))
        pending = np.concatenate([pending[:0], *halves])
        done = everything - _weight(pending, before)
        pieces = batches(pending, max(n // PIECES, 1))
        for piece, _ in zip(pieces, pool.map(lambda p: split(p, 0), pieces), strict=True):
            done += _weight(piece, before)
            progress(done, everything)
    return GroupOrder(ids, np.flatnonzero(is_start), rows)


def _weight(ranges: NDArray[np.int64], before: NDArray[np.int64]) -> int:
    """What the rows of some ranges weigh together, given what all rows before each of them weigh."""
    return int((before[ranges[:, 1]] - before[ranges[:, 0]]).sum())


def batches(ranges: NDArray[np.int64], rows: int) -> list[NDArray[np.int64]]:
    """Ranges together that have about so many rows, the longest first: many short ones are worth one call."""
    length = ranges[:, 1] - ranges[:, 0]
    order = np.argsort(-length, kind="stable")
    batch = (np.cumsum(length[order]) - 1) // rows
    return np.split(ranges[order], np.flatnonzero(np.diff(batch)) + 1) if len(ranges) else []


class CutRoom(NamedTuple):
    """Working memory of one call: measures and best cuts of a group, flags of its rows, room to move them, for cuts."""

    measures: NDArray[np.float64]
    best: NDArray[np.int64]
    flags: NDArray[np.uint8]
    buffer: tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]
    scratch: Scratch


def make_room(
    space: Space,
    n: int,
    words: NDArray[np.uint64],
    counted: NDArray[np.int32],
    sizes: NDArray[np.int64],
    *,
    deep: bool = False,
) -> CutRoom:
    """Working memory for up to ``n`` rows; one row more, since rows are written before it is known where they stay."""
    buffer = (
        np.empty((n + 1, words.shape[1]), np.uint64),
        np.empty(n + 1, np.int64),
        np.empty(n + 1, np.int64),
        np.empty((n + 1, counted.shape[1]), np.int32),
    )
    axes, scratch = len(space.axes), make_scratch(space, n, sizes, deep=deep)
    return CutRoom(np.zeros((4, axes)), np.zeros((3, axes), np.int64), np.empty(n + 1, np.uint8), buffer, scratch)


def pack_rows(codes: list[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.uint64]]:
    """The columns side by side, each row padded to whole 64-bit words: as codes, and as words."""
    dtype = np.result_type(*codes, np.uint16)  # one for nearly all tables, since each is compiled by itself
    per_word = 8 // dtype.itemsize
    width = -(-len(codes) // per_word) * per_word
    rows = np.empty((len(codes[0]), width), dtype)
    for j, column in enumerate(codes):
        rows[:, j] = column
    rows[:, len(codes) :] = 0
    return rows, rows.view(np.uint64)
