"""The table as counts: each distinct vector of codes with the number of rows that have it, and tallies of groups."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernel.group import EqualRows, group_rows
from sfumato.table.coded_columns import CodedColumns
from sfumato.table.encode import Codes, Column
from sfumato.table.microdata import Microdata

Key = tuple[str, ...]
Integers = NDArray[np.int64]

_BLOCK_CELLS = 8_000_000


@dataclass(frozen=True)
class Counted:
    """A column, or a combination of columns, whose values are counted: codes and the number of possible values."""

    codes: Codes
    size: int


def combine(columns: Sequence[Counted]) -> Counted:
    """The combination of several columns as one."""
    if len(columns) == 1:
        return columns[0]
    groups = count(columns)
    return Counted(groups.of_row, len(groups.first))


def count(columns: Sequence[Counted]) -> EqualRows:
    """The distinct vectors of some columns with their multiplicities, and the vector of each entry."""
    return group_rows([c.codes for c in columns], [c.size for c in columns])


@dataclass(frozen=True, eq=False)
class Counts(CodedColumns):
    """The compressed table: ``weights[v]`` rows have the codes of vector v in every counted column.

    Rows that agree in all of these are interchangeable: a decision on counts says how many of them go where, and
    which row is which is drawn when the decision is applied. ``others`` are uncoded columns (identifiers) that
    requirements read: their values, one per vector.
    """

    columns: Mapping[str, Column]
    others: pl.DataFrame
    weights: Integers
    dropped: int = 0
    _agreeing: dict[Key, EqualRows] = field(default_factory=dict, init=False, repr=False)
    """Which vectors agree in some columns, cached once asked for."""

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} vectors of {self.rows:,} rows over {', '.join(self.names)})"

    @cached_property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.weights.sum())

    @property
    def entries(self) -> int:
        """How many vectors there are."""
        return len(self.weights)

    @property
    def names(self) -> Key:
        """The counted columns."""
        return (*self.columns, *self.others.columns)

    def uncoded(self, name: str) -> pl.Series | None:
        """The values of a column that is not coded; None if there is no such column."""
        return self.others[name] if name in self.others.columns else None

    def agreeing(self, names: Key) -> EqualRows:
        """Which vectors agree in some columns, computed once; sizes are numbers of rows."""
        if names not in self._agreeing:
            found = count([Counted(*self.counted(name)) for name in names])
            size = np.bincount(found.of_row, weights=self.weights).astype(np.int64)
            self._agreeing[names] = found._replace(size=size)
        return self._agreeing[names]

    def knowing(self, other: "Counts") -> Self:
        """The same counts, sharing with others of the same vectors which of them agree, once that is computed."""
        object.__setattr__(self, "_agreeing", other._agreeing)
        return self

    def taken(self, vectors: Integers, weights: Integers, values: Mapping[str, Integers] | None = None) -> "Counts":
        """Some of the vectors, with other weights, and with other values in some columns."""
        columns = {n: replace(c, codes=c.codes[vectors]) for n, c in self.columns.items()}
        columns |= {n: replace(columns[n], codes=codes) for n, codes in (values or {}).items()}
        others = self.others[vectors] if self.others.width else self.others
        return Counts(columns, others, weights, self.dropped)

    @cached_property
    def vector_of_person(self) -> Integers:
        """The vector of each row, one vector after the other."""
        return np.repeat(np.arange(len(self)), self.weights)

    def people(self) -> Microdata:
        """The rows one by one, in the order of their vectors, for algorithms that distinguish equal rows."""
        columns = {n: replace(c, codes=c.codes[self.vector_of_person]) for n, c in self.columns.items()}
        hidden = self.others[self.vector_of_person] if self.others.width else self.others
        return Microdata(columns, pl.DataFrame(), hidden, self.rows, self.dropped)


@dataclass(frozen=True)
class Block:
    """The counts of some groups; ``largest``: the rows of the largest group of all; ``most``: the rows with the most
    frequent value, where they are known."""

    sizes: Integers
    counts: Mapping[Key, Integers]
    distinct: Mapping[Key, Integers]
    largest: int = 0
    most: Mapping[Key, Integers] = field(default_factory=dict)


def tally(
    group: NDArray[Any],
    groups: int,
    counted: Mapping[Key, Counted],
    distinct: Mapping[Key, Counted],
    weights: Integers | None = None,
) -> Iterator[Block]:
    """Count values in groups, a block of groups at a time, so that a block stays within bounded memory.

    ``group`` is the group of each entry; an entry stands for as many rows as its weight, or for one without weights.
    """
    sizes = _weighed(group, groups, weights)
    largest = int(sizes.max(initial=0))
    different = {key: _distinct_in(group, groups, c) for key, c in distinct.items()}
    if groups and not counted:  # there are no cells
        yield Block(sizes, {}, different)
        return
    widest = max([1] + [c.size for c in counted.values()])
    step = max(1, _BLOCK_CELLS // widest)
    order = None if groups <= step else np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=groups))
    for first in range(0, groups, step):
        last = min(first + step, groups)
        here: Any = slice(None) if order is None else order[ends[first - 1] if first else 0 : ends[last - 1]]
        inside = group[here].astype(np.int64) - first
        weight = None if weights is None else weights[here]
        yield Block(
            sizes[first:last],
            {key: _matrix(inside, last - first, c.codes[here], c.size, weight) for key, c in counted.items()},
            {key: d[first:last] for key, d in different.items()},
            largest,
        )


def _weighed(codes: NDArray[Any], size: int, weights: Integers | None) -> Integers:
    """How many rows have each code; sums of integers below 2^53, which floating point represents exactly."""
    found = np.bincount(codes, weights=weights, minlength=size)
    return found if weights is None else found.astype(np.int64)


def _matrix(inside: Integers, groups: int, codes: Codes, size: int, weights: Integers | None) -> Integers:
    return _weighed(inside * size + codes, groups * size, weights).reshape(groups, size)


def _distinct_in(group: NDArray[Any], groups: int, column: Counted) -> Integers:
    """How many distinct values occur in each group."""
    pairs = group_rows([group, column.codes], [groups, column.size])
    return np.bincount(group[pairs.first], minlength=groups)


def totals(column: Counted, weights: Integers | None = None) -> Integers:
    """How often each value occurs in the whole table."""
    return _weighed(column.codes, column.size, weights)
