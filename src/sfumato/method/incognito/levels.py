"""The levels of an attribute, from its values up to one node for all, as full-domain generalization uses them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.local import recode
from sfumato.release.generalization import Meaning, Shown, as_shown
from sfumato.table.encode import Column, Domain
from sfumato.table.ordered_domain import OrderedDomain
from sfumato.table.taxonomy import SUPPRESSED, Taxonomy

_ALL = -1


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one attribute: level 0 shows values, the last level one node for all of them.

    On level l of a tree of height H a value is shown by its node at depth H - l, or by itself where it
    lies higher: as if every short branch were padded with its leaf down to the depth of the longest, which
    is how ARX's hierarchy files are written. Without a tree (an attribute that is shown or suppressed, numbers,
    dates and ordinal values) there are two levels, the value and ``*``.

    ``number[l]`` numbers the node of each code on level l, ``nodes[l]`` are these nodes, ``leaves[l]`` how many
    values lie below each.

    >>> tree = Taxonomy.from_tree({"Any": {"Work": ["Nurse", "Cook"], "None": {}}})
    >>> ladder = Ladder.of("job", tree)
    >>> [[tree.labels[n] for n in nodes] for nodes in ladder.nodes]
    [['Nurse', 'Cook', 'None'], ['Work', 'None'], ['Any']]
    """

    name: str
    domain: Domain
    number: tuple[NDArray[np.int64], ...]
    nodes: tuple[NDArray[np.int64], ...]
    leaves: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, name: str, domain: Domain) -> "Ladder":
        """The ladder of an attribute with this domain."""
        rows = _in_tree(domain) if isinstance(domain, Taxonomy) else _on_line(domain)
        found = [np.unique(row, return_inverse=True) for row in rows]
        return cls(
            name,
            domain,
            tuple(number.astype(np.int64) for _, number in found),
            tuple(nodes for nodes, _ in found),
            tuple(np.bincount(number) for _, number in found),
        )

    @property
    def top(self) -> int:
        """The last level."""
        return len(self.nodes) - 1

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.domain.size

    def show(self, column: Column, level: int) -> Shown:
        """What a column shows on a level; only labels that occur are explained."""
        numbers = self.number[level][column.codes]
        occurring = np.unique(numbers)
        told = [self._label(level, int(i)) for i in occurring]
        labels = [label for label, _, _ in told]
        place = np.searchsorted(occurring, numbers)
        return Shown(
            recode(column.name, labels, place),
            dict(sorted(((label, meaning) for label, meaning, _ in told), key=lambda pair: pair[0])),
            np.array([hidden for _, _, hidden in told])[place],
        )

    def labels(self, level: int) -> list[tuple[str, Meaning]]:
        """The label of each node on a level, and its meaning for the manifest."""
        return [self._label(level, number)[:2] for number in range(len(self.nodes[level]))]

    def _label(self, level: int, number: int) -> tuple[str, Meaning, float]:
        node, share = int(self.nodes[level][number]), float(self.leaves[level][number] / self.size)
        if isinstance(self.domain, Taxonomy):
            return as_shown(self.domain, node)
        if level > 0:
            return SUPPRESSED, None, share
        return self.domain.label(number, number + 1), self.domain.meaning(number, number + 1), 0.0


def _in_tree(tree: Taxonomy) -> list[NDArray[np.int64]]:
    """The node of each leaf code on each level."""
    depth = np.zeros(len(tree.labels), np.int64)
    for node in range(1, len(depth)):
        depth[node] = depth[tree.parent[node]] + 1
    at = tree.leaf_nodes.astype(np.int64)
    levels = [at]
    for deepest in range(int(depth[at].max()) - 1, -1, -1):
        at = np.where(depth[at] > deepest, tree.parent[at], at)
        levels.append(at)
    return levels


def _on_line(line: OrderedDomain) -> list[NDArray[np.int64]]:
    """The values, then nothing."""
    values = np.arange(line.size, dtype=np.int64)
    return [values, np.full(line.size, _ALL)] if line.size > 1 else [values]
