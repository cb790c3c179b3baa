"""Read a published column: its values as codes of a domain, or of the distinct values that it shows.

The only place that turns a column of a release into codes. `release.labels` reads what a label means.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import SfumatoError
from sfumato.kernel.group import code_counts, packed_counts
from sfumato.table.encode import Codes, smallest
from sfumato.table.ordered_domain import MISSING
from sfumato.table.taxonomy import named

Integers = NDArray[np.int64]
Refusal = Callable[[str], SfumatoError]
"""Makes the error to raise from what is wrong with a column."""


class DistinctTexts(NamedTuple):
    """The distinct values that a column shows, as text, and the place of each row's value among them."""

    texts: list[str]
    of_row: Codes

    def places_in(self, domain: Sequence[str]) -> Integers:
        """The place of each row's value in a domain; -1 if it has none."""
        at = {text: place for place, text in enumerate(domain)}
        return np.array([at.get(text, -1) for text in self.texts], np.int64)[self.of_row]

    def counts(self, weights: Integers | None = None) -> dict[str, int]:
        """How many rows show each value; with ``weights``, each entry stands for as many rows."""
        rows = np.bincount(self.of_row, weights=weights, minlength=len(self.texts)).astype(np.int64).tolist()
        return dict(zip(self.texts, rows, strict=True))


def distinct_texts(column: pl.Series) -> DistinctTexts:
    """The values that some row shows, in the order of an Enum's categories, otherwise in text order.

    >>> distinct_texts(pl.Series(["b", None, "a", "b"])).texts
    ['(missing)', 'a', 'b']
    """
    if _is_number(column.dtype):
        return _distinct_numbers(column)
    if not isinstance(column.dtype, pl.Enum) or column.null_count():
        text = column.cast(pl.String).fill_null(MISSING)
        column = text.cast(pl.Enum(text.unique().sort()))
    assert isinstance(column.dtype, pl.Enum)
    words, place = column.dtype.categories, column.to_physical().to_numpy()
    there = code_counts(place, len(words)) > 0
    if there.all():
        return DistinctTexts(words.to_list(), place)
    number = smallest(np.cumsum(there) - 1, len(words))
    return DistinctTexts(words.filter(pl.Series(there)).to_list(), number[place])


def text_counts(column: pl.Series, weights: Integers | None = None) -> dict[str, int]:
    """How many rows show each value, as text; with ``weights``, each entry stands for as many rows.

    >>> text_counts(pl.Series(["b", None, "a", "b"]))
    {'(missing)': 1, 'a': 1, 'b': 2}
    """
    if weights is not None or not isinstance(column.dtype, pl.Enum) or column.null_count():
        return distinct_texts(column).counts(weights)
    return shown_texts(column, code_counts(*label_codes(column)))


def shown_texts(column: pl.Series, rows: Integers) -> dict[str, int]:
    """The words that some row of a column shows, given how many rows show each word that it lists."""
    return {text: number for text, number in zip(listed_words(column), rows.tolist(), strict=True) if number}


def _is_number(dtype: pl.DataType) -> bool:
    """Whether NumPy can search the values."""
    return dtype.is_float() or dtype == pl.Date or (dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128))


def _distinct_numbers(column: pl.Series) -> DistinctTexts:
    """The same for numbers and days: only the distinct ones are written out."""
    values = column.drop_nulls().unique().sort()
    numbers, known = values.to_physical().to_numpy(), column.to_physical()
    place = np.searchsorted(numbers, known.fill_null(strategy="zero").to_numpy())
    texts = values.cast(pl.String).to_list()
    if column.null_count():
        place, texts = np.where(column.is_null().to_numpy(), len(texts), place), [*texts, MISSING]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    return DistinctTexts([texts[i] for i in order], smallest(np.argsort(order), len(texts))[place])


def domain_codes(column: pl.Series, domain: Sequence[str], refusal: Refusal | None = None) -> Integers:
    """The place of each value of a column in a domain; -1 if it has none, unless that is refused.

    >>> domain_codes(pl.Series([3.0, None, 1.5, 2.0]), ["1.5", "3", "(missing)"]).tolist()
    [1, 2, 0, -1]
    """
    known = list(domain)
    if column.dtype.is_float():  # a number can be written in several ways; Polars always writes it the same way
        read = pl.Series(known, dtype=pl.String).cast(pl.Float64, strict=False).cast(pl.String)
        known = [text if number is None else number for text, number in zip(known, read, strict=True)]
    codes = distinct_texts(column).places_in(known)
    if refusal is not None and (codes < 0).any():
        raise refusal(outside(column, codes))
    return codes


def outside(column: pl.Series, codes: Integers) -> str:
    """The fault of a column with values that are not in a domain."""
    without = column.filter(pl.Series(codes < 0))
    few = without.unique().head(6).cast(pl.String).fill_null(MISSING)
    return f"{len(without)} values of {column.name!r} are not in its domain: {named(few)}"


def label_codes(column: pl.Series) -> tuple[Codes, int]:
    """Codes of a column of labels, and a number above them all; an Enum has its own, which costs nothing."""
    if isinstance(column.dtype, pl.Enum) and not column.null_count():
        return column.to_physical().to_numpy(), len(column.dtype.categories)
    texts, of_row = distinct_texts(column)
    return of_row, len(texts)


def value_codes(series: pl.Series) -> tuple[Codes, int]:
    """Codes that tell the values of any column apart, in no particular order; missing is one more value."""
    numbered = series.to_frame("value").with_row_index("row").group_by("value", maintain_order=True).agg("row")
    codes = np.empty(len(series), dtype=np.int64)
    code = np.repeat(np.arange(numbered.height), numbered["row"].list.len().to_numpy())
    codes[numbered["row"].explode().to_numpy()] = code
    return smallest(codes, numbered.height), numbered.height


class CountedRows(NamedTuple):
    """The different rows of a frame, and how often each occurs."""

    rows: pl.DataFrame
    times: Integers


def counted_rows(frame: pl.DataFrame, most: int) -> CountedRows | None:
    """The different rows; None if there could be more than ``most``, or if a column is not of words that it lists.

    >>> found = counted_rows(pl.DataFrame({"a": ["x", "y", "x"]}, schema={"a": pl.Enum(["x", "y", "z"])}), most=3)
    >>> found.rows["a"].to_list(), found.times.tolist()
    (['x', 'y'], [2, 1])
    """
    columns = frame.get_columns()
    if not all(isinstance(c.dtype, pl.Enum) and not c.null_count() for c in columns):
        return None
    coded = [label_codes(c) for c in columns]
    sizes = [size for _, size in coded]
    if math.prod(sizes) > most:
        return None
    times = packed_counts([codes for codes, _ in coded], sizes)
    there = np.flatnonzero(times)
    codes = np.unravel_index(there, sizes)
    rows = {c.name: listed_words(c)[code].cast(c.dtype) for c, code in zip(columns, codes, strict=True)}
    return CountedRows(pl.DataFrame(rows), times[there])


def listed_words(column: pl.Series) -> pl.Series:
    """The words that a column lists."""
    assert isinstance(column.dtype, pl.Enum)
    return column.dtype.categories
