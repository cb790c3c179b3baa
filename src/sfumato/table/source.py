"""Where a table comes from: a file, a database or a data frame, read into one Polars frame.

Text files are read as text throughout (zip code 02138 keeps its zero; the encoder parses distinct
values); other sources keep their types, except that Categorical and Enum become String and
Decimal becomes Float64. A fault of the source is a DataError, a fault of the call a
PolicyError; both say what to do.
"""

import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError, PolicyError
from sfumato.table.address import may_hold_secret
from sfumato.table.checks import check_file, check_names, located
from sfumato.table.database import read_database
from sfumato.table.delimited import read_delimited
from sfumato.table.frames import describe, read_object

_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


def read_frame(
    source: object, *, query: str | None = None, nulls: Sequence[str] = (), folder: Path | None = None
) -> pl.DataFrame:
    """Read a table from a path, a database URL (with ``query``), or a Polars, pandas or Arrow table.

    A relative path is resolved from ``folder``. The strings in ``nulls`` become null in every text column; in a
    text file the empty field does too.

    >>> read_frame(pl.DataFrame({"zip": ["02138", "?"]}), nulls=["?"])["zip"].to_list()
    ['02138', None]
    """
    if isinstance(nulls, str) or not all(isinstance(text, str) for text in nulls):
        raise PolicyError(f"nulls must be a list of strings such as ['NA', '?'], not {nulls!r}.")
    if isinstance(source, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", source):
        frame, where = read_database(source, query, folder), "the query's result"
    elif query is not None:
        raise PolicyError(
            "A query was given, but the source is not a database. Leave the query out, or give a database "
            "URL such as postgresql://user@host/name or sqlite:///path.db."
        )
    elif isinstance(source, str | os.PathLike):
        frame, where = _read_file(Path(source), folder), str(source)
    else:
        frame, where = read_object(source), describe(source)
    return _tidy(frame, where, list(nulls))


def _tidy(frame: pl.DataFrame, where: str, nulls: list[str]) -> pl.DataFrame:
    """Check names and rows, simplify the types and set the null strings."""
    check_names(frame.columns, where)
    if frame.width == 0 or frame.height == 0:
        raise DataError(
            f"{where} has no rows ({frame.width} columns); there is nothing to "
            "publish. Check how it was exported, filtered or queried."
        )
    frame = frame.with_columns(simplified(column) for column in frame.get_columns())
    if nulls:
        text = pl.col(pl.String)
        frame = frame.with_columns(pl.when(~text.is_in(nulls)).then(text))
    return frame


def simplified(column: pl.Series) -> pl.Series:
    """The column as String if it is categorical or untyped, as Float64 if decimal, otherwise unchanged."""
    extension = getattr(pl, "BaseExtension", None)  # since Polars 1.36
    if extension is not None and isinstance(column.dtype, extension):
        column = column.ext.storage()
    if isinstance(column.dtype, pl.Categorical | pl.Enum | pl.Null):
        return column.cast(pl.String)
    return column.cast(pl.Float64) if isinstance(column.dtype, pl.Decimal) else column


def _read_file(path: Path, folder: Path | None) -> pl.DataFrame:
    """Read a file with the reader for its extension."""
    where = str(path)
    readers = {
        **dict.fromkeys((".csv", ".tsv", ".txt"), read_delimited),
        ".parquet": _read_parquet,
        **dict.fromkeys((".xlsx", ".xls"), _read_excel),
    }
    path = located(path, folder)
    if may_hold_secret(where) and not path.exists():
        raise PolicyError(
            "The source is neither a file nor a database address; it is not shown because it may contain a "
            "password. Write postgresql://user@host:port/name or sqlite:///path, or give the name of an existing file."
        )
    check_file(path, where)
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"{where} has the extension {path.suffix!r}, which is not a known format; choose from "
            f"{', '.join(readers)}. Convert or rename the file; give a database as a URL such as "
            "sqlite:///path, with a query."
        )
    if path.stat().st_size == 0:
        raise DataError(f"{where} is empty (0 bytes); a table needs a header and rows. Check how it was exported.")
    try:
        return reader(path, where)
    except OSError as error:
        raise DataError(f"{where} cannot be read: {error.strerror or error}. Check the disk and the file.") from error


