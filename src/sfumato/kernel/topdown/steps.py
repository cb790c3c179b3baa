"""Top-down refinement: take the candidate with the best score, refine it, and postpone counting what it touched."""

from typing import Any

import numpy as np

from sfumato.kernel.jit import kernel, lean
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.choice import winner
from sfumato.kernel.topdown.parting import (
    NEW,
    ONLY_HERE,
    SAME,
    SHRUNK,
    note,
    part_off,
    place_rows,
    renumber,
    sort_leaf,
)
from sfumato.kernel.topdown.scores import involved, loss, offer, offer_set
from sfumato.kernel.topdown.state import BEGIN, END, TAKEN, TEMPLATE, WHAT, WHICH, State, kill

UNSORTED = 8
"""When the number of leaves has grown by this factor, the rows are sorted again."""


@lean
def _list_leaf(state: State, j: int, leaf: int, here: int, what: int) -> None:
    """Put a leaf on the lists of its live labels: of those that show it, and of those that have to be counted.

    A leaf keeps its place on the lists of other attributes when it shrinks; the refined one lists it again.
    """
    templates, attributes, links, kept = state.templates, state.attributes, state.links, state.kept
    begin = state.leaves[templates[j, r.LEAF] + leaf, BEGIN]
    first = templates[j, r.ROWS] + state.order[templates[j, r.LEAF] + begin]
    for place in range(templates[j, r.WIDTH]):
        if place != here and what < SHRUNK:
            continue
        label_attribute = state.places[j, place, r.MEMBER]
        offset = attributes[label_attribute, r.OFFSET]
        label = state.codes[r.SHOWN, offset + state.rows[first + place * templates[j, r.NUMBER]]]
        at = templates[j, r.LINKS] + leaf * templates[j, r.WIDTH] + place
        if what == NEW:
            links[r.WAITING, at] = r.NOT_WAITING
        if templates[j, r.LISTS] and (what == NEW or place != here):
            state.tops[r.MOST, at] = -1
        if state.labels[label, r.STATUS] != r.LIVE:
            continue
        if what == NEW or (place == here and state.places[j, label_attribute, r.INDEX] < 0):
            links[r.SHOWING, at] = kept[j, label, r.HEAD]
            kept[j, label, r.HEAD] = leaf
        if what != SAME and links[r.WAITING, at] == r.NOT_WAITING:
            links[r.WAITING, at] = kept[j, label, r.PENDING]
            kept[j, label, r.PENDING] = leaf


@lean
def _list_fresh(state: State, attribute: int) -> None:
    """List the leaves that a refinement touched."""
    leaves = state.leaves
    for i in range(state.run[r.FRESH]):
        j = leaves[i, TEMPLATE]
        _list_leaf(state, j, leaves[i, WHICH], state.places[j, attribute, r.PLACE], leaves[i, WHAT])
    state.run[r.FRESH] = 0


@lean
def _parts(rows: Any, order: Any, spare: Any, codes: Any, begins: Any, at: int, offset: int, code: int) -> None:
    """The part that each row falls into, and how many rows each part has.

    ``code`` is the disclosed value of a set, whose parts are the value and the rest; -1: parts by branch.
    """
    for i in range(len(order)):
        value = rows[at + order[i]]
        if code >= 0:
            part = np.int64(0) if value == code else np.int64(1)
        else:
            part = np.int64(codes[r.BRANCH, offset + value])
        spare[i] = part
        begins[part + 1] += 1


@lean
def _arrange(order: Any, spare: Any, begins: Any, ends: Any, parts: int) -> None:
    """Sort the rows of a leaf by part, keeping the order within each."""
    number = len(order)
    for part in range(parts):
        ends[part] = number + begins[part]
    for i in range(number):
        part = spare[i]
        spare[ends[part]] = order[i]
        ends[part] += 1
    for i in range(number):
        order[i] = spare[number + i]


@lean
def _split_leaf(state: State, j: int, leaf: int, place: int, code: int, parts: int, room: Any) -> None:
    """Split a leaf by the parts of its label; the first part keeps the leaf, the others get new ones."""
    templates, leaves, spare = state.templates, state.leaves, state.spare
    first, begins = templates[j, r.LEAF], room[0]
    offset = state.attributes[state.places[j, place, r.MEMBER], r.OFFSET]
    begin, number = leaves[first + leaf, BEGIN], leaves[first + leaf, END] - leaves[first + leaf, BEGIN]
    order = state.order[first + begin : first + begin + number]
    for part in range(parts + 1):
        begins[part] = 0
    at = templates[j, r.ROWS] + place * templates[j, r.NUMBER]
    _parts(state.rows, order, spare, state.codes, begins, at, offset, code)
    whole = -1
    for part in range(parts):
        if begins[part + 1] == number:
            whole = part
        begins[part + 1] += begins[part]
    if whole >= 0:
        note(leaves, state.run, j, leaf, SAME if code >= 0 and whole == 1 else ONLY_HERE)
        return
    _arrange(order, spare, begins, room[1], parts)
    for part in range(parts):
        low, high = begins[part], begins[part + 1]
        if low == high:
            continue
        slot = leaf if low == 0 else templates[j, r.LEAVES]
        if low > 0:
            templates[j, r.LEAVES] += 1
        leaves[first + slot, BEGIN] = begin + low
        leaves[first + slot, END] = begin + high
        leaves[first + slot, TAKEN] = 0
        if templates[j, r.LISTS]:
            place_rows(state, j, slot)
        note(leaves, state.run, j, slot, SHRUNK if low == 0 else NEW)


