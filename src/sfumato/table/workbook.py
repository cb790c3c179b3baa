"""Workbooks: one sheet of an Excel or OpenDocument file, with the row that names the columns."""

import logging
import re
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from sfumato.errors import DataError, nearest
from sfumato.table.checks import POLARS_FAILURES, check_names
from sfumato.table.form import PLAIN, Form
from sfumato.table.numbers import number_of

_LOOKED_AT = 60  # rows of a sheet in which its header is looked for


class TablePlace(NamedTuple):
    """Where the table of a workbook is: the sheet's number and name, and the header's row, from 1 on."""

    sheet: int
    name: str
    header: int


def read_workbook(path: Path, where: str, form: Form = PLAIN) -> pl.DataFrame:
    """Read one sheet; empty rows and unnamed empty columns are left out."""
    import fastexcel

    workbook = _opened(path, where)
    number = _sheet_number(workbook, where, form.sheet)
    header = (form.header or _first_filled(workbook, number)) - 1
    try:
        sheet = _load_sheet(workbook, where, number, header)
        frame: pl.DataFrame = sheet.to_polars()
    except (fastexcel.FastExcelError, *POLARS_FAILURES) as error:
        raise _unreadable(where, error) from error
    frame = frame.drop([name for name in _generated(sheet) if frame[name].null_count() == frame.height])
    generated = _generated(sheet) & set(frame.columns)
    if generated or _may_be_renamed(frame.columns):
        first = workbook.load_sheet(number, header_row=None, skip_rows=header, n_rows=1, dtypes="string")
        kept = [column.index for column in sheet.available_columns() if column.name in frame.columns]
        row = first.to_polars().row(0)
        check_names(["" if row[place] is None else str(row[place]) for place in kept], where)
    frame = frame.with_columns(_as_date(column) for column in frame.get_columns())
    return frame.filter(~pl.all_horizontal(pl.all().is_null())) if frame.width else frame


def table_place(path: Path, where: str) -> TablePlace:
    """The first sheet that looks like a table, and the row in which its header seems to be.

    A cover sheet has no row of names with rows of the same width below it; a title above the table fills fewer cells
    than the names do.
    """
    workbook = _opened(path, where)
    names = list(workbook.sheet_names)
    for number, name in enumerate(names):
        header = _header_row(_cells(workbook, number))
        if header is not None:
            return TablePlace(number + 1, name, header + 1)
    return TablePlace(1, names[0], _first_filled(workbook, 0))


def sheet_names(path: Path, where: str) -> list[str]:
    """The names of the sheets, in order."""
    return list(_opened(path, where).sheet_names)


def _opened(path: Path, where: str) -> Any:
    import fastexcel

    logging.getLogger("fastexcel").addHandler(logging.NullHandler())  # otherwise it writes to stderr
    try:
        return fastexcel.read_excel(path)
    except (fastexcel.FastExcelError, *POLARS_FAILURES) as error:
        raise _unreadable(where, error) from error


def _unreadable(where: str, error: Exception) -> DataError:
    told = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return DataError(
        f"{where} cannot be read as an Excel workbook: {told}. It is damaged, protected by a password, or in another "
        "format; save it again as .xlsx without a password, or export it as csv."
    )


def _sheet_number(workbook: Any, where: str, wanted: str | int | None) -> int:
    """The sheet that a policy names, by name or number, from 0 on."""
    names = list(workbook.sheet_names)
    if isinstance(wanted, str):
        if wanted not in names:
            raise DataError(f"{where} has no sheet {wanted!r}{nearest(wanted, names)}")
        return names.index(wanted)
    number = 1 if wanted is None else wanted
    if number > len(names):
        raise DataError(f"{where} has {len(names)} sheets, so there is no sheet {number}; correct sheet under [data]")
    return number - 1


def _cells(workbook: Any, number: int) -> list[list[str]]:
    """The first rows of a sheet as text, from its first row on."""
    import fastexcel

    try:
        found = workbook.load_sheet(number, header_row=None, n_rows=_LOOKED_AT, dtypes="string").to_polars()
    except (fastexcel.FastExcelError, *POLARS_FAILURES):  # an empty sheet, or a chart
        return []
    return [[(cell or "").strip() for cell in row] for row in found.rows()]


def _first_filled(workbook: Any, number: int) -> int:
    """The first row that is not empty, from 1 on."""
    return next((place for place, row in enumerate(_cells(workbook, number), start=1) if any(row)), 1)


def _header_row(rows: list[list[str]]) -> int | None:
    """The row that names the columns of the rows below it; None if there is none.

    It has two cells or more, no number among them, none twice, and as many as any of the rows below it.
    """
    for place, row in enumerate(rows[:-1]):
        filled = [cell for cell in row if cell]
        below = [sum(map(bool, later)) for later in rows[place + 1 :]]
        named = len(filled) >= 2 and len(set(filled)) == len(filled) and not any(map(_is_figure, filled))
        if named and max(below) > 1 and len(filled) >= max(below):
            return place
    return None


def _is_figure(cell: str) -> bool:
    return number_of(cell) is not None


def _load_sheet(workbook: Any, where: str, number: int, header: int) -> Any:
    """A sheet; TRUE and FALSE among numbers are refused, since fastexcel would turn them into 1 and 0."""
    import fastexcel

    try:
        return workbook.load_sheet(number, header_row=header, schema_sample_rows=None, dtype_coercion="strict")
    except fastexcel.UnsupportedColumnTypeCombinationError:  # a column mixes types
        sheet = workbook.load_sheet(number, header_row=header, schema_sample_rows=None)
        cells = workbook.load_sheet(number, header_row=header, schema_sample_rows=None, dtypes="string").to_polars()
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
    """Whether a name such as ``age_1`` next to ``age`` could be a repeated name that fastexcel made unique."""
    stems = (re.fullmatch(r"(.*)_\d+", name) for name in names)
    return any(match and match[1] in names for match in stems)
