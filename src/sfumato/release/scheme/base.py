"""What a method decides and how a scheme shows it: one class per scheme, with the same steps for each."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato import notebook
from sfumato.engine.base import Engine, Table
from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.progress import Progress as Progress
from sfumato.release.best_guess import CountedValues, GroupValues
from sfumato.release.check.finding import Finding
from sfumato.release.check.public import PublicSchema
from sfumato.release.judgement import Judgement, judge
from sfumato.release.manifest import AttributeEntry, LabelAttribute, Manifest, SchemeName, ValueAttribute
from sfumato.release.scheme.group_labels import Shown
from sfumato.requirement.base import GroupRequirement, Requirement, names
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata

if TYPE_CHECKING:
    from sfumato.release.release import Release


@dataclass(frozen=True, eq=False, kw_only=True)
class Decision:
    """What a method decided on counts.

    ``statement`` is what the manifest says about the method besides its settings, ``warnings`` are those that follow
    from this decision alone, ``judgements`` those that the method has made itself.
    """

    statement: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    judgements: Sequence[Judgement] = ()

    def facts(self) -> list[tuple[str, str]]:
        """What was decided, in numbers and names of columns: a title and a figure each; never a value."""
        return [("warnings", str(len(self.warnings)))] if self.warnings else []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{title}: {figure}' for title, figure in self.facts())})"

    def _repr_html_(self) -> str:
        return notebook.panel(type(self).__name__, notebook.table(["decided", ""], self.facts()))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Grouped(Decision):
    """How many people of each vector go to which group, and what groups show if that is not the narrowest label.

    ``sets``: whether a label may be a set of sibling nodes. ``again``: the decision on the counts of the remaining
    people, once the grouping has left some out.
    """

    grouping: Grouping
    shown: Sequence[Shown] | None = None
    sets: bool = True
    again: "Callable[[Counts], Grouped] | None" = None

    def facts(self) -> list[tuple[str, str]]:
        sizes = self.grouping.sizes[self.grouping.sizes > 0]
        told = [("people", f"{int(sizes.sum()):,}"), ("groups", f"{len(sizes):,}")]
        if len(sizes):
            told += [("smallest", f"{int(sizes.min()):,}"), ("largest", f"{int(sizes.max()):,}")]
        return [*told, *super().facts()]


class Made(NamedTuple):
    """What a scheme made of a decision: tables, the manifest's attributes, and how the requirements fare.

    ``facts`` are further entries of the manifest.
    """

    tables: Mapping[str, Table]
    judgements: Sequence[Judgement]
    attributes: Mapping[str, AttributeEntry]
    rows: int
    facts: Mapping[str, Any] = {}


Look = Callable[["Release"], Finding]
"""What a check looks at."""


class Scheme(ABC):
    """How people are shown: what is published, how it is read back, and what a check looks at.

    There is one object per scheme; `sfumato.release.scheme.catalogue.SCHEMES` lists them by name.
    """

    name: ClassVar[SchemeName]
    words: ClassVar[str]
    """What it does, for the report."""
    quasi_entry: ClassVar[type[AttributeEntry]] = ValueAttribute
    """What the manifest says about a quasi-identifier."""
    shows_groups: ClassVar[bool] = False
    """Whether people are shown in groups with the values of each."""
    separates: ClassVar[bool] = False
    """Whether sensitive values are in a separate table, and quasi-identifiers are exact."""
    randomizes: ClassVar[bool] = False
    """Whether values of any column may be random, drawn by the matrices that the manifest states."""
    rows_are_groups: ClassVar[bool] = False
    """Whether a row stands for a group of people, with a column for its size, rather than for one person."""
    own_columns: ClassVar[frozenset[str]] = frozenset()
    """Columns that are not attributes."""
    people: ClassVar[str] = "data"
    """The table with a row for each person or group."""
    looks: ClassVar[tuple[Look, ...]] = ()
    """The checks of this scheme, in order, once rows, columns, roles and values have passed."""

    @property
    def shows_labels(self) -> bool:
        """Whether quasi-identifiers are shown as labels."""
        return issubclass(self.quasi_entry, LabelAttribute)

    @property
    def labels_people(self) -> bool:
        """Whether everyone has a row with the labels of a group."""
        return self.shows_labels and self.shows_groups

    def attribute_type(self, role: Role) -> type[AttributeEntry]:
        """What the manifest says about an attribute of this role."""
        if role is Role.INSENSITIVE:
            return AttributeEntry
        return self.quasi_entry if role is Role.QUASI else ValueAttribute

    def columns_of(self, manifest: Manifest) -> dict[str, set[str]]:
        """The columns that each table must have."""
        return {"data": {*manifest.attributes} | self.own_columns}

    def lacks(self, quasi: int, sensitive: int, attributes: int) -> str | None:
        """Why these numbers of quasi-identifiers, sensitive and all attributes do not fit this scheme, or None."""
        return None if quasi else "it needs a quasi-identifier, but none is declared"

    def weights(self, release: "Release") -> NDArray[np.int64] | None:
        """How many people each row stands for; None: one per row."""
        return None

    def groups(self, release: "Release", x: tuple[str, ...]) -> NDArray[np.int64]:
        """The group of each person: those who show the same labels of ``x``, or of all quasi-identifiers."""
        return release.same_labels(x)

    def classes(self, release: "Release") -> NDArray[np.int64]:
        """The class of each person: those who show the same quasi-identifiers."""
        return release.groups()

    def group_sizes(self, release: "Release", x: tuple[str, ...]) -> NDArray[np.int64]:
        """How many rows each of these groups has, in no order."""
        if release.row_weights is None:
            return np.bincount(self.groups(release, x))
        return np.bincount(release.counted_labels(x), weights=release.row_weights).astype(np.int64)

    def class_sizes(self, release: "Release") -> NDArray[np.int64]:
        """How many people each class has, in no order."""
        return self.group_sizes(release, ())

    def judge(self, release: "Release", bound: GroupRequirement, view: PublicSchema) -> Judgement:
        """Judge a requirement on the groups that are shown."""
        if not {n for key in (*bound.columns(), *bound.distinct_columns()) for n in key} <= {*release.counted_columns}:
            groups = self.groups(release, names(bound.groups_by()))
            return judge(bound, view, view.counted, groups, int(groups.max()) + 1)
        groups = release.counted_labels(names(bound.groups_by()))
        seen = PublicSchema(release.description.attributes, release.counted)
        return judge(bound, seen, seen.counted, groups, int(groups.max()) + 1, release.row_weights)

    def counted_by_group(self, release: "Release", name: str) -> CountedValues | None:
        """The values of an attribute by group, if they were counted together with the groups of a large table."""
        return None

    def rows_by_label(self, release: "Release", name: str) -> dict[str, int]:
        """How many rows of the table "data" show each label of a quasi-identifier."""
        return release.rows_by_value("data", name)

    def values_by_group(self, release: "Release", name: str) -> GroupValues | None:
        """The published values of an attribute by group; None if they are not shown that way."""
        return None

    def refuse(self, table: Microdata, requirements: Sequence[Requirement]) -> None:
        """Raise if the scheme would promise what does not hold, or cannot show this table."""
        return

    def counted(self, table: Microdata) -> list[str]:
        """The columns that must be counted for this scheme, besides quasi-identifiers and what requirements read."""
        return []

    @abstractmethod
    def publish(
        self,
        engine: Engine,
        counts: Counts,
        decision: Any,
        bound: Sequence[Requirement],
        draws: Draws,
        progress: Progress,
    ) -> Made:
        """Judge the decision, apply it to the rows, and show them."""