def _read_parquet(path: Path, where: str) -> pl.DataFrame:
    """Read a parquet file."""
    try:
        return pl.read_parquet(path, glob=False, hive_partitioning=False)
    except pl.exceptions.DuplicateError as error:
        raise DataError(f"{where}: {_first_line(error)}. Rename or remove one of these columns.") from error
    except _FAILURES as error:
        raise DataError(
            f"{where} cannot be read as parquet: {_first_line(error)}. It is damaged, incomplete or in "
            "another format; export it again."
        ) from error


def _read_excel(path: Path, where: str) -> pl.DataFrame:
    """Read the first sheet of a workbook; empty rows and unnamed empty columns are left out."""
    import fastexcel

    logging.getLogger("fastexcel").addHandler(logging.NullHandler())  # otherwise it writes to stderr
    try:
        workbook = fastexcel.read_excel(path)
        sheet = _load_sheet(workbook, where)
        frame: pl.DataFrame = sheet.to_polars()
    except (fastexcel.FastExcelError, *_FAILURES) as error:
        raise DataError(
            f"{where} cannot be read as an Excel workbook: {_first_line(error)}. It is damaged, protected by "
            "a password, or in another format; save it again as .xlsx without a password, or export it as "
            "csv."
        ) from error
    frame = frame.drop([name for name in _generated(sheet) if frame[name].null_count() == frame.height])
    generated = _generated(sheet) & set(frame.columns)
    if generated or _may_be_renamed(frame.columns):
        first = workbook.load_sheet(0, header_row=None, n_rows=1).to_polars().row(0)
        kept = [column.index for column in sheet.available_columns() if column.name in frame.columns]
        check_names(["" if first[place] is None else str(first[place]) for place in kept], where)
    frame = frame.with_columns(_as_date(column) for column in frame.get_columns())
    return frame.filter(~pl.all_horizontal(pl.all().is_null())) if frame.width else frame


def _load_sheet(workbook: Any, where: str) -> Any:
    """The first sheet; TRUE and FALSE among numbers are refused, since fastexcel would turn them into 1 and 0."""
    import fastexcel

    try:
        return workbook.load_sheet(0, schema_sample_rows=None, dtype_coercion="strict")
    except fastexcel.UnsupportedColumnTypeCombinationError:  # a column mixes types
        sheet = workbook.load_sheet(0, schema_sample_rows=None)
        cells = workbook.load_sheet(0, schema_sample_rows=None, dtypes="string").to_polars()
    for column in sheet.to_polars().get_columns():
        truths = cells[column.name].is_in(["true", "false"])
        if column.dtype.is_numeric() and truths.any():
            raise DataError(
                f"{where} has {truths.sum()} cells of TRUE or FALSE among the numbers of column {column.name!r}. "
                "Correct them, or make all cells of the column text."
            )
    return sheet


def _as_date(column: pl.Series) -> pl.Series:
    """Excel stores every date as a date and time: a column with only midnights is a column of dates."""
    if isinstance(column.dtype, pl.Datetime) and (column == column.dt.truncate("1d")).all():
        return column.cast(pl.Date)
    return column


def _generated(sheet: Any) -> set[str]:
    """The columns that fastexcel named because the sheet does not."""
    return {column.name for column in sheet.available_columns() if column.column_name_from == "generated"}


def _may_be_renamed(names: list[str]) -> bool:
    """Whether a name such as ``age_1`` beside ``age`` could be a repeated name that fastexcel made unique."""
    stems = (re.fullmatch(r"(.*)_\d+", name) for name in names)
    return any(match and match[1] in names for match in stems)


def _first_line(error: BaseException) -> str:
    """The first line of an error's message, without the full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
