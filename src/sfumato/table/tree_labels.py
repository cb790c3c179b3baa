"""How parts of a tree are shown: their labels, what these mean in the manifest, and the share that they hide."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sfumato.table.domain import BoxLabel, BoxLabels, Integers, Interval, Meaning
from sfumato.table.names import MISSING, SUPPRESSED, quoted
from sfumato.table.numbers import number_text

if TYPE_CHECKING:
    from sfumato.table.taxonomy import Taxonomy


def leaf_label(tree: "Taxonomy", code: int) -> BoxLabel:
    """A single value."""
    value = tree.leaves[code]
    if tree.intervals is None:  # most trees, some with many values
        return BoxLabel(value, [value], 0.0)
    return BoxLabel(value, _meaning(tree, value, [code]), 0.0)


def set_label(tree: "Taxonomy", node: int, mask: int) -> BoxLabel:
    """A node, or some of its children."""
    mask = 0 if _lists_values(tree, node, mask) else mask
    codes, label = tree.codes_of(node, mask), tree.label(node, mask)
    return BoxLabel(label, _meaning(tree, label, codes, node, mask), len(codes) / tree.size)


def box_labels(tree: "Taxonomy", boxes: Integers) -> BoxLabels:
    """Many boxes of the kernels; single values, of which there may be thousands, are only looked up."""
    lo, hi = boxes[:2]
    looked_up = (lo == hi) & (lo >= 0) & (tree.intervals is None)
    leaves = tree.leaves
    labels = [leaves[code] for code in np.where(looked_up, lo, 0).tolist()]
    meanings: list[Meaning] = [[label] for label in labels]
    shares = np.zeros(len(labels))
    for i in np.flatnonzero(~looked_up).tolist():
        labels[i], meanings[i], shares[i] = tree.box(*boxes[:, i].tolist())
    return BoxLabels(labels, meanings, shares)


def levels(tree: "Taxonomy") -> list[Integers]:
    """The node of each leaf code on each level; a leaf that ends early stays itself until its depth is reached."""
    depth = np.zeros(len(tree.labels), np.int64)
    for node in range(1, len(depth)):
        depth[node] = depth[tree.parent[node]] + 1
    at = tree.leaf_nodes.astype(np.int64)
    found = [at]
    for deepest in range(int(depth[at].max()) - 1, -1, -1):
        at = np.where(depth[at] > deepest, tree.parent[at], at)
        found.append(at)
    return found


def node_label(tree: "Taxonomy", node: int) -> BoxLabel:
    """A node shown by its own name, on a level of the whole tree."""
    if tree.is_leaf(node):
        return leaf_label(tree, int(tree.lo[node]))
    codes = tree.codes_of(node)
    label, share = tree.labels[node], 0.0 if len(codes) == 1 else len(codes) / tree.size
    hidden = tree.derived and tree.intervals is None
    return BoxLabel(label, None if hidden else _meaning(tree, label, codes, node), share)


def _lists_values(tree: "Taxonomy", node: int, mask: int) -> bool:
    """Whether a set of children would name values of a tree built from the data: one may belong to a single person."""
    below = tree.some_children(node, mask) if tree.derived else []
    return any(tree.is_leaf(child) and tree.labels[child] != MISSING for child in below)


def _meaning(tree: "Taxonomy", label: str, codes: list[int], node: int = 0, mask: int = 0) -> Meaning:
    """The values below a label, unless listing them would reveal which values occur; for intervals, their bounds."""
    parts = [tree.labels[c] for c in tree.some_children(node, mask)] if mask else [label]
    if tree.intervals is not None:
        bounds = [tree.intervals[p] for p in parts if p in tree.intervals]
        joined = _joined(bounds) if len(bounds) == len(parts) else None
        if joined is not None or (not mask and len(codes) > 1):
            return joined
    if tree.derived:
        return parts if mask or len(codes) == 1 else None
    return [tree.leaves[c] for c in codes]


def _joined(parts: list[Interval]) -> Meaning:
    """Neighbouring intervals as one; None if there is a gap."""
    if any(a[1] != b[0] for a, b in pairwise(parts)):
        return None
    return [parts[0][0], parts[-1][1]]


def range_label(tree: "Taxonomy", lo: int, hi: int) -> tuple[str, Meaning]:
    """The codes ``[lo, hi)`` by the fewest nodes that cover them."""
    if hi - lo == 1 < tree.size and tree.shown_or_suppressed:  # most ranges of a tree with many values
        return tree.leaves[lo], [tree.leaves[lo]]
    nodes = _covering(tree, lo, hi)
    names = [tree.labels[node] for node in nodes]
    if tree.intervals is not None and (hi - lo > 1 or names[0] in tree.intervals):
        return _of_intervals(tree.intervals, names)
    label = names[0] if len(names) == 1 else "{" + ", ".join(quoted(name) for name in names) + "}"
    if tree.derived:
        return label, names if tree.is_leaf(nodes[0]) or len(names) > 1 else None
    return label, [tree.leaves[code] for code in range(lo, hi)]


def _of_intervals(known: Mapping[str, Interval], names: Sequence[str]) -> tuple[str, Meaning]:
    """Neighbouring intervals as one; a mix of numbers and missing values is suppressed."""
    if not all(name in known for name in names):
        return SUPPRESSED, None
    low, high = known[names[0]][0], known[names[-1]][1]
    return names[0] if len(names) == 1 else f"[{number_text(low)}, {number_text(high)})", [low, high]


def _covering(tree: "Taxonomy", lo: int, hi: int) -> list[int]:
    """The fewest nodes that together cover the codes ``[lo, hi)``.

    If several cover the same codes, the lowest; in a tree built from the data the highest, which reveals least
    about the people there.
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
