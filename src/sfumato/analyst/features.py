"""Rows as learners see them: numbers and intervals as ordered features, everything else as categories, and a class."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, PolicyError, nearest
from sfumato.release.label_meaning import shown_ends
from sfumato.table.encode import looks_numeric
from sfumato.table.ordered_domain import MISSING, day_number
from sfumato.table.published import distinct_texts
from sfumato.table.taxonomy import named

_DAY = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True, eq=False)
class Feature:
    """One attribute of the rows to learn from, and of those to predict.

    ``codes`` are ranks of ``numbers`` (the ascending numbers of the training rows) if these are given, otherwise
    indices into ``categories``, those of the training rows. In ``held_out`` an unseen category is -1 and an unseen
    number gets the rank of the next greater one. ``labelled`` marks intervals; their midpoints are the numbers.
    """

    name: str
    codes: NDArray[np.int32]
    held_out: NDArray[np.int32]
    categories: tuple[str, ...] = ()
    numbers: NDArray[np.float64] | None = None
    held_out_numbers: NDArray[np.float64] | None = None
    labelled: bool = False

    @property
    def size(self) -> int:
        """How many codes the training rows have."""
        return len(self.categories) if self.numbers is None else len(self.numbers)


@dataclass(frozen=True, eq=False)
class Examples:
    """What a learner gets: features, the class of each training row, and of each held-out row (-1: never seen)."""

    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    label: NDArray[np.int64]
    held_out: NDArray[np.int64]

    def without(self, names: Collection[str]) -> "Examples":
        """The same rows without some attributes."""
        return replace(self, features=tuple(f for f in self.features if f.name not in names))


class _Numbers(NamedTuple):
    """A column as numbers, and whether these are the midpoints of intervals."""

    of_row: NDArray[np.float64]
    labelled: bool


def examples(
    train: pl.DataFrame, held_out: pl.DataFrame, class_: str, *, categorical: Collection[str] = ()
) -> Examples:
    """Code training and held-out rows alike; all columns but the class become features.

    A column is ordered if it holds numbers, dates or intervals of them in both tables, also as text (except codes with
    leading zeros), unless it is named in ``categorical``. A missing number sorts below all others; a missing category
    is a category of its own.

    >>> rows = pl.DataFrame({"age": ["[20, 30)", "[30, 50)"], "job": ["Cook", "Nurse"], "ill": ["no", "yes"]})
    >>> age, job = examples(rows, rows, "ill").features
    >>> age.numbers.tolist(), job.numbers
    ([25.0, 40.0], None)
    """
    _check(train, held_out, class_)
    names = [n for n in train.columns if n != class_]
    classes = sorted({str(v) for v in train[class_].unique()})
    return Examples(
        tuple(_feature(train[n], held_out[n], n in categorical) for n in names),
        tuple(classes),
        distinct_texts(train[class_]).places_in(classes),
        distinct_texts(held_out[class_]).places_in(classes),
    )


def _check(train: pl.DataFrame, held_out: pl.DataFrame, class_: str) -> None:
    """Refuse tables from which nothing can be learned, or that cannot be compared."""
    for what, frame in (("training", train), ("held-out", held_out)):
        if class_ not in frame.columns:
            raise PolicyError(f"the {what} rows have no class column {class_!r}{nearest(class_, frame.columns)}")
        if frame.height == 0:
            raise DataError(f"there are no {what} rows; a classifier needs at least one")
        if missing := frame[class_].null_count():
            raise DataError(f"{missing} {what} rows have no class in {class_!r}; leave them out")
    if absent := [n for n in train.columns if n not in held_out.columns]:
        raise DataError(f"the held-out rows have no column {named(absent)}, which the training rows have; add it")
    if train[class_].n_unique() < 2:
        only = train[class_][0]
        raise DataError(f"all training rows have the class {only!r}; a classifier needs two classes or more")


def _feature(train: pl.Series, held_out: pl.Series, categorical: bool) -> Feature:
    here, there = (None, None) if categorical else (_numbers(train), _numbers(held_out))
    if here is None or there is None:
        mine, theirs = distinct_texts(train), distinct_texts(held_out)
        values = sorted(mine.texts)
        codes, others = (side.places_in(values).astype(np.int32) for side in (mine, theirs))
        return Feature(train.name, codes, others, tuple(values))
    numbers, found = np.unique(here.of_row, return_inverse=True)
    return Feature(
        train.name,
        found.astype(np.int32),
        np.searchsorted(numbers, there.of_row, side="left").astype(np.int32),
        numbers=numbers,
        held_out_numbers=there.of_row,
        labelled=here.labelled,
    )


def _numbers(column: pl.Series) -> _Numbers | None:
    """The numbers in a column, or the midpoints of the intervals it shows; None if it has neither."""
    if column.dtype == pl.Boolean or column.dtype.is_nested():
        return None
    if column.dtype in (pl.Date, pl.Datetime):
        column = column.dt.epoch("us") / _DAY
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        return _Numbers(column.to_physical().cast(pl.Float64).fill_null(-np.inf).to_numpy(), False)
    if column.len() == column.null_count():
        return None
    words = distinct_texts(column)
    middles = [-np.inf if v == MISSING else _middle(v) for v in words.texts]
    if any(m is None for m in middles):
        return None
    return _Numbers(np.array(middles, np.float64)[words.of_row], any(shown_ends(v) for v in words.texts))


def _middle(label: str) -> float | None:
    """The number that stands for a label in an ordered column: the midpoint of an interval, or its only end."""
    if bounds := shown_ends(label):
        known = [end for end in bounds if np.isfinite(end)]
        return sum(known) / len(known)
    if looks_numeric([label]):
        return float(label)
    return day_number(label)
