"""Tables written as csv files, byte for byte as Polars writes them; large ones several times as fast."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.background import in_background, known
from sfumato.kernel.csv_rows import BEYOND, put_rows
from sfumato.release.files.csv_cells import CodedFrame, header
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry

_MANY = 1 << 16
"""A frame with fewer rows is left to Polars: loading the kernel would take longer."""
_CELLS = 1 << 21
"""How many cells are numbered at a time."""
_BYTES = 1 << 24
"""How many bytes are written at a time, about."""


def write_csv(file: Path, frames: Iterable[pl.DataFrame], output: OutputEntry | None, many: int = _MANY) -> str:
    """Write frames one after the other, with one header, flushed to the disk; returns the SHA-256 of the file.

    ``output`` is what the manifest says about the cells. A block is hashed while the next one is made.
    """
    summed, hashed = hashlib.sha256(), known(None)
    with file.open("wb") as there:
        for text in _texts(frames, output, many):
            hashed.result()
            hashed = in_background(summed.update, text)
            there.write(text)
        hashed.result()
        there.flush()
        os.fsync(there.fileno())
    return summed.hexdigest()


def _texts(frames: Iterable[pl.DataFrame], output: OutputEntry | None, many: int) -> Iterator[bytes | memoryview]:
    """The text of a file in blocks, each of which stays as it is until the next but one is asked for."""
    for number, frame in enumerate(frames):
        if number == 0:
            yield header(frame.schema, output)
        if frame.height < many:
            text = BytesIO()
            csv_of(frame, output).write_csv(text, include_header=False)
            yield text.getbuffer()
        else:
            yield from _blocks(frame, output)


def _blocks(frame: pl.DataFrame, output: OutputEntry | None) -> Iterator[bytes | memoryview]:
    """The rows of a frame, in two blocks of memory by turns."""
    here, there = np.empty(0, np.uint8), np.empty(0, np.uint8)
    coded, step = CodedFrame(frame, output), max(1, _CELLS // frame.width)
    for first in range(0, frame.height, step):
        for some in coded.ranges(first, min(first + step, frame.height)):
            rows, done = coded.rows(some), some.start
            needed = _BYTES + rows.longest + BEYOND
            while done < some.stop:
                here, there = there if len(there) >= needed else np.empty(needed, np.uint8), here
                done, end = put_rows(rows, done, some.stop, here, _BYTES)
                yield here[:end].data
