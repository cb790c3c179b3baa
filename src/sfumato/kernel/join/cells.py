"""The cells of a refinement that is judged by a join: rows with the same labels, split as labels are refined.

Values are such that less is worse: the least count of a group, or minus the greatest share; infinite if a cell matches
nothing.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.join import groups as g
from sfumato.kernel.join import matching as m
from sfumato.kernel.topdown import state as r

BEGIN, END, DIRTY = 0, 1, 2
"""Columns of ``ends``: the rows of a cell in ``order``, and whether it has to be judged."""


class Cells(NamedTuple):
    """Rows with the same labels at all places: ``codes`` and the label ``shown`` by place, the rows in ``order``.

    ``own`` is the value of each cell, ``pair`` the count or share behind it; ``then`` the value of a cell if its label
    at a place were refined, and ``bad`` whether a group would fail. Of a set, each hidden value is refined by itself:
    the ``then`` of a cell's values stand where its rows do, and ``which`` are their labels (-1 ends the list).
    """

    codes: NDArray[Any]
    order: NDArray[Any]
    spare: NDArray[Any]
    ends: NDArray[Any]
    shown: NDArray[Any]
    number: NDArray[Any]
    own: NDArray[Any]
    pair: NDArray[Any]
    then: NDArray[Any]
    bad: NDArray[Any]
    which: NDArray[Any]
    worst: NDArray[Any]


class Template(NamedTuple):
    """One template over a join."""

    cells: Cells
    match: m.Match
    stack: g.StackArrays
    way: g.Way
    rows: g.JoinRows
    room: g.JoinRoom


@inner
def _mask_keys(t: Template, order: Any, counted: bool) -> None:
    """Apply the rules that are about a cell and about keys, by setting the bits of its keys anew."""
    match, keys = t.match, t.stack.keys
    plain = len(keys) // 2
    for row in order:
        key = row % plain if counted else t.rows.key[row]
        for word in range(keys.shape[1]):
            keys[key, word] = keys[plain + key, word]
        for rule in range(len(match.ruled)):
            if match.active[rule] and match.keyed[rule, key]:
                for word in range(keys.shape[1]):
                    keys[key, word] &= ~match.ruled[rule, word]


@inner
def _value(t: Template, order: Any, counted: bool) -> tuple[float, bool]:
    """The value of some rows by the entries that `matching.narrow` left, and whether a group fails.

    If the rows are ``counted`` already, the slots are given instead.
    """
    worst, shares = t.cells.worst, t.way.way[g.MODE] == g.BY_SHARE
    for i in range(len(worst)):
        worst[i, 0] = 0 if shares else g.NOTHING
        worst[i, 1] = 1
    if len(t.match.ruled) > 0:
        _mask_keys(t, order, counted)
    if counted:
        g.spread(t.stack, t.way, t.room, order, t.match.now)
    else:
        g.fill(t.stack, t.way, t.rows, t.room, order, t.match.now)
    if t.room.clock[1] == 0:
        return np.inf, False
    failing = g.close(t.way, t.room, worst) > 0
    at = 0
    for i in range(1, len(worst)):
        if g.exceeds(worst[i, 0], worst[i, 1], worst[at, 0], worst[at, 1]):
            at = i
    worst[0, 0], worst[0, 1] = worst[at, 0], worst[at, 1]
    count = np.float64(worst[0, 0])
    return (-(count / np.float64(worst[0, 1])) if shares else count), failing


@inner
def _count_parts(
    t: Template, begin: int, end: int, place: int, branch: Any, offset: int, starts: Any, parts: int
) -> None:
    """Count the rows of a cell by part and key; the slots of each part are in ``spare``, and begin at ``starts``."""
    order, spare, codes, room = t.cells.order, t.cells.spare, t.cells.codes, t.room
    keys, number = len(room.seen), 0
    for i in range(begin, end):
        row = order[i]
        number = g.add_row(t.rows, room, row, branch[offset + codes[place, row]] * keys + t.rows.key[row], number)
    for part in range(parts + 1):
        starts[part] = 0
    for i in range(number):
        starts[room.slots[i] // keys + 1] += 1
    for part in range(parts):
        starts[part + 1] += starts[part]
    for i in range(number):
        part = room.slots[i] // keys
        spare[starts[part]] = room.slots[i]
        starts[part] += 1
    for part in range(parts, 0, -1):
        starts[part] = starts[part - 1]
    starts[0] = 0


@inner
def _arrange(t: Template, begin: int, end: int, place: int, branch: Any, offset: int, starts: Any, parts: int) -> None:
    """Put the rows of a cell into the order of the parts of a label, in ``spare``; parts begin at ``starts``."""
    order, spare, codes = t.cells.order, t.cells.spare, t.cells.codes
    # A counting sort by part. Placing rows moves each start to where the next part begins, so they are shifted back.
    for part in range(parts + 1):
        starts[part] = 0
    for i in range(begin, end):
        starts[branch[offset + codes[place, order[i]]] + 1] += 1
    for part in range(parts):
        starts[part + 1] += starts[part]
    for i in range(begin, end):
        part = branch[offset + codes[place, order[i]]]
        spare[starts[part]] = order[i]
        starts[part] += 1
    for part in range(parts, 0, -1):
        starts[part] = starts[part - 1]
    starts[0] = 0


@inner
def _judge_parts(state: r.State, t: Template, cell: int, place: int, label: int, starts: Any) -> None:
    """What a cell would be worth if its label, of a tree or a line, were refined."""
    labels, attribute = state.labels, t.match.places[place, m.ATTRIBUTE]
    line = state.attributes[attribute, r.KIND] == r.LINE
    parts = np.int64(2) if line else labels[label, r.PARTS]
    first, last = t.cells.ends[cell, BEGIN], t.cells.ends[cell, END]
    offset, counted = state.attributes[attribute, r.OFFSET], t.way.way[g.MODE] != g.BY_VALUE
    if counted:
        _count_parts(t, first, last, place, state.codes[r.BRANCH], offset, starts, parts)
    else:
        _arrange(t, first, last, place, state.codes[r.BRANCH], offset, starts, parts)
    worst, bad = np.inf, False
    for part in range(parts):
        if starts[part] == starts[part + 1]:
            continue
        lo, hi, other = labels[label, r.LO], labels[label, r.HI], np.int64(-1)
        if line:
            lo, hi = (lo, labels[label, r.CUT]) if part == 0 else (labels[label, r.CUT], hi)
        else:
            other = labels[label, r.FIRST] + part
        m.narrow(state, t.match, t.cells.shown, cell, place, other, lo, hi)
        value, failing = _value(t, t.cells.spare[starts[part] : starts[part + 1]], counted)
        worst, bad = min(worst, value), bad or failing
    t.cells.then[place, first] = worst
    t.cells.bad[place, first] = bad


@inner
def _judge_values(state: r.State, t: Template, cell: int, place: int) -> None:
    """What a cell would be worth if one of its hidden values were disclosed, for each of them."""
    cells, attribute = t.cells, t.match.places[place, m.ATTRIBUTE]
    base, rest = state.attributes[attribute, r.BASE], state.attributes[attribute, r.SPARE]
    first, last = cells.ends[cell, BEGIN], cells.ends[cell, END]
    found = 0
    for i in range(first, last):
        code = cells.codes[place, cells.order[i]]
        known = False
        for j in range(found):
            known = known or cells.which[place, first + j] == base + code
        if not known:
            cells.which[place, first + found] = base + code
            found += 1
    if first + found < last:
        cells.which[place, first + found] = -1
    for j in range(found):
        label = cells.which[place, first + j]
        here, others = 0, last - first  # places in ``spare`` of the rows with the value, and of the others
        for i in range(first, last):
            if cells.codes[place, cells.order[i]] == label - base:
                cells.spare[here] = cells.order[i]
                here += 1
            else:
                cells.spare[others] = cells.order[i]
                others += 1
        m.narrow(state, t.match, cells.shown, cell, place, label, 0, 0)
        worst, bad = _value(t, cells.spare[:here], False)
        if others > last - first:
            m.narrow(state, t.match, cells.shown, cell, place, rest, 0, 0)
            value, failing = _value(t, cells.spare[last - first : others], False)
            worst, bad = min(worst, value), bad or failing
        cells.then[place, first + j] = worst
        cells.bad[place, first + j] = bad


@kernel
def judge(state: r.State, t: Template, starts: Any) -> None:
    """Judge the cells that were touched, as they are and for every label that could be refined."""
    cells = t.cells
    for cell in range(cells.number[0]):
        if not cells.ends[cell, DIRTY]:
            continue
        cells.ends[cell, DIRTY] = 0
        m.narrow(state, t.match, cells.shown, cell, -1, -1, 0, 0)
        cells.own[cell], _ = _value(t, cells.order[cells.ends[cell, BEGIN] : cells.ends[cell, END]], False)
        cells.pair[cell, 0], cells.pair[cell, 1] = cells.worst[0, 0], cells.worst[0, 1]
        for place in range(len(cells.codes)):
            label = cells.shown[place, cell]
            if state.labels[label, r.STATUS] != r.LIVE:
                continue
            if state.attributes[t.match.places[place, m.ATTRIBUTE], r.KIND] != r.SET:
                _judge_parts(state, t, cell, place, label, starts)
            elif label == state.attributes[t.match.places[place, m.ATTRIBUTE], r.SPARE]:
                _judge_values(state, t, cell, place)


@kernel
def split(state: r.State, t: Template, place: int, label: int, starts: Any) -> None:
    """Split the cells that show a label by its parts, before the label itself is refined; a set's value by itself."""
    cells, labels = t.cells, state.labels
    attribute = t.match.places[place, m.ATTRIBUTE]
    kind, offset = state.attributes[attribute, r.KIND], state.attributes[attribute, r.OFFSET]
    rest = state.attributes[attribute, r.SPARE]
    shown, code = (rest, labels[label, r.LO]) if kind == r.SET else (label, np.int64(-1))
    parts = labels[label, r.PARTS] if kind == r.TREE else np.int64(2)
    first_part = labels[label, r.FIRST] if kind == r.TREE else rest
    for cell in range(cells.number[0]):
        if cells.shown[place, cell] != shown:
            continue
        first, last = cells.ends[cell, BEGIN], cells.ends[cell, END]
        if kind == r.SET:
            _part_value(t, first, last, place, code, starts)
        else:
            _arrange(t, first, last, place, state.codes[r.BRANCH], offset, starts, parts)
        if kind == r.SET and starts[1] == 0:
            continue
        for i in range(last - first):
            cells.order[first + i] = cells.spare[i]
        slot = cell
        for part in range(parts):
            if starts[part] == starts[part + 1]:
                continue
            if starts[part] > 0:  # the first part that has rows keeps the cell, each other one gets a new cell
                slot = cells.number[0]
                cells.number[0] += 1
                for p in range(len(cells.codes)):
                    cells.shown[p, slot] = cells.shown[p, cell]
            cells.ends[slot, BEGIN] = first + starts[part]
            cells.ends[slot, END] = first + starts[part + 1]
            cells.ends[slot, DIRTY] = 1
            cells.shown[place, slot] = (label if part == 0 else rest) if kind == r.SET else first_part + part


@inner
def _part_value(t: Template, begin: int, end: int, place: int, code: int, starts: Any) -> None:
    """The rows of a cell with a value first, then the others."""
    here = 0
    for i in range(begin, end):
        if t.cells.codes[place, t.cells.order[i]] == code:
            t.cells.spare[here] = t.cells.order[i]
            here += 1
    starts[0], starts[1], starts[2] = 0, here, end - begin
    for i in range(begin, end):
        if t.cells.codes[place, t.cells.order[i]] != code:
            t.cells.spare[here] = t.cells.order[i]
            here += 1
