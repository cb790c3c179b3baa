"""For each counted value of a leaf, how many hidden values of a set have it: kept up as values are disclosed.

Let a template count the illnesses of each group, and let the hidden values be towns. A town's own illnesses stay as
they are while it is hidden. The rest without it has all illnesses of the leaf but the *lonely* ones, which no other
hidden town has. So it is enough to know how many towns have each illness, and which one has a lonely illness:
the sum of the codes of the towns that have it.
"""

import numpy as np

from sfumato.kernel.jit import lean
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.state import State


@lean
def tally(state: State, j: int, place: int, leaf: int) -> int:
    """Tally a leaf that was just counted, whose rows are in the order of the counted values.

    Returns how many of these are lonely. The tallies of a leaf begin where its rows do, one for each counted value.
    """
    templates, rows, tallies = state.templates, state.rows, state.tallies
    first, number, width = templates[j, r.LEAF], templates[j, r.NUMBER], templates[j, r.WIDTH]
    links, codes = templates[j, r.LINKS] + place, templates[j, r.ROWS] + place * number
    counted = templates[j, r.ROWS] + (templates[j, r.COLUMNS] - 2) * number
    begin, end = state.leaves[first + leaf, r.BEGIN], state.leaves[first + leaf, r.END]
    slot, last, lonely = begin - 1, np.int64(-1), np.int64(0)
    for i in range(begin, end):
        row = np.int64(state.order[first + i])
        code, value = np.int64(rows[codes + row]), np.int64(rows[counted + row])
        new = value != last
        slot, last = slot + new, value
        at = links + slot * width
        if new:
            tallies[r.HAVE_IT, at], tallies[r.CODES, at], tallies[r.LEFT, at] = 0, 0, -1
        tallies[r.TALLY_OF, links + row * width] = slot
        # LAST was the last counted value of the code; from here on it tells the last tally, as a negative number
        if state.cells[code, r.LAST] != -1 - slot:
            state.cells[code, r.LAST] = -1 - slot
            tallies[r.HAVE_IT, at] += 1
            tallies[r.CODES, at] += code
            if tallies[r.HAVE_IT, at] == 1:
                lonely += 1
            elif tallies[r.HAVE_IT, at] == 2:
                lonely -= 1
    return lonely


@lean
def take_out(state: State, j: int, attribute: int, code: int) -> None:
    """Take a value that is disclosed out of the tallies of the leaves that have it."""
    tallies, tops, width = state.tallies, state.tops, state.templates[j, r.WIDTH]
    links = state.templates[j, r.LINKS] + state.places[j, attribute, r.PLACE]
    listed = state.places[j, attribute, r.INDEX] + code
    for i in range(state.index[listed], state.index[listed + 1]):
        row = np.int64(state.listed[i])
        leaf = links + state.where[r.LEAF_OF, state.templates[j, r.LEAF] + row] * width
        if tops[r.MOST, leaf] < 0:
            continue
        at = links + tallies[r.TALLY_OF, links + row * width] * width
        if tallies[r.LEFT, at] == code:
            continue
        tallies[r.LEFT, at] = code
        tallies[r.HAVE_IT, at] -= 1
        tallies[r.CODES, at] -= code
        if tallies[r.HAVE_IT, at] == 0:
            tops[r.LONELY, leaf] -= 1
            tops[r.TOTAL, leaf] -= 1
        elif tallies[r.HAVE_IT, at] == 1:
            tops[r.LONELY, leaf] += 1
            if tallies[r.CODES, at] == tops[r.HOLDER, leaf]:
                tops[r.HOLDER_ALONE, leaf] += 1
