"""Published rows made of vectors: every vector as often as it has rows, and the distinct rows that they show."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Counts, Integers, count
from sfumato.engine.dealing import Dealer
from sfumato.engine.decision import Grouping
from sfumato.engine.output_column import ENTRY, VECTOR, OutputColumn
from sfumato.engine.parts import compress
from sfumato.table.encode import smallest

_BATCH = 1 << 20


class KnownVectors(NamedTuple):
    """The vectors of a count, as places of the finest vectors, and these."""

    finest: Counts
    of_finest: NDArray[Any]

    @classmethod
    def itself(cls, counts: Counts) -> "KnownVectors":
        """A count of the finest vectors themselves."""
        return cls(counts, np.arange(len(counts), dtype=np.uint32))


def expanded(weights: Integers) -> Iterator[pl.DataFrame]:
    """Each vector as often as it has rows, a batch at a time."""
    ends = np.cumsum(weights)
    for first in range(0, int(ends[-1]), _BATCH):
        last = min(first + _BATCH, int(ends[-1]))
        begin, end = np.searchsorted(ends, [first, last - 1], side="right")
        number = weights[begin : end + 1].copy()
        number[0] = ends[begin] - first if end > begin else last - first
        if end > begin:
            number[-1] = last - ends[end - 1]
        yield pl.DataFrame({VECTOR: np.repeat(np.arange(begin, end + 1, dtype=np.uint32), number)})


def compressed(
    coded: list[OutputColumn], known: KnownVectors, dealer: Dealer | None, grouping: Grouping | None
) -> tuple[pl.DataFrame, Integers]:
    """The distinct published rows, made of the vectors."""
    rows = pl.DataFrame({VECTOR: np.arange(len(known.finest), dtype=np.uint32)})
    if dealer is not None:
        rows = rows.with_columns(pl.Series(ENTRY, dealer.take(known.of_finest).astype(np.uint32)))
    if not coded:
        return compress(pl.DataFrame(), known.finest.weights)
    first, weights = _distinct(coded, rows, known.finest.weights, grouping)
    rows = rows[first]
    return pl.DataFrame([make(rows) for make in coded]), weights


def _distinct(
    coded: list[OutputColumn], rows: pl.DataFrame, weights: Integers, grouping: Grouping | None
) -> tuple[Integers, Integers]:
    """One of each of the rows that show the same, by what their groups show together and by the rest; their weights."""
    shown = [make.of_groups() for make in coded if make.by_group]
    codes = [make.codes(rows) for make in coded if not make.by_group]
    if shown and grouping is not None:
        same = count(shown)
        of_group = smallest(same.of_row, len(same.first))
        codes.append(Counted(of_group[grouping.group[rows[ENTRY].to_numpy()]], len(same.first)))
    found = count(codes)
    return found.first, np.bincount(found.of_row, weights=weights).astype(np.int64)
