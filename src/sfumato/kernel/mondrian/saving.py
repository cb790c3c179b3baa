"""Find the cut of a group that saves the most: the loss that its own axis is spared, for how few people are cut off.

The loss of a group on an axis is its range on a line and (codes shown - 1) / (codes - 1) in a tree, once per person. A
cut that saves the same with fewer people on its lighter side is better: rare values are cut off first, and the bulk,
which then shows less, stays together to be cut further. So a cut counts as what it saves, divided by the square root
of the weight of the lighter side.
"""

from typing import Any

import numpy as np

from sfumato.kernel.axes import CHILD, HI, KIND, LEAF, LINE, LO, NODE, PARENT, POSITION, SETS, SIZE, cover, shows_sets
from sfumato.kernel.jit import lean
from sfumato.kernel.mondrian.cut import (
    BALANCE,
    CUT_FIRST,
    CUT_LAST,
    PART_FIRST,
    RUN_CODE,
    RUN_WEIGHT,
    child_cuts,
    child_of,
    judged_cut,
    runs_on,
)


@lean
def _share(space: Any, j: int, codes: int) -> float:
    """The loss of so many codes of a tree."""
    return (codes - 1) / (space.axes[j, SIZE] - 1)


@lean
def _loss(space: Any, j: int, first: int, last: int, s: Any) -> float:
    """The loss on axis ``j`` of a group with the runs ``[first, last)``."""
    lo, hi = s.ints[RUN_CODE, first], s.ints[RUN_CODE, last - 1]
    if space.axes[j, KIND] == LINE:
        at = space.axes[j, POSITION]
        return space.position[at + hi] - space.position[at + lo]
    if lo == hi:
        return 0.0
    base, node = space.axes[j, NODE], cover(space, j, lo, hi)
    if not (space.axes[j, SETS] and shows_sets(space, j, node)):
        return _share(space, j, space.nodes[base + node, HI] - space.nodes[base + node, LO])
    codes, r = np.int64(0), first
    c, end = space.nodes[base + node, CHILD], space.nodes[base + node + 1, CHILD]
    while r < last:
        c = child_of(space, j, c, end, s.ints[RUN_CODE, r])
        child = base + space.child[c]
        codes += space.nodes[child, HI] - space.nodes[child, LO]
        while r < last and s.ints[RUN_CODE, r] < space.nodes[child, HI]:
            r += 1
    return _share(space, j, codes)


@lean
def _lighter(inside: int, total: int) -> int:
    """The weight of the lighter side of a cut."""
    return inside if inside <= total - inside else total - inside


@lean
def _score(total: int, whole: float, inside: int, inner_loss: float, outer_loss: float) -> int:
    """What a cut counts: as the bits of a number that is not negative, whose order is that of the number."""
    saved = total * whole - inside * inner_loss - (total - inside) * outer_loss
    counts = saved / np.sqrt(np.float64(_lighter(inside, total)))
    return np.float64(counts if counts > 0.0 else 0.0).view(np.int64)


@lean
def _weigh(first: int, last: int, s: Any) -> int:
    """The weight of the runs ``[first, last)``."""
    weight = np.int64(0)
    for r in range(first, last):
        weight += s.ints[RUN_WEIGHT, r]
    return weight


@lean
def _line_cuts(space: Any, j: int, runs: int, least: int, total: int, s: Any) -> int:
    """Count the cuts of a line: the runs up to each boundary. Returns how many there are."""
    whole, inside = _loss(space, j, 0, runs, s), np.int64(0)
    for r in range(1, runs):
        inside += s.ints[RUN_WEIGHT, r - 1]
        s.ints[CUT_FIRST, r - 1], s.ints[CUT_LAST, r - 1], s.ints[BALANCE, r - 1] = 0, r, -1
        if _lighter(inside, total) >= least:
            s.ints[BALANCE, r - 1] = _score(total, whole, inside, _loss(space, j, 0, r, s), _loss(space, j, r, runs, s))
    return runs - 1


@lean
def _child_cuts(
    space: Any, j: int, children: int, runs: int, sets: bool, whole: float, shown: int, least: int, total: int, s: Any
) -> int:
    """Count the cuts of a node: each child and, where sets of children can be shown, the first two, three and so on.

    PART_FIRST has the codes of each child, ``shown`` are those of all. Returns how many cuts there are.
    """
    cuts, reached, codes = children, np.int64(0), np.int64(0)
    for i in range(children):
        first, last = s.ints[CUT_FIRST, i], s.ints[CUT_LAST, i]
        inside = _weigh(first, last, s)
        reached, codes = reached + inside, codes + s.ints[PART_FIRST, i]
        s.ints[BALANCE, i] = -1
        if _lighter(inside, total) >= least:
            rest = _share(space, j, shown - s.ints[PART_FIRST, i]) if sets else whole
            if children == 2:
                rest = _loss(space, j, last, runs, s) if i == 0 else _loss(space, j, 0, first, s)
            s.ints[BALANCE, i] = _score(total, whole, inside, _loss(space, j, first, last, s), rest)
        if sets and 0 < i < children - 1:
            s.ints[CUT_FIRST, cuts], s.ints[CUT_LAST, cuts], s.ints[BALANCE, cuts] = 0, last, -1
            if _lighter(reached, total) >= least:
                rest = _share(space, j, shown - codes) if i < children - 2 else _loss(space, j, last, runs, s)
                s.ints[BALANCE, cuts] = _score(total, whole, reached, _share(space, j, codes), rest)
            cuts += 1
    return cuts


