"""The state of a top-down refinement in flat arrays, and the counts under its leaves.

A *label* is what a code shows: a node of a tree, an interval of a line, a value of a set, or the mark of
the set's hidden rest. A *candidate* is a label that can be refined; of a set, a hidden value. Each template
has its own rows (distinct vectors over its attributes) in the ``order`` of its leaves, and for every candidate
the worst that refining it would leave, in ``kept``. It only ever gets worse, so it is never reset: what was
counted in a leaf that has since been split is a union of current groups, one of which is at least as bad.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner

TREE, SET, LINE = 0, 1, 2
KIND, SIZE, OFFSET, BASE, SPARE, CLASSES, HIDDEN, ALIKE, KINDS = range(9)
"""Columns of ``attributes``: SPARE is the next free label of a line, and the mark of the hidden rest of a set;
CLASSES and HIDDEN are rows of ``classes``; ALIKE is the first of KINDS rows of ``alike``, 0 of them if the hidden
values of the attribute are listed as candidates one by one."""

MEMBERS, NUMBER_OF, CHEAPEST, FIRST_OF, GAIN_OF = range(5)
"""Columns of ``alike``, one row for the values of a set with the same class counts, so that disclosing any of them
gains the same: where they are in ``members`` and how many, the one that costs least, the first, and the gain."""

BRANCH, SHOWN = 0, 1
"""Rows of ``codes``: which part of its label a code falls into when that is refined, and the label."""

ATTRIBUTE, LO, HI, FIRST, PARTS, STATUS, GAIN, CUT, DIRTY, LISTED = range(10)
"""Columns of ``labels``: the parts are the labels FIRST .. FIRST + PARTS; of a hidden rest, PARTS are live values.
LISTED is not a property of the label: its column lists the candidates."""

ABSENT, LIVE, DEAD = 0, 1, 2

BY_SIZE, BY_DISTINCT, BY_SHARE = 0, 1, 2
MODE, LIMIT, WIDTH, COLUMNS, NUMBER, ROWS, LEAF, LINKS, LEAVES, LIMITS, VALUES, NOW, NOW_OF, SORTED, LISTS = range(15)
"""Columns of ``templates``: where its rows, leaves and links begin, how many rows and leaves it has; NOW (of NOW_OF)
is the anonymity, or the confidence, of the present state; SORTED is how many leaves there were when its rows were last
put into the order of the leaves; LISTS tells whether values have row lists.
Its rows are stored column by column: WIDTH codes, then what is counted, then the multiplicity."""

PLACE, MEMBER, INDEX = 0, 1, 2
"""Third axis of ``places``: the place of an attribute, and the attribute at a place; INDEX is where the row lists of
an attribute's values begin in ``index``, -1 if it has none."""

POSITION, LEAF_OF = 0, 1
"""Rows of ``where``: the position of a row in ``order``, and its leaf, in templates with row lists."""

TOTAL, MOST, HOLDER, HELD, ENOUGH, TOPS = range(6)
"""Rows of ``tops``, for each leaf and attribute with row lists: the rows of the leaf, the most that a value had when
they were last counted, and that value; MOST is -1 if they have to be counted. Where shares are limited, then also how
many rows had the most frequent sensitive value, and how many rows are enough for all of them to keep their limits."""

WORST, WORST_OF, HEAD, PENDING = 0, 1, 2, 3
"""Third axis of ``kept``: HEAD begins the list of leaves that show the label, PENDING that of those not counted yet."""

SHOWING, WAITING = 0, 1
"""Rows of ``links``: the next leaf on either list; NOT_WAITING: the leaf is not on the second."""

NOT_WAITING = -2
_NEVER = np.int64(1) << 62

COUNT, LAST, ALONE, BY_VALUE = 0, 1, 2, 3
"""Columns of ``cells``, one cell per part; from BY_VALUE on, the counts of the sensitive values."""

