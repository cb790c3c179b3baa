"""Rows in the memory of one machine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernel.group import EqualRows, group_rows
from sfumato.table.encode import Codes

Key = tuple[str, ...]

_BLOCK_CELLS = 8_000_000


@dataclass(frozen=True)
class Counted:
    """A column, or a combination of columns, whose values are counted: codes and how many there can be."""

    codes: Codes
    size: int


def combine(columns: Sequence[Counted]) -> Counted:
    """The combination of several columns as one."""
    if len(columns) == 1:
        return columns[0]
    groups = group_rows([c.codes for c in columns], [c.size for c in columns])
    return Counted(groups.of_row, len(groups.first))


def count(columns: Sequence[Counted]) -> EqualRows:
    """Compress: the distinct code vectors with their multiplicities, and the vector of each row."""
    return group_rows([c.codes for c in columns], [c.size for c in columns])


@dataclass(frozen=True)
class Block:
    """The counts of a stretch of groups."""

    sizes: NDArray[np.int64]
    counts: Mapping[Key, NDArray[np.int64]]
    distinct: Mapping[Key, NDArray[np.int64]]


def tally(
    group_of_row: NDArray[Any],
    groups: int,
    counted: Mapping[Key, Counted],
    distinct: Mapping[Key, Counted],
) -> Iterator[Block]:
    """Count values in groups, a block of groups at a time, so that a block stays within bounded memory."""
    widest = max([1] + [c.size for c in counted.values()])
    step = max(1, _BLOCK_CELLS // widest)
    order = None if groups <= step else np.argsort(group_of_row, kind="stable")
    sizes = np.bincount(group_of_row, minlength=groups)
    different = {key: _distinct_in(group_of_row, groups, c) for key, c in distinct.items()}
    ends = np.cumsum(sizes)
    for first in range(0, groups, step):
        last = min(first + step, groups)
        rows: Any = slice(None) if order is None else order[ends[first] - sizes[first] : ends[last - 1]]
        of_row = group_of_row[rows].astype(np.int64) - first
        yield Block(
            sizes[first:last],
            {key: _matrix(of_row, last - first, c.codes[rows], c.size) for key, c in counted.items()},
            {key: d[first:last] for key, d in different.items()},
        )


def _matrix(of_row: NDArray[np.int64], groups: int, codes: Codes, size: int) -> NDArray[np.int64]:
    return np.bincount(of_row * size + codes, minlength=groups * size).reshape(groups, size)


def _distinct_in(group_of_row: NDArray[Any], groups: int, column: Counted) -> NDArray[np.int64]:
    """How many distinct values occur in each group."""
    pairs = group_rows([group_of_row, column.codes], [groups, column.size])
    return np.bincount(group_of_row[pairs.first], minlength=groups)


def totals(column: Counted) -> NDArray[np.int64]:
    """How often each value occurs in the whole table."""
    return np.bincount(column.codes, minlength=column.size)


def recode(name: str, labels: Sequence[str], codes: NDArray[Any], *, unseen: bool = False) -> pl.Series:
    """The column that shows for each row the label of its code; equal labels become one, in text order.

    Only labels that some row shows are in its type, which is written into the metadata of parquet files; with
    ``unseen`` all of them, for columns that are compared with others and not published.
    """
    there = (np.bincount(codes, minlength=len(labels)) > 0) | unseen
    distinct = sorted({label for label, shown in zip(labels, there, strict=True) if shown})
    at = {label: i for i, label in enumerate(distinct)}
    short = np.array([at.get(label, 0) for label in labels], dtype=np.uint32)
    words = pl.Series(name, distinct, dtype=pl.Enum(distinct))
    return words.gather(pl.Series(short[codes]))
