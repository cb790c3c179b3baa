"""A digest of a table's cells, by which the ledger finds a table again."""

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.checks import is_opaque
from sfumato.table.ranked import Ranked, Ranks, is_ranked, ranked

if TYPE_CHECKING:
    from sfumato.table.microdata import Microdata

_KEY_LIMIT = 1 << 63


def table_digest(frame: pl.DataFrame, ranks: Ranks | None = None) -> str:
    """A digest of all cells as text, whatever the order of rows and columns.

    Each value is replaced by its rank among the texts of its column, so that integers are sorted instead of text.
    ``ranks`` are those of `ranked_columns`, if they are known.
    """
    summed = hashlib.sha256(json.dumps([sorted(frame.columns), frame.height]).encode())
    keys, span, known = [np.zeros(frame.height, np.uint64)], 1, ranks or {}
    for name in sorted(frame.columns):
        words, rank = _ranked(frame[name].alias(""), known.get(name))  # Polars reads some names as patterns
        summed.update(json.dumps([name, words]).encode())
        size = len(words) + 1
        if span * size >= _KEY_LIMIT:
            keys.append(np.zeros(frame.height, np.uint64))
            span = 1
        keys[-1] *= np.uint64(size)
        keys[-1] += rank
        span *= size
    for key in _in_order(keys):
        summed.update(key.astype("<u8", copy=False).data)
    return summed.hexdigest()


def coded_digest(table: "Microdata") -> str:
    """A digest of a coded table: roles, kinds, domains with their trees, and every row, in order."""
    summed = hashlib.sha256()
    for c in table.columns.values():
        told = [c.name, c.role, c.kind, c.declared, c.foresees_missing, c.domain.leaves, c.domain.named_ranges]
        summed.update(json.dumps(told, default=str).encode())
        summed.update(np.ascontiguousarray(c.codes).astype("<u8").data)
    for frame in (table.plain, table.hidden):
        summed.update(table_digest(frame).encode())
    return summed.hexdigest()


def _in_order(keys: list[NDArray[np.uint64]]) -> list[NDArray[np.uint64]]:
    """The rows of several keys, sorted; one key is sorted in place, which is much faster than computing an order."""
    if len(keys) == 1:
        keys[0].sort()
        return keys
    order = np.lexsort(keys[::-1])
    return [key[order] for key in keys]


def _ranked(column: pl.Series, known: Ranked | None = None) -> tuple[list[str], NDArray[np.uint64]]:
    """The distinct values as text, in order, and the rank of each row's value; missing values come last."""
    column = as_text(column) if is_opaque(column.dtype) else column
    if not is_ranked(column.dtype):
        return _ranked_texts(column)
    values, place = known or ranked(column)
    words = values.cast(pl.String)
    order = words.arg_sort()
    rank = np.full(len(words) + 1, len(words), np.uint64)
    rank[order.to_numpy()] = np.arange(len(words))
    return words.gather(order).to_list(), rank[place]


def _ranked_texts(column: pl.Series) -> tuple[list[str], NDArray[np.uint64]]:
    """The same for values whose order tells nothing, by looking up each one's text."""
    found = pl.DataFrame({"value": column.drop_nulls().unique()})
    found = found.with_columns(text=pl.col("value").cast(pl.String)).sort("text")
    words = found["text"]
    places = pl.Series(np.arange(len(words), dtype=np.uint32))
    ranks = column.replace_strict(found["value"], places, default=None, return_dtype=pl.UInt32)
    return words.to_list(), ranks.cast(pl.UInt64).fill_null(len(words)).to_numpy()


def as_text(column: pl.Series) -> pl.Series:
    """The cells of a column that no release can hold as text, different ones as different texts."""
    if column.dtype == pl.Binary:
        return column.bin.encode("hex")
    if column.dtype == pl.Duration:
        return column.to_physical().cast(pl.String)
    return pl.Series(column.name, [repr(cell) for cell in column.to_list()], pl.String)
