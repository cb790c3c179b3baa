"""The levels of an attribute, from its values up to one node for all, as full-domain generalization uses them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.table.domain import BoxLabel, Domain, Meaning


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one attribute: level 0 shows values, the last level one node for all of them.

    At level l of a tree of height H, a value is shown by its node at depth H - l, or by itself if it
    lies higher: as if every short branch were padded with its leaf down to the depth of the longest, as
    in ARX's hierarchy files. Without a tree (an attribute that is shown or suppressed, numbers,
    dates and ordinal values) there are two levels, the value and ``*``.

    ``number[l]`` numbers the node of each code on level l, ``nodes[l]`` are these nodes, ``leaves[l]`` how many
    values lie below each.

    >>> from sfumato.table.taxonomy import Taxonomy
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
        found = [np.unique(row, return_inverse=True) for row in domain.levels()]
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

    def cut(self, level: int) -> tuple[list[BoxLabel], NDArray[np.int64]]:
        """What a level shows: label, meaning and share of each of its nodes, and the node of each code."""
        return [self.domain.node_label(node) for node in self.nodes[level].tolist()], self.number[level]

    def labels(self, level: int) -> list[tuple[str, Meaning]]:
        """The label of each node on a level, and its meaning for the manifest."""
        return [self.domain.node_label(node)[:2] for node in self.nodes[level].tolist()]
