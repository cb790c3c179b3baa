"""The randomization scheme: values are drawn by public matrices, every row and attribute by itself."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.draws import drawn_bytes, shuffled
from sfumato.kernel.noise import Noise
from sfumato.release.generalization import as_published
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata

_BLOCK = 1 << 19


def randomized(table: Microdata, ways: Mapping[str, Distortion], rng: np.random.Generator | None) -> pl.DataFrame:
    """The published table: randomized columns, all others as they are, the rows in random order.

    The bytes come from the operating system's generator: it is the one source that stays unpredictable to who
    knows what it gave before. Fast generators such as PCG64 or Philox can be reconstructed from their output, and
    with them every draw. To be fast all the same, a draw reads the bytes of its 32-bit word only as far as they
    matter, one byte where the value is kept for certain, and columns are drawn side by side.
    """
    columns = list(table.columns.values())
    noise = partial(drawn_bytes, rng=rng)
    if rng is not None:
        order = shuffled(table.rows, rng)
        shown = [_in_order(_drawn(c, ways.get(c.name), noise), order) for c in columns]
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            waiting = pool.submit(shuffled, table.rows, None)
            drawn = list(pool.map(lambda c: _drawn(c, ways.get(c.name), noise), columns))
            order = waiting.result()
            shown = list(pool.map(lambda c: _in_order(c, order), drawn))
    plain = table.plain[order] if table.plain.width else table.plain
    return pl.DataFrame([*shown, *plain.get_columns()])


def _drawn(column: Column, way: Distortion | None, noise: Noise) -> Column:
    """The column, randomized."""
    if way is None or not way.changes:
        return column
    codes = column.codes
    parts = [way.draw(codes[first : first + _BLOCK], noise) for first in range(0, len(codes), _BLOCK)]
    return replace(column, codes=np.concatenate(parts))


def _in_order(column: Column, order: NDArray[np.int64]) -> pl.Series:
    """What is published, in this order: codes are cheaper to put in order than what is published."""
    return as_published(replace(column, codes=column.codes[order]))
