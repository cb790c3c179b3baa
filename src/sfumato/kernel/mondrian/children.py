"""Cut a group into many parts at once: one per child of a node that can be split off, and the rest.

A node that cannot be shown as a set of children is as wide after one child has been split off as before, so the
next cut would be on the same axis again. Children are split off one after the other, the heaviest first; what that
decides is found by counting, and the rows are moved once, so that the cost does not grow with the number of children.
"""

from typing import Any

import numpy as np

from sfumato.kernel.axes import KIND, SETS, TREE, cover, shows_sets
from sfumato.kernel.jit import lean
from sfumato.kernel.mondrian.cut import (
    BALANCE,
    CUT_FIRST,
    CUT_LAST,
    ORDER,
    PART_FIRST,
    RUN_CODE,
    RUN_FIRST,
    RUN_WEIGHT,
    TALLY,
    both_pass,
    child_cuts,
    judges_sides,
    look_ahead,
    move_runs,
    runs_on,
    sort_by_run,
    sort_keys,
)

NO_HINT, GO_ON, SKIP = range(3)
"""What is known of the rest when children were split off: nothing, more may be on the same axis, or none can be there.

The hint is for a rest below two or more children; otherwise a lower node covers it.
"""


@lean
def is_cut_by_child(space: Any, j: int, lo: int, hi: int) -> bool:
    """Whether the codes ``lo`` to ``hi`` lie in a tree below a node of which no set of children can be shown."""
    return space.axes[j, KIND] == TREE and not (space.axes[j, SETS] and shows_sets(space, j, cover(space, j, lo, hi)))


@lean
def _weigh(children: int, need: int, s: Any) -> Any:
    """Weigh the children, in TALLY: (the heaviest, its weight, how many weigh at least ``need``)."""
    heaviest, most, heavy = 0, np.int64(0), 0
    for i in range(children):
        weight = np.int64(0)
        for r in range(s.ints[CUT_FIRST, i], s.ints[CUT_LAST, i]):
            weight += s.ints[RUN_WEIGHT, r]
        s.ints[TALLY, i] = weight
        heavy += weight >= need
        if weight > most:
            heaviest, most = i, weight
    return heaviest, most, heavy


@lean
def _by_weight(children: int, total: int, s: Any) -> None:
    """List the children in PART_FIRST by falling weight, equal ones in their order; TALLY tells their weights.

    Its keys are ``(total - weight) * children + child``.
    """
    for i in range(children):
        s.ints[TALLY, i] = (total - s.ints[TALLY, i]) * children + i
        s.ints[PART_FIRST, i] = i
        s.ints[BALANCE, i] = -1
    sort_keys(s.ints[TALLY], s.ints[PART_FIRST], children)


@lean
def _drop_left(counted: Any, first: int, last: int, s: Any) -> None:
    """Forget the rows of the runs ``[first, last)``, which are all on the left side."""
    for o in range(s.ints[RUN_FIRST, first], s.ints[RUN_FIRST, last]):
        for c in range(counted.shape[1]):
            s.sides[0, c, counted[s.ints[ORDER, o], c]] = 0
    for c in range(s.sums.shape[1]):
        s.sums[0, c] = 0


@lean
def _may_go(
    weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, judged: bool, child: int, s: Any
) -> bool:
    """Whether the child and what is left without it pass all tests; if so, its rows are no longer counted."""
    first, last = s.ints[CUT_FIRST, child], s.ints[CUT_LAST, child]
    move_runs(weights, counted, first, last, True, s)
    if judged and not both_pass(sizes, spec, aux, costly, s):
        move_runs(weights, counted, first, last, False, s)
        return False
    _drop_left(counted, first, last, s)
    return True


