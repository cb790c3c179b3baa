"""Rows that are given as numbers of cells, as the bytes of a csv file: written, or compared with a file."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel, lean

BEYOND = 32
"""How many bytes must follow the last cell, and the last row in a text: cells are copied that many bytes at a time."""
_ROOM = 1 << 16
"""How many bytes are written before they are compared: they stay in the nearest cache."""


class CsvCells(NamedTuple):
    """Different cells, each with the comma or the line end that follows it: cell c is ``text[begin[c]:][:length[c]]``.

    ``text`` goes on for `BEYOND` bytes after the last of them.
    """

    text: NDArray[np.uint8]
    begin: NDArray[np.int64]
    length: NDArray[np.int64]


@kernel
def _add_places(out: Any, places: Any, worth: int) -> None:
    for row in range(len(out)):
        out[row] += np.uint32(places[row]) * np.uint32(worth)


def add_places(out: NDArray[np.uint32], places: NDArray[Any], worth: int) -> None:
    """Add places to numbers of cells, each times ``worth``.

    >>> out = np.array([5, 5], np.uint32)
    >>> add_places(out, np.array([3, 1], np.uint8), 10)
    >>> out.tolist()
    [35, 15]
    """
    _add_places(out, places, worth)


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


@lean
def _put(codes: Any, first: int, cells: Any, begin: Any, length: Any, text: Any, limit: int) -> Any:
    """Each cell is copied 32 bytes at a time; what is copied beyond its end is overwritten by the next cell."""
    u = np.uint64
    step, eight, half = u(BEYOND), u(8), u(16)
    at = u(0)
    for row in range(first, codes.shape[1]):
        if at >= u(limit):
            return row, np.int64(at)
        for column in range(codes.shape[0]):
            cell = codes[column, row]
            place = u(begin[cell])
            end = at + u(length[cell])
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
    return codes.shape[1], np.int64(at)


@kernel
def _put_rows(codes: Any, first: int, cells: Any, begin: Any, length: Any, text: Any, limit: int) -> Any:
    return _put(codes, first, cells, begin, length, text, limit)


def put_rows(
    codes: NDArray[np.uint32], first: int, cells: CsvCells, text: NDArray[np.uint8], limit: int
) -> tuple[int, int]:
    """Write the rows from ``first`` on into a text, as long as a row starts before ``limit``.

    ``codes`` has a line per column: the cell of each row. Returns the row before which it stopped, and where the text
    ends. From ``limit`` on, the text has room for a row and `BEYOND` bytes.

    >>> cells = CsvCells(np.frombuffer(b"1,2,a\\n" + bytes(BEYOND), np.uint8), np.array([0, 2, 4]), np.array([2, 2, 2]))
    >>> text = np.empty(8 + BEYOND, np.uint8)
    >>> put_rows(np.array([[0, 1], [2, 2]], np.uint32), 0, cells, text, 8)
    (2, 8)
    >>> text[:8].tobytes()
    b'1,a\\n2,a\\n'
    """
    row, end = _put_rows(codes, first, *cells, text, limit)
    return int(row), int(end)


@kernel
def _same_rows(codes: Any, cells: Any, begin: Any, length: Any, room: Any, limit: int, text: Any) -> bool:
    row, at = 0, 0
    while row < codes.shape[1]:
        row, end = _put(codes, row, cells, begin, length, room, limit)
        there = text[at : at + end]
        differing = np.uint8(0)
        for i in range(len(there)):
            differing |= there[i] ^ room[i]
        if differing or len(there) < end:
            return False
        at += end
    return at == len(text)


def same_rows(codes: NDArray[np.uint32], cells: CsvCells, longest: int, text: NDArray[np.uint8]) -> bool:
    """Whether a text consists of some rows: these are written, some at a time, and every byte is compared.

    ``codes`` has a line per column: the cell of each row. No row has more than ``longest`` bytes.

    >>> text = np.frombuffer(b"1,a\\n2,a\\n", np.uint8)
    >>> cells = CsvCells(np.frombuffer(b"1,2,a\\n" + bytes(BEYOND), np.uint8), np.array([0, 2, 4]), np.array([2, 2, 2]))
    >>> same_rows(np.array([[0, 1], [2, 2]], np.uint32), cells, 4, text)
    True
    >>> same_rows(np.array([[0, 0], [2, 2]], np.uint32), cells, 4, text)
    False
    """
    return bool(_same_rows(codes, *cells, np.empty(_ROOM + longest + BEYOND, np.uint8), _ROOM, text))


@kernel
def _length_of_rows(codes: Any, length: Any) -> int:
    total = np.int64(0)
    for column in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            total += length[codes[column, row]]
    return total


def length_of_rows(codes: NDArray[np.uint32], cells: CsvCells) -> int:
    """How many bytes some rows have.

    >>> cells = CsvCells(np.zeros(7 + BEYOND, np.uint8), np.array([0, 2, 5]), np.array([2, 3, 2]))
    >>> length_of_rows(np.array([[0, 1], [2, 2]], np.uint32), cells)
    9
    """
    return int(_length_of_rows(codes, cells.length))
