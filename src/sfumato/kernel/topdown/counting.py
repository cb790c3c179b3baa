"""Counting the rows of leaves by the parts of their labels, and judging what refining a label would leave."""

from typing import Any

import numpy as np

from sfumato.kernel.jit import lean
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.bounds import keep_least, keep_share, note_top, still_counted
from sfumato.kernel.topdown.parting import sort_leaf
from sfumato.kernel.topdown.state import State


@lean
def count_sizes(rows: Any, codes: Any, cells: Any, order: Any, offset: int, at: int, weights: int) -> int:
    """How many rows of the original table each part of a label has, and all of them together."""
    total = np.int64(0)
    for row in order:
        weight = rows[weights + row]
        total += weight
        cells[codes[r.BRANCH, offset + rows[at + row]], r.COUNT] += weight
    return total


@lean
def count_two(rows: Any, codes: Any, cells: Any, order: Any, offset: int, at: int, weights: int) -> int:
    """As ``count_sizes`` for parts 0 and 1: sums in registers, where a cell in memory would wait for its last sum."""
    total, second = np.int64(0), np.int64(0)
    for row in order:
        weight = np.int64(rows[weights + row])
        total += weight
        second += weight & -np.int64(codes[r.BRANCH, offset + rows[at + row]])
    cells[0, r.COUNT] += total - second
    cells[1, r.COUNT] += second
    return total


@lean
def count_values(rows: Any, codes: Any, cells: Any, order: Any, offset: int, at: int, values: int) -> int:
    """How many distinct values each part of a label has, how many only it has, and all of them together.

    Equal values are adjacent in every leaf.
    """
    total, seen, one, mixed = np.int64(0), np.int64(-1), np.int64(0), True
    for row in order:
        value = np.int64(rows[values + row])
        cell = np.int64(codes[r.BRANCH, offset + rows[at + row]])
        if value != seen:
            if not mixed:
                cells[one, r.ALONE] += 1
            total += 1
            seen, one, mixed = value, cell, False
        elif cell != one:
            mixed = True
        if cells[cell, r.COUNT] == 0 or cells[cell, r.LAST] != value:
            cells[cell, r.LAST] = value
            cells[cell, r.COUNT] += 1
    if not mixed:
        cells[one, r.ALONE] += 1
    return total


@lean
def count_sensitive(rows: Any, codes: Any, cells: Any, order: Any, offset: int, at: int, ys: int, weights: int) -> None:
    """How often each sensitive value occurs in each part of a label, and in all: in the last cell."""
    last = len(cells) - 1
    for row in order:
        if rows[ys + row] > 0:
            value = r.BY_VALUE + rows[ys + row] - 1
            cells[last, value] += rows[weights + row]
            cells[codes[r.BRANCH, offset + rows[at + row]], value] += rows[weights + row]


@lean
def judge_part(state: State, j: int, label: int, cell: int, total: int) -> None:
    """Record anything worse that a counted part shows, and clear its cell.

    The candidate is the label, or of a set's hidden rest the value, whose other part is all the rest.
    """
    cells, attributes = state.cells, state.attributes
    attribute, mode = state.labels[label, r.ATTRIBUTE], state.templates[j, r.MODE]
    is_set = attributes[attribute, r.KIND] == r.SET
    candidate = attributes[attribute, r.BASE] + cell if is_set else label
    judged = state.labels[candidate, r.STATUS] == r.LIVE
    amount = cells[cell, r.COUNT]
    rest = np.int64(0)
    if is_set:
        rest = total - (cells[cell, r.ALONE] if mode == r.BY_DISTINCT else amount)
    cells[cell, r.COUNT] = 0
    cells[cell, r.ALONE] = 0
    if mode != r.BY_SHARE:
        if judged:
            keep_least(state, j, candidate, min(amount, rest) if rest > 0 else amount)
        return
    last = len(cells) - 1
    for value in range(r.BY_VALUE, r.BY_VALUE + state.templates[j, r.VALUES]):
        count = cells[cell, value]
        cells[cell, value] = 0
        if judged:
            keep_share(state, j, candidate, value - r.BY_VALUE, count, amount)
            if rest > 0:
                keep_share(state, j, candidate, value - r.BY_VALUE, cells[last, value] - count, rest)


@lean
def count_leaf(state: State, j: int, place: int, label: int, leaf: int) -> None:
    """Count the rows of a leaf by the parts of one of its labels, and record anything worse."""
    templates, rows, codes, cells = state.templates, state.rows, state.codes, state.cells
    attribute, all_rows, mode = state.labels[label, r.ATTRIBUTE], templates[j, r.NUMBER], templates[j, r.MODE]
    begin, end = state.leaves[templates[j, r.LEAF] + leaf, r.BEGIN], state.leaves[templates[j, r.LEAF] + leaf, r.END]
    offset, first, number = state.attributes[attribute, r.OFFSET], templates[j, r.ROWS], end - begin
    order = state.order[templates[j, r.LEAF] + begin : templates[j, r.LEAF] + end]
    at, weights = first + place * all_rows, first + (templates[j, r.COLUMNS] - 1) * all_rows
    kind, parts = state.attributes[attribute, r.KIND], np.int64(2)
    if kind == r.SET:
        parts = state.attributes[attribute, r.SIZE]
    elif kind == r.TREE:
        parts = state.labels[label, r.PARTS]
    if mode == r.BY_DISTINCT:
        if templates[j, r.LISTS]:
            sort_leaf(state, j, leaf)
        total = count_values(rows, codes, cells, order, offset, at, weights - all_rows)
    elif parts == 2:
        total = count_two(rows, codes, cells, order, offset, at, weights)
    else:
        total = count_sizes(rows, codes, cells, order, offset, at, weights)
    if mode == r.BY_SHARE:
        for value in range(r.BY_VALUE, r.BY_VALUE + templates[j, r.VALUES]):
            cells[len(cells) - 1, value] = 0
        for y in range(templates[j, r.WIDTH], templates[j, r.COLUMNS] - 1):
            count_sensitive(rows, codes, cells, order, offset, at, first + y * all_rows, weights)
    if state.places[j, attribute, r.INDEX] >= 0:
        note_top(state, j, place, leaf, total)
    for i in range(parts if parts <= number else number):
        cell = np.int64(i) if parts <= number else np.int64(codes[r.BRANCH, offset + rows[at + order[i]]])
        if cells[cell, r.COUNT] > 0:
            judge_part(state, j, label, cell, total)


@lean
def count_pending(state: State, label: int) -> bool:
    """Count the leaves that show a label and are not counted yet; returns whether there were any."""
    templates, kept, links = state.templates, state.kept, state.links
    attribute, found = state.labels[label, r.ATTRIBUTE], False
    for j in range(len(templates)):
        place = state.places[j, attribute, r.PLACE]
        if place < 0:
            continue
        leaf = kept[j, label, r.PENDING]
        kept[j, label, r.PENDING] = -1
        while leaf >= 0:
            found = True
            at = templates[j, r.LINKS] + leaf * templates[j, r.WIDTH] + place
            if state.labels[label, r.STATUS] == r.LIVE:
                indexed = state.places[j, attribute, r.INDEX] >= 0
                if not (indexed and still_counted(state, j, label, at)):
                    count_leaf(state, j, place, label, leaf)
            leaf = links[r.WAITING, at]
            links[r.WAITING, at] = r.NOT_WAITING
    return found
