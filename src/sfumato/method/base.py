"""What every method is, and what those that partition the rows into groups share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.local import recode, shuffled
from sfumato.errors import PolicyError, SfumatoError
from sfumato.kernel.group import group_rows
from sfumato.release.generalization import Shown, show
from sfumato.release.judgement import Judgement, TableSchema, bind, judge
from sfumato.release.manifest import describe
from sfumato.release.release import Release
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Column, Role
from sfumato.table.line import Line
from sfumato.table.microdata import Microdata

Progress = Callable[[str, float], None]
"""Called with what is being done and which part of it is done, from 0 to 1."""


def silent(stage: str, done: float) -> None:
    """No progress is shown."""


class Groups(NamedTuple):
    """The group of each row, numbered from 0, and how many groups there are."""

    of_row: NDArray[np.int64]
    number: int


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """An algorithm with its settings. A wrong setting never survives its constructor."""

    name: ClassVar[str]
    summary: ClassVar[str]
    guarantees: ClassVar[str]
    refuted: ClassVar[str | None] = None
    """Where a published claim about the method is false: the smallest counterexample and what to take instead."""

    @abstractmethod
    def publish(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        title: str = "",
        rng: np.random.Generator | None = None,
        progress: Progress = silent,
    ) -> Release:
        """Turn microdata into a release that meets the requirements."""

    def settings(self) -> dict[str, Any]:
        """The name and the public parameters, as the manifest states them."""
        return {"name": self.name} | {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, kw_only=True)
class PartitionMethod(Method):
    """A method that puts the rows into groups and shows one label a group."""

    @abstractmethod
    def groups(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        rng: np.random.Generator | None,
        progress: Progress,
    ) -> Groups:
        """The group of each row; the requirements are bound to the table."""

    def shows_sets(self) -> bool:
        """Whether a label may be a set of sibling nodes."""
        return True

    def publish(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        title: str = "",
        rng: np.random.Generator | None = None,
        progress: Progress = silent,
    ) -> Release:
        if not table.quasi:
            raise PolicyError(f"{self.name} generalizes quasi-identifiers, and there is none; give a column that role")
        bound = bind(list(requirements), table)
        groups = self.groups(table, bound, rng=rng, progress=progress)
        progress("labels", 0.0)
        shown = show(table, groups.of_row, groups.number, sets=self.shows_sets())
        progress("judgement", 0.0)
        judgements = [_judged(r, table, shown) for r in bound]
        manifest = describe(
            table,
            title=title,
            scheme="generalization",
            method=self.settings(),
            judgements=judgements,
            shown=shown,
            warnings=[self.refuted] if self.refuted else [],
        )
        progress("order", 0.0)
        data = _frame(table, shown)[shuffled(table.rows, rng)]
        return Release(manifest, {"data": data})


def _judged(requirement: Requirement, table: Microdata, shown: Sequence[Shown]) -> Judgement:
    """Judge the groups that the labels make, which is what the outside world sees."""
    schema = TableSchema(table)
    chosen = requirement.groups_by() or tuple(s.column.name for s in shown)
    columns = [s.column.to_physical().to_numpy() for s in shown if s.column.name in chosen]
    by_label = group_rows(columns, [int(c.max()) + 1 for c in columns])
    judgement = judge(requirement, schema, schema.counted, by_label.of_row, len(by_label.first))
    if not judgement.holds:
        raise SfumatoError(
            f"{judgement.failing} of {judgement.groups} groups violate {requirement.words()!r}; nothing is "
            "published. This is a bug of the method: please report it"
        )
    return judgement


def _frame(table: Microdata, shown: Sequence[Shown]) -> pl.DataFrame:
    """The published columns: labels, then sensitive and class values and the insensitive columns as they are."""
    values = [_values(c) for c in table.columns.values() if c.role is not Role.QUASI]
    return pl.DataFrame([*(s.column for s in shown), *values, *table.plain.get_columns()])


def _values(column: Column) -> pl.Series:
    """A column that is published as it is: numbers and dates by their type, all else by its text."""
    if not isinstance(column.domain, Line) or column.domain.form == "word":
        return recode(column.name, column.domain.leaves, column.codes)
    numbers = pl.Series(column.name, [*column.domain.values, None][: column.size], dtype=pl.Float64)
    if column.domain.form == "date":
        return numbers.cast(pl.Int32).cast(pl.Date).gather(pl.Series(column.codes))
    if column.domain.step == 1.0:
        numbers = numbers.cast(pl.Int64)
    return numbers.gather(pl.Series(column.codes))
