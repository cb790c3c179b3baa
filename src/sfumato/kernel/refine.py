"""Top-down refinement: take the candidate of the best score, refine it, count again only what it touched."""

from typing import Any

import numpy as np

from sfumato.kernel import refinement as r
from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.refinement import State, count_leaf, kill
from sfumato.kernel.worth import involved, loss, offer, offer_set, winner

BEGIN, END, TEMPLATE, WHICH, WHAT = range(5)
"""Columns of ``leaves``: the rows of a leaf; and down the last three, the leaves that the last refinement touched."""

SAME, ONLY_HERE, SHRUNK, NEW = 0, 1, 2, 3
"""What became of a leaf under a refined label: nothing, one part of it, less than it was, a new leaf."""


@inner
def _link(state: State, j: int, leaf: int, place: int, label: int) -> None:
    """Put a leaf on the list of the leaves that show a label."""
    at = state.templates[j, r.LINKS] + leaf * state.templates[j, r.WIDTH] + place
    state.links[at] = state.kept[j, label, r.HEAD]
    state.kept[j, label, r.HEAD] = leaf


@inner
def _link_live(state: State, j: int, leaf: int, here: int, everywhere: bool) -> None:
    """List a leaf under its live labels: at one place, or everywhere."""
    templates, attributes = state.templates, state.attributes
    at = templates[j, r.ROWS] + state.leaves[templates[j, r.LEAF] + leaf, BEGIN] * templates[j, r.STRIDE]
    for place in range(templates[j, r.WIDTH]):
        if place == here or everywhere:
            offset = attributes[state.places[j, place, r.MEMBER], r.OFFSET]
            label = state.codes[r.SHOWN, offset + state.rows[at + place]]
            if state.labels[label, r.STATUS] == r.LIVE:
                _link(state, j, leaf, place, label)


@inner
def _note(leaves: Any, run: Any, j: int, leaf: int, what: int) -> None:
    """Write down a leaf that a refinement touched."""
    at = run[r.FRESH]
    leaves[at, TEMPLATE] = j
    leaves[at, WHICH] = leaf
    leaves[at, WHAT] = what
    run[r.FRESH] += 1


@inner
def _part(codes: Any, at: int, value: int, code: int) -> int:
    """Into which part a code falls: of a set the disclosed value and the rest, else by branch."""
    if code >= 0:
        return np.int64(0) if value == code else np.int64(1)
    return np.int64(codes[r.BRANCH, at + value])


@inner
def _move(rows: Any, spare: Any, codes: Any, ends: Any, place: int, offset: int, code: int, at: int, n: int) -> None:
    """Put the rows of a leaf into the order of its parts; ``ends`` say where each part begins, and the stride."""
    stride = ends[-1]
    for row in range(n):
        source = at + row * stride
        part = _part(codes, offset, rows[source + place], code)
        to = ends[part] * stride
        ends[part] += 1
        for i in range(stride):
            spare[to + i] = rows[source + i]
    for i in range(n * stride):
        rows[at + i] = spare[i]


@inner
def _split_leaf(state: State, j: int, leaf: int, place: int, code: int, parts: int, ends: Any) -> None:
    """Split a leaf by the parts of its label; the first part keeps the leaf, the others get new ones.

    ``code`` is the disclosed value of a set, whose parts are the value and the rest; -1: parts by branch.
    """
    templates, leaves, rows, codes = state.templates, state.leaves, state.rows, state.codes
    stride, first = templates[j, r.STRIDE], templates[j, r.LEAF]
    offset = state.attributes[state.places[j, place, r.MEMBER], r.OFFSET]
    begin, end = leaves[first + leaf, BEGIN], leaves[first + leaf, END]
    at = templates[j, r.ROWS] + begin * stride
    for part in range(parts + 1):
        ends[part] = 0
    for row in range(end - begin):
        ends[1 + _part(codes, offset, rows[at + row * stride + place], code)] += 1
    whole = -1
    for part in range(parts):
        if ends[part + 1] == end - begin:
            whole = part
        ends[part + 1] += ends[part]
    if whole >= 0:
        _note(leaves, state.run, j, leaf, SAME if code >= 0 and whole == 1 else ONLY_HERE)
        return
    for part in range(parts):
        low, high = ends[part], ends[part + 1]
        if low == high:
            continue
        slot = leaf if low == 0 else templates[j, r.LEAVES]
        if low > 0:
            templates[j, r.LEAVES] += 1
        leaves[first + slot, BEGIN] = begin + low
        leaves[first + slot, END] = begin + high
        _note(leaves, state.run, j, slot, SHRUNK if low == 0 else NEW)
    ends[-1] = stride
    _move(rows, state.spare, codes, ends, place, offset, code, at, end - begin)


@inner
def _split(state: State, j: int, label: int, shown: int, code: int, parts: int, ends: Any) -> None:
    """Split the leaves of a template that show a label, and say what the template has now."""
    templates, kept = state.templates, state.kept
    place = state.places[j, state.labels[label, r.ATTRIBUTE], r.PLACE]
    leaf = kept[j, shown, r.HEAD]
    kept[j, shown, r.HEAD] = -1
    while leaf >= 0:
        following = state.links[templates[j, r.LINKS] + leaf * templates[j, r.WIDTH] + place]
        _split_leaf(state, j, leaf, place, code, parts, ends)
        leaf = following
    then, of = kept[j, label, r.WORST], kept[j, label, r.WORST_OF]
    now, now_of = templates[j, r.NOW], templates[j, r.NOW_OF]
    worse = then * now_of > now * of if templates[j, r.MODE] == r.BY_SHARE else then < now
    if worse:
        templates[j, r.NOW] = then
        templates[j, r.NOW_OF] = of
        state.run[r.STALE] = 1


