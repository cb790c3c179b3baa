"""Whether a csv file holds the rows of a table; never more than some of them in memory as text."""

from collections.abc import Iterable
from pathlib import Path
from threading import Lock

import numpy as np
import polars as pl

from sfumato.background import in_background
from sfumato.engine.parts import Parts
from sfumato.errors import DAMAGED, ReleaseError
from sfumato.kernel.csv_match import same_rows
from sfumato.release.files.csv_cells import CodedFrame, header, is_text, ranges, text_bytes
from sfumato.release.files.csv_window import CsvWindow
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry
from sfumato.table.checks import POLARS_FAILURES

_CELLS = 1 << 21
"""How many cells a thread takes at a time."""
_MANY = 1 << 16
"""A frame with fewer rows is written by Polars and compared: loading the kernels would take longer."""


def same_bytes(
    file: Path, table: pl.DataFrame | Parts, output: OutputEntry | None, cells: int = _CELLS, many: int = _MANY
) -> bool:
    """Whether a csv file is byte for byte what is written for a table; if it is, every byte was compared.

    One thread compares from the first row on, the other one from the last row back, until they meet.
    """
    rows, step = _Rows(table.height), max(1, cells // max(1, len(table.columns)))
    first, last = _both_ways(table, output, many)
    with CsvWindow(file, backwards=False) as onwards, CsvWindow(file, backwards=True) as back:
        if not onwards.passes(header(table.schema, output)):
            return False
        other = in_background(_compare, onwards, first, rows, step)
        try:
            begin = _compare(back, last, rows, step)
        finally:
            end = other.result()  # the file is not in use any more when this ends, however it ends
        return begin is not None and begin == end


def same_values(file: Path, table: pl.DataFrame | Parts, output: OutputEntry | None) -> bool:
    """Whether a csv file holds a table once it is read: numbers may be written differently. A part at a time."""
    if not isinstance(table, Parts):
        return _same_values(file, csv_of(table, output))
    first = 0
    for frame in table.frames():
        last = first + frame.height == table.height
        if not _same_values(file, csv_of(frame, output), first, frame.height + last):  # no row may follow the last
            return False
        first += frame.height
    return True


class _Rows:
    """The rows that have not been compared yet, which two threads take from both ends."""

    def __init__(self, number: int) -> None:
        self._number, self._taking = number, Lock()

    def take(self, most: int) -> int:
        """Take some rows, if there are so many."""
        with self._taking:
            taken = min(most, self._number)
            self._number -= taken
            return taken

    def stop(self) -> None:
        """Let nobody take another row."""
        with self._taking:
            self._number = 0


class _Frame:
    """Some rows of a table, which can be compared with a text."""

    def __init__(self, frame: pl.DataFrame, output: OutputEntry | None, many: int) -> None:
        self._frame, self._output, self.height = frame, output, frame.height
        self._coded = CodedFrame(frame, output) if frame.height >= many else None

    def passes(self, window: CsvWindow, first: int, last: int) -> bool:
        """Whether the rows from ``first`` to before ``last`` come next; if they do, they have been compared."""
        if self._coded is None:
            found = ranges(self._frame.get_columns(), first, last)
        else:
            found = self._coded.ranges(first, last)
        return all(self._some_pass(window, some) for some in (reversed(found) if window.backwards else found))

    def _some_pass(self, window: CsvWindow, some: range) -> bool:
        if self._coded is not None:
            return _pass(self._coded, some, window)
        written = csv_of(self._frame[some.start : some.stop], self._output).write_csv(include_header=False)
        return window.passes(written.encode())


def _pass(coded: CodedFrame, some: range, window: CsvWindow) -> bool:
    """Whether some rows come next; if they do, they have been compared."""
    rows, first, last = coded.rows(some), some.start, some.stop
    while first < last:
        text = window.bytes, window.place, window.end
        found = same_rows(rows, first, last, *text, more=window.more, backwards=window.backwards)
        if found is None:
            return False
        left, window.place = found
        first, last = (first, first + left) if window.backwards else (last - left, last)
        if left:
            window.read(rows.longest)
    return True


def _both_ways(
    table: pl.DataFrame | Parts, output: OutputEntry | None, many: int
) -> tuple[Iterable[_Frame], Iterable[_Frame]]:
    """The frames of a table from the first on, and from the last back."""
    if isinstance(table, pl.DataFrame):
        whole = [_Frame(table, output, many)]
        return whole, whole
    try:
        rows = table.rows_now()
    except (*POLARS_FAILURES, OSError):
        rows = -1
    if rows != table.height:
        raise ReleaseError(f"the parts of the table were changed after they were read; {DAMAGED}")
    first, last = (table.frames(backwards=backwards) for backwards in (False, True))
    return (_Frame(frame, output, many) for frame in first), (_Frame(frame, output, many) for frame in last)


def _compare(window: CsvWindow, frames: Iterable[_Frame], rows: _Rows, step: int) -> int | None:
    """Compare rows from one end of the file on until none is left; the place in the file that was reached.

    None if a byte differs. The other thread stops then, too.
    """
    try:
        for frame in frames:
            done = 0
            while done < frame.height:
                taken = rows.take(min(step, frame.height - done))
                if not taken:
                    return window.at
                first = frame.height - done - taken if window.backwards else done
                if not frame.passes(window, first, first + taken):
                    return None
                done += taken
        return window.at
    finally:
        rows.stop()


def _same_values(file: Path, frame: pl.DataFrame, first: int = 0, most: int | None = None) -> bool:
    text = (text_bytes(column) for column in frame.get_columns() if is_text(column.dtype))
    if sum(int(lengths.sum(dtype=np.int64)) for lengths in text) > file.stat().st_size:
        return False  # a word in many rows is in memory once; as text it could need any amount of it
    words = {c: pl.String if frame[c].dtype == pl.Enum else frame[c].dtype for c in frame.columns}
    try:
        again = pl.scan_csv(file, schema=words, glob=False).slice(first, most).collect()
    except POLARS_FAILURES:
        return False
    return again.equals(frame.with_columns(frame[c].cast(t) for c, t in words.items()))
