"""Which labels of a common attribute can mean the same value in two releases (Fung, section 6.1.3).

Two labels are consistent if, by what both publishers say, some value may be under both: nodes on one path of a tree,
intervals that overlap, a value and an interval or a mask around it, and ``*`` with everything. This is the loosest
reading. If all join attributes are in X, that is the safe side: every matching pair of partitions is a group of its
own, so an adversary who rules out some of the pairs sees a part of the groups and no new one.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.release.earlier import EarlierColumn
from sfumato.release.label_meaning import Interval, fits, shown_ends
from sfumato.table.names import MISSING, SUPPRESSED
from sfumato.table.numbers import day_number, number_of

Integers = NDArray[np.int64]


class Relation(NamedTuple):
    """The consistent labels: those of the other side for label ``i`` are ``other[start[i]:start[i + 1]]``, sorted."""

    start: Integers
    other: Integers

    def of(self, label: int) -> Integers:
        """The labels of the other side that are consistent with one of this side."""
        return self.other[self.start[label] : self.start[label + 1]]

    def turned(self, others: int) -> "Relation":
        """The same relation from the other side, which has this many labels."""
        mine = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        order = np.argsort(self.other, kind="stable")
        ends = np.cumsum(np.bincount(self.other, minlength=others))
        return Relation(np.append(0, ends), mine[order])


class _Said(NamedTuple):
    """What a label may mean: everything, values by name, masks with hidden characters, and intervals."""

    everything: bool
    names: frozenset[str]
    masks: tuple[str, ...]
    intervals: tuple[Interval, ...]


def consistency(mine: EarlierColumn, theirs: EarlierColumn) -> Relation:
    """Which labels of the two columns are consistent.

    >>> from sfumato.release.label_meaning import parse_label
    >>> from sfumato.table.encode import Kind, Role
    >>> def column(**nodes):
    ...     meanings = tuple(parse_label(label, meaning) for label, meaning in nodes.items())
    ...     return EarlierColumn("born", Role.QUASI, Kind.CATEGORICAL, tuple(nodes), np.zeros(0), meanings)
    >>> found = consistency(column(Europe=["UK", "FR"], US=["US"]), column(UK=["UK"], West=["FR", "US"]))
    >>> found.of(0).tolist(), found.of(1).tolist()
    ([0, 1], [1])
    """
    numeric = any(m.interval for column in (mine, theirs) for m in column.meanings)
    ours, other = (_said(a, b, numeric=numeric) for a, b in ((mine, theirs), (theirs, mine)))
    lists = _Others(other)
    found = [lists.consistent_with(said) for said in ours]
    ends = np.cumsum([len(f) for f in found])
    return Relation(np.append(0, ends).astype(np.int64), np.concatenate([np.zeros(0, np.int64), *found]))


def _said(column: EarlierColumn, other: EarlierColumn, *, numeric: bool) -> list[_Said]:
    """What each label may mean; a node that its own side does not explain is looked up on the other."""
    found = []
    values = {
        label for label, m in zip(column.labels, column.meanings, strict=True) if m.listed and m.names == (label,)
    }
    for label, meaning in zip(column.labels, column.meanings, strict=True):
        if not meaning.listed and meaning.names == (SUPPRESSED,):
            found.append(_Said(True, frozenset(meaning.names), (), ()))
            continue
        below = () if meaning.listed else column.below(label) or other.below(label) or (label,)
        names = meaning.names if meaning.listed else below
        masks = tuple(n for n in names if SUPPRESSED in n and n not in values)
        intervals = (meaning.interval,) if meaning.interval else tuple(_intervals(names)) if numeric else ()
        found.append(_Said(False, frozenset(names), masks, intervals))
    return found


def _intervals(names: Iterable[str]) -> Iterable[Interval]:
    """The names that are numbers, days, or intervals of these."""
    for name in names:
        if name == MISSING:
            continue
        number = number_of(name)
        number = day_number(name) if number is None else number
        ends = shown_ends(name) if number is None else (number, float(np.nextafter(number, np.inf)))
        if ends is not None:
            yield ends


class _Others:
    """The labels of the other side, indexed by what they may mean."""

    def __init__(self, said: Sequence[_Said]) -> None:
        self.said = said
        self.everything = np.array([i for i, s in enumerate(said) if s.everything], np.int64)
        self.by_name: dict[str, list[int]] = {}
        for i, s in enumerate(said):
            for name in s.names:
                self.by_name.setdefault(name, []).append(i)
        self.masks = [(mask, i) for i, s in enumerate(said) for mask in s.masks]
        spans = [(low, high, i) for i, s in enumerate(said) for low, high in s.intervals]
        self.low, self.high = (np.array([s[j] for s in spans], np.float64) for j in (0, 1))
        self.at = np.array([s[2] for s in spans], np.int64)

    def consistent_with(self, mine: _Said) -> Integers:
        """The labels that can mean a value that this one can mean."""
        if mine.everything:
            return np.arange(len(self.said))
        by_name = [i for name in mine.names for i in self.by_name.get(name, ())]
        by_mask = [i for mask, i in self.masks if any(_can_fit(name, mask) for name in mine.names)]
        by_mask += [i for mask in mine.masks for name, at in self.by_name.items() if _can_fit(name, mask) for i in at]
        near = [self.at[(self.low < high) & (low < self.high)] for low, high in mine.intervals]
        found = np.concatenate([self.everything, np.array([*by_name, *by_mask], np.int64), *near])
        return np.asarray(np.unique(found), np.int64)


def _can_fit(name: str, mask: str) -> bool:
    """Whether a value, or some value under another mask, is under a mask.

    >>> _can_fit("4711", "47**"), _can_fit("4*1*", "47**"), _can_fit("48**", "47**")
    (True, True, False)
    """
    if fits(name, mask) or fits(mask, name):
        return True
    return len(name) == len(mask) and all(a == b or SUPPRESSED in (a, b) for a, b in zip(name, mask, strict=True))
