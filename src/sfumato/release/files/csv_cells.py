"""The cells of a frame as Polars writes them to a csv file: words that a column lists are written once for all rows.

Neighbouring columns of few words are written together, so that a row consists of fewer pieces.
"""

import math
from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import SfumatoError
from sfumato.kernel.code_columns import CodeColumns
from sfumato.kernel.csv_rows import BEYOND, CsvCells, CsvRows, refuse_much_text
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry
from sfumato.table.encode import Codes

_QUOTE, _COMMA, _LINE_END = b'",\n'
_TOGETHER, _TOGETHER_BYTES = 1 << 10, 1 << 18
"""Columns with at most this many combinations of words, and bytes in them, are written together: they stay in the
cache."""
_MOST_TOGETHER = 32
"""NumPy numbers the combinations of at most 64 columns, and joining many would take quadratic time."""
_LISTED_BYTES = 1 << 26
"""A column with which the listed words have more bytes than this is written row by row."""
_ROW_BYTES = 1 << 26
"""How many bytes are written row by row at a time, about."""


class _Run(NamedTuple):
    """Neighbouring columns, the words that each lists and how many bytes these have, without quotes; no words: they are
    written row by row."""

    names: tuple[str, ...]
    words: tuple[pl.Series, ...] = ()
    bytes: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many words each column has."""
        return tuple(len(words) for words in self.words)

    @property
    def bytes_of_combinations(self) -> int:
        """How many bytes all combinations of words have, without quotes."""
        each = math.prod(self.sizes)
        return sum(held * each // size for held, size in zip(self.bytes, self.sizes, strict=True))

    def and_next(self, other: "_Run") -> "_Run":
        """These columns and those that follow them."""
        return _Run(self.names + other.names, self.words + other.words, self.bytes + other.bytes)


def header(schema: pl.Schema, output: OutputEntry | None) -> bytes:
    """The first line of a csv file."""
    return csv_of(pl.DataFrame(schema=schema), output).write_csv().encode()


class CodedFrame:
    """A frame of which any rows can be given as cells."""

    def __init__(self, frame: pl.DataFrame, output: OutputEntry | None) -> None:
        self._frame, self._output = frame, output
        self._runs = _runs(frame)
        self._endings = [_COMMA] * (len(self._runs) - 1) + [_LINE_END]
        self._listed = [
            _written(_combinations(run), output, end) if run.words else None
            for run, end in zip(self._runs, self._endings, strict=True)
        ]
        places = [_places(run, frame) for run in self._runs]
        self._columns = CodeColumns([codes for run in places for codes, _ in run])
        self._worths = np.array([worth for run in places for _, worth in run], np.uint32)
        self._ends = np.cumsum([len(run) for run in places])
        self._whole = self._joined([cells for cells in self._listed if cells], 0) if all(self._listed) else None

    def rows(self, some: range) -> CsvRows:
        """What some rows need; others may be in it, too."""
        return self._whole or self._joined(
            [
                cells or _of_rows(run, self._frame, some, self._output, end)
                for run, cells, end in zip(self._runs, self._listed, self._endings, strict=True)
            ],
            some.start,
        )

    def ranges(self, first: int, last: int) -> list[range]:
        """The same rows in ranges for which `rows` does not write very much text."""
        if self._whole:
            return [range(first, last)]
        long = [self._frame[name] for run in self._runs if not run.words for name in run.names]
        return ranges(long, first, last)

    def _joined(self, runs: Sequence[CsvCells], first: int) -> CsvRows:
        """The cells of all runs, one after the other."""
        texts = np.cumsum([0, *(len(cells.text) for cells in runs)]).tolist()
        refuse_much_text(texts[-1])
        cells = CsvCells(
            np.concatenate([*(cells.text for cells in runs), np.zeros(BEYOND, np.uint8)]),
            np.concatenate([cells.following(before) for cells, before in zip(runs, texts[:-1], strict=True)]),
        )
        starts = np.cumsum([0, *(len(cells.places) for cells in runs[:-1])]).astype(np.uint32)
        longest = sum(int(cells.length.max(initial=0)) for cells in runs)
        return CsvRows(cells, self._columns, self._worths, self._ends, starts, first, longest)


def ranges(columns: Sequence[pl.Series], first: int, last: int) -> list[range]:
    """The same rows in ranges in which these columns do not have very much text."""
    lengths = [text_bytes(column[first:last]) for column in columns if is_text(column.dtype)]
    if not lengths:
        return [range(first, last)]
    shares = np.cumsum(np.sum(lengths, axis=0, dtype=np.int64)) // _ROW_BYTES
    ends = [first, *(first + 1 + np.flatnonzero(np.diff(shares))).tolist(), last]
    return [range(*some) for some in pairwise(ends)]


def text_bytes(column: pl.Series) -> NDArray[np.uint32]:
    """How many bytes of text each row has, without quotes. Each word is looked at once: to make text of all rows would
    copy it into each of them."""
    column = column.alias("")  # a name may be a pattern
    if column.dtype == pl.String:
        return _lengths(column)
    words = column.drop_nulls().unique()
    codes = words.to_physical().to_numpy()
    of_code = np.zeros(int(codes.max(initial=0)) + 2, np.uint32)
    of_code[codes] = _lengths(words)
    places = column.to_physical().cast(pl.UInt32).fill_null(len(of_code) - 1).to_numpy()
    return np.asarray(of_code[places], np.uint32)


def _runs(frame: pl.DataFrame) -> list[_Run]:
    """The columns from left to right, together where they have few combinations, or where all are written by row."""
    found: list[_Run] = []
    listed = 0
    for column in frame.get_columns():
        words = _words(column)
        run = _Run((column.name,))
        if words is not None and listed + (held := int(_lengths(words).sum(dtype=np.int64))) <= _LISTED_BYTES:
            run, listed = _Run((column.name,), (words,), (held,)), listed + held
        if found and _together(found[-1], run, frame.height):
            run = found.pop().and_next(run)
        found.append(run)
    return found


def _together(left: _Run, right: _Run, rows: int) -> bool:
    if left.words and right.words:
        if len(left.names) >= _MOST_TOGETHER:
            return False
        run = left.and_next(right)
        return math.prod(run.sizes) <= min(_TOGETHER, rows) and run.bytes_of_combinations <= _TOGETHER_BYTES
    return not left.words and not right.words


def _words(column: pl.Series) -> pl.Series | None:
    """The words that a column lists, and a missing one if it has any; None if they are more than its rows."""
    if not isinstance(column.dtype, pl.Enum) or len(column.dtype.categories) >= len(column):
        return None
    words = column.dtype.categories.cast(column.dtype)
    return words.extend(pl.Series([None], dtype=column.dtype)) if column.null_count() else words


def is_text(dtype: pl.DataType) -> bool:
    """Whether values of this type are words."""
    return isinstance(dtype, pl.String | pl.Enum | pl.Categorical)


def _lengths(words: pl.Series) -> NDArray[np.uint32]:
    """How many bytes each word has, without quotes."""
    return words.alias("").cast(pl.String).str.len_bytes().fill_null(0).to_numpy()


def _combinations(run: _Run) -> pl.DataFrame:
    """All combinations of words, in the order of their numbers."""
    places = np.unravel_index(np.arange(math.prod(run.sizes)), run.sizes)
    return pl.DataFrame([w.gather(p).alias(n) for n, w, p in zip(run.names, run.words, places, strict=True)])


def _places(run: _Run, frame: pl.DataFrame) -> list[tuple[Codes, int]]:
    """The place of each row's word in each column, and what it counts in the number of their combination."""
    found = []
    for at, (name, words) in enumerate(zip(run.names, run.words, strict=True) if run.words else ()):
        places = frame[name].alias("").to_physical()
        if places.null_count():
            places = places.cast(pl.UInt32).fill_null(len(words) - 1)
        found.append((places.to_numpy(), math.prod(run.sizes[at + 1 :])))
    return found


def _of_rows(run: _Run, frame: pl.DataFrame, rows: range, output: OutputEntry | None, ending: int) -> CsvCells:
    """The cells of some rows."""
    here = [frame[name].slice(rows.start, len(rows)) for name in run.names]  # "*" may be a name
    return _written(pl.DataFrame(here), output, ending)


def _written(frame: pl.DataFrame, output: OutputEntry | None, ending: int) -> CsvCells:
    """The cells of each row as Polars writes them, with its quotes."""
    buffer = BytesIO()
    csv_of(frame, output).write_csv(buffer, include_header=False)
    text = np.frombuffer(buffer.getbuffer(), np.uint8)
    quotes, ends = text == _QUOTE, text == _LINE_END
    if quotes.any():
        ends &= ~np.logical_xor.accumulate(quotes)  # a line end after an odd number of quotes belongs to a cell
    last = np.flatnonzero(ends)
    if len(last) != frame.height:
        raise SfumatoError(f"Polars wrote {frame.height} rows as {len(last)} lines of csv; please report this bug")
    text[last] = ending
    begin = np.append(0, last[:-1] + 1)
    return CsvCells.at(text, begin, last + 1 - begin)
