"""Grow a tree of tests by gain ratio, on counts.

All logarithms come from one table of n·log2(n), so that equal counts give equal numbers everywhere.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.c45.tree import ABOVE, CUT, FIELDS, FIRST, FORKS, HI, LEAF, LO, TEST, sort_out, tell
from sfumato.kernel.jit import inner, kernel

_LEAST = 2
"""The smallest number of rows that at least two branches of a test must have."""

_EPSILON = 1e-3
_MOST_TRIMMED = 25.0
_NO_GAIN = -1.0


def times_log(most: int) -> NDArray[np.float64]:
    """n·log2(n) for n from 0 to ``most``.

    >>> times_log(4).tolist()[2:]
    [2.0, 4.754887502163468, 8.0]
    """
    counts = np.arange(most + 1, dtype=np.float64)
    return counts * np.log2(np.maximum(counts, 1.0))


@inner
def _spread(counts: Any, xlogx: Any) -> float:
    """The entropy of counts times their sum."""
    total = 0
    inside = 0.0
    for count in counts:
        total += count
        inside += xlogx[count]
    return xlogx[total] - inside


@inner
def _by_category(codes: Any, rows: Any, label: Any, weight: Any, counts: Any, table: Any, xlogx: Any) -> Any:
    """The gain of one branch per code, and the entropy of the branch sizes; ``table`` is work space for the counts."""
    for code in range(len(table)):
        for c in range(len(counts)):
            table[code, c] = 0
    for row in rows:
        table[codes[row], label[row]] += weight[row]
    total, large = 0, 0
    inside, sizes = 0.0, 0.0
    for code in range(len(table)):
        size = 0
        for c in range(len(counts)):
            size += table[code, c]
        total += size
        large += size >= _LEAST
        inside += _spread(table[code], xlogx)
        sizes += xlogx[size]
    if large < 2:
        return _NO_GAIN, 0.0
    return (_spread(counts, xlogx) - inside) / total, (xlogx[total] - sizes) / total


@inner
def _by_cut(codes: Any, rows: Any, label: Any, weight: Any, counts: Any, xlogx: Any) -> Any:
    """The best cut of rows sorted by code: gain minus the cost of choosing it, entropy of the sizes, adjacent codes.

    A side has at least two rows, or a tenth of the average class if that is more, but never needs more than 25.
    """
    low, high = np.zeros(len(counts), np.int64), np.empty(len(counts), np.int64)
    total = 0
    for c in range(len(counts)):
        high[c] = counts[c]
        total += counts[c]
    trimmed = max(float(_LEAST), min(0.1 * total / len(counts), _MOST_TRIMMED))
    below, tries, best_size, cut, above = 0, 0, 0, -1, -1
    best = np.inf
    for i in range(len(rows) - 1):
        row, following = rows[i], codes[rows[i + 1]]
        below += weight[row]
        low[label[row]] += weight[row]
        high[label[row]] -= weight[row]
        if codes[row] == following or below < trimmed:
            continue
        if below > total - trimmed:
            break
        tries += 1
        inside = _spread(low, xlogx) + _spread(high, xlogx)
        if inside < best:
            best, best_size, cut, above = inside, below, codes[row], following
    if tries == 0:
        return _NO_GAIN, 0.0, -1, -1
    # xlogx[tries] / tries = log2(tries): the bits it takes to say which of the cuts was chosen (MDL)
    gain = (_spread(counts, xlogx) - best) / total - xlogx[tries] / tries / total
    if gain <= 0:
        return _NO_GAIN, 0.0, -1, -1
    return gain, (xlogx[total] - xlogx[best_size] - xlogx[total - best_size]) / total, cut, above


@inner
def _best(gain: Any, info: Any, usual: Any) -> int:
    """The column with the greatest gain ratio among those of at least average gain; -1 if none gains.

    ``usual`` says which columns count for the average.
    """
    possible, average = 0, 0.0
    for a in range(len(gain)):
        if gain[a] != _NO_GAIN and usual[a]:
            possible += 1
            average += gain[a]
    average = average / possible if possible else 1e6
    chosen, ratio = -1, -_EPSILON
    for a in range(len(gain)):
        if gain[a] != _NO_GAIN and gain[a] >= average - _EPSILON and info[a] > _EPSILON and gain[a] / info[a] > ratio:
            chosen, ratio = a, gain[a] / info[a]
    return chosen


@inner
def _more_room(nodes: Any, needed: int) -> Any:
    if needed <= len(nodes):
        return nodes
    larger = np.empty((2 * needed, FIELDS), np.int64)
    for i in range(len(larger)):
        for field in range(FIELDS):
            larger[i, field] = nodes[i, field] if i < len(nodes) else -1
    return larger


@inner
def _evaluate(
    codes: Any, sizes: Any, place: Any, label: Any, weight: Any, xlogx: Any, order: Any, span: Any, counts: Any,
    room: Any, gain: Any, info: Any, cuts: Any,
) -> None:  # fmt: skip
    """The gain and the entropy of the sizes of the best test on each column, for the rows of a span."""
    lo, hi = span
    for a in range(len(sizes)):
        if place[a] > 0:
            rows = order[place[a], lo:hi]
            gain[a], info[a], cuts[a, 0], cuts[a, 1] = _by_cut(codes[a], rows, label, weight, counts, xlogx)
        else:
            gain[a], info[a] = _by_category(codes[a], order[0, lo:hi], label, weight, counts, room[: sizes[a]], xlogx)


@inner
def _divide(nodes: Any, node: int, used: int, codes: Any, order: Any, branch: Any, room: Any) -> None:
    """Give the branches of a node their rows, in every order; they are the nodes from ``used`` on."""
    lo, hi, test, cut, forks = (
        nodes[node, LO],
        nodes[node, HI],
        nodes[node, TEST],
        nodes[node, CUT],
        nodes[node, FORKS],
    )
    begins = np.zeros(forks + 1, np.int64)
    for row in order[0, lo:hi]:
        branch[row] = codes[test, row] > cut if cut >= 0 else codes[test, row]
        begins[branch[row] + 1] += 1
    for b in range(forks):
        begins[b + 1] += begins[b]
        nodes[used + b, LO], nodes[used + b, HI] = lo + begins[b], lo + begins[b + 1]
        nodes[used + b, LEAF] = nodes[node, LEAF]
    for p in range(len(order)):
        sort_out(order[p, lo:hi], branch, begins, room)


@kernel
def _grow(
    codes: Any, sizes: Any, place: Any, usual: Any, label: Any, weight: Any, classes: int, widest: int, xlogx: Any,
    order: Any,
) -> Any:  # fmt: skip
    """Split every node that gains; ``order[place[a]]`` has the rows sorted by column ``a``, unless that is 0."""
    columns, n = codes.shape
    nodes = _more_room(np.empty((0, FIELDS), np.int64), 32)
    nodes[0, LO], nodes[0, HI] = 0, n
    used, at = 1, 0
    gain, info = np.empty(columns), np.empty(columns)
    cuts = np.empty((columns, 2), np.int64)
    table = np.empty((widest, classes), np.int64)
    branch, room, counts = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(classes, np.int64)
    while at < used:
        node, at = at, at + 1
        lo, hi = nodes[node, LO], nodes[node, HI]
        total, most = tell(order[0, lo:hi], label, weight, counts)
        if total > 0:
            nodes[node, LEAF] = most
        if counts[most] == total or total < 2 * _LEAST:
            continue
        _evaluate(codes, sizes, place, label, weight, xlogx, order, (lo, hi), counts, table, gain, info, cuts)
        test = _best(gain, info, usual)
        if test < 0:
            continue
        forks = 2 if place[test] > 0 else sizes[test]
        nodes = _more_room(nodes, used + forks)
        nodes[node, TEST], nodes[node, FIRST], nodes[node, FORKS] = test, used, forks
        if place[test] > 0:
            nodes[node, CUT], nodes[node, ABOVE] = cuts[test, 0], cuts[test, 1]
        _divide(nodes, node, used, codes, order, branch, room)
        used += forks
    return nodes, used


@kernel
def _collapse(nodes: Any, label: Any, weight: Any, rows: Any, classes: int) -> None:
    """Turn every node whose branches make as many errors on the rows as a leaf would into a leaf."""
    errors, counts = np.zeros(len(nodes), np.int64), np.empty(classes, np.int64)
    for node in range(len(nodes) - 1, -1, -1):
        total, most = tell(rows[nodes[node, LO] : nodes[node, HI]], label, weight, counts)
        errors[node] = total - counts[most]
        if nodes[node, TEST] >= 0:
            inside = 0
            for b in range(nodes[node, FIRST], nodes[node, FIRST] + nodes[node, FORKS]):
                inside += errors[b]
            if inside >= errors[node]:
                nodes[node, TEST] = -1
            errors[node] = inside


def grow(
    codes: NDArray[np.int32],
    sizes: NDArray[np.int64],
    values: list[NDArray[np.float64] | None],
    label: NDArray[np.int64],
    weight: NDArray[np.int64],
    classes: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The whole tree over weighted rows, and the rows in the order of its leaves.

    ``codes[a]`` holds the column ``a``, below ``sizes[a]``; it is ordered where ``values[a]`` gives the ascending
    number of each code. A cut is then the greatest of these numbers up to the middle between its two neighbours.
    """
    ordered = [a for a, numbers in enumerate(values) if numbers is not None]
    place = np.zeros(len(sizes), np.int64)
    place[ordered] = np.arange(1, len(ordered) + 1)
    order = np.empty((len(ordered) + 1, codes.shape[1]), np.int64)
    order[0] = np.arange(codes.shape[1])
    for a in ordered:
        order[place[a]] = np.argsort(codes[a], kind="stable")
    usual = (place > 0) | (sizes < 0.3 * weight.sum())
    usual |= not usual.any()
    xlogx = times_log(int(weight.sum()))
    nodes, used = _grow(codes, sizes, place, usual, label, weight, classes, int(sizes.max()), xlogx, order)
    nodes = nodes[:used].copy()
    for a in ordered:
        here = nodes[:, TEST] == a
        numbers = np.asarray(values[a])
        middle = (numbers[nodes[here, CUT]] + numbers[nodes[here, ABOVE]]) / 2
        nodes[here, CUT] = np.searchsorted(numbers, middle, side="right") - 1
    _collapse(nodes, label, weight, order[0], classes)
    return nodes, order[0]
