"""A digest of a table's cells, by which the ledger finds a table again."""

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.checks import is_opaque
from sfumato.table.ranked import Ranked, Ranks, is_ranked, ranked

if TYPE_CHECKING:
    from sfumato.table.microdata import Microdata

_KEY_LIMIT = 1 << 63
_BLOCK = 1 << 15


class _Digits(NamedTuple):
    """A column as digits: the rank of each distinct value, and each row's place among these values."""

    rank: NDArray[np.uint64]
    place: NDArray[Any]


def table_digest(frame: pl.DataFrame, ranks: Ranks | None = None) -> str:
    """A digest of all cells as text, whatever the order of rows and columns.

    Each value is replaced by its rank among the texts of its column, so that integers are sorted instead of text.
    ``ranks`` are those of `ranked_columns`, if they are known.
    """
    summed = hashlib.sha256(json.dumps([sorted(frame.columns), frame.height]).encode())
    packed, span, known = [list[_Digits]()], 1, ranks or {}
    for name in sorted(frame.columns):
        words, digits = _ranked(frame[name].alias(""), known.get(name))  # Polars reads some names as patterns
        summed.update(json.dumps([name, words]).encode())
        size = len(words) + 1
        if span * size >= _KEY_LIMIT:
            packed.append([])
            span = 1
        packed[-1].append(digits)
        span *= size
    for key in _in_order([_key(columns, frame.height) for columns in packed]):
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


def _key(columns: list[_Digits], rows: int) -> NDArray[np.uint64]:
    """The ranks of each row in one number; some rows at a time, so that they stay in the cache."""
    found = np.empty(rows, np.uint64)
    for start in range(0, rows, _BLOCK):
        key = found[start : start + _BLOCK]
        key[:] = 0
        for rank, place in columns:
            key *= np.uint64(len(rank))
            key += rank[place[start : start + _BLOCK]]
    return found


def _in_order(keys: list[NDArray[np.uint64]]) -> list[NDArray[np.uint64]]:
    """The rows of several keys, sorted; one key is sorted in place, which is much faster than computing an order."""
    if len(keys) == 1:
        keys[0].sort()
        return keys
    order = np.lexsort(keys[::-1])
    return [key[order] for key in keys]


def _ranked(column: pl.Series, known: Ranked | None = None) -> tuple[list[str], _Digits]:
    """The distinct values as text, in order, and the rank of each row's value; missing values come last."""
    column = as_text(column) if is_opaque(column.dtype) else column
    if known is None and not is_ranked(column.dtype):
        return _ranked_texts(column)
    values, place = known or ranked(column)
    words = values.cast(pl.String)
    order = words.arg_sort()
    rank = np.full(len(words) + 1, len(words), np.uint64)
    rank[order.to_numpy()] = np.arange(len(words))
    return words.gather(order).to_list(), _Digits(rank, place)


def _ranked_texts(column: pl.Series) -> tuple[list[str], _Digits]:
    """The same for values without a meaningful order, by looking up the text of each."""
    found = pl.DataFrame({"value": column.drop_nulls().unique()})
    found = found.with_columns(text=pl.col("value").cast(pl.String)).sort("text")
    words = found["text"]
    places = pl.Series(np.arange(len(words), dtype=np.uint32))
    ranks = column.replace_strict(found["value"], places, default=None, return_dtype=pl.UInt32)
    place = ranks.fill_null(len(words)).to_numpy()
    return words.to_list(), _Digits(np.arange(len(words) + 1, dtype=np.uint64), place)


def as_text(column: pl.Series) -> pl.Series:
    """The cells of a column that no release can hold as text, different ones as different texts."""
    if column.dtype == pl.Binary:
        return column.bin.encode("hex")
    if column.dtype == pl.Duration:
        return column.to_physical().cast(pl.String)
    return pl.Series(column.name, [repr(cell) for cell in column.to_list()], pl.String)
