"""What a method decides, as numbers of people: never which row, and never one entry per row of the table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sfumato import notebook
from sfumato.engine.counts import Counts, Integers


class Groups(NamedTuple):
    """The group of each row (or other grouped item), numbered from 0, and the number of groups."""

    of_row: Integers
    number: int


@dataclass(frozen=True, eq=False)
class Grouping:
    """Who goes where: ``number[e]`` people of vector ``vector[e]`` go to group ``group[e]``, in the order of vectors.

    People of a vector without entries are left out. ``values`` holds, for columns whose published values differ
    from the true ones, the published code of each entry.
    """

    vector: Integers
    group: Integers
    number: Integers
    groups: int
    values: Mapping[str, Integers] = field(default_factory=dict)

    @classmethod
    def of_vectors(cls, counts: Counts, group: Integers, groups: int) -> "Grouping":
        """All people of a vector in one group; -1 leaves them out."""
        kept = np.flatnonzero(group >= 0)
        if len(kept) == len(group):
            return cls(kept, group, counts.weights, groups)
        return cls(kept, group[kept], counts.weights[kept], groups)

    @classmethod
    def of_people(
        cls, counts: Counts, group: Integers, groups: int, values: Mapping[str, Integers] | None = None
    ) -> "Grouping":
        """People one by one, in the order of `Counts.people`, which is that of their vectors."""
        shown = {name: codes.astype(np.int64) for name, codes in (values or {}).items()}
        return cls(counts.vector_of_person, group, np.ones(len(group), np.int64), groups, shown)

    @property
    def sizes(self) -> Integers:
        """How many people each group has."""
        return np.bincount(self.group, weights=self.number, minlength=self.groups).astype(np.int64)

    def __repr__(self) -> str:
        changed = f"; {', '.join(self.values)} changed" if self.values else ""
        return f"Grouping({int(self.number.sum()):,} people in {self.groups:,} groups{changed})"

    def _repr_html_(self) -> str:
        sizes = self.sizes[self.sizes > 0]
        facts = [("people", sizes.sum()), ("groups", len(sizes))]
        if len(sizes):
            facts += [("smallest", sizes.min()), ("median", round(float(np.median(sizes)))), ("largest", sizes.max())]
        return notebook.panel("Grouping", notebook.table(["", ""], [(name, f"{n:,}") for name, n in facts]))

    def published(self, counts: Counts) -> Counts:
        """The people as published, one entry for those of the same vector in the same group."""
        if not self.values and len(self.vector) == len(counts) and self.number is counts.weights:
            return counts
        return counts.taken(self.vector, self.number, self.values)