@lean
def _forget_tallies(state: State, j: int) -> None:
    """Before rows get other numbers: let these follow the counted values in each leaf, which is to be counted anew."""
    templates = state.templates
    for leaf in range(templates[j, r.LEAVES]):
        sort_leaf(state, j, leaf)
    for at in range(templates[j, r.LINKS], templates[j, r.LINKS] + templates[j, r.LEAVES] * templates[j, r.WIDTH]):
        state.tops[r.MOST, at] = -1


@lean
def _sort(state: State, j: int) -> None:
    """Sort the rows themselves by leaf, so that those of a leaf are adjacent again."""
    templates, rows, spare = state.templates, state.rows, state.spare
    number, first = templates[j, r.NUMBER], templates[j, r.LEAF]
    if templates[j, r.LISTS] and templates[j, r.MODE] == r.BY_DISTINCT:
        _forget_tallies(state, j)
    for column in range(templates[j, r.COLUMNS]):
        at = templates[j, r.ROWS] + column * number
        for i in range(number):
            spare[i] = rows[at + state.order[first + i]]
        for i in range(number):
            rows[at + i] = spare[i]
    if templates[j, r.LISTS]:
        for i in range(number):
            spare[state.order[first + i]] = i
    for i in range(number):
        state.order[first + i] = i
    if templates[j, r.LISTS]:
        renumber(state, j, spare)
    templates[j, r.SORTED] = templates[j, r.LEAVES]


@lean
def _split(state: State, j: int, label: int, shown: int, code: int, parts: int, room: Any) -> None:
    """Split the leaves of a template that show a label, and update what the template attains."""
    templates, kept = state.templates, state.kept
    attribute = state.labels[label, r.ATTRIBUTE]
    place = state.places[j, attribute, r.PLACE]
    leaf = kept[j, shown, r.HEAD]
    kept[j, shown, r.HEAD] = -1
    if state.places[j, attribute, r.INDEX] >= 0:
        part_off(state, j, attribute, code)
        leaf = -1
    while leaf >= 0:
        following = state.links[r.SHOWING, templates[j, r.LINKS] + leaf * templates[j, r.WIDTH] + place]
        _split_leaf(state, j, leaf, place, code, parts, room)
        leaf = following
    if templates[j, r.LEAVES] >= UNSORTED * templates[j, r.SORTED]:
        _sort(state, j)
    then, of = kept[j, label, r.WORST], kept[j, label, r.WORST_OF]
    now, now_of = templates[j, r.NOW], templates[j, r.NOW_OF]
    worse = then * now_of > now * of if templates[j, r.MODE] == r.BY_SHARE else then < now
    if worse:
        templates[j, r.NOW] = then
        templates[j, r.NOW_OF] = of
        state.run[r.STALE] = 1


@lean
def _show(state: State, label: int) -> None:
    """Let the codes of a label show it, and record which part of it each falls into."""
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


@lean
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


@lean
def _disclose(state: State, label: int) -> None:
    """Show a hidden value of a set; the others stay hidden."""
    attributes, classes = state.attributes, state.classes
    attribute, code = state.labels[label, r.ATTRIBUTE], state.labels[label, r.LO]
    at, hidden = attributes[attribute, r.CLASSES], attributes[attribute, r.HIDDEN]
    state.codes[r.SHOWN, attributes[attribute, r.OFFSET] + code] = label
    for c in range(classes.shape[1]):
        classes[hidden, c] -= classes[at + code + 1, c] - classes[at + code, c]
    offer_set(state, attribute)


@lean
def refine(state: State, label: int, room: Any) -> None:
    """Refine a candidate: split its leaves in every template it is in, and offer its parts."""
    labels, attributes = state.labels, state.attributes
    attribute = labels[label, r.ATTRIBUTE]
    kind = attributes[attribute, r.KIND]
    shown = attributes[attribute, r.SPARE] if kind == r.SET else label
    code = labels[label, r.LO] if kind == r.SET else np.int64(-1)
    parts = labels[label, r.PARTS] if kind == r.TREE else np.int64(2)
    for j in range(len(state.templates)):
        if state.places[j, attribute, r.PLACE] >= 0:
            _split(state, j, label, shown, code, parts, room)
    kill(labels, attributes, label)
    if kind == r.SET:
        _disclose(state, label)
    else:
        _relabel(state, label)
    _list_fresh(state, attribute)


@lean
def begin(state: State) -> None:
    """Offer the first candidates and list the one leaf that each template starts with."""
    for attribute in range(len(state.attributes)):
        if state.attributes[attribute, r.KIND] == r.SET:
            offer_set(state, attribute)
        else:
            offer(state, state.attributes[attribute, r.BASE])
            _show(state, state.attributes[attribute, r.BASE])
    for j in range(len(state.templates)):
        note(state.leaves, state.run, j, 0, NEW)
    _list_fresh(state, 0)
    state.run[r.BEGUN] = 1


@kernel
def advance(state: State, steps: Any, scores: Any, now: Any) -> int:
    """Refine until the step buffer is full or no candidate is left; returns the number of steps.

    ``steps`` gets the label, its gain, the summed loss and over how many templates it is summed;
    ``now`` what each template attains after the step.
    """
    room = np.zeros((2, len(state.cells) + 2), np.int64)
    if state.run[r.BEGUN] == 0:
        begin(state)
    for i in range(len(steps)):
        label = winner(state)
        if label < 0:
            return i
        steps[i, 0] = label
        steps[i, 1] = state.labels[label, r.GAIN]
        steps[i, 2] = loss(state, label)
        steps[i, 3] = involved(state, label)
        scores[i] = state.score[label]
        refine(state, label, room)
        for j in range(len(state.templates)):
            now[i, j, 0] = state.templates[j, r.NOW]
            now[i, j, 1] = state.templates[j, r.NOW_OF]
    return len(steps)
