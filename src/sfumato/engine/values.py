"""Columns coded by their distinct values alone, and what is refused, for engines that store rows elsewhere."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.pieces import TooManyVectors
from sfumato.errors import DataError, PolicyError
from sfumato.table.encode import Attribute, Column, Role, encode
from sfumato.table.form import PLAIN, Form
from sfumato.table.microdata import Missing, all_missing, missing_values
from sfumato.table.notation import normalized

MOST_VALUES = 5_000_000
"""A coded column with more distinct values is refused."""
BYTES_PER_VECTOR = 48
"""The memory that a vector takes in addition to its codes while a method decides: weights, order, groups and keys."""
BYTES_PER_CODE = 10
"""What each code of a vector takes, in its own column and in the arrays of a method."""


class Declared(NamedTuple):
    """What the policy says about all columns: whether missing values are a category, where tree files are,
    how numbers and dates are written."""

    missing_category: bool
    folder: Path | None
    form: Form = PLAIN


def coded_by_values(values: pl.Series, rows: NDArray[np.int64], attribute: Attribute, declared: Declared) -> Column:
    """Code a column by its distinct values, given how many rows have each: ``codes`` are those of the values.

    >>> from sfumato.table.encode import Role
    >>> age = Attribute(name="age", role=Role.QUASI)
    >>> coded_by_values(pl.Series("age", [41, 30]), np.array([1, 7]), age, Declared(False, None)).codes.tolist()
    [1, 0]
    """
    category = declared.missing_category
    values = normalized(pl.DataFrame([values]), declared.form).to_series()
    column = encode(values, attribute, folder=declared.folder, missing_category=category)
    if column.domain.ordered and column.domain.measured:  # which values have a single row is known only from the counts
        counts = np.bincount(column.codes, weights=rows, minlength=column.size).astype(np.int64)
        return replace(column, domain=column.domain.sparing(counts))
    return column


def readable(attributes: Iterable[Attribute], form: Form) -> list[Attribute]:
    """The attributes, if the form can be applied: it is, to distinct values, which insensitive columns do not have."""
    wanted = list(attributes)
    plain = [a.name for a in wanted if a.role is Role.INSENSITIVE]
    if plain and (form.dates or form.writes_numbers):
        raise PolicyError(
            f"the insensitive column {plain[0]!r} is published as written, so this engine cannot apply dates, "
            'decimal or thousands under [data] to it; give it another role, or set name = "local" under [engine]'
        )
    return wanted


def refuse_missing(lacking: Mapping[str, int], missing: Missing, *, left: int = 1) -> None:
    """Apply the rule for missing values, given how many each coded column has, and how many rows are left without."""
    if lacking and missing == "error":
        raise missing_values(lacking)
    if left == 0:
        raise all_missing()


def refuse_many_values(number: int, name: str) -> None:
    """Refuse a coded column with too many distinct values."""
    if number > MOST_VALUES:
        raise DataError(
            f"column {name!r} has {number:,} distinct values; at most {MOST_VALUES:,} can be coded: round it, make it "
            "an identifier to leave it out, or insensitive to publish it unchanged"
        )


def most_vectors(columns: int, memory: int) -> int:
    """How many distinct vectors of so many columns half of the memory holds while a method decides on them."""
    return memory // 2 // (BYTES_PER_VECTOR + BYTES_PER_CODE * columns)


def refuse_many_vectors(number: int, columns: int, memory: int, *, more: str = "") -> None:
    """Refuse to decide on more distinct vectors than memory holds."""
    most = most_vectors(columns, memory)
    if number > most:
        raise TooManyVectors(
            f"the table has {more}{number:,} different combinations of its coded columns, but memory holds only "
            f"{most:,}: raise memory under [engine], round numbers and dates, or leave columns out"
        )


def in_utc(frame: pl.DataFrame) -> pl.DataFrame:
    """The same points in time, shown in UTC: the zone of a session or a machine says nothing about the table."""
    zoned = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime) and kind.time_zone]
    return frame.with_columns(frame[name].dt.convert_time_zone("UTC") for name in zoned)
