"""Domains without the values that no row has: what a release may say of a domain that was found in the data."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.table.encode import Column, Domain, smallest
from sfumato.table.ordered_domain import MISSING, OrderedDomain, after, common_step
from sfumato.table.taxonomy import Taxonomy


def occurring(column: Column) -> Column:
    """The column with a domain that no value outside its rows has shaped; what was declared stays as it was.

    >>> import numpy as np
    >>> from sfumato.table.encode import Kind, Role
    >>> ages = OrderedDomain.of_numbers([20.0, 37.5, 90.0])
    >>> found = occurring(Column("age", Role.QUASI, Kind.CONTINUOUS, ages, np.array([2, 0])))
    >>> found.domain.words, found.domain.step, found.codes.tolist()
    (('20', '90'), 1.0, [1, 0])
    """
    seen = np.zeros(column.size, np.bool_)
    seen[column.codes] = True
    domain, kept = narrowed(column.domain, seen)
    place = np.cumsum(kept) - 1
    return replace(column, domain=domain, codes=smallest(place[column.codes], domain.size))


def narrowed(domain: Domain, seen: NDArray[np.bool_]) -> tuple[Domain, NDArray[np.bool_]]:
    """The domain of a table in which these values occur, and which values are still in it."""
    kept = seen | lasting(domain)
    return (_line(domain, kept) if isinstance(domain, OrderedDomain) else _tree(domain, kept)), kept


def lasting(domain: Domain) -> NDArray[np.bool_]:
    """Which values of a domain are public whether or not a row has them: declared ones, but never a missing value.

    >>> lasting(OrderedDomain.of_words(["low", "high"], missing=True)).tolist()
    [True, True, False]
    """
    return np.array([leaf != MISSING and not domain.derived for leaf in domain.leaves], np.bool_)


def _line(line: OrderedDomain, kept: NDArray[np.bool_]) -> OrderedDomain:
    there = np.flatnonzero(kept[: len(line.words)])
    missing = bool(line.missing and kept[-1])
    if line.form == "word":
        return replace(line, missing=missing)
    return (OrderedDomain.of_days if line.form == "date" else OrderedDomain.of_numbers)(
        line.values[there], missing=missing
    )


def _tree(tree: Taxonomy, kept: NDArray[np.bool_]) -> Taxonomy:
    """The tree of the kept leaves; of intervals that were found, the widest is the narrowest that covers them all."""
    if kept.all():
        return tree
    before = np.append(0, np.cumsum(kept)).astype(np.int32)
    lo, hi = before[tree.lo], before[tree.hi]
    nodes = np.flatnonzero(hi > lo)
    number = np.cumsum(hi > lo) - 1
    labels = tuple(tree.labels[node] for node in nodes)
    parent = np.append(-1, number[tree.parent[nodes[1:]]]).astype(np.int32)
    smaller = replace(tree, labels=labels, parent=parent, lo=lo[nodes], hi=hi[nodes])
    return smaller if tree.intervals is None else _narrowed(smaller)


def _narrowed(tree: Taxonomy) -> Taxonomy:
    """A tree of intervals without roots that have one interval below them, and with what its values mean."""
    intervals = {label: ends for label, ends in (tree.intervals or {}).items() if label in tree.labels}
    while (node := _idle(tree, intervals)) is not None:
        tree = _without_node(tree, node)
    if tree.derived:
        numbers = {leaf: float(leaf) for leaf in tree.leaves if leaf in intervals}
        step = common_step(np.array(list(numbers.values())))
        intervals |= {leaf: (number, after(number, step)) for leaf, number in numbers.items()}
    return replace(tree, intervals={label: ends for label, ends in intervals.items() if label in tree.labels})


def _idle(tree: Taxonomy, intervals: dict[str, tuple[float, float]]) -> int | None:
    """The root, or the interval below a root for missing values, if all it has is one smaller interval."""
    outer = 0 if tree.labels[0] in intervals or len(tree.children[0]) == 1 else 1
    below = tree.children[outer]
    if len(below) != 1 or tree.labels[below[0]] not in intervals:
        return None
    may_go = tree.labels[outer] not in intervals or (tree.derived and below[0] not in tree.leaf_nodes)
    return outer if may_go else None


def _without_node(tree: Taxonomy, node: int) -> Taxonomy:
    """The tree without a node that has one child, which takes its place."""
    parent = np.where(tree.parent == node, tree.parent[node], tree.parent)
    parent = np.delete(np.where(parent > node, parent - 1, parent), node).astype(np.int32)
    labels = tree.labels[:node] + tree.labels[node + 1 :]
    return replace(tree, labels=labels, parent=parent, lo=np.delete(tree.lo, node), hi=np.delete(tree.hi, node))
