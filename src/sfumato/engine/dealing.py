"""Which of equal rows goes where: the people of a vector are dealt out to its groups in a secret order."""

import numpy as np

from sfumato.engine.counts import Counts, Integers
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.errors import SfumatoError
from sfumato.kernel.arrange import sort_order


class Dealer:
    """Gives rows that come one batch after the other the entries of a grouping, as many of each as was decided.

    If all people of a vector go to one group, its only entry is known. Otherwise the entries of each vector, one per
    person, are put in a random order first; the rows of a vector take them in the order in which they come.
    """

    def __init__(self, counts: Counts, grouping: Grouping, draws: Draws) -> None:
        self.whole = len(grouping.vector) == len(counts) and _counts_up(grouping.vector)
        """Whether all people of each vector go to one group: then there is an entry per vector, in the same order."""
        if not np.array_equal(_dealt(counts, grouping, whole=self.whole), counts.weights):
            raise SfumatoError("rows that are left out must be removed before the others are published")
        self._entry = grouping.vector if self.whole else _shuffled(counts, grouping, draws)
        self._next = np.zeros(0, np.int64) if self.whole else np.cumsum(counts.weights) - counts.weights

    def take(self, vectors: Integers) -> Integers:
        """The entries of the next rows, given their vectors."""
        if self.whole:
            return np.asarray(self._entry[vectors])
        vectors = vectors.astype(np.int64, copy=False)
        order = sort_order(vectors, len(self._next))
        ordered = vectors[order]
        begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        lengths = np.diff(np.r_[begins, len(ordered)])
        place = np.arange(len(ordered)) - np.repeat(begins, lengths) + self._next[ordered]
        self._next[ordered[begins]] += lengths
        entries = np.empty(len(vectors), np.int64)
        entries[order] = self._entry[place]
        return entries


def _counts_up(vector: Integers) -> bool:
    """Whether these are 0, 1, 2, …"""
    return not len(vector) or bool(vector[0] == 0 and (np.diff(vector) == 1).all())


def _dealt(counts: Counts, grouping: Grouping, *, whole: bool) -> Integers:
    """How many people of each vector are dealt out; nothing if a vector has no entry."""
    if whole:
        return grouping.number
    starts = np.searchsorted(grouping.vector, np.arange(len(counts) + 1))
    return np.add.reduceat(grouping.number, starts[:-1]) if (np.diff(starts) > 0).all() else np.zeros(1, np.int64)


def _shuffled(counts: Counts, grouping: Grouping, draws: Draws) -> Integers:
    """The entry of each person, one vector after the other, in random order within a vector."""
    order = draws.order(counts.rows)
    order = order[sort_order(counts.vector_of_person[order], len(counts))]
    entries = np.repeat(np.arange(len(grouping.vector), dtype=np.int32), grouping.number)
    return np.asarray(entries[order])
