"""Divide a space of codes into disjoint boxes with enough rows each; find which boxes meet; draw one row per group.

A box is a range of codes ``[lo, hi)`` on each axis. Closed boxes together cover the space, except for parts
without any row; tight boxes reach only as far as their rows.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.axes import CHILD, HI, KIND, LINE, LO, NODE, POSITION, SIZE, Space, cover
from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.mondrian.cut import RUN_CODE, RUN_WEIGHT, Scratch, make_scratch, runs_on
from sfumato.kernel.mondrian.partition import pack_rows, twice

PLAIN, WHOLE_OR_ONE, LAST_APART = range(3)
"""How an axis may be cut: anywhere its line or tree allows; into single codes or not at all; and a line
whose last code stands apart, so that no range holds it together with only some of the others."""

_THREADS = 2
_PIECES = 24
_SMALL = 20_000


class Boxes(NamedTuple):
    """The box of each row, and the boxes' ranges, boxes x axes."""

    of_row: NDArray[np.int64]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]


@inner
def _ends(rows: Any, start: int, end: int, ends: Any) -> None:
    """The first and the last code of each axis in the rows ``[start, end)``."""
    for j in range(ends.shape[1]):
        ends[0, j] = ends[1, j] = np.int64(rows[start, j])
    for i in range(start + 1, end):
        for j in range(ends.shape[1]):
            code = np.int64(rows[i, j])
            ends[0, j] = min(ends[0, j], code)
            ends[1, j] = max(ends[1, j], code)


@inner
def _narrow(space: Any, mode: Any, ends: Any, lo: Any, hi: Any) -> None:
    """On an axis that allows only whole or single ranges, leave out codes without rows that prevent a cut."""
    for j in range(len(mode)):
        size = space.axes[j, SIZE]
        if mode[j] == WHOLE_OR_ONE and ends[0, j] == ends[1, j] and hi[j] - lo[j] < size:
            lo[j], hi[j] = ends[0, j], ends[0, j] + 1
        elif mode[j] == LAST_APART and hi[j] == size and lo[j] < size - 1 and ends[1, j] < size - 1:
            hi[j] = size - 1
        elif mode[j] == LAST_APART and hi[j] == size and ends[0, j] == size - 1:
            lo[j] = size - 1


@inner
def _tighten(space: Any, mode: Any, ends: Any, lo: Any, hi: Any) -> None:
    """Let a box reach only as far as its rows, if its axis can show that."""
    for j in range(len(mode)):
        first, last = ends[0, j], ends[1, j]
        whole = mode[j] == WHOLE_OR_ONE or (mode[j] == LAST_APART and last == space.axes[j, SIZE] - 1)
        if first == last or not whole:
            lo[j], hi[j] = first, last + 1


@inner
def _width(space: Any, j: int, mode: int, ends: Any, part: bool) -> float:
    """How wide the occupied codes are on axis ``j``; an axis that is already partly cut must be cut further."""
    first, last = ends[0, j], ends[1, j]
    if first == last:
        return 0.0
    if mode == WHOLE_OR_ONE:
        return 4.0 if part else 1.0  # 4 is wider than any line or tree, so that such an axis is cut first
    if space.axes[j, KIND] == LINE:
        at = space.axes[j, POSITION]
        return space.position[at + last] - space.position[at + first]
    node = space.axes[j, NODE] + cover(space, j, first, last)
    return (space.nodes[node, HI] - space.nodes[node, LO]) / space.axes[j, SIZE]


@inner
def _on_runs(runs: int, least: int, total: int, from_run: int, s: Any) -> int:
    """The code that starts the right side of the most balanced cut between runs, or -1."""
    best, at, below = np.int64(0), np.int64(-1), np.int64(0)
    for r in range(runs - 1):
        below += s.ints[RUN_WEIGHT, r]
        smaller = min(below, total - below)
        if r + 1 >= from_run and smaller >= least and smaller > best:
            best, at = smaller, s.ints[RUN_CODE, r + 1]
    return at


