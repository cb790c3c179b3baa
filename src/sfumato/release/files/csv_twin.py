"""Whether a csv file holds the rows of a table; never more than some of them in memory as text."""

import mmap
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock

import numpy as np
import polars as pl

from sfumato.background import in_background
from sfumato.engine.parts import Parts
from sfumato.kernel.csv_match import same_rows
from sfumato.release.files.csv_cells import CodedFrame, header
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry

_CELLS = 1 << 21
"""How many cells are numbered at a time: their numbers stay in the cache until they are compared."""
_MANY = 1 << 16
"""A frame with fewer rows is written by Polars and compared: loading the kernels would take longer."""
_HELD = 1 << 24
"""How many compared bytes of a file stay in memory, about."""


def same_bytes(
    file: Path, table: pl.DataFrame | Parts, output: OutputEntry | None, cells: int = _CELLS, many: int = _MANY
) -> bool:
    """Whether a csv file is byte for byte what is written for a table; if it is, every byte was compared.

    One thread compares from the first row on, the other one from the last row back, until they meet.
    """
    text, rows, step = _Text(file), _Rows(table.height), max(1, cells // max(1, len(table.columns)))
    start = text.after(header(table.schema, output))
    if start is None:
        return False
    onwards, back = _both_ways(table, output, many)
    other = in_background(_compare, text, start, onwards, rows, step, backwards=False)
    try:
        begin = _compare(text, len(text), back, rows, step, backwards=True)
    finally:
        end = other.result()
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


class _Text:
    """The bytes of a file, which the system reads when they are looked at."""

    def __init__(self, file: Path) -> None:
        self._map = _mapped(file)
        self.bytes = np.fromfile(file, np.uint8) if self._map is None else np.frombuffer(self._map, np.uint8)

    def __len__(self) -> int:
        return len(self.bytes)

    def after(self, text: bytes, at: int = 0) -> int | None:
        """Where a text ends that must stand at a place; None if it does not."""
        return at + len(text) if self.bytes[at : at + len(text)].tobytes() == text else None

    def before(self, text: bytes, at: int) -> int | None:
        """Where a text begins that must end at a place; None if it does not."""
        start = at - len(text)
        return start if start >= 0 and self.bytes[start:at].tobytes() == text else None

    def forget(self, first: int, last: int) -> None:
        """Give back the memory of some bytes that have been compared."""
        first, last = (-(-at // mmap.PAGESIZE) * mmap.PAGESIZE for at in (first, last))
        if self._map and first < last <= len(self) and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)


def _mapped(file: Path) -> mmap.mmap | None:
    """A file in memory; None if it is empty, or its file system cannot do that."""
    with file.open("rb") as there, suppress(OSError, ValueError):
        return mmap.mmap(there.fileno(), 0, access=mmap.ACCESS_READ)
    return None


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

    def found(self, text: _Text, at: int, first: int, last: int, *, backwards: bool) -> int | None:
        """Where the rows from ``first`` to before ``last`` end in a text, if they begin at a place; None if a byte
        differs. ``backwards``: where they begin, if they end there."""
        if self._coded is not None:
            return same_rows(self._coded.rows(first, last), first, last, text.bytes, at, backwards=backwards)
        written = csv_of(self._frame[first:last], self._output).write_csv(include_header=False).encode()
        return text.before(written, at) if backwards else text.after(written, at)


def _both_ways(
    table: pl.DataFrame | Parts, output: OutputEntry | None, many: int
) -> tuple[Iterable[_Frame], Iterable[_Frame]]:
    """The frames of a table from the first on, and from the last back."""
    if isinstance(table, pl.DataFrame):
        whole = [_Frame(table, output, many)]
        return whole, whole
    first, last = (table.frames(backwards=backwards) for backwards in (False, True))
    return (_Frame(frame, output, many) for frame in first), (_Frame(frame, output, many) for frame in last)


def _compare(text: _Text, at: int, frames: Iterable[_Frame], rows: _Rows, step: int, *, backwards: bool) -> int | None:
    """Compare rows from a place on, or back from there, until none is left; the place that was reached.

    None if a byte differs. The other thread stops then, too.
    """
    place, held = at, at
    try:
        for frame in frames:
            done = 0
            while done < frame.height:
                taken = rows.take(min(step, frame.height - done))
                if not taken:
                    return place
                first = frame.height - done - taken if backwards else done
                found = frame.found(text, place, first, first + taken, backwards=backwards)
                if found is None:
                    return None
                place, done = found, done + taken
                if abs(place - held) > _HELD:
                    text.forget(*sorted((place, held)))
                    held = place
        return place
    finally:
        rows.stop()


def _same_values(file: Path, frame: pl.DataFrame, first: int = 0, most: int | None = None) -> bool:
    words = {c: pl.String if frame[c].dtype == pl.Enum else frame[c].dtype for c in frame.columns}
    try:
        again = pl.scan_csv(file, schema=words, glob=False).slice(first, most).collect()
    except pl.exceptions.PolarsError:
        return False
    return again.equals(frame.with_columns(frame[c].cast(t) for c, t in words.items()))
