"""Judge groups of rows by requirements: the engine counts, the requirement decides."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Block, Counted, Counts, combine, tally, totals
from sfumato.errors import Infeasible, PolicyError, SfumatoError
from sfumato.release.people import refuse_rows_for_people
from sfumato.requirement.base import GroupRequirement, Key, Requirement, Schema, Tally
from sfumato.table.encode import Domain
from sfumato.table.microdata import Microdata

Columns = Callable[[str], Counted]


@dataclass(frozen=True)
class Judgement:
    """How groups fare under a requirement: what the worst of them achieves and how many fail."""

    requirement: Requirement
    achieved: dict[str, float]
    groups: int
    failing: int

    @property
    def holds(self) -> bool:
        """Whether every group satisfies the requirement."""
        return self.failing == 0

    def and_other(self, other: "Judgement") -> "Judgement":
        """How these groups and others fare together."""
        groups, failing = self.groups + other.groups, self.failing + other.failing
        if not self.groups or not other.groups:
            achieved = self.achieved or other.achieved
        else:
            assert isinstance(self.requirement, GroupRequirement)
            achieved = self.requirement.worse(self.achieved, other.achieved)
        return Judgement(self.requirement, achieved, groups, failing)


class TableSchema(Schema):
    """What requirements may ask about microdata, or about their counts."""

    def __init__(self, table: Microdata | Counts) -> None:
        self.table = table

    def quasi_names(self) -> list[str]:
        return [c.name for c in self.table.quasi]

    def sensitive_names(self) -> list[str]:
        return [c.name for c in self.table.sensitive]

    def all_names(self) -> list[str]:
        return list(self.table.names)

    def domain(self, name: str) -> Domain:
        return self.table[name].domain

    def counted(self, name: str) -> Counted:
        """The codes of a column."""
        return Counted(*self.table.counted(name))


def judge(
    requirement: GroupRequirement,
    schema: Schema,
    columns: Columns,
    group: NDArray[np.int64],
    groups: int,
    weights: NDArray[np.int64] | None = None,
) -> Judgement:
    """Judge all groups, one block at a time; ``group`` is the group of each row, or of entries with weights."""
    counted = {key: columns(key[0]) for key in requirement.columns()}
    distinct = {key: combine([columns(name) for name in key]) for key in requirement.distinct_columns()}
    whole = {key: totals(c, weights) for key, c in counted.items()}
    return judge_blocks(requirement, schema, tally(group, groups, counted, distinct, weights), whole)


def judge_blocks(
    requirement: GroupRequirement, schema: Schema, blocks: Iterable[Block], whole: Mapping[Key, NDArray[np.int64]]
) -> Judgement:
    """Judge groups that have been counted; ``whole``: the counts of the whole table."""
    achieved: dict[str, float] | None = None
    failing = groups = 0
    for block in blocks:
        counts = Tally(block.sizes, block.counts, block.distinct, whole, block.largest, block.most)
        failing += int((~requirement.holds(schema, counts)).sum())
        groups += len(block.sizes)
        here = requirement.achieved(schema, counts)
        achieved = here if achieved is None else requirement.worse(achieved, here)
    return Judgement(requirement, achieved or {}, groups, failing)


def judged(requirement: GroupRequirement, counts: Counts, group: NDArray[np.int64], groups: int) -> Judgement:
    """Judge groups of vectors; raise if what a method made does not hold."""
    schema = TableSchema(counts)
    judgement = judge(requirement, schema, schema.counted, group, groups, counts.weights)
    if not judgement.holds:
        raise SfumatoError(
            f"{judgement.failing} of {judgement.groups} groups violate {requirement.words()!r}; nothing is "
            "published. This is a bug in the method: please report it"
        )
    return judgement


def whole_tally(requirement: GroupRequirement, table: Microdata | Counts) -> Tally:
    """The table as one group."""
    schema = TableSchema(table)
    counted: Mapping[Key, Counted] = {key: schema.counted(key[0]) for key in requirement.columns()}
    distinct = {key: combine([schema.counted(n) for n in key]) for key in requirement.distinct_columns()}
    (block,) = tally(np.zeros(table.entries, np.int64), 1, counted, distinct, table.weights)
    whole = {key: totals(c, table.weights) for key, c in counted.items()}
    return Tally(block.sizes, block.counts, block.distinct, whole)


def on_groups(requirements: Sequence[Requirement], method: str) -> list[GroupRequirement]:
    """The same requirements, if all of them are judged on groups."""
    for r in requirements:
        if not isinstance(r, GroupRequirement):
            other = f"; {r.served_by} does" if r.served_by else ""
            why = "" if r.by_labels else f": it makes groups, and {r.model} is not a requirement on groups"
            raise PolicyError(f"{method} does not serve {r.model}{why}{other}")
    return [r for r in requirements if isinstance(r, GroupRequirement)]


def listed(require: object) -> list[Requirement]:
    """One requirement or several, as a list; anything else is refused."""
    several = isinstance(require, Iterable) and not isinstance(require, str)
    found = []
    for r in require if several else [require]:  # type: ignore[attr-defined]
        if not isinstance(r, Requirement):
            raise PolicyError(f"{r!r} is not a requirement; give e.g. sf.LDiversity(l=2), or a list of requirements")
        found.append(r)
    return found


def bind(requirements: Sequence[Requirement], table: Microdata) -> list[Requirement]:
    """Fill in what requirements leave open; refuse those that mistake rows for people or that the whole table fails."""
    bound = completed(requirements, table)
    refuse_infeasible(bound, table)
    return bound


def completed(requirements: Sequence[Requirement], table: Microdata) -> list[Requirement]:
    """Fill in what requirements leave open; refuse those that mistake rows for people."""
    if not requirements:
        raise PolicyError("nothing is required; name at least one requirement, e.g. k-anonymity with k = 5")
    schema = TableSchema(table)
    bound = [r.bind(schema) for r in requirements]
    refuse_rows_for_people(bound, table)
    return bound


def refuse_infeasible(bound: Sequence[Requirement], table: Microdata | Counts) -> None:
    """Refuse requirements that the whole table as one group fails: then no grouping meets them."""
    schema = TableSchema(table)
    for requirement in bound:
        if not isinstance(requirement, GroupRequirement) or not requirement.of_the_table:
            continue
        whole = whole_tally(requirement, table)
        if not requirement.holds(schema, whole)[0]:
            raise Infeasible(f"{requirement.model}: {requirement.remedy(schema, whole)}")
