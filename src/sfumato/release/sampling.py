"""The sampling scheme: one row a group, its box of quasi-identifiers, and in column ``G`` the size of the group.

The boxes are disjoint. So that this can be verified from the public part, the manifest gives each label its
``ranges``: where its ends stand among all ends of the attribute's labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.local import recode
from sfumato.errors import ReleaseError
from sfumato.kernel.pg.box_overlap import meet
from sfumato.release.generalization import Meaning, Shown, told_apart
from sfumato.release.label_meaning import LabelMeaning, fits, masks_of, read
from sfumato.release.labels import Meanings
from sfumato.release.manifest import BoxAttribute, LabelAttribute, Manifest
from sfumato.table.encode import Column, Domain
from sfumato.table.ordered_domain import OrderedDomain, day_text, number_text, open_label
from sfumato.table.taxonomy import SUPPRESSED, Taxonomy, quoted

SIZE = "G"


@dataclass(frozen=True)
class ShownBox(Shown):
    """A quasi-identifier of boxes: also where the ends of each label stand among all ends."""

    ranges: dict[str, list[int]]


def show_boxes(column: Column, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> ShownBox:
    """The labels of the ranges ``[lo, hi)`` of codes, one a group."""
    pairs, of_group = np.unique(lo * (column.size + 1) + hi, return_inverse=True)
    bounds = [(int(pair) // (column.size + 1), int(pair) % (column.size + 1)) for pair in pairs]
    named = [label_of(column.domain, a, b) for a, b in bounds]
    meanings = [meaning for _, meaning in named]
    labels = told_apart([label for label, _ in named], meanings)
    ends = np.unique(bounds)
    ranks = [[int(np.searchsorted(ends, a)), int(np.searchsorted(ends, b))] for a, b in bounds]
    hidden = np.array([_share(column.domain, a, b) for a, b in bounds])
    return ShownBox(
        recode(column.name, labels, of_group),
        dict(sorted(zip(labels, meanings, strict=True), key=lambda pair: pair[0])),
        hidden[of_group],
        dict(sorted(zip(labels, ranks, strict=True))),
    )


def label_of(domain: Domain, lo: int, hi: int) -> tuple[str, Meaning]:
    """The label of the codes ``[lo, hi)`` and what it means.

    An interval ends at a round number between two neighbouring values, and is open where it holds the least or the
    greatest value: a single person's value is not to be read from it.

    >>> ages = OrderedDomain.of_numbers([20.0, 25.0, 39.0, 44.0])
    >>> label_of(ages, 0, 2), label_of(ages, 1, 2)
    (('< 30', [None, 30.0]), ('[21, 30)', [21.0, 30.0]))
    >>> label_of(Taxonomy.from_tree({"Any": {"A": ["a", "b"], "B": ["c", "d"]}}), 1, 4)
    ('{b, B}', ['b', 'c', 'd'])
    """
    if isinstance(domain, OrderedDomain):
        return _on_line(domain, lo, hi)
    nodes = _nodes(domain, lo, hi)
    if domain.intervals is not None and (hi - lo > 1 or domain.labels[nodes[0]] in domain.intervals):
        return _of_intervals(domain.intervals, [domain.labels[node] for node in nodes])
    names = [domain.labels[node] for node in nodes]
    label = names[0] if len(names) == 1 else "{" + ", ".join(quoted(name) for name in names) + "}"
    if domain.derived:
        return label, names if nodes[0] in domain.leaf_nodes or len(names) > 1 else None
    return label, [domain.leaves[code] for code in range(lo, hi)]


def _of_intervals(known: Mapping[str, tuple[float, float]], names: Sequence[str]) -> tuple[str, Meaning]:
    """Neighbouring intervals as one; what mixes numbers with missing values hides all."""
    if not all(name in known for name in names):
        return SUPPRESSED, None
    low, high = known[names[0]][0], known[names[-1]][1]
    return names[0] if len(names) == 1 else f"[{number_text(low)}, {number_text(high)})", [low, high]


def _on_line(line: OrderedDomain, lo: int, hi: int) -> tuple[str, Meaning]:
    values = len(line.words)
    if hi - lo == line.size or (hi > values and hi - lo > 1):
        return SUPPRESSED, None
    if line.form == "word" or hi > values:
        return line.label(lo, hi), line.meaning(lo, hi)
    dated = line.form == "date"
    ends = [None if code in (0, values) else line.boundary(code) for code in (lo, hi)]
    low, high = (None if end is None else day_text(end) if dated else number_text(end) for end in ends)
    label = f"[{low}, {high})" if low and high else open_label(low, high)
    return label, [low, high] if dated else ends


def _nodes(tree: Taxonomy, lo: int, hi: int) -> list[int]:
    """The fewest nodes that together cover the codes ``[lo, hi)``.

    Where several cover the same, the lowest; in a tree built from the data the highest, which says least of who
    is there.
    """
    found = []
    while lo < hi:
        node = int(tree.leaf_nodes[lo])
        above = int(tree.parent[node])
        while above >= 0 and tree.lo[above] >= lo and tree.hi[above] <= hi:
            if tree.derived or tree.hi[above] > tree.hi[node]:
                node = above
            above = int(tree.parent[above])
        found.append(node)
        lo = int(tree.hi[node])
    return found


def _share(domain: Domain, lo: int, hi: int) -> float:
    """The share of the values that a range hides, 0 for one of them.

    On a line too values are counted, not measured: how far the extremes lie would be told by the loss.
    """
    return 0.0 if hi - lo == 1 else (hi - lo) / domain.size


def overlapping(manifest: Manifest, data: pl.DataFrame, quasi: Sequence[str]) -> int:
    """How many boxes of a sample meet another one."""
    lo, hi = boxes_of(manifest, data, quasi)
    return int((meet(lo, hi, lo, hi, same=True).hit >= 0).sum())


def boxes_of(
    manifest: Manifest, data: pl.DataFrame, quasi: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The box of each row as ranks of ends, rows x quasi-identifiers."""
    boxes = np.empty((2, data.height, len(quasi)), np.int64)
    for j, name in enumerate(quasi):
        ranges = ranges_of(name, manifest.label(name))
        labels = data[name].cast(pl.String)
        for side in (0, 1):
            place = {label: ends[side] for label, ends in ranges.items()}
            found = labels.replace_strict(place, default=None, return_dtype=pl.Int64)
            if found.null_count():
                raise ReleaseError(f"a label of {name!r} has no range in the manifest")
            boxes[side, :, j] = found.to_numpy()
    return boxes[0], boxes[1]


