"""Rows that are given as numbers of cells, as the bytes of a csv file: written, or compared with a file."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.jit import inner, kernel

_WORDS = 4
_BYTES = 8 * _WORDS
BEYOND = _BYTES
"""How many bytes must follow the last cell, and the last row in a text: the kernels read and write whole words."""


def _masks() -> NDArray[np.uint64]:
    """Which bits of four words belong to a cell of which n bytes are left: the words from 4n on."""
    kept = np.arange(_BYTES) < np.arange(_BYTES + 1)[:, None]
    return (kept * np.uint8(255)).view("<u8").ravel().astype(np.uint64)


_MASKS = _masks()


class CsvCells(NamedTuple):
    """Different cells, each with the comma or the line end that follows it: cell c is ``text[begin[c]:][:length[c]]``.

    ``text`` goes on for `BEYOND` bytes after the last of them.
    """

    text: NDArray[np.uint8]
    begin: NDArray[np.int64]
    length: NDArray[np.int64]


@inner
def _word(text: Any, at: Any) -> Any:
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
    """Each cell is copied 16 bytes at a time; what is copied beyond its end is overwritten by the next cell."""
    u = np.uint64
    step, eight = u(16), u(8)
    at = u(0)
    for row in range(first, codes.shape[1]):
        if at >= u(limit):
            return row, np.int64(at)
        for column in range(codes.shape[0]):
            cell = codes[column, row]
            place = u(begin[cell])
            end = at + u(length[cell])
            while at < end:
                low, high = _word(cells, place), _word(cells, place + eight)
                _put_word(text, at, low)
                _put_word(text, at + eight, high)
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
def _same_rows(
    codes: Any, first: int, cells: Any, begin: Any, length: Any, masks: Any, text: Any, start: int, limit: int
) -> Any:
    """Differences are collected over a row, and the last 32 bytes of a cell or fewer are compared under a mask.

    A branch for each cell that ends here or there would be guessed wrong too often.
    """
    u = np.uint64
    step = u(_BYTES)
    at, differing = u(start), u(0)
    for row in range(first, codes.shape[1]):
        if at >= u(limit):
            return row, np.int64(at)
        for column in range(codes.shape[0]):
            cell = codes[column, row]
            place = u(begin[cell])
            end = at + u(length[cell])
            while at + step < end:
                for word in range(_WORDS):
                    differing |= _word(text, at + u(8 * word)) ^ _word(cells, place + u(8 * word))
                at += step
                place += step
            left = u(_WORDS) * (end - at)
            for word in range(_WORDS):
                other = _word(text, at + u(8 * word)) ^ _word(cells, place + u(8 * word))
                differing |= other & masks[left + u(word)]
            at = end
        if differing:
            return -1, np.int64(at)
    return codes.shape[1], np.int64(at)


def same_rows(
    codes: NDArray[np.uint32], first: int, cells: CsvCells, text: NDArray[np.uint8], start: int, limit: int
) -> tuple[int, int]:
    """Compare text from ``start`` on with the rows from ``first`` on, as long as a row starts before ``limit``.

    ``codes`` has a line per column: the cell of each row. Returns the row before which it stopped, and where in the
    text that row starts; -1 if a row differs. From ``limit`` on, the text has room for a row and `BEYOND` bytes.

    >>> text = np.frombuffer(b"1,a\\n2,a\\n" + bytes(4 + BEYOND), np.uint8)
    >>> cells = CsvCells(np.frombuffer(b"1,2,a\\n" + bytes(BEYOND), np.uint8), np.array([0, 2, 4]), np.array([2, 2, 2]))
    >>> same_rows(np.array([[0, 1], [2, 2]], np.uint32), 0, cells, text, 0, 8)
    (2, 8)
    >>> same_rows(np.array([[0, 0], [2, 2]], np.uint32), 0, cells, text, 0, 8)[0]
    -1
    """
    row, at = _same_rows(codes, first, *cells, _MASKS, text, start, limit)
    return int(row), int(at)
