"""Rows in the memory of one machine."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.base import AsIs, Attributes, ByGroup, Numbered, Output, Randomized
from sfumato.engine.counts import Counted, Counts, Integers, count
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.errors import PolicyError, SfumatoError
from sfumato.kernel.arrange import sort_order
from sfumato.kernel.group import EqualRows
from sfumato.table.checks import is_opaque
from sfumato.table.digest import as_text
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Codes, Column
from sfumato.table.microdata import Microdata, Missing
from sfumato.table.published import value_codes
from sfumato.table.source import read_frame
from sfumato.table.taxonomy import named

_BLOCK = 1 << 19


class LocalEngine:
    """A table of coded columns in memory."""

    def __init__(self, table: Microdata) -> None:
        self._table = table
        self._vectors: dict[tuple[str, ...], EqualRows] = {}
        self._counts: dict[tuple[str, ...], Counts] = {}

    @classmethod
    def read(
        cls,
        source: object,
        attributes: Attributes,
        *,
        query: str | None = None,
        nulls: Sequence[str] = (),
        missing: Missing = "error",
        folder: Path | None = None,
        progress: Callable[[str, float], None] = lambda stage, done: None,
    ) -> Self:
        """Read the rows of a source, or take those of a frame, and code them."""
        frame = read_frame(source, query=query, nulls=nulls, folder=folder, told=partial(progress, "read"))
        wanted, told = attributes(frame.columns), partial(progress, "code")
        return cls(Microdata.from_frame(frame, wanted, missing=missing, folder=folder, progress=told))

    @property
    def table(self) -> Microdata:
        """The columns, their roles and domains."""
        return self._table

    @property
    def pieces(self) -> None:
        """A table whose rows are in memory is never counted in pieces."""
        return None

    def of(self, counts: Counts) -> "LocalEngine":
        """The rows are those of the counts anyway."""
        return self

    def count(self, names: Sequence[str]) -> Counts:
        """The distinct vectors of the quasi-identifiers and other columns, with multiplicities."""
        wanted = {c.name for c in self._table.quasi} | set(names)
        columns = {name: c for name, c in self._table.columns.items() if name in wanted}
        others = list(dict.fromkeys(name for name in names if name not in columns))
        counted = (*columns, *others)
        vectors = self._vectors[counted] = self._count(counted)
        if counted not in self._counts:
            self._counts[counted] = Counts(
                {name: replace(c, codes=c.codes[vectors.first]) for name, c in columns.items()},
                pl.DataFrame([self._table.uncoded(name) for name in others])[vectors.first]
                if others
                else pl.DataFrame(),
                vectors.size,
                self._table.dropped,
            )
        return self._counts[counted]

    def _count(self, names: tuple[str, ...]) -> EqualRows:
        """The distinct vectors of some columns; where more columns were counted before, by their vectors."""
        if names in self._vectors:
            return self._vectors[names]
        finer = next((known for known in self._vectors if set(names) <= set(known)), None)
        if finer is None:
            return count([Counted(*self._table.counted(name)) for name in names])
        vectors, known = self._counts[finer].agreeing(names), self._vectors[finer]
        return EqualRows(vectors.of_row[known.of_row], known.first[vectors.first], vectors.size)

    def tally(self, name: str) -> pl.DataFrame:
        """How many rows have each value of a column, by value."""
        if name in self._table.columns:
            column = self._table[name]
            rows = np.bincount(column.codes, minlength=column.size)
            found = pl.DataFrame({"value": pl.Series(column.domain.leaves, dtype=pl.String), "rows": rows})
            return found.filter(pl.col("rows") > 0)
        series = self._table.uncoded(name)
        if series is None:
            raise PolicyError(f"there is no column {name!r}; choose from {named(self._table.names)}")
        return tally_of(series)

    def prepared(self, change: Callable[[Microdata], Microdata]) -> "LocalEngine":
        """The same rows with other domains."""
        table = change(self._table)
        return self if table is self._table else LocalEngine(table)

    def vectors(self, counts: Counts) -> Integers:
        """The vector of each row."""
        if counts.names not in self._vectors:
            raise SfumatoError("a decision can be applied only by the engine that counted; please report this")
        return self._vectors[counts.names].of_row

    def entries(self, counts: Counts, grouping: Grouping, draws: Draws) -> Integers:
        """The entry of a grouping for each row; -1 for rows left out. Equal rows are assigned at random."""
        vector = self.vectors(counts)
        starts = np.searchsorted(grouping.vector, np.arange(len(counts) + 1))
        if (grouping.number == counts.weights[grouping.vector]).all():  # all people of a vector, or none
            entry = np.where(np.diff(starts) == 1, starts[:-1], -1)
            return np.asarray(entry[vector])
        dealt = draws.order(len(vector))
        dealt = dealt[sort_order(vector[dealt], len(counts))]  # rows by vector, in random order within one
        of_row = np.full(len(vector), -1, np.int64)
        entry = np.repeat(np.arange(len(grouping.vector)), grouping.number)
        if len(entry) < len(vector):  # the first rows of each vector are kept; their order is random
            first = np.cumsum(counts.weights) - counts.weights
            before = np.cumsum(grouping.number) - grouping.number
            place = first[grouping.vector] - before[starts[grouping.vector]]
            dealt = dealt[np.repeat(place, grouping.number) + np.arange(len(entry))]
        of_row[dealt] = entry
        return of_row

    def without(self, counts: Counts, grouping: Grouping) -> "LocalEngine":
        """The kept rows, without a trace of the others: a domain found in the data is that of the kept rows."""
        kept = np.zeros(len(counts), np.bool_)
        kept[grouping.vector] = True
        return LocalEngine(self._table.at(np.flatnonzero(kept[self.vectors(counts)])))

    def publish(
        self, outputs: Sequence[Output], draws: Draws, grouping: Grouping | None = None, counts: Counts | None = None
    ) -> pl.DataFrame:
        """The rows in a secret order, each with its outputs.

        The bytes of randomized columns come from the operating system's generator: it is the only source that stays
        unpredictable to someone who knows its earlier output. The state of fast generators such as PCG64 or Philox can
        be reconstructed from their output, and with it every draw. To be fast nevertheless, a draw reads the bytes of
        its 32-bit word only as far as they matter, mostly one if the value is kept and two if it is not, and
        columns are drawn in parallel.
        """
        build = partial(self._column, grouping=grouping, draws=draws)
        if not draws.secret:
            entry = self._entries_of_all(counts, grouping, draws)
            rows = _Rows.of(draws.order(self._table.rows), entry, grouping)
            return pl.DataFrame([build(output)(rows) for output in outputs])
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            waiting = pool.submit(draws.order, self._table.rows)
            entry = self._entries_of_all(counts, grouping, draws)
            ready = list(pool.map(build, outputs))
            rows = _Rows.of(waiting.result(), entry, grouping)
            return pl.DataFrame(list(pool.map(lambda column: column(rows), ready)))

    def _entries_of_all(self, counts: Counts | None, grouping: Grouping | None, draws: Draws) -> Integers | None:
        """The entry of each row, none of which may be left out; None if there is no grouping."""
        if grouping is None or counts is None:
            return None
        entry = self.entries(counts, grouping, draws)
        if (entry < 0).any():
            raise SfumatoError("rows that are left out must be removed before the others are published")
        return entry

    def write(self, table: pl.DataFrame, file: Path) -> None:
        """Write a published table as parquet."""
        write_parquet(table, file)

    def _column(self, output: Output, *, grouping: Grouping | None, draws: Draws) -> "Callable[[_Rows], pl.Series]":
        """Makes an output column once the row order is known: codes are cheaper to reorder than text."""
        if isinstance(output, Randomized):
            codes = _randomized(self._table[output.name].codes, output.way, draws)
            return partial(_shown, replace(self._table[output.name], codes=codes))
        if isinstance(output, AsIs):
            if output.name not in self._table.columns:
                return lambda rows: self._table.plain[output.name].gather(pl.Series(rows.order))
            if grouping is not None and output.name in grouping.values:
                return partial(_changed, self._table[output.name], grouping.values[output.name])
            return partial(_shown, self._table[output.name])
        if grouping is None:
            raise SfumatoError(f"{output.name!r} shows groups, but there are none; please report this")
        if isinstance(output, Numbered):
            return lambda rows: pl.Series(output.name, output.of_group[rows.group])
        return partial(_labelled, output)


class _Rows(NamedTuple):
    """The rows in the order in which they are published: the row of the table, its entry of the grouping, its group.

    Without a grouping there are neither entries nor groups. ``groups``: which groups have rows.
    """

    order: Integers
    entry: Integers
    group: Integers
    groups: NDArray[np.bool_]

    @classmethod
    def of(cls, order: Integers, entry: Integers | None, grouping: Grouping | None) -> "_Rows":
        if entry is None or grouping is None:
            return cls(order, order[:0], order[:0], np.zeros(0, np.bool_))
        placed = entry[order]
        group = grouping.group[placed]
        return cls(order, placed, group, np.bincount(group, minlength=grouping.groups) > 0)


def write_parquet(table: pl.DataFrame, file: Path) -> None:
    """Write a table as parquet."""
    table.write_parquet(file)


def tally_of(series: pl.Series) -> pl.DataFrame:
    """How many rows have each value, missing values included; values that Polars cannot compare, by what they hold."""
    if is_opaque(series.dtype):
        codes, size = value_codes(as_text(series))
        first = np.zeros(size, np.int64)
        first[codes] = np.arange(len(codes))
        return pl.DataFrame({"value": series.gather(first), "rows": np.bincount(codes, minlength=size)})
    found = series.to_frame("value").lazy().group_by("value").len("rows").collect()
    return found.with_columns(pl.col("rows").cast(pl.Int64))


def _shown(column: Column, rows: _Rows) -> pl.Series:
    return as_published(replace(column, codes=np.take(column.codes, rows.order, mode="clip")))  # an order is in bounds


def _changed(column: Column, of_entry: Integers, rows: _Rows) -> pl.Series:
    return as_published(replace(column, codes=of_entry[rows.entry]))


def _labelled(output: ByGroup, rows: _Rows) -> pl.Series:
    """The label of each row's group; labels are numbered by group, which is less to look through than rows."""
    words, number = _numbered(output.name, output.labels, output.of_group[rows.groups])
    return words.gather(pl.Series(number[output.of_group][rows.group]))


