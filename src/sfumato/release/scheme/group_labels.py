"""The generalization scheme: each group shows one label per quasi-identifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping, Groups
from sfumato.kernel.arrange import by_group
from sfumato.kernel.axes import Axis, Space, make_space, summarize
from sfumato.kernel.group import group_rows
from sfumato.table.domain import BoxLabel, Domain
from sfumato.table.domain import Meaning as Meaning
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata
from sfumato.table.names import SUPPRESSED

_MASKS = 1 << 62
"""More than there are sets of siblings in a node, which are bit sets."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What groups show of a quasi-identifier: labels, what each means, the share of the domain that it hides.

    ``of_group`` is the label of each group; the share of a single value is 0. If labels are boxes, ``ranges`` gives
    the ranks of the ends of each among all ends.
    """

    name: str
    labels: Sequence[str]
    meanings: Sequence[Meaning]
    shares: NDArray[np.float64]
    of_group: NDArray[np.int64]
    ranges: dict[str, list[int]] | None = None

    @cached_property
    def nodes(self) -> dict[str, Meaning]:
        """The labels that some group shows, in text order, with their meanings."""
        there = np.bincount(self.of_group, minlength=len(self.labels)) > 0
        told = {label: meaning for label, meaning, here in zip(self.labels, self.meanings, there, strict=True) if here}
        return {label: told[label] for label in sorted(told)}

    def loss(self, sizes: NDArray[np.int64]) -> float:
        """The share of the domain that the labels hide on average, given how many rows each group has."""
        return round(float(np.average(self.shares[self.of_group], weights=sizes)), 4)

    def numbered(self) -> NDArray[np.int64]:
        """A number for the label of each group: labels with the same text share one."""
        if len(set(self.labels)) == len(self.labels):
            return self.of_group
        number = {label: i for i, label in enumerate(dict.fromkeys(self.labels))}
        return np.array([number[label] for label in self.labels], np.int64)[self.of_group]


def space_of(columns: list[Column], *, sets: bool) -> Space:
    """The axes of the quasi-identifiers."""
    return make_space([Axis(**c.domain.axis(sets=sets)) for c in columns])


def show(counts: Counts | Microdata, group: NDArray[np.int64], groups: int, *, sets: bool) -> list[Shown]:
    """The narrowest label of each group on each quasi-identifier; ``group`` is the group of each vector."""
    quasi = counts.quasi
    rows, starts = by_group([c.codes for c in quasi], group, groups)
    summary = summarize(space_of(quasi, sets=sets), rows, starts, len(group))
    return [shown_boxes(c, summary[:, j]) for j, c in enumerate(quasi)]


def shown_boxes(column: Column, summary: NDArray[np.int64]) -> Shown:
    """Name the distinct boxes of one attribute once, then look them up."""
    boxes = summary
    if not column.domain.ordered:  # a node has the same label whichever of its leaves occur
        boxes = np.concatenate([np.where(summary[0] == summary[1], summary[:2], -1), summary[2:]])
    sizes = [*(int(end.max()) + 2 for end in boxes[:3]), _MASKS]
    found = group_rows([*(boxes[:3] + 1), boxes[3]], sizes)
    distinct = boxes[:, found.first]
    order = np.lexsort(distinct[::-1])
    labels, meanings, shares = column.domain.boxes(distinct[:, order])
    return Shown(column.name, told_apart(labels, meanings), meanings, shares, np.argsort(order)[found.of_row])


def shown_as(name: str, named: Sequence[BoxLabel], of_group: NDArray[np.int64]) -> Shown:
    """What groups show, given label, meaning and share of each box; labels with the same text are numbered."""
    meanings = [meaning for _, meaning, _ in named]
    labels = told_apart([label for label, _, _ in named], meanings)
    return Shown(name, labels, meanings, np.array([share for _, _, share in named]), of_group)


def by_labels(shown: Sequence[Shown], chosen: Sequence[str] | None = None) -> Groups:
    """The groups as outsiders see them, by their labels: the visible group of each group."""
    columns = [s.numbered() for s in shown if chosen is None or s.name in chosen]
    found = group_rows(columns, [int(c.max()) + 1 for c in columns])
    return Groups(found.of_row, len(found.first))


class Box(NamedTuple):
    """What a label of a cut covers: an interval or a value (the codes [lo, hi)), a node of a tree, or a hidden rest."""

    lo: int
    hi: int
    node: int = -1
    rest: bool = False


def name_boxes(domain: Domain, boxes: Sequence[Box]) -> list[BoxLabel]:
    """Label, meaning and hidden share of each box of a cut; each interval reaches up to the next."""
    named = [_cut_box(domain, box) for box in boxes]
    labels = told_apart([n[0] for n in named], [n[1] for n in named])
    return [box._replace(label=label) for label, box in zip(labels, named, strict=True)]


def _cut_box(domain: Domain, box: Box) -> BoxLabel:
    if box.rest:
        return BoxLabel(SUPPRESSED, None, (box.hi - box.lo) / domain.size)
    return domain.cut_label(box.lo, box.hi, box.node)


def recoded(
    counts: Counts, cuts: Sequence[tuple[Sequence[BoxLabel], NDArray[np.int64]]]
) -> tuple[Grouping, list[Shown]]:
    """Groups of vectors with the same labels, if each attribute is cut in the same way for all rows.

    A cut is label, meaning and share of each box, and the box of each code.
    """
    columns = [of_code[c.codes] for c, (_, of_code) in zip(counts.quasi, cuts, strict=True)]
    found = group_rows(columns, [max(len(named), 1) for named, _ in cuts])
    shown = [
        shown_as(c.name, named, boxes[found.first].astype(np.int64))
        for c, (named, _), boxes in zip(counts.quasi, cuts, columns, strict=True)
    ]
    return Grouping.of_vectors(counts, found.of_row, len(found.first)), shown


def told_apart(labels: list[str], meanings: list[Meaning]) -> list[str]:
    """Labels with the same text and different meanings get a number; one that hides everything keeps its text.

    >>> told_apart(["a", "*", "*"], [["a"], ["*"], None])
    ['a', '* (2)', '*']
    """
    if len(set(labels)) == len(labels):
        return labels
    owner: dict[str, Meaning] = {}
    out = list(labels)
    for i in sorted(range(len(labels)), key=lambda i: meanings[i] is not None):
        number = 2
        while out[i] in owner and owner[out[i]] != meanings[i]:
            out[i], number = f"{labels[i]} ({number})", number + 1
        owner[out[i]] = meanings[i]
    return out
