"""The randomization scheme: values are drawn by public matrices, every row and attribute by itself."""

import os
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.local import shuffled
from sfumato.release.generalization import as_published
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata

_BLOCK = 1 << 20


def randomized(table: Microdata, ways: Mapping[str, Distortion], rng: np.random.Generator | None) -> pl.DataFrame:
    """The published table: randomized columns, all others as they are, the rows in random order.

    Every draw takes 32 fresh bits of the operating system's generator: it is the one source that stays
    unpredictable to who knows most of what it gave before, and at some 400 MB/s it costs about as much as writing
    the rows. Fast generators such as PCG64 or Philox can be reconstructed from their output, and with them every draw.
    """
    columns = [as_published(_drawn(c, ways.get(c.name), rng)) for c in table.columns.values()]
    return pl.DataFrame([*columns, *table.plain.get_columns()])[shuffled(table.rows, rng)]


def _drawn(column: Column, way: Distortion | None, rng: np.random.Generator | None) -> Column:
    if way is None or not way.changes:
        return column
    parts = []
    for first in range(0, len(column.codes), _BLOCK):
        codes = column.codes[first : first + _BLOCK]
        parts.append(way.draw(codes, words(len(codes), rng)))
    return replace(column, codes=np.concatenate(parts))


def words(number: int, rng: np.random.Generator | None) -> NDArray[np.uint32]:
    """Random 32-bit words: from the operating system, or from a given generator (experiments)."""
    if rng is None:
        return np.frombuffer(os.urandom(4 * number), dtype=np.uint32)
    return rng.integers(0, 2**32, size=number, dtype=np.uint32)
