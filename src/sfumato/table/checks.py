"""Checks on numbers, on types and on column names."""

import math
from collections import Counter
from collections.abc import Sequence
from numbers import Real

import polars as pl

from sfumato.errors import DataError

POLARS_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What Polars raises at data that it cannot work with; a panic is not an `Exception`."""


def is_number(value: object) -> bool:
    """Whether a value is a finite real number that floating point can hold; booleans are not numbers.

    >>> is_number(2.5), is_number(True), is_number(10**400)
    (True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, counted from 1970-01-01."""
_TICKS = {"ms": 10**3, "us": 10**6}
"""How many of each are a second. (Nanoseconds reach only from 1677 to 2262.)"""


def is_beyond_the_calendar(column: pl.Series) -> bool:
    """Whether a column has days or times before the year 1 or after 9999: Polars may panic at them.

    >>> is_beyond_the_calendar(pl.Series([0]).cast(pl.Date)), is_beyond_the_calendar(pl.Series([10**7]).cast(pl.Date))
    (False, True)
    """
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime) and dtype.time_unit in _TICKS:
        day = 86_400 * _TICKS[dtype.time_unit]
    elif isinstance(dtype, pl.Date):
        day = 1
    else:
        return False
    numbers = column.alias("").to_physical()  # a name may be a pattern
    return not bool(numbers.is_between(_FIRST_DAY * day, (_LAST_DAY + 1) * day - 1).all())


def is_opaque(dtype: pl.DataType) -> bool:
    """Whether the values of this type cannot be published: lists, bytes, durations, objects."""
    return dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration)


def is_pattern(name: str) -> bool:
    """Whether Polars reads a column's name as a pattern that stands for others."""
    return name.startswith("^") and name.endswith("$")


def check_names(names: Sequence[str], where: str) -> None:
    """Raise a DataError if a column has no name, a name that occurs twice, or one that looks like a pattern.

    >>> check_names(["age", "zip"], "the table")
    >>> check_names(["age", "age"], "the table")
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: the table has more than one column 'age'; columns are identified by name, \
so each name must be unique. Rename or remove the others.
    """
    unnamed = [str(place) for place, name in enumerate(names, start=1) if not name.strip()]
    if unnamed:
        raise DataError(
            f"{where} has {len(names)} columns, but column {', '.join(unnamed)} has no name; columns are "
            "identified by name. Give each column a name, or remove the column."
        )
    repeated = [repr(name) for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(
            f"{where} has more than one column {', '.join(repeated)}; columns are identified by name, "
            "so each name must be unique. Rename or remove the others."
        )
    patterns = [repr(name) for name in names if is_pattern(name)]
    if patterns:
        raise DataError(
            f"{where} has a column named {', '.join(patterns)}; a name that begins with ^ and ends with $ would be "
            "read as a pattern. Rename the column."
        )
