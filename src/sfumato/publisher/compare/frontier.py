"""The Pareto frontier: the points that no other point beats on both of two figures."""

from collections.abc import Sequence

Pair = tuple[float, float]


def frontier(pairs: Sequence[Pair]) -> list[int]:
    """The indices of the pairs that no other one dominates; less is better, and equal pairs do not dominate each other.

    A pair is dominated if another is at most as great in both figures and smaller in one.

    >>> frontier([(1.0, 3.0), (2.0, 2.0), (2.0, 4.0), (3.0, 2.0), (1.0, 3.0)])
    [0, 1, 4]
    """
    order = sorted(range(len(pairs)), key=lambda i: pairs[i])
    found: list[int] = []
    best: Pair | None = None
    for i in order:
        if best is None or pairs[i][1] < best[1] or pairs[i] == best:
            found.append(i)
            best = pairs[i]
    return sorted(found)
