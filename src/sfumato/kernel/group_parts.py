"""Rows spread over parts by a hash of what they are grouped by: the rows of a group are then in the same part.

What is counted of a part stays in the cache. The rows of a block are spread among themselves, which stays there, too.
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
_BLOCK = 1 << 16
"""How many rows are spread among themselves."""
_PART = 1 << 15
"""How many rows a part has, about."""
_MOST_PART_BITS = 8
"""Rows are not spread over more parts: the rows of a part would be in too many places."""
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

    @property
    def ones(self) -> int:
        """As many ones as a key has bits."""
        return (1 << self.bits) - 1

    def unmixed(self, mixed: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The keys that were mixed."""
        return mixed * np.uint64(self.back) & np.uint64(self.ones)


class RowsByPart(NamedTuple):
    """What is kept of each row, by blocks and there by parts; ``firsts[block, part]`` is where its rows begin."""

    keys: MixedKeys
    kept: NDArray[Any]
    firsts: NDArray[np.int64]

    def sizes(self) -> NDArray[np.int64]:
        """How many rows each part has."""
        found: NDArray[np.int64] = (self.firsts[:, 1:] - self.firsts[:, :-1]).sum(axis=0)
        return found


@lean
def _pack(where: Any, widths: Any, first: Any, keys: Any) -> None:
    """The codes of each of some rows in one number; the code of the last column is in its lowest bits."""
    keys[:] = 0
    for column in range(len(where)):
        append_codes(where, column, first, widths[column], keys)


@kernel
def _spread(
    where: Any,
    widths: Any,
    blocks: int,
    last_block: int,
    bits: int,
    of_part: int,
    below: int,
    tile: int,
    keys: Any,
    place: Any,
    kept: Any,
    firsts: Any,
) -> None:
    """What is kept of each row goes to the next place of its part in its block."""
    one, counted = np.uint64(1), np.uint64(below)
    upper, of_rest = np.uint64(bits - of_part) + counted, (one << (np.uint64(bits - of_part) + counted)) - one
    of_key, of_counted = (one << np.uint64(bits)) - one, (one << counted) - one
    for block in range(blocks, last_block):
        start = block * len(keys)
        rows = np.uint64(min(len(keys), len(kept) - start))
        for first in range(0, rows, tile):
            _pack(where, widths, start + first, keys[first : min(first + tile, rows)])
        place[:] = 0
        for i in range(rows):
            mixed = ((keys[i] >> counted) * np.uint64(_ODD)) & of_key
            keys[i] = mixed << counted | (keys[i] & of_counted)
            place[keys[i] >> upper] += 1
        at = start
        for part in range(len(place)):
            firsts[block, part] = at
            at += place[part]
            place[part] = firsts[block, part]
        firsts[block, len(place)] = at
        for i in range(rows):
            part = keys[i] >> upper
            kept[place[part]] = keys[i] & of_rest
            place[part] += 1


def _keys_of(by: Sequence[Coded], counted: Sequence[Coded], rows: int) -> MixedKeys:
    bits = sum(column.bits for column in by)
    parts = max(1, (rows // _PART).bit_length())
    return MixedKeys(bits, min(parts, _MOST_PART_BITS, bits), sum(column.bits for column in counted))


def spread(by: Sequence[Coded], counted: Sequence[Coded]) -> RowsByPart:
    """Spread the rows by the columns of ``by``, and keep their codes in the others. All codes must fit (`fits`).

    >>> found = spread([Coded(np.array([1, 0, 1]), 2)], [Coded(np.array([2, 2, 0]), 3)])
    >>> found.firsts.tolist(), found.kept.tolist()
    ([[0, 1, 3]], [2, 2, 0])
    """
    columns = CodeColumns([column.codes for column in (*by, *counted)])
    widths = np.array([column.bits for column in (*by, *counted)], np.uint64)
    keys, blocks = _keys_of(by, counted, columns.rows), -(-columns.rows // _BLOCK)
    kept, firsts = np.empty(columns.rows, keys.kept), np.empty((blocks, (1 << keys.of_part) + 1), np.int64)

    def fill(first: int, last: int) -> None:
        room = np.empty(_BLOCK, np.uint64), np.empty(1 << keys.of_part, np.int64)
        _spread(columns.where, widths, first, last, *keys, TILE, *room, kept, firsts)

    ends = [blocks * thread // THREADS for thread in range(THREADS + 1)]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(fill, ends[:-1], ends[1:]))
    return RowsByPart(keys, kept, firsts)


def shifts(columns: Sequence[Coded]) -> list[int]:
    """Where the codes of each column begin in a key of these columns; the last is in its lowest bits."""
    return [sum(column.bits for column in columns[at + 1 :]) for at in range(len(columns))]


def fits(by: Sequence[Coded], counted: Sequence[Coded]) -> bool:
    """Whether these columns can be spread."""
    return sum(column.bits for column in (*by, *counted)) <= _KEY_BITS
