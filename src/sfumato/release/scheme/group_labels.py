"""The generalization scheme: each group shows one label for each quasi-identifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
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


@dataclass(frozen=True, eq=False)
class Shown:
    """What groups show of a quasi-identifier: labels, what each means, the share of the domain that it hides.

    ``of_group`` is the label of each group; the share of a single value is 0. Where labels are boxes, ``ranges`` says
    where the ends of each stand among all ends.
    """

    name: str
    labels: Sequence[str]
    meanings: Sequence[Meaning]
    shares: NDArray[np.float64]
    of_group: NDArray[np.int64]
    ranges: dict[str, list[int]] | None = None

    @property
    def nodes(self) -> dict[str, Meaning]:
        """The labels that some group shows, in text order, with their meanings."""
        there = np.bincount(self.of_group, minlength=len(self.labels)) > 0
        told = {label: meaning for label, meaning, here in zip(self.labels, self.meanings, there, strict=True) if here}
        return dict(sorted(told.items()))

    def loss(self, sizes: NDArray[np.int64]) -> float:
        """The share of the domain that the labels hide on average, given how many rows each group has."""
        return round(float(np.average(self.shares[self.of_group], weights=sizes)), 4)

    def numbered(self) -> NDArray[np.int64]:
        """A number for what each group shows: labels that read alike are one."""
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
    return [_shown(c, summary[:, j]) for j, c in enumerate(quasi)]


def _shown(column: Column, summary: NDArray[np.int64]) -> Shown:
    """Name the distinct boxes of one attribute once, then look them up."""
    frame = pl.DataFrame({"lo": summary[0], "hi": summary[1], "node": summary[2], "mask": summary[3]})
    if not column.domain.ordered:  # a node is the same label whichever leaves are below it
        frame = frame.with_columns(
            lo=pl.when(pl.col("lo") == pl.col("hi")).then("lo").otherwise(-1),
            hi=pl.when(pl.col("lo") == pl.col("hi")).then("hi").otherwise(-1),
        )
    numbered = frame.with_columns(box=pl.struct(pl.all()).rank("dense") - 1)
    boxes = numbered.unique("box").sort("box").select("lo", "hi", "node", "mask").iter_rows()
    named = [column.domain.box(lo, hi, node, mask) for lo, hi, node, mask in boxes]
    return shown_as(column.name, named, numbered["box"].to_numpy().astype(np.int64))


def shown_as(name: str, named: Sequence[BoxLabel], of_group: NDArray[np.int64]) -> Shown:
    """What groups show, given label, meaning and share of each box; labels that read alike are told apart."""
    meanings = [meaning for _, meaning, _ in named]
    labels = told_apart([label for label, _, _ in named], meanings)
    return Shown(name, labels, meanings, np.array([share for _, _, share in named]), of_group)


def by_labels(shown: Sequence[Shown], chosen: Sequence[str] | None = None) -> Groups:
    """The groups that the labels make, which is what the outside world sees: the one of each group."""
    columns = [s.numbered() for s in shown if chosen is None or s.name in chosen]
    found = group_rows(columns, [int(c.max()) + 1 for c in columns])
    return Groups(found.of_row, len(found.first))


class Box(NamedTuple):
    """What a label of a cut covers: an interval or a value (the codes [lo, hi)), a node of a tree, a hidden rest."""

    lo: int
    hi: int
    node: int = -1
    rest: bool = False


def name_boxes(domain: Domain, boxes: Sequence[Box]) -> list[BoxLabel]:
    """Label, meaning and hidden share of each box of a cut; intervals reach up to the next."""
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
    """Groups of vectors that show the same, where each attribute is cut alike for all rows.

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
    """Labels that read alike and mean different things get a number; what hides all keeps its label.

    >>> told_apart(["a", "*", "*"], [["a"], ["*"], None])
    ['a', '* (2)', '*']
    """
    owner: dict[str, Meaning] = {}
    out = list(labels)
    for i in sorted(range(len(labels)), key=lambda i: meanings[i] is not None):
        number = 2
        while out[i] in owner and owner[out[i]] != meanings[i]:
            out[i], number = f"{labels[i]} ({number})", number + 1
        owner[out[i]] = meanings[i]
    return out
