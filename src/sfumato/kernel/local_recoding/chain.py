"""Move rows along chains of groups: one leaves a dear group for a second, whose row leaves for a third, and so on.

Boxes stay as they are, so a row may only enter a group whose box holds its codes. A group in the middle of a chain may
have no row to spare: it gets one for the one that it gives. Only the first gets smaller, and only the last one larger.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, lean


class Chains(NamedTuple):
    """Working memory of a search, by group: the row by which it was reached or -1, the group that this row would leave,
    and what is saved up to here; ``queue`` lists the groups that are reached.
    """

    row: NDArray[np.int64]
    before: NDArray[np.int64]
    saved: NDArray[np.float64]
    queue: NDArray[np.int64]


@inner
def _make_chains(groups: int) -> Any:
    """No group is reached yet."""
    return Chains(np.full(groups, -1), np.zeros(groups, np.int64), np.zeros(groups), np.zeros(groups, np.int64))


@inner
def _fits(climbs: Any, codes: Any, i: int, g: int, m: Any) -> bool:
    """Whether the box of a group holds a row's codes."""
    for j in range(codes.shape[1]):
        level = m.level[g, j]
        if climbs.node[j, level, m.code[g, j]] != climbs.node[j, level, codes[i, j]]:
            return False
    return True


@inner
def _list_fitting(climbs: Any, codes: Any, m: Any, most: int) -> Any:
    """The groups that each row fits in, one row after the other, and where each begins; none if there are too many."""
    n, number = codes.shape[0], 0
    begin, found = np.zeros(n + 1, np.int64), np.empty(16 * n, np.int64)
    for i in range(n):
        for g in range(len(m.size) - 1):
            if m.size[g] > 0 and _fits(climbs, codes, i, g, m):
                if number == len(found):
                    found = np.concatenate((found, np.empty(number, np.int64)))
                found[number] = g
                number += 1
        begin[i + 1] = number
        if number > most:
            return np.zeros(n + 1, np.int64), found[:0]
    return begin, found[:number]


@lean
def _reach(weights: Any, least: int, source: int, begin: Any, fitting: Any, m: Any, chains: Any) -> Any:
    """Look for chains from a group, short ones first: how many groups are reached, and the one that saves most."""
    chains.queue[0], chains.row[source], chains.saved[source] = source, -2, 0.0
    reached, best, most, done = 1, -1, 0.0, 0
    while done < reached:
        g = chains.queue[done]
        size = m.size[g] + (weights[chains.row[g]] if done > 0 else 0)
        at = m.first[g]
        while at >= 0:
            if size - weights[at] >= least:
                for t in range(begin[at], begin[at + 1]):
                    h = fitting[t]
                    if chains.row[h] != -1:
                        continue
                    chains.row[h], chains.before[h] = at, g
                    chains.saved[h] = chains.saved[g] + weights[at] * (m.cost[g] - m.cost[h])
                    chains.queue[reached] = h
                    reached += 1
                    if chains.saved[h] > most:
                        best, most = h, chains.saved[h]
            at = m.following[at]
        done += 1
    return reached, best


@lean
def unlink(weights: Any, i: int, g: int, m: Any) -> None:
    """Take a row out of a group, which keeps its box."""
    if m.first[g] == i:
        m.first[g] = m.following[i]
    else:
        at = m.first[g]
        while m.following[at] != i:
            at = m.following[at]
        m.following[at] = m.following[i]
    m.size[g] -= weights[i]


@lean
def _pass(weights: Any, i: int, g: int, h: int, group: Any, m: Any) -> None:
    """Let a row leave a group for another one that it fits in; both keep their boxes."""
    unlink(weights, i, g, m)
    m.following[i], m.first[h] = m.first[h], i
    m.size[h] += weights[i]
    group[i] = h


@lean
def _shift(
    weights: Any, least: int, slack: float, source: int, begin: Any, fitting: Any, group: Any, m: Any, chains: Any
) -> bool:  # fmt: skip
    """Move rows along the chain from a group that saves most; returns whether one saves more than ``slack``."""
    reached, h = _reach(weights, least, source, begin, fitting, m, chains)
    better = h >= 0 and chains.saved[h] > slack
    while better and h != source:
        _pass(weights, chains.row[h], chains.before[h], h, group, m)
        h = chains.before[h]
    for t in range(reached):
        chains.row[chains.queue[t]] = -1
    return better


@inner
def shift_along_chains(
    climbs: Any, codes: Any, weights: Any, least: int, slack: float, most: int, group: Any, m: Any
) -> int:  # fmt: skip
    """Shift rows from each group that can spare some, the dearest first; returns how many chains were found.

    Boxes may be wider than needed after that. ``most`` limits how many pairs of rows and groups that fit are listed.
    """
    begin, fitting = _list_fitting(climbs, codes, m, most)
    chains, shifted = _make_chains(len(m.size)), 0
    for source in np.argsort(-m.cost[:-1], kind="mergesort"):
        while m.size[source] > least and _shift(
            weights, least, slack, source, begin, fitting, group, m, chains
        ):  # fmt: skip
            shifted += 1
    return shifted
