"""The way of each value up to the root, and what it costs to show a node: one number per node, by objective."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, nearest
from sfumato.method.incognito.levels import Ladder
from sfumato.table.encode import Column

Objective = Literal["granularity", "ncp", "entropy", "discernibility"]

OBJECTIVES: tuple[str, ...] = get_args(Objective)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def objective_named(name: object) -> None:
    """Raise if there is no such objective."""
    if name not in OBJECTIVES:
        raise PolicyError(f"local-recoding: there is no objective {name!r}{nearest(str(name), OBJECTIVES)}")


@dataclass(frozen=True, eq=False)
class Path:
    """An attribute: ``node[l]`` is the number of the node that shows each code on level l, ``cost[l]`` its cost.

    Nodes are numbered over all levels; a node that occurs on several levels has one number. ``order[l]`` is the cost
    by which boxes are visited: the cost itself, or the same for all codes of a level.
    """

    node: Integers
    cost: Floats
    order: Floats

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return int(self.node.max()) + 1

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return len(self.node)


def path_of(column: Column, rows: Integers, objective: Objective, attributes: int) -> Path:
    """The path of an attribute of so many, given how many rows have each code.

    >>> import numpy as np
    >>> from sfumato.table.encode import Kind, Role
    >>> from sfumato.table.taxonomy import Taxonomy
    >>> tree = Taxonomy.from_tree({"Any": {"Work": ["Nurse", "Cook"], "None": {}}})
    >>> job = Column("job", Role.QUASI, Kind.CATEGORICAL, tree, np.array([0]))
    >>> path_of(job, np.array([1, 1, 2]), "granularity", 1).cost.tolist()
    [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1.0, 1.0, 1.0]]
    """
    domain = column.domain
    if domain.ordered:
        node, width = _halves(domain.axis(sets=False)["position"])
    else:
        node, width = _tree(Ladder.of(column.name, domain), domain.size, objective)
    if objective in ("granularity", "ncp"):
        cost = width / attributes
        return Path(node, cost, cost)
    below = np.stack([np.bincount(level, weights=rows)[level] for level in node])
    return Path(node, *_by_rows(below, rows, objective, attributes))


def _tree(ladder: Ladder, size: int, objective: Objective) -> tuple[Integers, Floats]:
    """The nodes of a tree by level, and the share of the domain that each covers; 0 for a single value."""
    node = np.stack([nodes[number] for nodes, number in zip(ladder.nodes, ladder.number, strict=True)])
    values = np.stack([leaves[number] for leaves, number in zip(ladder.leaves, ladder.number, strict=True)])
    if objective == "ncp":
        return node, np.where(values > 1, values / size, 0.0)
    return node, (values - 1) / max(size - 1, 1)


def _halves(position: Floats) -> tuple[Integers, Floats]:
    """A line without nodes of its own, cut into halves again and again, and the length of each part."""
    parts = [np.arange(len(position))]
    while parts[-1][-1] > 0:
        parts.append(parts[-1] // 2)
    node, width, used = [], [], 0
    for part in parts:
        first = np.searchsorted(part, part, side="left")
        last = np.searchsorted(part, part, side="right") - 1
        node.append(part + used)
        width.append(np.minimum(position[last] - position[first], 1.0))
        used += int(part[-1]) + 1
    return np.stack(node).astype(np.int64), np.stack(width)


def _by_rows(below: Floats, rows: Integers, objective: Objective, attributes: int) -> tuple[Floats, Floats]:
    """Costs by the number of rows below a node, and those by which boxes are visited; for the entropy, level means."""
    total = max(float(rows.sum()), 1.0)
    share = np.maximum(below, 1.0) / total
    if objective == "discernibility":
        cost = np.log2(share)
        return cost, cost
    bits = -(np.log2(share[0]) * rows).sum() / total
    cost = np.log2(share) / (max(bits, 1e-12) * attributes)
    order = ((cost - cost[0]) * rows).sum(axis=1) / total
    return cost, np.repeat(order[:, None], len(rows), axis=1)


def paths_of(columns: Sequence[Column], weights: Integers, objective: Objective) -> list[Path]:
    """The paths of all attributes."""
    found = []
    for column in columns:
        rows = np.bincount(column.codes, weights=weights, minlength=column.size).astype(np.int64)
        found.append(path_of(column, rows, objective, len(columns)))
    return found