@inner
def _on_children(space: Any, j: int, ends: Any, runs: int, least: int, total: int, s: Any) -> int:
    """The same between the children of the node that covers the occupied codes."""
    base = space.axes[j, NODE]
    node = base + cover(space, j, ends[0, j], ends[1, j])
    best, at, below, r = np.int64(0), np.int64(-1), np.int64(0), 0
    for c in range(space.nodes[node, CHILD], space.nodes[node + 1, CHILD]):
        child = base + space.child[c]
        smaller = min(below, total - below)
        if smaller >= least and smaller > best:
            best, at = smaller, space.nodes[child, LO]
        while r < runs and s.ints[RUN_CODE, r] < space.nodes[child, HI]:
            below += s.ints[RUN_WEIGHT, r]
            r += 1
    return at


@inner
def _boundary(
    space: Any, rows: Any, weights: Any, start: int, end: int, j: int, mode: int, part: bool, ends: Any,
    least: int, total: int, s: Any,
) -> int:  # fmt: skip
    """Where to cut axis ``j``: the first code of the right side, or -1 if no cut leaves enough on both sides."""
    runs = runs_on(rows, weights, start, end, j, ends[0, j], ends[1, j], s)
    if mode == WHOLE_OR_ONE:
        for r in range(runs):
            if not part and s.ints[RUN_WEIGHT, r] < least:
                return np.int64(-1)
        return _on_runs(runs, least, total, 1, s)
    if space.axes[j, KIND] == LINE:
        apart = mode == LAST_APART and ends[1, j] == space.axes[j, SIZE] - 1
        return _on_runs(runs, least, total, runs - 1 if apart else 1, s)
    return _on_children(space, j, ends, runs, least, total, s)


@inner
def _cut(
    space: Any, mode: Any, rows: Any, weights: Any, start: int, end: int, least: int, lo: Any, hi: Any,
    ends: Any, widths: Any, s: Any,
) -> Any:  # fmt: skip
    """The axis and the code to cut at, widest axis first; (-1, -1) if there is no cut."""
    none = np.int64(-1)
    total = np.int64(0)
    for i in range(start, end):
        total += weights[i]
    _ends(rows, start, end, ends)
    _narrow(space, mode, ends, lo, hi)
    if total < 2 * least:
        return none, none
    for j in range(len(mode)):
        widths[j] = _width(space, j, mode[j], ends, hi[j] - lo[j] < space.axes[j, SIZE])
    while True:
        j = np.int64(0)
        for other in range(1, len(mode)):
            if widths[other] > widths[j]:
                j = np.int64(other)
        if widths[j] <= 0.0:
            return none, none
        widths[j] = 0.0
        part = hi[j] - lo[j] < space.axes[j, SIZE]
        at = _boundary(space, rows, weights, start, end, j, mode[j], part, ends, least, total, s)
        if at >= 0:
            return j, at


@inner
def _move(rows: Any, words: Any, ids: Any, weights: Any, start: int, end: int, j: int, at: int, buffer: Any) -> int:
    """Move the rows below ``at`` on axis ``j`` to the front, keeping order; returns where the others start."""
    b_words, b_ids, b_weights = buffer
    left, right = start, 0
    for i in range(start, end):
        below = np.int64(np.int64(rows[i, j]) < at)
        # Write each row to both sides and advance one of them: no branch to mispredict.
        row, weight = ids[i], weights[i]
        for w in range(words.shape[1]):
            word = words[i, w]
            b_words[right, w] = word
            words[left, w] = word
        b_ids[right], b_weights[right] = row, weight
        ids[left], weights[left] = row, weight
        left += below
        right += 1 - below
    for i in range(right):
        for w in range(words.shape[1]):
            words[left + i, w] = b_words[i, w]
        ids[left + i], weights[left + i] = b_ids[i], b_weights[i]
    return left


