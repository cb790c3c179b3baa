"""Text tables: csv, tsv, txt with a header line, read in one pass by Polars, every column as text.

Polars silently fills a row that is too short with nulls. Such a row leaves the last column
null, so a table without nulls there is complete. Otherwise the separators are counted: no row has
too many (Polars refuses those), so the file contains

    separators of the header + rows · (columns - 1) + separators inside quoted values

of them if and only if no row is too short. Only if this fails are the lines read one by one, to name
the line or to skip the blank ones. Messages never show a value: the table is private.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from sfumato.errors import DataError
from sfumato.table.batches import LARGE, Told, read_text, unheard
from sfumato.table.checks import POLARS_FAILURES, check_names
from sfumato.table.form import PLAIN, Form, likely_separator
from sfumato.table.text_file import TextFile

_CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class HeaderRecord:
    """The first record: the names, the separator and how often the separator's character occurs in it."""

    names: list[str]
    separator: str
    separators: int


@dataclass(kw_only=True)
class _Scan:
    """What reading line by line found: the first fault of each kind (as line numbers) and the blank records."""

    ragged: tuple[int, int] | None = None
    broken: int | None = None
    stray: int | None = None
    records: int = 0
    blanks: list[int] = field(default_factory=list)


def read_delimited(path: Path, where: str, form: Form = PLAIN, told: Told = unheard) -> pl.DataFrame:
    """Read a text table; all columns are String, an empty field is null, blank lines are left out.

    Unless the form says otherwise, the separator is the one among ``, ; tab |`` that occurs most often in the header
    outside quotes.
    """
    file = TextFile.of(path, where, form.encoding)
    header = read_header(file, form.separator)
    check_names(header.names, where)
    try:
        frame = _rows(file, header.separator, told)
    except POLARS_FAILURES:
        raise _diagnosis(file, header) from None
    if frame.width != len(header.names):
        raise _diagnosis(file, header)
    frame.columns = header.names
    frame = frame.head(frame.height - _trailing_blank_lines(file))
    if _is_complete(frame, file, header):
        return frame
    return _without_blank_lines(frame, file, header)


def _rows(file: TextFile, separator: str, told: Told) -> pl.DataFrame:
    """What Polars reads; of a large file batch by batch."""
    source = file.path if file.decoded is None else file.decoded
    if file.size < LARGE:
        return pl.read_csv(source, separator=separator, infer_schema=False, null_values=[""], glob=False)
    scan = pl.scan_csv(source, separator=separator, infer_schema=False, null_values=[""], glob=False)
    return read_text(scan, file.size, told)


def separator_of(file: TextFile) -> str:
    """The separator that the header of a text table has."""
    return read_header(file, None).separator


def read_header(file: TextFile, separator: str | None) -> HeaderRecord:
    """Read the first record that is not blank and, unless the separator is given, sniff it from there."""
    raw, where = _first_record(file), file.where
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff").lstrip("\r\n").rstrip("\r\n")
    except UnicodeDecodeError:
        raise file.not_utf8() or DataError(f"{where} is not UTF-8.") from None
    bare = re.sub(r'"[^"]*"', "", text)
    if "\r" in bare:
        raise DataError(
            f"The lines of {where} end with a carriage return alone; they must end with a line feed. "
            "Convert the file, e.g. with `tr '\\r' '\\n'`."
        )
    separator = separator or likely_separator(bare, file.path)
    names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    return HeaderRecord(names=names, separator=separator, separators=text.count(separator))


def _first_record(file: TextFile) -> bytes:
    """The bytes up to the line end that closes the first record that is not blank, respecting quotes."""
    record, where = b"", file.where
    with file.open() as handle:
        while len(record) < _CHUNK and (line := handle.readline(_CHUNK)):
            record += line
            if record.removeprefix(codecs.BOM_UTF8).strip(b"\r\n") and record.count(b'"') % 2 == 0:
                break
    if not record.removeprefix(codecs.BOM_UTF8).strip():
        raise DataError(f"{where} is empty; a table needs a header line and rows. Check how it was exported.")
    if len(record) >= _CHUNK or record.count(b'"') % 2:
        raise DataError(
            f"The header of {where} does not end: there is no line break within {_CHUNK:,} bytes, or a "
            "quotation mark is not closed. Check that the file is a text table with a header line."
        )
    return record


