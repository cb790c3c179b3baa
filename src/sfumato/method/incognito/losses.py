"""The loss of full-domain generalization: four measures, exact in integers, with bounds for pruning.

All of them count a suppressed row as completely lost. Each has a ``key``, an integer that orders nodes exactly, and a
``score``, the same in floating point, which is compared with bounds.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import reduce
from math import lcm, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, nearest
from sfumato.method.incognito.compressed import CompressedVectors, GroupedVectors, Levels
from sfumato.method.incognito.levels import Ladder

Booleans = NDArray[np.bool_]


class Loss(ABC):
    """A measure of loss on the nodes of one table's lattice."""

    name: ClassVar[str]

    def __init__(self, vectors: CompressedVectors) -> None:
        self.vectors = vectors
        self.ladders = vectors.ladders
        self.rows = vectors.rows

    @abstractmethod
    def key(self, levels: Levels, grouped: GroupedVectors, bad: Booleans) -> int:
        """The loss of a node as an integer, if the groups in ``bad`` are suppressed."""

    @abstractmethod
    def score(self, key: int) -> float:
        """The key in the units of the bounds."""

    def value(self, key: int) -> float:
        """The loss on its usual scale."""
        return self.score(key)

    @abstractmethod
    def below(self, levels: Levels, grouped: GroupedVectors | None, sure: Booleans) -> NDArray[np.float64]:
        """Lower bounds of the scores of all nodes up to these levels, where the groups in ``sure`` are suppressed."""

    def above(self, grouped: GroupedVectors) -> float:
        """A lower bound of the score of all nodes from these groups upwards."""
        return 0.0

    def floor(self) -> NDArray[np.float64]:
        """Lower bounds of the scores of all nodes, before any is judged."""
        return self.below(tuple(ladder.top for ladder in self.ladders), None, np.zeros(0, np.bool_))


class ArxLoss(Loss):
    """ARX's Loss with the geometric mean.

    A row's share of an attribute is the number of values below its node divided by N, the number of values of the
    hierarchy; a suppressed row's is 1. With n rows v = (sum of shares - n/N) / (n - n/N), and the loss is
    (product of 1 + v)^(1/m) - 1. An attribute with one value loses nothing.

    With c the sum of values below nodes, 1 + v = (c + n (N - 2)) / (n (N - 1)): the products of the numerators
    order the nodes exactly.
    """

    name: ClassVar[str] = "arx"

    def __init__(self, vectors: CompressedVectors) -> None:
        super().__init__(vectors)
        self.sized = [j for j, ladder in enumerate(self.ladders) if ladder.size > 1]
        self.unit = prod(self.rows * (self.ladders[j].size - 1) for j in self.sized)
        self.sums = [_sums(ladder, rows) for ladder, rows in zip(self.ladders, vectors.totals(), strict=True)]

    def _extra(self, j: int, level: int, grouped: GroupedVectors, lost: NDArray[np.int64]) -> int:
        """How much suppressing groups raises the sum."""
        ladder = self.ladders[j]
        return int((ladder.size - ladder.leaves[level][grouped.shown(j, lost)]) @ grouped.sizes[lost])

    def key(self, levels: Levels, grouped: GroupedVectors, bad: Booleans) -> int:
        lost = np.flatnonzero(bad)
        return prod(
            self.sums[j][levels[j]] + self._extra(j, levels[j], grouped, lost) + self.rows * (self.ladders[j].size - 2)
            for j in self.sized
        )

    def score(self, key: int) -> float:
        return float(Fraction(key, self.unit))

    def value(self, key: int) -> float:
        return float(self.score(key) ** (1 / len(self.ladders)) - 1)

    def below(self, levels: Levels, grouped: GroupedVectors | None, sure: Booleans) -> NDArray[np.float64]:
        lost = np.flatnonzero(sure)
        factors = []
        for j, level in enumerate(levels):
            size = self.ladders[j].size
            extra = self._extra(j, level, grouped, lost) if grouped is not None and len(lost) else 0
            sums = np.array(self.sums[j][: level + 1], dtype=np.float64)
            one = np.ones(level + 1)
            factors.append((sums + extra + self.rows * (size - 2)) / (self.rows * (size - 1)) if size > 1 else one)
        return _outer(np.multiply, factors)


