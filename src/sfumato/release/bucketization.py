"""The bucketization scheme: exact quasi-identifiers with a group, and a table of sensitive values a group."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.draws import shuffled
from sfumato.errors import PolicyError
from sfumato.release.generalization import as_published
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata

GROUP, COUNT = "group", "count"


def refuse_exact(requirements: Sequence[Requirement]) -> None:
    """Refuse models that exact quasi-identifiers defeat: there people are told apart, whatever their groups."""
    for r in requirements:
        if r.by_labels:
            raise PolicyError(
                f"{r.model} is about people who show the same quasi-identifiers, and bucketization shows these "
                'exactly, so it would promise what does not hold; set scheme = "generalization", or drop '
                f"{r.model} and require what hides the sensitive value only, e.g. l-diversity"
            )


def bucketize(
    table: Microdata, group_of_row: NDArray[np.int64], groups: int, rng: np.random.Generator | None
) -> dict[str, pl.DataFrame]:
    """The two tables, joined by a group number that is random and means nothing."""
    taken = {GROUP, COUNT} & {*table.columns, *table.plain.columns}
    if taken:
        raise PolicyError(f"bucketization names its own columns {sorted(taken)}; rename those of the table")
    number = pl.Series(GROUP, shuffled(groups, rng)[group_of_row])
    sensitive = [as_published(c) for c in table.sensitive]
    known = [as_published(c) for c in table.columns.values() if c.role is not Role.SENSITIVE]
    quasi = pl.DataFrame([*known, *table.plain.get_columns(), number])
    keys = [str(i) for i in range(1 + len(sensitive))]  # plain names: Polars would take some for patterns
    columns = [s.alias(k) for s, k in zip([number, *sensitive], keys, strict=True)]
    values = pl.DataFrame(columns).group_by(keys).len(COUNT).sort(keys).cast({COUNT: pl.Int64})
    values.columns = [GROUP, *(s.name for s in sensitive), COUNT]
    return {"quasi": quasi[shuffled(table.rows, rng)], "sensitive": values}
