"""Top-down refinement under templates over a join (Fung, Algorithm 4): the steps of TDR, judged by the join."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.kernel.join import cells as c
from sfumato.kernel.join import search as s
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.steps import UNSORTED
from sfumato.method.topdown.join_arrays import Place, Searched, template_arrays
from sfumato.method.topdown.search import RawStep, Refinement, Score
from sfumato.method.topdown.value_lists import Alike, alike_values
from sfumato.release.scheme.group_labels import Box
from sfumato.requirement.templates import PrivacyTemplate
from sfumato.table.microdata import Microdata


class JoinedRefinement(Refinement):
    """A refinement in which some templates are over a join.

    After each step only the cells that it touched are judged again. A candidate that a join does not allow is tried
    again after every step, since another refinement can make it valid.
    """

    def __init__(
        self,
        table: Microdata | Counts,
        templates: Sequence[PrivacyTemplate],
        score: Score,
        *,
        suppress: bool,
        also: Sequence[str],
        joined: Sequence[Searched],
    ) -> None:
        super().__init__(table, templates, score, suppress=suppress, also=also)
        labels = len(self._state.labels)
        places = [[self._place(i) for i in self._attributes_of(task)] for task in joined]
        self._joined = [template_arrays(task, p, labels) for task, p in zip(joined, places, strict=True)]
        self._places = [{p.attribute: i for i, p in enumerate(found)} for found in places]
        self._ahead = np.full((len(joined), labels), np.inf)
        self._fails = np.zeros((len(joined), labels), np.bool_)
        self._now = np.zeros(len(joined))
        self._pairs = [(0, 1)] * len(joined)
        self._sorted = [int(t.cells.number[0]) for t in self._joined]
        self._involves = np.zeros((len(joined), len(self.columns)), np.bool_)
        for j, found in enumerate(self._places):
            self._involves[j, list(found)] = True
        s.start(self._state)
        self._show()
        self._judge()
        self._begun = (*super().start(), *self._pairs)

    def _alike(self, classes: NDArray[np.int64], templates: NDArray[np.int64], places: NDArray[np.int64]) -> Alike:
        """No values by class counts: what the join would leave differs from value to value."""
        return alike_values(self._first, classes, np.zeros(len(self._first), np.bool_))

    def _attributes_of(self, task: Searched) -> list[int]:
        return [i for i, c in enumerate(self.columns) if c.name in task.wanted.in_x(task.side.name)]

    def _place(self, attribute: int) -> Place:
        column, axis = self.columns[attribute], self._axes[attribute]
        if axis.kind == r.TREE:
            tree = column.domain.axis(sets=False)
            boxes = [Box(int(tree["lo"][n]), int(tree["hi"][n]), n) for n in axis.nodes]
        else:
            boxes = [Box(code, code + 1) for code in range(axis.size)]
            boxes += [Box(0, axis.size, -1, rest=True)] if axis.kind == r.SET else []
        return Place(attribute, column, axis.kind, int(self._first[attribute, r.BASE]), boxes)

    def _show(self) -> None:
        """Let the first cells show the labels that attributes start with."""
        for template, found in zip(self._joined, self._places, strict=True):
            for attribute, place in found.items():
                template.cells.shown[place] = self.root(attribute)

    def _judge(self) -> None:
        """Judge the cells that were touched, and what each candidate would leave."""
        starts, stamp = np.zeros(len(self._state.cells) + 2, np.int64), np.zeros(len(self._state.labels), np.int64)
        for j, template in enumerate(self._joined):
            c.judge(self._state, template, starts)
            at = s.gather(self._state, template, self._ahead[j], self._fails[j], stamp)
            self._now[j] = template.cells.own[at]
            self._pairs[j] = (int(template.cells.pair[at, 0]), int(template.cells.pair[at, 1]))

    def start(self) -> tuple[tuple[int, int], ...]:
        return self._begun

    def steps(self) -> Iterator[RawStep]:
        """The refinements from here on, one at a time."""
        lost, room = np.zeros(1), np.zeros((2, len(self._state.cells) + 2), np.int64)
        while True:
            label = int(s.choose(self._state, self._ahead, self._fails, self._now, self._involves, lost))
            if label < 0:
                return
            score, gain = float(self._state.score[label]), int(self._state.labels[label, r.GAIN])
            self._take(label, room)
            yield self._told(label, gain, float(lost[0]), score)

    def _take(self, label: int, room: NDArray[np.int64]) -> None:
        attribute = int(self._state.labels[label, r.ATTRIBUTE])
        for template, found in zip(self._joined, self._places, strict=True):
            if attribute in found:
                c.split(self._state, template, found[attribute], label, room[0])
        s.take(self._state, label, room)
        for j, template in enumerate(self._joined):
            if template.cells.number[0] >= UNSORTED * self._sorted[j]:
                _sort(template)
                self._sorted[j] = int(template.cells.number[0])
        self._judge()

    def _told(self, label: int, gain: int, loss: float, score: float) -> RawStep:
        plain = self._state.templates[:, [r.NOW, r.NOW_OF]]
        raw = self._raw(np.array([label, gain, 0, 1], np.int64), score, plain)
        return raw._replace(loss=loss, now=(*raw.now, *self._pairs))


def _sort(template: c.Template) -> None:
    """Sort the rows themselves by cell, so that those of a cell are adjacent again."""
    order, rows = template.cells.order.copy(), template.rows
    for column in (template.cells.codes, rows.key, rows.value, rows.weight, rows.marks):
        column[:] = column[..., order]
    template.cells.order[:] = np.arange(len(order))
