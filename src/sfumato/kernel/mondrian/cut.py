"""Find the cut of a group on one axis: the most balanced one that both sides allow."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.axes import (
    CHILD,
    HI,
    KIND,
    LINE,
    LO,
    NODE,
    POSITION,
    SETS,
    SIZE,
    Space,
    cover,
    has_only_leaves,
    shows_sets,
    tree_width,
    words_for,
)
from sfumato.kernel.jit import lean
from sfumato.kernel.judge import AHEAD, YES, verdict


class Scratch(NamedTuple):
    """Working memory of one thread, which Python allocates: each way to make an array costs a kernel compile time.

    Rows of ``ints`` are named below.

    ``sides[0]`` and ``sides[1]`` count the values left and right of a cut, ``sums`` how many
    distinct ones there are on each side and, in the last column, its weight.
    """

    bits: Any
    ints: Any
    sides: Any
    sums: Any


TALLY, RUN_CODE, RUN_WEIGHT, RUN_FIRST, ORDER, ROW_KEY, CUT_FIRST, CUT_LAST, BALANCE, PART_FIRST = range(10)
"""By code: its weight. By run of equal codes: code, weight, where its rows begin in the order. By place in the order:
row and key. By candidate cut: the runs [first, last) to split off from the rest, the weight of the lighter side. By
part of a group that is cut into many: where it begins.
"""


def make_scratch(space: Space, n: int, sizes: NDArray[np.int64], *, deep: bool = False) -> Scratch:
    """Working memory for groups of up to ``n`` rows; ``deep``: trees are also cut below the children of a node."""
    largest = int(space.axes[:, SIZE].max(initial=1))
    # a tree's node has a cut per child and one per prefix of the children, and perhaps one per node below
    cuts = 2 * min(n, largest) + (len(space.nodes) if deep else 0)
    return Scratch(
        np.zeros((largest + 63) // 64, np.uint64),
        np.empty((10, max(n, largest, cuts) + 2), np.int64),
        np.zeros((2, len(sizes), int(sizes.max(initial=1))), np.int64),
        np.zeros((2, len(sizes) + 1), np.int64),
    )


@lean
def sort_keys(key: Any, order: Any, n: int) -> None:
    """Heapsort ``key[:n]``, permuting ``order`` along with it."""
    for size in range(n // 2 - 1, -n, -1):
        if size >= 0:
            root, last = size, n
        else:
            last = n + size
            key[0], key[last] = key[last], key[0]
            order[0], order[last] = order[last], order[0]
            root = 0
        while 2 * root + 1 < last:
            child = 2 * root + 1
            if child + 1 < last and key[child] < key[child + 1]:
                child += 1
            if key[root] >= key[child]:
                break
            key[root], key[child] = key[child], key[root]
            order[root], order[child] = order[child], order[root]
            root = child


@lean
def _place(codes: Any, count: int, code: int) -> int:
    """Where ``code`` stands among the ascending ``codes[:count]``."""
    lo, hi = 0, count
    while lo < hi:
        mid = (lo + hi) // 2
        if codes[mid] < code:
            lo = mid + 1
        else:
            hi = mid
    return lo


@lean
def runs_on(rows: Any, weights: Any, start: int, end: int, j: int, lo: int, hi: int, s: Any) -> int:
    """The codes that occur on axis ``j``, ascending, with their weights; returns how many there are."""
    runs = 0
    # count by code where the codes are not much more than the rows, else sort the rows
    if hi - lo <= 4 * (end - start) + 256:
        for code in range(hi - lo + 1):
            s.ints[TALLY, code] = 0
        for i in range(start, end):
            s.ints[TALLY, np.int64(rows[i, j]) - lo] += weights[i]
        for code in range(hi - lo + 1):
            if s.ints[TALLY, code] > 0:
                s.ints[RUN_CODE, runs] = lo + code
                s.ints[RUN_WEIGHT, runs] = s.ints[TALLY, code]
                runs += 1
        return runs
    for i in range(start, end):
        s.ints[ROW_KEY, i - start] = np.int64(rows[i, j])
        s.ints[ORDER, i - start] = i - start
    sort_keys(s.ints[ROW_KEY], s.ints[ORDER], end - start)
    for place in range(end - start):
        code, o = s.ints[ROW_KEY, place], s.ints[ORDER, place]
        if runs == 0 or s.ints[RUN_CODE, runs - 1] != code:
            s.ints[RUN_CODE, runs] = code
            s.ints[RUN_WEIGHT, runs] = 0
            runs += 1
        s.ints[RUN_WEIGHT, runs - 1] += weights[start + o]
    return runs


@lean
def sort_by_run(rows: Any, start: int, end: int, j: int, runs: int, s: Any) -> None:
    """List the rows by their run: those of run ``r`` are at ``order[run_first[r] : run_first[r + 1]]``."""
    for r in range(runs + 1):
        s.ints[RUN_FIRST, r] = 0
    for i in range(start, end):
        r = _place(s.ints[RUN_CODE], runs, np.int64(rows[i, j]))
        s.ints[ROW_KEY, i - start] = r
        s.ints[RUN_FIRST, r + 1] += 1
    for r in range(runs):
        s.ints[RUN_FIRST, r + 1] += s.ints[RUN_FIRST, r]
    # a stable counting sort from the back; RUN_FIRST[r + 1] sinks from the end of run r to its start
    for i in range(end - 1, start - 1, -1):
        r = s.ints[ROW_KEY, i - start]
        s.ints[RUN_FIRST, r + 1] -= 1
        s.ints[ORDER, s.ints[RUN_FIRST, r + 1]] = i
    for r in range(runs):
        s.ints[RUN_FIRST, r] = s.ints[RUN_FIRST, r + 1]
    s.ints[RUN_FIRST, runs] = end - start


@lean
def load_counts(weights: Any, counted: Any, start: int, end: int, s: Any) -> None:
    """Count the whole group on the right side."""
    s.sums[0, -1] = s.sums[1, -1] = 0
    for c in range(counted.shape[1]):
        s.sums[0, c] = s.sums[1, c] = 0
    for i in range(start, end):
        s.sums[1, -1] += weights[i]
        for c in range(counted.shape[1]):
            code = counted[i, c]
            s.sums[1, c] += s.sides[1, c, code] == 0
            s.sides[1, c, code] += weights[i]


@lean
def clear_counts(counted: Any, start: int, end: int, s: Any) -> None:
    """Set the counts of a group back to zero."""
    for i in range(start, end):
        for c in range(counted.shape[1]):
            s.sides[1, c, counted[i, c]] = 0


@lean
def _move(weights: Any, counted: Any, i: int, to_left: bool, s: Any) -> None:
    """Move one row from the right side to the left one, or back."""
    w = weights[i] if to_left else -weights[i]
    s.sums[0, -1] += w
    s.sums[1, -1] -= w
    for c in range(counted.shape[1]):
        code = counted[i, c]
        before_left, before_right = s.sides[0, c, code], s.sides[1, c, code]
        s.sides[0, c, code] = before_left + w
        s.sides[1, c, code] = before_right - w
        s.sums[0, c] += np.int64(before_left + w > 0) - np.int64(before_left > 0)
        s.sums[1, c] += np.int64(before_right - w > 0) - np.int64(before_right > 0)


@lean
def look_ahead(sizes: Any, spec: Any, s: Any) -> int:
    """The smallest size of a side that the look-ahead tests allow, with the whole group on the right."""
    least = np.int64(0)
    for t in range(len(spec)):
        if spec[t, 0] == AHEAD:
            most = np.int64(0)
            for v in range(sizes[spec[t, 1]]):
                most = max(most, s.sides[1, spec[t, 1], v])
            # p/q times as much, rounded up
            least = max(least, (most * spec[t, 2] + spec[t, 3] - 1) // spec[t, 3])
    return least


@lean
def judges_sides(spec: Any) -> bool:
    """Whether there is a test that needs the counts of the two sides."""
    judging = 0
    for t in range(len(spec)):
        judging += spec[t, 0] != AHEAD
    return judging > 0


@lean
def both_pass(sizes: Any, spec: Any, aux: Any, costly: Any, s: Any) -> bool:
    """Whether both sides pass all tests."""
    for t in range(len(spec)):
        c = spec[t, 1]
        for side in range(2):
            counts = s.sides[side, c, : sizes[c]]
            if verdict(spec[t], aux[t], counts, s.sums[side, -1], s.sums[side, c], costly) != YES:
                return False
    return True


@lean
def child_of(space: Any, j: int, first: int, last: int, code: int) -> int:
    """Which of the children ``[first, last)`` has the code below it."""
    base = space.axes[j, NODE]
    while last - first > 1:
        middle = (first + last) // 2
        if space.nodes[base + space.child[middle], LO] <= code:
            first = middle
        else:
            last = middle
    return first


@lean
def child_cuts(space: Any, j: int, node: int, runs: int, s: Any) -> int:
    """A cut per child of the node that occurs: the runs that lie below it. Returns how many there are."""
    if has_only_leaves(space, j, node):  # such as the values of an attribute without a tree, which may be many
        for r in range(runs):
            s.ints[CUT_FIRST, r], s.ints[CUT_LAST, r] = r, r + 1
        return runs
    base = space.axes[j, NODE]
    c, last = space.nodes[base + node, CHILD], space.nodes[base + node + 1, CHILD]
    used, r = 0, 0
    while r < runs:  # by what occurs, not by child: a node may have many more children than the group has rows
        c = child_of(space, j, c, last, s.ints[RUN_CODE, r])
        top = space.nodes[base + space.child[c], HI]
        s.ints[CUT_FIRST, used] = r
        while r < runs and s.ints[RUN_CODE, r] < top:
            r += 1
        s.ints[CUT_LAST, used] = r
        used += 1
    return used


@lean
def _candidates(space: Any, j: int, lo: int, hi: int, runs: int, s: Any) -> int:
    """List the cuts of axis ``j``, each a range of runs to split off from the rest, in the order that breaks ties.

    On a line: the runs up to each boundary. In a tree: each child, then the first two children, the
    first three, and so on, if a set of children can be shown. Returns how many there are.
    """
    if space.axes[j, KIND] == LINE:
        for r in range(1, runs):
            s.ints[CUT_FIRST, r - 1], s.ints[CUT_LAST, r - 1] = 0, r
        return runs - 1
    node = cover(space, j, lo, hi)
    children = child_cuts(space, j, node, runs, s)
    prefixes = children - 1 if space.axes[j, SETS] and shows_sets(space, j, node) else 0
    for i in range(prefixes):
        s.ints[CUT_FIRST, children + i], s.ints[CUT_LAST, children + i] = 0, s.ints[CUT_LAST, i]
    return children + prefixes


@lean
def move_runs(weights: Any, counted: Any, first: int, last: int, to_left: bool, s: Any) -> None:
    for o in range(s.ints[RUN_FIRST, first], s.ints[RUN_FIRST, last]):
        _move(weights, counted, s.ints[ORDER, o], to_left, s)


@lean
def _sweep(weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, cuts: int, s: Any) -> int:
    """The most balanced cut whose sides pass all tests; each row is moved a bounded number of times.

    A cut that begins with the first run only adds rows to those already on the left.
    """
    best, best_balance, reached = -1, np.int64(-1), np.int64(0)
    for i in range(cuts):
        first, last, balance = s.ints[CUT_FIRST, i], s.ints[CUT_LAST, i], s.ints[BALANCE, i]
        grows = first == 0 and last > reached
        if not grows and balance <= best_balance:
            continue
        if not grows:
            move_runs(weights, counted, 0, reached, False, s)
            reached = np.int64(0)
        move_runs(weights, counted, max(first, reached), last, True, s)
        if balance > best_balance and both_pass(sizes, spec, aux, costly, s):
            best, best_balance = i, balance
        if grows:
            reached = last
        else:
            move_runs(weights, counted, first, last, False, s)
    move_runs(weights, counted, 0, reached, False, s)
    return best


@lean
def judged_cut(
    rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, start: int, end: int,
    j: int, runs: int, cuts: int, best: int, s: Any,
) -> int:  # fmt: skip
    """``best``, the most balanced cut, if its sides pass all tests; else the most balanced one that does, or -1."""
    if best < 0 or not judges_sides(spec):
        return best
    sort_by_run(rows, start, end, j, runs, s)
    first, last = s.ints[CUT_FIRST, best], s.ints[CUT_LAST, best]
    move_runs(weights, counted, first, last, True, s)
    good = both_pass(sizes, spec, aux, costly, s)
    move_runs(weights, counted, first, last, False, s)
    return best if good else _sweep(weights, counted, sizes, spec, aux, costly, cuts, s)


@lean
def best_cut(
    space: Any, rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, least: int,
    total: int, start: int, end: int, j: int, lo: int, hi: int, s: Any,
) -> Any:  # fmt: skip
    """The codes ``[a, b)`` to split off on axis ``j``: (found, a, b). Counts are loaded if there are tests.

    The most balanced cut is judged alone first, since mostly it passes; only if it fails are the others tried.
    """
    runs = runs_on(rows, weights, start, end, j, lo, hi, s)
    cuts = _candidates(space, j, lo, hi, runs, s)
    best = _balance_cuts(cuts, least, total, s)
    if spec is not None:  # not compiled if sizes alone decide
        best = judged_cut(rows, weights, counted, sizes, spec, aux, costly, start, end, j, runs, cuts, best, s)
    if best < 0:
        return False, np.int64(0), np.int64(0)
    return True, s.ints[RUN_CODE, s.ints[CUT_FIRST, best]], s.ints[RUN_CODE, s.ints[CUT_LAST, best] - 1] + 1


@lean
def balanced_cut(
    space: Any, rows: Any, weights: Any, least: int, total: int, start: int, end: int, j: int, lo: int, hi: int, s: Any
) -> Any:
    """The most balanced cut on axis ``j``, whatever its sides hold: (weight of the codes ``[a, b)`` or -1, a, b)."""
    runs = runs_on(rows, weights, start, end, j, lo, hi, s)
    best = _balance_cuts(_candidates(space, j, lo, hi, runs, s), least, total, s)
    if best < 0:
        return np.int64(-1), np.int64(0), np.int64(0)
    first, last = s.ints[CUT_FIRST, best], s.ints[CUT_LAST, best]
    inside = np.int64(0)
    for r in range(first, last):
        inside += s.ints[RUN_WEIGHT, r]
    return inside, s.ints[RUN_CODE, first], s.ints[RUN_CODE, last - 1] + 1


@lean
def _balance_cuts(cuts: int, least: int, total: int, s: Any) -> int:
    """Weigh the lighter side of each cut, -1 if it is too light; returns the first of the most balanced, or -1."""
    best, best_balance, reached, below = -1, np.int64(-1), np.int64(0), np.int64(0)
    for i in range(cuts):
        first, last = s.ints[CUT_FIRST, i], s.ints[CUT_LAST, i]
        inside = np.int64(0)
        if first == 0 and last > reached:  # add to what is below the last such cut
            for r in range(reached, last):
                below += s.ints[RUN_WEIGHT, r]
            reached, inside = last, below
        else:
            for r in range(first, last):
                inside += s.ints[RUN_WEIGHT, r]
        smaller = min(inside, total - inside)
        s.ints[BALANCE, i] = smaller if smaller >= least else -1
        if s.ints[BALANCE, i] > best_balance:
            best, best_balance = i, smaller
    return best


@lean
def _part_width(space: Any, rows: Any, first: int, last: int, j: int, s: Any) -> float:
    """The width on axis ``j`` of the rows ``[first, last)`` in order, which is sorted by code."""
    lo, hi = np.int64(rows[s.ints[ORDER, first], j]), np.int64(rows[s.ints[ORDER, last - 1], j])
    if space.axes[j, KIND] == LINE:
        at = space.axes[j, POSITION]
        return space.position[at + hi] - space.position[at + lo]
    for w in range(words_for(space.axes[j, SIZE])):
        s.bits[w] = np.uint64(0)
    for o in range(first, last):
        code = np.uint64(rows[s.ints[ORDER, o], j])
        s.bits[code >> np.uint64(6)] |= np.uint64(1) << (code & np.uint64(63))
    return tree_width(space, j, s.bits, lo, hi, cover(space, j, lo, hi))


@lean
def relaxed_cut(
    space: Any, rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, least: int,
    start: int, end: int, measures: Any, flags: Any, s: Any,
) -> bool:  # fmt: skip
    """Divide a group within equal codes, on the axis and at the place that narrow it the most; sets ``flags``."""
    n = end - start
    best_gain = 1e-9
    for j in range(measures.shape[1]):
        width = measures[0, j]
        if width * n <= best_gain:
            continue
        lo, hi = np.int64(measures[1, j]), np.int64(measures[2, j])
        runs = runs_on(rows, weights, start, end, j, lo, hi, s)
        sort_by_run(rows, start, end, j, runs, s)
        # the two ends that leave a side just large enough, and the middle
        for place in (least, n // 2, n - least):
            left = _part_width(space, rows, 0, place, j, s)
            right = _part_width(space, rows, place, n, j, s)
            # how much the total width of all rows shrinks
            gain = n * width - place * left - (n - place) * right
            if gain <= best_gain:
                continue
            good = True
            if spec is not None:
                good = _place_passes(weights, counted, sizes, spec, aux, costly, place, s)
            if not good:
                continue
            best_gain = gain
            for i in range(n):
                flags[i] = 0
            for o in range(place):
                flags[s.ints[ORDER, o] - start] = 1
    return best_gain > 1e-9


@lean
def _place_passes(weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, place: int, s: Any) -> bool:
    """Whether the first ``place`` rows in order and the others both pass all tests."""
    for o in range(place):
        _move(weights, counted, s.ints[ORDER, o], True, s)
    good = both_pass(sizes, spec, aux, costly, s)
    for o in range(place):
        _move(weights, counted, s.ints[ORDER, o], False, s)
    return good
