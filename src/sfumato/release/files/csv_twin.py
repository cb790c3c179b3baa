"""Whether a csv file holds the rows of a table; never more than some of them in memory as text."""

from collections.abc import Iterable, Iterator
from concurrent.futures import wait
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
import polars as pl

from sfumato.background import in_background
from sfumato.engine.parts import Parts
from sfumato.kernel.csv_rows import length_of_rows, same_rows
from sfumato.release.files.csv_cells import CodedRows, coded_rows, header
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry

_CELLS = 1 << 18
"""How many cells are numbered at a time: their numbers stay in the cache until they are compared."""
_MANY = 1 << 16
"""A frame with fewer rows is written by Polars and compared: loading the kernels would take longer."""
_THREADS = 2
"""How many blocks of rows are compared at the same time."""


def same_bytes(
    file: Path, table: pl.DataFrame | Parts, output: OutputEntry | None, cells: int = _CELLS, many: int = _MANY
) -> bool:
    """Whether a csv file is byte for byte what is written for a table; if it is, every byte was compared."""
    frames = table.frames() if isinstance(table, Parts) else [table]
    blocks = _Blocks(_blocks_of(frames, output, cells, many))
    others = [in_background(_all_same, file, blocks) for _ in range(_THREADS - 1)]
    try:
        same = _all_same(file, blocks)
    finally:
        wait(others)
    return same and all(other.result() for other in others) and blocks.end == file.stat().st_size


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


class _Block(NamedTuple):
    """Some rows of a table, coded or as they are written, and which bytes of a csv file they must be."""

    start: int
    length: int
    rows: CodedRows | bytes


class _Blocks:
    """The blocks of a csv file in their order, for threads that take them by turns; ``end``: of those taken."""

    def __init__(self, rows: Iterator[CodedRows | bytes]) -> None:
        self._rows, self._taking = rows, Lock()
        self.end = 0

    def take(self) -> _Block | None:
        """The next block; None if there is none."""
        with self._taking:
            rows = next(self._rows, None)
            if rows is None:
                return None
            length = len(rows) if isinstance(rows, bytes) else length_of_rows(rows.codes, rows.cells)
            block = _Block(self.end, length, rows)
            self.end += length
            return block

    def stop(self) -> None:
        """Let nobody take another block."""
        with self._taking:
            self._rows = iter(())


def _blocks_of(
    frames: Iterable[pl.DataFrame], output: OutputEntry | None, cells: int, many: int
) -> Iterator[CodedRows | bytes]:
    """The header, and the rows of each frame."""
    for number, frame in enumerate(frames):
        if number == 0:
            yield header(frame, output)
        if frame.height < many:
            yield csv_of(frame, output).write_csv(include_header=False).encode()
        else:
            yield from coded_rows(frame, output, max(1, cells // max(1, frame.width)))


def _all_same(file: Path, blocks: _Blocks) -> bool:
    """Whether all blocks that are taken here are in the file; the other threads stop if one is not."""
    room = bytearray()
    try:
        with file.open("rb", buffering=0) as there:
            while (block := blocks.take()) is not None:
                if block.length > len(room):
                    room = bytearray(block.length)
                if not _same_block(there, memoryview(room)[: block.length], block):
                    return False
        return True
    finally:
        blocks.stop()


def _same_block(file: FileIO, room: memoryview, block: _Block) -> bool:
    """Whether a block is in the file, which is read into ``room``."""
    file.seek(block.start)
    read = 0
    while read < len(room):
        if not (more := file.readinto(room[read:])):
            return False
        read += more
    if isinstance(block.rows, bytes):
        return room.tobytes() == block.rows
    return same_rows(block.rows.codes, block.rows.cells, block.rows.longest, np.frombuffer(room, np.uint8))


def _same_values(file: Path, frame: pl.DataFrame, first: int = 0, most: int | None = None) -> bool:
    words = {c: pl.String if frame[c].dtype == pl.Enum else frame[c].dtype for c in frame.columns}
    try:
        again = pl.scan_csv(file, schema=words, glob=False).slice(first, most).collect()
    except pl.exceptions.PolarsError:
        return False
    return again.equals(frame.with_columns(frame[c].cast(t) for c, t in words.items()))
