"""Rows that are given as cells, compared with the bytes of a csv file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.code_columns import fetch_codes
from sfumato.kernel.csv_rows import BEYOND, CsvRows, begin_of, length_of, number_rows, numbering, room_for
from sfumato.kernel.differing import differing
from sfumato.kernel.fetching import LINE, fetch
from sfumato.kernel.jit import kernel, lean

_AHEAD = 8192
"""So many bytes before they are compared, those of a text are fetched."""


@lean
def _same_words(
    numbers: Any, rows: Any, cells: Any, places: Any, text: Any, address: Any, at: Any, backwards: bool
) -> int:
    """Many bytes at a time. Whatever the rows are, there must be room for them and for `BEYOND` more bytes in the text:
    to test that for each cell would take twice as long.

    The text, which is at an address, is fetched from memory ahead of its use: the processor does that by itself only
    within a page.
    """
    u = np.uint64
    place, width, runs = u(at), u(BEYOND), u(numbers.shape[0])
    other = u(0)
    ahead = u(address) - u(_AHEAD) if backwards else u(address) + u(_AHEAD)
    for row in range(u(rows)):
        fetch(ahead, place)
        fetch(ahead, place + u(LINE))
        for run in range(runs):
            cell = places[numbers[runs - u(1) - run, u(rows) - u(1) - row] if backwards else numbers[run, row]]
            there, left = begin_of(cell), length_of(cell)
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


@lean
def _same_bytes(numbers: Any, rows: Any, cells: Any, places: Any, text: Any, at: Any, backwards: bool) -> int:
    """A byte at a time, wherever the text ends."""
    u = np.uint64
    place, end, runs = u(at), u(len(text)), u(numbers.shape[0])
    for row in range(u(rows)):
        for run in range(runs):
            cell = places[numbers[runs - u(1) - run, u(rows) - u(1) - row] if backwards else numbers[run, row]]
            there, left = begin_of(cell), length_of(cell)
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


@kernel
def _same_rows(
    where: Any,
    worths: Any,
    ends: Any,
    starts: Any,
    own: int,
    first: int,
    last: int,
    cells: Any,
    places: Any,
    longest: int,
    text: Any,
    address: int,
    at: int,
    backwards: bool,
    numbers: Any,
) -> int:
    place = np.int64(at)
    while first < last and place >= 0:
        count = min(numbers.shape[1], last - first)
        here = last - count if backwards else first
        number_rows(where, worths, ends, starts, here - own, here, count, numbers)
        fetch_codes(where, max(here - count, first) if backwards else min(here + count, last - count), count)
        after = len(text) - place
        if after >= BEYOND and count * longest <= (place if backwards else after - BEYOND):
            place = _same_words(numbers, count, cells, places, text, address, place, backwards)
        else:
            place = _same_bytes(numbers, count, cells, places, text, place, backwards)
        if backwards:
            last = here
        else:
            first = here + count
    return place


def same_rows(rows: CsvRows, first: int, last: int, text: NDArray[np.uint8], at: int, *, backwards: bool) -> int | None:
    """Where the rows from ``first`` to before ``last`` end that a text must have from a place on; None if a byte
    differs, or the text is too short.

    ``backwards``: the rows must end at the place; returns where they begin.

    >>> from sfumato.kernel.code_columns import CodeColumns
    >>> from sfumato.kernel.csv_rows import CsvCells
    >>> cells = CsvCells.at(np.frombuffer(b"1,2,a\\n" + bytes(BEYOND), np.uint8), np.array([0, 2, 4]), np.full(3, 2))
    >>> columns = CodeColumns([np.array([0, 1], np.uint8), np.array([0, 0], np.uint16)])
    >>> rows = CsvRows(cells, columns, np.ones(2, np.uint32), np.array([1, 2]), np.array([0, 2], np.uint32), 0, 4)
    >>> text = np.frombuffer(b"1,a\\n2,a\\n", np.uint8)
    >>> same_rows(rows, 0, 2, text, 0, backwards=False)
    8
    >>> same_rows(rows, 1, 2, text, 8, backwards=True)
    4
    >>> same_rows(rows, 0, 1, text, 8, backwards=True) is None
    True
    """
    rows.columns.refuse_beyond(first, last)
    of_rows, of_text = (*numbering(rows), first, last, *rows.cells, rows.longest), (text, text.ctypes.data)
    found = _same_rows(*of_rows, *of_text, at, backwards, room_for(rows))
    return None if found < 0 else int(found)
