"""Axes of codes: lines with positions and trees of ranges, all in flat arrays."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import kernel, lean

LINE, TREE = 0, 1

MOST_CHILDREN = 63
"""A node with more children than fit a bit mask is never shown as a set of some of them."""

_MANY = 1 << 17
"""From this many rows on, a second thread is worthwhile."""


class Space(NamedTuple):
    """The axes of a table in few arrays, since every array passed on costs compile time.

    ``axes`` has one row per axis: kind, whether it shows sets of children, size, and where its
    positions, nodes and leaves begin. ``nodes`` has one row per node: lo, hi, parent and where its
    children begin in ``child``; they end where the next node's begin.
    """

    axes: NDArray[np.int64]
    position: NDArray[np.float64]
    nodes: NDArray[np.int64]
    child: NDArray[np.int64]
    leaf_node: NDArray[np.int64]


KIND, SETS, SIZE, POSITION, NODE, LEAF = range(6)
LO, HI, PARENT, CHILD = range(4)


class Axis(NamedTuple):
    """One axis before it is joined with the others: a line has positions, a tree has nodes."""

    size: int
    position: Sequence[float] | NDArray[np.float64] = ()
    lo: Sequence[int] | NDArray[np.int32] = ()
    hi: Sequence[int] | NDArray[np.int32] = ()
    parent: Sequence[int] | NDArray[np.int32] = ()
    leaf_node: Sequence[int] | NDArray[np.int32] = ()
    sets: bool = False


def make_space(axes: Sequence[Axis]) -> Space:
    """Put axes side by side into flat arrays."""

    def flat(parts: Sequence[Any], dtype: Any) -> NDArray[Any]:
        return np.concatenate([np.asarray(p, dtype=dtype) for p in parts] or [np.zeros(0, dtype)])

    def firsts(parts: Sequence[Any]) -> NDArray[np.int64]:
        return np.cumsum([0] + [len(p) for p in parts])[:-1].astype(np.int64)

    nodes = np.zeros((sum(len(a.lo) for a in axes) + 1, 4), np.int64)
    for column, part in enumerate(("lo", "hi", "parent")):
        nodes[:-1, column] = flat([getattr(a, part) for a in axes], np.int64)
    below = [np.asarray(a.parent, np.int64)[1:] for a in axes]  # of all nodes but the root
    numbers = flat([np.bincount(parent, minlength=len(a.lo)) for a, parent in zip(axes, below, strict=True)], np.int64)
    nodes[1:, CHILD] = np.cumsum(numbers)
    table = np.zeros((len(axes), 6), np.int64)
    table[:, KIND] = [LINE if len(a.position) else TREE for a in axes]
    table[:, SETS] = [a.sets for a in axes]
    table[:, SIZE] = [a.size for a in axes]
    table[:, POSITION] = firsts([a.position for a in axes])
    table[:, NODE] = firsts([a.lo for a in axes])
    table[:, LEAF] = firsts([a.leaf_node for a in axes])
    return Space(
        axes=table,
        position=flat([a.position for a in axes], np.float64),
        nodes=nodes,
        child=flat([np.argsort(parent, kind="stable") + 1 for parent in below], np.int64),
        leaf_node=flat([a.leaf_node for a in axes], np.int64),
    )


@lean
def words_for(size: int) -> int:
    """The number of 64-bit words that hold one bit per code."""
    return (size + 63) // 64


@lean
def mark(rows: Any, start: int, end: int, j: int, size: int, bits: Any) -> None:
    """Set the bit of each code that occurs on axis ``j`` in rows ``[start, end)``."""
    one = np.uint64(1)
    # the common case in one register, without memory traffic
    if size <= 64:
        seen = np.uint64(0)
        for i in range(start, end):
            seen |= one << np.uint64(rows[i, j])
        bits[0] = seen
        return
    for w in range(words_for(size)):
        bits[w] = np.uint64(0)
    for i in range(start, end):
        code = np.uint64(rows[i, j])
        bits[code >> np.uint64(6)] |= one << (code & np.uint64(63))


@lean
def any_in(bits: Any, lo: int, hi: int) -> bool:
    """Whether a bit is set in ``[lo, hi)``."""
    full = ~np.uint64(0)
    for w in range(lo >> 6, ((hi - 1) >> 6) + 1):
        word = bits[w]
        first = w * 64
        # clear the bits below lo and those from hi on
        if lo > first:
            word &= full << np.uint64(lo - first)
        if hi < first + 64:
            word &= full >> np.uint64(first + 64 - hi)
        if word != 0:
            return True
    return False


@lean
def ends(bits: Any, size: int) -> Any:
    """The first and the last code whose bit is set."""
    one = np.uint64(1)
    words = words_for(size)
    w = 0
    while bits[w] == 0:
        w += 1
    lo = w * 64
    word = bits[w]
    while word & one == 0:
        word >>= one
        lo += 1
    w = words - 1
    while bits[w] == 0:
        w -= 1
    hi = w * 64 - 1
    word = bits[w]
    while word != 0:
        word >>= one
        hi += 1
    return lo, hi


@lean
def cover(space: Any, j: int, lo: int, hi: int) -> int:
    """The lowest node of axis ``j`` that contains the codes ``lo`` to ``hi``, both included."""
    base = space.axes[j, NODE]
    node = space.leaf_node[space.axes[j, LEAF] + lo]
    while space.nodes[base + node, HI] <= hi:
        node = space.nodes[base + node, PARENT]
    return node


@lean
def touched(space: Any, j: int, node: int, bits: Any) -> Any:
    """The children of a node with a set bit below them: as a mask, and how many codes they have."""
    base = space.axes[j, NODE]
    mask = np.uint64(0)
    codes = 0
    one = np.uint64(1)
    first = space.nodes[base + node, CHILD]
    for c in range(first, space.nodes[base + node + 1, CHILD]):
        child = base + space.child[c]
        if any_in(bits, space.nodes[child, LO], space.nodes[child, HI]):
            mask |= one << np.uint64(c - first)
            codes += space.nodes[child, HI] - space.nodes[child, LO]
    return mask, codes


@lean
def tree_ends(space: Any, rows: Any, start: int, end: int, j: int, bits: Any) -> Any:
    """The first and last code of tree ``j`` in the rows, and the covering node; bits are set if it can show sets."""
    size = space.axes[j, SIZE]
    if size <= 64:
        mark(rows, start, end, j, size, bits)
        lo, hi = ends(bits, size)
        return lo, hi, cover(space, j, lo, hi)
    lo, hi = span(rows, start, end, j)
    node = cover(space, j, lo, hi)
    if lo < hi and space.axes[j, SETS] and shows_sets(space, j, node):
        mark(rows, start, end, j, size, bits)
    return lo, hi, node


@lean
def tree_width(space: Any, j: int, bits: Any, lo: int, hi: int, node: int) -> float:
    """The share of axis ``j``'s codes that a group with these ends and bits shows, 0 for one code."""
    if lo == hi:
        return 0.0
    base = space.axes[j, NODE]
    codes = space.nodes[base + node, HI] - space.nodes[base + node, LO]
    if space.axes[j, SETS] and shows_sets(space, j, node):
        codes = touched(space, j, node, bits)[1]
    return codes / space.axes[j, SIZE]


