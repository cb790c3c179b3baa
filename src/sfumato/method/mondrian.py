"""Mondrian: strict (or relaxed) multidimensional partitioning by median cuts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Counts, combine, totals
from sfumato.engine.draws import Draws
from sfumato.engine.pieces import Pieces
from sfumato.errors import PolicyError
from sfumato.kernel import judge
from sfumato.method.base import CountingMethod, Drawn, Groups, PartitionMethod, Progress
from sfumato.method.cutting import Cutting
from sfumato.method.piecewise import Boxed, boxed
from sfumato.release.judgement import TableSchema, on_groups
from sfumato.release.scheme.base import Grouped
from sfumato.release.scheme.group_labels import space_of
from sfumato.requirement.base import GroupRequirement, Key, Requirement, Test
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, kw_only=True)
class Mondrian(CountingMethod):
    """Cut the widest attribute at its median as long as both sides meet the requirements.

    LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity" (ICDE 2006), with any
    monotone requirement in place of k. Numbers are cut at the allowed boundary that is nearest to
    the median; along a taxonomy one child of the group's node, or its first few children, are separated
    from the others. A group is final only when no attribute has an allowed cut.

    "Nearest to the median" and "most balanced" are measured in rows; among equally balanced cuts the first one
    is chosen, among equally wide attributes the first in the table.

    ``strict``: equal values stay together, so groups never overlap; otherwise, if no strict
    cut is left, equal values are divided too. ``labels``: a group under some children of a node
    shows them as a set (``siblings``), or always one node (``nodes``), which may cover other groups too.

    ``cuts``: which allowed cut is made. ``median``, as published: the widest attribute at its median. ``saving``: the
    one that saves most. The reduction in its attribute's loss (range, or values shown), summed over people, is divided
    by the square root of the number of people on its lighter side: rare values are cut off first, and the bulk stays
    together to be cut further. Any node of a tree below that of the group can then be cut off, not just a child.
    """

    name: ClassVar[str] = "mondrian"
    summary: ClassVar[str] = "groups by recursive median cuts, local recoding, good utility"
    guarantees: ClassVar[str] = (
        "every monotone requirement, against an adversary who does not exploit how the algorithm chose its cuts"
    )
    refuted: ClassVar[str | None] = (
        "if a requirement reads sensitive values, the cut nearest to the median that it allows reveals which cuts it "
        "refused, and that pins people down. Smallest counterexample, three people on a line, a share of 'a' of at "
        "most 1/2: {t1, t2} shown with a, b and {t3} with b: t1 certainly has a, else t1 would have been cut off. "
        "l-diversity, l = 2, five people shown as {t1, t2, t3} with a, b, c and {t4, t5} with c, d: t3 certainly has "
        "c. For frequency l-diversity, use mondrian+ or mondrian-blur instead"
    )

    strict: bool = True
    labels: Literal["siblings", "nodes"] = "siblings"
    cuts: Literal["median", "saving"] = "median"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.strict, bool):
            raise PolicyError(f"mondrian: strict = {self.strict!r}; it must be true or false")
        if self.labels not in ("siblings", "nodes"):
            raise PolicyError(f"mondrian: labels = {self.labels!r}; it must be 'siblings' or 'nodes'")
        if self.cuts not in ("median", "saving"):
            raise PolicyError(f"mondrian: cuts = {self.cuts!r}; it must be 'median' or 'saving'")

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        """No warning if only sizes decide: then the cuts reveal nothing about sensitive values."""
        return self.if_steered(requirements, "the cuts")

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        for r in on_groups(requirements, self.name):
            if not r.monotone:
                raise PolicyError(f"mondrian serves only monotone requirements, and {r.model} is not monotone")

    def redrawn(self) -> str | None:
        return None if self.strict else super().redrawn()

    def shows_sets(self) -> bool:
        return self.labels == "siblings"

    def outcomes(self, table: Microdata, requirements: Sequence[Requirement]) -> Iterator[tuple[Drawn, Fraction]]:
        if not self.strict:
            raise PolicyError(
                "relaxed mondrian divides equal rows at random, in too many ways to enumerate; use sampled_worlds"
            )
        return super().outcomes(table, requirements)

    def before_draws(self, table: Microdata, requirements: Sequence[Requirement]) -> Groups | None:
        return super().before_draws(table, requirements) if self.strict else None

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Grouped:
        if self.strict:
            return super().decide(counts, requirements, draws, progress)
        return PartitionMethod.decide(self, counts, requirements, draws, progress)

    def groups(
        self, table: Microdata, requirements: Sequence[Requirement], *, draws: Draws, progress: Progress
    ) -> Groups:
        if self.strict:
            return super().groups(table, requirements, draws=draws, progress=progress)
        order = draws.order(table.rows)  # equal rows are divided in this order
        groups = self._cut(table, order, requirements, progress)
        of_row = np.empty_like(groups.of_row)
        of_row[order] = groups.of_row
        return Groups(of_row, groups.number)

    def of_vectors(self, counts: Counts, requirements: Sequence[Requirement], progress: Progress) -> Groups:
        return self._cut(counts, slice(None), requirements, progress)

    def _cut(
        self,
        table: Microdata | Counts,
        chosen: NDArray[np.int64] | slice,
        requirements: Sequence[Requirement],
        progress: Progress,
    ) -> Groups:
        """The group of each of the chosen entries."""
        cutting = self.cutting(table, table.quasi, requirements)
        return cutting.groups(table, progress, chosen, relaxed=not self.strict)

    def cutting(self, table: Microdata | Counts, quasi: list[Column], requirements: Sequence[Requirement]) -> Cutting:
        """When a group is cut; of the table, only the columns that requirements read are looked at."""
        self.refuse_unserved(requirements)
        space = space_of(quasi, sets=self.shows_sets())
        tests, least, keys = plan_keys(table, on_groups(requirements, self.name))
        return Cutting(space, tests, least, keys, saving=self.cuts == "saving")

    def decide_in_pieces(self, pieces: Pieces, requirements: Sequence[Requirement], progress: Progress) -> Boxed:
        """The same decision on a table that is too large for memory."""
        if not self.strict:
            raise pieces.refuse(
                "this is relaxed mondrian, which can put equal rows into different groups; set strict = true"
            )
        return boxed(self, pieces, requirements, progress)


def plan_tests(
    table: Microdata | Counts, requirements: Sequence[GroupRequirement]
) -> tuple[judge.Tests, int, list[Counted]]:
    """The tests that a cut must pass, the smallest size of a side, and the columns that the tests count, coded."""
    tests, least, keys = plan_keys(table, requirements)
    return tests, least, [combine([Counted(*table.counted(name)) for name in key]) for key in keys]


def plan_keys(
    table: Microdata | Counts, requirements: Sequence[GroupRequirement]
) -> tuple[judge.Tests, int, list[Key]]:
    """The tests that a cut must pass, the smallest size of a side, and the columns that the tests count."""
    schema = TableSchema(table)
    least = 1
    counted: dict[Key, int] = {}
    rows: list[tuple[int, int, int, int, int]] = []
    vectors: list[tuple[Any, ...]] = []
    for test in _tests(schema, requirements):
        if test.op == judge.SIZE:
            least = max(least, int(test.limit))
            continue
        if test.column not in counted:
            counted[test.column] = len(counted)
        rows.append(test.row(counted[test.column]))
        vectors.append(test.vectors)
    return judge.pack(rows, vectors), least, list(counted)


def _tests(schema: TableSchema, requirements: Sequence[GroupRequirement]) -> list[Test]:
    tests: list[Test] = []
    for requirement in requirements:
        whole = {key: totals(schema.counted(key[0]), schema.table.weights) for key in requirement.columns()}
        tests += requirement.tests(schema, whole)
    return tests
