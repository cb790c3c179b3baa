"""The table that is being refined as one side of a join: by its values, or by the labels of a cut."""

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.release.earlier import Earlier, EarlierColumn, exact_meaning
from sfumato.release.label_meaning import parse_label
from sfumato.release.scheme.group_labels import Box, Shown, name_boxes
from sfumato.requirement.join_template import THIS
from sfumato.table.encode import Column, Kind, Role
from sfumato.table.microdata import Microdata
from sfumato.table.published import distinct_texts

Integers = NDArray[np.int64]


def label_column(column: Column, boxes: Sequence[Box], of_row: Integers) -> EarlierColumn:
    """A quasi-identifier that shows a box of its domain; each box is named by itself."""
    named = [name_boxes(column.domain, [box])[0] for box in boxes]
    labels = tuple(n.label for n in named)
    meanings = tuple(parse_label(n.label, None if n.meaning is None else list(n.meaning)) for n in named)
    values = frozenset(column.domain.leaves)
    return EarlierColumn(column.name, column.role, column.kind, labels, of_row, meanings, values, column.domain)


def _values(column: Column) -> EarlierColumn:
    """A column as it would be published unmasked: a quasi-identifier by its smallest boxes, others by their values.

    The number of a label is its code.
    """
    codes = column.codes.astype(np.int64)
    if column.role is Role.QUASI:
        return label_column(column, [Box(c, c + 1) for c in range(column.size)], codes)
    leaves = column.domain.leaves
    meanings = tuple(exact_meaning(leaf, column.kind) for leaf in leaves)
    return EarlierColumn(
        column.name, column.role, column.kind, leaves, codes, meanings, frozenset(leaves), column.domain
    )


def _uncoded(series: pl.Series) -> EarlierColumn:
    """A column that is published, or only counted, as it is."""
    shown = distinct_texts(series)
    number = series.dtype.is_numeric()
    kind = Kind.DATE if series.dtype == pl.Date else Kind.CONTINUOUS if number else Kind.CATEGORICAL
    meanings = tuple(exact_meaning(text, kind) for text in shown.texts)
    labels = tuple(shown.texts)
    of_row = shown.of_row.astype(np.int64)
    return EarlierColumn(series.name, Role.INSENSITIVE, kind, labels, of_row, meanings, frozenset(labels))


def raw_side(table: Microdata | Counts, only: Collection[str]) -> Earlier:
    """Some columns of the table with all values shown."""
    columns = {c.name: _values(c) for c in table.columns.values() if c.name in only}
    for name in only:
        if name not in columns and (series := table.uncoded(name)) is not None:
            columns[name] = _uncoded(series)
    return _side(columns, table.weights if isinstance(table, Counts) else np.ones(table.rows, np.int64))


def shown_side(counts: Counts, grouping: Grouping, shown: Sequence[Shown]) -> Earlier:
    """The table with the labels that its groups show."""
    group = np.empty(len(counts), np.int64)
    group[grouping.vector] = grouping.group
    columns = {c.name: _values(c) for c in counts.columns.values() if c.role is not Role.QUASI}
    columns |= {series.name: _uncoded(series) for series in counts.others.get_columns()}
    for s in shown:
        column, labels = counts[s.name], tuple(s.labels)
        meanings = tuple(
            parse_label(n, None if m is None else list(m)) for n, m in zip(labels, s.meanings, strict=True)
        )
        leaves = frozenset(column.domain.leaves)
        columns[s.name] = EarlierColumn(
            s.name, column.role, column.kind, labels, s.of_group[group], meanings, leaves, column.domain
        )
    return _side(columns, counts.weights)


def _side(columns: dict[str, EarlierColumn], weights: Integers) -> Earlier:
    number = np.arange(len(weights))
    return Earlier(THIS, "", "generalization", int(weights.sum()), columns, number, weights)
