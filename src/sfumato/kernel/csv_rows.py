"""Rows that are given as cells, as the bytes of a csv file."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SfumatoError
from sfumato.kernel.code_columns import TILE, CodeColumns, add_codes
from sfumato.kernel.differing import WIDTH
from sfumato.kernel.jit import inner, kernel, lean

BEYOND = WIDTH
"""How many bytes must follow the last cell: as many are compared at a time."""
_COPIED = 32
"""How many bytes of a cell are copied at a time."""
_LENGTH_BITS = 32
_LENGTHS = (1 << _LENGTH_BITS) - 1


class CsvCells(NamedTuple):
    """Different cells of a text, each with the comma or the line end that follows it.

    ``places`` has where each begins and how many bytes it has, in one number: to look up two would take longer.
    ``text`` goes on for `BEYOND` bytes after the last cell.
    """

    text: NDArray[np.uint8]
    places: NDArray[np.uint64]

    @classmethod
    def at(cls, text: NDArray[np.uint8], begin: NDArray[np.int64], length: NDArray[np.int64]) -> "CsvCells":
        """The cells ``text[begin[c]:][:length[c]]``."""
        refuse_much_text(len(text))
        return cls(text, (begin << _LENGTH_BITS | length).astype(np.uint64))

    @property
    def length(self) -> NDArray[np.int64]:
        """How many bytes each cell has."""
        return (self.places & np.uint64(_LENGTHS)).astype(np.int64)

    def following(self, bytes_before: int) -> NDArray[np.uint64]:
        """The places of these cells if the text follows so many other bytes."""
        return self.places + np.uint64(bytes_before << _LENGTH_BITS)


def refuse_much_text(length: int) -> None:
    """Refuse text in which a place does not have as many bits as `CsvCells` has for it."""
    if length > _LENGTHS:
        raise SfumatoError(f"a row of the table has {length:,} bytes of text; one of 4 GiB or more cannot be written")


class CsvRows(NamedTuple):
    """The rows of a table as cells, a cell for each run of neighbouring columns.

    A row's code in a column counts ``worths`` of that column; the sum over a run, from the number in ``starts`` on, is
    the number of its cell. ``ends``: before which column a run ends. In a run without columns each row has its own
    cell; the first of these cells is that of the row ``first``. No row has more than ``longest`` bytes.
    """

    cells: CsvCells
    columns: CodeColumns
    worths: NDArray[np.uint32]
    ends: NDArray[np.int64]
    starts: NDArray[np.uint32]
    first: int
    longest: int


@inner
def word(text: Any, at: Any) -> Any:
    """Eight bytes as a number; LLVM makes one load of it. (Unsigned places need no test for negative ones.)"""
    u = np.uint64
    low = u(text[at]) | u(text[at + u(1)]) << u(8) | u(text[at + u(2)]) << u(16) | u(text[at + u(3)]) << u(24)
    at += u(4)
    high = u(text[at]) | u(text[at + u(1)]) << u(8) | u(text[at + u(2)]) << u(16) | u(text[at + u(3)]) << u(24)
    return low | high << u(32)


@inner
def _put_word(text: Any, at: Any, word: Any) -> None:
    """The eight bytes of a number; LLVM makes one store of it."""
    u, byte = np.uint64, np.uint8
    text[at], text[at + u(1)], text[at + u(2)] = byte(word), byte(word >> u(8)), byte(word >> u(16))
    text[at + u(3)], text[at + u(4)], text[at + u(5)] = byte(word >> u(24)), byte(word >> u(32)), byte(word >> u(40))
    text[at + u(6)], text[at + u(7)] = byte(word >> u(48)), byte(word >> u(56))


@inner
def begin_of(place: Any) -> Any:
    """Where a cell begins in the text."""
    return place >> np.uint64(_LENGTH_BITS)


@inner
def length_of(place: Any) -> Any:
    """How many bytes a cell has."""
    return place & np.uint64(_LENGTHS)


@inner
def number_rows(
    where: Any, worths: Any, ends: Any, starts: Any, own: Any, first: Any, count: Any, numbers: Any
) -> None:
    """The cells of some rows, a line of numbers per run; ``own``: how many rows lie between the first that has its own
    cell and these."""
    column = 0
    for run in range(len(ends)):
        line = numbers[run, :count]
        line[:] = starts[run]
        if column == ends[run]:
            for i in range(len(line)):
                line[i] += np.uint32(own + i)
        while column < ends[run]:
            add_codes(where, column, first, worths[column], line)
            column += 1


@lean
def _put_tile(numbers: Any, rows: Any, cells: Any, places: Any, text: Any, at: Any, limit: Any) -> Any:
    """Each cell is copied 32 bytes at a time; what is copied beyond its end is overwritten by the next cell."""
    u = np.uint64
    step, eight, half = u(_COPIED), u(8), u(16)
    for row in range(u(rows)):
        if at >= limit:
            return row, at
        for run in range(u(numbers.shape[0])):
            cell = places[numbers[run, row]]
            place = begin_of(cell)
            end = at + length_of(cell)
            while at < end:
                one, two = word(cells, place), word(cells, place + eight)
                three, four = word(cells, place + half), word(cells, place + half + eight)
                _put_word(text, at, one)
                _put_word(text, at + eight, two)
                _put_word(text, at + half, three)
                _put_word(text, at + half + eight, four)
                at += step
                place += step
            at = end
    return u(rows), at


@kernel
def _put_rows(
    where: Any,
    worths: Any,
    ends: Any,
    starts: Any,
    own: int,
    first: int,
    last: int,
    cells: Any,
    places: Any,
    text: Any,
    limit: int,
    numbers: Any,
) -> Any:
    row, at = np.int64(first), np.uint64(0)
    while row < last and at < np.uint64(limit):
        count = min(numbers.shape[1], last - row)
        number_rows(where, worths, ends, starts, row - own, row, count, numbers)
        done, at = _put_tile(numbers, count, cells, places, text, at, np.uint64(limit))
        row += np.int64(done)
    return row, np.int64(at)


def put_rows(rows: CsvRows, first: int, last: int, text: NDArray[np.uint8], limit: int) -> tuple[int, int]:
    """Write the rows from ``first`` to before ``last`` into a text, as long as a row starts before ``limit``.

    Returns the row before which it stopped, and where the text ends. From ``limit`` on, the text has room for a row and
    `BEYOND` bytes.

    >>> cells = CsvCells.at(np.frombuffer(b"1,2,a\\n" + bytes(BEYOND), np.uint8), np.array([0, 2, 4]), np.full(3, 2))
    >>> columns = CodeColumns([np.array([0, 1], np.uint8), np.array([0, 0], np.uint16)])
    >>> rows = CsvRows(cells, columns, np.ones(2, np.uint32), np.array([1, 2]), np.array([0, 2], np.uint32), 0, 4)
    >>> text = np.empty(8 + BEYOND, np.uint8)
    >>> put_rows(rows, 0, 2, text, 8)
    (2, 8)
    >>> text[:8].tobytes()
    b'1,a\\n2,a\\n'
    """
    rows.columns.refuse_beyond(first, last)
    row, end = _put_rows(*numbering(rows), first, last, *rows.cells, text, limit, room_for(rows))
    return int(row), int(end)


def numbering(
    rows: CsvRows,
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32], int]:
    """What `number_rows` needs to know of the rows."""
    return rows.columns.where, rows.worths, rows.ends, rows.starts, rows.first


def room_for(rows: CsvRows) -> NDArray[np.uint32]:
    """What the numbers of some rows are written into, a line per run."""
    return np.empty((len(rows.ends), TILE), np.uint32)
