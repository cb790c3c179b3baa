"""Whether a csv file holds the rows of a table; never more than some of them in memory as text."""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

import polars as pl

from sfumato.engine.parts import Parts
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry

_ROWS = 1 << 18
"""How many rows are written as text at a time."""


def holds(file: Path, frame: pl.DataFrame, output: OutputEntry | None, step: int = _ROWS) -> bool:
    """Whether a csv file holds the frame: byte for byte, or once read again if numbers are written differently."""
    return _same_bytes(file, [frame], output, step) or _same_values(file, csv_of(frame, output))


def holds_parts(file: Path, parts: Parts, output: OutputEntry | None, step: int = _ROWS) -> bool:
    """Whether a csv file holds all parts of a table, one after the other; a part at a time in memory."""
    if _same_bytes(file, parts.frames(), output, step):
        return True
    first = 0
    for frame in parts.frames():
        last = first + frame.height == parts.height
        if not _same_values(file, csv_of(frame, output), first, frame.height + last):  # no row may follow the last
            return False
        first += frame.height
    return True


def _same_bytes(file: Path, frames: Iterable[pl.DataFrame], output: OutputEntry | None, step: int) -> bool:
    header = True
    with file.open("rb") as there:
        for frame in frames:
            for first in range(0, max(frame.height, 1), step):
                buffer = BytesIO()
                csv_of(frame.slice(first, step), output).write_csv(buffer, include_header=header)
                text, header = buffer.getvalue(), False
                if there.read(len(text)) != text:
                    return False
        return not there.read(1)


def _same_values(file: Path, frame: pl.DataFrame, first: int = 0, most: int | None = None) -> bool:
    words = {c: pl.String if frame[c].dtype == pl.Enum else frame[c].dtype for c in frame.columns}
    try:
        again = pl.scan_csv(file, schema=words, glob=False).slice(first, most).collect()
    except pl.exceptions.PolarsError:
        return False
    return again.equals(frame.with_columns(frame[c].cast(t) for c, t in words.items()))
