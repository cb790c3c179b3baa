"""Edit a tree of values: group, rename, move, dissolve; each answers with another tree and never loses a value.

A tree is nested mappings as `Taxonomy.to_tree` gives them: one root, and below each node its children; values are the
nodes without children. Every label occurs once, so a label says which node is meant.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import DataError, nearest
from sfumato.table.names import MISSING
from sfumato.table.taxonomy import Taxonomy

Tree = dict[str, Any]


def flat_tree(values: Sequence[str], root: str = "Any") -> Tree:
    """A root over all values, to begin with; a missing value is not listed, since it is added where there is one.

    >>> flat_tree(["a", "Any"])
    {'Any.': {'a': {}, 'Any': {}}}
    """
    listed = [v for v in values if v != MISSING]
    while root in listed:
        root += "."
    return {root: {v: {} for v in listed}}


def group(tree: Tree, labels: Sequence[str], name: str) -> Tree:
    """Put nodes under a new node, below the lowest node that is above all of them.

    >>> group({"Any": {"a": {}, "b": {}, "c": {}}}, ["c", "a"], "A")
    {'Any': {'A': {'a': {}, 'c': {}}, 'b': {}}}
    """
    nodes = _Nodes(tree)
    nodes.refuse_known(name)
    chosen = [label for label in nodes.labels() if label in {nodes.known(wanted) for wanted in labels}]
    top = [label for label in chosen if not set(nodes.above(label)) & set(chosen)]
    if not top or nodes.root in top:
        raise DataError("a group needs values or groups below the root; choose some")
    shared = next(a for a in nodes.above(top[0]) if all(a in nodes.above(label) for label in top))
    place = next(i for i, c in enumerate(nodes.below[shared]) if c == top[0] or c in nodes.above(top[0]))
    nodes.below[shared].insert(place, name)
    nodes.below[name] = list(top)
    nodes.detach(top, unless=name)
    return nodes.tree()


def ungroup(tree: Tree, label: str) -> Tree:
    """Dissolve a group: what was in it takes its place.

    >>> ungroup({"Any": {"A": {"a": {}, "c": {}}, "b": {}}}, "A")
    {'Any': {'a': {}, 'c': {}, 'b': {}}}
    """
    nodes = _Nodes(tree)
    if nodes.known(label) == nodes.root or label in nodes.values:
        raise DataError(
            f"{label!r} is {'the root' if label == nodes.root else 'a value'}; only a group can be dissolved"
        )
    siblings = nodes.below[nodes.above(label)[0]]
    at = siblings.index(label)
    siblings[at : at + 1] = nodes.below.pop(label)
    return nodes.tree()


def move(tree: Tree, label: str, under: str) -> Tree:
    """Put a node, with all below it, under another one; groups that are left empty vanish.

    >>> move({"Any": {"A": {"a": {}}, "B": {"b": {}}}}, "a", "B")
    {'Any': {'B': {'b': {}, 'a': {}}}}
    """
    nodes = _Nodes(tree)
    if nodes.known(label) == nodes.root:
        raise DataError("the root cannot be moved; it is above everything else")
    if nodes.known(under) in nodes.values:
        raise DataError(f"{under!r} is a value of the data, so nothing can be below it; choose a group")
    if label == under or label in nodes.above(under):
        raise DataError(f"{label!r} cannot be below itself; choose a group outside it")
    nodes.below[under].append(label)
    nodes.detach([label], unless=under)
    return nodes.tree()


def rename(tree: Tree, label: str, name: str) -> Tree:
    """Give a group another name; values keep theirs, since the data have them.

    >>> rename({"Any": {"A": {"a": {}}}}, "A", "Letters")
    {'Any': {'Letters': {'a': {}}}}
    """
    nodes = _Nodes(tree)
    if nodes.known(label) in nodes.values:
        raise DataError(f"{label!r} is a value of the data; only groups can be renamed")
    if name != label:
        nodes.refuse_known(name)
    return _renamed(tree, label, name)


def add(tree: Tree, values: Sequence[str]) -> Tree:
    """Put values that the tree lacks below its root."""
    nodes = _Nodes(tree)
    nodes.below[nodes.root] += [v for v in dict.fromkeys(values) if v not in nodes.below and v != MISSING]
    return nodes.tree()


def _renamed(tree: Tree, label: str, name: str) -> Tree:
    return {name if known == label else known: _renamed(below, label, name) for known, below in tree.items()}


@dataclass(frozen=True)
class Coverage:
    """How a tree and the values of the data fit: values that the tree lacks, and values of it that no row has."""

    values: int
    lacking: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share of the distinct values that the tree covers."""
        return 1 - len(self.lacking) / self.values if self.values else 1.0


