"""Parting a disclosed value off the hidden rest of a set by the list of its rows: only those are touched."""

from typing import Any

import numpy as np

from sfumato.kernel.jit import lean
from sfumato.kernel.mondrian.cut import sort_keys
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.state import BEGIN, END, TAKEN, TEMPLATE, WHAT, WHICH, State
from sfumato.kernel.topdown.tallies import take_out

SAME, ONLY_HERE, SHRUNK, NEW = 0, 1, 2, 3
"""What became of a leaf under a refined label: unchanged, one part of it, smaller, or a new leaf."""


@lean
def note(leaves: Any, run: Any, j: int, leaf: int, what: int) -> None:
    """Record a leaf that a refinement touched."""
    at = run[r.FRESH]
    leaves[at, TEMPLATE] = j
    leaves[at, WHICH] = leaf
    leaves[at, WHAT] = what
    run[r.FRESH] += 1


@lean
def place_rows(state: State, j: int, leaf: int) -> None:
    """Record where the rows of a leaf are."""
    first = state.templates[j, r.LEAF]
    for i in range(state.leaves[first + leaf, BEGIN], state.leaves[first + leaf, END]):
        row = first + state.order[first + i]
        state.where[r.POSITION, row] = i
        state.where[r.LEAF_OF, row] = leaf


@lean
def sort_leaf(state: State, j: int, leaf: int) -> None:
    """Put the rows of a leaf in the order of their numbers again, so that equal counted values are adjacent."""
    first = state.templates[j, r.LEAF]
    begin, end = state.leaves[first + leaf, BEGIN], state.leaves[first + leaf, END]
    order = state.order[first + begin : first + end]
    for i in range(1, end - begin):
        if order[i - 1] > order[i]:
            sort_keys(order, state.spare, end - begin)  # what it does to the work space is of no interest
            place_rows(state, j, leaf)
            return


@lean
def _move_to_end(state: State, first: int, row: int) -> int:
    """Move a row behind those of its leaf that stay; returns how many were moved before."""
    leaf, i = first + state.where[r.LEAF_OF, first + row], state.where[r.POSITION, first + row]
    taken = state.leaves[leaf, TAKEN]
    last = state.leaves[leaf, END] - 1 - taken
    other = state.order[first + last]
    state.order[first + i], state.order[first + last] = other, row
    state.where[r.POSITION, first + other], state.where[r.POSITION, first + row] = i, last
    state.leaves[leaf, TAKEN] += 1
    return taken


@lean
def _part(state: State, j: int, leaf: int, place: int) -> bool:
    """Give the moved rows of a leaf a leaf of their own; False if they are all it had."""
    templates, leaves, first = state.templates, state.leaves, state.templates[j, r.LEAF]
    taken, end = leaves[first + leaf, TAKEN], leaves[first + leaf, END]
    leaves[first + leaf, TAKEN] = 0
    if taken == end - leaves[first + leaf, BEGIN]:
        return False
    slot, weights = (
        templates[j, r.LEAVES],
        templates[j, r.ROWS] + (templates[j, r.COLUMNS] - 1) * templates[j, r.NUMBER],
    )
    templates[j, r.LEAVES] += 1
    leaves[first + leaf, END] = end - taken
    leaves[first + slot, BEGIN] = end - taken
    leaves[first + slot, END] = end
    leaves[first + slot, TAKEN] = 0
    place_rows(state, j, slot)
    if templates[j, r.MODE] != r.BY_DISTINCT:
        moved = np.int64(0)
        for i in range(end - taken, end):
            moved += state.rows[weights + state.order[first + i]]
        state.tops[r.TOTAL, templates[j, r.LINKS] + leaf * templates[j, r.WIDTH] + place] -= moved
    note(leaves, state.run, j, slot, NEW)
    return True


@lean
def part_off(state: State, j: int, attribute: int, code: int) -> None:
    """Split the leaves that have a hidden value: the rest keeps the leaf, the value gets a new one."""
    first, place, begun = state.templates[j, r.LEAF], state.places[j, attribute, r.PLACE], state.run[r.FRESH]
    at = state.places[j, attribute, r.INDEX] + code
    if state.templates[j, r.MODE] == r.BY_DISTINCT:
        take_out(state, j, attribute, code)
    for i in range(state.index[at], state.index[at + 1]):
        row = np.int64(state.listed[i])
        if _move_to_end(state, first, row) == 0:
            note(state.leaves, state.run, j, state.where[r.LEAF_OF, first + row], SHRUNK)
    for i in range(begun, state.run[r.FRESH]):
        if not _part(state, j, state.leaves[i, WHICH], place):
            state.leaves[i, WHAT] = ONLY_HERE


@lean
def renumber(state: State, j: int, new_of: Any) -> None:
    """Follow the rows of a template to their new numbers, in the lists of its values and in its leaves."""
    for attribute in range(len(state.attributes)):
        at = state.places[j, attribute, r.INDEX]
        if at >= 0:
            for i in range(state.index[at], state.index[at + state.attributes[attribute, r.SIZE]]):
                state.listed[i] = new_of[state.listed[i]]
    for leaf in range(state.templates[j, r.LEAVES]):
        place_rows(state, j, leaf)
