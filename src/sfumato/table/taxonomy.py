"""Trees over the values of an attribute, with leaves numbered in depth-first order.

Every node is then a range ``[lo, hi)`` of leaf codes: generalizing is a look-up and containment
is two comparisons.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

SUPPRESSED = "*"
"""The label of a value of which nothing is shown."""

_SHOWN = 5
_DEEPEST = 100


def named(values: Iterable[object]) -> str:
    """The first few values, for a message.

    >>> named(["a", "b"])
    "'a', 'b'"
    """
    values = list(values)
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(repr(str(v)) for v in values[:_SHOWN]) + more


def all_named(values: Iterable[object]) -> str:
    """All values, for a claim or a warning that must leave none out.

    >>> all_named("abcdefgh")
    "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'"
    """
    return ", ".join(repr(str(v)) for v in values)


def quoted(name: str) -> str:
    """A name as it stands in a label of several; quoted where it could be taken for more than one.

    >>> quoted("Sales"), quoted("a, b")
    ('Sales', '"a, b"')
    """
    return json.dumps(name, ensure_ascii=False) if set(name) & set(',{}[]"') else name


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A tree over values. Node 0 is the root; nodes and leaves are in depth-first order.

    ``shown_or_suppressed`` marks the tree of an attribute for which no taxonomy was given: a group
    shows one value or nothing, never a set of values. ``derived`` marks a tree whose leaves are the
    values that happen to occur, so that listing them would tell which these are; ``intervals``
    gives the half-open interval of the labels of a tree that was built from numbers. Where the
    intervals were declared, they are the leaves themselves, and a number has the code of its interval.

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

    @classmethod
    def from_tree(cls, tree: Mapping[str, object], *, what: str = "the taxonomy") -> "Taxonomy":
        """Build from nested mappings and lists; several keys at the top get the root ``*``."""
        builder = _Builder(what)
        if len(tree) == 1:
            ((label, below),) = tree.items()
        else:
            label, below = SUPPRESSED, tree
        builder.add(str(label), below, -1, ())
        return builder.taxonomy()

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
        nodes = np.zeros(int(self.hi[0]), np.int32)
        for node in range(len(self.labels)):
            if self.hi[node] - self.lo[node] == 1:
                nodes[self.lo[node]] = node  # in depth-first order the deepest comes last
        return nodes

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The values, in code order."""
        return tuple(self.labels[node] for node in self.leaf_nodes)

    def codes_of_values(self, values: Sequence[str]) -> list[int]:
        """The code of each value: of the leaf with its name, or of the declared interval that it lies in; else -1."""
        code = {leaf: i for i, leaf in enumerate(self.leaves)}
        if self.intervals is None or self.derived:
            return [code.get(value, -1) for value in values]
        parts = {code[leaf]: self.intervals[leaf] for leaf in self.leaves if leaf in self.intervals}
        return [code.get(value, _inside(value, parts)) for value in values]

    @property
    def size(self) -> int:
        """How many leaf codes there are."""
        return int(self.hi[0])

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
        """The same tree with one more last leaf: under the root, or beside it where the root is an interval."""
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

    def _under_a_new_root(self) -> "Taxonomy":
        """The tree as the only child of a root ``*``."""
        return replace(
            self,
            labels=(SUPPRESSED, *self.labels),
            parent=np.concatenate([[-1], self.parent + 1]).astype(np.int32),
            lo=np.concatenate([self.lo[:1], self.lo]),
            hi=np.concatenate([self.hi[:1], self.hi]),
        )


def _inside(value: str, parts: Mapping[int, tuple[float, float]]) -> int:
    """The code of the interval that a number lies in; -1 for a number outside all of them, and for other text."""
    try:
        number = float(value)
    except ValueError:
        return -1
    return next((code for code, (low, high) in parts.items() if low <= number < high), -1)


