"""Trees over the values of an attribute, with leaves numbered in depth-first order.

Every node is then a range ``[lo, hi)`` of leaf codes: generalizing is a look-up and containment
is two comparisons.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.table import tree_labels
from sfumato.table.domain import AxisData, BoxLabel, BoxLabels, Integers, Interval, Meaning, NumberScale
from sfumato.table.names import MISSING
from sfumato.table.names import SUPPRESSED as SUPPRESSED
from sfumato.table.names import all_named as all_named
from sfumato.table.names import named as named
from sfumato.table.names import quoted as quoted
from sfumato.table.tree_builder import number_nodes
from sfumato.table.tree_narrowing import narrowed


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A tree over values. Node 0 is the root; nodes and leaves are in depth-first order.

    ``shown_or_suppressed`` marks the tree of an attribute for which no taxonomy was given: a group
    shows one value or nothing, never a set of values. ``derived`` marks a tree whose leaves are the
    values that happen to occur, so that listing them would reveal which do; ``intervals``
    gives the half-open interval of each label of a tree that was built from numbers. If the
    intervals were declared, they are the leaves themselves, and a number has the code of its interval.

    ``labels`` are the names of the nodes, ``parent`` the number of the node above each, ``lo`` and ``hi`` the range
    of its leaves.

    >>> t = Taxonomy.from_tree({"Any": {"Work": ["Nurse", "Cook"], "None": {}}})
    >>> t.leaves, t.labels
    (('Nurse', 'Cook', 'None'), ('Any', 'Work', 'Nurse', 'Cook', 'None'))
    >>> t.labels[t.cover(0, 2)], t.labels[t.cover(0, 3)]
    ('Work', 'Any')
    """

    labels: tuple[str, ...]
    parent: NDArray[np.int32]
    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    shown_or_suppressed: bool = False
    derived: bool = False
    intervals: Mapping[str, tuple[float, float]] | None = None

    def __repr__(self) -> str:
        return f"Taxonomy({len(self.labels):,} labels over {self.size:,} values)"

    @classmethod
    def from_tree(cls, tree: Mapping[str, object], *, what: str = "the taxonomy") -> "Taxonomy":
        """Build from nested mappings and lists; several keys at the top get the root ``*``."""
        return cls(*number_nodes(tree, what))

    @classmethod
    def flat(cls, values: Iterable[str]) -> "Taxonomy":
        """The tree for an attribute without one: a root ``*`` over the values."""
        leaves = tuple(values)
        n = len(leaves)
        if n == 1:
            root = np.zeros(1, np.int32)
            return cls(leaves, root - 1, root, root + 1, shown_or_suppressed=True, derived=True)
        codes = np.arange(n, dtype=np.int32)
        zero = np.zeros(1, np.int32)
        return cls(
            (SUPPRESSED, *leaves),
            np.concatenate([zero - 1, np.zeros(n, np.int32)]),
            np.concatenate([zero, codes]),
            np.concatenate([zero + np.int32(n), codes + np.int32(1)]),
            shown_or_suppressed=True,
            derived=True,
        )

    @cached_property
    def leaf_nodes(self) -> NDArray[np.int32]:
        """The node of each leaf code."""
        nodes, single = np.zeros(int(self.hi[0]), np.int32), np.flatnonzero(self.hi - self.lo == 1)
        nodes[self.lo[single]] = single  # in depth-first order the deepest comes last, and the last one stays
        return nodes

    def is_leaf(self, node: int) -> bool:
        """Whether a node is that of a leaf code."""
        return bool(self.leaf_nodes[self.lo[node]] == node)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The values, in code order."""
        return tuple(self.labels[node] for node in self.leaf_nodes)

    def codes_of_values(self, values: Sequence[str]) -> list[int]:
        """The code of each value: of the leaf with its name, or of the declared interval around it; otherwise -1."""
        code = {leaf: i for i, leaf in enumerate(self.leaves)}
        if self.intervals is None or self.derived:
            return [code.get(value, -1) for value in values]
        parts = {code[leaf]: self.intervals[leaf] for leaf in self.leaves if leaf in self.intervals}
        return [code.get(value, _inside(value, parts)) for value in values]

    @property
    def size(self) -> int:
        """How many leaf codes there are."""
        return int(self.hi[0])

    @property
    def ordered(self) -> Literal[False]:
        """A label is a node, or some of its children."""
        return False

    @property
    def measured(self) -> bool:
        """Whether the nodes are intervals."""
        return self.intervals is not None

    @property
    def hierarchical(self) -> bool:
        """Whether the tree was given or built by a rule."""
        return not self.shown_or_suppressed

    @property
    def missing_apart(self) -> bool:
        """Whether the last leaf is a missing value among intervals."""
        return self.intervals is not None and self.leaves[-1] == MISSING

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number of each leaf, or the start of its interval; NaN for words and missing values."""
        begins = {leaf: low for leaf, (low, _) in (self.intervals or {}).items()}
        return np.array([begins.get(leaf, _number(leaf)) for leaf in self.leaves])

    @cached_property
    def named_ranges(self) -> dict[str, tuple[int, int]]:
        """The leaf codes ``[lo, hi)`` below each label."""
        found: dict[str, tuple[int, int]] = {}
        for label, lo, hi in zip(self.labels, self.lo.tolist(), self.hi.tolist(), strict=True):
            found.setdefault(label, (lo, hi))
        return found

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node."""
        below: list[list[int]] = [[] for _ in self.labels]
        for node in range(1, len(self.labels)):
            below[self.parent[node]].append(node)
        return tuple(tuple(c) for c in below)

    @cached_property
    def height(self) -> NDArray[np.int32]:
        """The height of each node above its farthest leaf."""
        heights = np.zeros(len(self.labels), np.int32)
        for node in range(len(self.labels) - 1, 0, -1):
            up = self.parent[node]
            heights[up] = max(heights[up], heights[node] + 1)
        return heights

    def cover(self, lo: int, hi: int) -> int:
        """The lowest node that contains the codes ``[lo, hi)``."""
        node = int(self.leaf_nodes[lo])
        while self.hi[node] < hi:
            node = int(self.parent[node])
        return node

    def label(self, node: int, children: int = 0) -> str:
        """A node's name, or, for a bit mask of some of its children, the set of their names."""
        if not children:
            return self.labels[node]
        names = [self.labels[c] for c in self.some_children(node, children)]
        below = names if self.intervals is not None else [quoted(name) for name in names]
        return "{" + ", ".join(below) + "}"

    def outermost(self) -> str:
        """The label of the widest interval of a tree of intervals."""
        return self.labels[0] if self.intervals and self.labels[0] in self.intervals else self.labels[1]

    def some_children(self, node: int, mask: int) -> list[int]:
        """The children of a node whose bits are set in ``mask``."""
        return [c for bit, c in enumerate(self.children[node]) if mask >> bit & 1]

    def codes_of(self, node: int, children: int = 0) -> list[int]:
        """The leaf codes under a node, or under some of its children."""
        below = self.some_children(node, children) if children else [node]
        return [code for c in below for code in range(int(self.lo[c]), int(self.hi[c]))]

    def axis(self, *, sets: bool) -> AxisData:
        """The nodes; ``sets``: whether some children of one can be shown."""
        return AxisData(
            size=self.size,
            lo=self.lo,
            hi=self.hi,
            parent=self.parent,
            leaf_node=self.leaf_nodes,
            sets=sets and not self.shown_or_suppressed,
        )

    def value(self, code: int) -> BoxLabel:
        """How a leaf is shown."""
        return tree_labels.leaf_label(self, code)

    def box(self, lo: int, hi: int, node: int, mask: int) -> BoxLabel:
        """How one leaf, a node or some of its children are shown."""
        return self.value(lo) if lo == hi >= 0 else tree_labels.set_label(self, node, mask)

    def boxes(self, boxes: Integers) -> BoxLabels:
        """How many leaves, nodes or some of their children are shown."""
        return tree_labels.box_labels(self, boxes)

    def box_codes(self, lo: int, hi: int, node: int, mask: int) -> tuple[int, ...]:
        """The leaf codes of one leaf, of a node or of some of its children."""
        return (lo,) if lo == hi else tuple(self.codes_of(node, mask))

    def cut_label(self, lo: int, hi: int, node: int) -> BoxLabel:
        """How a node of a cut, or the leaf ``lo`` if no node is given (-1), is shown."""
        node = node if node >= 0 else int(self.leaf_nodes[lo])
        return self.value(lo) if self.hi[node] - self.lo[node] == 1 else tree_labels.set_label(self, node, 0)

    def levels(self) -> list[Integers]:
        """The node of each leaf code on each level, the leaves first."""
        return tree_labels.levels(self)

    def node_label(self, node: int) -> BoxLabel:
        """How a node on a level of the whole tree is shown."""
        return tree_labels.node_label(self, node)

    def range_label(self, lo: int, hi: int) -> tuple[str, Meaning]:
        """How the codes ``[lo, hi)`` are shown: by the fewest nodes that cover them.

        >>> Taxonomy.from_tree({"Any": {"A": ["a", "b"], "B": ["c", "d"]}}).range_label(1, 4)
        ('{b, B}', ['b', 'c', 'd'])
        """
        return tree_labels.range_label(self, lo, hi)

    def codes_between(self, low: float, high: float) -> Integers:
        """The codes of the leaves whose numbers lie in ``[low, high)``."""
        return np.flatnonzero((self.numbers >= low) & (self.numbers < high))

    def span(self) -> Interval:
        """The outermost interval; all numbers if there is none."""
        return self.intervals[self.outermost()] if self.intervals else (-np.inf, np.inf)

    def intervals_of(self, names: Sequence[str]) -> list[Interval]:
        """The intervals of these labels; the outermost one if none of them has one."""
        known = self.intervals or {}
        return [known[name] for name in names if name in known] or [self.span()]

    def sparing(self, rows: Integers) -> "Taxonomy":
        """The tree itself: its labels do not end at values of the rows."""
        return self

    def scale(self) -> NumberScale | None:
        """The numbers of the leaves, if they are numbers that were found in the data."""
        if self.intervals is None or not self.derived:
            return None
        values = self.numbers[: self.size - self.missing_apart]
        return NumberScale(values, 0.0 if (values % 1).any() else 1.0, False) if len(values) else None

    def declared(self) -> list[str | float] | None:
        """The leaves, or the ends of the outermost interval; None if they were found in the data."""
        if self.derived:
            return None
        return list(self.leaves) if self.intervals is None else list(self.intervals[self.outermost()])

    def public_tree(self) -> dict[str, object] | None:
        """The tree in nested form, if one was given or built."""
        return self.to_tree() if self.hierarchical else None

    def typed_values(self) -> None:
        """Leaves are published as text."""
        return

    def observed(self, kept: NDArray[np.bool_]) -> "Taxonomy":
        """The tree of the kept leaves."""
        return narrowed(self, kept)

    def path(self, code: int) -> list[str]:
        """The labels from a leaf up to the root."""
        node, labels = int(self.leaf_nodes[code]), []
        while node >= 0:
            labels.append(self.labels[node])
            node = int(self.parent[node])
        return labels

    def to_tree(self) -> dict[str, object]:
        """The nested form that `from_tree` reads."""
        return {self.labels[0]: {self.labels[c]: self._below(c) for c in self.children[0]}}

    def _below(self, node: int) -> dict[str, object]:
        return {self.labels[c]: self._below(c) for c in self.children[node]}

    def with_leaf(self, value: str) -> "Taxonomy":
        """The same tree with one more last leaf: under the root, or next to it if the root is an interval."""
        if value in self.leaves:
            return self
        tree = self._under_a_new_root() if len(self.labels) == 1 or self.intervals is not None else self
        end = np.int32(tree.size)
        hi = tree.hi.copy()
        hi[0] = end + 1
        return replace(
            tree,
            labels=(*tree.labels, value),
            parent=np.append(tree.parent, np.int32(0)),
            lo=np.append(tree.lo, end),
            hi=np.append(hi, end + np.int32(1)),
        )

    def with_missing(self) -> "Taxonomy":
        """The same tree with the leaf ``(missing)``, if it lacks it."""
        if self.hierarchical or MISSING in self.leaves:
            return self.with_leaf(MISSING)
        return replace(Taxonomy.flat([*self.leaves, MISSING]), derived=self.derived)

    def _under_a_new_root(self) -> "Taxonomy":
        """The tree as the only child of a root ``*``."""
        return replace(
            self,
            labels=(SUPPRESSED, *self.labels),
            parent=np.concatenate([[-1], self.parent + 1]).astype(np.int32),
            lo=np.concatenate([self.lo[:1], self.lo]),
            hi=np.concatenate([self.hi[:1], self.hi]),
        )


def _number(leaf: str) -> float:
    try:
        return float(leaf)
    except ValueError:
        return np.nan


def _inside(value: str, parts: Mapping[int, tuple[float, float]]) -> int:
    """The code of the interval that a number lies in; -1 for a number outside all of them, and for other text."""
    number = _number(value)
    return next((code for code, (low, high) in parts.items() if low <= number < high), -1)
