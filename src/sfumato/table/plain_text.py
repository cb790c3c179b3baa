"""A plain text table, read without Polars: the cells are numbered, and ranked at the end, on one core.

A command reads its table this way while it imports Polars and most of sfumato. Plain means: UTF-8, no quotation marks,
carriage returns or NUL bytes, as many cells in each row as in the header, few distinct values per column. Anything else
is left to `delimited`, which knows what it means or says what is wrong.
"""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.plain_cells import BEYOND, CellNumbers, kinds_of_bytes, number_rows
from sfumato.table.form import likely_separator
from sfumato.table.regular_file import open_regular

_BLOCK = 1 << 23
"""Bytes read at a time. Python's lock is reacquired between blocks, which takes long while modules are imported."""
_ROOM = 1 << 24
"""How many bytes the distinct values of all columns may have together."""
_MOST_COLUMNS = 64


class PlainTable(NamedTuple):
    """The columns of a table by name: the distinct values in the order of their bytes, and each row's place among them.

    A missing value has the place after the last one.
    """

    names: list[str]
    words: list[list[str]]
    places: list[NDArray[Any]]


def load_kernel() -> None:
    """Load what reads such tables, in the thread that asks: another one would import modules beside it."""
    number_rows(_room(b"a,a\n")[0], 4, kinds_of_bytes(","), np.zeros((2, 1), np.uint16), CellNumbers.empty(2, 8))


def read_plain(
    path: Path, nulls: Collection[str], reached: Callable[[float], None] = lambda share: None
) -> PlainTable | None:
    """The rows of a plain text table; None if it is not one. The strings in ``nulls`` are missing values.

    ``reached`` is called with the share of the file that has been read.
    """
    try:
        with open_regular(path) as file:
            header = file.readline(_BLOCK)
            columns = _header(header, path)
            if columns is None:
                return None
            names, separator = columns
            known = CellNumbers.empty(len(names), _ROOM)
            size = max(1, os.fstat(file.fileno()).st_size)
            blocks = _numbered(file.readinto, kinds_of_bytes(separator), known, lambda done: reached(done / size))
    except OSError:
        return None
    return None if not blocks else _ranked(names, blocks, known, {text.encode() for text in nulls})


def _header(line: bytes, path: Path) -> tuple[list[str], str] | None:
    """The names and the separator of a plain header; None if `delimited` has to look at it."""
    if not line.endswith(b"\n") or any(mark in line for mark in (b'"', b"\r", b"\0", b"\xef\xbb\xbf")):
        return None
    try:
        text = line[:-1].decode()
    except UnicodeDecodeError:
        return None
    separator = likely_separator(text, path)
    names = text.split(separator)
    if not 2 <= len(names) <= _MOST_COLUMNS or len(set(names)) < len(names):
        return None
    return (names, separator) if all(name.strip() and name[0] != "^" for name in names) else None


def _room(start: bytes) -> tuple[NDArray[np.uint8], memoryview]:
    """Room for a block and for the end of the one before it, as an array and as memory."""
    memory = bytearray(max(len(start), 2 * _BLOCK) + 1 + BEYOND)
    memory[: len(start)] = start
    return np.frombuffer(memory, np.uint8), memoryview(memory)


def _numbered(
    fill: Callable[[memoryview], int], kinds: NDArray[np.uint8], known: CellNumbers, reached: Callable[[int], None]
) -> list[NDArray[np.uint16]] | None:
    """The numbers of the cells, columns x rows, block by block; None if the table is not plain."""
    text, memory = _room(b"")
    codes = np.empty((len(known.used) - 1, _BLOCK // 32), np.uint16)
    blocks, done, kept, is_last = [], 0, 0, False
    while not is_last:
        size = fill(memory[kept : kept + _BLOCK])
        is_last, done, end = not size, done + size, kept + size
        if is_last and end and text[end - 1] != _LINE_END:
            text[end], end = _LINE_END, end + 1
        text[end] = _LINE_END
        start = 0
        while (found := number_rows(text[start:], end - start, kinds, codes, known))[0] > 0:
            blocks.append(codes[:, : found[0]].copy())
            start += found[1]
        kept = end - start
        if found[0] < 0 or kept > _BLOCK:
            return None
        memory[:kept] = memory[start:end]
        reached(done)
    return blocks


_LINE_END = ord("\n")


def _ranked(
    names: list[str], blocks: list[NDArray[np.uint16]], known: CellNumbers, nulls: Collection[bytes]
) -> PlainTable | None:
    """The table in which numbers are replaced by ranks; None if a value is not UTF-8."""
    words, places = [], []
    for column in range(len(names)):
        values = known.values(column)
        order = sorted((n for n, value in enumerate(values, 1) if value not in nulls), key=lambda n: values[n - 1])
        try:
            words.append([values[n - 1].decode() for n in order])
        except UnicodeDecodeError:
            return None
        rank = np.full(len(values) + 1, len(order), np.min_scalar_type(len(order)))
        rank[order] = np.arange(len(order))
        places.append(np.concatenate([rank[block[column]] for block in blocks]))
    return PlainTable(names, words, places)
