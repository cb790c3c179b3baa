"""The bucketization scheme: exact quasi-identifiers with a group, and a table of the sensitive values of each group."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.base import AsIs, Engine, Numbered, Output
from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.engine.local import as_published
from sfumato.errors import PolicyError
from sfumato.release.describe import attribute_entries
from sfumato.release.judgement import judged
from sfumato.release.scheme import Grouped, Made, Progress, Scheme
from sfumato.requirement.base import GroupRequirement, Requirement
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


class Bucketization(Scheme):
    """Exact quasi-identifiers, and in a table of their own the sensitive values of each group."""

    name: ClassVar[str] = "bucketization"

    def refuse(self, table: Microdata, requirements: Sequence[Requirement]) -> None:
        refuse_exact(requirements)
        if not table.sensitive:
            raise PolicyError(
                "bucketization separates sensitive values from the rest, but no column is sensitive; give one that role"
            )
        if taken := {GROUP, COUNT} & {*table.columns, *table.plain.columns}:
            raise PolicyError(f"bucketization names its own columns {sorted(taken)}; rename those of the table")

    def counted(self, table: Microdata) -> list[str]:
        return [c.name for c in table.sensitive]

    def publish(
        self,
        engine: Engine,
        counts: Counts,
        decision: Grouped,
        bound: Sequence[Requirement],
        draws: Draws,
        progress: Progress,
    ) -> Made:
        grouping, table = decision.grouping, engine.table
        people = grouping.published(counts)
        progress("judgement", 0.0)
        judgements = list(decision.judgements)
        for requirement in bound:
            if isinstance(requirement, GroupRequirement):
                judgements.append(judged(requirement, people, grouping.group, grouping.groups))
        progress("order", 0.0)
        number = draws.order(grouping.groups)  # it means nothing
        outputs: list[Output] = [AsIs(c.name) for c in table.columns.values() if c.role is not Role.SENSITIVE]
        outputs += [AsIs(name) for name in table.plain.columns]
        outputs.append(Numbered(GROUP, number))
        quasi = engine.publish(outputs, draws, grouping, counts)
        tables = {"quasi": quasi, "sensitive": _sensitive(people, number[grouping.group])}
        return Made(tables, judgements, attribute_entries(table), quasi.height)


def _sensitive(people: Counts, number: NDArray[np.int64]) -> pl.DataFrame:
    """How often each combination of sensitive values occurs in each group, in the order of groups and values."""
    values = [as_published(c) for c in people.sensitive]
    keys = [str(i) for i in range(1 + len(values))]  # plain names: Polars would take some for patterns
    columns = [s.alias(k) for s, k in zip([pl.Series(number), *values], keys, strict=True)]
    found = pl.DataFrame([*columns, pl.Series(COUNT, people.weights)]).group_by(keys).agg(pl.col(COUNT).sum())
    found = found.sort(keys).cast({COUNT: pl.Int64})
    found.columns = [GROUP, *(s.name for s in values), COUNT]
    return found
