"""The private table as its steward looks at it: counts of its coded columns and tallies of the others, but no rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from sfumato.engine.base import Engine
from sfumato.engine.counts import Counts
from sfumato.engine.local import LocalEngine
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, eq=False, repr=False)
class Overview(Counts):
    """The counts of all coded columns, and tallies (`Engine.tally`) of the others.

    ``plain`` are the columns that are published unchanged, ``hidden`` the identifiers.
    """

    plain: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    hidden: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    """The columns of these with too many different values to be tallied; their tallies are empty."""


def overview(engine: Engine, others: Sequence[str] = ()) -> Overview:
    """All that reports and warnings need to know about a table; ``others`` are identifiers to count people by."""
    table = engine.table
    counts = engine.count([*table.columns, *others])
    tallies = {name: engine.tally(name) for frame in (table.plain, table.hidden) for name in frame.columns}
    unseen = tuple(name for name, tally in tallies.items() if tally is None)
    none = pl.DataFrame(schema={"value": pl.String, "rows": pl.Int64})
    known = {name: none if tally is None else tally for name, tally in tallies.items()}
    plain, hidden = ({name: known[name] for name in frame.columns} for frame in (table.plain, table.hidden))
    found = Overview(counts.columns, counts.others, counts.weights, counts.dropped, plain, hidden, unseen)
    return found.knowing(counts)


def overview_of(table: Microdata | Overview, others: Sequence[str] = ()) -> Overview:
    """The overview of a table in memory, unless it is one already."""
    return table if isinstance(table, Overview) else overview(LocalEngine(table), others)
