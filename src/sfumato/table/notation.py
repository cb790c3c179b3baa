"""Numbers and dates as a table's author writes them, turned into those that everyone reads.

A column changes only as a whole: if every value fits. `1.234,5 €` becomes `1234.5`, `31.12.2024` a date; codes with
leading zeros stay as they are.
"""

import re
from collections.abc import Sequence

import polars as pl

from sfumato.table.form import Form

CURRENCY = r"(?:[$€£¥₹]|(?:USD|EUR|CHF|GBP|JPY|Fr\.?|kr\.?|zł|Kč))"
"""What may precede or follow an amount."""
_FIRST_YEAR = 1000
"""Polars reads 50 as the year 50 where four digits are expected."""
_SPACES = "\u0020\u00a0\u2009\u202f"
_GROUPS = {",": ",", ".": r"\.", " ": f"[{_SPACES}]", "'": "['\u2019]"}


def normalized(frame: pl.DataFrame, form: Form) -> pl.DataFrame:
    """The text columns by the form: dates of the declared formats, then numbers of the declared marks."""
    if not form.dates and not form.writes_numbers:
        return frame
    return frame.with_columns(_read(c, form) if c.dtype == pl.String else c for c in frame.get_columns())


def _read(column: pl.Series, form: Form) -> pl.Series:
    """One column, decided and converted on its distinct values."""
    values = column.drop_nulls().unique()
    if len(values) == 0:
        return column
    found = as_dates(values, form.dates)
    if found is None and form.writes_numbers:
        found = as_numbers(values, form.decimal or ".", form.thousands)
    if found is None:
        return column
    return column.replace_strict(values, found, default=None, return_dtype=found.dtype).alias(column.name)


def as_dates(values: pl.Series, formats: Sequence[str]) -> pl.Series | None:
    """The texts as dates, by the first format that fits all of them; with times if some have one; None: none fits.

    >>> as_dates(pl.Series(["31.12.2024", "1.2.2025"]), ["%d.%m.%Y"]).to_list()
    [datetime.date(2024, 12, 31), datetime.date(2025, 2, 1)]
    """
    texts = values.str.strip_chars()
    for written in formats:
        parsed = texts.str.to_datetime(written, strict=False, time_unit="us")
        if parsed.null_count() == 0 and bool((parsed.dt.year() >= _FIRST_YEAR).all()):
            return parsed if (parsed != parsed.dt.truncate("1d")).any() else parsed.dt.date()
    return None


def number_pattern(decimal: str, thousands: str | None) -> str:
    """What a number looks like: digits in groups of three or without groups, decimals, a sign, a currency, %.

    >>> bool(re.fullmatch(number_pattern(",", "."), "-1.234,50 €")), bool(re.fullmatch(number_pattern(",", "."), "1.2"))
    (True, False)
    """
    group = _GROUPS[thousands] if thousands else None
    whole = rf"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)" if group else r"\d+"
    tail = rf"(?:{re.escape(decimal)}\d+)?"
    return rf"\s*(?:{CURRENCY}\s*)?[+\-\u2212]?\s*(?:{CURRENCY}\s*)?{whole}{tail}\s*(?:{CURRENCY})?\s*"


def as_numbers(values: pl.Series, decimal: str, thousands: str | None) -> pl.Series | None:
    """The texts as plain numbers (`1234.5`), if all are numbers so written, and no code with a leading zero among them.

    >>> as_numbers(pl.Series(["1.234,5", "7 €", "-2"]), ",", ".").to_list()
    ['1234.5', '7', '-2']
    >>> as_numbers(pl.Series(["01067", "1,5"]), ",", None) is None
    True
    """
    if not bool(values.str.contains(f"^{number_pattern(decimal, thousands)}$").all()):
        return None
    bare = values.str.replace_all(rf"{CURRENCY}|\s", "").str.replace_all("\u2212", "-", literal=True)
    if thousands:
        bare = bare.str.replace_all(_GROUPS[thousands], "")
    if bool(bare.str.contains(r"^[+-]?0\d").any()):
        return None
    return bare.str.replace_all(decimal, ".", literal=True).str.strip_prefix("+")
