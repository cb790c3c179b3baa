"""Prune a tree of tests by its expected errors on new rows."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.c45.tree import FIELDS, FIRST, FORKS, HI, LEAF, LO, TEST, sort_out, tell, way
from sfumato.kernel.jit import inner, kernel


@inner
def extra_errors(rows: float, errors: float, confidence: float, deviation: float) -> float:
    """How many more errors than seen a leaf is expected to make: the upper end of a confidence interval.

    ``deviation`` is the squared normal deviate of ``confidence`` (Quinlan, C4.5, section 4.2).
    """
    if errors == 0:  # the rate e at which no error in so many rows has this probability: (1 - e)^rows = confidence
        return rows * (1.0 - math.exp(math.log(confidence) / rows))
    if errors + 0.5 >= rows:
        return 0.67 * (rows - errors)
    more = errors + 0.5
    share = more + deviation / 2 + math.sqrt(deviation * (more * (1 - more / rows) + deviation / 4))
    return rows * share / (rows + deviation) - errors


@inner
def _below(nodes: Any, top: int, list_: Any) -> int:
    """List a node and all below it, a node before its branches; returns how many."""
    list_[0] = top
    listed, at = 1, 0
    while at < listed:
        node = list_[at]
        at += 1
        if nodes[node, TEST] >= 0:
            for b in range(nodes[node, FORKS]):
                list_[listed] = nodes[node, FIRST] + b
                listed += 1
    return listed


@inner
def _route(nodes: Any, list_: Any, listed: int, codes: Any, rows: Any, branch: Any, room: Any) -> None:
    """Give every listed node its rows again, from those of the first."""
    for i in range(listed):
        node = list_[i]
        if nodes[node, TEST] < 0:
            continue
        lo, hi, first, forks = nodes[node, LO], nodes[node, HI], nodes[node, FIRST], nodes[node, FORKS]
        begins = np.zeros(forks + 1, np.int64)
        for row in rows[lo:hi]:
            branch[row] = way(nodes, node, codes, row) - first
            begins[branch[row] + 1] += 1
        for b in range(forks):
            begins[b + 1] += begins[b]
            nodes[first + b, LO], nodes[first + b, HI] = lo + begins[b], lo + begins[b + 1]
        sort_out(rows[lo:hi], branch, begins, room)


@inner
def _fare(
    nodes: Any, top: int, rows: Any, codes: Any, label: Any, weight: Any, confidence: float, deviation: float,
    tally: Any, list_: Any,
) -> float:  # fmt: skip
    """The errors expected of the tree below ``top`` if all these rows went there."""
    listed = _below(nodes, top, list_)
    for i in range(listed):
        for c in range(tally.shape[1]):
            tally[list_[i], c] = 0
    for row in rows:
        node = top
        while nodes[node, TEST] >= 0:
            node = way(nodes, node, codes, row)
        tally[node, label[row]] += weight[row]
    expected = 0.0
    for i in range(listed):
        total, most = 0, 0
        for c in range(tally.shape[1]):
            total += tally[list_[i], c]
            most = max(most, tally[list_[i], c])
        if total > 0:
            errors = total - most
            expected += errors + extra_errors(total, errors, confidence, deviation)
    return expected


@inner
def _branches(nodes: Any, node: int, rows: Any, weight: Any, expected: Any) -> Any:
    """The errors expected of all branches together, and the largest branch, the last of equals."""
    first = nodes[node, FIRST]
    total, largest, most = 0.0, first, 1
    for b in range(first, first + nodes[node, FORKS]):
        total += expected[b]
        size = 0
        for row in rows[nodes[b, LO] : nodes[b, HI]]:
            size += weight[row]
        if size >= most:
            largest, most = b, size
    return total, largest


@kernel
def _prune(
    nodes: Any, codes: Any, label: Any, weight: Any, rows: Any, classes: int, confidence: float, deviation: float
) -> Any:
    """Replace nodes, bottom up, by a leaf or by their largest branch if that is expected to make no more errors."""
    n = codes.shape[1]
    branch, room, counts = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(classes, np.int64)
    list_ = np.empty(len(nodes), np.int64)
    tally = np.zeros((len(nodes), classes), np.int64)
    expected = np.zeros(len(nodes))
    todo = np.empty(len(nodes), np.int64)
    waiting = _below(nodes, 0, todo)
    while waiting > 0:  # a node is listed before its branches, so from the end it is bottom up
        waiting -= 1
        node = todo[waiting]
        lo, hi = nodes[node, LO], nodes[node, HI]
        expected[node] = 0.0
        if lo == hi:
            continue
        total, most = tell(rows[lo:hi], label, weight, counts)
        if counts[nodes[node, LEAF]] < counts[most]:
            nodes[node, LEAF] = most
        errors = total - counts[most]
        as_leaf = errors + extra_errors(total, errors, confidence, deviation)
        expected[node] = as_leaf
        if nodes[node, TEST] < 0:
            continue
        as_tree, largest = _branches(nodes, node, rows, weight, expected)
        as_branch = _fare(nodes, largest, rows[lo:hi], codes, label, weight, confidence, deviation, tally, list_)
        # C4.5 prefers the simpler tree even if it is expected to make up to 0.1 errors more.
        if as_leaf <= as_branch + 0.1 and as_leaf <= as_tree + 0.1:
            nodes[node, TEST] = -1
        elif as_branch <= as_tree + 0.1:
            for field in range(TEST, FIELDS):
                nodes[node, field] = nodes[largest, field]
            # the branch that moves up gets its siblings' rows too, so everything below is judged again
            listed = _below(nodes, node, todo[waiting:])
            _route(nodes, todo[waiting:], listed, codes, rows, branch, room)
            waiting += listed
        else:
            expected[node] = as_tree
    return expected[0]


def prune(
    nodes: NDArray[np.int64],
    codes: NDArray[np.int32],
    label: NDArray[np.int64],
    weight: NDArray[np.int64],
    rows: NDArray[np.int64],
    classes: int,
    confidence: float,
    deviation: float,
) -> float:
    """Prune a grown tree in place; returns the expected errors of what is left."""
    return float(_prune(nodes, codes, label, weight, rows, classes, confidence, deviation))
