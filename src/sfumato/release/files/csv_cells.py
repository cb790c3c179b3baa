"""The cells of a frame as Polars writes them to a csv file: a word that a column lists is written once for all rows."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import SfumatoError
from sfumato.kernel.csv_rows import BEYOND, Cells
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry

_QUOTE, _COMMA, _LINE_END = b'",\n'


class CodedRows(NamedTuple):
    """Some rows as numbers of cells, a line per column, and the bytes of the longest row that these cells allow."""

    codes: NDArray[np.uint32]
    cells: Cells
    longest: int


def header(frame: pl.DataFrame, output: OutputEntry | None) -> bytes:
    """The first line of a csv file."""
    return csv_of(frame.clear(), output).write_csv().encode()


def coded_rows(frame: pl.DataFrame, output: OutputEntry | None, step: int) -> Iterator[CodedRows]:
    """The rows of a frame, ``step`` at a time."""
    listed = {c.name: _listed(c, output, _ending(frame, c)) for c in frame.get_columns() if _lists_words(c)}
    for first in range(0, frame.height, step):
        rows = frame.slice(first, step)
        found = [listed.get(c.name) or _written(c, output, _ending(frame, c)) for c in rows.get_columns()]
        codes = np.empty((frame.width, rows.height), np.uint32)
        number = 0
        for place, (column, cells) in enumerate(zip(rows.get_columns(), found, strict=True)):
            of_row = _places(column) if column.name in listed else np.arange(rows.height)
            np.add(of_row, np.uint32(number), out=codes[place], casting="unsafe")
            number += len(cells.begin)
        yield CodedRows(codes, _joined(found), sum(int(cells.length.max()) for cells in found))


def _lists_words(column: pl.Series) -> bool:
    """Whether it is faster to write the words that a column lists than those of its rows."""
    return isinstance(column.dtype, pl.Enum) and len(column.dtype.categories) < len(column)


def _listed(column: pl.Series, output: OutputEntry | None, ending: int) -> Cells:
    """The words of a column, and a missing one."""
    assert isinstance(column.dtype, pl.Enum)
    words = column.dtype.categories.cast(column.dtype).extend(pl.Series([None], dtype=column.dtype))
    return _written(words, output, ending)


def _places(column: pl.Series) -> NDArray[np.unsignedinteger]:
    """The place of each row's word among those that the column lists; the last is that of missing ones."""
    assert isinstance(column.dtype, pl.Enum)
    places = column.to_physical()
    if places.null_count():
        places = places.cast(pl.UInt32).fill_null(len(column.dtype.categories))
    return places.to_numpy()


def _ending(frame: pl.DataFrame, column: pl.Series) -> int:
    """What follows a cell."""
    return _LINE_END if column.name == frame.columns[-1] else _COMMA


def _written(column: pl.Series, output: OutputEntry | None, ending: int) -> Cells:
    """A cell for each value, as Polars writes it, with its quotes."""
    buffer = BytesIO()
    csv_of(column.to_frame(), output).write_csv(buffer, include_header=False)
    text = np.frombuffer(buffer.getbuffer(), np.uint8)
    quotes, ends = text == _QUOTE, text == _LINE_END
    if quotes.any():
        ends &= ~np.logical_xor.accumulate(quotes)  # a line end after an odd number of quotes belongs to a cell
    last = np.flatnonzero(ends)
    if len(last) != len(column):
        raise SfumatoError(f"Polars wrote {len(column)} values as {len(last)} csv cells; please report this bug")
    text[last] = ending
    begin = np.append(0, last[:-1] + 1)
    return Cells(text, begin, last + 1 - begin)


def _joined(columns: Sequence[Cells]) -> Cells:
    """The cells of all columns, one after the other."""
    starts = np.cumsum([0, *(len(cells.text) for cells in columns)])
    return Cells(
        np.concatenate([*(cells.text for cells in columns), np.zeros(BEYOND, np.uint8)]),
        np.concatenate([cells.begin + start for cells, start in zip(columns, starts[:-1], strict=True)]),
        np.concatenate([cells.length for cells in columns]),
    )