@inner
def _show(state: State, label: int) -> None:
    """Let the codes of a label show it, and know into which part of it each falls."""
    labels, codes = state.labels, state.codes
    attribute = labels[label, r.ATTRIBUTE]
    at = state.attributes[attribute, r.OFFSET]
    line = state.attributes[attribute, r.KIND] == r.LINE
    for code in range(labels[label, r.LO], labels[label, r.HI]):
        codes[r.SHOWN, at + code] = label
        if line:
            codes[r.BRANCH, at + code] = 1 if code >= labels[label, r.CUT] else 0
    if not line:
        for i in range(labels[label, r.PARTS]):
            part = labels[label, r.FIRST] + i
            for code in range(labels[part, r.LO], labels[part, r.HI]):
                codes[r.BRANCH, at + code] = i


@inner
def _relabel(state: State, label: int) -> None:
    """Replace a label of a tree or a line by its parts, which become candidates."""
    labels, attributes = state.labels, state.attributes
    attribute = labels[label, r.ATTRIBUTE]
    if attributes[attribute, r.KIND] == r.LINE:
        first = attributes[attribute, r.SPARE]
        attributes[attribute, r.SPARE] += 2
        labels[label, r.FIRST] = first
        labels[label, r.PARTS] = 2
        labels[first, r.LO] = labels[label, r.LO]
        labels[first, r.HI] = labels[label, r.CUT]
        labels[first + 1, r.LO] = labels[label, r.CUT]
        labels[first + 1, r.HI] = labels[label, r.HI]
    for i in range(labels[label, r.PARTS]):
        offer(state, labels[label, r.FIRST] + i)
        _show(state, labels[label, r.FIRST] + i)


@inner
def _disclose(state: State, label: int) -> None:
    """Show a hidden value of a set; the others stay hidden."""
    attributes, classes = state.attributes, state.classes
    attribute, code = state.labels[label, r.ATTRIBUTE], state.labels[label, r.LO]
    at, hidden = attributes[attribute, r.CLASSES], attributes[attribute, r.HIDDEN]
    state.codes[r.SHOWN, attributes[attribute, r.OFFSET] + code] = label
    for c in range(classes.shape[1]):
        classes[hidden, c] -= classes[at + code + 1, c] - classes[at + code, c]
    offer_set(state, attribute)


@inner
def _refine(state: State, label: int, ends: Any) -> None:
    """Refine a candidate: split its leaves in every template it is in, then count what has changed."""
    labels, attributes = state.labels, state.attributes
    attribute = labels[label, r.ATTRIBUTE]
    kind = attributes[attribute, r.KIND]
    shown = attributes[attribute, r.SPARE] if kind == r.SET else label
    code = labels[label, r.LO] if kind == r.SET else np.int64(-1)
    parts = labels[label, r.PARTS] if kind == r.TREE else np.int64(2)
    for j in range(len(state.templates)):
        if state.places[j, attribute, r.PLACE] >= 0:
            _split(state, j, label, shown, code, parts, ends)
    kill(labels, attributes, label)
    if kind == r.SET:
        _disclose(state, label)
    else:
        _relabel(state, label)


@inner
def _count_fresh(state: State, attribute: int) -> None:
    """Count the leaves that a refinement touched, and list them under the labels that can still be refined."""
    leaves = state.leaves
    for i in range(state.run[r.FRESH]):
        j, leaf, what = leaves[i, TEMPLATE], leaves[i, WHICH], leaves[i, WHAT]
        here = state.places[j, attribute, r.PLACE]
        at = state.templates[j, r.LEAF] + leaf
        if what != SAME:
            count_leaf(state, j, leaves[at, BEGIN], leaves[at, END], here if what == ONLY_HERE else np.int64(-1))
        _link_live(state, j, leaf, here, what == NEW)
    state.run[r.FRESH] = 0


@inner
def _begin(state: State) -> None:
    """Offer the first candidates and count the one leaf that each template begins with."""
    for attribute in range(len(state.attributes)):
        if state.attributes[attribute, r.KIND] == r.SET:
            offer_set(state, attribute)
        else:
            offer(state, state.attributes[attribute, r.BASE])
            _show(state, state.attributes[attribute, r.BASE])
    for j in range(len(state.templates)):
        _note(state.leaves, state.run, j, 0, NEW)
    _count_fresh(state, 0)
    state.run[r.BEGUN] = 1


@kernel
def advance(state: State, steps: Any, scores: Any, now: Any) -> int:
    """Refine as often as there is room to write down, or until no candidate is left; how often it was.

    ``steps`` gets the label, its gain, the summed loss and over how many templates it is summed;
    ``now`` what each template has after the step.
    """
    ends = np.zeros(len(state.cells) + 3, np.int64)
    if state.run[r.BEGUN] == 0:
        _begin(state)
    for i in range(len(steps)):
        label = winner(state)
        if label < 0:
            return i
        steps[i, 0] = label
        steps[i, 1] = state.labels[label, r.GAIN]
        steps[i, 2] = loss(state, label)
        steps[i, 3] = involved(state, label)
        scores[i] = state.score[label]
        _refine(state, label, ends)
        _count_fresh(state, state.labels[label, r.ATTRIBUTE])
        for j in range(len(state.templates)):
            now[i, j, 0] = state.templates[j, r.NOW]
            now[i, j, 1] = state.templates[j, r.NOW_OF]
    return len(steps)