@kernel
def _split(
    space: Any, mode: Any, rows: Any, words: Any, ids: Any, weights: Any, least: int, begin: int, finish: int,
    stop: int, tight: bool, box: Any, is_start: Any, room: Any,
) -> Any:  # fmt: skip
    """Divide ``[begin, finish)``, whose box is at ``box[:, begin]``; ranges shorter than ``stop`` are handed back."""
    axes = len(mode)
    ends, widths, buffer, scratch = room
    stack, pending = np.zeros((64, 2), np.int64), np.zeros((64, 2), np.int64)
    depth, given_back = 1, 0
    stack[0, 0], stack[0, 1] = begin, finish
    while depth > 0:
        depth -= 1
        start, end = stack[depth, 0], stack[depth, 1]
        if end - start < stop:
            if given_back == len(pending):
                pending = twice(pending)
            pending[given_back, 0], pending[given_back, 1] = start, end
            given_back += 1
            continue
        lo, hi = box[0, start], box[1, start]
        j, at = _cut(space, mode, rows, weights, start, end, least, lo, hi, ends, widths, scratch)
        if j < 0:
            is_start[start] = 1
            if tight:
                _tighten(space, mode, ends, lo, hi)
            continue
        if depth + 2 > len(stack):
            stack = twice(stack)
        middle = _move(rows, words, ids, weights, start, end, j, at, buffer)
        for axis in range(axes):
            box[0, middle, axis], box[1, middle, axis] = lo[axis], hi[axis]
        hi[j] = box[0, middle, j] = at
        stack[depth, 0], stack[depth, 1] = start, middle
        stack[depth + 1, 0], stack[depth + 1, 1] = middle, end
        depth += 2
    return pending[:given_back]


class _Room(NamedTuple):
    """Working memory of one call: ends and widths of a group's axes, room to move its rows to, and for cuts."""

    ends: NDArray[np.int64]
    widths: NDArray[np.float64]
    buffer: tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]
    scratch: Scratch


def _room(space: Space, n: int, words: int) -> _Room:
    """Working memory for up to ``n`` rows of so many words."""
    axes = len(space.axes)
    buffer = (np.empty((n + 1, words), np.uint64), np.empty(n + 1, np.int64), np.empty(n + 1, np.int64))
    scratch = make_scratch(space, n, np.ones(1, np.int64))
    return _Room(np.zeros((2, axes), np.int64), np.zeros(axes), buffer, scratch)


def divide(
    space: Space,
    mode: NDArray[np.int64],
    codes: list[NDArray[Any]],
    weights: NDArray[np.int64],
    least: int,
    *,
    tight: bool = False,
    progress: Callable[[int, int], None] = lambda done, rows: None,
) -> Boxes:
    """Cut the widest axis at the boundary nearest to the median, as long as both sides weigh at least ``least``."""
    n = len(codes[0])
    rows, words = pack_rows(codes)
    ids, w, is_start = np.arange(n, dtype=np.int64), weights.astype(np.int64, copy=True), np.zeros(n, np.uint8)
    box = np.zeros((2, n, len(codes)), np.int32)
    box[1, 0] = space.axes[:, SIZE]

    def split(begin: int, finish: int, stop: int) -> Any:
        room = _room(space, finish - begin, words.shape[1])
        return _split(space, mode, rows, words, ids, w, max(least, 1), begin, finish, stop, tight, box, is_start, room)

    pieces = sorted(split(0, n, max(n // _PIECES, _SMALL)).tolist(), key=lambda piece: piece[0] - piece[1])
    everything = int(w.sum())
    done = everything - sum(int(w[start:end].sum()) for start, end in pieces)
    with ThreadPoolExecutor(_THREADS) as pool:
        for (start, end), _ in zip(pieces, pool.map(lambda p: split(p[0], p[1], 0), pieces), strict=True):
            done += int(w[start:end].sum())
            progress(done, everything)
    starts = np.flatnonzero(is_start)
    of_row = np.empty(n, np.int64)
    of_row[ids] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, n)))
    return Boxes(of_row, box[0, starts].astype(np.int64), box[1, starts].astype(np.int64))
