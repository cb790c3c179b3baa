"""Files of SPSS, Stata and SAS, read by pyreadstat (extra ``stats``): labels in place of the codes they label."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.table.form import PLAIN, Form
from sfumato.table.numbers import number_text

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_MOST_EXACT = 2.0**53
_KEEP_CODES = (".sav", ".zsav", ".dta", ".sas7bdat")  # readers that can tell a user's missing codes apart


def read_statistics(path: Path, where: str, form: Form = PLAIN) -> pl.DataFrame:
    """Read a file of SPSS, Stata or SAS; labelled values become their labels.

    Values that the file declares missing become null, or stay apart as categories of their own, by their labels.
    """
    frame, meta = _read(path, where, keep=form.user_missing == "category")
    labels = meta.variable_value_labels
    return pl.DataFrame([_column(column, labels.get(column.name, {})) for column in frame.get_columns()])


def _read(path: Path, where: str, *, keep: bool, **more: Any) -> tuple[pl.DataFrame, Any]:
    """The columns as they are stored, and what the file says of them."""
    try:
        import pyreadstat
    except ImportError:
        raise DataError(
            f"{where} needs the package pyreadstat, which is not installed. Install it with `pip install "
            "sfumato[stats]`, or export the table as csv."
        ) from None
    suffix = path.suffix.lower()
    options = more | ({"user_missing": True} if keep and suffix in _KEEP_CODES else {})
    try:
        found: tuple[pl.DataFrame, Any] = getattr(pyreadstat, _READERS[suffix])(path, output_format="polars", **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError, ValueError) as error:
        told = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise DataError(
            f"{where} cannot be read as a {suffix} file: {told}. It is damaged, incomplete or in another format; "
            "export it again."
        ) from error
    return found


def variable_labels(path: Path, where: str) -> dict[str, str]:
    """What a file calls its columns in words, as far as it does: names such as `v012` say little."""
    _, meta = _read(path, where, keep=False, metadataonly=True)
    return {name: label for name, label in meta.column_names_to_labels.items() if label}


def _column(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """One column: labelled codes by their labels, whole numbers as such, empty text as missing."""
    column = _plain(column)
    if labels:
        named = _distinct_labels({_text(code): label for code, label in labels.items()})
        codes = column.drop_nulls().unique()
        shown = [named.get(_text(code), _text(code)) for code in codes.to_list()]
        return column.replace_strict(codes, shown, default=None, return_dtype=pl.String)
    if column.dtype == pl.String:
        return column.set(column == "", None)
    return column


def _plain(column: pl.Series) -> pl.Series:
    """The column by its own type; a missing number is null, and numbers without fractions are whole."""
    if column.dtype == pl.Object:  # numbers among letters that stand for missing ones
        return pl.Series(column.name, [None if v is None else _text(v) for v in column.to_list()], dtype=pl.String)
    if not column.dtype.is_float():
        return column
    column = column.fill_nan(None)
    whole = column.is_null() | ((column == column.round(0)) & (column.abs() < _MOST_EXACT))
    return column.cast(pl.Int64) if whole.all() and column.null_count() < len(column) else column


def _distinct_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels by code; a label that two codes share names its code too, so that the two stay apart."""
    texts = [str(label).strip() for label in labels.values()]
    return {
        code: text if text and texts.count(text) == 1 else f"{text} ({code})".strip()
        for code, text in zip(labels, texts, strict=True)
    }


def _text(code: object) -> str:
    """A code as text: 3.0 is 3."""
    return number_text(code) if isinstance(code, float) else str(code)
