"""Groups from the frontier: rows on a line, in buckets of equal values, taken from the low end of each."""

from typing import Any

import numpy as np

from sfumato.kernel.jit import inner, kernel


@inner
def _most(left: Any) -> int:
    """How many rows the fullest bucket has."""
    most = np.int64(0)
    for v in range(len(left)):
        most = max(most, left[v])
    return most


@inner
def _lowest(left: Any, at: Any, rows: Any, rank: Any, taken: Any, want: int) -> None:
    """Mark the ``want`` buckets whose first row left lies lowest."""
    for v in range(len(left)):
        taken[v] = False
    for _ in range(want):
        best = -1
        for v in range(len(left)):
            if left[v] > 0 and not taken[v] and (best < 0 or rank[rows[at[v]]] < rank[rows[at[best]]]):
                best = v
        taken[best] = True


@inner
def _fullest(left: Any, taken: Any, want: int) -> None:
    """Mark the ``want`` fullest buckets, the first of equals first."""
    for v in range(len(left)):
        taken[v] = False
    for _ in range(want):
        best = -1
        for v in range(len(left)):
            if left[v] > 0 and not taken[v] and (best < 0 or left[v] > left[best]):
                best = v
        taken[best] = True


@inner
def _rest_holds(left: Any, taken: Any, total: int, want: int, l: int) -> bool:
    """Whether what remains after taking one row of each marked bucket is l-diverse."""
    most = np.int64(0)
    for v in range(len(left)):
        most = max(most, left[v] - np.int64(taken[v]))
    return total - want >= l * most


@kernel
def greedy_groups(rows: Any, first: Any, rank: Any, l: int, ahead: bool, out: Any) -> int:
    """Split groups off the low end until no row is left; returns how many groups, or -1 if that is impossible.

    Rows of value ``v`` are ``rows[first[v] : first[v + 1]]``, by rank. Looking ``ahead``: take the l
    lowest rows of different values if the rest holds even in the worst case, otherwise all that is left.
    Without looking ahead: take the fewest lowest rows, at least l, such that the rest is l-diverse; if no number
    works, take rows of the fullest values instead.
    """
    values = len(first) - 1
    left, at = np.empty(values, np.int64), np.empty(values, np.int64)
    taken = np.empty(values, np.bool_)
    total = np.int64(0)
    for v in range(values):
        left[v], at[v] = first[v + 1] - first[v], first[v]
        total += left[v]
    groups = 0
    while total > 0:
        filled = 0
        for v in range(values):
            filled += left[v] > 0
        want = l
        if ahead:
            # in the worst case none of the l rows has the most frequent value, and the rest keeps all of it
            if total - l < l * _most(left):
                for v in range(values):
                    for i in range(at[v], at[v] + left[v]):
                        out[rows[i]] = groups
                return groups + 1
            _lowest(left, at, rows, rank, taken, want)
        else:
            found = False  # one more value at a time, until no value has more than 1/l of the rest
            while want <= filled and not found:
                _lowest(left, at, rows, rank, taken, want)
                found = _rest_holds(left, taken, total, want, l)
                want += not found
            if not found:  # the frontier leaves a frequent value too full: take from the fullest instead
                want = l
                while want <= filled and not found:
                    _fullest(left, taken, want)
                    found = _rest_holds(left, taken, total, want, l)
                    want += not found
            if not found:
                return -1
        for v in range(values):
            if taken[v]:
                out[rows[at[v]]] = groups
                at[v] += 1
                left[v] -= 1
        total -= want
        groups += 1
    return groups