INFORMATION, DISTORTION, DISCERNIBILITY = 0, 1, 2
MEASURE, PER_LOSS, BITS, CANDIDATES, STALE, FRESH, BEGUN = range(7)
"""Entries of ``run``."""


class State(NamedTuple):
    """The full state of a refinement; ``spare`` and ``cells`` are work space."""

    run: NDArray[Any]
    attributes: NDArray[Any]
    codes: NDArray[Any]
    classes: NDArray[Any]
    known: NDArray[Any]
    labels: NDArray[Any]
    score: NDArray[Any]
    templates: NDArray[Any]
    places: NDArray[Any]
    limits: NDArray[Any]
    kept: NDArray[Any]
    rows: NDArray[Any]
    order: NDArray[Any]
    spare: NDArray[Any]
    leaves: NDArray[Any]
    links: NDArray[Any]
    cells: NDArray[Any]
    alike: NDArray[Any]
    members: NDArray[Any]
    index: NDArray[Any]
    listed: NDArray[Any]
    where: NDArray[Any]
    tops: NDArray[Any]


@inner
def kill(labels: Any, attributes: Any, label: int) -> None:
    """A candidate that is not valid or not beneficial never will be again."""
    if labels[label, STATUS] != LIVE:
        return
    labels[label, STATUS] = DEAD
    attribute = labels[label, ATTRIBUTE]
    if attributes[attribute, KIND] == SET:
        rest = attributes[attribute, SPARE]
        labels[rest, PARTS] -= 1
        if labels[rest, PARTS] == 0:
            labels[rest, STATUS] = DEAD


@inner
def count_sizes(rows: Any, codes: Any, cells: Any, order: Any, offset: int, at: int, weights: int) -> int:
    """How many rows of the original table each part of a label has, and all of them together."""
    total = np.int64(0)
    for row in order:
        weight = rows[weights + row]
        total += weight
        cells[codes[BRANCH, offset + rows[at + row]], COUNT] += weight
    return total


@inner
def count_two(rows: Any, codes: Any, cells: Any, order: Any, offset: int, at: int, weights: int) -> int:
    """As ``count_sizes`` for parts 0 and 1: sums in registers, where a cell in memory would wait for its last sum."""
    total, second = np.int64(0), np.int64(0)
    for row in order:
        weight = np.int64(rows[weights + row])
        total += weight
        second += weight & -np.int64(codes[BRANCH, offset + rows[at + row]])
    cells[0, COUNT] += total - second
    cells[1, COUNT] += second
    return total


@inner
def count_values(rows: Any, codes: Any, cells: Any, order: Any, offset: int, at: int, values: int) -> int:
    """How many distinct values each part of a label has, how many only it has, and all of them together.

    Equal values are adjacent in every leaf.
    """
    total, seen, one, mixed = np.int64(0), np.int64(-1), np.int64(0), True
    for row in order:
        value = np.int64(rows[values + row])
        cell = np.int64(codes[BRANCH, offset + rows[at + row]])
        if value != seen:
            if not mixed:
                cells[one, ALONE] += 1
            total += 1
            seen, one, mixed = value, cell, False
        elif cell != one:
            mixed = True
        if cells[cell, COUNT] == 0 or cells[cell, LAST] != value:
            cells[cell, LAST] = value
            cells[cell, COUNT] += 1
    if not mixed:
        cells[one, ALONE] += 1
    return total


@inner
def count_sensitive(rows: Any, codes: Any, cells: Any, order: Any, offset: int, at: int, ys: int, weights: int) -> None:
    """How often each sensitive value occurs in each part of a label, and in all: in the last cell."""
    last = len(cells) - 1
    for row in order:
        if rows[ys + row] > 0:
            value = BY_VALUE + rows[ys + row] - 1
            cells[last, value] += rows[weights + row]
            cells[codes[BRANCH, offset + rows[at + row]], value] += rows[weights + row]