def _trailing_blank_lines(file: TextFile) -> int:
    """How many blank lines are at the end of the file; Polars reads each as a row of nulls."""
    with file.open() as handle:
        handle.seek(max(0, file.size - _CHUNK))
        tail = handle.read()
    return max(0, tail[len(tail.rstrip(b"\r\n")) :].count(b"\n") - 1)


def _is_complete(frame: pl.DataFrame, file: TextFile, header: HeaderRecord) -> bool:
    """Whether no row is too short, by the count of separators (see the module's docstring)."""
    if frame.width == 1 or frame.height == 0 or frame.to_series(-1).null_count() == 0:
        return True
    separators, quotes = _count_bytes(file, header.separator, '"')
    inside = 0
    if quotes:
        inside = sum(
            frame.select(pl.all().str.count_matches(header.separator, literal=True).sum().cast(pl.Int64)).row(0)
        )
    return separators == header.separators + frame.height * (frame.width - 1) + inside


def _count_bytes(file: TextFile, *characters: str) -> list[int]:
    """How often each of the (ASCII) characters occurs in the file."""
    counts = [0] * len(characters)
    for chunk in file.chunks():
        for place, character in enumerate(characters):
            counts[place] += chunk.count(character.encode())
    return counts


def _without_blank_lines(frame: pl.DataFrame, file: TextFile, header: HeaderRecord) -> pl.DataFrame:
    """The frame without the rows of nulls that blank lines became, if blank lines are all that is wrong."""
    scan = _scan(file, header)
    blanks = [place for place in scan.blanks if place < frame.height]
    if scan.ragged or scan.broken or not blanks or scan.records < frame.height:
        raise _fault(scan, file.where, header)
    return frame.filter(~pl.int_range(pl.len()).is_in(blanks))


def _diagnosis(file: TextFile, header: HeaderRecord) -> DataError:
    """The error for a file that Polars refused, found by reading it slowly."""
    return file.not_utf8() or _fault(_scan(file, header, strays=True), file.where, header)


def _fault(scan: _Scan, where: str, header: HeaderRecord) -> DataError:
    """The first fault of a scan, in words."""
    if scan.ragged:
        line, fields = scan.ragged
        separator = "tab" if header.separator == "\t" else header.separator
        return DataError(
            f"Line {line} of {where} has {_fields(fields)}, but the header has {_fields(len(header.names))} "
            f"(separated by {separator}). Correct the line; a value that contains the separator must be quoted."
        )
    line = scan.broken or scan.stray or 0
    place = f"Line {line} of {where}" if line else where
    return DataError(
        f"{place} has unbalanced quotation marks; a value that contains a quotation mark, a separator or "
        "a line break must be quoted, and a quotation mark in it must be doubled. Correct it."
    )


def _fields(count: int) -> str:
    return f"{count} field" if count == 1 else f"{count} fields"


def _scan(file: TextFile, header: HeaderRecord, *, strays: bool = False) -> _Scan:
    """Read the records one by one; note the first that is too short, too long or badly quoted, and the blank ones.

    With ``strays``, also the first with a quotation mark inside an unquoted value.
    """
    scan = _Scan()
    mark = re.escape(header.separator)
    quoted = re.compile(rf'(?:(?<=^)|(?<={mark}))"(?:[^"]|"")*"(?={mark}|\r?\n|$)')
    records = _records(file, header.separator)
    next(records, None)
    for line, fields, raw in records:
        if fields is None:
            scan.broken = line
            break
        if not fields:
            scan.blanks.append(scan.records)
        elif len(fields) != len(header.names):
            scan.ragged = (line, len(fields))
            break
        elif strays and scan.stray is None and '"' in raw and '"' in quoted.sub("", raw):
            scan.stray = line
        scan.records += 1
    return scan


def _records(file: TextFile, separator: str) -> Iterator[tuple[int, list[str] | None, str]]:
    """Each record from the header on: its first line's number, its fields (None: broken), its raw text."""
    raw: list[str] = []
    with io.TextIOWrapper(file.open(), encoding="utf-8-sig", newline="\n") as handle:
        reader = csv.reader(_noted(handle, raw), delimiter=separator, strict=True)
        started = False
        while True:
            line = reader.line_num + 1
            raw.clear()
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield line, None, ""
                return
            started = started or bool(fields)
            if started:
                yield line, fields, "".join(raw)


def _noted(lines: Iterable[str], raw: list[str]) -> Iterator[str]:
    """The lines, each noted in ``raw``; a carriage return within a line does not end it, as in Polars."""
    for line in lines:
        raw.append(line)
        yield re.sub(r"\r(?!\n)", " ", line)
