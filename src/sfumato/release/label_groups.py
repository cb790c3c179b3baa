"""The generalization scheme: each group shows one label for each quasi-identifier, and every value as it is."""

from collections.abc import Sequence
from typing import ClassVar

from sfumato.engine.base import AsIs, ByGroup, Engine, Output
from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.release.describe import attribute_entries
from sfumato.release.generalization import by_labels, show
from sfumato.release.judgement import judged
from sfumato.release.scheme import Grouped, Made, Progress, Scheme
from sfumato.requirement.base import GroupRequirement, Requirement
from sfumato.table.encode import Role


class Generalization(Scheme):
    """Labels in place of quasi-identifiers; all else as it is."""

    name: ClassVar[str] = "generalization"

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
        judgements = []
        for requirement in bound:
            if isinstance(requirement, GroupRequirement):
                classes = by_labels(shown, requirement.groups_by())
                judgements.append(judged(requirement, people, classes.of_row[grouping.group], classes.number))
        judgements += decision.judgements
        progress("order", 0.0)
        outputs: list[Output] = [ByGroup(s.name, s.labels, s.of_group) for s in shown]
        outputs += [AsIs(c.name) for c in table.columns.values() if c.role is not Role.QUASI]
        outputs += [AsIs(name) for name in table.plain.columns]
        data = engine.publish(outputs, draws, grouping, counts)
        return Made({"data": data}, judgements, attribute_entries(table, shown, grouping.sizes), data.height)