@lean
def shows_sets(space: Any, j: int, node: int) -> bool:
    """Whether a set of some children of this node can be shown."""
    base = space.axes[j, NODE]
    count = space.nodes[base + node + 1, CHILD] - space.nodes[base + node, CHILD]
    return count <= MOST_CHILDREN


@lean
def has_only_leaves(space: Any, j: int, node: int) -> bool:
    """Whether all children of this node are leaves."""
    base = space.axes[j, NODE]
    count = space.nodes[base + node + 1, CHILD] - space.nodes[base + node, CHILD]
    return count == space.nodes[base + node, HI] - space.nodes[base + node, LO]


@lean
def span(rows: Any, start: int, end: int, j: int) -> Any:
    """The first and last code of axis ``j`` in rows ``[start, end)``."""
    lo = hi = np.int64(rows[start, j])
    for i in range(start + 1, end):
        code = np.int64(rows[i, j])
        lo = min(lo, code)
        hi = max(hi, code)
    return lo, hi


@lean
def line_width(space: Any, j: int, rows: Any, start: int, end: int) -> Any:
    """The normalized range of rows ``[start, end)`` on line ``j``, and its ends."""
    lo, hi = span(rows, start, end, j)
    first = space.axes[j, POSITION]
    return space.position[first + hi] - space.position[first + lo], lo, hi


@kernel
def _summarize(space: Any, rows: Any, starts: Any, n: int, first: int, last: int, bits: Any, out: Any) -> None:
    """The groups from ``first`` up to ``last``."""
    for j in range(len(space.axes)):
        for g in range(first, last):
            end = starts[g + 1] if g + 1 < len(starts) else n
            if space.axes[j, KIND] == LINE:
                _, lo, hi = line_width(space, j, rows, starts[g], end)
                out[0, j, g], out[1, j, g] = lo, hi
                continue
            lo, hi, node = tree_ends(space, rows, starts[g], end, j, bits)
            out[0, j, g], out[1, j, g], out[2, j, g] = lo, hi, node
            base = space.axes[j, NODE]
            if lo < hi and space.axes[j, SETS] and shows_sets(space, j, node):
                mask, codes = touched(space, j, node, bits)
                if codes < space.nodes[base + node, HI] - space.nodes[base + node, LO]:
                    out[3, j, g] = np.int64(mask)


def summarize(space: Space, rows: NDArray[Any], starts: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """For each group of rows and axis: first and last code, the covering node and the children touched.

    The mask is 0 if the whole node is shown.
    """
    out = np.zeros((4, len(space.axes), len(starts)), np.int64)
    words = (int(space.axes[:, SIZE].max(initial=1)) + 63) // 64

    def some(first: int, last: int) -> None:
        _summarize(space, rows, starts, n, first, last, np.zeros(words, np.uint64), out)

    half = int(np.searchsorted(starts, n // 2))  # of the rows, not of the groups
    if n < _MANY:
        some(0, len(starts))
    else:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(some, (0, half), (half, len(starts))))
    return out
