"""The cells of a plain csv text as numbers: each column's distinct values are numbered as they occur."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.csv_rows import word
from sfumato.kernel.jit import kernel, lean

MOST = (1 << 16) - 1
"""How many distinct values a column may have; one more, and its cells are not numbered."""
BEYOND = 8
"""How many bytes must follow a text: the kernel reads whole words."""
_SLOTS = 1 << 17
_PLAIN, _SEPARATOR, _LINE_END, _OTHER = 0, 1, 2, 3


class CellNumbers(NamedTuple):
    """The distinct values of each column, numbered from 1 on; 0 is the empty cell.

    Value v of a column is ``words[begin[column, v]:][:length[column, v]]``. ``slots`` finds it by a hash: open
    addressing, half empty at most. ``used`` has how many values each column has and, last, how long ``words`` is.
    """

    slots: NDArray[np.uint16]
    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    words: NDArray[np.uint8]
    used: NDArray[np.int64]

    @classmethod
    def empty(cls, columns: int, room: int) -> "CellNumbers":
        """No values yet, of so many columns, with room for so many bytes of values."""
        begin, length = (np.zeros((columns, MOST + 1), np.int64) for _ in range(2))
        return cls(
            np.zeros((columns, _SLOTS), np.uint16),
            begin,
            length,
            np.zeros(room + BEYOND, np.uint8),
            np.zeros(columns + 1, np.int64),
        )

    def values(self, column: int) -> list[bytes]:
        """The distinct values of a column in the order of their numbers, from 1 on."""
        text, last = self.words[: self.used[-1]].tobytes(), int(self.used[column])
        begin, length = (of[column, 1 : last + 1].tolist() for of in (self.begin, self.length))
        return [text[b : b + n] for b, n in zip(begin, length, strict=True)]


@lean
def _last_word(text: Any, at: Any, left: Any) -> Any:
    """The last 1 to 8 bytes of a cell as a number."""
    return word(text, at) & (np.uint64(0xFFFFFFFFFFFFFFFF) >> (np.uint64(64) - np.uint64(8) * left))


@lean
def _hash(text: Any, at: Any, size: Any) -> Any:
    """A number that equal cells share and others rarely do."""
    u = np.uint64
    found, end = size * u(0x9E3779B97F4A7C15), at + size
    while at + u(8) < end:
        found = (found ^ word(text, at)) * u(0xD6E8FEB86659FD93)
        found ^= found >> u(32)
        at += u(8)
    found = (found ^ _last_word(text, at, end - at)) * u(0xD6E8FEB86659FD93)
    return found ^ found >> u(32)


@lean
def _is_same(text: Any, at: Any, words: Any, place: Any, size: Any) -> Any:
    """Whether a cell is a value that is known."""
    u = np.uint64
    end = at + size
    while at + u(8) < end:
        if word(text, at) != word(words, place):
            return False
        at += u(8)
        place += u(8)
    return _last_word(text, at, end - at) == _last_word(words, place, end - at)


@lean
def _number(
    text: Any, at: Any, size: Any, column: int, slots: Any, begin: Any, length: Any, words: Any, used: Any
) -> Any:
    """The number of a cell that is not empty; 0 if it is new and there is no room for it."""
    u = np.uint64
    slot = _hash(text, at, size) & u(_SLOTS - 1)
    while slots[column, slot]:
        known = slots[column, slot]
        if u(length[column, known]) == size and _is_same(text, at, words, u(begin[column, known]), size):
            return np.int64(known)
        slot = (slot + u(1)) & u(_SLOTS - 1)
    last, end = used[column] + 1, used[-1]
    if last > MOST or end + np.int64(size) + BEYOND > len(words):
        return np.int64(0)
    for byte in range(np.int64(size)):
        words[end + byte] = text[at + u(byte)]
    begin[column, last], length[column, last] = end, np.int64(size)
    used[column], used[-1] = last, end + np.int64(size)
    slots[column, slot] = last
    return last


@kernel
def _number_rows(
    text: Any, end: int, kinds: Any, codes: Any, slots: Any, begin: Any, length: Any, words: Any, used: Any
) -> Any:
    u = np.uint64
    columns, start, row = codes.shape[0], u(0), 0
    while row < codes.shape[1]:
        at = start
        for column in range(columns):
            first = at
            while kinds[text[at]] == _PLAIN:
                at += u(1)
            if at >= u(end):
                return row, np.int64(start)
            if kinds[text[at]] != (_SEPARATOR if column < columns - 1 else _LINE_END):
                return -1, np.int64(start)
            code = np.int64(0)
            if at > first:
                code = _number(text, first, at - first, column, slots, begin, length, words, used)
                if code == 0:
                    return -1, np.int64(start)
            codes[column, row] = code
            at += u(1)
        start = at
        row += 1
    return row, np.int64(start)


def kinds_of_bytes(separator: str) -> NDArray[np.uint8]:
    """What each byte means: part of a cell, the end of a cell or a line, or something that is not plain.

    Quotation marks, carriage returns and NUL bytes are not plain: they need a reader that knows what they mean.
    """
    kinds = np.zeros(256, np.uint8)
    kinds[list(b'"\r\0')] = _OTHER
    kinds[ord("\n")] = _LINE_END
    kinds[ord(separator)] = _SEPARATOR
    return kinds


def number_rows(
    text: NDArray[np.uint8], end: int, kinds: NDArray[np.uint8], codes: NDArray[np.uint16], known: CellNumbers
) -> tuple[int, int]:
    """Number the cells of all complete rows of ``text[:end]``, as far as ``codes`` (columns x rows) has room.

    Returns how many rows there were, and where the next one begins; -1 rows if the text is not plain, a row has too
    few or too many cells, or there is no room for another value. ``text[end]`` must be a line end, and `BEYOND` bytes
    must follow it.

    >>> text = np.frombuffer(b"a,1\\nb,\\na" + b"\\n" + bytes(BEYOND), np.uint8)
    >>> codes, known = np.zeros((2, 9), np.uint16), CellNumbers.empty(2, 100)
    >>> number_rows(text, 8, kinds_of_bytes(","), codes, known)
    (2, 7)
    >>> codes[:, :2].tolist(), known.values(0), known.values(1)
    ([[1, 2], [1, 0]], [b'a', b'b'], [b'1'])
    """
    rows, at = _number_rows(text, end, kinds, codes, *known)
    return int(rows), int(at)
