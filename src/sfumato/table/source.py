"""Where a table comes from: a file, a database or a data frame, read into one Polars frame.

Text files are read as text throughout (zip code 02138 keeps its zero; the encoder parses distinct
values); other sources keep their types, except that Categorical and Enum become String and
Decimal becomes Float64. A fault of the source is a DataError, a fault of the call a
PolicyError; both say what to do. Readers other than that of text files are imported when they are
needed: a command reads its table while it imports the rest.
"""

import os
import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import polars as pl

from sfumato.errors import DataError, PolicyError
from sfumato.table.address import may_hold_secret
from sfumato.table.batches import LARGE, Told, part_of, read_rows, unheard
from sfumato.table.checks import POLARS_FAILURES, check_names, is_beyond_the_calendar
from sfumato.table.delimited import read_delimited
from sfumato.table.file_set import files_of, is_several, refuse_other_columns
from sfumato.table.form import EXTENSIONS, PLAIN, Form
from sfumato.table.notation import normalized
from sfumato.table.regular_file import check_file, located

STATISTICS = tuple(extension for extension, kind in EXTENSIONS.items() if kind == "statistics")
"""The extensions of files of SPSS, Stata and SAS."""


def read_frame(
    source: object,
    *,
    query: str | None = None,
    nulls: Sequence[str] = (),
    folder: Path | None = None,
    form: Form = PLAIN,
    told: Told = unheard,
) -> pl.DataFrame:
    """Read a table from a path, a database URL (with ``query``), or a Polars, pandas or Arrow table.

    A relative path is resolved from ``folder``. The strings in ``nulls`` become null in every text column; in a
    text file the empty field does too. ``form`` says how a file writes its rows, numbers and dates. ``told`` is called
    with how much has been read, where that is known: large text and parquet files, several files, PostgreSQL.

    >>> read_frame(pl.DataFrame({"zip": ["02138", "?"]}), nulls=["?"])["zip"].to_list()
    ['02138', None]
    """
    if isinstance(nulls, str) or not all(isinstance(text, str) for text in nulls):
        raise PolicyError(f"nulls must be a list of strings such as ['NA', '?'], not {nulls!r}.")
    if isinstance(source, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", source):
        from sfumato.table.database import read_database

        form.refuse_unused("other")
        frame, where = read_database(source, query, folder, told), "the query's result"
    elif query is not None:
        raise PolicyError(
            "A query was given, but the source is not a database. Leave the query out, or give a database "
            "URL such as postgresql://user@host/name or sqlite:///path.db."
        )
    elif isinstance(source, str | os.PathLike):
        frame, where = _read_file(Path(source), folder, form, told), str(source)
    else:
        from sfumato.table.frames import describe, read_object

        form.refuse_unused("other")
        frame, where = read_object(source), describe(source)
    return normalized(_tidy(frame, where, list(nulls)), form)


def _tidy(frame: pl.DataFrame, where: str, nulls: list[str]) -> pl.DataFrame:
    """Check names and rows, simplify the types and set the null strings."""
    check_names(frame.columns, where)
    if frame.width == 0 or frame.height == 0:
        raise DataError(
            f"{where} has no rows ({frame.width} columns); there is nothing to publish. Check how it was exported, "
            "filtered or queried."
        )
    for column in frame.get_columns():
        if is_beyond_the_calendar(column):
            raise DataError(
                f"{where}: column {column.name!r} has days before the year 1 or after the year 9999, which cannot be "
                "written as text. Correct them, or leave the column out."
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


def _read_file(path: Path, folder: Path | None, form: Form, told: Told) -> pl.DataFrame:
    """Read a file with the reader for its extension."""
    where = str(path)
    if is_several(path, folder):
        return _read_files(path, folder, form, told)
    path = located(path, folder)
    if may_hold_secret(where) and not path.exists():
        raise PolicyError(
            "The source is neither a file nor a database address; it is not shown because it may contain a "
            "password. Write postgresql://user@host:port/name or sqlite:///path, or give the name of an existing file."
        )
    check_file(path, where)
    kind = EXTENSIONS.get(path.suffix.lower())
    if kind is None:
        raise DataError(
            f"{where} has the extension {path.suffix!r}, which is not a known format; choose from "
            f"{', '.join(EXTENSIONS)}. Convert or rename the file; give a database as a URL such as "
            "sqlite:///path, with a query."
        )
    if path.stat().st_size == 0:
        raise DataError(f"{where} is empty (0 bytes); a table needs a header and rows. Check how it was exported.")
    form.refuse_unused(kind)
    try:
        return _READERS[kind](path, where, form, told)
    except OSError as error:
        raise DataError(f"{where} cannot be read: {error.strerror or error}. Check the disk and the file.") from error


def _read_files(source: Path, folder: Path | None, form: Form, told: Told) -> pl.DataFrame:
    """The rows of all files of a folder or a pattern, in the order of their names."""
    _, files = files_of(source, folder)
    ends = list(accumulate((file.stat().st_size for file in files), initial=0))
    frames = []
    for file, begun, ended in zip(files, ends, ends[1:], strict=False):
        here = part_of(told, begun / max(1, ends[-1]), ended / max(1, ends[-1]))
        frames.append(_read_file(file, None, form, here))
        here(1.0)
    for file, frame in zip(files, frames, strict=True):
        refuse_other_columns(frames[0].columns, frame.columns, file, files[0])
    try:
        return pl.concat(frames, how="vertical_relaxed")
    except POLARS_FAILURES as error:
        raise DataError(
            f"The files of {source} have different types in the same column: {_first_line(error)}. Make them the same."
        ) from error


def _read_parquet(path: Path, where: str, _form: Form, told: Told) -> pl.DataFrame:
    """Read a parquet file."""
    try:
        if path.stat().st_size >= LARGE:
            scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
            return read_rows(scan, int(scan.select(pl.len()).collect().item()), told)
        return pl.read_parquet(path, glob=False, hive_partitioning=False)
    except pl.exceptions.DuplicateError as error:
        raise DataError(f"{where}: {_first_line(error)}. Rename or remove one of these columns.") from error
    except POLARS_FAILURES as error:
        raise DataError(
            f"{where} cannot be read as parquet: {_first_line(error)}. It is damaged, incomplete or in "
            "another format; export it again."
        ) from error


def _read_workbook(path: Path, where: str, form: Form, _told: Told) -> pl.DataFrame:
    from sfumato.table.workbook import read_workbook

    return read_workbook(path, where, form)


def _read_statistics(path: Path, where: str, form: Form, _told: Told) -> pl.DataFrame:
    from sfumato.table.statistics_file import read_statistics

    return read_statistics(path, where, form)


def _first_line(error: BaseException) -> str:
    """The first line of an error's message, without the full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


_READERS: dict[str, Callable[[Path, str, Form, Told], pl.DataFrame]] = {
    "text": read_delimited,
    "workbook": _read_workbook,
    "statistics": _read_statistics,
    "other": _read_parquet,
}
