"""The private table as its steward looks at it: counts of its coded columns and tallies of the others, but no rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from sfumato.engine.base import Engine
from sfumato.engine.counts import Counts, Integers
from sfumato.engine.local import LocalEngine
from sfumato.engine.pieces import Pieces
from sfumato.table.encode import smallest
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, eq=False, repr=False)
class Overview(Counts):
    """The counts of all coded columns, and tallies (`Engine.tally`) of the others.

    ``plain`` are the columns that are published unchanged, ``hidden`` the identifiers.
    """

    plain: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    hidden: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    """Those of these columns with too many different values to be tallied; their tallies are empty."""
    class_sizes: Integers | None = None
    """Of a table that is too large to be counted here: how many rows each combination of quasi-identifiers has. Then
    the counts are right for each column by itself and mean nothing for several."""

    @property
    def joint(self) -> bool:
        """Whether the counts say which values occur together."""
        return self.class_sizes is None


def overview(engine: Engine, others: Sequence[str] = ()) -> Overview:
    """All that reports and warnings need to know about a table; ``others`` are identifiers to count people by."""
    table = engine.table
    counts = engine.count([*table.columns, *others]) if engine.pieces is None else _column_by_column(engine.pieces)
    tallies = {name: engine.tally(name) for frame in (table.plain, table.hidden) for name in frame.columns}
    unseen = tuple(name for name, tally in tallies.items() if tally is None)
    none = pl.DataFrame(schema={"value": pl.String, "rows": pl.Int64})
    known = {name: none if tally is None else tally for name, tally in tallies.items()}
    plain, hidden = ({name: known[name] for name in frame.columns} for frame in (table.plain, table.hidden))
    sizes = None if engine.pieces is None else engine.pieces.class_sizes([c.name for c in table.quasi])
    found = Overview(counts.columns, counts.others, counts.weights, counts.dropped, plain, hidden, unseen, sizes)
    return found.knowing(counts)


def _column_by_column(pieces: Pieces) -> Counts:
    """Counts with the right number of rows for each value of each column, and only that.

    The rows of each column, ordered by its values, are put side by side: there are fewer vectors than values.
    """
    ends = {name: np.cumsum(pieces.tally(name)) for name in pieces.columns}
    cuts = np.unique(np.concatenate([[0, pieces.rows], *ends.values()]))
    columns = {
        name: replace(c, codes=smallest(np.searchsorted(ends[name], cuts[:-1], side="right"), c.size))
        for name, c in pieces.columns.items()
    }
    return Counts(columns, pl.DataFrame(), np.diff(cuts), pieces.dropped)


def overview_of(table: Microdata | Overview, others: Sequence[str] = ()) -> Overview:
    """The overview of a table in memory, unless it is one already."""
    return table if isinstance(table, Overview) else overview(LocalEngine(table), others)
