"""Codes of several columns packed into as few 64-bit keys as they fit into."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.table.encode import Codes, smallest

_LIMIT = 1 << 63


class Packing:
    """Which columns share a key: a key holds columns as long as the product of their sizes stays below 2^63.

    >>> packed = Packing([3, 4])
    >>> packed.words, packed.expressions(["a", "b"]), [c.tolist() for c in packed.unpacked([np.array([7])])]
    (1, ['((a) * 4 + b)'], [[1], [3]])
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = [max(size, 1) for size in sizes]
        self._columns: list[list[int]] = []
        span = _LIMIT
        for column, size in enumerate(self.sizes):
            if span * size >= _LIMIT:
                self._columns.append([])
                span = 1
            self._columns[-1].append(column)
            span *= size

    @property
    def words(self) -> int:
        """How many keys there are."""
        return len(self._columns)

    def expressions(self, codes: Sequence[str]) -> list[str]:
        """Each key as SQL computes it from the codes of its columns."""
        found = []
        for columns in self._columns:
            key = codes[columns[0]]
            for column in columns[1:]:
                key = f"(({key}) * {self.sizes[column]} + {codes[column]})"
            found.append(key)
        return found

    def codes(self, quotient: str) -> list[str]:
        """The code of each column as SQL computes it from the keys k0, k1, …; ``quotient`` divides whole numbers.

        >>> Packing([3, 4]).codes("//")
        ['((k0 // 4) % 3)', '((k0 // 1) % 4)']
        """
        found: dict[int, str] = {}
        for word, columns in enumerate(self._columns):
            step = 1
            for column in reversed(columns):
                found[column] = f"((k{word} {quotient} {step}) % {self.sizes[column]})"
                step *= self.sizes[column]
        return [found[column] for column in range(len(self.sizes))]

    def unpacked(self, keys: Sequence[NDArray[Any]]) -> list[Codes]:
        """The codes of each column, in the smallest unsigned integers that hold them."""
        found: dict[int, Codes] = {}
        for columns, key in zip(self._columns, keys, strict=True):
            rest = key.astype(np.int64)
            for column in reversed(columns[1:]):
                rest, code = np.divmod(rest, self.sizes[column])
                found[column] = smallest(code, self.sizes[column])
            found[columns[0]] = smallest(rest, self.sizes[columns[0]])
        return [found[column] for column in range(len(self.sizes))]
