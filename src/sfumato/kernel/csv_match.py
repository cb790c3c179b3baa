"""Rows that are given as cells, compared with the bytes of a csv file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.code_columns import fetch_codes
from sfumato.kernel.csv_rows import BEYOND, CsvRows, begin_of, length_of, number_rows, numbering, room_for
from sfumato.kernel.differing import differing
from sfumato.kernel.jit import kernel, lean


@lean
def _same_words(numbers: Any, rows: Any, cells: Any, places: Any, text: Any, at: Any, backwards: bool) -> int:
    """Many bytes at a time. Whatever the rows are, there must be room for them and for `BEYOND` more bytes in the text:
    to test that for each cell would take twice as long."""
    u = np.uint64
    place, width, runs = u(at), u(BEYOND), u(numbers.shape[0])
    other = u(0)
    for row in range(u(rows)):
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
def _same_bytes(numbers: Any, rows: Any, cells: Any, places: Any, text: Any, at: Any, end: Any, backwards: bool) -> int:
    """A byte at a time, wherever the text ends."""
    u = np.uint64
    place, runs = u(at), u(numbers.shape[0])
    for row in range(u(rows)):
        for run in range(runs):
            cell = places[numbers[runs - u(1) - run, u(rows) - u(1) - row] if backwards else numbers[run, row]]
            there, left = begin_of(cell), length_of(cell)
            if left > (place if backwards else u(end) - place):
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
    at: int,
    end: int,
    more: bool,
    backwards: bool,
    numbers: Any,
) -> Any:
    place, left = np.int64(at), np.int64(last - first)
    while left > 0 and place >= 0:
        surely = (place if backwards else end - place) // longest
        if more and surely == 0:
            break
        count = min(numbers.shape[1], left, surely if surely > 0 else left)
        here = first + left - count if backwards else last - left
        number_rows(where, worths, ends, starts, here - own, here, count, numbers)
        fetch_codes(where, max(here - count, first) if backwards else min(here + count, last - count), count)
        if surely > 0:
            place = _same_words(numbers, count, cells, places, text, place, backwards)
        else:
            place = _same_bytes(numbers, count, cells, places, text, place, end, backwards)
        left -= count
    return left, place


def same_rows(
    rows: CsvRows,
    first: int,
    last: int,
    text: NDArray[np.uint8],
    at: int,
    end: int,
    *,
    more: bool = False,
    backwards: bool = False,
) -> tuple[int, int] | None:
    """Compare the rows from ``first`` to before ``last`` with a text, from a place on, or ``backwards`` from there.

    The text ends before ``end``, and `BEYOND` bytes of memory follow it; ``more``: what is not there yet is read later.
    Returns how many rows are left to compare then, and the place that was reached; None if a byte differs, or the text
    is too short.

    >>> from sfumato.kernel.code_columns import CodeColumns
    >>> from sfumato.kernel.csv_rows import CsvCells
    >>> cells = CsvCells.at(np.frombuffer(b"1,2,a\\n" + bytes(BEYOND), np.uint8), np.array([0, 2, 4]), np.full(3, 2))
    >>> columns = CodeColumns([np.array([0, 1], np.uint8), np.array([0, 0], np.uint16)])
    >>> rows = CsvRows(cells, columns, np.ones(2, np.uint32), np.array([1, 2]), np.array([0, 2], np.uint32), 0, 4)
    >>> text = np.frombuffer(b"1,a\\n2,a\\n" + bytes(BEYOND), np.uint8)
    >>> same_rows(rows, 0, 2, text, 0, 8), same_rows(rows, 1, 2, text, 8, 8, backwards=True)
    ((0, 8), (0, 4))
    >>> same_rows(rows, 0, 1, text, 8, 8, backwards=True) is None, same_rows(rows, 0, 2, text, 0, 6) is None
    (True, True)
    >>> same_rows(rows, 0, 2, text, 0, 6, more=True)
    (1, 4)
    """
    rows.columns.refuse_beyond(first, last)
    if not 0 <= at <= end <= len(text) - BEYOND:
        raise IndexError(f"a text of {len(text)} bytes, {BEYOND} of which follow it, has no place {at} before {end}")
    of_rows = (*numbering(rows), first, last, *rows.cells, rows.longest)
    left, place = _same_rows(*of_rows, text, at, end, more, backwards, room_for(rows))
    return None if place < 0 else (int(left), int(place))
