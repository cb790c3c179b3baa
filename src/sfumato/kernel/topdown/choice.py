"""Which candidate is refined next: the one with the best score, found without looking at all of them."""

import numpy as np

from sfumato.kernel.jit import lean
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.counting import count_pending
from sfumato.kernel.topdown.scores import loss, rescore
from sfumato.kernel.topdown.state import State


@lean
def _better(state: State, label: int, best: int) -> int:
    """Which of two candidates looks better; of equals the first by attribute, then by value. ``best`` may be -1."""
    labels, score = state.labels, state.score
    if best < 0 or score[label] > score[best]:
        return label
    if score[label] == score[best]:
        ours, theirs = labels[label, r.ATTRIBUTE], labels[best, r.ATTRIBUTE]
        if ours < theirs or (ours == theirs and labels[label, r.LO] < labels[best, r.LO]):
            return label
    return best


@lean
def _look_through(state: State, kind: int) -> None:
    """Find the first of the live values with the same class counts, and the first that costs least."""
    labels, alike, members = state.labels, state.alike, state.members
    begin, number, least = alike[kind, r.MEMBERS], np.int64(0), np.int64(0)
    alike[kind, r.CHEAPEST] = -1
    for i in range(begin, begin + alike[kind, r.NUMBER_OF]):
        label = np.int64(members[i])
        if labels[label, r.STATUS] != r.LIVE:
            continue
        members[begin + number] = label
        number += 1
        cost = loss(state, label) if state.run[r.PER_LOSS] else np.int64(0)
        if number == 1 or cost < least:
            alike[kind, r.CHEAPEST], least = label, cost
    alike[kind, r.NUMBER_OF] = number
    alike[kind, r.FIRST_OF] = members[begin] if number > 0 else np.int64(-1)
    if number > 0:
        labels[alike[kind, r.CHEAPEST], r.DIRTY] = 0


@lean
def _best_alike(state: State, attribute: int, best: int) -> int:
    """The better of a candidate and the best hidden value of a set whose values are kept by class counts.

    A value can only come to cost more as long as what the templates attain stays, so the cheapest of its kind is the
    cheapest until it is refined, ruled out or counted worse. If disclosing gains nothing, all scores are the same.
    """
    labels, alike, first = state.labels, state.alike, state.attributes[attribute, r.ALIKE]
    for kind in range(first, first + state.attributes[attribute, r.KINDS]):
        if alike[kind, r.NUMBER_OF] == 0:
            continue
        one, other = alike[kind, r.CHEAPEST], alike[kind, r.FIRST_OF]
        gone = labels[one, r.STATUS] != r.LIVE or labels[other, r.STATUS] != r.LIVE
        if state.run[r.STALE] or gone or labels[one, r.DIRTY]:
            _look_through(state, kind)
        label = alike[kind, r.CHEAPEST] if alike[kind, r.GAIN_OF] > 0 else alike[kind, r.FIRST_OF]
        if label >= 0:
            labels[label, r.GAIN] = alike[kind, r.GAIN_OF]
            dirty = labels[label, r.DIRTY]
            rescore(state, label)
            labels[label, r.DIRTY] = dirty
            best = _better(state, label, best)
    return best


@lean
def leader(state: State) -> int:
    """The candidate that looks best; of equals the first by attribute, then by value. -1: there is none."""
    labels, run = state.labels, state.run
    best = np.int64(-1)
    i = 0
    while i < run[r.CANDIDATES]:
        label = labels[i, r.LISTED]
        if labels[label, r.STATUS] != r.LIVE:
            run[r.CANDIDATES] -= 1
            labels[i, r.LISTED] = labels[run[r.CANDIDATES], r.LISTED]
            continue
        i += 1
        if labels[label, r.DIRTY] or run[r.STALE]:
            rescore(state, label)
        best = _better(state, label, best)
    for attribute in range(len(state.attributes)):
        best = _best_alike(state, attribute, best)
    run[r.STALE] = 0
    return best


@lean
def winner(state: State) -> int:
    """The valid candidate with the best score; -1: there is none.

    A leaf that has not been counted can only make a candidate worse. So the one that looks best is counted
    completely; if it still looks best, it is (lazy evaluation).
    """
    while True:
        label = leader(state)
        if label < 0:
            return label
        attribute = state.labels[label, r.ATTRIBUTE]
        is_set = state.attributes[attribute, r.KIND] == r.SET
        if not count_pending(state, state.attributes[attribute, r.SPARE] if is_set else label):
            return label
