"""A tree without the leaves that no row has: what a release may say about a tree that was found in the data."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.table.numbers import after, common_step

if TYPE_CHECKING:
    from sfumato.table.taxonomy import Taxonomy


def narrowed(tree: "Taxonomy", kept: NDArray[np.bool_]) -> "Taxonomy":
    """The tree of the kept leaves; intervals that were found in the data shrink to the narrowest that cover them."""
    if kept.all():
        return tree
    before = np.append(0, np.cumsum(kept)).astype(np.int32)
    lo, hi = before[tree.lo], before[tree.hi]
    nodes = np.flatnonzero(hi > lo)
    number = np.cumsum(hi > lo) - 1
    labels = tuple(tree.labels[node] for node in nodes)
    parent = np.append(-1, number[tree.parent[nodes[1:]]]).astype(np.int32)
    smaller = replace(tree, labels=labels, parent=parent, lo=lo[nodes], hi=hi[nodes])
    return smaller if tree.intervals is None else _without_idle(smaller)


def _without_idle(tree: "Taxonomy") -> "Taxonomy":
    """A tree of intervals without roots that have a single interval below them, with the meaning of its values."""
    intervals = {label: ends for label, ends in (tree.intervals or {}).items() if label in tree.labels}
    while (node := _idle(tree, intervals)) is not None:
        tree = _without_node(tree, node)
    if tree.derived:
        numbers = {leaf: float(leaf) for leaf in tree.leaves if leaf in intervals}
        step = common_step(np.array(list(numbers.values())))
        intervals |= {leaf: (number, after(number, step)) for leaf, number in numbers.items()}
    return replace(tree, intervals={label: ends for label, ends in intervals.items() if label in tree.labels})


def _idle(tree: "Taxonomy", intervals: dict[str, tuple[float, float]]) -> int | None:
    """The root, or the interval below a root for missing values, if its only child is a smaller interval."""
    outer = 0 if tree.labels[0] in intervals or len(tree.children[0]) == 1 else 1
    below = tree.children[outer]
    if len(below) != 1 or tree.labels[below[0]] not in intervals:
        return None
    may_go = tree.labels[outer] not in intervals or (tree.derived and not tree.is_leaf(below[0]))
    return outer if may_go else None


def _without_node(tree: "Taxonomy", node: int) -> "Taxonomy":
    """The tree without a node that has one child, which takes its place."""
    parent = np.where(tree.parent == node, tree.parent[node], tree.parent)
    parent = np.delete(np.where(parent > node, parent - 1, parent), node).astype(np.int32)
    labels = tree.labels[:node] + tree.labels[node + 1 :]
    return replace(tree, labels=labels, parent=parent, lo=np.delete(tree.lo, node), hi=np.delete(tree.hi, node))