class _Builder:
    """Numbers nodes and leaves depth first and refuses what is not a tree of distinct values."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.labels: list[str] = []
        self.parent: list[int] = []
        self.lo: list[int] = []
        self.hi: list[int] = []
        self.count = 0
        self.by_label: dict[str, int] = {}

    def add(self, label: str, below: object, parent: int, above: tuple[str, ...]) -> None:
        if label in above:
            raise DataError(
                f"{self.what} has a cycle: {label!r} lies below itself ({' > '.join((*above, label))}); "
                "rename one of the two nodes"
            )
        if len(above) > _DEEPEST:
            raise DataError(f"{self.what} is deeper than {_DEEPEST} levels; flatten it")
        node = len(self.labels)
        self.labels.append(label)
        self.parent.append(parent)
        self.lo.append(self.count)
        self.hi.append(0)
        entries = _entries(below, self.what)
        if not entries:
            self.count += 1
        for name, deeper in entries:
            self.add(name, deeper, node, (*above, label))
        self.hi[node] = self.count
        self._name(label, node, leaf=not entries)

    def _name(self, label: str, node: int, *, leaf: bool) -> None:
        """One label means one set of leaves, so that a released label can be read back."""
        other = self.by_label.setdefault(label, node)
        if (self.lo[other], self.hi[other]) != (self.lo[node], self.hi[node]):
            kind = "leaf" if leaf else "node"
            raise DataError(
                f"{self.what} has the {kind} {label!r} twice, in different places; a label must stand for "
                "one set of values: remove or rename one of the two"
            )

    def taxonomy(self) -> Taxonomy:
        try:
            "".join(self.labels).encode("utf-8")
        except UnicodeEncodeError:
            raise DataError(
                f"{self.what} has a label that is not Unicode text (half of a surrogate pair); correct it"
            ) from None
        return Taxonomy(
            tuple(self.labels),
            np.array(self.parent, np.int32),
            np.array(self.lo, np.int32),
            np.array(self.hi, np.int32),
        )


def _entries(below: object, what: str) -> list[tuple[str, object]]:
    """What stands below a node: ``{name: deeper}``, a list of leaves (or of mappings), or nothing."""
    if below is None or below == "" or below == {} or below == []:
        return []
    if isinstance(below, Mapping):
        return [(str(name), deeper) for name, deeper in below.items()]
    if isinstance(below, Sequence) and not isinstance(below, str):
        return [entry for item in below for entry in _list_entries(item, what)]
    raise DataError(
        f"{what} has {below!r} where a node's children should be; give a mapping of names or a list of values"
    )


def _list_entries(item: object, what: str) -> Iterator[tuple[str, object]]:
    if isinstance(item, Mapping):
        yield from ((str(name), deeper) for name, deeper in item.items())
    elif isinstance(item, str | int | float):
        yield str(item), {}
    else:
        raise DataError(f"{what} has {item!r} in a list of values; a value is a text or a number")


def from_paths(paths: Iterable[Sequence[str]], *, what: str, root: str = SUPPRESSED) -> Taxonomy:
    """Build from one path a leaf, leaf first, in the order in which the nodes first appear.

    A label that stands on several levels in a row is one node.
    """
    tree: dict[str, object] = {}
    seen: dict[str, dict[str, object]] = {}
    for path in paths:
        if path[0] in seen:
            raise DataError(
                f"{what} has the leaf {path[0]!r} in two rows; a value has one place in the tree: remove one"
            )
        below = tree
        steps = [label for i, label in enumerate(path) if i == 0 or label != path[i - 1]]
        for label in reversed(steps[:-1] if steps[-1] == root and len(steps) > 1 else steps):
            below = below.setdefault(label, {})  # type: ignore[assignment]
        seen[path[0]] = below
    if both := [leaf for leaf, below in seen.items() if below]:
        raise DataError(f"{what} has {both[0]!r} as a value and as a group of other values; rename the group")
    return Taxonomy.from_tree({root: tree}, what=what)


def masked(values: Sequence[str], side: str, *, what: str) -> Taxonomy:
    """The tree that masks codes of one length character by character, from the right or the left.

    >>> masked(["471", "472", "480"], "right", what="zip").path(0)
    ['471', '47*', '4**', '*']
    """
    if starred := [v for v in values if "*" in v]:
        raise DataError(f"{what} cannot be masked: {named(starred)} holds a star already; clean it")
    lengths = {len(v): v for v in values}
    if len(lengths) > 1:
        few = named(list(lengths.values())[:2])
        raise DataError(
            f"{what} cannot be masked: its values differ in length ({few}); pad them to one length, "
            "or give a taxonomy file"
        )
    width = max(lengths, default=0)
    hide: Callable[[str, int], str] = (
        (lambda v, i: v[: width - i] + "*" * i) if side == "right" else (lambda v, i: "*" * i + v[i:])
    )
    order = sorted(values, key=None if side == "right" else lambda v: v[::-1])
    tree = from_paths(([hide(v, i) for i in range(width)] for v in order), what=what)
    return replace(tree, derived=True)
