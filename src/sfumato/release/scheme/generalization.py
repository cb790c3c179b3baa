"""The generalization scheme: each group shows one label per quasi-identifier, and all other values unchanged."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.base import AsIs, ByGroup, Engine, Output
from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.release.best_guess import CountedValues, GroupValues
from sfumato.release.check.label_looks import labels_explained, losses_fit
from sfumato.release.check.public import PublicSchema
from sfumato.release.describe import attribute_entries
from sfumato.release.judgement import Judgement, judged
from sfumato.release.manifest import AttributeEntry, LabelAttribute, SchemeName
from sfumato.release.scheme.base import Grouped, Look, Made, Progress, Scheme
from sfumato.release.scheme.group_labels import by_labels, show
from sfumato.requirement.base import GroupRequirement, Requirement
from sfumato.table.encode import Role
from sfumato.table.published import distinct_texts

if TYPE_CHECKING:
    from sfumato.release.release import Release


class Generalization(Scheme):
    """Labels in place of quasi-identifiers; everything else unchanged."""

    name: ClassVar[SchemeName] = "generalization"
    words: ClassVar[str] = "rows are put into groups, and each group shows one label per quasi-identifier"
    quasi_entry: ClassVar[type[AttributeEntry]] = LabelAttribute
    shows_groups: ClassVar[bool] = True
    looks: ClassVar[tuple[Look, ...]] = (labels_explained, losses_fit)

    def judge(self, release: "Release", bound: GroupRequirement, view: PublicSchema) -> Judgement:
        """Judge a requirement on the groups that are shown; if what it needs was counted, rows need no numbers."""
        groups = release.shown_groups()
        judgement = None if groups is None else groups.judge(bound, view)
        return super().judge(release, bound, view) if judgement is None else judgement

    def group_sizes(self, release: "Release", x: tuple[str, ...]) -> NDArray[np.int64]:
        groups = None if x else release.shown_groups()
        return super().group_sizes(release, x) if groups is None else groups.size

    def counted_by_group(self, release: "Release", name: str) -> CountedValues | None:
        groups = release.shown_groups()
        return None if groups is None else groups.values.get(name)

    def rows_by_label(self, release: "Release", name: str) -> dict[str, int]:
        groups = release.shown_groups()
        return super().rows_by_label(release, name) if groups is None else groups.labels[name]

    def values_by_group(self, release: "Release", name: str) -> GroupValues | None:
        if name not in release.counted["data"].columns:
            return None
        shown = distinct_texts(release.counted["data"][name])
        return GroupValues(release.counted_labels(()), shown.of_row, release.row_weights, words=shown.texts)

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
        progress("labels", 0.0)
        shown = decision.shown or show(people, grouping.group, grouping.groups, sets=decision.sets)
        progress("judgement", 0.0)
        wanted = [r for r in bound if isinstance(r, GroupRequirement)]
        classes = {by: by_labels(shown, by) for by in dict.fromkeys(r.groups_by() for r in wanted)}
        judgements = [
            judged(r, people, classes[r.groups_by()].of_row[grouping.group], classes[r.groups_by()].number)
            for r in wanted
        ]
        judgements += decision.judgements
        progress("order", 0.0)
        outputs: list[Output] = [ByGroup(s.name, s.labels, s.of_group) for s in shown]
        outputs += [AsIs(c.name) for c in table.columns.values() if c.role is not Role.QUASI]
        outputs += [AsIs(name) for name in table.plain.columns]
        data = engine.publish(outputs, draws, grouping, counts)
        return Made({"data": data}, judgements, attribute_entries(table, shown, grouping.sizes), data.height)
