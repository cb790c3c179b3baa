"""Top-down refinement that is judged by a join: every candidate is judged anew where a refinement touched its cells.

Refining a label can undo a violation as well as cause one, so nothing is ruled out for good.
"""

from typing import Any

import numpy as np

from sfumato.kernel.jit import inner, kernel
from sfumato.kernel.join import matching as m
from sfumato.kernel.join.cells import BEGIN, END, Template
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.choice import leader
from sfumato.kernel.topdown.counting import count_pending
from sfumato.kernel.topdown.scores import involved, loss
from sfumato.kernel.topdown.steps import begin, refine
from sfumato.kernel.topdown.xlogx import GAIN_BITS


@inner
def _gather_labels(t: Template, place: int, ahead: Any, fails: Any) -> None:
    """What refining each label of a tree or a line would leave: its own cells refined, all others as they are."""
    cells = t.cells
    lowest, second, at = np.inf, np.inf, np.int64(-1)
    for cell in range(cells.number[0]):
        if cells.own[cell] < lowest or at < 0:
            lowest, at = cells.own[cell], cells.shown[place, cell]
    for cell in range(cells.number[0]):
        label = cells.shown[place, cell]
        if label != at:
            second = min(second, cells.own[cell])
        ahead[label] = np.inf
        fails[label] = False
    for cell in range(cells.number[0]):
        label, slot = cells.shown[place, cell], cells.ends[cell, BEGIN]
        others = second if label == at else lowest
        ahead[label] = min(ahead[label], cells.then[place, slot], others)
        fails[label] = fails[label] or cells.bad[place, slot]


@inner
def _gather_values(t: Template, place: int, rest: int, base: int, ahead: Any, fails: Any, stamp: Any) -> None:
    """The same for each hidden value of a set: the cells that have it, and all others as they are."""
    cells = t.cells
    for value in range(base, rest):
        ahead[value] = np.inf
        fails[value] = False
        stamp[value] = -1
    lowest, at = np.inf, np.int64(-1)
    for cell in range(cells.number[0]):
        if cells.own[cell] < lowest or at < 0:
            lowest, at = cells.own[cell], cell
    # where the lowest cell has a value, the lowest of the cells without it has to be looked for
    for cell in range(cells.number[0]):
        hidden = cells.shown[place, cell] == rest
        for slot in range(cells.ends[cell, BEGIN], cells.ends[cell, END]):
            value = cells.which[place, slot]
            if not hidden or value < 0:
                break
            stamp[value] = cell
            ahead[value] = min(ahead[value], cells.then[place, slot])
            fails[value] = fails[value] or cells.bad[place, slot]
        if cells.shown[place, at] == rest:
            for slot in range(cells.ends[at, BEGIN], cells.ends[at, END]):
                value = cells.which[place, slot]
                if value < 0:
                    break
                if stamp[value] != cell:
                    ahead[value] = min(ahead[value], cells.own[cell])
    for value in range(base, rest):
        stamp[value] = -1
    if cells.shown[place, at] == rest:
        for slot in range(cells.ends[at, BEGIN], cells.ends[at, END]):
            if cells.which[place, slot] < 0:
                break
            stamp[cells.which[place, slot]] = at
    for value in range(base, rest):
        if stamp[value] != at:
            ahead[value] = min(ahead[value], lowest)


@kernel
def gather(state: r.State, t: Template, ahead: Any, fails: Any, stamp: Any) -> int:
    """What refining each label would leave, and whether a group would fail; returns the cell that is worst now.

    A refinement after which nothing matches any more fails too: nothing could be said about such a join.
    """
    for place in range(len(t.cells.codes)):
        attribute = t.match.places[place, m.ATTRIBUTE]
        base, rest = state.attributes[attribute, r.BASE], state.attributes[attribute, r.SPARE]
        if state.attributes[attribute, r.KIND] == r.SET:
            _gather_values(t, place, rest, base, ahead, fails, stamp)
        else:
            _gather_labels(t, place, ahead, fails)
    for label in range(len(ahead)):
        fails[label] = fails[label] or ahead[label] == np.inf
    at = 0
    for cell in range(t.cells.number[0]):
        if t.cells.own[cell] < t.cells.own[at]:
            at = cell
    return at


@inner
def _score(state: r.State, label: int, ahead: Any, now: Any, involves: Any, lost: Any) -> float:
    """The gain, or the gain by the average loss plus one (Eq. 4.1); a template that a refinement improves loses
    nothing."""
    attribute = state.labels[label, r.ATTRIBUTE]
    unit = np.float64(1 << GAIN_BITS)
    gain = np.float64(state.labels[label, r.GAIN])
    if state.run[r.MEASURE] == r.INFORMATION:
        gain /= unit
    number, losses = np.float64(involved(state, label)), np.float64(loss(state, label)) / unit
    for j in range(len(now)):
        if involves[j, attribute]:
            number += 1.0
            losses += now[j] - ahead[j, label] if ahead[j, label] < now[j] else 0.0
    lost[0] = losses / number if number > 0 else 0.0
    if not state.run[r.PER_LOSS] or number == 0:
        return gain
    return gain * number / (losses + number)


@kernel
def choose(state: r.State, ahead: Any, fails: Any, now: Any, involves: Any, lost: Any) -> int:
    """The best candidate that every template allows; -1 if there is none.

    A candidate that a template of the join does not allow now is passed over and stays a candidate.
    """
    if state.run[r.BEGUN] == 0:
        begin(state)
    while True:
        for i in range(state.run[r.CANDIDATES]):
            label = state.labels[i, r.LISTED]
            if state.labels[label, r.STATUS] != r.LIVE:
                continue
            attribute, allowed = state.labels[label, r.ATTRIBUTE], True
            for j in range(len(now)):
                allowed = allowed and not (involves[j, attribute] and fails[j, label])
            state.score[label] = _score(state, label, ahead, now, involves, lost) if allowed else -1.0
            state.labels[label, r.DIRTY] = 0
        state.run[r.STALE] = 0
        best = leader(state)
        if best < 0 or state.score[best] < 0:
            return -1
        attribute = state.labels[best, r.ATTRIBUTE]
        is_set = state.attributes[attribute, r.KIND] == r.SET
        if not count_pending(state, state.attributes[attribute, r.SPARE] if is_set else best):
            _score(state, best, ahead, now, involves, lost)
            return best


@kernel
def take(state: r.State, label: int, room: Any) -> None:
    """Refine a label in all templates of the table alone."""
    refine(state, label, room)


@kernel
def start(state: r.State) -> None:
    """Offer the first candidates, so that cells can be judged for them."""
    if state.run[r.BEGUN] == 0:
        begin(state)