def coverage(taxonomy: Taxonomy, values: Sequence[str]) -> Coverage:
    """What a tree covers of the distinct values of a column; a missing value needs no place in it.

    >>> coverage(Taxonomy.from_tree({"Any": ["a", "b"]}), ["a", "c"])
    Coverage(values=2, lacking=('c',), unused=('b',))
    """
    listed = [v for v in values if v != MISSING]
    codes = taxonomy.codes_of_values(listed)
    there = set(codes)
    return Coverage(
        len(listed),
        tuple(v for v, code in zip(listed, codes, strict=True) if code < 0),
        tuple(leaf for code, leaf in enumerate(taxonomy.leaves) if code not in there),
    )


class _Nodes:
    """The nodes of a tree by label, each with the labels below it, to be changed and put together again."""

    def __init__(self, tree: Tree) -> None:
        (self.root,) = tree
        self.below: dict[str, list[str]] = {}
        self._read(tree)
        self.values = {label for label, below in self.below.items() if not below and label != self.root}

    def _read(self, tree: Tree) -> None:
        for label, deeper in tree.items():
            if label in self.below:
                raise DataError(f"the tree has {label!r} twice; rename one of them before editing it")
            self.below[label] = list(deeper)
            self._read(deeper)

    def known(self, label: str) -> str:
        """The label, if the tree has it."""
        if label not in self.below:
            raise DataError(f"the tree has no {label!r}{nearest(label, self.below)}")
        return label

    def refuse_known(self, name: str) -> None:
        """Refuse a name that is empty or taken."""
        if not name.strip():
            raise DataError("a group needs a name")
        if name in self.below:
            raise DataError(f"the tree already has {name!r}; choose another name")

    def labels(self) -> list[str]:
        """All labels, depth first."""
        return list(self.below)

    def above(self, label: str) -> list[str]:
        """The nodes above a node, from its parent up to the root."""
        parent = {child: label for label, below in self.below.items() for child in below}
        found: list[str] = []
        while (found[-1] if found else label) in parent:
            found.append(parent[found[-1] if found else label])
        return found

    def detach(self, labels: Sequence[str], unless: str) -> None:
        """Take nodes away from where they were, except from one node, and remove the groups that are then empty."""
        gone = set(labels)
        for label, below in self.below.items():
            if label != unless:
                self.below[label] = [child for child in below if child not in gone]
            elif gone & set(below):
                self.below[label] = list(dict.fromkeys(below[::-1]))[::-1]  # moved to its own parent: the last place
        while empty := {n for n, b in self.below.items() if not b and n not in self.values and n != self.root}:
            self.below = {n: [c for c in b if c not in empty] for n, b in self.below.items() if n not in empty}

    def tree(self) -> Tree:
        """The tree again."""
        return {self.root: self._deeper(self.root)}

    def _deeper(self, label: str) -> Tree:
        return {child: self._deeper(child) for child in self.below.get(label, ())}


def subtrees(tree: Tree, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Tree]]:
    """Every node as its path from the root and what is below it, depth first."""
    for label, below in tree.items():
        yield (*above, label), below
        yield from subtrees(below, (*above, label))
