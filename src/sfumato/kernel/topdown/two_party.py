"""Top-down refinement one step at a time, where some attributes are mirrors of those that another party holds.

A mirrored attribute has a code per record, and its labels come from outside, as they are revealed: which part of a
label each record falls into. Its labels are live, so that leaves are listed under them, but never candidates.
"""

from typing import Any

from sfumato.kernel.jit import kernel
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.choice import winner
from sfumato.kernel.topdown.counting import count_pending
from sfumato.kernel.topdown.parting import NEW, note
from sfumato.kernel.topdown.scores import involved, loss, offer, offer_set
from sfumato.kernel.topdown.state import State, kill
from sfumato.kernel.topdown.steps import _list_fresh, _show, _split, refine


@kernel
def begin(state: State, mirrors: Any) -> None:
    """Offer the first candidates, of attributes that are not mirrors, and list the one leaf of each template."""
    for attribute in range(len(state.attributes)):
        base = state.attributes[attribute, r.BASE]
        if mirrors[attribute]:
            state.labels[base, r.STATUS] = r.LIVE
        elif state.attributes[attribute, r.KIND] == r.SET:
            offer_set(state, attribute)
        else:
            offer(state, base)
            _show(state, base)
    for j in range(len(state.templates)):
        note(state.leaves, state.run, j, 0, NEW)
    _list_fresh(state, 0)
    state.run[r.BEGUN] = 1


@kernel
def best(state: State, found: Any) -> float:
    """The score of the best valid candidate, -1 if there is none.

    ``found`` gets its label, its gain, the summed loss and over how many templates that is summed.
    """
    label = winner(state)
    found[0] = label
    if label < 0:
        return -1.0
    found[1] = state.labels[label, r.GAIN]
    found[2] = loss(state, label)
    found[3] = involved(state, label)
    return state.score[label]


@kernel
def perform(state: State, label: int, room: Any) -> None:
    """Refine an own candidate."""
    refine(state, label, room)


@kernel
def follow(state: State, label: int, records: Any, room: Any) -> bool:
    """Split a label of a mirrored attribute as its codes' branches say; whether every template still holds.

    The parts are live labels already; ``records`` are those under the label. If a template does not hold, nothing is
    split.
    """
    attribute = state.labels[label, r.ATTRIBUTE]
    count_pending(state, label)
    if state.labels[label, r.STATUS] != r.LIVE:
        return False
    first, parts = state.labels[label, r.FIRST], state.labels[label, r.PARTS]
    for j in range(len(state.templates)):
        if state.places[j, attribute, r.PLACE] >= 0:
            _split(state, j, label, label, -1, parts, room)
    kill(state.labels, state.attributes, label)
    offset = state.attributes[attribute, r.OFFSET]
    for record in records:
        state.codes[r.SHOWN, offset + record] = first + state.codes[r.BRANCH, offset + record]
    _list_fresh(state, attribute)
    return True