def ranges_of(name: str, entry: LabelAttribute) -> Mapping[str, Sequence[int]]:
    """The ranges of an attribute's labels, if labels that share a value have ranges that meet."""
    ranges = entry.ranges if isinstance(entry, BoxAttribute) else None
    most = 2 * len(ranges) if isinstance(ranges, dict) else 0  # ranks among the ends of all labels
    if not isinstance(ranges, dict) or not all(_is_range(ends, most) for ends in ranges.values()):
        raise ReleaseError(f"manifest.json states no ranges of the labels of {name!r}")
    for sharing in _sharing({label: known for label, known in read(entry.nodes).items() if label in ranges}):
        if max(ranges[label][0] for label in sharing) >= min(ranges[label][1] for label in sharing):
            raise ReleaseError(f"labels of {name!r} share a value, and their ranges in the manifest do not meet")
    return ranges


def _is_range(ends: object, most: int) -> bool:
    whole = isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends)
    return whole and 0 <= ends[0] < ends[1] <= most  # type: ignore[index]


def _sharing(labels: Mapping[str, LabelMeaning]) -> Iterator[list[str]]:
    """Labels that share a value: for each listed value, and for each end of an interval."""
    below: dict[str, list[str]] = {}
    for label, known in labels.items():
        for name in known.names if known.listed else ():
            below.setdefault(name, []).append(label)
    yield from below.values()
    if names := [label for label, known in labels.items() if known.interval]:
        low, high = np.array([labels[label].interval for label in names]).T
        for point in np.unique(low):
            yield [names[i] for i in np.flatnonzero((low <= point) & (point < high))]


class Places:
    """Where values of a quasi-identifier lie among the ends of its labels.

    A value lies in the cell, between two neighbouring ends, that the labels which contain it share and no other
    label covers; -1 where there is none, because nobody there was published.
    """

    def __init__(self, name: str, entry: LabelAttribute) -> None:
        self.ranges = ranges_of(name, entry)
        self.cells = max(hi for _, hi in self.ranges.values())
        labels = read(entry.nodes)
        here = {label: labels[label] for label in self.ranges if label in labels}
        ends = {end: rank for n, k in here.items() for end, rank in zip(k.interval or (), self.ranges[n], strict=False)}
        self.ends, self.ranks = np.array(sorted(ends)), np.array([ends[end] for end in sorted(ends)], np.int64)
        self.listed = {n: set(known.names) for n, known in here.items() if known.listed}
        masks = masks_of(entry.domain, labels)
        self.masks = {n: self.listed[n] & masks if n in self.listed else {n} for n in self.ranges}
        covering: list[set[str]] = [set() for _ in range(self.cells)]
        for label, (lo, hi) in self.ranges.items():
            for cell in range(lo, hi):
                covering[cell].add(label)
        self.cell_of = {frozenset(labels): cell for cell, labels in enumerate(covering)}

    def of(self, domain: Domain) -> NDArray[np.int64]:
        """The cell of each value of a domain."""
        if not len(self.ends):
            return np.array([self._cell(v) for v in domain.leaves], np.int64)
        place = np.searchsorted(self.ends, Meanings(domain).numbers, side="right") - 1
        inside = (place >= 0) & (place < len(self.ends) - 1)
        cells = np.where(inside, self.ranks[np.maximum(place, 0)], -1)
        for i in np.flatnonzero(~inside):
            cells[i] = self._cell(domain.leaves[i])
        return cells

    def _cell(self, value: str) -> int:
        inside = {n for n in self.ranges if value in self.listed.get(n, ()) or value == n}
        inside |= {n for n in self.ranges if any(fits(value, mask) for mask in self.masks.get(n, ()))}
        return self.cell_of.get(frozenset(inside), -1)
