"""The rank of each cell among the distinct values of its column: computed once, for the digest and for the codes."""

from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.batches import Told, unheard
from sfumato.table.plain_text import PlainTable

_SPARSE = 4
"""A lookup table from numbers to ranks may have this many entries per row; beyond that, numbers are searched for."""


class Ranked(NamedTuple):
    """The distinct values of a column in order, text by its bytes, and each row's place among them.

    A missing value has the place after the last one.
    """

    values: pl.Series
    place: NDArray[Any]


Ranks = Mapping[str, Ranked]
"""The ranks of the columns of a frame, as far as they are known."""


def ranked_columns(frame: pl.DataFrame, told: Told = unheard) -> dict[str, Ranked]:
    """The ranks of all columns of text and whole numbers, several at a time; ``told`` is called as they finish."""
    columns = [column for column in frame.get_columns() if is_ranked(column.dtype)]
    ranks: dict[str, Ranked] = {}
    with ThreadPoolExecutor() as pool, closing(_each(pool, columns)) as found:
        for column in columns:
            ranks[column.name] = next(found)
            told(len(ranks) / len(columns))
    return ranks


def frame_of(table: PlainTable) -> tuple[pl.DataFrame, dict[str, Ranked]]:
    """A table that was read without Polars as a frame, whose columns are categories instead of text, and its ranks.

    >>> frame, ranks = frame_of(PlainTable(["x"], [["a", "b"]], [np.array([1, 2, 0], np.uint8)]))
    >>> frame["x"].to_list(), ranks["x"].values.to_list(), ranks["x"].place.tolist()
    (['b', None, 'a'], ['a', 'b'], [1, 2, 0])
    """
    columns, ranks = [], {}
    for name, words, place in zip(*table, strict=True):
        values, numbers = pl.Series(words, dtype=pl.String), pl.Series(name, place)
        if len(words) and place.max() == len(words):
            numbers = numbers.set(numbers == len(words), None)
        columns.append(numbers.cat.to(pl.Enum(values)) if words else pl.Series(name, [None] * len(place), pl.String))
        ranks[name] = Ranked(values, place)
    return pl.DataFrame(columns), ranks


def _each(pool: ThreadPoolExecutor, columns: Sequence[pl.Series]) -> Generator[Ranked, None, None]:
    """The ranks of each column in turn; if nobody wants the rest, those that were not begun are not."""
    waiting = [pool.submit(ranked, column) for column in columns]
    try:
        for future in waiting:
            yield future.result()
    finally:
        for future in waiting:
            future.cancel()


def is_ranked(dtype: pl.DataType) -> bool:
    """Whether `ranked` takes such a column."""
    return dtype == pl.String or (dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128))


def ranked(column: pl.Series) -> Ranked:
    """The ranks of a column of text or of whole numbers.

    >>> found = ranked(pl.Series(["b", None, "a"]))
    >>> found.values.to_list(), found.place.tolist()
    (['a', 'b'], [1, 2, 0])
    """
    values = column.drop_nulls().unique().sort()
    return ranked_among(column, values) if column.dtype == pl.String else Ranked(values, places(column, values))


def ranked_among(column: pl.Series, values: pl.Series) -> Ranked:
    """The ranks of a column of text, given its distinct values in the order that is meant."""
    found = column.cast(pl.Enum(values)).to_physical()
    if found.null_count():
        found = found.cast(pl.UInt32).fill_null(len(values))
    return Ranked(values, found.to_numpy())


def places(column: pl.Series, values: pl.Series) -> NDArray[Any]:
    """The place of each number among the sorted distinct ``values``; after the last one if it is missing."""
    known, among = column.to_physical(), values.to_physical()
    if not column.null_count():
        return _found(known.to_numpy(), among.to_numpy())
    if not len(values):
        return np.zeros(len(column), np.uint8)
    found = _found(known.fill_null(among[0]).to_numpy(), among.to_numpy())
    return np.where(column.is_null().to_numpy(), len(values), found)


def _found(numbers: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """The place of each number among all that occur: by a table if they are whole and dense, else by bisection."""
    if len(values) and values.dtype.kind in "iu":
        span = int(values[-1]) - int(values[0]) + 1
        if span <= _SPARSE * len(numbers) + 1024:
            place, beyond = np.zeros(span, np.min_scalar_type(len(values))), values.astype(np.int64)
            place[beyond - beyond[0]] = np.arange(len(values))
            return np.asarray(place[numbers.astype(np.int64, copy=False) - beyond[0]])  # modulo 2^64 if unsigned
    return np.searchsorted(values, numbers)
