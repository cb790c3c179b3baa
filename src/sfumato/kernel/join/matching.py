"""Which entries of the stack a cell matches while its labels are being refined, and if one of them were refined."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner
from sfumato.kernel.topdown import state as r

ATTRIBUTE, JOINED, ROW, APART, WHOLE = range(5)
"""Columns of ``places``: the attribute at a place, whether it is matched, where its labels begin in ``bits`` less their
first number; of a line, the code that no interval contains, and whether the interval of all others hides everything."""

PLACE, FIRST = 0, 1
"""Columns of ``slots``: a line that is matched with a release, and where the labels of that begin in ``prefix``."""


class Match(NamedTuple):
    """How labels are matched: bits per label of trees and sets; on lines, how many codes below each code are consistent
    with each label of another release (``prefix``), and which label each entry has, by ``slots``.

    ``ruled`` has the bits that each rule is about; ``inside`` says for each rule whether a label lies inside (or has
    nothing to do with it), ``keyed`` the same for keys; ``now`` and ``active`` are work space.
    """

    places: NDArray[Any]
    bits: NDArray[Any]
    slots: NDArray[Any]
    prefix: NDArray[Any]
    of_entry: NDArray[Any]
    everything: NDArray[Any]
    ruled: NDArray[Any]
    inside: NDArray[Any]
    keyed: NDArray[Any]
    now: NDArray[Any]
    active: NDArray[Any]


@inner
def _keep_line(match: Match, place: int, lo: int, hi: int) -> None:
    """Keep the entries that are consistent with an interval of codes; one that mixes in missing values hides all."""
    apart = match.places[place, APART]
    if (hi > apart and hi - lo > 1) or (match.places[place, WHOLE] and lo == 0 and hi == apart):
        return
    for slot in range(len(match.slots)):
        if match.slots[slot, PLACE] != place:
            continue
        for h in range(match.of_entry.shape[1]):
            row = match.slots[slot, FIRST] + match.of_entry[slot, h]
            if match.prefix[row, hi] == match.prefix[row, lo]:  # no code in [lo, hi) is consistent
                match.now[h >> 6] &= ~(np.uint64(1) << np.uint64(h & 63))


@inner
def _keep_label(state: r.State, match: Match, place: int, label: int) -> None:
    """Keep the entries that are consistent with a label."""
    if match.places[place, JOINED] == 0:
        return
    attribute = match.places[place, ATTRIBUTE]
    if state.attributes[attribute, r.KIND] == r.LINE:
        _keep_line(match, place, state.labels[label, r.LO], state.labels[label, r.HI])
        return
    row = match.places[place, ROW] + label
    for word in range(len(match.now)):
        match.now[word] &= match.bits[row, word]


@inner
def narrow(state: r.State, match: Match, shown: Any, cell: int, place: int, label: int, lo: int, hi: int) -> None:
    """The entries that a cell can match, and the rules that apply to it, as if it showed another label at a place.

    ``lo`` and ``hi`` are the codes of the other label if it is an interval; a ``place`` of -1: as it is.
    """
    for word in range(len(match.now)):
        match.now[word] = match.everything[word]
    for rule in range(len(match.ruled)):
        match.active[rule] = True
    for p in range(len(match.places)):
        other = label if p == place else shown[p, cell]
        if p == place and state.attributes[match.places[p, ATTRIBUTE], r.KIND] == r.LINE:
            if match.places[p, JOINED]:
                _keep_line(match, p, lo, hi)
            continue
        _keep_label(state, match, p, other)
        for rule in range(len(match.ruled)):
            if not match.inside[rule, other]:
                match.active[rule] = False
