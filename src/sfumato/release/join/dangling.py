"""People of one release who match nobody in another: the two are then not about the same population."""

import numpy as np
from numpy.typing import NDArray

from sfumato.release.earlier import Earlier
from sfumato.release.join.first import Keys, keys_of, matching
from sfumato.release.join.links import Links
from sfumato.release.join.names import JoinAttribute
from sfumato.release.join.partition import SidePeople, people
from sfumato.release.join.stack import Stack

Integers = NDArray[np.int64]

_BLOCK = 1 << 22


def unmatched(links: Links, side: Earlier) -> tuple[int, int]:
    """How many people of the first release match nobody in another, and the other way round."""
    first = links.sides[next(iter(links.sides))]
    here, ours = _keyed(first, links.joined(first.name))
    there, theirs = _keyed(side, links.joined(side.name))
    none = np.zeros(len(theirs.row), np.int64)
    labels = {
        JoinAttribute(side.name, n): side.column(n).of_row[there.row[theirs.row]] for n in links.joined(side.name)
    }
    stack = Stack(labels, none, none, none, np.zeros((len(none), 0), np.int64))
    found, met = np.zeros(len(ours.row), np.bool_), np.zeros(stack.words, np.uint64)
    step = max(1, _BLOCK // max(stack.words, 1))
    for begin in range(0, len(ours.row), step):
        bits = matching(links, stack, here.row[ours.row[begin : begin + step]])
        found[begin : begin + step] = bits.any(axis=1)
        met |= np.bitwise_or.reduce(bits, axis=0)
    there_met = np.unpackbits(met.view(np.uint8), bitorder="little")[: len(none)].astype(np.bool_)
    return _lonely(first, here, found[ours.of_row]), _lonely(side, there, there_met[theirs.of_row])


def _keyed(side: Earlier, joined: list[str]) -> tuple[SidePeople, Keys]:
    found = people(side, joined)
    return found, keys_of([side.column(n).of_row[found.row] for n in joined], len(found.row))


def _lonely(side: Earlier, found: SidePeople, met: NDArray[np.bool_]) -> int:
    """How many people have no row that matches."""
    if found.person is None:
        return int(found.weight[~met].sum()) // side.unit
    return len(np.unique(found.person)) - len(np.unique(found.person[met]))
