"""The compressed table of full-domain search: distinct vectors of quasi-identifiers, grouped on any levels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Block, Counted, Counts, Key, totals
from sfumato.kernel.arrange import sort_order
from sfumato.kernel.group import EqualRows, group_rows
from sfumato.kernel.incognito.grid_count import cells, count_cells
from sfumato.method.incognito.levels import Ladder
from sfumato.table.encode import smallest
from sfumato.table.microdata import Microdata

_CHUNK = 1 << 12
_WORD = 1 << 31
_BLOCK_CELLS = 8_000_000
_CELLS_A_VECTOR = 8
_FEW_CELLS = 1 << 20

Levels = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class GroupedVectors:
    """The groups on some levels: their sizes, the group of each vector (if asked for), and what a group shows.

    ``shown(j, groups)`` is the number of the node that these groups show of attribute j.
    """

    sizes: NDArray[np.int64]
    place: NDArray[Any] | None
    shown: Callable[[int, NDArray[np.int64]], NDArray[np.int64]]


class CompressedVectors:
    """Distinct vectors of codes with their multiplicities.

    Neighbouring attributes are joined into chunks with few values, so that one look-up generalizes several
    attributes at once; a vector's group is a cell of a grid, counted there or, if the grid is too large, hashed.
    Vectors are in the order of their first chunk, so that those of neighbouring cells are near each other.
    """

    def __init__(self, table: Microdata | Counts, ladders: Sequence[Ladder]) -> None:
        self.ladders = ladders
        self.rows = table.rows
        self.chunks = _chunks([ladder.size for ladder in ladders], _CHUNK)
        columns = [_joined([table.quasi[j].codes for j in c], self._sizes(c)) for c in self.chunks]
        self.beside = frozenset(table.names) - {c.name for c in table.quasi} if isinstance(table, Counts) else None
        found = _grouped(columns, [prod(self._sizes(c)) for c in self.chunks], distinct=self.beside == frozenset())
        order = np.argsort(smallest(columns[0][found.first], prod(self._sizes(self.chunks[0]))), kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.of_entry = place[found.of_row]
        self.entry_weights = table.weights
        self.weights = totals(Counted(self.of_entry, len(order)), table.weights).astype(np.int32)
        self.codes = np.stack([column[found.first[order]] for column in columns], axis=1)

    def _sizes(self, chunk: Sequence[int]) -> list[int]:
        return [self.ladders[j].size for j in chunk]

    def totals(self) -> list[NDArray[np.int64]]:
        """How many rows have each code, for each attribute."""
        found = []
        for at, chunk in enumerate(self.chunks):
            sizes = self._sizes(chunk)
            counts = np.bincount(self.codes[:, at], weights=self.weights, minlength=prod(sizes)).reshape(sizes)
            axes = range(len(chunk))
            found += [counts.sum(axis=tuple(a for a in axes if a != axis)).astype(np.int64) for axis in axes]
        return found

    def _leaf(self, j: int, vectors: NDArray[np.int64]) -> NDArray[np.int64]:
        """The codes of some vectors on attribute j."""
        at, chunk = next((i, c) for i, c in enumerate(self.chunks) if j in c)
        sizes = self._sizes(chunk)
        place = chunk.index(j)
        return np.asarray(self.codes[vectors, at] // _strides(sizes)[place] % sizes[place], dtype=np.int64)

    def group(self, levels: Levels, *, places: bool) -> GroupedVectors:
        """The groups of vectors that show the same on these levels."""
        sizes = [len(ladder.nodes[level]) for ladder, level in zip(self.ladders, levels, strict=True)]
        number = prod(sizes)
        if number > max(_FEW_CELLS, _CELLS_A_VECTOR * len(self.weights)):
            return self._hashed(levels, sizes)
        starts, table = self._table(levels, range(len(levels)), sizes)
        counts = np.zeros(number, dtype=np.int32)
        count_cells(self.codes, starts, table, self.weights, counts)
        used = np.flatnonzero(counts > 0)
        place = None
        if places:
            rank = np.zeros(number, dtype=np.int32)
            rank[used] = np.arange(len(used))
            place = rank[cells(self.codes, starts, table)]
        strides = _strides(sizes)
        return GroupedVectors(
            counts[used].astype(np.int64), place, lambda j, groups: used[groups] // strides[j] % sizes[j]
        )

    def _hashed(self, levels: Levels, sizes: Sequence[int]) -> GroupedVectors:
        """The same by hashing, where most cells of the grid would be empty."""
        words = _chunks(sizes, _WORD)
        keys = [cells(self.codes, *self._table(levels, word, [sizes[j] for j in word])) for word in words]
        found = group_rows(keys, [prod(sizes[j] for j in word) for word in words])
        weight = np.bincount(found.of_row, weights=self.weights).astype(np.int64)

        def shown(j: int, groups: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.asarray(self.ladders[j].number[levels[j]][self._leaf(j, found.first[groups])])

        return GroupedVectors(weight, found.of_row, shown)

    def _table(
        self, levels: Levels, chosen: Sequence[int], sizes: Sequence[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """What each code of each chunk adds to a cell, if the chosen attributes span the grid."""
        stride = dict(zip(chosen, _strides(sizes), strict=True))
        parts = []
        for chunk in self.chunks:
            part = np.zeros(1, dtype=np.int32)
            for j in chunk:
                steps = (self.ladders[j].number[levels[j]] * stride.get(j, 0)).astype(np.int32)
                part = np.add.outer(part, steps).ravel()
            parts.append(part)
        starts = np.cumsum([0] + [len(p) for p in parts[:-1]])
        return starts, np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The distinct pairs of a vector and a value of some column, with their multiplicities."""

    vector: NDArray[np.int64]
    value: NDArray[np.int64]
    weight: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, vectors: CompressedVectors, column: Counted, key: Key) -> "Pairs":
        """Which values the rows of each vector have, in the order of the vectors, as groups have them."""
        sizes = [len(vectors.weights), column.size]
        found = _grouped([vectors.of_entry, column.codes], sizes, distinct=vectors.beside == frozenset(key))
        weight = totals(Counted(found.of_row, len(found.first)), vectors.entry_weights)
        order = sort_order(vectors.of_entry[found.first], sizes[0])
        first = found.first[order]
        return cls(vectors.of_entry[first], column.codes[first].astype(np.int64), weight[order], column.size)

    def counts(self, place: NDArray[Any], first: int, last: int) -> NDArray[np.int64]:
        """How often each value occurs in the groups from ``first`` to before ``last``."""
        group = place[self.vector]
        inside = slice(None) if last - first > group.max() else (group >= first) & (group < last)
        cell = (group[inside] - first) * self.size + self.value[inside]
        counts = np.bincount(cell, weights=self.weight[inside], minlength=(last - first) * self.size)
        return counts.astype(np.int64).reshape(last - first, self.size)

    def distinct(self, place: NDArray[Any], groups: int) -> NDArray[np.int64]:
        """How many different values each group has."""
        group = place[self.vector]
        found = group_rows([group, self.value], [groups, self.size])
        return np.bincount(group[found.first], minlength=groups)


