"""The state of a top-down refinement in flat arrays, and the counts under its leaves.

A *label* is what a code shows: a node of a tree, an interval of a line, a value of a set, or the mark of
the set's hidden rest. A *candidate* is a label that can be refined; of a set, a hidden value. Each template
has its own rows (distinct vectors over its attributes, in the order of its leaves), and for every candidate
the worst that refining it would leave, in ``kept``. It only ever gets worse, so it is never taken back: what
was counted in a leaf that has since been split is a union of groups of today, one of which is as bad.
"""

from typing import Any, NamedTuple

from numpy.typing import NDArray

from sfumato.kernel.jit import inner

TREE, SET, LINE = 0, 1, 2
KIND, SIZE, OFFSET, BASE, SPARE, CLASSES, HIDDEN = range(7)
"""Columns of ``attributes``: SPARE is the next free label of a line, and the mark of the hidden rest of a set;
CLASSES and HIDDEN are rows of ``classes``."""

BRANCH, SHOWN = 0, 1
"""Rows of ``codes``: which part of its label a code falls into when that is refined, and the label."""

ATTRIBUTE, LO, HI, FIRST, PARTS, STATUS, GAIN, CUT, DIRTY, LISTED = range(10)
"""Columns of ``labels``: the parts are the labels FIRST .. FIRST + PARTS; of a hidden rest, PARTS are live values.
LISTED is no property of the label: down the column stand the candidates."""

ABSENT, LIVE, DEAD = 0, 1, 2

BY_SIZE, BY_DISTINCT, BY_SHARE = 0, 1, 2
MODE, LIMIT, WIDTH, STRIDE, ROWS, LEAF, LINKS, LEAVES, LIMITS, VALUES, NOW, NOW_OF = range(12)
"""Columns of ``templates``: where its rows, leaves and links begin, how many leaves it has; NOW (of NOW_OF) is
the anonymity, or the confidence, of the present state. A row is WIDTH codes, then what is counted, then its
multiplicity."""

PLACE, MEMBER, CELL = 0, 1, 2
"""Third axis of ``places``: the place of an attribute; the attribute at a place, and its first cell."""

WORST, WORST_OF, HEAD = 0, 1, 2
"""Third axis of ``kept``; HEAD begins the list of leaves that show the label."""

COUNT, LAST, ALONE, TOUCHED, BY_VALUE = 0, 1, 2, 3, 4
"""Columns of ``cells``; from BY_VALUE on the counts of the sensitive values."""

INFORMATION, DISTORTION, DISCERNIBILITY = 0, 1, 2
MEASURE, PER_LOSS, BITS, CANDIDATES, STALE, FRESH, BEGUN = range(7)
"""Entries of ``run``."""


class State(NamedTuple):
    """All that a refinement knows; ``live`` and ``cells`` are room to work in."""

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
    spare: NDArray[Any]
    leaves: NDArray[Any]
    links: NDArray[Any]
    cells: NDArray[Any]
    live: NDArray[Any]


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
def live_places(state: State, j: int, at: int, only: int) -> int:
    """Which attributes have a live label in the leaf whose first row is ``at``: where their codes, their place,
    their first cell, no cell touched yet, and the candidate of the first cell (negative: all of one)."""
    templates, places, attributes, live = state.templates, state.places, state.attributes, state.live
    number = 0
    for place in range(templates[j, WIDTH]):
        if only >= 0 and place != only:
            continue
        attribute = places[j, place, MEMBER]
        label = state.codes[SHOWN, attributes[attribute, OFFSET] + state.rows[at + place]]
        if state.labels[label, STATUS] != LIVE:
            continue
        live[number, 0] = attributes[attribute, OFFSET]
        live[number, 1] = place
        live[number, 2] = places[j, place, CELL]
        live[number, 3] = 0
        live[number, 4] = attributes[attribute, BASE] if attributes[attribute, KIND] == SET else -1 - label
        number += 1
    return number


@inner
def count_sizes(rows: Any, codes: Any, cells: Any, live: Any, number: int, at: int, stride: int, end: int) -> int:
    """How many rows of the original table each part of each live label has, and all of them together."""
    total = 0
    while at < end:
        weight = rows[at + stride - 1]
        total += weight
        for i in range(number):
            cell = live[i, 2] + codes[BRANCH, live[i, 0] + rows[at + live[i, 1]]]
            if cells[cell, COUNT] == 0:
                cells[live[i, 2] + live[i, 3], TOUCHED] = cell
                live[i, 3] += 1
            cells[cell, COUNT] += weight
        at += stride
    return total


