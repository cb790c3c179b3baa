"""Rows spread over parts by a hash of what they are grouped by: the rows of a group are then in the same part.

What is counted of a part stays in the cache.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.code_columns import TILE, CodeColumns, Coded, append_codes
from sfumato.kernel.jit import kernel, lean

THREADS = 2
"""How many share the rows, and then the parts."""
_KEY_BITS = 63
"""The codes of a row, grouped by and counted, must fit into so many bits together."""
_PART = 1 << 15
"""How many rows a part has, about."""
_MOST_PART_BITS = 8
"""Rows are not spread over more parts: there would be more places to write to than the processor keeps track of."""
_ODD = 0x9E3779B97F4A7C15
"""Any odd number with bits all over."""


class MixedKeys(NamedTuple):
    """How the codes of a row become a key and a part, and what is kept of the key there.

    The key has the codes that rows are grouped by. It is multiplied by an odd number and cut to its own number of bits,
    which keeps different keys different. The upper bits, which depend on all others, are the part. The others are kept,
    and below them the counted codes; in half the memory where they fit.
    """

    bits: int
    of_part: int
    below: int

    @property
    def kept(self) -> type[np.uint32] | type[np.uint64]:
        """The type of what is kept of a row."""
        return np.uint32 if self.bits - self.of_part + self.below <= 32 else np.uint64

    @property
    def back(self) -> int:
        """What undoes the multiplication."""
        return pow(_ODD, -1, 1 << self.bits)

    @property
    def of_rest(self) -> int:
        """How many bits of a mixed key are kept."""
        return self.bits - self.of_part

    def unmix(self, mixed: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The keys again, where the mixed ones were."""
        mixed *= np.uint64(self.back)
        mixed &= np.uint64((1 << self.bits) - 1)
        return mixed


class RowsByPart(NamedTuple):
    """What is kept of each row, part by part; part p begins at ``firsts[p]``."""

    keys: MixedKeys
    kept: NDArray[Any]
    firsts: NDArray[np.int64]


def _keys_of(by: Sequence[Coded], counted: Sequence[Coded], rows: int) -> MixedKeys:
    bits = sum(column.bits for column in by)
    parts = max(1, (rows // _PART).bit_length())
    return MixedKeys(bits, min(parts, _MOST_PART_BITS, bits), sum(column.bits for column in counted))


@lean
def _pack(where: Any, bits: Any, first: Any, keys: Any) -> None:
    """The codes of each of some rows in one number; the code of the last column is in its lowest bits."""
    keys[:] = 0
    for column in range(len(where)):
        append_codes(where, column, first, bits[column], keys)


@lean
def _mixed(key: Any, bits: int, below: int) -> Any:
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    return ((key >> np.uint64(below)) * np.uint64(_ODD)) & mask


@kernel
def _count_rows_of_parts(
    where: Any, widths: Any, first: int, last: int, bits: int, of_part: int, below: int, keys: Any, size: Any
) -> None:
    rest = np.uint64(bits - of_part)
    for start in range(first, last, len(keys)):
        count = min(len(keys), last - start)
        _pack(where, widths, start, keys[:count])
        for i in range(np.uint64(count)):
            size[_mixed(keys[i], bits, below) >> rest] += 1


@kernel
def _spread(
    where: Any,
    widths: Any,
    first: int,
    last: int,
    bits: int,
    of_part: int,
    below: int,
    keys: Any,
    free: Any,
    out: Any,
) -> None:
    """What is kept of each row goes to the next free place of its part.

    The rows are packed again: to keep what was packed when they were counted would take longer.
    """
    rest, one = np.uint64(bits - of_part), np.uint64(1)
    of_rest, of_counted = (one << rest) - one, (one << np.uint64(below)) - one
    for start in range(first, last, len(keys)):
        count = min(len(keys), last - start)
        _pack(where, widths, start, keys[:count])
        for i in range(np.uint64(count)):
            mixed = _mixed(keys[i], bits, below)
            part = mixed >> rest
            place = free[part]
            out[place] = (mixed & of_rest) << np.uint64(below) | (keys[i] & of_counted)
            free[part] = place + 1


def spread(by: Sequence[Coded], counted: Sequence[Coded]) -> RowsByPart:
    """RowsByPart the rows by the columns of ``by``, and keep their codes in the others. All codes must fit (`fits`).

    >>> found = spread([Coded(np.array([1, 0, 1]), 2)], [Coded(np.array([2, 2, 0]), 3)])
    >>> found.firsts.tolist(), sorted((found.kept & 3).tolist())
    ([0, 1, 3], [0, 2, 2])
    """
    rows = len(by[0].codes)
    keys, columns = _keys_of(by, counted, rows), _Columns([*by, *counted])
    ends = [rows * thread // THREADS for thread in range(THREADS + 1)]
    kept = np.empty(rows, keys.kept)
    with ThreadPoolExecutor(THREADS) as pool:
        sizes = np.array(list(pool.map(lambda t: columns.sizes(keys, ends[t], ends[t + 1]), range(THREADS))))
        starts = np.cumsum(np.append(0, sizes.T.ravel()))[:-1].reshape(-1, THREADS).T.copy()
        list(pool.map(lambda t: columns.fill(keys, ends[t], ends[t + 1], starts[t].copy(), kept), range(THREADS)))
    return RowsByPart(keys, kept, np.append(starts[0], rows))


class _Columns:
    """The columns that make a key, as kernels take them."""

    def __init__(self, columns: Sequence[Coded]) -> None:
        self._codes = CodeColumns([column.codes for column in columns])
        self._bits = np.array([column.bits for column in columns], np.uint64)

    def sizes(self, keys: MixedKeys, first: int, last: int) -> NDArray[np.int64]:
        """How many of some rows each part gets."""
        size = np.zeros(1 << keys.of_part, np.int64)
        _count_rows_of_parts(*self._of_rows(first, last), *keys, np.empty(TILE, np.uint64), size)
        return size

    def fill(self, keys: MixedKeys, first: int, last: int, free: NDArray[np.int64], kept: NDArray[Any]) -> None:
        """Put some rows into their parts, of which each has a free place to begin with."""
        _spread(*self._of_rows(first, last), *keys, np.empty(TILE, np.uint64), free, kept)

    def _of_rows(self, first: int, last: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64], int, int]:
        self._codes.refuse_beyond(first, last)
        return self._codes.where, self._bits, first, last


def shifts(columns: Sequence[Coded]) -> list[int]:
    """Where the codes of each column begin in a key of these columns; the last is in its lowest bits."""
    return [sum(column.bits for column in columns[at + 1 :]) for at in range(len(columns))]


def fits(by: Sequence[Coded], counted: Sequence[Coded]) -> bool:
    """Whether these columns can be spread."""
    return sum(column.bits for column in (*by, *counted)) <= _KEY_BITS
