"""Rows that are given as numbers of cells, as the bytes of a csv file: written, or compared with a file."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.differing import WIDTH, differing
from sfumato.kernel.jit import inner, kernel

BEYOND = WIDTH
"""How many bytes must follow the last cell: as many are compared at a time."""
_COPIED = 32
"""How many bytes of a cell are copied at a time."""


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


@kernel
def _put_rows(codes: Any, first: int, cells: Any, begin: Any, length: Any, text: Any, limit: int) -> Any:
    """Each cell is copied 32 bytes at a time; what is copied beyond its end is overwritten by the next cell."""
    u = np.uint64
    step, eight, half = u(_COPIED), u(8), u(16)
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
def _same_words(codes: Any, cells: Any, begin: Any, length: Any, text: Any, at: int, backwards: bool) -> int:
    """Many bytes at a time. Whatever the rows are, there must be room for them and for `BEYOND` more bytes in the text:
    to test that for each cell would take twice as long."""
    u = np.uint64
    place, width, columns, rows = u(at), u(BEYOND), u(codes.shape[0]), u(codes.shape[1])
    other = u(0)
    for row in range(rows):
        for column in range(columns):
            cell = codes[columns - u(1) - column, rows - u(1) - row] if backwards else codes[column, row]
            there, left = u(begin[cell]), u(length[cell])
            if backwards:
                place -= left
            here = place
            while left > width:
                other |= differing(text, here, cells, there)
                here, there, left = here + width, there + width, left - width
            # What follows the cell is shifted out: byte 0 is bit 0. (A cell has at least the byte that ends it.)
            other |= differing(text, here, cells, there) << (width - left)
            if not backwards:
                place = here + left
    return -1 if other else np.int64(place)


@kernel
def _same_bytes(codes: Any, cells: Any, begin: Any, length: Any, text: Any, at: int, backwards: bool) -> int:
    """A byte at a time, wherever the text ends."""
    u = np.uint64
    place, end, columns, rows = u(at), u(len(text)), u(codes.shape[0]), u(codes.shape[1])
    for row in range(rows):
        for column in range(columns):
            cell = codes[columns - u(1) - column, rows - u(1) - row] if backwards else codes[column, row]
            there, left = u(begin[cell]), u(length[cell])
            if left > (place if backwards else end - place):
                return -1
            if backwards:
                place -= left
            for i in range(left):
                if text[place + i] != cells[there + i]:
                    return -1
            if not backwards:
                place += left
    return np.int64(place)


def same_rows(
    codes: NDArray[np.uint32], cells: CsvCells, longest: int, text: NDArray[np.uint8], at: int, *, backwards: bool
) -> int | None:
    """Where some rows end that a text must have from a place on; None if a byte differs, or the text is too short.

    ``codes`` has a line per column: the cell of each row. No row has more than ``longest`` bytes. ``backwards``: the
    rows must end at the place; returns where they begin.

    >>> text = np.frombuffer(b"1,a\\n2,a\\n", np.uint8)
    >>> cells = CsvCells(np.frombuffer(b"1,2,a\\n" + bytes(BEYOND), np.uint8), np.array([0, 2, 4]), np.array([2, 2, 2]))
    >>> same_rows(np.array([[0, 1], [2, 2]], np.uint32), cells, 4, text, 0, backwards=False)
    8
    >>> same_rows(np.array([[1], [2]], np.uint32), cells, 4, text, 8, backwards=True)
    4
    >>> same_rows(np.array([[0], [2]], np.uint32), cells, 4, text, 8, backwards=True) is None
    True
    """
    before, after = at, len(text) - at
    room, beyond = (before, after) if backwards else (after - BEYOND, BEYOND)
    fits = codes.shape[1] * longest <= room and beyond >= BEYOND
    found = int((_same_words if fits else _same_bytes)(codes, *cells, text, at, backwards))
    return None if found < 0 else found