@inner
def keep_least(state: State, j: int, label: int, amount: int) -> None:
    """Refining the candidate would leave a group of this size."""
    if amount < state.kept[j, label, WORST]:
        state.kept[j, label, WORST] = amount
        state.labels[label, DIRTY] = 1
        if amount < state.templates[j, LIMIT]:
            kill(state.labels, state.attributes, label)


@inner
def keep_share(state: State, j: int, label: int, value: int, count: int, of: int) -> None:
    """Refining the candidate would leave a group in which a sensitive value has this share."""
    at = state.templates[j, LIMITS] + value
    if count * state.limits[at, 1] > state.limits[at, 0] * of:
        kill(state.labels, state.attributes, label)
    if count * state.kept[j, label, WORST_OF] > state.kept[j, label, WORST] * of:
        state.kept[j, label, WORST] = count
        state.kept[j, label, WORST_OF] = of
        state.labels[label, DIRTY] = 1


@inner
def judge_part(state: State, j: int, label: int, cell: int, total: int) -> None:
    """Record anything worse that a counted part shows, and clear its cell.

    The candidate is the label, or of a set's hidden rest the value, whose other part is all the rest.
    """
    cells, attributes = state.cells, state.attributes
    attribute, mode = state.labels[label, ATTRIBUTE], state.templates[j, MODE]
    is_set = attributes[attribute, KIND] == SET
    candidate = attributes[attribute, BASE] + cell if is_set else label
    judged = state.labels[candidate, STATUS] == LIVE
    amount = cells[cell, COUNT]
    rest = np.int64(0)
    if is_set:
        rest = total - (cells[cell, ALONE] if mode == BY_DISTINCT else amount)
    cells[cell, COUNT] = 0
    cells[cell, ALONE] = 0
    if mode != BY_SHARE:
        if judged:
            keep_least(state, j, candidate, min(amount, rest) if rest > 0 else amount)
        return
    last = len(cells) - 1
    for value in range(BY_VALUE, BY_VALUE + state.templates[j, VALUES]):
        count = cells[cell, value]
        cells[cell, value] = 0
        if judged:
            keep_share(state, j, candidate, value - BY_VALUE, count, amount)
            if rest > 0:
                keep_share(state, j, candidate, value - BY_VALUE, cells[last, value] - count, rest)


@inner
def count_leaf(state: State, j: int, place: int, label: int, leaf: int) -> None:
    """Count the rows of a leaf by the parts of one of its labels, and record anything worse."""
    templates, rows, codes, cells = state.templates, state.rows, state.codes, state.cells
    attribute, all_rows, mode = state.labels[label, ATTRIBUTE], templates[j, NUMBER], templates[j, MODE]
    begin, end = state.leaves[templates[j, LEAF] + leaf, 0], state.leaves[templates[j, LEAF] + leaf, 1]
    offset, first, number = state.attributes[attribute, OFFSET], templates[j, ROWS], end - begin
    order = state.order[templates[j, LEAF] + begin : templates[j, LEAF] + end]
    at, weights = first + place * all_rows, first + (templates[j, COLUMNS] - 1) * all_rows
    kind, parts = state.attributes[attribute, KIND], np.int64(2)
    if kind == SET:
        parts = state.attributes[attribute, SIZE]
    elif kind == TREE:
        parts = state.labels[label, PARTS]
    if mode == BY_DISTINCT:
        total = count_values(rows, codes, cells, order, offset, at, weights - all_rows)
    elif parts == 2:
        total = count_two(rows, codes, cells, order, offset, at, weights)
    else:
        total = count_sizes(rows, codes, cells, order, offset, at, weights)
    if mode == BY_SHARE:
        for value in range(BY_VALUE, BY_VALUE + templates[j, VALUES]):
            cells[len(cells) - 1, value] = 0
        for y in range(templates[j, WIDTH], templates[j, COLUMNS] - 1):
            count_sensitive(rows, codes, cells, order, offset, at, first + y * all_rows, weights)
    most, holder = np.int64(0), np.int64(-1)
    for i in range(parts if parts <= number else number):
        cell = np.int64(i) if parts <= number else np.int64(codes[BRANCH, offset + rows[at + order[i]]])
        if cells[cell, COUNT] > most:
            most, holder = cells[cell, COUNT], cell
        if cells[cell, COUNT] > 0:
            judge_part(state, j, label, cell, total)
    if state.places[j, attribute, INDEX] >= 0:
        link = templates[j, LINKS] + leaf * templates[j, WIDTH] + place
        state.tops[TOTAL, link], state.tops[MOST, link], state.tops[HOLDER, link] = total, most, holder
        if mode == BY_SHARE:
            _note_sensitive(state, j, link)


