"""Anatomy (Xiao and Tao, VLDB 2006): groups by sensitive values alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.method.ahead import diversity
from sfumato.method.base import Groups, PartitionMethod, Progress, Scheme
from sfumato.method.pickup import pick_up
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, kw_only=True)
class Anatomy(PartitionMethod):
    """While l values have rows, draw one row of each of the l most frequent; spread what is left over.

    After the loop every value has at most one row left, if the table is l-eligible; it joins a group
    drawn from those that lack the value. Draws are secret and uniform; ties go by the order of values.
    """

    name: ClassVar[str] = "anatomy"
    summary: ClassVar[str] = "groups of l to 2l - 1 rows with distinct sensitive values, drawn from the whole table"
    guarantees: ClassVar[str] = (
        "frequency l-diversity, also against an adversary who knows the algorithm: all draws are secret and uniform"
    )
    scheme: Scheme = "bucketization"

    def groups(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        rng: np.random.Generator | None,
        progress: Progress,
    ) -> Groups:
        wanted = diversity(self.name, requirements)
        l = wanted.whole(self.name)
        whole = Groups(np.zeros(table.rows, np.int64), 1)
        return pick_up(whole, table[wanted.sensitive], l, rng)
