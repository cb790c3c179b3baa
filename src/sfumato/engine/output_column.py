"""Published columns made a bucket of rows at a time, of one type throughout."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from sfumato.engine.base import AsIs, ByGroup, Numbered, Output, Randomized
from sfumato.engine.counts import Counted, Counts, Integers
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.local import as_published, recode
from sfumato.errors import SfumatoError
from sfumato.table.encode import Codes, Column, smallest
from sfumato.table.published import value_codes

VECTOR, ENTRY = "vector", "entry"
"""What batches of rows call the vector of a row, and its entry of the grouping."""


class OutputColumn:
    """Makes the column of an output for some rows, with one type for all of them."""

    def __init__(self, output: Output, finest: Counts, grouping: Grouping | None, draws: Draws, *, one: bool) -> None:
        self.output, self._draws, self._one = output, draws, one
        self._column = finest.columns.get(output.name)
        self._of_group: Codes | None = None
        self._of_entry: Integers | None = None
        if isinstance(output, ByGroup | Numbered):
            if grouping is None:
                raise SfumatoError(f"{output.name!r} shows groups, but there are none; please report this")
            self._of_entry = grouping.group
            self._of_group = smallest(output.of_group, int(output.of_group.max(initial=0)) + 1)
        elif grouping is not None and isinstance(output, AsIs) and output.name in grouping.values:
            self._of_entry = grouping.values[output.name]
        self._words = self._shown_words()

    def _shown_words(self) -> pl.Series | None:
        """The word of each code as a column whose type lists the words that some row shows; None for numbers."""
        if isinstance(self.output, ByGroup):
            assert self._of_entry is not None
            there = np.bincount(self._of_entry, minlength=len(self.output.of_group)) > 0
            return _words(self.output.name, self.output.labels, self.output.of_group[there])
        if self._column is None or isinstance(self.output, Numbered | Randomized):
            return None
        if self._column.domain.typed_values() is not None:
            return None
        codes = self._column.codes if self._of_entry is None else self._of_entry
        return _words(self.output.name, self._column.domain.leaves, codes)

    def __call__(self, rows: pl.DataFrame) -> pl.Series:
        """The column, for rows with their vectors and entries."""
        if self._column is None and isinstance(self.output, AsIs):
            return rows[plain_name(self.output.name)].alias(self.output.name)
        codes = self._codes(rows)
        if isinstance(self.output, Numbered):
            return pl.Series(self.output.name, codes.astype(self.output.of_group.dtype))
        if self._words is not None:
            return self._words.gather(pl.Series(codes))
        assert self._column is not None
        if isinstance(self.output, Randomized):
            codes = self.output.way.draw(codes, self._draws.bytes)
        return _column(replace(self._column, codes=codes), unseen=not self._one)

    @property
    def by_group(self) -> bool:
        """Whether the group of a row alone decides what it shows."""
        return self._of_group is not None

    def of_groups(self) -> Counted:
        """What each group shows, as codes: equal ones where the same is shown."""
        assert self._of_group is not None
        if self._words is None:
            return Counted(*value_codes(pl.Series(self._of_group)))
        words = self._words.to_physical().fill_null(0).to_numpy()
        return Counted(words[self._of_group], len(self._words))

    def codes(self, rows: pl.DataFrame) -> Counted:
        """What rows show of a column that is not that of their groups, as codes."""
        assert self._column is not None
        return Counted(smallest(self._codes(rows), self._column.size), self._column.size)

    def _codes(self, rows: pl.DataFrame) -> Integers:
        if self._of_entry is not None:
            shown = self._of_entry[rows[ENTRY].to_numpy()]
            return np.asarray(shown if self._of_group is None else self._of_group[shown])
        assert self._column is not None
        return np.asarray(self._column.codes[rows[VECTOR].to_numpy()])


def _words(name: str, labels: Sequence[str], codes: Integers | None) -> pl.Series:
    """The label of each code; those that no row shows are missing, so that the type does not list them."""
    assert codes is not None
    there = np.bincount(codes, minlength=len(labels)) > 0
    shown = sorted({label for label, here in zip(labels, there, strict=True) if here})
    kept = [label if here else None for label, here in zip(labels, there, strict=True)]
    return pl.Series(name, kept, dtype=pl.Enum(shown))


def _column(column: Column, *, unseen: bool) -> pl.Series:
    """A column as published; with ``unseen`` its type lists the whole domain, so that it is the same for all parts."""
    if unseen and column.domain.typed_values() is None:
        return recode(column.name, column.domain.leaves, column.codes, unseen=True)
    return as_published(column)


def plain_name(name: str) -> str:
    """What batches of rows call an insensitive column, so that no name is taken for a vector or an entry."""
    return f"= {name}"