def _randomized(codes: Codes, way: Distortion, draws: Draws) -> Codes:
    if not way.changes:
        return codes
    parts = [way.draw(codes[first : first + _BLOCK], draws.bytes) for first in range(0, len(codes), _BLOCK)]
    return np.concatenate(parts)


def recode(name: str, labels: Sequence[str], codes: NDArray[Any], *, unseen: bool = False) -> pl.Series:
    """The column with the label of each row's code; equal labels become one, in text order.

    Only labels that some row shows are in its type, which is written into the metadata of parquet files; with
    ``unseen`` all of them, for columns that are compared with others and not published.
    """
    words, number = _numbered(name, labels, np.arange(len(labels)) if unseen else codes)
    return words.gather(pl.Series(np.take(number, codes)))  # twice as fast as number[codes]


def _numbered(name: str, labels: Sequence[str], codes: NDArray[Any]) -> tuple[pl.Series, NDArray[Any]]:
    """The distinct labels that some code shows, in text order, and the place of each code's label among them."""
    there = _occurring(codes, len(labels))
    shown = labels if there.all() else [labels[i] for i in np.flatnonzero(there).tolist()]
    distinct = sorted(dict.fromkeys(shown))  # not a set: many labels are in order already
    at = {label: i for i, label in enumerate(distinct)}
    number = np.array([at.get(label, 0) for label in labels], dtype=np.uint8 if len(distinct) <= 256 else np.uint32)
    words = pl.Series(name, distinct, dtype=pl.String)
    return words.cast(pl.Enum(words)), number


def _occurring(codes: NDArray[Any], size: int) -> NDArray[np.bool_]:
    """Which codes occur; mostly the first rows have them all."""
    first = np.bincount(codes[: _BLOCK >> 4], minlength=size) > 0
    return first if first.all() else np.bincount(codes, minlength=size) > 0


def as_published(column: Column) -> pl.Series:
    """A column published unchanged: numbers and dates by their type, everything else as text."""
    values = column.domain.typed_values()
    if values is None:
        return recode(column.name, column.domain.leaves, column.codes)
    return values.alias(column.name).gather(pl.Series(column.codes))
