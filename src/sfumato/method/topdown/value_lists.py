"""The hidden values of sets, arranged so that disclosing one touches little: by class counts, and their rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.topdown import state as r
from sfumato.method.topdown.arrays import TemplateRows

Integers = NDArray[np.int64]

MOST_SCANNED = 64
"""Up to this many values, scoring them all and scanning all rows at each step takes less time than keeping lists."""


class Alike(NamedTuple):
    """The values of sets by class counts; ``of_attribute`` are the columns ALIKE and KINDS of the attributes."""

    of_attribute: Integers
    kinds: Integers
    members: NDArray[np.int32]


class ValueLists(NamedTuple):
    """For each value of a set in a template its rows; where each row is at the start."""

    begins: Integers
    rows: NDArray[np.int32]
    where: NDArray[np.int32]


def large_sets(attributes: Integers) -> NDArray[np.bool_]:
    """The attributes whose values are disclosed one by one and are many."""
    return np.asarray((attributes[:, r.KIND] == r.SET) & (attributes[:, r.SIZE] > MOST_SCANNED))


def alike_values(attributes: Integers, classes: Integers, chosen: NDArray[np.bool_]) -> Alike:
    """The values that occur, of the chosen attributes, by class counts; within each kind in the order of values."""
    of_attribute = np.zeros((len(attributes), 2), np.int64)
    kinds, members, number, begin = [np.zeros((0, 5), np.int64)], [np.zeros(0, np.int32)], 0, 0
    for i in np.flatnonzero(chosen):
        at, size = attributes[i, r.CLASSES], attributes[i, r.SIZE]
        counts = np.diff(classes[at : at + size + 1], axis=0)
        there = np.flatnonzero(counts[:, -1] > 0)
        _, kind, sizes = np.unique(counts[there], axis=0, return_inverse=True, return_counts=True)
        rows = np.zeros((len(sizes), 5), np.int64)
        ordered = attributes[i, r.BASE] + there[np.argsort(kind.ravel(), kind="stable")]
        rows[:, r.MEMBERS] = begin + np.cumsum(sizes) - sizes
        rows[:, r.NUMBER_OF] = sizes
        rows[:, r.CHEAPEST] = rows[:, r.FIRST_OF] = ordered[rows[:, r.MEMBERS] - begin]
        of_attribute[i] = number, len(sizes)
        kinds.append(rows)
        members.append(ordered.astype(np.int32))
        number, begin = number + len(sizes), begin + len(there)
    return Alike(of_attribute, np.concatenate(kinds), np.concatenate(members))


def value_lists(rows: Sequence[TemplateRows], places: Integers, attributes: Integers) -> ValueLists:
    """The rows of each value of large sets; notes in ``places`` where they begin."""
    begins, listed, large = [], [np.zeros(0, np.int32)], large_sets(attributes)
    number = at = 0
    for j, x in enumerate(rows):
        for i in np.flatnonzero((places[j, :, r.PLACE] >= 0) & large):
            codes = x.rows[places[j, i, r.PLACE]]
            sizes = np.bincount(codes, minlength=attributes[i, r.SIZE])
            places[j, i, r.INDEX] = number
            begins.append(at + np.concatenate([[0], np.cumsum(sizes)]))
            listed.append(np.argsort(codes, kind="stable").astype(np.int32))
            number, at = number + len(begins[-1]), at + x.number
    none, kept = np.zeros(0, np.int64), rows if begins else []
    where = np.zeros((2, sum(x.number for x in kept)), np.int32)
    where[r.POSITION] = np.concatenate([none, *(np.arange(x.number) for x in kept)])
    return ValueLists(np.concatenate([none, *begins]), np.concatenate(listed), where)
