"""Whether a csv file holds the rows of a table; never more than some of them in memory as text."""

from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.engine.parts import Parts
from sfumato.kernel.csv_rows import BEYOND, same_rows
from sfumato.release.files.csv_cells import CodedRows, coded_rows, header
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry

_CELLS = 1 << 21
"""How many cells are numbered at a time."""
_BYTES = 1 << 18
"""How much of a file is read at a time: it stays in the cache until it is compared."""


def holds(file: Path, frame: pl.DataFrame, output: OutputEntry | None, cells: int = _CELLS, read: int = _BYTES) -> bool:
    """Whether a csv file holds the frame: byte for byte, or once read again if numbers are written differently."""
    return _same_bytes(file, [frame], output, cells, read) or _same_values(file, csv_of(frame, output))


def holds_parts(file: Path, parts: Parts, output: OutputEntry | None, cells: int = _CELLS, read: int = _BYTES) -> bool:
    """Whether a csv file holds all parts of a table, one after the other; a part at a time in memory."""
    if _same_bytes(file, parts.frames(), output, cells, read):
        return True
    first = 0
    for frame in parts.frames():
        last = first + frame.height == parts.height
        if not _same_values(file, csv_of(frame, output), first, frame.height + last):  # no row may follow the last
            return False
        first += frame.height
    return True


class _Window:
    """The part of a file that is compared, and where; zeros follow the end of the file."""

    def __init__(self, file: BufferedReader, size: int) -> None:
        self.file, self.size = file, size
        self.text = np.zeros(0, np.uint8)
        self.at = self.end = 0
        self.ended = False

    def limit(self, longest: int) -> int:
        """Rows of at most this length that start before this place are here as a whole, with room behind them."""
        whole = self.end if self.ended else self.end - longest + 1
        return max(0, min(whole, len(self.text) - BEYOND - longest + 1))

    def move(self, longest: int) -> None:
        """Read on, for rows of at most this length."""
        rest = self.text[self.at : self.end].copy()
        if len(self.text) < self.size + 2 * longest + BEYOND:
            self.text = np.empty(self.size + 2 * longest + BEYOND, np.uint8)
        self.text[: len(rest)] = rest
        read = self.file.readinto(memoryview(self.text)[len(rest) : len(self.text) - longest - BEYOND])
        self.at, self.end, self.ended = 0, len(rest) + read, self.ended or not read
        self.text[self.end :] = 0


def _same_bytes(file: Path, frames: Iterable[pl.DataFrame], output: OutputEntry | None, cells: int, read: int) -> bool:
    with file.open("rb") as there:
        window = _Window(there, read)
        for number, frame in enumerate(frames):
            first = header(frame, output) if number == 0 else b""
            if there.read(len(first)) != first:
                return False
            step = max(1, cells // max(1, frame.width))
            if not all(_same_rows(window, rows) for rows in coded_rows(frame, output, step)):
                return False
        return window.at == window.end and not there.read(1)


def _same_rows(window: _Window, rows: CodedRows) -> bool:
    done, number = 0, rows.codes.shape[1]
    while True:
        limit = window.limit(rows.longest)
        done, window.at = same_rows(rows.codes, done, rows.cells, window.text, window.at, limit)
        if done < 0 or done == number:
            return done == number
        if window.ended and window.at >= window.end:
            return False
        window.move(rows.longest)


def _same_values(file: Path, frame: pl.DataFrame, first: int = 0, most: int | None = None) -> bool:
    words = {c: pl.String if frame[c].dtype == pl.Enum else frame[c].dtype for c in frame.columns}
    try:
        again = pl.scan_csv(file, schema=words, glob=False).slice(first, most).collect()
    except pl.exceptions.PolarsError:
        return False
    return again.equals(frame.with_columns(frame[c].cast(t) for c, t in words.items()))