def tally(grouped: GroupedVectors, counted: Mapping[Key, Pairs], distinct: Mapping[Key, Pairs]) -> Iterator[Block]:
    """Count values in the groups, a block of groups at a time."""
    groups = len(grouped.sizes)
    if grouped.place is None:
        yield Block(grouped.sizes, {}, {})
        return
    place = grouped.place
    different = {key: pairs.distinct(place, groups) for key, pairs in distinct.items()}
    step = max(1, _BLOCK_CELLS // max([1] + [pairs.size for pairs in counted.values()]))
    for first in range(0, groups, step):
        last = min(first + step, groups)
        yield Block(
            grouped.sizes[first:last],
            {key: pairs.counts(place, first, last) for key, pairs in counted.items()},
            {key: d[first:last] for key, d in different.items()},
        )


def _grouped(columns: Sequence[NDArray[Any]], sizes: Sequence[int], *, distinct: bool) -> EqualRows:
    """Which entries agree; those of a compressed table that counts nothing else are known to be distinct."""
    if not distinct:
        return group_rows(columns, sizes)
    each = np.arange(len(columns[0]))
    return EqualRows(each, each, np.ones_like(each))


def _chunks(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Neighbours are joined as long as they have at most ``most`` combinations.

    >>> _chunks([2, 100, 5, 7, 16], 1000)
    [[0, 1, 2], [3, 4]]
    """
    chunks: list[list[int]] = [[]]
    span = 1
    for j, size in enumerate(sizes):
        if chunks[-1] and span * size > most:
            chunks.append([])
            span = 1
        chunks[-1].append(j)
        span *= size
    return chunks


def _strides(sizes: Sequence[int]) -> list[int]:
    """The strides of a cell's number per coordinate; the last one varies fastest."""
    return [prod(sizes[j + 1 :]) for j in range(len(sizes))]


def _joined(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> NDArray[np.int32]:
    """Several columns as one, in mixed radix."""
    joined = columns[0].astype(np.int32)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        joined *= np.int32(size)
        joined += column.astype(np.int32)
    return joined
