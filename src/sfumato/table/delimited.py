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
import mmap
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.table.checks import check_names

_SEPARATORS = ",;\t|"
_CHUNK = 1 << 20
_OTHER_FORMATS = {
    b"\x1f\x8b": "compressed with gzip; decompress it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it first",
    b"PK\x03\x04": "a zip archive or an Excel workbook; unpack it, or give it the extension .xlsx",
    b"PAR1": "a parquet file; give it the extension .parquet",
    b"\xff\xfe": "UTF-16 text; convert it first, e.g. `iconv -f UTF-16 -t UTF-8`",
    b"\xfe\xff": "UTF-16 text; convert it first, e.g. `iconv -f UTF-16 -t UTF-8`",
}


@dataclass(frozen=True, kw_only=True)
class Header:
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


def read_delimited(path: Path, where: str) -> pl.DataFrame:
    """Read a text table; all columns are String, an empty field is null, blank lines are left out.

    The separator is the one among ``, ; tab |`` that occurs most often in the header outside quotes.
    """
    check_bytes(path, where)
    header = read_header(path, where)
    check_names(header.names, where)
    try:
        frame = pl.read_csv(path, separator=header.separator, infer_schema=False, null_values=[""], glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise _diagnosis(path, where, header) from None
    if frame.width != len(header.names):
        raise _diagnosis(path, where, header)
    frame.columns = header.names
    frame = frame.head(frame.height - _trailing_blank_lines(path))
    if _is_complete(frame, path, header):
        return frame
    return _without_blank_lines(frame, path, where, header)


def check_bytes(path: Path, where: str) -> None:
    """Raise if the file has another format or contains a NUL byte."""
    with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content[:4]
        place = content.find(b"\0")
        line = 1 + content[:place].count(b"\n") if place >= 0 else 0
    for magic, finding in _OTHER_FORMATS.items():
        if start.startswith(magic):
            raise DataError(f"{where} is not a text table: it looks like {finding}.")
    if place >= 0:
        raise DataError(
            f"{where} contains a NUL byte at offset {place}, on line {line}; a text table must not. Remove it, "
            "or convert the file to UTF-8 if it is UTF-16 (`iconv -f UTF-16 -t UTF-8`)."
        )


def read_header(path: Path, where: str) -> Header:
    """Read the first record that is not blank and sniff the separator from it."""
    raw = _first_record(path, where)
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff").lstrip("\r\n").rstrip("\r\n")
    except UnicodeDecodeError:
        raise _not_utf8(path, where) or DataError(f"{where} is not UTF-8.") from None
    bare = re.sub(r'"[^"]*"', "", text)
    if "\r" in bare:
        raise DataError(
            f"The lines of {where} end with a carriage return alone; they must end with a line feed. "
            "Convert the file, e.g. with `tr '\\r' '\\n'`."
        )
    candidates = "\t" + _SEPARATORS if path.suffix.lower() == ".tsv" else _SEPARATORS
    separator = max(candidates, key=bare.count)
    names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    return Header(names=names, separator=separator, separators=text.count(separator))


def _first_record(path: Path, where: str) -> bytes:
    """The bytes up to the line end that closes the first record that is not blank, respecting quotes."""
    record = b""
    with path.open("rb") as handle:
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


def _trailing_blank_lines(path: Path) -> int:
    """How many blank lines are at the end of the file; Polars reads each as a row of nulls."""
    with path.open("rb") as handle:
        handle.seek(max(0, path.stat().st_size - _CHUNK))
        tail = handle.read()
    return max(0, tail[len(tail.rstrip(b"\r\n")) :].count(b"\n") - 1)


def _is_complete(frame: pl.DataFrame, path: Path, header: Header) -> bool:
    """Whether no row is too short, by the count of separators (see the module's docstring)."""
    if frame.width == 1 or frame.height == 0 or frame.to_series(-1).null_count() == 0:
        return True
    separators, quotes = _count_bytes(path, header.separator, '"')
    inside = 0
    if quotes:
        inside = sum(
            frame.select(pl.all().str.count_matches(header.separator, literal=True).sum().cast(pl.Int64)).row(0)
        )
    return separators == header.separators + frame.height * (frame.width - 1) + inside


def _count_bytes(path: Path, *characters: str) -> list[int]:
    """How often each of the (ASCII) characters occurs in the file."""
    counts = [0] * len(characters)
    with path.open("rb") as handle:
        while chunk := handle.read(_CHUNK):
            values = np.frombuffer(chunk, dtype=np.uint8)
            for place, character in enumerate(characters):
                counts[place] += int(np.count_nonzero(values == ord(character)))
    return counts


def _without_blank_lines(frame: pl.DataFrame, path: Path, where: str, header: Header) -> pl.DataFrame:
    """The frame without the rows of nulls that blank lines became, if blank lines are all that is wrong."""
    scan = _scan(path, header)
    blanks = [place for place in scan.blanks if place < frame.height]
    if scan.ragged or scan.broken or not blanks or scan.records < frame.height:
        raise _fault(scan, where, header)
    keep = np.ones(frame.height, dtype=np.bool_)
    keep[blanks] = False
    return frame.filter(pl.Series(keep))


def _diagnosis(path: Path, where: str, header: Header) -> DataError:
    """The error for a file that Polars refused, found by reading it slowly."""
    return _not_utf8(path, where) or _fault(_scan(path, header, strays=True), where, header)


def _fault(scan: _Scan, where: str, header: Header) -> DataError:
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


def _scan(path: Path, header: Header, *, strays: bool = False) -> _Scan:
    """Read the records one by one; note the first that is too short, too long or badly quoted, and the blank ones.

    With ``strays``, also the first with a quotation mark inside an unquoted value.
    """
    scan = _Scan()
    mark = re.escape(header.separator)
    quoted = re.compile(rf'(?:(?<=^)|(?<={mark}))"(?:[^"]|"")*"(?={mark}|\r?\n|$)')
    records = _records(path, header.separator)
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


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str] | None, str]]:
    """Each record from the header on: its first line's number, its fields (None: broken), its raw text."""
    raw: list[str] = []
    with path.open(encoding="utf-8-sig", newline="\n") as handle:
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


def _not_utf8(path: Path, where: str) -> DataError | None:
    """The error that names the first byte that is not UTF-8; None if all are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    done, line = 0, 1
    with path.open("rb") as handle:
        while True:
            chunk = handle.read(_CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                offset = done + len(chunk) - len(error.object) + error.start
                line += error.object[: error.start].count(b"\n")
                return DataError(
                    f"{where} is not UTF-8: the byte 0x{error.object[error.start]:02X} at offset {offset}, "
                    f"on line {line}, is not part of a character. Convert the file first, e.g. `iconv -f "
                    "WINDOWS-1252 -t UTF-8 old.csv > new.csv`."
                )
            if not chunk:
                return None
            done, line = done + len(chunk), line + chunk.count(b"\n")
