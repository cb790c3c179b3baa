"""Top-down refinement (Fung, Algorithms 1 and 3): microdata and templates as arrays, and its steps as they come."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.errors import DataError
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.steps import advance
from sfumato.kernel.topdown.xlogx import GAIN_BITS, bits_for
from sfumato.method.topdown.arrays import (
    AttributeArrays,
    TemplateRows,
    axis_of,
    class_counts,
    no_counts,
    template_rows,
)
from sfumato.method.topdown.value_lists import Alike, alike_values, large_sets, value_lists
from sfumato.release.judgement import TableSchema
from sfumato.requirement.base import names
from sfumato.requirement.templates import PrivacyTemplate
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata

_LOG = 4096
_PATIENCE = 0.1
"""How many seconds of steps are computed ahead; interrupts are handled between batches."""


@dataclass(frozen=True)
class Score:
    """What a refinement gains, and whether that is divided by the privacy it costs (Eq. 4.1)."""

    measure: int
    per_loss: bool

    @property
    def needs_class(self) -> bool:
        """Whether the gain is information about the class."""
        return self.measure == r.INFORMATION


SCORES = {
    "gain-per-loss": Score(r.INFORMATION, True),
    "gain": Score(r.INFORMATION, False),
    "distortion": Score(r.DISTORTION, False),
    "distortion-per-loss": Score(r.DISTORTION, True),
    "discernibility": Score(r.DISCERNIBILITY, False),
    "discernibility-per-loss": Score(r.DISCERNIBILITY, True),
}


class Part(NamedTuple):
    """A label of one attribute: a node of its tree, an interval or a value (the codes [lo, hi)), or a hidden rest."""

    lo: int
    hi: int
    node: int


class RawStep(NamedTuple):
    """One refinement: the label and its parts by number, gain, loss, score, and what each template has after it."""

    attribute: int
    label: int
    parts: tuple[int, ...]
    gain: float
    loss: float
    score: float
    now: tuple[tuple[int, int], ...]


class Refinement:
    """The masked attributes, the templates, and the path from the most masked table to the final one."""

    def __init__(
        self,
        table: Microdata | Counts,
        templates: Sequence[PrivacyTemplate],
        score: Score,
        *,
        suppress: bool,
        also: Sequence[str] = (),
    ) -> None:
        self.table = table
        self.columns = self._masked([*also, *(name for t in templates for name in names(t.x))])
        self.templates = list(templates)
        self.score = score
        self.class_column = table.with_role(Role.CLASS)[0] if score.needs_class else None
        self._axes = [self._axis(c, suppress) for c in self.columns]
        self._state = self._build()

    def kind(self, attribute: int) -> int:
        """Whether an attribute is specialized, disclosed or cut: TREE, SET or LINE."""
        return self._axes[attribute].kind

    def root(self, attribute: int) -> int:
        """The label that an attribute starts with."""
        which = r.SPARE if self._axes[attribute].kind == r.SET else r.BASE
        return int(self._first[attribute, which])

    def part(self, label: int) -> Part:
        """What a label stands for."""
        attribute, lo, hi = (int(v) for v in self._state.labels[label, : r.HI + 1])
        axis = self._axes[attribute]
        node = axis.nodes[label - int(self._first[attribute, r.BASE])] if axis.kind == r.TREE else -1
        return Part(lo, hi, node)

    def classes(self, attribute: int, lo: int, hi: int) -> NDArray[np.int64]:
        """The class counts of the rows with codes in [lo, hi)."""
        at = self._first[attribute, r.CLASSES]
        return np.asarray(self._state.classes[at + hi, :-1] - self._state.classes[at + lo, :-1])

    def start(self) -> tuple[tuple[int, int], ...]:
        """What each template has on the most masked table."""
        return self._start

    def steps(self) -> Iterator[RawStep]:
        """The refinements from here on, computed a few at a time; each is one valid table."""
        room = 1
        while True:
            log = np.zeros((room, 4), np.int64)
            scores = np.zeros(room)
            now = np.zeros((room, len(self.templates), 2), np.int64)
            begun = perf_counter()
            done = advance(self._state, log, scores, now)
            slow = perf_counter() - begun > _PATIENCE
            for i in range(done):
                yield self._raw(log[i], float(scores[i]), now[i])
            if done < room:
                return
            room = max(1, room // 2) if slow else min(2 * room, _LOG)

    def _raw(self, log: NDArray[np.int64], score: float, now: NDArray[np.int64]) -> RawStep:
        label, gain, loss, number = (int(v) for v in log)
        attribute, _, _, first, parts = (int(v) for v in self._state.labels[label, : r.PARTS + 1])
        if self._axes[attribute].kind == r.SET:
            below: tuple[int, ...] = (label, self.root(attribute))
        else:
            below = tuple(range(first, first + parts))
        unit = float(1 << GAIN_BITS)
        return RawStep(
            attribute,
            label,
            below,
            gain / unit if self.score.needs_class else float(gain),
            loss / (number << GAIN_BITS),
            score,
            tuple((int(a), int(b)) for a, b in now),
        )

    def _build(self) -> r.State:
        schema = TableSchema(self.table)
        rows = [template_rows(self.table, t, schema) for t in self.templates]
        bits = bits_for(self.table.rows)
        if bits < GAIN_BITS:
            raise DataError(f"{self.table.rows} rows are more than top-down refinement can count exactly; use a sample")
        self._first = self._attributes()
        templates, places = self._layout(rows)
        classes, index = self._class_counts(), value_lists(rows, places, self._first)
        templates[:, r.LISTS] = (places[:, :, r.INDEX] >= 0).any(axis=1)
        alike = self._alike(classes, templates, places)
        self._start = tuple((int(t[r.NOW]), int(t[r.NOW_OF])) for t in templates)
        labels, none = sum(a.labels for a in self._axes), np.zeros(0, np.int32)
        values = max((len(x.limits) for x in rows), default=0)
        links = sum(x.number * len(x.names) for x in rows)
        kept = links if templates[:, r.LISTS].any() else 0
        leaves = np.zeros((sum(x.number for x in rows), 6), np.int64)
        leaves[templates[:, r.LEAF], :2] = np.array([(0, x.number) for x in rows]).reshape(-1, 2)
        return r.State(
            run=np.array([self.score.measure, self.score.per_loss, bits, 0, 1, 0, 0], np.int64),
            attributes=np.column_stack([self._first, alike.of_attribute]),
            codes=self._codes(),
            classes=classes,
            known=np.full(self.table.rows + 1, -1, np.int64),
            labels=self._labels(labels),
            score=np.zeros(labels),
            templates=templates,
            places=places,
            limits=np.concatenate([*(x.limits for x in rows), np.ones((1, 2), np.int64)]),
            kept=no_counts((x.mode for x in rows), labels),
            rows=rows[0].rows.ravel() if len(rows) == 1 else np.concatenate([none, *(x.rows.ravel() for x in rows)]),
            order=np.concatenate([none, *(np.arange(x.number, dtype=np.int32) for x in rows)]),
            spare=np.empty(2 * max((x.number for x in rows), default=0), np.int32),
            leaves=leaves,
            links=np.empty((2, links), np.int32),
            cells=np.zeros((max(a.cells for a in self._axes) + 1, r.BY_VALUE + values), np.int64),
            alike=alike.kinds,
            members=alike.members,
            index=index.begins,
            listed=index.rows,
            where=index.where,
            tops=np.empty((r.TOPS, kept), np.int64),
            tallies=np.empty((r.TALLIES, kept), np.int32),
        )

    def _alike(self, classes: NDArray[np.int64], templates: NDArray[np.int64], places: NDArray[np.int64]) -> Alike:
        """The hidden values of large sets by class counts.

        Of values that gain the same, those that cost less score higher: costs are whole numbers that differ by one part
        in 2^40 or more, and a score is their correctly rounded quotient.
        """
        chosen = large_sets(self._first)
        return alike_values(self._first, classes, chosen)

    def _masked(self, wanted: Sequence[str]) -> list[Column]:
        return [c for c in self.table.quasi if c.name in wanted]

    def _axis(self, column: Column, suppress: bool) -> AttributeArrays:
        return axis_of(column, suppress)

    def _class_counts(self) -> NDArray[np.int64]:
        return class_counts(self.columns, self.class_column, self.table.weights)

    def _attributes(self) -> NDArray[np.int64]:
        sizes = np.array([a.size for a in self._axes])
        labels = np.array([a.labels for a in self._axes])
        table = np.zeros((len(self._axes), 7), np.int64)
        table[:, r.KIND] = [a.kind for a in self._axes]
        table[:, r.SIZE] = sizes
        table[:, r.OFFSET] = np.cumsum(sizes) - sizes
        table[:, r.BASE] = np.cumsum(labels) - labels
        table[:, r.SPARE] = table[:, r.BASE] + np.where(table[:, r.KIND] == r.SET, sizes, 1)
        table[:, r.CLASSES] = np.cumsum(sizes + 3) - sizes - 3
        table[:, r.HIDDEN] = table[:, r.CLASSES] + sizes + 1
        return table

    def _codes(self) -> NDArray[np.int32]:
        codes = np.zeros((2, sum(a.size for a in self._axes)), np.int32)
        for axis, first in zip(self._axes, self._first, strict=True):
            here = slice(first[r.OFFSET], first[r.OFFSET] + axis.size)
            if axis.kind == r.SET:
                codes[r.BRANCH, here] = np.arange(axis.size)
                codes[r.SHOWN, here] = first[r.SPARE]
        return codes

    def _labels(self, number: int) -> NDArray[np.int64]:
        labels = np.zeros((number, 10), np.int64)
        for i, (column, axis, first) in enumerate(zip(self.columns, self._axes, self._first, strict=True)):
            base = int(first[r.BASE])
            here = labels[base : base + axis.labels]
            here[:, r.ATTRIBUTE] = i
            if axis.kind == r.SET:
                here[:-1, r.LO] = np.arange(axis.size)
                here[:-1, r.HI] = np.arange(axis.size) + 1
                here[-1, [r.LO, r.HI]] = 0, axis.size
            elif axis.kind == r.LINE:
                here[0, [r.LO, r.HI]] = 0, axis.size
            else:
                tree: Any = column.domain
                here[:, r.LO], here[:, r.HI] = tree.lo[axis.nodes], tree.hi[axis.nodes]
                here[:, r.PARTS] = [len(tree.children[n]) for n in axis.nodes]
                here[:, r.FIRST] = base + 1 + np.cumsum(here[:, r.PARTS]) - here[:, r.PARTS]
        return labels

    def _layout(self, rows: Sequence["TemplateRows"]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The templates; the place of each attribute in each, and the attribute at each place."""
        templates = np.zeros((len(rows), 15), np.int64)
        places = np.zeros((len(rows), len(self.columns), 3), np.int64)
        places[:, :, [r.PLACE, r.INDEX]] = -1
        at = {c.name: i for i, c in enumerate(self.columns)}
        begin = leaf = links = limits = 0
        for j, x in enumerate(rows):
            (columns, n), width, values = x.rows.shape, len(x.names), len(x.limits)
            templates[j] = x.mode, x.limit, width, columns, n, begin, leaf, links, 1, limits, values, *x.now, 1, 0
            for p, name in enumerate(x.names):
                places[j, at[name], r.PLACE] = p
                places[j, p, r.MEMBER] = at[name]
            begin, leaf, links, limits = begin + n * columns, leaf + n, links + n * width, limits + values
        return templates, places
