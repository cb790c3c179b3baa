"""Anatomy (Xiao and Tao, VLDB 2006): groups by sensitive values alone."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.method.base import Groups, GroupScheme, Progress
from sfumato.method.diversity import Diversity, DiversityMethod
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, kw_only=True)
class Anatomy(DiversityMethod):
    """While l values have rows, draw one row of each of the l most frequent; then distribute the remaining rows.

    After the loop every value has at most one row left, if the table is l-eligible; it joins a group
    drawn from those that lack the value. Draws are secret and uniform; ties are broken by the order of values.
    This is pick-up with the whole table as one group.
    """

    name: ClassVar[str] = "anatomy"
    summary: ClassVar[str] = (
        "groups of l to 2l - 1 rows with distinct sensitive values, drawn from the whole table; merged if k is larger"
    )
    guarantees: ClassVar[str] = (
        "frequency l-diversity, also against an adversary who knows the algorithm: all draws are secret and uniform"
    )
    picks: ClassVar[bool] = True
    scheme: GroupScheme = "bucketization"

    def base(self, table: Microdata, wanted: Diversity, progress: Progress) -> Groups:
        return Groups(np.zeros(table.rows, np.int64), 1)