class Precision(Loss):
    """Sweeney's precision, as a loss: the mean over rows and attributes of level / height, 1 for suppressed rows."""

    name: ClassVar[str] = "precision"

    def __init__(self, vectors: CompressedVectors) -> None:
        super().__init__(vectors)
        self.heights = [ladder.top for ladder in self.ladders]
        self.common = lcm(*(h for h in self.heights if h))

    def key(self, levels: Levels, grouped: GroupedVectors, bad: Booleans) -> int:
        lost = int(grouped.sizes @ bad)
        steps = [(l * (self.rows - lost) + h * lost, h) for l, h in zip(levels, self.heights, strict=True) if h]
        return sum(step * (self.common // h) for step, h in steps)

    def score(self, key: int) -> float:
        return float(Fraction(key, self.common * self.rows * len(self.heights)))

    def below(self, levels: Levels, grouped: GroupedVectors | None, sure: Booleans) -> NDArray[np.float64]:
        lost = float(grouped.sizes @ sure) / self.rows if grouped is not None else 0.0
        parts = []
        for level, height in zip(levels, self.heights, strict=True):
            steps = np.arange(level + 1) / max(height, 1)
            parts.append((steps * (1 - lost) + (lost if height else 0.0)) / len(levels))
        return _outer(np.add, parts)


class _ByCells(Loss):
    """A loss by the sizes of groups: a node has at most as many of them as there are combinations of nodes."""

    def __init__(self, vectors: CompressedVectors) -> None:
        super().__init__(vectors)
        self.occurring = [
            [len(np.unique(number[rows > 0])) for number in ladder.number]
            for ladder, rows in zip(self.ladders, vectors.totals(), strict=True)
        ]

    def cells(self, levels: Levels) -> NDArray[np.float64]:
        """How many groups each node up to these levels can have."""
        known = [np.array(o[: l + 1], dtype=np.float64) for o, l in zip(self.occurring, levels, strict=True)]
        return np.minimum(_outer(np.multiply, known), self.rows)


class Discernibility(_ByCells):
    """Bayardo and Agrawal's discernibility: each row costs the size of its group, a suppressed one all rows.

    N rows in at most c groups cost at least N² / c.
    """

    name: ClassVar[str] = "discernibility"

    def key(self, levels: Levels, grouped: GroupedVectors, bad: Booleans) -> int:
        kept = grouped.sizes[~bad]
        return int(kept @ kept) + int(grouped.sizes @ bad) * self.rows

    def score(self, key: int) -> float:
        return float(key)

    def below(self, levels: Levels, grouped: GroupedVectors | None, sure: Booleans) -> NDArray[np.float64]:
        lost = float(grouped.sizes @ sure) if grouped is not None else 0.0
        return np.asarray(lost * self.rows + (self.rows - lost) ** 2 / self.cells(levels))

    def above(self, grouped: GroupedVectors) -> float:
        return float(grouped.sizes @ grouped.sizes)


class GroupSize(_ByCells):
    """The average size of the groups, all suppressed rows being one group, as in ARX (not divided by k)."""

    name: ClassVar[str] = "aecs"

    def key(self, levels: Levels, grouped: GroupedVectors, bad: Booleans) -> int:
        return -int((~bad).sum() + bad.any())

    def score(self, key: int) -> float:
        return self.rows / -key

    def below(self, levels: Levels, grouped: GroupedVectors | None, sure: Booleans) -> NDArray[np.float64]:
        return np.asarray(self.rows / self.cells(levels))

    def above(self, grouped: GroupedVectors) -> float:
        return self.rows / len(grouped.sizes)


LOSSES: dict[str, type[Loss]] = {cls.name: cls for cls in (ArxLoss, Precision, Discernibility, GroupSize)}


def loss_named(name: object) -> type[Loss]:
    """The measure of that name."""
    if not isinstance(name, str) or name not in LOSSES:
        raise PolicyError(f"incognito: there is no loss {name!r}{nearest(str(name), LOSSES)}")
    return LOSSES[name]


def _sums(ladder: Ladder, rows: NDArray[np.int64]) -> list[int]:
    """For each level of an attribute the sum over all rows of the values below its node."""
    return [int(leaves[number] @ rows) for number, leaves in zip(ladder.number, ladder.leaves, strict=True)]


def _outer(join: np.ufunc, parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """All combinations of one entry of each part, joined."""
    return np.asarray(reduce(join.outer, parts))
