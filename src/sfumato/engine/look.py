"""The private table as its steward looks at it: counts of its coded columns and tallies of the others, but no rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from sfumato.engine.base import Engine
from sfumato.engine.counts import Counts
from sfumato.engine.local import LocalEngine
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, eq=False)
class Look(Counts):
    """The counts of all coded columns; of columns that are published unchanged (``plain``) or are identifiers
    (``hidden``), how many rows have each value, as frames with the columns ``value`` and ``rows``."""

    plain: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    hidden: Mapping[str, pl.DataFrame] = field(default_factory=dict)


def look_at(engine: Engine, others: Sequence[str] = ()) -> Look:
    """All that reports and warnings need to know about a table; ``others`` are identifiers to count people by."""
    table = engine.table
    counts = engine.count([*table.columns, *others])
    plain, hidden = ({name: engine.tally(name) for name in frame.columns} for frame in (table.plain, table.hidden))
    return Look(counts.columns, counts.others, counts.weights, counts.dropped, plain, hidden)


def look_of(table: Microdata | Look, others: Sequence[str] = ()) -> Look:
    """The look at a table in memory, unless it is one already."""
    return table if isinstance(table, Look) else look_at(LocalEngine(table), others)
