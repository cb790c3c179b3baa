"""The generalization scheme: each group shows one label for each quasi-identifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping, Groups
from sfumato.kernel.arrange import by_group
from sfumato.kernel.axes import Axis, Space, make_space, summarize
from sfumato.kernel.group import group_rows
from sfumato.table.encode import Column, Domain
from sfumato.table.microdata import Microdata
from sfumato.table.ordered_domain import MISSING, OrderedDomain
from sfumato.table.taxonomy import SUPPRESSED, Taxonomy

Meaning = list[Any] | None


@dataclass(frozen=True, eq=False)
class Shown:
    """What groups show of a quasi-identifier: labels, what each means, the share of the domain that it hides.

    ``of_group`` is the label of each group; the share of a single value is 0.
    """

    name: str
    labels: Sequence[str]
    meanings: Sequence[Meaning]
    shares: NDArray[np.float64]
    of_group: NDArray[np.int64]

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


def axis_of(domain: Domain, *, sets: bool) -> Axis:
    """A domain as an axis for the kernels; ``sets``: whether some children of a node can be shown."""
    if isinstance(domain, OrderedDomain):
        return Axis(domain.size, position=domain.position)
    return Axis(
        domain.size,
        lo=domain.lo,
        hi=domain.hi,
        parent=domain.parent,
        children=domain.children,
        leaf_node=domain.leaf_nodes,
        sets=sets and not domain.shown_or_suppressed,
    )


def space_of(columns: list[Column], *, sets: bool) -> Space:
    """The axes of the quasi-identifiers."""
    return make_space([axis_of(c.domain, sets=sets) for c in columns])


def show(counts: Counts | Microdata, group: NDArray[np.int64], groups: int, *, sets: bool) -> list[Shown]:
    """The narrowest label of each group on each quasi-identifier; ``group`` is the group of each vector."""
    quasi = counts.quasi
    rows, starts = by_group([c.codes for c in quasi], group, groups)
    summary = summarize(space_of(quasi, sets=sets), rows, starts, len(group))
    return [_shown(c, summary[:, j]) for j, c in enumerate(quasi)]


def _shown(column: Column, summary: NDArray[np.int64]) -> Shown:
    """Name the distinct boxes of one attribute once, then look them up."""
    frame = pl.DataFrame({"lo": summary[0], "hi": summary[1], "node": summary[2], "mask": summary[3]})
    if isinstance(column.domain, Taxonomy):
        frame = frame.with_columns(
            lo=pl.when(pl.col("lo") == pl.col("hi")).then("lo").otherwise(-1),
            hi=pl.when(pl.col("lo") == pl.col("hi")).then("hi").otherwise(-1),
        )
    numbered = frame.with_columns(box=pl.struct(pl.all()).rank("dense") - 1)
    boxes = numbered.unique("box").sort("box").select("lo", "hi", "node", "mask").iter_rows()
    named = [_box(column.domain, lo, hi, node, mask) for lo, hi, node, mask in boxes]
    return shown_as(column.name, named, numbered["box"].to_numpy().astype(np.int64))


def shown_as(name: str, named: Sequence[tuple[str, Meaning, float]], of_group: NDArray[np.int64]) -> Shown:
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


def name_boxes(domain: Domain, boxes: Sequence[Box]) -> list[tuple[str, Meaning, float]]:
    """Label, meaning and hidden share of each box of a cut; intervals reach up to the next."""
    named = [_cut_box(domain, box) for box in boxes]
    labels = told_apart([n[0] for n in named], [n[1] for n in named])
    return [(label, meaning, share) for label, (_, meaning, share) in zip(labels, named, strict=True)]


def _cut_box(domain: Domain, box: Box) -> tuple[str, Meaning, float]:
    if box.rest:
        return SUPPRESSED, None, (box.hi - box.lo) / domain.size
    if not isinstance(domain, OrderedDomain):
        node = box.node if box.node >= 0 else int(domain.leaf_nodes[box.lo])
        single = domain.hi[node] - domain.lo[node] == 1
        return _box(domain, box.lo if single else -1, box.lo if single else -1, node, 0)
    label = domain.interval(box.lo, box.hi)
    meaning = None if label == SUPPRESSED else domain.interval_meaning(box.lo, box.hi)
    return label, meaning, domain.share(box.lo, box.hi)


def recoded(
    counts: Counts, cuts: Sequence[tuple[Sequence[tuple[str, Meaning, float]], NDArray[np.int64]]]
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


def _box(domain: Domain, lo: int, hi: int, node: int, mask: int) -> tuple[str, Meaning, float]:
    """The label of a box, its meaning for the manifest, and the share of the domain that it hides."""
    if isinstance(domain, OrderedDomain):
        label = domain.label(lo, hi + 1)
        return label, None if label == SUPPRESSED else domain.meaning(lo, hi + 1), domain.share(lo, hi + 1)
    if lo >= 0:
        value = domain.leaves[lo]
        return value, _tree_meaning(domain, value, [lo]), 0.0
    mask = 0 if _lists_values(domain, node, mask) else mask
    codes = domain.codes_of(node, mask)
    label = domain.label(node, mask)
    return label, _tree_meaning(domain, label, codes, node, mask), len(codes) / domain.size


def _lists_values(tree: Taxonomy, node: int, mask: int) -> bool:
    """Whether a set of children would name values of a tree built from the data: somebody may be alone with one."""
    below = tree.some_children(node, mask) if tree.derived else []
    return any(child in tree.leaf_nodes and tree.labels[child] != MISSING for child in below)


def as_shown(tree: Taxonomy, node: int) -> tuple[str, Meaning, float]:
    """The label of a node that is shown as it is, its meaning for the manifest, and the share that it hides."""
    if node in tree.leaf_nodes:
        return _box(tree, int(tree.lo[node]), int(tree.lo[node]), node, 0)
    codes = tree.codes_of(node)
    label, share = tree.labels[node], 0.0 if len(codes) == 1 else len(codes) / tree.size
    if tree.derived and tree.intervals is None:
        return label, None, share
    return label, _tree_meaning(tree, label, codes, node), share


def _tree_meaning(tree: Taxonomy, label: str, codes: list[int], node: int = 0, mask: int = 0) -> Meaning:
    """The values below a label, unless listing them would tell which values occur; of intervals, their bounds."""
    parts = [tree.labels[c] for c in tree.some_children(node, mask)] if mask else [label]
    if tree.intervals is not None:
        bounds = [tree.intervals[p] for p in parts if p in tree.intervals]
        joined = _joined(bounds) if len(bounds) == len(parts) else None
        if joined is not None or (not mask and len(codes) > 1):
            return joined
    if tree.derived:
        return parts if mask or len(codes) == 1 else None
    return [tree.leaves[c] for c in codes]


def _joined(parts: list[tuple[float, float]]) -> Meaning:
    """Neighbouring intervals as one; None where there is a gap."""
    if any(a[1] != b[0] for a, b in pairwise(parts)):
        return None
    return [parts[0][0], parts[-1][1]]
