"""Find out how a file writes its rows, for `sfumato init`: what is found is written into the policy, with the reason.

Decided on the distinct values of the first rows; nothing is decided here when the table is published.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import polars as pl

from sfumato.table.delimited import read_delimited, separator_of
from sfumato.table.form import EXTENSIONS, PLAIN, Form, FormKeys
from sfumato.table.missing_markers import means_missing
from sfumato.table.notation import CURRENCY, as_dates, as_numbers
from sfumato.table.text_file import TextFile, encoding_of
from sfumato.table.workbook import table_place

ROWS = 5_000
"""How many rows are examined."""
_NOTATIONS: tuple[tuple[str, str | None], ...] = (
    *((".", None), (",", None), (",", "."), (",", " ")),
    *((".", ","), (".", " "), (".", "'"), (",", "'")),
)
"""Decimal marks with the matching thousands separators."""
_DAY_FIRST = ("%d{0}%m{0}%Y", "%d{0}%m{0}%y")
_MONTH_FIRST = ("%m{0}%d{0}%Y", "%m{0}%d{0}%y")
_YEAR_FIRST = ("%Y{0}%m{0}%d",)
_NAMED_MONTHS = ("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d. %B %Y", "%d%b%Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", "T%H:%M", " %I:%M %p", " %I:%M:%S %p")
_DATE_LIKE = re.compile(
    r"\d{1,4}([./-])\d{1,2}\1\d{1,4}|\d{1,2}[-. ]{0,2}[A-Za-z]{3,9}[-. ,]{0,2}\d{4}|[A-Za-z]{3,9} \d{1,2}, \d{4}"
)


@dataclass(frozen=True)
class Sniffed:
    """The form that a file seems to have, and the reason for each setting, by its key; and what is uncertain."""

    form: Form
    reasons: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def sniffed(path: Path, where: str, given: Form = PLAIN) -> Sniffed:
    """The form of a file; what is ``given`` is taken as it is."""
    kind = EXTENSIONS.get(path.suffix.lower())
    if kind == "workbook":
        return _of_workbook(path, where, given)
    return _of_text(path, where, given) if kind == "text" else Sniffed(given)


def _of_workbook(path: Path, where: str, given: Form) -> Sniffed:
    """Where the table is, if not at the top of the first sheet."""
    if given.sheet is not None or given.header is not None:
        return Sniffed(given)
    place = table_place(path, where)
    form, reasons = given, {}
    if place.sheet > 1:
        form = replace(form, sheet=place.name)
        reasons["sheet"] = f"the first sheet has no table; this is sheet {place.sheet}"
    if place.header > 1:
        form = replace(form, header=place.header)
        reasons["header"] = "the row with the names; above it is a title"
    return Sniffed(form, reasons)


def _of_text(path: Path, where: str, given: Form) -> Sniffed:
    """Encoding, separator, numbers and dates."""
    form, reasons = given, {}
    if form.encoding is None and (encoding := encoding_of(path)):
        form = replace(form, encoding=encoding)
        reasons["encoding"] = f"the bytes are not UTF-8; they are text in {encoding}"
    file = TextFile.of(path, where, form.encoding)
    separator = form.separator or separator_of(file)
    if form.separator is None and separator != ",":
        form = replace(form, separator=separator)
        reasons["separator"] = "what separates the names in the header"
    columns = [_Values.of(c) for c in read_delimited(path, where, form).head(ROWS).get_columns()]
    columns = [c for c in columns if len(c.values)]
    european = separator == ";"
    dates = _dates(columns, european=european) if not form.dates else _Found()
    rest = [c for c in columns if as_dates(c.values, dates.formats) is None]
    numbers = _numbers(rest, european=european) if not _says_numbers(form) else _Found()
    form = Form.of({**form.said(), **dates.settings, **numbers.settings})
    return Sniffed(form, {**reasons, **dates.reasons, **numbers.reasons}, (*dates.notes, *numbers.notes))


def _says_numbers(form: Form) -> bool:
    return form.decimal is not None or form.thousands is not None


@dataclass(frozen=True)
class _Values:
    """The distinct values of a column's first rows, without those that seem to stand for a missing one."""

    name: str
    values: pl.Series

    @classmethod
    def of(cls, column: pl.Series) -> "_Values":
        values = column.drop_nulls().unique(maintain_order=True)
        return cls(column.name, values.filter(~means_missing(values)))


@dataclass
class _Found:
    """Settings with their reasons, and what is uncertain about them."""

    settings: FormKeys = field(default_factory=FormKeys)
    reasons: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def formats(self) -> Sequence[str]:
        found = self.settings.get("dates", ())
        return (found,) if isinstance(found, str) else found


