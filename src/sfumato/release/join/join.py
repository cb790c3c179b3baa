"""The join of several releases: all combinations of rows that match, judged by the partitions of each release."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.join import groups as g
from sfumato.release.earlier import Earlier
from sfumato.release.join.dangling import unmatched
from sfumato.release.join.first import first_release, for_kernel, matching, room_for
from sfumato.release.join.links import Links
from sfumato.release.join.names import JoinAttribute, JoinNames
from sfumato.release.join.partition import refuse_sampled
from sfumato.release.join.stack import earlier_releases, empty_join
from sfumato.release.join.template import Resolved, resolve
from sfumato.release.judgement import Judgement
from sfumato.release.rule import Inconsistent
from sfumato.requirement.join_template import JoinTemplate
from sfumato.requirement.templates import Confidentiality

Integers = NDArray[np.int64]


class Join:
    """Several releases and what matches their rows; ``sides[0]`` is the one that templates are mostly about.

    Rows match if their labels of every common attribute are consistent and no rule excludes them
    (Fung, section 6.1.3, and 6.5 for several releases, which must also match each other).
    """

    def __init__(self, sides: Sequence[Earlier], rules: Sequence[Inconsistent] = ()) -> None:
        self.sides = list(sides)
        self.rules = list(rules)
        self.links = Links(self.sides, self.rules)

    @cached_property
    def names(self) -> JoinNames:
        """The attributes of all releases."""
        known = JoinNames({side.name: list(side.columns) for side in self.sides})
        for side in self.sides:
            known.values |= {JoinAttribute(side.name, n): c.labels for n, c in side.columns.items()}
            known.noise |= {JoinAttribute(side.name, n): side for n in side.randomized}
        return known

    @property
    def common(self) -> dict[str, list[str]]:
        """The attributes that each other release has in common with the first."""
        first, *others = self.links.sides
        return {name: [a for a, _ in self.links.between(first, name)] for name in others}

    def judge(self, requirement: JoinTemplate) -> Judgement:
        """How the groups of the join fare under a template.

        The groups are the distinct combinations of labels on X that occur in the join.
        """
        wanted = resolve(requirement, self.names)
        for side in self.sides:
            refuse_sampled(side, wanted)
        worst, groups, failing = self._measured(wanted)
        if failing:  # count all groups that fail, not only those that decide
            worst, groups, failing = self._measured(wanted, narrow=False)
        if groups == 0:
            raise empty_join(self.sides[0].name)
        return Judgement(requirement, _achieved(requirement, wanted, worst), groups, failing)

    def _measured(self, wanted: Resolved, *, narrow: bool = True) -> tuple[Integers, int, int]:
        first, stack = self.sides[0], earlier_releases(self.links, wanted, narrow=narrow)
        if not len(stack):
            return np.zeros((1, 2), np.int64), 0, 0
        rows = first_release(first, wanted, self.links.joined(first.name))
        keys = matching(self.links, stack, rows.keys)
        there = for_kernel(stack, keys, rows.rows.weight)
        worst = fresh(len(wanted.targets))
        room = room_for(stack, len(rows.keys), len(wanted.targets))
        bits, times = stack.everything(), stack.numbers()
        found = g.measure(there, rows.way, rows.rows, room, rows.order, rows.ends, bits, times, worst)
        return worst, int(found[0]), int(found[1])

    def dangling(self) -> dict[str, tuple[int, int]]:
        """For each other release, how many people of the first match nobody in it, and how many of it nobody in the
        first."""
        return {side.name: unmatched(self.links, side) for side in self.sides[1:]}

    def joined_rows(self) -> int:
        """How many combinations of rows match."""
        wanted = Resolved(x=(), records=tuple(side.name for side in self.sides), k=0)
        worst, groups, _ = self._measured(wanted)
        return int(worst[0, 0]) if groups else 0


def fresh(targets: int) -> Integers:
    """The worst counts before anything is counted: nothing, or no share of any protected value."""
    out = np.zeros((max(targets, 1), 2), np.int64)
    out[:, 1] = 1
    if not targets:
        out[0, 0] = g.NOTHING
    return out


def _achieved(requirement: JoinTemplate, wanted: Resolved, worst: Integers) -> dict[str, float]:
    """The worst figure over all groups, as the template of a single table reports it."""
    template = requirement.template
    if not isinstance(template, Confidentiality):
        return {"k": int(worst[0, 0])}
    by_value: dict[str, float] = {}
    for target, (held, of) in zip(wanted.targets, worst.tolist(), strict=True):
        by_value[target.value] = max(by_value.get(target.value, 0.0), held / of)
    return by_value if isinstance(template.k, dict) else {"k": max(by_value.values())}