@inner
def _note_sensitive(state: State, j: int, link: int) -> None:
    """Record what of the sensitive values a leaf that was just counted holds."""
    held, enough = np.int64(0), np.int64(1)
    for value in range(state.templates[j, VALUES]):
        count, at = state.cells[len(state.cells) - 1, BY_VALUE + value], state.templates[j, LIMITS] + value
        held = max(held, count)
        if count > 0 and state.limits[at, 0] == 0:
            enough = _NEVER
        elif count > 0:
            enough = max(enough, (count * state.limits[at, 1] + state.limits[at, 0] - 1) // state.limits[at, 0])
    state.tops[HELD, link], state.tops[ENOUGH, link] = held, enough


@inner
def _keeps_shares(state: State, j: int, link: int) -> bool:
    """Whether no value of a leaf that lost only disclosed values can leave a rest that matters.

    Beside a value there are at least ``left`` rows, and at most HELD of them have the same sensitive value. If that
    share keeps the limits and is at most what the template attains now, it costs nothing, now or later.
    """
    left = state.tops[TOTAL, link] - state.tops[MOST, link]
    held, now, of = state.tops[HELD, link], state.templates[j, NOW], state.templates[j, NOW_OF]
    return left >= state.tops[ENOUGH, link] and held * of <= now * left


@inner
def still_counted(state: State, j: int, label: int, link: int) -> bool:
    """Whether a leaf that lost only disclosed values needs no count; judges the one value that can have become worse.

    The other values have as many rows as before. Only the rest beside a value can be smaller than all that was
    recorded for it, and only if the value has more than half of the rows.
    """
    total, most, holder = state.tops[TOTAL, link], state.tops[MOST, link], state.tops[HOLDER, link]
    if most < 0:
        return False
    if state.templates[j, MODE] == BY_SHARE:
        return _keeps_shares(state, j, link)
    if total >= 2 * most:
        return True
    attribute = state.labels[label, ATTRIBUTE]
    if state.codes[SHOWN, state.attributes[attribute, OFFSET] + holder] != label:
        return False
    value = state.attributes[attribute, BASE] + holder
    if state.labels[value, STATUS] == LIVE:
        keep_least(state, j, value, total - most if total > most else most)
    return True


@inner
def count_pending(state: State, label: int) -> bool:
    """Count the leaves that show a label and are not counted yet; returns whether there were any."""
    templates, kept, links = state.templates, state.kept, state.links
    attribute, found = state.labels[label, ATTRIBUTE], False
    for j in range(len(templates)):
        place = state.places[j, attribute, PLACE]
        if place < 0:
            continue
        leaf = kept[j, label, PENDING]
        kept[j, label, PENDING] = -1
        while leaf >= 0:
            found = True
            at = templates[j, LINKS] + leaf * templates[j, WIDTH] + place
            if state.labels[label, STATUS] == LIVE:
                indexed = state.places[j, attribute, INDEX] >= 0
                if not (indexed and still_counted(state, j, label, at)):
                    count_leaf(state, j, place, label, leaf)
            leaf = links[WAITING, at]
            links[WAITING, at] = NOT_WAITING
    return found