def _dates(columns: Sequence[_Values], *, european: bool) -> _Found:
    """How dates are written: the formats that fit whole columns; of day and month first, the one that others need."""
    fitting = {c.name: list(_formats(c.values, european=european)) for c in columns if _date_like(c.values)}
    fitting = {name: fits for name, fits in fitting.items() if fits}
    if not fitting:
        return _Found()
    sure = {_order(fits[0]) for fits in fitting.values() if len({_order(f) for f in fits}) == 1}
    chosen: dict[str, list[str]] = {}
    found = _Found()
    for name, fits in fitting.items():
        best = next((f for f in fits if _order(f) in sure), fits[0])
        chosen.setdefault(best, []).append(name)
        other = next((f for f in fits if _order(f) != _order(best)), None)
        if other is not None and _order(best) not in sure:
            found.notes.append(
                f"the dates of {name!r} could be {best} or {other}; the policy says {best}: correct dates if it is not."
            )
    formats = list(chosen)
    found.settings["dates"] = formats[0] if len(formats) == 1 else tuple(formats)
    found.reasons["dates"] = "; ".join(f"{_listed(names)} as {f}" for f, names in chosen.items())
    if any("%y" in f for f in formats):
        found.notes.append(
            "dates have two-digit years; 70 to 99 are read as 1970 to 1999 and the others as 20xx; write four digits "
            "if that is wrong."
        )
    return found


def _date_like(values: pl.Series) -> bool:
    return all(_DATE_LIKE.match(text.strip()) for text in values.head(20).to_list())


def _formats(values: pl.Series, *, european: bool) -> Iterator[str]:
    """The formats other than ISO 8601 that fit all values, the likeliest first."""
    first = str(values[0]).strip()
    mark = next((c for c in first if c in "./-"), ".")
    orders = [*_MONTH_FIRST, *_DAY_FIRST] if mark == "/" and not european else [*_DAY_FIRST, *_MONTH_FIRST]
    numeric = [pattern.format(mark) for pattern in (*_YEAR_FIRST, *orders)]
    few = values.head(50)
    for written, time in product([*numeric, *_NAMED_MONTHS], _TIMES):
        iso = written == "%Y-%m-%d"
        if not iso and as_dates(few, [written + time]) is not None and as_dates(values, [written + time]) is not None:
            yield written + time


def _order(written: str) -> str:
    """Which part comes first."""
    return min(("%d", "%m", "%Y", "%b", "%B"), key=lambda part: written.find(part) % 1000)


def _numbers(columns: Sequence[_Values], *, european: bool) -> _Found:
    """How numbers are written: the notation that most columns fit of those that plain numbers do not."""
    odd = [c for c in columns if as_numbers(c.values, ".", None) is None or _has_currency(c.values)]
    fits = {n: [c for c in odd if as_numbers(c.values, *n) is not None] for n in _NOTATIONS}
    most = max(map(len, fits.values()), default=0)
    if most == 0:
        return _Found()
    best = [n for n in _NOTATIONS if len(fits[n]) == most]
    decimal, thousands = _likeliest(best, european=european)
    if decimal == "," and thousands is None and any(_is_grouped(c.values) for c in columns):
        thousands = "."  # 1.234 next to 0,5: a column that would pass for decimals
    told = [c for c in columns if as_numbers(c.values, decimal, thousands) is not None and _is_marked(c.values)]
    names = _listed([c.name for c in told])
    found = _Found()
    if decimal == ",":
        found.settings["decimal"] = decimal
        found.reasons["decimal"] = f"as in {names}"
    if thousands and any(_uses(c.values, thousands) for c in told):
        found.settings["thousands"] = thousands
        found.reasons["thousands"] = f"as in {names}"
    elif decimal == "." and any(_has_currency(c.values) for c in told):
        found.settings["thousands"] = ","
        found.reasons["thousands"] = f"{names} has amounts with a currency"
    if {n[0] for n in best} == {".", ","}:
        mark = "thousands" if decimal == "." else "decimals"
        found.notes.append(
            f"the commas in {names} could separate thousands or decimals; the policy treats them as {mark}: correct "
            "decimal and thousands if they are not."
        )
    return found


def _likeliest(notations: Sequence[tuple[str, str | None]], *, european: bool) -> tuple[str, str | None]:
    """Of notations that fit equally, the one of a file whose fields are separated as this one's are."""
    wanted = "," if european else "."
    return next((n for n in notations if n[0] == wanted), notations[0])


def _is_marked(values: pl.Series) -> bool:
    """Whether some value is more than digits."""
    return bool(values.str.contains(r"\d[^\d]\d").any()) or _has_currency(values)


def _is_grouped(values: pl.Series) -> bool:
    """Whether all values are whole numbers, with points between groups of three digits in some."""
    return as_numbers(values, ",", ".") is not None and _uses(values, ".")


def _uses(values: pl.Series, mark: str) -> bool:
    group = "[\u0020\u00a0\u2009\u202f]" if mark == " " else "['\u2019]" if mark == "'" else re.escape(mark)
    return bool(values.str.contains(rf"\d{group}\d{{3}}").any())


def _has_currency(values: pl.Series) -> bool:
    return bool(values.str.contains(CURRENCY).any())


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
