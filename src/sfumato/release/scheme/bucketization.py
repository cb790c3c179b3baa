"""The bucketization scheme: exact quasi-identifiers with a group, and a table of the sensitive values of each group."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.base import AsIs, Engine, Numbered, Output
from sfumato.engine.counts import Counted, Counts
from sfumato.engine.draws import Draws
from sfumato.engine.local import as_published
from sfumato.engine.parts import Parts
from sfumato.errors import DataError, PolicyError
from sfumato.kernel.arrange import sort_order
from sfumato.release.best_guess import GroupValues
from sfumato.release.check.finding import Finding, verdict, whole_numbers
from sfumato.release.check.public import PublicSchema
from sfumato.release.describe import attribute_entries
from sfumato.release.judgement import Judgement, judge, judged
from sfumato.release.manifest import Manifest, SchemeName
from sfumato.release.scheme.base import Grouped, Look, Made, Progress, Scheme
from sfumato.release.scheme.bucket_columns import COUNT as COUNT
from sfumato.release.scheme.bucket_columns import GROUP as GROUP
from sfumato.requirement.base import GroupRequirement, Requirement
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata
from sfumato.table.published import distinct_texts, value_codes

if TYPE_CHECKING:
    from sfumato.release.release import Release


def refuse_exact(requirements: Sequence[Requirement]) -> None:
    """Refuse models that exact quasi-identifiers defeat: these tell people apart, whatever their groups."""
    for r in requirements:
        if r.by_labels:
            raise PolicyError(
                f"{r.model} is about people who show the same quasi-identifiers, but bucketization shows these "
                'exactly, so the promise would not hold; set scheme = "generalization", or drop '
                f"{r.model} and require something that hides only the sensitive value, e.g. l-diversity"
            )


def _groups_agree(release: "Release") -> Finding:
    """Whether each group has as many sensitive values as people, each combination once."""
    claim, quasi, sensitive = "the groups of both tables agree", release.tables["quasi"], release.tables["sensitive"]
    for column in (quasi[GROUP], sensitive[GROUP]):
        if not column.dtype.is_integer() or column.null_count():
            return Finding(claim, "broken", f"column {GROUP!r} must hold whole numbers")
    if why := whole_numbers(sensitive[COUNT], release.description.rows):
        return Finding(claim, "broken", why)
    if sensitive.drop(COUNT).is_duplicated().any():
        return Finding(claim, "broken", "a group lists a combination of sensitive values twice")
    people, values = _held(quasi[GROUP], None), _held(sensitive[GROUP], sensitive[COUNT])
    fault = None if people.equals(values) else "a group has more or fewer sensitive values than people"
    return verdict(claim, fault, f"{people.height} groups")


def _held(group: pl.Series, count: pl.Series | None) -> pl.DataFrame:
    weight = pl.Series(COUNT, np.ones(len(group), np.int64)) if count is None else count.cast(pl.Int64)
    both = pl.DataFrame([group.cast(pl.Int128).alias(GROUP), weight.alias(COUNT)])
    return both.group_by(GROUP).agg(pl.col(COUNT).sum()).sort(GROUP)


class Bucketization(Scheme):
    """Exact quasi-identifiers, and in a table of their own the sensitive values of each group."""

    name: ClassVar[SchemeName] = "bucketization"
    words: ClassVar[str] = (
        "quasi-identifiers are shown unchanged, sensitive values in a separate table, and only groups link the two"
    )
    shows_groups: ClassVar[bool] = True
    separates: ClassVar[bool] = True
    own_columns: ClassVar[frozenset[str]] = frozenset({GROUP, COUNT})
    people: ClassVar[str] = "quasi"
    looks: ClassVar[tuple[Look, ...]] = (_groups_agree,)

    def columns_of(self, manifest: Manifest) -> dict[str, set[str]]:
        apart = {*manifest.with_role(Role.SENSITIVE)}
        return {"quasi": {*manifest.attributes} - apart | {GROUP}, "sensitive": apart | {GROUP, COUNT}}

    def lacks(self, quasi: int, sensitive: int, attributes: int) -> str | None:
        none = "bucketization needs a sensitive attribute, but none is declared"
        return super().lacks(quasi, sensitive, attributes) or (None if sensitive else none)

    def groups(self, release: "Release", x: tuple[str, ...]) -> NDArray[np.int64]:
        """The bucket of each person."""
        return value_codes(release.tables["quasi"][GROUP])[0].astype(np.int64)

    def classes(self, release: "Release") -> NDArray[np.int64]:
        """Quasi-identifiers are exact, whatever the buckets."""
        return release.same_labels(()) if release.quasi() else release.groups()

    def class_sizes(self, release: "Release") -> NDArray[np.int64]:
        return np.bincount(self.classes(release))

    def judge(self, release: "Release", bound: GroupRequirement, view: PublicSchema) -> Judgement:
        refuse_exact([bound])
        sensitive = release.tables["sensitive"]
        codes, number = value_codes(sensitive[GROUP])
        groups = np.repeat(codes.astype(np.int64), sensitive[COUNT].to_numpy())
        return judge(bound, view, view.counted, groups, number)

    def values_by_group(self, release: "Release", name: str) -> GroupValues | None:
        found = release.tables["sensitive"]
        if name not in found.columns:
            return None
        group, shown = np.unique(found[GROUP].to_numpy(), return_inverse=True)[1], distinct_texts(found[name])
        return GroupValues(group, shown.of_row, found[COUNT].to_numpy(), shown.texts)

    def refuse(self, table: Microdata, requirements: Sequence[Requirement]) -> None:
        refuse_exact(requirements)
        if not table.sensitive:
            raise PolicyError(
                "bucketization separates sensitive values from the rest, but no column is sensitive; declare one"
            )
        if taken := {GROUP, COUNT} & {*table.columns, *table.plain.columns}:
            raise PolicyError(f"bucketization adds columns named {sorted(taken)}; rename those of the table")

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
        number = draws.order(grouping.groups)  # a random number, so that it says nothing about the group
        outputs: list[Output] = [AsIs(c.name) for c in table.columns.values() if c.role is not Role.SENSITIVE]
        outputs += [AsIs(name) for name in table.plain.columns]
        outputs.append(Numbered(GROUP, number))
        quasi = engine.publish(outputs, draws, grouping, counts)
        if isinstance(quasi, Parts):
            raise DataError(
                f"bucketization shows each of {quasi.height:,} people exactly, which an engine that publishes in parts "
                'cannot check; set scheme = "generalization", or name = "local" under [engine]'
            )
        tables = {"quasi": quasi, "sensitive": _sensitive(people, number[grouping.group])}
        return Made(tables, judgements, attribute_entries(table), quasi.height)


def _sensitive(people: Counts, number: NDArray[np.int64]) -> pl.DataFrame:
    """How often each combination of sensitive values occurs in each group, in the order of groups and values."""
    keys = [Counted(_ranks(c)[c.codes], c.size) for c in people.sensitive]
    keys.insert(0, Counted(number, int(number.max()) + 1))
    order = np.arange(len(number))
    for key in reversed(keys):  # stable, so that the first key decides in the end
        order = order[sort_order(key.codes[order], key.size)]
    differs = np.ones(len(order), np.bool_)
    differs[1:] = np.logical_or.reduce([np.diff(key.codes[order]) != 0 for key in keys])
    starts = np.flatnonzero(differs)
    first, rows = order[starts], np.add.reduceat(people.weights[order], starts)
    values = [as_published(replace(c, codes=c.codes[first])) for c in people.sensitive]
    return pl.DataFrame([pl.Series(GROUP, number[first]), *values, pl.Series(COUNT, rows)])


def _ranks(column: Column) -> NDArray[np.int64]:
    """The rank of each code among the published values, missing values first."""
    values = as_published(replace(column, codes=np.arange(column.size)))
    return values.to_physical().rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - (values.null_count() == 0)
