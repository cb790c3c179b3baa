"""How a source writes its rows: encoding, separator, numbers and dates of a text file; sheet, header of a workbook."""

import codecs
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypedDict

from sfumato.errors import PolicyError

EXTENSIONS = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), "text"),
    ".parquet": "other",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "workbook"),
    **dict.fromkeys((".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"), "statistics"),
}
"""The files that can hold a table, by their extension: which kind of reader each needs."""
_KINDS = {"text": "text files", "workbook": "workbooks", "statistics": "files of SPSS, Stata and SAS"}
_ONLY_FOR = {
    "encoding": "text",
    "separator": "text",
    "sheet": "workbook",
    "header": "workbook",
    "user_missing": "statistics",
}
DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'")
USER_MISSING = ("null", "category")
SEPARATORS = ",;\t|"
_LONGEST = 40
_MOST_FORMATS = 10


@dataclass(frozen=True, kw_only=True)
class Form:
    """What a policy says under [data] about how rows are written; None: as sfumato finds it.

    >>> Form(encoding="cp1252", separator=";", decimal=",", dates="%d.%m.%Y").dates
    ('%d.%m.%Y',)
    """

    encoding: str | None = None
    """Of a text file; UTF-8 unless given."""
    separator: str | None = None
    """Of a text file; the most frequent of ``, ; tab |`` in the header unless given."""
    decimal: str | None = None
    """The decimal mark of numbers in text: a point unless given."""
    thousands: str | None = None
    """What groups the digits of numbers in text by three; nothing unless given."""
    dates: str | Sequence[str] = ()
    """How dates in text are written, besides ISO 8601; a column is read by the first that fits all of its values."""
    sheet: str | int | None = None
    """Of a workbook: its name, or its number from 1 on; the first unless given."""
    header: int | None = None
    """Of a workbook: the number of the row with the names, from 1 on; the first row that is not empty unless given."""
    user_missing: str = "null"
    """Values that an SPSS, Stata or SAS file declares missing: ``null``, or a ``category`` each."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dates", (self.dates,) if isinstance(self.dates, str) else tuple(self.dates))
        if self.encoding is not None:
            _check_encoding(self.encoding)
        if self.separator is not None:
            _check_separator(self.separator)
        _check_choice("decimal", self.decimal, DECIMALS)
        _check_choice("thousands", self.thousands, THOUSANDS)
        _check_choice("user_missing", self.user_missing, USER_MISSING)
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            raise PolicyError(
                f"thousands and the decimal mark are both {self.thousands!r}; they must differ: set decimal too"
            )
        if len(self.dates) > _MOST_FORMATS:
            raise PolicyError(f"dates lists {len(self.dates)} formats; there may be at most {_MOST_FORMATS}")
        for text in self.dates:
            _check_date_format(text)
        _check_place("sheet", self.sheet, text=True)
        _check_place("header", self.header)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Form":
        """The form that the [data] table of a policy describes."""
        return cls(**{name: data[name] for name in KEYS if name in data})

    @property
    def writes_numbers(self) -> bool:
        """Whether numbers in text are written differently than in Python."""
        return self.decimal == "," or self.thousands is not None

    def for_another(self) -> "Form":
        """The form of another source from the same people: everything but where the table of a workbook is."""
        return replace(self, sheet=None, header=None)

    def refuse_unused(self, kind: str) -> None:
        """Refuse settings that do not apply to this kind of source: text, workbook, statistics or other."""
        for name in _ONLY_FOR:
            if _ONLY_FOR[name] != kind and getattr(self, name) != getattr(PLAIN, name):
                raise PolicyError(
                    f"{name} under [data] is only for {_KINDS[_ONLY_FOR[name]]}; the source is not one, so leave it out"
                )

    def said(self) -> dict[str, Any]:
        """What differs from the default, as a policy writes it."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        if "dates" in found:
            found["dates"] = self.dates[0] if len(self.dates) == 1 else list(self.dates)
        return found


class FormKeys(TypedDict, total=False):
    """The same as keywords; see `Form`."""

    encoding: str
    separator: str
    decimal: str
    thousands: str
    dates: str | Sequence[str]
    sheet: str | int
    header: int
    user_missing: str


KEYS = tuple(f.name for f in fields(Form))
"""The keys of [data] that describe the form."""


def _check_encoding(name: object) -> None:
    try:
        known = isinstance(name, str) and codecs.lookup(name)._is_text_encoding
    except (LookupError, ValueError):
        known = False
    if not known:
        raise PolicyError(
            f"encoding is {name!r}; it must be the name of a text encoding such as utf-8, utf-16, cp1252 or latin-1"
        )


def _check_separator(text: object) -> None:
    if not isinstance(text, str) or len(text) != 1 or not text.isascii() or text in "\"'\r\n\0" or text.isalnum():
        raise PolicyError(
            f"separator is {text!r}; it must be one ASCII character other than a letter, digit, quotation mark or "
            r'line break, such as ";" or "\t"'
        )


def _check_choice(what: str, value: object, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise PolicyError(f"{what} is {value!r}; it must be one of {', '.join(map(repr, known))}")


def _check_date_format(text: object) -> None:
    """Refuse a format that does not say year, month and day, or that Python cannot write."""
    complete = (
        isinstance(text, str)
        and len(text) <= _LONGEST
        and any(part in text for part in ("%d", "%e"))
        and any(part in text for part in ("%m", "%b", "%B"))
        and any(part in text for part in ("%Y", "%y"))
    )
    try:
        complete = complete and bool(dt.datetime(2024, 12, 31, 23, 59).strftime(str(text)))
    except ValueError:
        complete = False
    if not complete:
        raise PolicyError(
            f"dates has {text!r}; it must be a format with day, month and year, such as %d.%m.%Y or %m/%d/%Y %H:%M"
        )


def _check_place(what: str, value: object, *, text: bool = False) -> None:
    if value is None or (text and isinstance(value, str) and value):
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
        other = "a name, or a number from 1 up" if text else "the number of a row, from 1 up"
        raise PolicyError(f"{what} is {value!r}; it must be {other}")


PLAIN = Form()
"""Nothing is given: text files are UTF-8, and numbers and dates are written as in Python and ISO 8601."""


def likely_separator(header: str, path: Path) -> str:
    """The separator that occurs most often in a header without its quoted parts; in case of doubt a tab in a tsv file.

    >>> likely_separator("age;zip, city;sex", Path("t.csv"))
    ';'
    """
    return max("\t" + SEPARATORS if path.suffix.lower() == ".tsv" else SEPARATORS, key=header.count)
