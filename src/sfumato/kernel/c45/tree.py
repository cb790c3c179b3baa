"""Trees of tests over integer columns: nodes, how rows descend, and what is predicted at the leaves.

A node tests one column: a column of categories has a branch for each code, an ordered one has two, up to a cut and
above it. Nodes are numbered from the root, a node's branches side by side after it; ``nodes[i]`` has the fields below.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel

LO, HI, TEST, CUT, ABOVE, FIRST, FORKS, LEAF = range(8)
"""A node: its rows ``[LO, HI)`` in the row order, the column it tests (-1: a leaf), the last code of its first branch
and, while it grows, the next one that occurs; its first branch, how many there are, and the class that it predicts."""

FIELDS = 8


@inner
def tell(rows: Any, label: Any, weight: Any, counts: Any) -> Any:
    """Count the classes of rows; how many rows there are, and their most frequent class, the first of equals."""
    for c in range(len(counts)):
        counts[c] = 0
    for row in rows:
        counts[label[row]] += weight[row]
    total, most = 0, 0
    for c in range(len(counts)):
        total += counts[c]
        if counts[c] > counts[most]:
            most = c
    return total, most


@inner
def way(nodes: Any, node: int, codes: Any, row: int) -> int:
    """Where a row goes from a node; -1 for a code that the node has no branch for."""
    code = codes[nodes[node, TEST], row]
    if nodes[node, CUT] >= 0:
        return nodes[node, FIRST] + (code > nodes[node, CUT])
    if code < 0 or code >= nodes[node, FORKS]:
        return -1
    return nodes[node, FIRST] + code


@inner
def sort_out(order: Any, branch: Any, begins: Any, room: Any) -> None:
    """Sort rows by branch, keeping the order within each; ``begins`` says where each branch begins."""
    at = begins.copy()
    for i in range(len(order)):
        b = branch[order[i]]
        room[at[b]] = order[i]
        at[b] += 1
    for i in range(len(order)):
        order[i] = room[i]


@kernel
def _classify(nodes: Any, codes: Any, out: Any) -> None:
    """The class of each row; if a node has no branch for a code, what the node predicts."""
    for row in range(codes.shape[1]):
        node = 0
        while nodes[node, TEST] >= 0:
            following = way(nodes, node, codes, row)
            if following < 0:
                break
            node = following
        out[row] = nodes[node, LEAF]


def classify(nodes: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """The class that the tree predicts for each row."""
    out = np.empty(codes.shape[1], np.int64)
    _classify(nodes, codes, out)
    return out