@lean
def split_off(
    space: Any, rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, least: int,
    need: int, total: int, at_once: bool, start: int, end: int, j: int, lo: int, hi: int, s: Any,
) -> Any:  # fmt: skip
    """Split children of the covering node on axis ``j`` off: (how many, a hint on the rest, a, b).

    If it is one, it has the codes ``[a, b)``; if more, TALLY tells the part of each code from ``lo`` on.

    A child that weighs at most half of what is left is split off before all lighter ones. One that fails a test need
    not be tried again: tests are such that two groups that pass also pass together, so it would have passed before.
    And if all but the heaviest child weigh too little together, so does each of them. ``need`` is the least weight of
    a side of the whole group; most groups have no child that heavy, and are known by the heaviest one. If only one or
    two are, and the group is not to be cut ``at_once``, one is split off: the rest is counted when it is cut next.
    """
    runs = runs_on(rows, weights, start, end, j, lo, hi, s)
    children = child_cuts(space, j, cover(space, j, lo, hi), runs, s)
    child, weight, heavy = _weigh(children, need, s)
    if min(weight, total - weight) < need:
        return 0, NO_HINT, np.int64(0), np.int64(0)
    judged = False
    if spec is not None:  # not compiled if sizes alone decide
        judged = judges_sides(spec)
        if heavy <= 2 and not (at_once or judged):
            return 1, GO_ON if children > 2 else NO_HINT, *_codes_of(child, s)
    _by_weight(children, total, s)
    parts, left, is_sorted, one = 0, total, False, np.int64(-1)
    for place in range(children):
        child, weight = s.ints[PART_FIRST, place], total - s.ints[TALLY, place] // children
        if min(weight, left - weight) < need:  # also when nothing else is left
            break
        if spec is not None:
            if not is_sorted:
                sort_by_run(rows, start, end, j, runs, s)
                is_sorted = True
            if not _may_go(weights, counted, sizes, spec, aux, costly, judged, child, s):
                continue
            need = max(least, look_ahead(sizes, spec, s))
        s.ints[BALANCE, child] = parts
        parts, left, one = parts + 1, left - weight, child
    if parts == 0:
        return 0, NO_HINT, np.int64(0), np.int64(0)
    a, b = _codes_of(one, s)
    if parts > 1:
        _number_codes(children, parts, lo, s)
    return parts, SKIP if children - parts > 1 and not judged else NO_HINT, a, b


@lean
def _codes_of(child: int, s: Any) -> Any:
    """The first code of a child that occurs, and the one after the last."""
    return s.ints[RUN_CODE, s.ints[CUT_FIRST, child]], s.ints[RUN_CODE, s.ints[CUT_LAST, child] - 1] + 1


@lean
def _number_codes(children: int, parts: int, lo: int, s: Any) -> None:
    """By code from ``lo`` on, the part that it goes to, in TALLY; what is not split off is the last part."""
    for child in range(children):
        part = s.ints[BALANCE, child] if s.ints[BALANCE, child] >= 0 else np.int64(parts)
        for r in range(s.ints[CUT_FIRST, child], s.ints[CUT_LAST, child]):
            s.ints[TALLY, s.ints[RUN_CODE, r] - lo] = part


@lean
def deal(
    rows: Any, words: Any, ids: Any, weights: Any, counted: Any, start: int, end: int, j: int, lo: int, parts: int,
    buffer: Any, s: Any,
) -> None:  # fmt: skip
    """Move rows into the order of the parts that TALLY tells by code; PART_FIRST tells where each of them begins."""
    b_words, b_ids, b_weights, b_counted = buffer
    # A stable counting sort: count the rows of each part, add up where parts begin, move (RUN_FIRST: where to next).
    for part in range(parts + 2):
        s.ints[PART_FIRST, part] = 0
    for i in range(start, end):
        s.ints[PART_FIRST, s.ints[TALLY, np.int64(rows[i, j]) - lo] + 1] += 1
    s.ints[PART_FIRST, 0] = start
    for part in range(parts + 1):
        s.ints[PART_FIRST, part + 1] += s.ints[PART_FIRST, part]
        s.ints[RUN_FIRST, part] = s.ints[PART_FIRST, part] - start
    for i in range(start, end):
        part = s.ints[TALLY, np.int64(rows[i, j]) - lo]
        at = s.ints[RUN_FIRST, part]
        s.ints[RUN_FIRST, part] = at + 1
        b_ids[at], b_weights[at] = ids[i], weights[i]
        for w in range(words.shape[1]):
            b_words[at, w] = words[i, w]
        for c in range(counted.shape[1]):
            b_counted[at, c] = counted[i, c]
    for at in range(end - start):
        ids[start + at], weights[start + at] = b_ids[at], b_weights[at]
        for w in range(words.shape[1]):
            words[start + at, w] = b_words[at, w]
        for c in range(counted.shape[1]):
            counted[start + at, c] = b_counted[at, c]