@inner
def count_values(rows: Any, cells: Any, live: Any, codes: Any, i: int, at: int, stride: int, end: int) -> int:
    """How many distinct values each part of a live label has, how many only it has, and all of them together.

    Equal values lie side by side in every leaf.
    """
    total, seen, one, mixed = 0, -1, 0, True
    while at < end:
        value = rows[at + stride - 2]
        cell = live[i, 2] + codes[BRANCH, live[i, 0] + rows[at + live[i, 1]]]
        if value != seen:
            if not mixed:
                cells[one, ALONE] += 1
            total += 1
            seen, one, mixed = value, cell, False
        elif cell != one:
            mixed = True
        if cells[cell, COUNT] == 0:
            cells[live[i, 2] + live[i, 3], TOUCHED] = cell
            live[i, 3] += 1
            cells[cell, LAST] = -1
        if cells[cell, LAST] != value:
            cells[cell, LAST] = value
            cells[cell, COUNT] += 1
        at += stride
    if not mixed:
        cells[one, ALONE] += 1
    return total


@inner
def count_sensitive(state: State, number: int, at: int, stride: int, end: int, width: int, values: int) -> None:
    """How often each sensitive value occurs in each part of each live label, and in all: in the last cell."""
    rows, cells, live, codes = state.rows, state.cells, state.live, state.codes
    last = len(cells) - 1
    for value in range(values):
        cells[last, BY_VALUE + value] = 0
    while at < end:
        weight = rows[at + stride - 1]
        for y in range(at + width, at + stride - 1):
            if rows[y] > 0:
                value = BY_VALUE + rows[y] - 1
                cells[last, value] += weight
                for i in range(number):
                    cells[live[i, 2] + codes[BRANCH, live[i, 0] + rows[at + live[i, 1]]], value] += weight
        at += stride


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
def judge_parts(state: State, j: int, i: int, total: int) -> None:
    """Keep what the counted parts of a live label show to be worse, and empty their cells."""
    cells, live, mode = state.cells, state.live, state.templates[j, MODE]
    last = len(cells) - 1
    for t in range(live[i, 3]):
        cell = cells[live[i, 2] + t, TOUCHED]
        amount = cells[cell, COUNT]
        cells[cell, COUNT] = 0
        one_value = live[i, 4] >= 0
        candidate = live[i, 4] + cell - live[i, 2] if one_value else -1 - live[i, 4]
        judged = state.labels[candidate, STATUS] == LIVE
        rest = total - (cells[cell, ALONE] if mode == BY_DISTINCT else amount) if one_value else 0
        cells[cell, ALONE] = 0
        if mode != BY_SHARE:
            if judged:
                keep_least(state, j, candidate, min(amount, rest) if rest > 0 else amount)
            continue
        for value in range(state.templates[j, VALUES]):
            count = cells[cell, BY_VALUE + value]
            cells[cell, BY_VALUE + value] = 0
            if judged:
                keep_share(state, j, candidate, value, count, amount)
                if rest > 0:
                    keep_share(state, j, candidate, value, cells[last, BY_VALUE + value] - count, rest)


@inner
def count_leaf(state: State, j: int, begin: int, end: int, only: int) -> None:
    """Count the rows of a leaf by the parts of its live labels (or of one of them), and keep what is worse."""
    stride, width, mode = state.templates[j, STRIDE], state.templates[j, WIDTH], state.templates[j, MODE]
    at, to = state.templates[j, ROWS] + begin * stride, state.templates[j, ROWS] + end * stride
    number = live_places(state, j, at, only)
    if number == 0:
        return
    if mode == BY_DISTINCT:
        for i in range(number):
            judge_parts(state, j, i, count_values(state.rows, state.cells, state.live, state.codes, i, at, stride, to))
        return
    total = count_sizes(state.rows, state.codes, state.cells, state.live, number, at, stride, to)
    if mode == BY_SHARE:
        count_sensitive(state, number, at, stride, to, width, state.templates[j, VALUES])
    for i in range(number):
        judge_parts(state, j, i, total)
