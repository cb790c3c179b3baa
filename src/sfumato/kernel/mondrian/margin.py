"""Find the cut of a group from its margins: the weights of each axis's codes, by the counted columns.

A cut depends on nothing else, so that a group whose rows are stored elsewhere is cut just as `partition` would cut it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.axes import KIND, LINE, SIZE, Space, line_width, tree_ends, tree_width
from sfumato.kernel.jit import kernel
from sfumato.kernel.judge import Tests, costly_tests
from sfumato.kernel.mondrian.children import is_cut_by_child, split_off
from sfumato.kernel.mondrian.cut import TALLY, Scratch, best_cut, clear_counts, load_counts, look_ahead, make_scratch
from sfumato.kernel.mondrian.partition import LEFT, take_greatest
from sfumato.kernel.mondrian.saving import saving_cut


class Margin(NamedTuple):
    """The distinct combinations of an axis's code and the counted columns, with their weights."""

    codes: NDArray[Any]
    counted: list[NDArray[Any]]
    sizes: list[int]
    weights: NDArray[np.int64]


class AxisCut(NamedTuple):
    """A cut: each range ``[lo, hi)`` of codes of an axis goes to a part of its own, all others to the last part."""

    axis: int
    parts: list[tuple[int, int]]


@kernel
def _measured(space: Any, rows: Any, j: int, bits: Any) -> Any:
    """The width of axis ``j`` and its ends; the width of one code is 0."""
    if space.axes[j, KIND] == LINE:
        width, lo, hi = line_width(space, j, rows, 0, len(rows))
    else:
        lo, hi, node = tree_ends(space, rows, 0, len(rows), j, bits)
        width = tree_width(space, j, bits, lo, hi, node)
    return width if lo < hi else 0.0, np.int64(lo), np.int64(hi)


@kernel
def _taken(measures: Any) -> int:
    """Take the widest axis that is left; -1 when all are taken."""
    return take_greatest(measures)


@kernel
def _cut(
    space: Any, rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, least: int,
    total: int, j: int, lo: int, hi: int, scratch: Any,
) -> Any:  # fmt: skip
    """The best cut on axis ``j``: (how many parts are split off, a, b).

    If it is one part, it has the codes ``[a, b)``; if more, TALLY tells the part of each code, from ``lo`` on.
    """
    need = least
    if len(spec) > 0:
        load_counts(weights, counted, 0, len(rows), scratch)
        need = max(least, look_ahead(sizes, spec, scratch))
    parts, a, b = 0, np.int64(0), np.int64(0)
    if is_cut_by_child(space, j, lo, hi):
        parts, _, a, b = split_off(
            space, rows, weights, counted, sizes, spec, aux, costly, least, need, total, True, 0, len(rows), j,
            lo, hi, scratch,
        )  # fmt: skip
    else:
        found, a, b = best_cut(
            space, rows, weights, counted, sizes, spec, aux, costly, need, total, 0, len(rows), j, lo, hi, scratch
        )
        parts = np.int64(found)
    if len(spec) > 0:
        clear_counts(counted, 0, len(rows), scratch)
    return parts, a, b


@kernel
def _saving_cut(
    space: Any, rows: Any, weights: Any, counted: Any, sizes: Any, spec: Any, aux: Any, costly: Any, least: int,
    total: int, j: int, lo: int, hi: int, scratch: Any,
) -> Any:  # fmt: skip
    """The cut on axis ``j`` that saves most: (what it counts or -1, a, b); the codes ``[a, b)`` are split off."""
    load_counts(weights, counted, 0, len(rows), scratch)
    found = saving_cut(
        space, rows, weights, counted, sizes, spec, aux, costly, least, total, True, 0, len(rows), j, lo, hi, scratch
    )
    clear_counts(counted, 0, len(rows), scratch)
    return found


def cut_by_margins(
    space: Space, margins: list[Margin], tests: Tests, least: int, *, saving: bool = False
) -> AxisCut | None:
    """The cut that `partition` makes of a group with these margins, one per axis; None if it makes none."""
    total = int(margins[0].weights.sum())
    if total < 2 * least:
        return None
    tables = [_as_rows(margin, j, len(margins)) for j, margin in enumerate(margins)]
    bits = np.zeros((int(space.axes[:, SIZE].max(initial=1)) + 63) // 64, np.uint64)
    measured = [_measured(space, rows, j, bits) for j, rows in enumerate(tables)]
    left = np.zeros((4, len(margins)))
    left[LEFT] = [width for width, _, _ in measured]
    best, most = None, -1
    while (j := _taken(left)) >= 0:
        margin, rows = margins[j], tables[j]
        sizes = np.array(margin.sizes or [1], np.int64)
        counted = np.zeros((len(rows), len(margin.counted)), np.int32)
        for i, column in enumerate(margin.counted):
            counted[:, i] = column
        scratch, lo, hi = make_scratch(space, len(rows), sizes, deep=saving), measured[j][1], measured[j][2]
        parts, a, b = (_saving_cut if saving else _cut)(
            space, rows, margin.weights.astype(np.int64), counted, sizes, tests.spec, tests.aux,
            costly_tests(tests, int(sizes.max())), max(least, 1), total, j, lo, hi, scratch,
        )  # fmt: skip
        if saving and (parts > most or (best is not None and parts == most and j < best.axis)):
            best, most = AxisCut(j, [(int(a), int(b))]), parts
        elif parts and not saving:
            return AxisCut(j, [(int(a), int(b))] if parts == 1 else _ranges(margin.codes, scratch, lo, parts))
    return best


def _ranges(codes: NDArray[Any], scratch: Scratch, lo: int, parts: int) -> list[tuple[int, int]]:
    """The codes of each part that is split off: a child of a node, so no other part is between them."""
    there = np.unique(codes).astype(np.int64)
    part = scratch.ints[TALLY][there - lo]
    return [(int(there[part == p].min()), int(there[part == p].max()) + 1) for p in range(parts)]


def _as_rows(margin: Margin, j: int, axes: int) -> NDArray[np.int64]:
    """Rows with the codes of one axis; what they show of the others is not looked at."""
    rows = np.zeros((len(margin.codes), axes), np.int64)
    rows[:, j] = margin.codes
    return rows