@lean
def _deeper_cuts(
    space: Any, j: int, node: int, children: int, runs: int, cuts: int, whole: float, least: int, total: int, s: Any
) -> int:
    """Count the cuts deeper in a tree: each node below a child that has some of its runs. Returns how many there are.

    What is left shows the same as before, since it still lies below each of the children.
    """
    base, child = space.axes[j, NODE], 0
    for r in range(runs):
        while r >= s.ints[CUT_LAST, child]:
            child += 1
        part = space.leaf_node[space.axes[j, LEAF] + s.ints[RUN_CODE, r]]
        last = r + 1
        while space.nodes[base + part, PARENT] != node:
            if r > 0 and s.ints[RUN_CODE, r - 1] >= space.nodes[base + part, LO]:
                break  # it began with an earlier run
            while last < runs and s.ints[RUN_CODE, last] < space.nodes[base + part, HI]:
                last += 1
            if r == s.ints[CUT_FIRST, child] and last == s.ints[CUT_LAST, child]:
                break  # the child itself
            inside = _weigh(r, last, s)
            if _lighter(inside, total) >= least:
                s.ints[CUT_FIRST, cuts], s.ints[CUT_LAST, cuts] = r, last
                s.ints[BALANCE, cuts] = _score(total, whole, inside, _loss(space, j, r, last, s), whole)
                cuts += 1
            part = space.nodes[base + part, PARENT]
    return cuts


@lean
def _count_cuts(space: Any, j: int, lo: int, hi: int, runs: int, least: int, total: int, s: Any) -> int:
    """List the cuts of axis ``j`` with what they count, in BALANCE, -1 if a side is too light; returns how many."""
    if space.axes[j, KIND] == LINE:
        return _line_cuts(space, j, runs, least, total, s)
    node, base = cover(space, j, lo, hi), space.axes[j, NODE]
    children = child_cuts(space, j, node, runs, s)
    sets = space.axes[j, SETS] != 0 and shows_sets(space, j, node)
    c, end = space.nodes[base + node, CHILD], space.nodes[base + node + 1, CHILD]
    shown = np.int64(0)
    for i in range(children):
        c = child_of(space, j, c, end, s.ints[RUN_CODE, s.ints[CUT_FIRST, i]])
        child = base + space.child[c]
        s.ints[PART_FIRST, i] = space.nodes[child, HI] - space.nodes[child, LO]
        shown += s.ints[PART_FIRST, i]
    if not sets:
        shown = space.nodes[base + node, HI] - space.nodes[base + node, LO]
    whole = _share(space, j, shown)
    cuts = _child_cuts(space, j, children, runs, sets, whole, shown, least, total, s)
    return _deeper_cuts(space, j, node, children, runs, cuts, whole, least, total, s)


@lean
def saving_cut(
    space: Any, rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, least: int,
    total: int, judge: bool, start: int, end: int, j: int, lo: int, hi: int, s: Any,
) -> Any:  # fmt: skip
    """The cut on axis ``j`` that counts most: (what it counts, a, b), the codes ``[a, b)`` being split off.

    It counts -1 if there is none. ``judge``: both sides have to pass the tests; counts are loaded.
    """
    runs = runs_on(rows, weights, start, end, j, lo, hi, s)
    cuts = _count_cuts(space, j, lo, hi, runs, least, total, s)
    best, most = -1, np.int64(-1)
    for i in range(cuts):
        if s.ints[BALANCE, i] > most:
            best, most = i, s.ints[BALANCE, i]
    if spec is not None and best >= 0 and judge:  # not compiled if sizes alone decide
        best = judged_cut(rows, weights, counted, sizes, spec, aux, costly, start, end, j, runs, cuts, best, s)
    if best < 0:
        return np.int64(-1), np.int64(0), np.int64(0)
    first, last = s.ints[CUT_FIRST, best], s.ints[CUT_LAST, best]
    return s.ints[BALANCE, best], s.ints[RUN_CODE, first], s.ints[RUN_CODE, last - 1] + 1


@lean
def most_saving_cut(
    space: Any, rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, least: int,
    total: int, start: int, end: int, measures: Any, best: Any, s: Any,
) -> Any:  # fmt: skip
    """The cut that counts most of all axes, on the first of several: (found, axis, a, b).

    ``best`` is room for what the best cut of each axis counts, and its codes; -1 if an axis has none.
    """
    axes = measures.shape[1]
    for j in range(axes):
        best[0, j] = -1
        if measures[0, j] > 0.0:
            lo, hi = np.int64(measures[1, j]), np.int64(measures[2, j])
            best[0, j], best[1, j], best[2, j] = saving_cut(
                space, rows, weights, counted, sizes, spec, aux, costly, least, total, False, start, end, j, lo, hi, s
            )
    at, most = _greatest(best)
    if spec is not None:  # the best of each axis, whatever its sides hold, bounds those that pass
        found, most = -1, np.int64(-1)
        while at >= 0 and (best[0, at] > most or (best[0, at] == most and at < found)):
            lo, hi = np.int64(measures[1, at]), np.int64(measures[2, at])
            counts, a, b = saving_cut(
                space, rows, weights, counted, sizes, spec, aux, costly, least, total, True, start, end, at, lo, hi, s
            )
            if counts > most or (counts == most and counts >= 0 and at < found):
                found, most = at, counts
                best[1, at], best[2, at] = a, b
            best[0, at] = -1
            at, _ = _greatest(best)
        at = found
    if at < 0:
        return False, 0, np.int64(0), np.int64(0)
    return True, at, best[1, at], best[2, at]


@lean
def _greatest(best: Any) -> Any:
    """The first axis whose cut counts most, and what it counts; -1 if none has one."""
    at, most = -1, np.int64(-1)
    for j in range(best.shape[1]):
        if best[0, j] > most:
            at, most = j, best[0, j]
    return at, most
