"""When Mondrian cuts a group, by which axes and tests, and the groups that it makes of vectors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Counts, combine
from sfumato.engine.decision import Groups
from sfumato.engine.pieces import Margins
from sfumato.engine.progress import Progress, counting, silent
from sfumato.kernel import judge
from sfumato.kernel.axes import Space
from sfumato.kernel.mondrian.margin import AxisCut, Margin, cut_by_margins
from sfumato.kernel.mondrian.partition import partition
from sfumato.requirement.base import Key
from sfumato.table.encode import Codes, Role
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, eq=False)
class Cutting:
    """The axes, the tests that both sides of a cut must pass, the least size of a side, and what the tests count.

    ``keys`` are the counted columns, each a column or a combination of several. ``saving``: of all cuts, the one that
    saves most for the people it cuts off; otherwise the widest attribute at its median.
    """

    space: Space
    tests: judge.Tests
    least: int
    keys: Sequence[Key]
    saving: bool = False

    def counted(self, table: Microdata | Counts) -> list[Counted]:
        """The counted columns of a table."""
        return self.combined(lambda name: Counted(*table.counted(name)))

    def combined(self, column: Callable[[str], Counted]) -> list[Counted]:
        """The counted columns, made of those of a table."""
        return [combine([column(name) for name in key]) for key in self.keys]

    def groups(
        self,
        table: Microdata | Counts,
        progress: Progress,
        chosen: NDArray[np.int64] | slice = slice(None),
        *,
        relaxed: bool = False,
    ) -> Groups:
        """The group of each of the chosen entries of a table."""
        quasi = [c.codes[chosen] for c in table.quasi]
        counted = [replace(c, codes=c.codes[chosen]) for c in self.counted(table)]
        return self.groups_of(quasi, table.weights, counted, relaxed=relaxed, progress=progress)

    def groups_of(
        self,
        quasi: Sequence[Codes],
        weights: NDArray[np.int64] | None,
        counted: Sequence[Counted],
        *,
        relaxed: bool = False,
        progress: Progress = silent,
    ) -> Groups:
        """The group of each entry, given the codes of its quasi-identifiers and of the counted columns."""
        parts = partition(
            self.space,
            list(quasi),
            weights=weights,
            counted=[c.codes for c in counted],
            sizes=[c.size for c in counted],
            tests=self.tests,
            least=self.least,
            saving=self.saving,
            relaxed=relaxed,
            progress=counting(progress, "cuts"),
        )
        return Groups(numbered(parts.order, parts.starts), len(parts.starts))

    def cut(self, margins: Margins) -> AxisCut | None:
        """How a region is cut, by its margins; None if it is a group."""
        found = []
        for counts in margins.by_axis:
            axis = next(c for c in counts.columns.values() if c.role is Role.QUASI)
            counted = self.counted(counts)
            found.append(Margin(axis.codes, [c.codes for c in counted], [c.size for c in counted], counts.weights))
        return cut_by_margins(self.space, found, self.tests, self.least, saving=self.saving)


def numbered(order: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The group of each row, from the rows in group order."""
    group = np.empty(len(order), np.int64)
    group[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    return group
