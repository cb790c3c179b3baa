"""Number the nodes and leaves of a nested tree depth first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.table.names import SUPPRESSED

_DEEPEST = 100


class TreeNodes(NamedTuple):
    """The nodes of a tree in depth-first order: label, parent (-1 for the root), range ``[lo, hi)`` of leaf codes."""

    labels: tuple[str, ...]
    parent: NDArray[np.int32]
    lo: NDArray[np.int32]
    hi: NDArray[np.int32]


def number_nodes(tree: Mapping[str, object], what: str) -> TreeNodes:
    """Number nested mappings and lists; several keys at the top get the root ``*``."""
    builder = _Builder(what)
    if len(tree) == 1:
        ((label, below),) = tree.items()
    else:
        label, below = SUPPRESSED, tree
    builder.add(str(label), below, -1, ())
    return builder.nodes()


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
                f"{self.what} has a cycle: {label!r} is below itself ({' > '.join((*above, label))}); "
                "rename one of these nodes"
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
                "one set of values: remove or rename one of them"
            )

    def nodes(self) -> TreeNodes:
        """All nodes, if their labels are text."""
        try:
            "".join(self.labels).encode("utf-8")
        except UnicodeEncodeError:
            raise DataError(
                f"{self.what} has a label that is not Unicode text (half of a surrogate pair); correct it"
            ) from None
        return TreeNodes(
            tuple(self.labels),
            np.array(self.parent, np.int32),
            np.array(self.lo, np.int32),
            np.array(self.hi, np.int32),
        )


def _entries(below: object, what: str) -> list[tuple[str, object]]:
    """The children of a node: ``{name: deeper}``, a list of leaves (or of mappings), or nothing."""
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
        raise DataError(f"{what} has {item!r} in a list of values; a value must be a string or a number")
