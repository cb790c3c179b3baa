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


def is_opaque(dtype: pl.DataType) -> bool:
    """Whether the values of this type cannot be published: lists, bytes, durations, objects."""
    return dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration)


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
    patterns = [repr(name) for name in names if name.startswith("^") and name.endswith("$")]
    if patterns:
        raise DataError(
            f"{where} has a column named {', '.join(patterns)}; a name that begins with ^ and ends with $ would be "
            "read as a pattern. Rename the column."
        )
