"""A warning for the steward: people of the table who are not in the population of k-map."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from sfumato.engine.counts import Integers
from sfumato.engine.overview import Overview
from sfumato.requirement.base import Requirement
from sfumato.requirement.k_map import KMap
from sfumato.table.encode import Column

_ROWS = "rows"


def unregistered(bound: Sequence[Requirement], table: Overview) -> Iterator[str]:
    """Rows that occur more often in the table than in the population, which should include everyone in the table."""
    for r in bound:
        if not isinstance(r, KMap):
            continue
        people = r.people_of().coded({c.name: c.kind for c in table.quasi})
        mine = _vectors(table.quasi, table.weights)
        theirs = _vectors([people[c.name] for c in table.quasi])
        keys = [name for name in mine.columns if name != _ROWS]
        beside = mine.join(theirs, on=keys, how="left", suffix=" there")[f"{_ROWS} there"].fill_null(0)
        lacking = int((mine[_ROWS].cast(pl.Int64) - beside.cast(pl.Int64)).clip(lower_bound=0).sum())
        if lacking:
            yield (
                f"The population lacks people who are in the table: for {lacking:,} of {table.rows:,} rows it has "
                "nobody with these quasi-identifiers, or fewer people than rows. k-map assumes that the population "
                "includes everyone in the table; complete it, or make sure that both use the same spelling and refer "
                "to the same date."
            )


def _vectors(columns: Sequence[Column], weights: Integers | None = None) -> pl.DataFrame:
    """How many rows have each combination of values, by the values."""
    texts = {str(j): pl.Series(c.domain.leaves, dtype=pl.String).gather(c.codes) for j, c in enumerate(columns)}
    rows = np.ones(len(columns[0].codes), np.int64) if weights is None else weights
    return pl.DataFrame({**texts, _ROWS: rows}).group_by([*texts], maintain_order=True).agg(pl.col(_ROWS).sum())
