"""The refinement as one publisher sees it: its own attributes in full, the other's as mirrors of what was revealed.

A mirrored attribute has one code per record. It starts with one label that all records show; an instruction says
which part of a label each of its records falls into. Gains, losses and scores of this side's candidates are those of
TDR on the joined table, since they depend on its own attribute, the class, and the labels of all attributes.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.errors import DataError
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown import two_party as kernels
from sfumato.kernel.topdown.xlogx import GAIN_BITS
from sfumato.method.topdown.arrays import AttributeArrays, class_counts, no_counts
from sfumato.method.topdown.search import Refinement, Score
from sfumato.requirement.templates import PrivacyTemplate
from sfumato.table.encode import Codes, Column, Kind, Role
from sfumato.table.microdata import Microdata
from sfumato.table.ordered_domain import OrderedDomain

MOST_PARTS = 1 << 16
"""The most parts that a refinement of the other publisher may have."""

_SPARE_LABELS = 256


class Candidate(NamedTuple):
    """The best own refinement: its attribute and label by number, what it gains and costs."""

    attribute: int
    label: int
    gain: float
    loss: float
    score: float


def mirrored(names: Sequence[str], records: int) -> dict[str, Column]:
    """Columns that stand for attributes of the other publisher: the code of a record is its number."""
    domain = OrderedDomain("word", np.arange(records, dtype=np.float64), ("",) * records, 1.0)  # records have no names
    codes = np.arange(records, dtype=np.int32)
    return {name: Column(name, Role.QUASI, Kind.ORDINAL, domain, codes) for name in names}


class PartyRefinement(Refinement):
    """The state of one publisher, advanced one refinement at a time: its own, or as the other publisher instructs."""

    def __init__(
        self,
        table: Microdata | Counts,
        templates: Sequence[PrivacyTemplate],
        score: Score,
        *,
        suppress: bool,
        mirrors: Collection[str],
    ) -> None:
        self._others = frozenset(mirrors)
        super().__init__(table, templates, score, suppress=suppress)
        self._free = len(self._state.labels)
        self._room = np.zeros((2, len(self._state.cells) + 2), np.int64)
        kernels.begin(self._state, np.array([self.is_mirror(i) for i in range(len(self.columns))]))

    def is_mirror(self, attribute: int) -> bool:
        """Whether the other publisher holds an attribute."""
        return self.columns[attribute].name in self._others

    def best(self) -> Candidate | None:
        """The valid and beneficial own candidate with the best score; None if there is none."""
        found = np.zeros(4, np.int64)
        score = float(kernels.best(self._state, found))
        label, gain, loss, number = (int(v) for v in found)
        if label < 0:
            return None
        unit = float(1 << GAIN_BITS)
        return Candidate(
            int(self._state.labels[label, r.ATTRIBUTE]),
            label,
            gain / unit if self.score.needs_class else float(gain),
            loss / (number << GAIN_BITS),
            score,
        )

    def shown_label(self, candidate: Candidate) -> int:
        """The label that the records of a candidate show before it is refined: of a hidden value, the rest's."""
        is_set = self.kind(candidate.attribute) == r.SET
        return self.root(candidate.attribute) if is_set else candidate.label

    def parts_of(self, candidate: Candidate) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The records under the label of a candidate, and the part that each would fall into."""
        attribute = candidate.attribute
        codes, offset = self._codes_of(attribute), int(self._first[attribute, r.OFFSET])
        shown = self._state.codes[r.SHOWN, offset : offset + self._axes[attribute].size]
        records = np.flatnonzero((shown == self.shown_label(candidate))[codes])
        if self.kind(attribute) == r.SET:
            return records, (codes[records] != self.part(candidate.label).lo).astype(np.int64)
        branch = self._state.codes[r.BRANCH, offset : offset + self._axes[attribute].size]
        return records, branch[codes[records]].astype(np.int64)

    def perform(self, candidate: Candidate) -> tuple[int, ...]:
        """Refine an own candidate; returns the labels of its parts."""
        kernels.perform(self._state, candidate.label, self._room)
        if self.kind(candidate.attribute) == r.SET:
            return candidate.label, self.root(candidate.attribute)
        first, parts = (int(v) for v in self._state.labels[candidate.label, [r.FIRST, r.PARTS]])
        return tuple(range(first, first + parts))

    def follow(
        self, attribute: int, label: int, parts: int, records: NDArray[np.int64], part: NDArray[np.int64]
    ) -> tuple[int, ...] | None:
        """Refine a label of a mirrored attribute; returns the labels of its parts, None if a template breaks."""
        first = self._new_labels(attribute, parts)
        self._state.labels[label, [r.FIRST, r.PARTS]] = first, parts
        offset = int(self._first[attribute, r.OFFSET])
        self._state.codes[r.BRANCH, offset + records] = part
        if not kernels.follow(self._state, label, records, self._room):
            return None
        return tuple(range(first, first + parts))

    def now(self) -> tuple[tuple[int, int], ...]:
        """What each template has at present."""
        return tuple((int(t[r.NOW]), int(t[r.NOW_OF])) for t in self._state.templates)

    def _codes_of(self, attribute: int) -> Codes:
        return self.columns[attribute].codes

    def _new_labels(self, attribute: int, number: int) -> int:
        """Make room for the parts of a mirrored label, which are live from the start."""
        first = self._free
        self._free += number
        if self._free > len(self._state.labels):
            self._grow(max(self._free, 2 * len(self._state.labels), _SPARE_LABELS))
        self._state.labels[first : self._free, r.ATTRIBUTE] = attribute
        self._state.labels[first : self._free, r.STATUS] = r.LIVE
        return first

    def _grow(self, size: int) -> None:
        state = self._state
        more = size - len(state.labels)
        labels = np.concatenate([state.labels, np.zeros((more, state.labels.shape[1]), np.int64)])
        self._state = state._replace(
            labels=labels,
            score=np.concatenate([state.score, np.zeros(more)]),
            kept=np.concatenate([state.kept, no_counts(state.templates[:, r.MODE], more)], axis=1),
        )

    def _masked(self, wanted: Sequence[str]) -> list[Column]:
        """All attributes; a template that only the other publisher can judge may be the only one that masks some."""
        return list(self.table.quasi)

    def _axis(self, column: Column, suppress: bool) -> AttributeArrays:
        if column.name not in self._others:
            own = super()._axis(column, suppress)
            if own.kind == r.TREE and own.cells > MOST_PARTS:
                raise DataError(
                    f"a node of the taxonomy of {column.name!r} has {own.cells:,} children; two publishers can divide "
                    f"a label into at most {MOST_PARTS:,} parts: give the taxonomy another level"
                )
            return own
        return AttributeArrays(r.LINE, column.size, [], 1, MOST_PARTS)

    def _attributes(self) -> NDArray[np.int64]:
        """The attributes; a mirror counts parts as a tree does, and has no class counts."""
        table = super()._attributes()
        mirror = np.array([c.name in self._others for c in self.columns])
        sizes = np.array([c.size for c in self.columns])
        rows = np.where(mirror, 0, sizes + 3)
        table[mirror, r.KIND] = r.TREE
        table[:, r.CLASSES] = np.cumsum(rows) - rows
        table[:, r.HIDDEN] = table[:, r.CLASSES] + sizes + 1
        return table

    def _codes(self) -> NDArray[np.int32]:
        codes = super()._codes()
        for column, first in zip(self.columns, self._first, strict=True):
            if column.name in self._others:
                codes[r.SHOWN, first[r.OFFSET] : first[r.OFFSET] + column.size] = first[r.BASE]
        return codes

    def _class_counts(self) -> NDArray[np.int64]:
        own = [c for c in self.columns if c.name not in self._others]
        if not own:
            return np.zeros((1, 1 if self.class_column is None else self.class_column.size + 1), np.int64)
        return class_counts(own, self.class_column, self.table.weights)
